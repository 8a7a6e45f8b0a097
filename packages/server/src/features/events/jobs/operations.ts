import type { FastifyRequest } from 'fastify'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { requirePermission, requireStepUp } from '../../../http/access/grants.ts'
import type { AdminIdentity } from '../../../http/access/identity.ts'
import { holds } from '../../../http/access/permissions.ts'
import { created, ok, operation } from '../../../http/operation.ts'
import { instantParameter, offsetParameter, readTimeRange } from '../../../http/requests/filters.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { checkedByHandler, choice, described, listOf, refusedWith, uuid } from '../../../http/schemas.ts'
import type { JobQueue, JobType } from '../../../job-queue.ts'
import { parseInstant } from '../../../lib/instant.ts'
import { isStorableJson } from '../../../lib/storable-text.ts'
import { Type } from '../../../lib/type.ts'
import { recordAdminAction } from '../../operations/audit/index.ts'
import { countJobs } from './counts.ts'
import { jobErrors } from './errors.ts'
import {
  cancelJob,
  findJob,
  findRuns,
  Job,
  JobRun,
  jobStates,
  listJobs,
  payloadSchema,
  requeueJob,
} from './job.ts'

export interface JobDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
}

/** Members that all operations below share. */
const common = { guard: 'admin', permission: 'operations.read', tag: 'jobs' } as const
const collection = '/api/admin/jobs'
const item = `${collection}/:id`

const viewerNote = 'The role `viewer` gets no payloads, keys and errors, which quote rows.'

const mayReadBodies = (http: FastifyRequest) => holds(adminOf(http).role, 'bodies.read')

const withoutBody = ({ key: _, ...job }: Job): Job => ({ ...job, payload: {}, lastError: '' })

const params = Type.Object({ id: refusedWith({ invalid: jobErrors.invalidJobId }, uuid) })

export const maxAttemptsSchema = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'Maximum number of attempts before the job fails.',
})

const list = operation({
  ...common,
  id: 'jobs.list',
  method: 'GET',
  path: collection,
  summary: 'List jobs',
  description: `Returns the newest jobs first. ${viewerNote}`,
  query: Type.Object({
    state: Type.Optional(refusedWith({ invalid: jobErrors.invalidStateFilter }, choice(jobStates))),
    type: Type.Optional(Type.String()),
    from: described('Start of the range of creation times.', instantParameter),
    to: instantParameter,
    limit: Type.Optional(
      refusedWith(
        { invalid: jobErrors.invalidJobLimit },
        checkedByHandler({ maximum: 500, default: 50 }, Type.Integer({ minimum: 1 })),
      ),
    ),
    offset: refusedWith({ invalid: jobErrors.invalidJobOffset }, offsetParameter),
  }),
  success: ok(listOf(Job)),
  async handle({ database }: JobDeps, { query: { from, to, limit = 50, offset = 0, ...filter }, http }) {
    const range = readTimeRange({ from, to })
    const found = await listJobs(database, { ...filter, ...range }, { limit: Math.min(limit, 500), offset })
    const items = mayReadBodies(http) ? found : found.map(withoutBody)
    return { items, count: items.length }
  },
})

const count = operation({
  ...common,
  id: 'jobs.count',
  method: 'GET',
  path: `${collection}/stats`,
  summary: 'Count jobs by state',
  success: ok(
    Type.Object({
      queued: Type.Integer(),
      running: Type.Integer(),
      completed: Type.Integer(),
      failed: Type.Integer(),
      canceled: Type.Integer(),
      oldestQueuedAgeSec: Type.Number({
        description: 'Seconds since the longest waiting job became due; 0 if none is due.',
      }),
    }),
  ),
  async handle({ database }: JobDeps) {
    const { counts, oldestAge } = await countJobs(database)
    const none = { queued: 0, running: 0, completed: 0, failed: 0, canceled: 0 }
    return { ...none, ...counts, oldestQueuedAgeSec: Math.max(0, oldestAge ?? 0) }
  },
})

const get = operation({
  ...common,
  id: 'jobs.get',
  method: 'GET',
  path: item,
  summary: 'Get a job',
  description: viewerNote,
  params,
  success: ok(Job),
  async handle({ database }: JobDeps, { params: { id }, http }) {
    const job = await findJob(database, id)
    if (job === undefined) throw jobErrors.jobNotFound()
    return mayReadBodies(http) ? job : withoutBody(job)
  },
})

const listRuns = operation({
  ...common,
  id: 'jobs.listRuns',
  method: 'GET',
  path: `${item}/runs`,
  summary: 'List the ended attempts of a job',
  description:
    'Returns the latest 50, the newest first. A released attempt was cut off by a shutdown, and does not count. The role `viewer` gets no errors.',
  params,
  success: ok(listOf(JobRun)),
  async handle({ database }: JobDeps, { params: { id }, http }) {
    const runs = await findRuns(database, id)
    if (runs === undefined) throw jobErrors.jobNotFound()
    const items = mayReadBodies(http) ? runs : runs.map(({ error: _, ...run }) => run)
    return { items, count: items.length }
  },
})

const enqueue = operation({
  ...common,
  id: 'jobs.enqueue',
  stepUp: 'byHandler',
  permission: 'operations.write',
  method: 'POST',
  path: collection,
  summary: 'Add a job',
  body: Type.Object({
    type: refusedWith({ missing: () => jobErrors.missingJobField('type') }, Type.String({ minLength: 1 })),
    payload: Type.Optional(payloadSchema),
    maxAttempts: Type.Optional(maxAttemptsSchema),
    runAt: Type.Optional(
      checkedByHandler(
        { format: 'date-time' },
        Type.String({ description: 'Time of the first attempt, in RFC 3339 format. Default: now.' }),
      ),
    ),
  }),
  success: created(Job),
  async handle({ database, queue }: JobDeps, { body, http, origin }) {
    const { type, payload = {}, maxAttempts, runAt } = body
    await requireJobType(queue, type, payload, adminOf(http))
    const options = { maxAttempts, runAt: runAt === undefined ? undefined : readRunAt(runAt) }
    const job = await database.transaction(async (transaction) => {
      const id = await queue.enqueue(type, payload, transaction, options)
      await recordAdminAction(transaction, 'jobs.enqueue', id, origin, { type })
      const added = await findJob(transaction, id)
      if (added === undefined) throw new Error('the job was not added')
      return added
    })
    queue.wake()
    return job
  },
})

const retry = operation({
  ...common,
  id: 'jobs.retry',
  stepUp: 'byHandler',
  permission: 'operations.write',
  method: 'POST',
  path: `${item}/retry`,
  summary: 'Retry a failed job',
  description: 'Queues the job at once, with all its attempts available again.',
  params,
  success: ok(Job),
  async handle({ database, queue }: JobDeps, { params: { id }, http, origin }) {
    const job = await change(database, id, origin, {
      action: 'jobs.retry',
      async work(transaction, id) {
        const job = await requeueJob(transaction, id)
        const type = job && queue.findType(job.type)
        if (type !== undefined) requireRightToRun(type, adminOf(http))
        return job
      },
      refusal: jobErrors.jobNotFailed,
    })
    queue.wake()
    return job
  },
})

const cancel = operation({
  ...common,
  id: 'jobs.cancel',
  permission: 'operations.write',
  method: 'POST',
  path: `${item}/cancel`,
  summary: 'Cancel a queued job',
  description: 'A running job cannot be canceled.',
  params,
  success: ok(Job),
  handle: ({ database }: JobDeps, { params: { id }, origin }) =>
    change(database, id, origin, {
      action: 'jobs.cancel',
      work: cancelJob,
      refusal: jobErrors.jobNotQueued,
    }),
})

/** Operations of job administration. */
export const jobOperations = [list, count, get, listRuns, enqueue, retry, cancel]

interface Change {
  readonly action: string
  readonly work: typeof requeueJob
  readonly refusal: (id: string) => Error
}

/** Makes one conditional change with its audit row. Throws 404 for an unknown job, 409 for a job in another state. */
async function change(
  database: SystemDatabase,
  id: string,
  origin: RequestOrigin,
  { action, work, refusal }: Change,
): Promise<Job> {
  return await database.transaction(async (transaction) => {
    const job = await work(transaction, id)
    if (job === undefined) {
      throw (await findJob(transaction, id)) === undefined ? jobErrors.jobNotFound() : refusal(id)
    }
    await recordAdminAction(transaction, action, job.id, origin, { type: job.type })
    return job
  })
}

/** Rejects an administrator who may not have jobs of the type run. @throws AppError insufficient_role, step_up_required */
export function requireRightToRun(
  type: Pick<JobType<object>, 'isForOwners' | 'needsStepUp'>,
  administrator: AdminIdentity,
): void {
  if (type.isForOwners === true) requirePermission(administrator, 'owner')
  if (type.needsStepUp === true) requireStepUp(administrator)
}

/** @throws AppError unknown_job_type, invalid_job_payload, insufficient_role, step_up_required */
export async function requireJobType(
  queue: JobQueue,
  name: string,
  payload: Readonly<Record<string, unknown>>,
  administrator: AdminIdentity,
): Promise<void> {
  const type = queue.findType(name)
  if (type === undefined) throw jobErrors.unknownJobType(name)
  requireRightToRun(type, administrator)
  const problem = isStorableJson(payload)
    ? await type.findProblem?.(payload)
    : 'texts must be well-formed Unicode without NUL'
  if (problem !== undefined) throw jobErrors.invalidJobPayload(problem)
}

/** @throws AppError invalid_run_at */
function readRunAt(text: string): Date {
  const instant = parseInstant(text)
  if (instant === undefined) throw jobErrors.invalidRunAt()
  return instant
}
