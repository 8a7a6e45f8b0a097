import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { type Clock, systemClock } from '../../lib/clock.ts'
import type { AppError } from '../../lib/errors.ts'
import { Lru } from '../../lib/lru.ts'

/** One that happens on every request would otherwise fill the log. */
const repeatMs = 60_000
/** Keys that are remembered. */
const keyLimit = 1000

/** Logs the reasons behind answers from 500 on. */
export class FailureLog {
  readonly #log: Logger
  readonly #clock: Clock
  /** When a failure with this key was logged last. */
  readonly #loggedAt = new Lru<string, number>(keyLimit)

  constructor(log: Logger, clock: Clock = systemClock) {
    this.#log = log
    this.#clock = clock
  }

  add(request: FastifyRequest, error: AppError, thrown: Error): void {
    const { detail, cause, logKey } = error.extras
    const fields = {
      requestId: request.id,
      operation: request.routeOptions.config.operation,
      kind: error.kind,
      detail,
    }
    if (logKey !== undefined) {
      if (this.#isRecent(logKey)) return
      this.#log.error(fields, error.message)
      return
    }
    // A database that is unavailable or slow is no fault of the code: no stack.
    if (error.status === 500) this.#log.error({ ...fields, err: cause ?? thrown }, 'request failed')
    else this.#log.warn({ ...fields, reason: String(cause ?? error.message) }, 'request failed')
  }

  #isRecent(key: string): boolean {
    const now = this.#clock.now().getTime()
    const before = this.#loggedAt.get(key)
    if (before !== undefined && now - before < repeatMs) return true
    this.#loggedAt.set(key, now)
    return false
  }
}
