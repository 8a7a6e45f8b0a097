import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Clock } from '../../lib/clock.ts'
import type { AppError } from '../../lib/errors.ts'
import { RecentKeys } from '../../lib/recent-keys.ts'

/**
 * Time before the same failure is logged again. One that happens on every request would otherwise fill the log.
 */
const repeatMs = 60_000

/** Log of the causes of responses from 500 on. */
export class FailureLog {
  readonly #log: Logger
  readonly #logged: RecentKeys

  constructor(log: Logger, clock?: Clock) {
    this.#log = log
    this.#logged = new RecentKeys(repeatMs, clock)
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
      if (!this.#logged.isNew(logKey)) return
      this.#log[error.status === 500 ? 'error' : 'warn'](fields, error.message)
      return
    }
    // An unavailable or slow database is no fault of the code, so the line has no stack.
    if (error.status === 500) this.#log.error({ ...fields, err: cause ?? thrown }, 'request failed')
    else this.#log.warn({ ...fields, reason: String(cause ?? error.message) }, 'request failed')
  }
}
