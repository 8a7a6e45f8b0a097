import type { Queryable } from './database/system-database.ts'
import type { RetryPolicy } from './lib/retry-policy.ts'

/** What one kind of job is and does. */
export interface JobType<Payload extends object> {
  /** `accounts.send_mail` */
  readonly name: string
  readonly retry: RetryPolicy
  /** Seconds one attempt may take. */
  readonly timeout: number
  /** What is wrong with a payload that an administrator gave, if anything is. */
  readonly findProblem?: (payload: Readonly<Record<string, unknown>>) => string | undefined
  /**
   * Does the job. It may be run again after a crash, so what it does must be safe to repeat. What it throws is kept
   * with the job and must hold no secret; a {@link JobRefused} ends the retries.
   */
  handle(payload: Payload, job: RunningJob): Promise<void>
}

export interface RunningJob {
  readonly id: string
  /** 1 for the first. */
  readonly attempt: number
  /** Aborted when the attempt takes too long or the server stops. */
  readonly signal: AbortSignal
}

/** Thrown by a handler whose job can never succeed. */
export class JobRefused extends Error {
  override readonly name = 'JobRefused'
}

/** How one job differs from the others of its type. */
export type EnqueueOptions = Due & {
  readonly maxAttempts?: number | undefined
  /** The schedule it comes from. */
  readonly scheduleId?: string | undefined
}

/** One of the two, or at once. */
type Due =
  | {
      /** Not before this time. */
      readonly runAt?: Date | undefined
      readonly delaySeconds?: undefined
    }
  | {
      readonly runAt?: undefined
      /** Not before so much later by the clock of the database: that of the node may be another. */
      readonly delaySeconds?: number | undefined
    }

export interface JobQueue {
  /** Declares a kind of job; before the start. */
  define<Payload extends object>(type: JobType<Payload>): void
  /** The kind of that name, if this version of the server knows it. */
  findType(name: string): JobType<object> | undefined
  /** The names of all kinds. */
  listTypes(): string[]
  /**
   * Adds a job.
   *
   * @param transaction makes the job part of it: there when it commits, never there when it does not
   * @returns the job's id
   */
  enqueue(name: string, payload: object, transaction?: Queryable, options?: EnqueueOptions): Promise<string>
  /** After a transaction that added jobs: has them started at once, on this node or another. */
  wake(): void
  start(): Promise<void> | void
  stop(): Promise<void>
}

/** What a schedule may say about a job that removes what is old. */
export interface Retention {
  readonly retention_days?: number
  readonly retention_hours?: number
}

/** A job that removes what is no longer needed; a migration makes a schedule for each. */
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
