import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestLimiter } from '../../../http/access/authentication.ts'
import type { AppLimit } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { AppError } from '../../../lib/errors.ts'
import { PermitPool } from './permit-pool.ts'
import { type LeaseRequest, type LeaseResponse, leaseSeconds, type Refusal } from './permits.ts'

/** Rate limiter of apps, over all nodes (docs/guides/keys.md). */
export class AppLimiter implements RequestLimiter {
  readonly #database: SystemDatabase
  readonly #clock: Clock
  readonly #permits = new PermitPool((appId, _limit, request) => this.#lease(appId, request))

  constructor(database: SystemDatabase, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  admit({
    appId,
    appLimit,
  }: {
    readonly appId: string
    readonly appLimit?: AppLimit | undefined
  }): AppError | undefined | Promise<AppError | undefined> {
    if (appLimit === undefined) return undefined
    const refusal = this.#permits.get(appId, appLimit).take(appLimit)
    const describe = (found: Refusal) => this.#describe(appLimit, found)
    return refusal instanceof Promise ? refusal.then(describe) : describe(refusal)
  }

  /** Returns permits that this node has not used. */
  async stop(): Promise<void> {
    await this.#permits.stop()
  }

  async #lease(appId: string, { id, needed, neededAhead, reports }: LeaseRequest): Promise<LeaseResponse> {
    const { granted, retry_after_ms } = await this.#database.one<{
      granted: number | null
      retry_after_ms: number | null
    }>(sql`
      select granted, retry_after_ms from basalt.lease_permits(${id}::uuid, ${appId}::uuid, ${needed}::int,
        ${neededAhead}::int, ${leaseSeconds}::float8, ${JSON.stringify(reports)}::jsonb)`)
    return { granted: granted ?? undefined, retryAfterMs: retry_after_ms ?? undefined }
  }

  /**
   * Describes a refusal as an error. Admitted responses do not say how many requests remain, because a node
   * knows only the permits it has leased.
   */
  #describe({ requests }: AppLimit, refusal: Refusal): AppError | undefined {
    if (refusal === undefined) return undefined
    const seconds = Math.max(1, Math.ceil(refusal.retryAfterMs / 1000))
    return httpErrors.appRateLimitExceeded().with({
      headers: {
        'retry-after': String(seconds),
        'x-app-ratelimit-limit': String(requests),
        'x-app-ratelimit-remaining': '0',
        'x-app-ratelimit-reset': String(Math.floor(this.#clock.now().getTime() / 1000) + seconds),
      },
    })
  }
}
