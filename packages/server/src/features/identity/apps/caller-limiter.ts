import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Admission, CallerLimiter, LimitedCaller } from '../../../http/access/caller-limiter.ts'
import type { AppLimit } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { AppError } from '../../../lib/errors.ts'
import type { RequestLimits } from './config.ts'
import { PermitPool } from './permit-pool.ts'
import { type LeaseRequest, type LeaseResponse, leaseSeconds, type Refusal } from './permits.ts'

const windowSeconds = 60

interface Use {
  readonly key: string
  readonly limit: AppLimit
}

/**
 * Creates the limiter of requests per user and per address over all nodes (docs/guides/guarding-the-doors.md).
 * Returns undefined without limits, so that requests then cost nothing.
 */
export function createCallerLimiter(
  limits: RequestLimits,
  database: SystemDatabase,
  clock: Clock,
): LeasedCallerLimiter | undefined {
  const isLimited = limits.per_user > 0 || limits.per_address > 0
  return isLimited ? new LeasedCallerLimiter(limits, database, clock) : undefined
}

export class LeasedCallerLimiter implements CallerLimiter {
  readonly #limits: RequestLimits
  readonly #database: SystemDatabase
  readonly #clock: Clock
  readonly #permits = new PermitPool((key, limit, request) => this.#lease(key, limit, request))

  constructor(limits: RequestLimits, database: SystemDatabase, clock: Clock) {
    this.#limits = limits
    this.#database = database
    this.#clock = clock
  }

  async admit(caller: LimitedCaller, count = 1): Promise<Admission> {
    let admission: (Admission & { readonly remaining: number }) | undefined
    // The user is first: one user beyond the limit does not use up the address of others.
    for (const { key, limit } of this.#usesOf(caller)) {
      if (count > limit.requests) return { refusal: httpErrors.batchAboveRateLimit(count, limit.requests) }
      const permits = this.#permits.get(key, limit)
      const refusal = await permits.take(limit, count)
      if (refusal !== undefined) return { refusal: this.#describe(limit, refusal) }
      const remaining = permits.available
      if (admission === undefined || remaining < admission.remaining) {
        admission = { remaining, headers: this.#headersOf(limit, remaining, windowSeconds) }
      }
    }
    return admission ?? {}
  }

  /** Returns permits that this node has not used. */
  async stop(): Promise<void> {
    await this.#permits.stop()
  }

  #usesOf({ userId, address }: LimitedCaller): readonly Use[] {
    const { per_user, per_address } = this.#limits
    return [
      { name: 'user', key: userId, requests: per_user },
      { name: 'address', key: address, requests: per_address },
    ].flatMap(({ name, key, requests }) =>
      key === undefined || requests === 0
        ? []
        : [{ key: `${name} ${key}`, limit: { requests, windowSeconds } }],
    )
  }

  async #lease(
    key: string,
    { requests }: AppLimit,
    { id, needed, neededAhead, reports }: LeaseRequest,
  ): Promise<LeaseResponse> {
    const { granted, retry_after_ms, unleased } = await this.#database.one<{
      granted: number
      retry_after_ms: number | null
      unleased: number
    }>(sql`
      select granted, retry_after_ms, unleased from basalt.lease_caller_permits(${id}::uuid, ${key}, ${requests}::int,
        ${windowSeconds}::float8, ${needed}::int, ${neededAhead}::int, ${leaseSeconds}::float8,
        ${JSON.stringify(reports)}::jsonb)`)
    return { granted, retryAfterMs: retry_after_ms ?? undefined, unleased }
  }

  #describe(limit: AppLimit, { retryAfterMs }: NonNullable<Refusal>): AppError {
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
    const refusal = httpErrors.tooManyRequests().retryAfter(seconds)
    return refusal.with({ headers: { ...refusal.extras.headers, ...this.#headersOf(limit, 0, seconds) } })
  }

  /** Returns the headers of a limited response. The reset is the earliest time at which more requests are admitted. */
  #headersOf({ requests }: AppLimit, remaining: number, seconds: number): Readonly<Record<string, string>> {
    return {
      'x-ratelimit-limit': String(requests),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String(Math.floor(this.#clock.now().getTime() / 1000) + seconds),
    }
  }
}
