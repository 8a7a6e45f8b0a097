import type { Logger } from 'pino'
import { messageOf } from '../lib/errors.ts'
import { type Static, Type } from '../lib/type.ts'

/** Last reload of a server, for commands beside it. */
export const reloadSchema = Type.Object({
  /** Number of this reload since the start of the server, from 1. */
  number: Type.Integer(),
  state: Type.Union([Type.Literal('running'), Type.Literal('done'), Type.Literal('failed')]),
  /** Time at which it entered this state. */
  at: Type.String(),
  /** Number of workers that a completed reload has started. */
  workers: Type.Optional(Type.Integer()),
  /** Version of those workers. */
  version: Type.Optional(Type.String()),
  /** Reason of a failure. The previous workers continue. */
  reason: Type.Optional(Type.String()),
})

export type Reload = Static<typeof reloadSchema>

export interface ReloadsOptions {
  readonly log: Logger
  /** Reloads once. @throws an error with the reason for which the previous workers continue */
  readonly run: () => Promise<Required<Pick<Reload, 'workers' | 'version'>>>
  readonly onChange: (reload: Reload) => void
}

/**
 * Runs one reload at a time. All requests during a reload are served by one more, because the first may have read
 * the configuration before it was changed.
 */
export class Reloads {
  readonly #options: ReloadsOptions
  #number = 0
  #isRequested = false
  #isRunning = false

  constructor(options: ReloadsOptions) {
    this.#options = options
  }

  request(): void {
    this.#isRequested = true
    if (!this.#isRunning) void this.#runAll()
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true
    while (this.#isRequested) {
      this.#isRequested = false
      this.#number += 1
      await this.#run()
    }
    this.#isRunning = false
  }

  async #run(): Promise<void> {
    const { log, run } = this.#options
    this.#report({ state: 'running' })
    log.info('reloading')
    try {
      const result = await run()
      log.info(result, 'reloaded')
      this.#report({ state: 'done', ...result })
    } catch (error) {
      const reason = messageOf(error)
      log.error({ reason }, 'failed to reload; the workers continue with the previous configuration')
      this.#report({ state: 'failed', reason })
    }
  }

  #report(change: Omit<Reload, 'number' | 'at'>): void {
    this.#options.onChange({ number: this.#number, at: new Date().toISOString(), ...change })
  }
}
