import type { JobWithMetadata, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { JobRefused, type JobType } from '../../../job-queue.ts'
import { messageOf } from '../../../lib/errors.ts'
import { type Attempt, failAttempt, findDueTypes, reclaimLost, releaseAttempt } from './settle.ts'

/** Longest time a job waits when the worker was not woken. */
const pollMs = 400
/** How often a running job's lease is renewed; a third of the lease. */
const heartbeatMs = 10_000
/** How soon a lease that ran out is noticed. */
const reclaimMs = 5000
/** Time that jobs have to notice that the server stops. */
const abortGraceMs = 2000

export interface JobWorkerOptions {
  readonly boss: PgBoss
  readonly database: SystemDatabase
  readonly types: readonly JobType<object>[]
  /** Jobs of one kind at once. */
  readonly concurrency: number
  readonly log: Logger
}

interface Running {
  readonly attempt: Attempt
  readonly done: Promise<void>
}

/**
 * Takes jobs from the queue as slots get free, each settled by itself as soon as it is done. A lease that ran out makes
 * the queue hand the job to another worker; its stale completion is then rejected, because it names its attempt.
 */
export class JobWorker {
  readonly #options: JobWorkerOptions
  readonly #running = new Map<string, Set<Running>>()
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  #isWoken = false
  #isStopped = false
  #isBlind = false
  #reclaimedAt = Number.NEGATIVE_INFINITY

  constructor(options: JobWorkerOptions) {
    this.#options = options
    for (const { name } of options.types) this.#running.set(name, new Set())
  }

  start(): void {
    this.#schedule(0)
  }

  /** Looks for jobs at once. */
  wake(): void {
    if (this.#polling !== undefined) this.#isWoken = true
    else this.#schedule(0)
  }

  /** Takes no more jobs, waits for those that run, aborts what takes longer than the timeout, and gives it back. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#polling
    if (await this.#settleWithin(timeoutMs)) return
    this.#stopping.abort(new Error('the server stops'))
    if (await this.#settleWithin(abortGraceMs)) return
    // What does not listen is given back behind its back: its stale completion is rejected.
    await Promise.all(this.#listRunning().map(({ attempt }) => this.#release(attempt)))
  }

  #listRunning(): Running[] {
    return [...this.#running.values()].flatMap((jobs) => [...jobs])
  }

  /** Whether everything that runs was done in time. */
  async #settleWithin(timeoutMs: number): Promise<boolean> {
    const all = Promise.all(this.#listRunning().map(({ done }) => done)).then(() => true)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), timeoutMs)
    })
    const isSettled = await Promise.race([all, late])
    clearTimeout(timer)
    return isSettled
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer)
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll()
    }, delayMs)
  }

  async #poll(): Promise<void> {
    let isBusy = false
    this.#isWoken = false
    try {
      await this.#reclaim()
      isBusy = await this.#takeDue()
      this.#isBlind = false
    } catch (error) {
      // Once per outage.
      if (!this.#isBlind) this.#options.log.warn({ reason: messageOf(error) }, 'cannot look for jobs')
      this.#isBlind = true
    }
    this.#polling = undefined
    this.#schedule(isBusy || this.#isWoken ? 0 : pollMs)
  }

  async #reclaim(): Promise<void> {
    const now = performance.now()
    if (now - this.#reclaimedAt < reclaimMs) return
    this.#reclaimedAt = now
    const count = await reclaimLost(this.#options.database)
    if (count > 0) this.#options.log.warn({ count }, 'took back jobs of workers that were lost')
  }

  /** Fills the free slots; answers whether there may be more to do at once. */
  async #takeDue(): Promise<boolean> {
    const { database, types } = this.#options
    const free = types.filter(({ name }) => this.#freeSlots(name) > 0)
    const due = new Set(
      await findDueTypes(
        database,
        free.map(({ name }) => name),
      ),
    )
    let isBusy = false
    for (const type of free) if (due.has(type.name)) isBusy = (await this.#take(type)) || isBusy
    return isBusy
  }

  #freeSlots(name: string): number {
    return this.#options.concurrency - (this.#running.get(name)?.size ?? 0)
  }

  async #take(type: JobType<object>): Promise<boolean> {
    const free = this.#freeSlots(type.name)
    if (free <= 0 || this.#isStopped) return false
    const jobs = await this.#options.boss.fetch<object>(type.name, { batchSize: free, includeMetadata: true })
    const running = this.#running.get(type.name)
    for (const job of jobs) {
      const done = this.#run(type, job).finally(() => {
        running?.delete(entry)
        this.wake()
      })
      const entry = { attempt: attemptOf(job), done }
      running?.add(entry)
    }
    return jobs.length === free
  }

  async #run(type: JobType<object>, job: JobWithMetadata<object>): Promise<void> {
    const { boss, log } = this.#options
    const attempt = job.retryCount + 1 - (job.sourceRetryCount ?? 0)
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(type.timeout * 1000)])
    const lease = setInterval(() => void boss.touch(type.name, job).catch(() => undefined), heartbeatMs)
    try {
      await type.handle(job.data, { id: job.id, attempt, signal })
      await boss.complete(type.name, job)
    } catch (error) {
      const isFinal = error instanceof JobRefused
      if (this.#stopping.signal.aborted && !isFinal) {
        await this.#release(attemptOf(job))
        return
      }
      const detail = { job: job.id, type: type.name, attempt, reason: messageOf(error) }
      if (isFinal || job.retryCount >= job.retryLimit) log.error(detail, 'job failed')
      else log.warn(detail, 'job will be tried again')
      await failAttempt(this.#options.database, attemptOf(job), messageOf(error), { isFinal }).catch(
        (cause) =>
          log.warn(
            { ...detail, reason: messageOf(cause) },
            'cannot record the failure; the lease will run out',
          ),
      )
    } finally {
      clearInterval(lease)
    }
  }

  async #release(attempt: Attempt): Promise<void> {
    const { database, log } = this.#options
    const detail = { job: attempt.id, type: attempt.type }
    log.info(detail, 'the server stops: job goes back to the queue')
    await releaseAttempt(database, attempt).catch((error) =>
      log.warn({ ...detail, reason: messageOf(error) }, 'cannot give the job back; the lease will run out'),
    )
  }
}

function attemptOf({ name, id, retryCount }: JobWithMetadata<object>): Attempt {
  return { type: name, id, retryCount }
}
