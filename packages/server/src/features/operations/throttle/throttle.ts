import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { createSlots } from './slots.ts'

/** Limit of attempts per key, within a window that begins with the first attempt. */
export interface AttemptLimit {
  /** Name of the limited action, which is part of the key. */
  readonly name: string
  readonly attempts: number
  readonly windowSeconds: number
  /**
   * Seconds for which the key is locked after the last allowed attempt. Without it, the key is locked until the
   * window ends.
   */
  readonly lockSeconds?: number
}

/**
 * Factor for limits per client address in development, where one person is all clients. Elsewhere an address
 * may be shared by a whole school.
 */
const developmentFactor = 100

/** Returns a limit per client address, which is wide in development. */
export function perAddress(limit: number, { isDevelopment }: { readonly isDevelopment: boolean }): number {
  return isDevelopment ? limit * developmentFactor : limit
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
 * Counter of attempts in the database, the same on every node and after a restart, by the database clock.
 * Where only failures count, as with passwords, concurrent successes must not block each other, and
 * concurrent failures must not all slip through. Callers `check` before the work and `attempt` after a
 * failure. After a success they `check` again, in the transaction that grants it. However many run
 * concurrently, a success counts only while fewer failures than the limit are recorded.
 */
export interface Throttle {
  /**
   * Counts one attempt, or several at once. The verdict says whether they are still allowed. Either all of them
   * count or none.
   */
  attempt(limit: AttemptLimit, key: string, count?: number): Promise<AttemptVerdict>
  /** Releases one attempt that does not count. */
  release(limit: AttemptLimit, key: string): Promise<void>
  /**
   * Runs an attempt while few attempts with the same key are in flight on this node. Attempts are counted
   * before they run, so concurrent right ones would otherwise use up the limit.
   *
   * @throws AppError too_many_requests when the queue is full
   */
  withSlot<Result>(limit: AttemptLimit, key: string, attempt: () => Promise<Result>): Promise<Result>
  /** Returns whether one more attempt is allowed, without counting it. */
  check(limit: AttemptLimit, key: string, transaction?: Queryable): Promise<AttemptVerdict>
  /** Clears the attempts of a key, for example after a success. */
  reset(limit: AttemptLimit, key: string): Promise<void>
}

/** Fraction of a limit that may be in flight on one node. */
const inFlightQuota = 0.25

export function createThrottle(database: SystemDatabase): Throttle {
  const slots = createSlots()
  return {
    withSlot(limit, key, attempt) {
      const width = Math.max(1, Math.floor(limit.attempts * inFlightQuota))
      return slots.take(fullKey(limit, key), width, attempt)
    },
    async attempt(limit, key, count = 1) {
      // Attempts beyond the limit are not counted, because releasing them would otherwise release too many.
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
 * Rejects an attempt beyond its limit, and reports when the next one is allowed.
 *
 * @throws AppError too_many_requests, or the given error, with `Retry-After` and `X-RateLimit-*`
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

/** Deletes ended windows, and leases of request limits from before the last minute. They have no effect. */
export async function deleteEndedWindows(database: SystemDatabase): Promise<number> {
  const leases = sql`ends_at < now() - interval '1 min'`
  const deleted = await deleteInBatches(database, 'caller_permit_leases', leases)
  return deleted + (await deleteInBatches(database, 'attempts', sql`window_ends_at < now()`))
}

function fullKey({ name }: AttemptLimit, key: string): string {
  return `${name}:${key}`
}

/** Defines the job that keeps the table of attempts small. */
export function defineThrottleHousekeeping(database: SystemDatabase, queue: JobQueue): void {
  queue.define(housekeeping('attempt_cleanup', () => deleteEndedWindows(database)))
}
