import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

export async function findPasswordHash(database: Queryable): Promise<string | undefined> {
  const row = await database.maybeOne<{ password_hash: string }>(sql`select password_hash from basalt.admin`)
  return row?.password_hash
}

/**
 * Returns whether this is still the password's hash, and locks it until the transaction ends. A session that
 * begins during a password reset is therefore either ended by the reset or never begins.
 */
export async function holdPasswordHash(transaction: Queryable, hash: string): Promise<boolean> {
  return (await transaction.count(sql`select from basalt.admin where password_hash = ${hash} for share`)) > 0
}

/** Sets the first password. Returns whether there was none yet. One of several nodes succeeds. */
export async function insertPassword(database: Queryable, hash: string): Promise<boolean> {
  return (
    (await database.count(
      sql`insert into basalt.admin (password_hash) values (${hash}) on conflict do nothing`,
    )) > 0
  )
}

export async function upsertPassword(database: Queryable, hash: string): Promise<void> {
  await database.count(sql`
    insert into basalt.admin (password_hash) values (${hash})
    on conflict (is_only) do update set password_hash = excluded.password_hash, updated_at = now()`)
}

/** Returns whether there was a sign-in with the current first password, or it was replaced. */
export async function wasFirstSignInUsed(database: Queryable): Promise<boolean> {
  const { used } = await database.one<{ used: boolean }>(sql`
    select exists (
      select from basalt.audit
      where action in ('admin.sign_in', 'admin.sign_in_by_link', 'admin.reset_password')) as used`)
  return used
}

/** Lifetime of a session: the maximum, and the time without a request. */
export interface SessionLife {
  readonly seconds: number
  /** Idle time that ends the session. Undefined means that only the maximum applies. */
  readonly idleSeconds: number | undefined
}

/** Inserts a session, and deletes expired sessions and codes. */
export async function insertSession(
  database: Queryable,
  tokenHash: Buffer,
  { seconds, idleSeconds }: SessionLife,
): Promise<{ readonly expiresAt: Date }> {
  return await database.one<{ expiresAt: Date }>(sql`
    with dead_sessions as (
        delete from basalt.admin_sessions where least(expires_at, idle_expires_at) <= now()),
      dead_codes as (delete from basalt.admin_sign_in_codes where expires_at <= now())
    insert into basalt.admin_sessions (token_hash, expires_at, idle_expires_at)
    values (${tokenHash}, now() + make_interval(secs => ${seconds}::int),
      now() + make_interval(secs => ${idleSeconds ?? null}::int))
    returning least(expires_at, idle_expires_at) as "expiresAt"`)
}

/** Finds the active session of a token, and whether its idle time started more than this many seconds ago. */
export async function findSession(
  database: Queryable,
  tokenHash: Buffer,
  { idleSeconds, moveSeconds }: { readonly idleSeconds: number; readonly moveSeconds: number },
): Promise<{ id: string; is_due: boolean } | undefined> {
  return await database.maybeOne<{ id: string; is_due: boolean }>(sql`
    select id, coalesce(
      idle_expires_at < now() + make_interval(secs => ${idleSeconds - moveSeconds}::int), false) as is_due
    from basalt.admin_sessions
    where token_hash = ${tokenHash} and least(expires_at, idle_expires_at) > now()`)
}

/** Restarts the idle time. One of several concurrent requests does so. */
export async function moveIdleEnd(
  database: Queryable,
  id: string,
  { idleSeconds, moveSeconds }: { readonly idleSeconds: number; readonly moveSeconds: number },
): Promise<void> {
  await database.count(sql`
    update basalt.admin_sessions set idle_expires_at = now() + make_interval(secs => ${idleSeconds}::int)
    where id = ${id} and idle_expires_at > now()
      and idle_expires_at < now() + make_interval(secs => ${idleSeconds - moveSeconds}::int)`)
}

/** Returns when the session ends without further requests. Returns undefined when it has ended. */
export async function findSessionEnd(database: Queryable, id: string): Promise<Date | undefined> {
  const row = await database.maybeOne<{ ends_at: Date }>(sql`
    select least(expires_at, idle_expires_at) as ends_at from basalt.admin_sessions where id = ${id}`)
  return row?.ends_at
}

export async function deleteSessionOf(database: Queryable, tokenHash: Buffer): Promise<void> {
  await database.count(sql`delete from basalt.admin_sessions where token_hash = ${tokenHash}`)
}

export async function deleteSession(database: Queryable, id: string): Promise<boolean> {
  return (await database.count(sql`delete from basalt.admin_sessions where id = ${id}`)) > 0
}

export async function deleteAllSessions(database: Queryable): Promise<number> {
  return await database.count(sql`delete from basalt.admin_sessions`)
}

export async function insertSignInCode(
  database: Queryable,
  codeHash: Buffer,
  lifetimeSeconds: number,
): Promise<void> {
  await database.count(sql`
    insert into basalt.admin_sign_in_codes (code_hash, expires_at)
    values (${codeHash}, now() + make_interval(secs => ${lifetimeSeconds}::int))`)
}

/** Consumes the code. One of several concurrent attempts succeeds. */
export async function consumeSignInCode(database: Queryable, codeHash: Buffer): Promise<boolean> {
  const used = await database.count(
    sql`delete from basalt.admin_sign_in_codes where code_hash = ${codeHash} and expires_at > now()`,
  )
  return used > 0
}

/** Deletes all sign-in codes. Links end together with the password that they replace. */
export async function deleteAllSignInCodes(database: Queryable): Promise<void> {
  await database.count(sql`delete from basalt.admin_sign_in_codes`)
}
