import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'

/**
 * Housekeeping of accounts as jobs. Schedules name them whether or not auth is enabled.
 *
 * @param anonymousDays after which an anonymous account that was not linked is removed
 */
export function defineAccountHousekeeping(
  database: SystemDatabase,
  queue: JobQueue,
  anonymousDays: number,
): void {
  queue.define(housekeeping('expired_auth_cleanup', () => deleteExpired(database)))
  queue.define(housekeeping('stale_session_cleanup', () => deleteExpiredSessions(database)))
  queue.define(
    housekeeping('anonymous_user_cleanup', ({ retention_days = anonymousDays }) =>
      removeAnonymousUsers(database, retention_days),
    ),
  )
}

/** Removes what has expired and counts for nothing. */
export async function deleteExpired(database: SystemDatabase): Promise<void> {
  // A used one is remembered for longer than its message may be sent again.
  await deleteInBatches(database, 'mailed_tokens', sql`expires_at < now() - interval '1 day'`)
  await deleteInBatches(database, 'phone_codes', sql`expires_at < now() - interval '1 day'`)
  await deleteInBatches(database, 'pending_sign_ins', sql`expires_at < now()`)
  await deleteInBatches(database, 'mfa_challenges', sql`expires_at < now() - interval '1 hour'`)
  await deleteExpiredSessions(database)
  // Access tokens expire by the clocks of nodes, which may differ a little.
  await deleteInBatches(database, 'ended_sessions', sql`tokens_expire_at < now() - interval '1 hour'`)
}

/** Removes sessions whose refresh token can no longer be used. */
async function deleteExpiredSessions(database: Queryable): Promise<void> {
  await deleteInBatches(database, 'sessions', sql`expires_at < now()`)
}

/** Accounts that one statement removes: what belongs to them goes with them. */
const usersAtOnce = 500

/** Removes anonymous accounts that were not linked, with all that belongs to them. */
export async function removeAnonymousUsers(database: Queryable, olderThanDays: number): Promise<number> {
  return await deleteInBatches(
    database,
    'users',
    sql`is_anonymous and created_at < now() - make_interval(days => ${olderThanDays}::int)`,
    usersAtOnce,
  )
}
