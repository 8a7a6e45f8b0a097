import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { createSlots } from './slots.ts'

/** Limit of attempts per key within a window that begins with the first one. */
export interface AttemptLimit {
  /** Name of the limited action; part of the key. */
  readonly name: string
  readonly attempts: number
  readonly windowSeconds: number
  /** Seconds the key stays locked once the last permitted attempt was made; else until the window ends. */
  readonly lockSeconds?: number
}

export type AttemptVerdict = { readonly isAllowed: true } | AttemptRefusal

export interface AttemptRefusal {
  readonly isAllowed: false
  /** Number of allowed attempts. */
  readonly attempts: number
  /** Whole seconds until the window ends. */
  readonly retryAfterSeconds: number
  /** End of the window in whole seconds since 1970. */
  readonly endsAt: number
}

interface Window {
  readonly retry_after: number
  readonly ends_at: number
}

/**
 * Counts attempts in the database: the same on every node and after a restart, by the database's clock.
 *
 * Where only failures count, as with passwords, concurrent successes must not hinder each other, and concurrent
 * failures must not all slip through: `check` before the work, `attempt` after a failure, and `check` again after
 * a success, in the transaction that grants it. However many run side by side, a success counts only while fewer
 * failures than the limit have been recorded.
 */
export interface Throttle {
  /**
   * Counts one attempt, or as many as are made at once; the verdict says whether they were still among those allowed.
   * Either all of them count or none.
   */
  attempt(limit: AttemptLimit, key: string, count?: number): Promise<AttemptVerdict>
  /** Takes one attempt back that turned out to be none. */
  release(limit: AttemptLimit, key: string): Promise<void>
  /**
   * Runs an attempt when few of the same key are in flight on this node. Attempts are counted before they are made:
   * without this, right ones that arrive together would use up the limit.
   *
   * @throws AppError too_many_requests when too many wait already
   */
  inTurn<Result>(limit: AttemptLimit, key: string, attempt: () => Promise<Result>): Promise<Result>
  /** Judges whether one more attempt is allowed; counts nothing. */
  check(limit: AttemptLimit, key: string, transaction?: Queryable): Promise<AttemptVerdict>
  /** Forgets the attempts of a key, as after a success. */
  reset(limit: AttemptLimit, key: string): Promise<void>
}

/** The part of a limit that may be in flight on one node. */
const inFlightQuota = 0.25

export function createThrottle(database: SystemDatabase): Throttle {
  const slots = createSlots()
  return {
    inTurn(limit, key, attempt) {
      const width = Math.max(1, Math.floor(limit.attempts * inFlightQuota))
      return slots.take(fullKey(limit, key), width, attempt)
    },
    async attempt(limit, key, count = 1) {
      // Attempts beyond the limit are not counted: what is released would not be all that was counted.
      const refused = await database.maybeOne<Window>(sql`
        with counted as (
          insert into basalt.attempts as a (key, count, window_ends_at)
          select ${fullKey(limit, key)}, ${count}::int, now() + make_interval(secs => ${limit.windowSeconds}::int)
          where ${count}::int <= ${limit.attempts}::int
          on conflict (key) do update set
            count = case when a.window_ends_at <= now() then excluded.count else a.count + excluded.count end,
            window_ends_at = case
              when a.window_ends_at <= now() then excluded.window_ends_at
              when a.count + excluded.count = ${limit.attempts}::int and ${limit.lockSeconds ?? null}::int is not null
                then now() + make_interval(secs => ${limit.lockSeconds ?? null}::int)
              else a.window_ends_at end
          where a.window_ends_at <= now() or a.count + excluded.count <= ${limit.attempts}::int
          returning key
        )
        -- Not now(): the attempt that began the window may have started after this one.
        select ceil(extract(epoch from ends - clock_timestamp()))::int as retry_after,
          ceil(extract(epoch from ends))::float8 as ends_at
        from coalesce(
          (select window_ends_at from basalt.attempts where key = ${fullKey(limit, key)}),
          -- Begun by another attempt in this moment.
          now() + make_interval(secs => ${limit.windowSeconds}::int)
        ) ends
        where not exists (select from counted)`)
      return judge(limit, refused)
    },
    async release(limit, key) {
      await database.count(
        sql`update basalt.attempts set count = count - 1 where key = ${fullKey(limit, key)} and count > 0`,
      )
    },
    async check(limit, key, transaction = database) {
      const row = await transaction.maybeOne<Window>(sql`
        select ceil(extract(epoch from window_ends_at - now()))::int as retry_after,
          ceil(extract(epoch from window_ends_at))::float8 as ends_at
        from basalt.attempts
        where key = ${fullKey(limit, key)} and window_ends_at > now() and count >= ${limit.attempts}::int`)
      return judge(limit, row)
    },
    async reset(limit, key) {
      await database.count(sql`delete from basalt.attempts where key = ${fullKey(limit, key)}`)
    },
  }
}

function judge({ attempts }: AttemptLimit, refused: Window | undefined): AttemptVerdict {
  if (refused === undefined) return { isAllowed: true }
  const retryAfterSeconds = Math.max(1, refused.retry_after)
  return { isAllowed: false, attempts, retryAfterSeconds, endsAt: refused.ends_at }
}

/**
 * Rejects an attempt beyond its limit, and says when the next one is allowed.
 *
 * @throws AppError too_many_requests, or the error given, with `Retry-After` and `X-RateLimit-*`
 */
export function requireAllowed(verdict: AttemptVerdict, error = httpErrors.tooManyRequests()): void {
  if (verdict.isAllowed) return
  const refusal = error.retryAfter(verdict.retryAfterSeconds)
  throw refusal.with({
    headers: {
      ...refusal.extras.headers,
      'x-ratelimit-limit': String(verdict.attempts),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(verdict.endsAt),
    },
  })
}

/** Removes windows that have ended; they count for nothing. */
export async function deleteEndedWindows(database: SystemDatabase): Promise<number> {
  return await deleteInBatches(database, 'attempts', sql`window_ends_at < now()`)
}

function fullKey({ name }: AttemptLimit, key: string): string {
  return `${name}:${key}`
}

/** Keeps the table of attempts small. */
export function defineThrottleHousekeeping(database: SystemDatabase, queue: JobQueue): void {
  queue.define(housekeeping('attempt_cleanup', () => deleteEndedWindows(database)))
}
