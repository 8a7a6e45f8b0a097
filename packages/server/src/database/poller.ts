import type { Logger } from 'pino'
import { messageOf } from '../lib/errors.ts'

export interface PollerOptions {
  /** What is read, for the log: `the auth settings`. */
  readonly what: string
  /** Milliseconds between the end of one read and the beginning of the next. */
  readonly everyMs: number
  readonly read: () => Promise<void>
  readonly log: Logger
}

/** Keeps what a node remembers of the database up to date: reads it again and again, whatever becomes of one read. */
export class Poller {
  readonly #options: PollerOptions
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: PollerOptions) {
    this.#options = options
  }

  /** Begins with a read that must succeed. */
  async start(): Promise<void> {
    await this.#options.read()
    this.#schedule()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    if (this.#isStopped) return
    const { what, everyMs, read, log } = this.#options
    this.#timer = setTimeout(() => {
      read()
        .catch((error) => log.warn({ reason: messageOf(error) }, `cannot read ${what}`))
        .finally(() => this.#schedule())
    }, everyMs).unref()
  }
}
