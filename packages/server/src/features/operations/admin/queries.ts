import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { AdministratorRole } from '../../../http/access/permissions.ts'

/** Administrator with the hash of the password. */
export interface PasswordHolder {
  readonly id: string
  readonly password_hash: string
  readonly email: string | null
  readonly is_first: boolean | null
}

/** Returns whether the first administrator has a password. */
export async function hasPassword(database: Queryable): Promise<boolean> {
  const { found } = await database.one<{ found: boolean }>(
    sql`select exists (select from basalt.administrators where password_hash is not null) as found`,
  )
  return found
}

/** Finds the first administrator, who signs in by a password alone while they are an owner. */
export async function findFirst(database: Queryable): Promise<PasswordHolder | undefined> {
  return await database.maybeOne<PasswordHolder>(sql`
    select id, password_hash, email, is_first from basalt.administrators
    where is_first and role = 'owner' and disabled_at is null and password_hash is not null`)
}

export async function findByEmail(database: Queryable, email: string): Promise<PasswordHolder | undefined> {
  return await database.maybeOne<PasswordHolder>(sql`
    select id, password_hash, email, is_first from basalt.administrators
    where lower(email) = lower(${email}) and disabled_at is null and password_hash is not null`)
}

/**
 * Locks an administrator until the transaction ends, if this is still the password's hash. A session that begins during
 * a password reset is therefore either ended by the reset or never begins.
 */
export async function lockPasswordHolder(
  transaction: Queryable,
  { id, password_hash }: PasswordHolder,
): Promise<boolean> {
  return (
    (await transaction.count(sql`
      select from basalt.administrators
      where id = ${id} and password_hash = ${password_hash} and disabled_at is null for update`)) > 0
  )
}

/** Records a completed sign-in. @returns the administrator */
export async function recordSignIn(transaction: Queryable, id: string): Promise<SignedInAdministrator> {
  return await transaction.one<SignedInAdministrator>(sql`
    update basalt.administrators set last_sign_in_at = now() where id = ${id} returning id, email, is_first`)
}

/** Administrator whose sign-in is complete. */
export interface SignedInAdministrator {
  readonly id: string
  readonly email: string | null
  readonly is_first: boolean | null
}

/** Returns the hash of the first administrator's password, whatever their role. */
export async function findFirstHash(database: Queryable): Promise<string | undefined> {
  const row = await database.maybeOne<{ password_hash: string | null }>(
    sql`select password_hash from basalt.administrators where is_first`,
  )
  return row?.password_hash ?? undefined
}

/** Creates the first administrator. One of several nodes succeeds. @returns undefined if there was an administrator */
export async function insertFirst(
  database: Queryable,
  hash: string,
): Promise<{ readonly id: string } | undefined> {
  return await database.maybeOne<{ id: string }>(sql`
    insert into basalt.administrators (role, is_first, password_hash)
    select 'owner', true, ${hash} where not exists (select from basalt.administrators)
    on conflict do nothing returning id`)
}

/**
 * Sets the password of the first administrator, who is created if there is no administrator at all.
 *
 * @returns false if the first administrator was removed
 */
export async function setFirstPassword(database: Queryable, hash: string): Promise<boolean> {
  if ((await insertFirst(database, hash)) !== undefined) return true
  const changed = await database.count(sql`
    update basalt.administrators set password_hash = ${hash}, updated_at = now() where is_first`)
  return changed > 0
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

export interface NewSession extends SessionLife {
  readonly tokenHash: Buffer
  readonly administratorId: string | null
  readonly address: string | undefined
  readonly userAgent: string | undefined
  readonly proof: SessionProof
}

/** Proofs of a sign-in beside the first factor. */
export interface SessionProof {
  /** True if the sign-in has proved a second factor to this server. */
  readonly hasSecondFactor?: boolean
  /** True if the provider has reported two factors, and the configuration trusts it. */
  readonly isMultiFactor?: boolean
  /** Time at which the person authenticated at the provider, in seconds since 1970. */
  readonly authenticatedAt?: number | undefined
}

/** Inserts a session, and deletes expired sessions and codes. */
export async function insertSession(
  database: Queryable,
  { tokenHash, administratorId, address, userAgent, proof, seconds, idleSeconds }: NewSession,
): Promise<{ readonly expiresAt: Date }> {
  const { hasSecondFactor = false, isMultiFactor = false, authenticatedAt } = proof
  return await database.one<{ expiresAt: Date }>(sql`
    with dead_sessions as (
        delete from basalt.admin_sessions where least(expires_at, idle_expires_at) <= now()),
      dead_codes as (delete from basalt.admin_sign_in_codes where expires_at <= now())
    insert into basalt.admin_sessions (token_hash, administrator_id, address, user_agent, second_factor_at,
      is_multi_factor, expires_at, idle_expires_at)
    values (${tokenHash}, ${administratorId}, ${address ?? null}, ${userAgent ?? null},
      case when ${hasSecondFactor}::bool then now()
        when ${authenticatedAt ?? null}::float8 is not null then least(to_timestamp(${authenticatedAt ?? null}::float8), now())
        when ${isMultiFactor}::bool then '-infinity'::timestamptz end,
      ${isMultiFactor}::bool, now() + make_interval(secs => ${seconds}::int),
      now() + make_interval(secs => ${idleSeconds ?? null}::int))
    returning least(expires_at, idle_expires_at) as "expiresAt"`)
}

/** Active session of a token, and its administrator. */
export interface ActiveSession {
  readonly id: string
  readonly is_due: boolean
  readonly role: AdministratorRole
  /** Role of the session itself; null for that of the administrator. */
  readonly session_role: AdministratorRole | null
  /** Null for a session from the command line. */
  readonly administrator_id: string | null
  readonly email: string | null
  readonly allowed_addresses: readonly string[] | null
  /** True if the administrator has a second factor. */
  readonly is_enrolled: boolean
  /** True if the administrator can authenticate again at the provider. */
  readonly has_identity: boolean
  readonly is_multi_factor: boolean
  /** True if the session proved a factor within ten minutes, or needs no proof. */
  readonly is_fresh: boolean
  /** True for a token of a program. */
  readonly is_program: boolean
}

/** Time for which a proof of a second factor admits sensitive operations. */
const freshMinutes = 10

/** Condition that the session `s` has proved a second factor recently, or is a token that needs no proof. */
export const isFresh = sql`(
  s.passes_step_up or coalesce(s.second_factor_at > now() - make_interval(mins => ${freshMinutes}::int), false))`

/** Idle time of a session in a cookie, and the interval at which uses are recorded. */
interface IdleLife {
  readonly idleSeconds: number
  readonly moveSeconds: number
}

/** Finds the active session of a token, and whether its use must be recorded. */
export async function findSession(
  database: Queryable,
  tokenHashes: readonly Buffer[],
  life: IdleLife,
  issuer: string | undefined,
): Promise<ActiveSession | undefined> {
  return await database.maybeOne<ActiveSession>(sql`
    select s.id, s.administrator_id, a.email, s.allowed_addresses, coalesce(a.role, 'owner') as role,
      s.role as session_role, coalesce(${isDue(life)}, false) as is_due,
      f.is_enrolled, ${isFresh} as is_fresh, s.is_multi_factor,
      s.name is not null as is_program,
      exists (
        select from basalt.administrator_identities i
        where i.administrator_id = s.administrator_id and i.issuer = ${issuer ?? null}) as has_identity
    from basalt.admin_sessions s left join basalt.administrators a on a.id = s.administrator_id,
      basalt.has_second_factor(s.administrator_id) as f (is_enrolled)
    where s.token_hash = any(${tokenHashes}::bytea[]) and least(s.expires_at, s.idle_expires_at) > now()
      and a.disabled_at is null
      -- A sign-in by a password alone ends with the enrolment of a factor, also one of a node of the previous version.
      and (not f.is_enrolled or s.name is not null or s.second_factor_at is not null)`)
}

/** Restarts the idle time, and records the use of a token. One of several concurrent requests does so. */
export async function recordUse(database: Queryable, id: string, life: IdleLife): Promise<void> {
  await database.count(sql`
    update basalt.admin_sessions s set
      last_used_at = case when name is null then last_used_at else now() end,
      idle_expires_at = case when idle_expires_at is null then null
        else now() + make_interval(secs => ${life.idleSeconds}::int) end
    where id = ${id} and least(expires_at, idle_expires_at) > now() and ${isDue(life)}`)
}

/** Returns the condition that the last recorded use of a session is older than the interval. */
const isDue = ({ idleSeconds, moveSeconds }: IdleLife) => sql`(
  s.idle_expires_at < now() + make_interval(secs => ${idleSeconds - moveSeconds}::int)
  or s.name is not null and coalesce(s.last_used_at, s.created_at - interval '1 day')
    < now() - make_interval(secs => ${moveSeconds}::int))`

/** Returns when the session ends without further requests. Returns undefined when it has ended. */
export async function findSessionEnd(database: Queryable, id: string): Promise<Date | undefined> {
  const row = await database.maybeOne<{ ends_at: Date }>(sql`
    select least(expires_at, idle_expires_at) as ends_at from basalt.admin_sessions where id = ${id}`)
  return row?.ends_at
}

export async function deleteSessionOf(database: Queryable, tokenHashes: readonly Buffer[]): Promise<void> {
  await database.count(sql`delete from basalt.admin_sessions where token_hash = any(${tokenHashes}::bytea[])`)
}

export async function deleteSession(database: Queryable, id: string): Promise<boolean> {
  return (await database.count(sql`delete from basalt.admin_sessions where id = ${id}`)) > 0
}

/** Ends the sessions of the first administrator, and those of the command line. */
export async function deleteSessionsOfFirst(database: Queryable): Promise<number> {
  return await database.count(sql`
    delete from basalt.admin_sessions
    where administrator_id is null or administrator_id = basalt.first_administrator()`)
}

export async function insertSignInCode(
  database: Queryable,
  administratorId: string,
  codeHash: Buffer,
  lifetimeSeconds: number,
): Promise<void> {
  await database.count(sql`
    insert into basalt.admin_sign_in_codes (code_hash, administrator_id, expires_at)
    values (${codeHash}, ${administratorId}, now() + make_interval(secs => ${lifetimeSeconds}::int))`)
}

/**
 * Consumes a code that signs in. One of several concurrent attempts succeeds.
 *
 * @returns the administrator
 */
export async function consumeSignInCode(
  database: Queryable,
  codeHash: Buffer,
): Promise<{ readonly id: string } | undefined> {
  return await database.maybeOne<{ id: string }>(sql`
    with used as (
      delete from basalt.admin_sign_in_codes
      where code_hash = ${codeHash} and expires_at > now() and purpose = 'sign_in'
      returning administrator_id)
    select a.id from basalt.administrators a join used on a.id = used.administrator_id
    where a.disabled_at is null for update of a`)
}

/** Deletes the codes of the first administrator. Links end together with the password that they replace. */
export async function deleteCodesOfFirst(database: Queryable): Promise<void> {
  await database.count(sql`
    delete from basalt.admin_sign_in_codes where administrator_id = basalt.first_administrator()`)
}
