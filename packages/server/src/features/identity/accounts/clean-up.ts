import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'

/**
 * Defines jobs that clean up accounts. They exist whether or not auth is enabled, because schedules name
 * them.
 *
 * @param anonymousDays age at which an unlinked anonymous account is removed
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

/** Deletes expired rows that no limit or check still needs. */
export async function deleteExpired(database: SystemDatabase): Promise<void> {
  // A used token is kept until its message can no longer be sent again.
  await deleteInBatches(database, 'mailed_tokens', sql`expires_at < now() - interval '1 day'`)
  await deleteInBatches(database, 'phone_codes', sql`expires_at < now() - interval '1 day'`)
  await deleteInBatches(database, 'pending_sign_ins', sql`expires_at < now()`)
  await deleteInBatches(database, 'mfa_challenges', sql`expires_at < now() - interval '1 hour'`)
  await deleteExpiredSessions(database)
  // Access tokens expire by the clocks of nodes, which may differ a little.
  await deleteInBatches(database, 'ended_sessions', sql`tokens_expire_at < now() - interval '1 hour'`)
}

/** Deletes sessions whose refresh token has expired. */
async function deleteExpiredSessions(database: Queryable): Promise<void> {
  await deleteInBatches(database, 'sessions', sql`expires_at < now()`)
}

/** Maximum number of accounts that one statement removes. Their rows in other tables go with them. */
const usersAtOnce = 500

/** Removes unlinked anonymous accounts, with all that belongs to them. */
export async function removeAnonymousUsers(database: Queryable, olderThanDays: number): Promise<number> {
  return await deleteInBatches(
    database,
    'users',
    sql`is_anonymous and created_at < now() - make_interval(days => ${olderThanDays}::int)`,
    usersAtOnce,
  )
}
