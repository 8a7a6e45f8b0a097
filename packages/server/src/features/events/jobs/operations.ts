import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { requirePermission } from '../../../http/access/grants.ts'
import type { AdminIdentity } from '../../../http/access/identity.ts'
import { created, ok, operation } from '../../../http/operation.ts'
import { instantParameter, offsetParameter, readTimeRange } from '../../../http/requests/filters.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { checkedByHandler, choice, described, listOf, refusedWith, uuid } from '../../../http/schemas.ts'
import type { JobQueue } from '../../../job-queue.ts'
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
const common = { guard: 'admin', permission: 'bodies.read', tag: 'jobs' } as const
const collection = '/api/admin/jobs'
const item = `${collection}/:id`
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
  description: 'Returns the newest jobs first.',
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
  async handle({ database }: JobDeps, { query: { from, to, limit = 50, offset = 0, ...filter } }) {
    const range = readTimeRange({ from, to })
    const items = await listJobs(database, { ...filter, ...range }, { limit: Math.min(limit, 500), offset })
    return { items, count: items.length }
  },
})

const count = operation({
  ...common,
  id: 'jobs.count',
  permission: 'operations.read',
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
  params,
  success: ok(Job),
  async handle({ database }: JobDeps, { params: { id } }) {
    const job = await findJob(database, id)
    if (job === undefined) throw jobErrors.jobNotFound()
    return job
  },
})

const listRuns = operation({
  ...common,
  id: 'jobs.listRuns',
  method: 'GET',
  path: `${item}/runs`,
  summary: 'List the ended attempts of a job',
  description:
    'Returns the latest 50, the newest first. A released attempt was cut off by a shutdown, and does not count.',
  params,
  success: ok(listOf(JobRun)),
  async handle({ database }: JobDeps, { params: { id } }) {
    const items = await findRuns(database, id)
    if (items === undefined) throw jobErrors.jobNotFound()
    return { items, count: items.length }
  },
})

const enqueue = operation({
  ...common,
  id: 'jobs.enqueue',
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
  permission: 'operations.write',
  method: 'POST',
  path: `${item}/retry`,
  summary: 'Retry a failed job',
  description: 'Queues the job at once, with all its attempts available again.',
  params,
  success: ok(Job),
  async handle({ database, queue }: JobDeps, { params: { id }, origin }) {
    const job = await change(database, id, origin, {
      action: 'jobs.retry',
      work: requeueJob,
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

/** @throws AppError unknown_job_type, invalid_job_payload */
export async function requireJobType(
  queue: JobQueue,
  name: string,
  payload: Readonly<Record<string, unknown>>,
  administrator: AdminIdentity,
): Promise<void> {
  const type = queue.findType(name)
  if (type === undefined) throw jobErrors.unknownJobType(name)
  if (type.isForOwners === true) requirePermission(administrator, 'owner')
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
