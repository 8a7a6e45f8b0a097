import type { Queryable } from './database/system-database.ts'
import type { RetryPolicy } from './lib/retry-policy.ts'

/** Deploys of functions whose jobs a node can run. */
export interface JobDeploys {
  /** True for the jobs without a deploy, and for those whose deploy is no longer kept. */
  readonly hasLive: boolean
  readonly hashes: readonly string[]
}

/** Type of a job with its handler. */
export interface JobType<Payload extends object> {
  /** Name such as `accounts.send_mail`. */
  readonly name: string
  readonly retry: RetryPolicy
  /** Time limit of one attempt, in seconds. */
  readonly timeout: number
  /** Returns the problem of a payload from an administrator, if it has one. @param deploy of a job that is run */
  readonly findProblem?: (
    payload: Readonly<Record<string, unknown>>,
    deploy?: string,
  ) => string | undefined | Promise<string | undefined>
  /** Maximum number of jobs of the type in flight on a node; by default that of the configuration. */
  readonly concurrency?: number
  /** Returns false while this node cannot run the job. It then claims none. */
  readonly isAvailable?: () => boolean
  /** Returns the deploys whose jobs of this type the node can run. Without it, it can run all. */
  readonly deploys?: () => JobDeploys
  /** Hash of the deploy that defines the type. Jobs that this node adds belong to it. */
  readonly deploy?: string | undefined
  /** True if only owners may add the job, because its payload has the rights of the operator. */
  readonly isForOwners?: boolean
  /** True if adding the job requires a fresh second factor of the administrator, because its payload is SQL that writes. */
  readonly needsStepUp?: boolean
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
  /** Fencing token: the number of the claim, which is larger than that of each claim of the job before. */
  readonly claim: string
  /** Id of the user in whose transaction SQL or a function has added the job. */
  readonly queuedBy?: string | undefined
  /** Hash of the deploy that runs the job; undefined for the live one. */
  readonly deploy?: string | undefined
  /** Signal that is aborted when the attempt takes too long or the server stops. */
  readonly signal: AbortSignal
  /** Keeps a result in the record of the attempt, also of one that fails. The last call counts. */
  report(result: JobResult): void
}

/** Thrown by a handler whose job can never succeed. */
export class JobRefused extends Error {
  override readonly name = 'JobRefused'
}

/** Sender of a message of a function. */
export interface MessageSender {
  /** Id of the user in whose call it is sent. */
  readonly userId: string | undefined
  /** Key by which the messages are limited; undefined without a limit. */
  readonly limitKey: string | undefined
}

/** Messages of one kind that functions send, each by a job of its transaction. */
export interface MessageJobs {
  readonly job: string
  /** Maximum number of attempts. */
  readonly attempts: number
  /**
   * Checks a message and counts it for its limit.
   *
   * @returns the payloads of its jobs
   * @throws AppError
   */
  prepare(message: object, sender: MessageSender): Promise<readonly object[]>
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

/** Lock of the types of shared functions. It returns false if others are current. */
export type TypesLock = (transaction: Queryable) => Promise<boolean>

export interface JobQueue {
  /** Declares a type of job, before the start. */
  define<Payload extends object>(type: JobType<Payload>): void
  /**
   * Replaces the types that functions of the operator define, also while the queue works. SQL may add those of the new ones
   * that are open to it.
   *
   * @param lock present if all nodes have the same functions. It lets one node at a time record their types for SQL. SQL may
   * then add no others.
   * @param earlier types of an earlier deploy, whose waiting jobs are run. None can be added
   */
  replaceFunctionTypes(
    types: readonly JobType<object>[],
    lock?: TypesLock,
    earlier?: readonly JobType<object>[],
  ): Promise<void>
  /** Returns true if a feature of the server has defined the type. */
  isReserved(name: string): boolean
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
