import type { Logger } from 'pino'
import { messageOf } from '../../../lib/errors.ts'

/** Time for which an earlier deploy stays loaded without due jobs, alone and while another one has some. */
const idleMs = 10_000
const contendedIdleMs = 500
/** Time slice of a loaded deploy with due jobs while others wait. */
const sliceMs = 30_000

/** Host that runs one earlier deploy beside the current functions. */
export interface EarlierHost {
  readonly isUsed: boolean
  readonly deploy: string | undefined
  readonly earlierDeploy: string | undefined
  readonly isEarlierIdle: boolean
  /** True while a replaced process ends its calls. */
  readonly isRetiring: boolean
  mayHaveJob(deploy: string, type: string): boolean
  /** Returns the rest of the pause after a failure of a deploy. */
  earlierDelayMs(deploy: string): number
  /** @param write returns the folder of the deploy @throws Error */
  loadEarlier(write: () => Promise<string>, deploy: string): Promise<void>
  endEarlier(): void
}

export interface EarlierDeploysOptions {
  readonly host: EarlierHost
  /** Returns the hash of the live deploy, which may be loading. */
  readonly liveHash: () => string | undefined
  /** Writes a deploy to the disk, and returns its folder. @throws Error */
  readonly writeFolder: (hash: string) => Promise<string>
  readonly log: Logger
}

/** Pair of a deploy and a type of its jobs. */
type DueJobs = readonly [deploy: string, type: string]

/** Loads the earlier deploy whose jobs have been due longest, one at a time, and ends it without such jobs. */
export class EarlierDeploys {
  readonly #options: EarlierDeploysOptions
  #due: readonly DueJobs[] = []
  #isLoading = false
  #isStopped = false
  /** Time since which the loaded one has had no due jobs. */
  #idleSince: number | undefined
  /** Loaded deploy, and the start of its time slice. */
  #slice: { readonly deploy: string; readonly since: number } | undefined
  /** Deploys that have made way for others. The others are next. */
  readonly #served = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: EarlierDeploysOptions) {
    this.#options = options
  }

  /** Receives the jobs that are due, as JSON; null for none. */
  update(due: string | null): void {
    this.#due = due === null ? [] : JSON.parse(due)
    this.check()
  }

  /** Loads or ends an earlier deploy, if the jobs that are due or the functions have changed. */
  check(): void {
    if (this.#isStopped || this.#isLoading) return
    clearTimeout(this.#timer)
    const { host } = this.#options
    const { earlierDeploy } = host
    if (this.#slice?.deploy !== earlierDeploy)
      this.#slice =
        earlierDeploy === undefined ? undefined : { deploy: earlierDeploy, since: performance.now() }
    const waiting = this.#listWaiting()
    const ready = waiting.filter((deploy) => host.earlierDelayMs(deploy) === 0)
    const next = ready.find((deploy) => !this.#served.has(deploy)) ?? ready[0]
    if (earlierDeploy === undefined) this.#idleSince = undefined
    else if (!this.#hasDueJobs(earlierDeploy))
      this.#endWhenIdle(next === undefined ? idleMs : contendedIdleMs)
    else {
      this.#idleSince = undefined
      if (next !== undefined) this.#endAfterSlice()
      else this.#waitForDelay(waiting)
    }
    if (this.#isLoading || host.earlierDeploy !== undefined || !host.isUsed) return
    if (next !== undefined) void this.#load(next)
    else this.#waitForDelay(waiting)
  }

  /** Lists the other deploys with due jobs, the longest due first. */
  #listWaiting(): string[] {
    const { host, liveHash } = this.#options
    const others = this.#due.filter(
      ([deploy, type]) =>
        deploy !== host.deploy &&
        deploy !== liveHash() &&
        deploy !== host.earlierDeploy &&
        host.mayHaveJob(deploy, type),
    )
    return [...new Set(others.map(([deploy]) => deploy))]
  }

  /** Waits for the end of the first pause, if there is one. */
  #waitForDelay(waiting: readonly string[]): void {
    const { host } = this.#options
    if (waiting.length > 0) this.#wait(Math.min(...waiting.map((deploy) => host.earlierDelayMs(deploy))))
  }

  /** Ends the loaded deploy for another one, unless a process before it still ends its calls. */
  #endAfterSlice(): void {
    const { host } = this.#options
    if (this.#slice === undefined) return
    const remainingMs = this.#slice.since + sliceMs - performance.now()
    if (remainingMs > 0 || host.isRetiring) this.#wait(Math.max(remainingMs, contendedIdleMs))
    else {
      this.#served.add(this.#slice.deploy)
      host.endEarlier()
    }
  }

  #endWhenIdle(limitMs: number): void {
    const { host } = this.#options
    const now = performance.now()
    this.#idleSince ??= now
    const remainingMs = this.#idleSince + limitMs - now
    if (remainingMs > 0 || !host.isEarlierIdle) this.#wait(Math.max(remainingMs, contendedIdleMs))
    else {
      this.#idleSince = undefined
      host.endEarlier()
    }
  }

  #hasDueJobs(deploy: string): boolean {
    const { host } = this.#options
    return this.#due.some(([hash, type]) => hash === deploy && host.mayHaveJob(hash, type))
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => this.check(), ms).unref()
  }

  async #load(deploy: string): Promise<void> {
    const { host, writeFolder, log } = this.#options
    this.#isLoading = true
    if (this.#served.has(deploy)) this.#served.clear()
    try {
      await host.loadEarlier(() => writeFolder(deploy), deploy)
    } catch (error) {
      log.error(
        { deploy, reason: messageOf(error), delayMs: Math.ceil(host.earlierDelayMs(deploy)) },
        'failed to load an earlier deploy of functions for its jobs',
      )
    }
    this.#isLoading = false
    this.check()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }
}
