import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { parseInstant } from '../../../lib/instant.ts'
import { isStorableJson } from '../../../lib/storable-text.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { countJobs } from './counts.ts'
import { jobErrors } from './errors.ts'
import * as queries from './queries.ts'
import { isJobState, type JobState } from './states.ts'

/** A job as the administration sees it. */
export interface Job {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly state: JobState
  readonly attempts: number
  readonly maxAttempts: number
  /** Empty when the latest attempt did not fail. */
  readonly lastError: string
  readonly runAt: string
  readonly leaseUntil?: string
  readonly lastRunAt?: string
  readonly scheduleId?: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly completedAt?: string
  readonly canceledAt?: string
}

export interface JobStats extends Readonly<Record<JobState, number>> {
  /** Seconds since the job that has been due longest was; 0 when none is. */
  readonly oldestQueuedAgeSec: number
}

export interface NewJob {
  readonly type?: string | undefined
  readonly payload?: Readonly<Record<string, unknown>> | undefined
  readonly maxAttempts?: number | undefined
  readonly runAt?: string | undefined
}

/** What the administration does with jobs. */
export interface JobAdministration {
  /** @throws AppError invalid_state_filter */
  list(filter: { state?: string; type?: string; limit: number; offset: number }): Promise<Job[]>
  count(): Promise<JobStats>
  /** @throws AppError invalid_job_id, job_not_found */
  get(id: string): Promise<Job>
  /** @throws AppError missing_job_field, unknown_job_type, invalid_job_payload, invalid_run_at */
  enqueue(job: NewJob, origin: RequestOrigin): Promise<Job>
  /** @throws AppError invalid_job_id, job_not_found, job_not_failed */
  retry(id: string, origin: RequestOrigin): Promise<Job>
  /** @throws AppError invalid_job_id, job_not_found, job_not_queued */
  cancel(id: string, origin: RequestOrigin): Promise<Job>
}

export function createJobAdministration(database: SystemDatabase, queue: JobQueue): JobAdministration {
  /** Makes one conditional change with its audit row: 404 for an unknown job, 409 for one in another state. */
  async function change(
    id: string,
    origin: RequestOrigin,
    action: string,
    work: typeof queries.requeueJobRow,
    refusal: (id: string) => Error,
  ): Promise<Job> {
    requireJobId(id)
    return await database.transaction(async (transaction) => {
      const row = await work(transaction, id)
      if (row === undefined) {
        throw (await queries.findJobRow(transaction, id)) === undefined
          ? jobErrors.jobNotFound()
          : refusal(id)
      }
      const detail = { type: row.type }
      await recordAudit(transaction, { actor: 'admin', action, target: row.id, detail, origin })
      return showJob(row)
    })
  }

  return {
    async list({ state, type, limit, offset }) {
      if (state !== undefined && !isJobState(state)) throw jobErrors.invalidStateFilter()
      return (await queries.listJobRows(database, { state, type, limit, offset })).map(showJob)
    },

    async count() {
      const { counts, oldest_age } = await countJobs(database)
      return {
        queued: 0,
        running: 0,
        completed: 0,
        failed: 0,
        canceled: 0,
        ...counts,
        oldestQueuedAgeSec: Math.max(0, oldest_age ?? 0),
      }
    },

    async get(id) {
      requireJobId(id)
      const row = await queries.findJobRow(database, id)
      if (row === undefined) throw jobErrors.jobNotFound()
      return showJob(row)
    },

    async enqueue({ type, payload = {}, maxAttempts, runAt }, origin) {
      requireJobType(queue, type, payload)
      const options = { maxAttempts, runAt: runAt === undefined ? undefined : readRunAt(runAt) }
      const job = await database.transaction(async (transaction) => {
        const id = await queue.enqueue(type, payload, transaction, options)
        const detail = { type }
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'jobs.enqueue',
          target: id,
          detail,
          origin,
        })
        const row = await queries.findJobRow(transaction, id)
        if (row === undefined) throw new Error('the job was not added')
        return showJob(row)
      })
      queue.wake()
      return job
    },

    async retry(id, origin) {
      const job = await change(id, origin, 'jobs.retry', queries.requeueJobRow, jobErrors.jobNotFailed)
      queue.wake()
      return job
    },

    cancel: (id, origin) => change(id, origin, 'jobs.cancel', queries.cancelJobRow, jobErrors.jobNotQueued),
  }
}

/** @throws AppError missing_job_field, unknown_job_type, invalid_job_payload */
export function requireJobType(
  queue: JobQueue,
  name: string | undefined,
  payload: Readonly<Record<string, unknown>>,
  field = 'type',
): asserts name is string {
  if (name === undefined || name === '') throw jobErrors.missingJobField(field)
  const type = queue.findType(name)
  if (type === undefined) throw jobErrors.unknownJobType(name)
  const problem = isStorableJson(payload)
    ? type.findProblem?.(payload)
    : 'texts must be well-formed Unicode without NUL'
  if (problem !== undefined) throw jobErrors.invalidJobPayload(problem)
}

function requireJobId(id: string): void {
  if (!isUuid(id)) throw jobErrors.invalidJobId()
}

/** @throws AppError invalid_run_at */
function readRunAt(text: string): Date {
  const instant = parseInstant(text)
  if (instant === undefined) throw jobErrors.invalidRunAt()
  return instant
}

function showJob(row: queries.JobRow): Job {
  const { started_at, leased_until, finished_at, schedule_id, state } = row
  return {
    id: row.id,
    type: row.type,
    payload: row.payload ?? {},
    state,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    lastError: row.last_error ?? '',
    runAt: row.run_at.toISOString(),
    ...(leased_until === null ? {} : { leaseUntil: leased_until.toISOString() }),
    ...(started_at === null ? {} : { lastRunAt: started_at.toISOString() }),
    ...(schedule_id === null ? {} : { scheduleId: schedule_id }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    ...(finished_at === null || state === 'canceled' ? {} : { completedAt: finished_at.toISOString() }),
    ...(finished_at === null || state !== 'canceled' ? {} : { canceledAt: finished_at.toISOString() }),
  }
}
