import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { isUuid } from '../../../lib/uuid.ts'

export const factorMethods = ['totp', 'email', 'sms', 'webauthn'] as const
export type FactorMethod = (typeof factorMethods)[number]

/** Stored factor. */
export interface StoredFactor {
  readonly id: string
  readonly user_id: string
  readonly method: FactorMethod
  readonly secret: string | null
  readonly last_step: string | null
  readonly phone: string | null
  readonly confirmed_at: Date | null
  readonly created_at: Date
  readonly [column: string]: unknown
}

const columns = sql`id, user_id, method, secret, last_step, phone, confirmed_at, created_at`

/** Returns whether a sign-in of the user needs a second factor, even if its method is disabled at the moment. */
export async function isEnrolled(database: Queryable, userId: string): Promise<boolean> {
  const { enrolled } = await database.one<{ enrolled: boolean }>(sql`
    select exists (
      select 1 from basalt.mfa_factors where user_id = ${userId} and confirmed_at is not null) as enrolled`)
  return enrolled
}

/** Returns confirmed factors in the order of their enrolment. */
export async function listFactors(database: Queryable, userId: string): Promise<StoredFactor[]> {
  return await database.many<StoredFactor>(sql`
    select ${columns} from basalt.mfa_factors
    where user_id = ${userId} and confirmed_at is not null
    order by confirmed_at, id`)
}

export async function findFactor(
  database: Queryable,
  userId: string,
  method: FactorMethod,
): Promise<StoredFactor | undefined> {
  return await database.maybeOne<StoredFactor>(sql`
    select ${columns} from basalt.mfa_factors
    where user_id = ${userId} and method = ${method}`)
}

/** Starts an enrolment and replaces an unconfirmed one. Returns undefined when the factor is already confirmed. */
export async function beginFactor(
  database: Queryable,
  userId: string,
  method: FactorMethod,
  detail: { readonly secret?: string; readonly phone?: string } = {},
): Promise<StoredFactor | undefined> {
  return await database.maybeOne<StoredFactor>(sql`
    insert into basalt.mfa_factors as f (user_id, method, secret, phone)
    values (${userId}, ${method}, ${detail.secret ?? null}, ${detail.phone ?? null})
    on conflict (user_id, method) do update
      set secret = excluded.secret, phone = excluded.phone, last_step = null, created_at = now()
      where f.confirmed_at is null
    returning ${columns}`)
}

/** Condition for unconfirmed enrolments that are not void yet. */
const isPending = sql`confirmed_at is null and created_at > now() - interval '10 minutes'`

/** Returns the enrolment that waits for its confirmation. */
export async function findPendingFactor(
  database: Queryable,
  userId: string,
  method: FactorMethod,
): Promise<StoredFactor | undefined> {
  return await database.maybeOne<StoredFactor>(sql`
    select ${columns} from basalt.mfa_factors
    where user_id = ${userId} and method = ${method} and ${isPending}`)
}

/**
 * Confirms the factor. Returns false when another request confirmed or restarted it, or when the enrolment is
 * too old.
 */
export async function confirmFactor(database: Queryable, factor: StoredFactor): Promise<boolean> {
  const confirmed = await database.count(sql`
    update basalt.mfa_factors set confirmed_at = now()
    where id = ${factor.id} and ${isPending}
      and secret is not distinct from ${factor.secret} and phone is not distinct from ${factor.phone}`)
  return confirmed > 0
}

/**
 * Consumes a time step. Returns false when it or a later one was used before. One of several concurrent calls
 * succeeds.
 */
export async function consumeStep(database: Queryable, factorId: string, step: number): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.mfa_factors set last_step = ${step}::bigint
    where id = ${factorId} and (last_step is null or last_step < ${step}::bigint)`)
  return count > 0
}

/** Replaces the encrypted secret by the same secret under another key. */
export async function resealSecret(database: Queryable, factor: StoredFactor, secret: string): Promise<void> {
  await database.count(sql`
    update basalt.mfa_factors set secret = ${secret} where id = ${factor.id} and secret = ${factor.secret}`)
}

/** Removes one factor with its passkeys. The backup codes go with the last factor. */
export async function removeFactor(database: Queryable, userId: string, factorId: string): Promise<boolean> {
  if (!isUuid(factorId)) return false
  const removed = await database.maybeOne<{ method: FactorMethod }>(sql`
    delete from basalt.mfa_factors
    where id = ${factorId} and user_id = ${userId} and confirmed_at is not null
    returning method`)
  if (removed === undefined) return false
  if (removed.method === 'webauthn') {
    await database.count(sql`delete from basalt.passkeys where user_id = ${userId}`)
  }
  if (!(await isEnrolled(database, userId))) {
    await database.count(sql`delete from basalt.mfa_backup_codes where user_id = ${userId}`)
  }
  return true
}

/** Removes all factors and backup codes, for example when an administrator resets the account. */
export async function removeAllFactors(database: Queryable, userId: string): Promise<void> {
  for (const table of ['mfa_factors', 'passkeys', 'mfa_backup_codes', 'mfa_challenges']) {
    await database.count(sql`delete from ${sql.id('basalt', table)} where user_id = ${userId}`)
  }
}

/** Removes enrolments that were never confirmed. */
export async function removeStaleEnrollments(database: Queryable, olderThanMinutes: number): Promise<number> {
  return await database.count(sql`
    delete from basalt.mfa_factors
    where confirmed_at is null and created_at < now() - make_interval(mins => ${olderThanMinutes}::int)`)
}

/** Counts shared secrets by the key that encrypted them. An encrypted secret begins with the name of its key. */
export async function countSecretsByKey(database: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await database.many<{ key: string; count: number }>(sql`
    select split_part(secret, '.', 1) as key, count(*)::int as count
    from basalt.mfa_factors
    where secret is not null
    group by 1`)
  return new Map(rows.map(({ key, count }) => [key, count]))
}
