import type { Queryable } from './database/system-database.ts'
import type { RetryPolicy } from './lib/retry-policy.ts'

/** Type of a job with its handler. */
export interface JobType<Payload extends object> {
  /** Name such as `accounts.send_mail`. */
  readonly name: string
  readonly retry: RetryPolicy
  /** Time limit of one attempt, in seconds. */
  readonly timeout: number
  /** Returns the problem of a payload from an administrator, if it has one. */
  readonly findProblem?: (
    payload: Readonly<Record<string, unknown>>,
  ) => string | undefined | Promise<string | undefined>
  /** Maximum number of jobs of the type in flight on a node; by default that of the configuration. */
  readonly concurrency?: number
  /** True if only owners may add the job, because its payload has the rights of the operator. */
  readonly isForOwners?: boolean
  /** True if SQL may add the job, by `basalt.enqueue`. Its payload is then checked before it is handled. */
  readonly isOpenToSql?: boolean
  /**
   * Runs the job. It may run again after a crash, so its effects must be safe to repeat. An error is stored
   * with the job and must contain no secret. A {@link JobRefused} ends the retries.
   */
  handle(payload: Payload, job: RunningJob): Promise<void>
}

/** Result of an attempt, for its record. */
export interface JobResult {
  /** Number of rows that a statement has returned or changed. */
  readonly rows?: number
  /** Status code of a response. */
  readonly status?: number
}

export interface RunningJob {
  readonly id: string
  /** Number of the attempt, from 1. */
  readonly attempt: number
  /** Signal that is aborted when the attempt takes too long or the server stops. */
  readonly signal: AbortSignal
  /** Keeps a result in the record of the attempt, also of one that fails. The last call counts. */
  report(result: JobResult): void
}

/** Thrown by a handler whose job can never succeed. */
export class JobRefused extends Error {
  override readonly name = 'JobRefused'
}

/** Options of one job. */
export type EnqueueOptions = Due & {
  readonly maxAttempts?: number | undefined
  /** Schedule that created the job. */
  readonly scheduleId?: string | undefined
}

/** Time of the first attempt: at `runAt`, after `delaySeconds`, or at once. */
type Due =
  | {
      /** Earliest time. */
      readonly runAt?: Date | undefined
      readonly delaySeconds?: undefined
    }
  | {
      readonly runAt?: undefined
      /** Delay by the clock of the database, which may differ from that of the node. */
      readonly delaySeconds?: number | undefined
    }

export interface JobQueue {
  /** Declares a type of job, before the start. */
  define<Payload extends object>(type: JobType<Payload>): void
  /** Returns the type with that name, if this version of the server knows it. */
  findType(name: string): JobType<object> | undefined
  /** Lists the names of all types. */
  listTypes(): string[]
  /**
   * Adds a job.
   *
   * @param transaction makes the job part of it, so that it exists only if the transaction commits
   * @returns the job's id
   */
  enqueue(name: string, payload: object, transaction?: Queryable, options?: EnqueueOptions): Promise<string>
  /** Starts jobs at once, on this node or another, after a transaction that added some. */
  wake(): void
  start(): Promise<void> | void
  stop(): Promise<void>
}

/** Retention in the schedule of a job that deletes old data. */
export interface Retention {
  readonly retention_days?: number
  readonly retention_hours?: number
}

/** Declares a housekeeping job that deletes old data; a migration creates a schedule for each. */
export function housekeeping(
  name: string,
  handle: (payload: Retention) => Promise<unknown>,
): JobType<Retention> {
  return {
    name,
    retry: { attempts: 3, delay: 60, delayMax: 600, backoff: 2 },
    timeout: 600,
    findProblem: ({ retention_days, retention_hours }) =>
      findRetentionProblem('retention_days', retention_days, 36_500) ??
      findRetentionProblem('retention_hours', retention_hours, 36_500 * 24),
    handle: async (payload) => void (await handle(payload)),
  }
}

function findRetentionProblem(name: string, value: unknown, most: number): string | undefined {
  if (value === undefined) return undefined
  const isFit = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most
  return isFit ? undefined : `${name} must be an integer from 1 to ${most}`
}
