import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { type JobDeploys, JobRefused, type JobResult, type JobType } from '../../../job-queue.ts'
import { AppError, messageOf } from '../../../lib/errors.ts'
import { secondsBeforeRetry } from '../../../lib/retry-policy.ts'
import { QueueWorker } from '../queue/index.ts'
import {
  claimJobs,
  type JobClaim,
  type JobOutcome,
  leaseSeconds,
  renewLeases,
  type Settlement,
  settleJobs,
} from './claims.ts'
import type { JobCountMerger } from './counts.ts'

/** Errors of functions whose call has not begun, because of the state of this node. The attempt does not count. */
const notBegun: ReadonlySet<string> = new Set(['functions_unavailable', 'too_many_calls'])
/** Seconds before the next attempt of such a job, also on another node. */
const notBegunSeconds = 5

/** Maximum jitter added to a retry delay, as a fraction of it, so that jobs that failed together do not retry together. */
const jitter = 0.25

export interface JobWorkerOptions {
  readonly database: SystemDatabase
  /** Returns the types by name. Those of the first map count before those of the second. */
  readonly types: () => readonly [ReadonlyMap<string, JobType<object>>, ReadonlyMap<string, JobType<object>>]
  /** Maximum number of jobs of one type in flight. */
  readonly concurrency: number
  readonly merger: JobCountMerger
  /** Returns true in the process that polls for jobs changed by hand, for all workers of a machine. */
  readonly isLeading: () => boolean
  readonly log: Logger
}

export function createJobWorker(options: JobWorkerOptions): QueueWorker<JobClaim, JobOutcome> {
  const { database, concurrency, merger, isLeading, log } = options
  const settle = inBatches(async (settlements: readonly Settlement[]) => {
    merger.note()
    return await settleJobs(database, settlements)
  })
  /** Claims that outlived their time limit. Their leases are not renewed. */
  const expired = new WeakSet<JobClaim>()

  /** Claims whose handler has ended. They are being recorded while others are claimed. */
  const ended = new WeakSet<JobClaim>()

  const listTypes = () => {
    const [current, earlier] = options.types()
    return [...current.values(), ...Array.from(earlier.values()).filter(({ name }) => !current.has(name))]
  }
  const findType = (name: string) => {
    const [current, earlier] = options.types()
    return current.get(name) ?? earlier.get(name)
  }

  async function perform(claim: JobClaim, stopping: AbortSignal): Promise<JobOutcome | undefined> {
    try {
      return await run(claim, stopping)
    } finally {
      ended.add(claim)
      worker.wake()
    }
  }

  async function run(claim: JobClaim, stopping: AbortSignal): Promise<JobOutcome | undefined> {
    const { id, attempt } = claim
    const deploy = claim.deploy ?? undefined
    const type = findType(claim.type)
    // A deploy has removed the type since the claim, or its process has ended: the job waits for a node that can run it.
    if (type === undefined || type.isAvailable?.() === false || !canRun(type, deploy)) return undefined
    let reported: { readonly result?: JobResult } = {}
    const report = (result: JobResult) => {
      reported = { result }
    }
    const timeout = AbortSignal.timeout(type.timeout * 1000)
    timeout.addEventListener('abort', () => expired.add(claim))
    try {
      const problem =
        type.isOpenToSql === true ? await type.findProblem?.({ ...claim.payload }, deploy) : undefined
      if (problem !== undefined) throw new JobRefused(`invalid payload: ${problem}`)
      const signal = AbortSignal.any([stopping, timeout])
      await type.handle(claim.payload, {
        ...{ id, attempt, claim: claim.claim, signal, report },
        queuedBy: claim.queued_by ?? undefined,
        deploy,
      })
      return { kind: 'completed', ...reported }
    } catch (error) {
      const isRefused = error instanceof JobRefused
      if (stopping.aborted && !isRefused) return undefined
      const delay = 1 + Math.random() * jitter
      if (error instanceof AppError && notBegun.has(error.kind))
        return { kind: 'released', seconds: notBegunSeconds * delay }
      const message = messageOf(error)
      const policy = { ...type.retry, attempts: claim.max_attempts }
      const seconds = isRefused ? undefined : secondsBeforeRetry(policy, attempt)
      const detail = { job: id, type: type.name, attempt, reason: message }
      if (seconds === undefined) {
        log.error(detail, 'job failed')
        return { kind: 'failed', message, ...reported }
      }
      log.warn(detail, 'attempt of a job failed; retrying')
      return { kind: 'retry', message, ...reported, seconds: seconds * delay }
    }
  }

  const worker: QueueWorker<JobClaim, JobOutcome> = new QueueWorker({
    name: 'jobs',
    leaseSeconds,
    wakeDelayMs: 0,
    isLeading,
    log,
    async claim(inFlight) {
      const ofType = Map.groupBy(inFlight, ({ type }) => type)
      const available = listTypes().filter(({ isAvailable }) => isAvailable?.() !== false)
      const deploys = new Map(available.map((type) => [type.name, type.deploys?.() ?? all]))
      // The statement would read all waiting jobs of a type whose process restarts, and find none to claim.
      const runnable = available.filter(({ name }) => isAny(deploys.get(name)))
      const freeSlots = runnable.map((type): [string, number] => {
        const claims = ofType.get(type.name) ?? []
        const handled = claims.filter((claim) => !ended.has(claim))
        const limit = Math.min(concurrency, type.concurrency ?? concurrency)
        return [type.name, Math.min(limit - handled.length, 2 * limit - claims.length)]
      })
      merger.note()
      return await claimJobs(database, new Map(freeSlots), deploys)
    },
    perform,
    settle: (claim, outcome) => settle({ claim, outcome }),
    release: (claim) => settle({ claim, outcome: { kind: 'released' } }),
    renew: (claims) =>
      renewLeases(
        database,
        claims.filter((claim) => !expired.has(claim)),
      ),
    describe: ({ id, type, attempt }) => ({ job: id, type, attempt }),
  })
  return worker
}

/** Deploys of a type of the server, whose jobs have none. */
const all: JobDeploys = { hasLive: true, hashes: [] }

function isAny(deploys: JobDeploys = all): boolean {
  return deploys.hasLive || deploys.hashes.length > 0
}

function canRun({ deploys }: JobType<object>, deploy: string | undefined): boolean {
  const { hasLive, hashes } = deploys?.() ?? all
  return deploy === undefined ? hasLive : hashes.includes(deploy)
}

/** Runs items in batches. Items that arrive while a batch is in flight form the next batch. */
function inBatches<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  let waiting: { readonly item: Item; readonly settled: PromiseWithResolvers<Result> }[] = []
  let isRunning = false

  async function runAll(): Promise<void> {
    isRunning = true
    // Attempts that end in the same turn of the event loop form one batch.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await run(batch.map(({ item }) => item)).then(
        (results) => {
          for (const [index, { settled }] of batch.entries()) settled.resolve(results[index] as Result) // The batch has one result for each item.
        },
        (error) => {
          for (const { settled } of batch) settled.reject(error)
        },
      )
    }
    isRunning = false
  }

  return (item) => {
    const settled = Promise.withResolvers<Result>()
    waiting.push({ item, settled })
    if (!isRunning) void runAll()
    return settled.promise
  }
}
