import type { Job, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { messageOf } from '../../lib/errors.ts'
import { JobRefused, type JobType } from './job-type.ts'

/** Longest time a job waits when nobody woke the worker. */
const pollMs = 500
/** How often a running job's lease is renewed; a third of the lease. */
const heartbeatMs = 10_000

export interface JobWorkerOptions {
  readonly boss: PgBoss
  readonly types: readonly JobType<object>[]
  /** Jobs of one kind at once. */
  readonly concurrency: number
  /** Ends the retries of an attempt that is about to be reported as failed. */
  readonly giveUp: (job: Job<object>) => Promise<void>
  readonly log: Logger
}

/**
 * Takes jobs from the queue as slots get free, each settled by itself as soon as it is done. A lease that ran out makes
 * the queue hand the job to another worker; this one's late word is then refused, because it names its attempt.
 */
export class JobWorker {
  readonly #options: JobWorkerOptions
  readonly #running = new Map<string, Set<Promise<void>>>()
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  #isWoken = false
  #isStopped = false

  constructor(options: JobWorkerOptions) {
    this.#options = options
  }

  start(): void {
    this.#schedule(0)
  }

  /** Looks for jobs at once. */
  wake(): void {
    if (this.#polling !== undefined) this.#isWoken = true
    else this.#schedule(0)
  }

  /** Takes no more jobs, waits for those that run, and aborts what takes longer than the timeout. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#polling
    const running = Promise.all([...this.#running.values()].flatMap((jobs) => [...jobs]))
    const timer = setTimeout(() => this.#stopping.abort(new Error('the server stops')), timeoutMs)
    await running
    clearTimeout(timer)
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
    for (const type of this.#options.types) isBusy = (await this.#take(type)) || isBusy
    this.#polling = undefined
    const again = isBusy || this.#isWoken
    this.#isWoken = false
    this.#schedule(again ? 0 : pollMs)
  }

  /** Fills the free slots of a kind; answers whether there may be more to do at once. */
  async #take(type: JobType<object>): Promise<boolean> {
    const { boss, concurrency, log } = this.#options
    const running = this.#running.get(type.name) ?? new Set()
    this.#running.set(type.name, running)
    const free = concurrency - running.size
    if (free <= 0 || this.#isStopped) return false
    try {
      const jobs = await boss.fetch<object>(type.name, { batchSize: free })
      for (const job of jobs) {
        const done = this.#run(type, job).finally(() => {
          running.delete(done)
          this.wake()
        })
        running.add(done)
      }
      return jobs.length === free
    } catch (error) {
      log.warn({ type: type.name, reason: messageOf(error) }, 'cannot look for jobs')
      return false
    }
  }

  async #run(type: JobType<object>, job: Job<object>): Promise<void> {
    const { boss, log } = this.#options
    const attempt = job.retryCount + 1
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(type.timeout * 1000)])
    const lease = setInterval(() => void boss.touch(type.name, job).catch(() => undefined), heartbeatMs)
    try {
      await type.handle(job.data, { id: job.id, attempt, signal })
      await boss.complete(type.name, job)
    } catch (error) {
      const isLast = error instanceof JobRefused || attempt > type.retries
      const detail = { job: job.id, type: type.name, attempt, reason: messageOf(error) }
      if (isLast) log.error(detail, 'job failed')
      else log.warn(detail, 'job will be tried again')
      await this.#fail(type, job, error).catch((cause) =>
        log.warn(
          { ...detail, reason: messageOf(cause) },
          'cannot record the failure; the lease will run out',
        ),
      )
    } finally {
      clearInterval(lease)
    }
  }

  async #fail(type: JobType<object>, job: Job<object>, error: unknown): Promise<void> {
    if (error instanceof JobRefused) await this.#options.giveUp(job)
    await this.#options.boss.fail(type.name, job, { message: messageOf(error) })
  }
}
