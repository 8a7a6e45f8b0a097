import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'

/** Authenticator app of an administrator. */
export interface StoredTotp {
  readonly administrator_id: string
  readonly secret: string
  readonly confirmed_at: Date | null
}

/** Returns whether an administrator has a confirmed factor. */
export async function hasSecondFactor(database: Queryable, administratorId: string): Promise<boolean> {
  const { found } = await database.one<{ found: boolean }>(
    sql`select basalt.has_second_factor(${administratorId}) as found`,
  )
  return found
}

export async function findTotp(
  database: Queryable,
  administratorId: string,
): Promise<StoredTotp | undefined> {
  return await database.maybeOne<StoredTotp>(sql`
    select administrator_id, secret, confirmed_at from basalt.administrator_totp
    where administrator_id = ${administratorId}
      and (confirmed_at is not null or created_at > now() - interval '10 minutes')`)
}

/** Starts an enrolment and replaces an unconfirmed one. @returns false if an app is enrolled */
export async function beginTotp(
  transaction: Queryable,
  administratorId: string,
  secret: string,
): Promise<boolean> {
  const begun = await transaction.count(sql`
    insert into basalt.administrator_totp as t (administrator_id, secret) values (${administratorId}, ${secret})
    on conflict (administrator_id) do update
      set secret = excluded.secret, last_step = null, created_at = now()
      where t.confirmed_at is null`)
  return begun > 0
}

/** Confirms the enrolment that has this secret. One of several concurrent calls succeeds. */
export async function confirmTotp(
  transaction: Queryable,
  { administrator_id, secret }: StoredTotp,
): Promise<boolean> {
  const confirmed = await transaction.count(sql`
    update basalt.administrator_totp set confirmed_at = now()
    where administrator_id = ${administrator_id} and secret = ${secret} and confirmed_at is null`)
  return confirmed > 0
}

/** Consumes a time step. One of several concurrent calls succeeds. @returns false if it or a later one was used */
export async function consumeStep(
  transaction: Queryable,
  administratorId: string,
  step: number,
): Promise<boolean> {
  const consumed = await transaction.count(sql`
    update basalt.administrator_totp set last_step = ${step}::bigint
    where administrator_id = ${administratorId} and (last_step is null or last_step < ${step}::bigint)`)
  return consumed > 0
}

/** Replaces the encrypted secret by the same secret under another key. */
export async function resealTotp(transaction: Queryable, totp: StoredTotp, secret: string): Promise<void> {
  await transaction.count(sql`
    update basalt.administrator_totp set secret = ${secret}
    where administrator_id = ${totp.administrator_id} and secret = ${totp.secret}`)
}

export async function deleteTotp(transaction: Queryable, administratorId: string): Promise<boolean> {
  const deleted = await transaction.count(sql`
    delete from basalt.administrator_totp
    where administrator_id = ${administratorId} and confirmed_at is not null`)
  return deleted > 0
}

/** Backup code, encrypted. */
export interface StoredBackupCode {
  readonly id: string
  readonly code: string
}

export async function listBackupCodes(
  database: Queryable,
  administratorId: string,
): Promise<StoredBackupCode[]> {
  return await database.many<StoredBackupCode>(sql`
    select id, code from basalt.administrator_backup_codes where administrator_id = ${administratorId}`)
}

/** Consumes a backup code. One of several concurrent calls succeeds. */
export async function consumeBackupCode(transaction: Queryable, id: string): Promise<boolean> {
  return (await transaction.count(sql`delete from basalt.administrator_backup_codes where id = ${id}`)) > 0
}

export async function replaceBackupCodes(
  transaction: Queryable,
  administratorId: string,
  codes: readonly string[],
): Promise<void> {
  await transaction.count(sql`
    delete from basalt.administrator_backup_codes where administrator_id = ${administratorId}`)
  await transaction.count(sql`
    insert into basalt.administrator_backup_codes (administrator_id, code)
    select ${administratorId}::uuid, code from unnest(${codes}::text[]) as code`)
}

/** Removes the backup codes if no factor is left, which they would replace. */
export async function removeOrphanedBackupCodes(
  transaction: Queryable,
  administratorId: string,
): Promise<void> {
  await transaction.count(sql`
    delete from basalt.administrator_backup_codes
    where administrator_id = ${administratorId} and not basalt.has_second_factor(${administratorId})`)
}

/** Removes all factors of an administrator, and waiting sign-ins. @returns the number of factors */
export async function removeAllFactors(transaction: Queryable, administratorId: string): Promise<number> {
  const { removed } = await transaction.one<{ removed: number }>(sql`
    with totp as (delete from basalt.administrator_totp where administrator_id = ${administratorId} returning confirmed_at),
      passkeys as (delete from basalt.administrator_passkeys where administrator_id = ${administratorId} returning id),
      codes as (delete from basalt.administrator_backup_codes where administrator_id = ${administratorId}),
      challenges as (delete from basalt.administrator_challenges where administrator_id = ${administratorId}),
      pending as (delete from basalt.administrator_pending_sign_ins where administrator_id = ${administratorId})
    select ((select count(*) from totp where confirmed_at is not null) + (select count(*) from passkeys))::int as removed`)
  return removed
}

/** Inserts a sign-in that waits for a second factor, and deletes expired ones. */
export async function insertPendingSignIn(
  transaction: Queryable,
  administratorId: string,
  tokenHash: Buffer,
  seconds: number,
): Promise<void> {
  await transaction.count(sql`
    with dead as (delete from basalt.administrator_pending_sign_ins where expires_at <= now())
    insert into basalt.administrator_pending_sign_ins (token_hash, administrator_id, expires_at)
    values (${tokenHash}, ${administratorId}, now() + make_interval(secs => ${seconds}::int))`)
}

/** Returns the administrator whose sign-in waits. */
export async function findPendingSignIn(database: Queryable, tokenHash: Buffer): Promise<string | undefined> {
  const row = await database.maybeOne<{ administrator_id: string }>(sql`
    select administrator_id from basalt.administrator_pending_sign_ins
    where token_hash = ${tokenHash} and expires_at > now()`)
  return row?.administrator_id
}

/** Consumes a waiting sign-in. One of several concurrent calls succeeds. */
export async function consumePendingSignIn(transaction: Queryable, tokenHash: Buffer): Promise<boolean> {
  const consumed = await transaction.count(sql`
    delete from basalt.administrator_pending_sign_ins where token_hash = ${tokenHash} and expires_at > now()`)
  return consumed > 0
}

/** Counts secrets by the key that encrypted them. An encrypted secret begins with the name of its key. */
export async function countFactorSecretsByKey(database: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await database.many<{ key: string; count: number }>(sql`
    select split_part(secret, '.', 1) as key, count(*)::int as count
    from (select secret from basalt.administrator_totp
      union all select code from basalt.administrator_backup_codes) s
    group by 1`)
  return new Map(rows.map(({ key, count }) => [key, count]))
}
