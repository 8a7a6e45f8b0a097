import { type JobDeploys, JobRefused, type JobType, type RunningJob } from '../../../job-queue.ts'
import { AppError, messageOf } from '../../../lib/errors.ts'
import type { RetryPolicy } from '../../../lib/retry-policy.ts'
import type { Caller } from '../../data/collections/index.ts'
import type { AfterDescription, JobDescription, ScheduleDescription } from './messages.ts'
import { attemptsOf, isOfSchedule } from './schedules.ts'

const defaultSeconds = 60
/** Seconds after its own time limit at which the queue gives up an attempt. */
const graceSeconds = 30
/** Seconds after the time limit of a call at which PostgreSQL ends its transaction, if the server has not. */
const transactionGraceSeconds = 5

export function retryPolicyOf(retries: number | undefined): RetryPolicy {
  return { attempts: attemptsOf(retries), delay: 10, delayMax: 600, backoff: 3 }
}

/** Attempt of a job. */
export type JobRun = Pick<RunningJob, 'id' | 'attempt' | 'signal' | 'queuedBy' | 'deploy'>

/** Returns the time limit of an attempt in seconds. */
export function secondsOfJob({ timeout = defaultSeconds }: Pick<JobDescription, 'timeout'>): number {
  return timeout
}

/** Returns the milliseconds after which the transaction of an attempt is broken. The call has ended by its time limit before. */
export function transactionLimitOf(description: Pick<JobDescription, 'timeout'>): number {
  return (secondsOfJob(description) + transactionGraceSeconds) * 1000
}

/** Returns the caller of a job: the administrator, also if a user has added it. */
export function jobCaller(id: string): Caller {
  return {
    scope: { kind: 'unrestricted' },
    isAbandoned: () => false,
    isAdministrator: true,
    origin: () => ({ actor: 'job', requestId: id, appId: '', keyId: '', address: '' }),
  }
}

/** Functions of one load that have rows in the database. */
export interface FunctionRows {
  readonly schedules: readonly ScheduleDescription[]
  readonly afters: readonly AfterDescription[]
  /** Hash of the deploy; undefined for a folder of this machine. */
  readonly deploy: string | undefined
}

/** Functions that are loaded, with their jobs. */
export interface JobHost {
  readonly jobs: readonly JobDescription[]
  /** Jobs of the earlier deploy that is loaded for its waiting jobs. */
  readonly earlierJobs: readonly JobDescription[]
  /** Returns the deploys whose jobs of a type this node can run. */
  jobDeploys(type: string): JobDeploys
  readonly rows: FunctionRows | undefined
  readonly isAvailable: boolean
  /** @param deploy of the job; undefined for the live one */
  findPayloadProblem(type: string, payload: object, deploy?: string): string | undefined
  runJob(type: string, payload: object, run: JobRun): Promise<void>
}

/** Returns the types of jobs. @param deploy hash of the deploy that defines them */
function jobTypesOf(
  host: JobHost,
  descriptions: readonly JobDescription[],
  deploy: string | undefined,
): readonly JobType<object>[] {
  const earlier = new Map(host.earlierJobs.map((each) => [each.job, secondsOfJob(each)]))
  return descriptions.map((description) => {
    const { job, retries, concurrency } = description
    return {
      ...{ name: job, deploy },
      isForOwners: true,
      // A schedule is no job of its own.
      isOpenToSql: !isOfSchedule(job),
      retry: retryPolicyOf(retries),
      timeout: Math.max(secondsOfJob(description), earlier.get(job) ?? 0) + graceSeconds,
      ...(concurrency === undefined ? {} : { concurrency }),
      deploys: () => host.jobDeploys(job),
      findProblem: (payload, of) => host.findPayloadProblem(job, payload, of),
      async handle(payload, run) {
        try {
          await host.runJob(job, payload, run)
        } catch (error) {
          throw explain(error)
        }
      },
    }
  })
}

/** Types of jobs of the functions, in the queue. */
export interface FunctionJobs {
  /** Replaces the types and rows by those that are loaded. What fails is tried again until the next call. */
  refresh(): void
  stop(): void
}

/** Returns the error for the record. Refusals, other than those that may pass, are the same at every attempt. */
export function explain(error: unknown): unknown {
  if (!(error instanceof AppError)) return error
  const { status, extras } = error
  if (status < 500 && ![408, 409, 425, 429].includes(status)) return new JobRefused(error.message)
  return extras.cause === undefined ? error : new Error(`${error.message}: ${messageOf(extras.cause)}`)
}

const firstPauseMs = 1000
const longestPauseMs = 60_000

/** Writes the rows of functions, each kind independent of the others. */
export type RowWriters = readonly ((rows: FunctionRows) => Promise<void>)[]

/** Returns the jobs of the functions. Changes are applied one after the other. */
export function functionJobs(
  replaceTypes: (
    types: readonly JobType<object>[],
    deploy: string | undefined,
    earlier: readonly JobType<object>[],
  ) => Promise<void>,
  host: () => JobHost,
  writers: RowWriters,
  onError: (reason: string) => void,
): FunctionJobs {
  let applied = Promise.resolve()
  /** True once this node has functions: one without any leaves the rows of others. */
  let hasRows = false
  /** Number of the latest refresh. */
  let latest = 0
  let retry: NodeJS.Timeout | undefined

  async function apply(): Promise<boolean> {
    const { rows, jobs, earlierJobs } = host()
    const types = jobTypesOf(host(), jobs, rows?.deploy)
    const work = [replaceTypes(types, rows?.deploy, jobTypesOf(host(), earlierJobs, undefined))]
    const written = rows ?? { schedules: [], afters: [], deploy: undefined }
    // A failed attempt may have written some.
    hasRows ||= rows !== undefined
    if (hasRows) work.push(...writers.map((write) => write(written)))
    const failures = (await Promise.allSettled(work)).filter(({ status }) => status === 'rejected')
    for (const { reason } of failures as PromiseRejectedResult[]) onError(messageOf(reason))
    if (failures.length === 0) hasRows = rows !== undefined
    return failures.length === 0
  }

  function applyNext(number: number, pauseMs: number): void {
    applied = applied.then(async () => {
      if (number !== latest || (await apply()) || number !== latest) return
      const again = () => applyNext(number, Math.min(pauseMs * 2, longestPauseMs))
      retry = setTimeout(again, pauseMs).unref()
    })
  }

  return {
    refresh() {
      clearTimeout(retry)
      latest += 1
      applyNext(latest, firstPauseMs)
    },
    stop() {
      clearTimeout(retry)
      latest += 1
    },
  }
}
