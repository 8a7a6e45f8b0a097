import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { codeOf } from '../../../lib/errors.ts'
import { isUuid } from '../../../lib/uuid.ts'
import type { FactorMethod } from './factors.ts'

export type ChallengePurpose = 'enroll' | 'verify' | 'sign_in'

/** Scope of a challenge, which is never valid for another user, factor or purpose. */
export interface ChallengeScope {
  readonly userId: string
  readonly method: FactorMethod
  readonly purpose: ChallengePurpose
}

/** Stored challenge. */
export interface Challenge {
  readonly id: string
  readonly code_hash: Buffer | null
  readonly challenge: string | null
  readonly phone: string | null
  readonly attempts: number
  readonly is_used: boolean
  readonly is_expired: boolean
  readonly [column: string]: unknown
}

const columns = sql`
  id, code_hash, challenge, phone, attempts, used_at is not null as is_used, expires_at <= now() as is_expired`

/** Inserts a challenge. @throws AppError no_pending_mfa when the user has been deleted in the meantime */
export async function createChallenge(
  database: Queryable,
  { userId, method, purpose }: ChallengeScope,
  { lifetimeSeconds, phone }: { readonly lifetimeSeconds: number; readonly phone?: string },
): Promise<string> {
  const insertion = database.one<{ id: string }>(sql`
    insert into basalt.mfa_challenges (user_id, method, purpose, phone, expires_at)
    values (${userId}, ${method}, ${purpose}, ${phone ?? null},
      now() + make_interval(secs => ${lifetimeSeconds}::int))
    returning id`)
  const { id } = await insertion.catch(refuseDeletedUser)
  return id
}

/**
 * Translates the error of a failed insertion.
 *
 * @throws AppError no_pending_mfa when the user has been deleted in the meantime
 */
export function refuseDeletedUser(error: unknown): never {
  throw codeOf(error) === '23503' ? httpErrors.noPendingMfa() : error
}

/** Voids earlier challenges, for example when an enrolment restarts. */
export async function voidChallenges(
  database: Queryable,
  { userId, method, purpose }: ChallengeScope,
): Promise<void> {
  await database.count(sql`
    delete from basalt.mfa_challenges where user_id = ${userId} and method = ${method} and purpose = ${purpose}`)
}

export async function findChallenge(
  database: Queryable,
  { userId, method, purpose }: ChallengeScope,
  id: string,
): Promise<Challenge | undefined> {
  if (!isUuid(id)) return undefined
  return await database.maybeOne<Challenge>(sql`
    select ${columns} from basalt.mfa_challenges
    where id = ${id} and user_id = ${userId} and method = ${method} and purpose = ${purpose}`)
}

/** Returns the latest challenge. */
export async function findLatestChallenge(
  database: Queryable,
  { userId, method, purpose }: ChallengeScope,
): Promise<Challenge | undefined> {
  return await database.maybeOne<Challenge>(sql`
    select ${columns} from basalt.mfa_challenges
    where user_id = ${userId} and method = ${method} and purpose = ${purpose}
    order by created_at desc, id
    limit 1`)
}

/** Consumes the challenge. One of several concurrent calls succeeds. */
export async function consumeChallenge(database: Queryable, id: string): Promise<boolean> {
  const used = await database.count(sql`
    update basalt.mfa_challenges set used_at = now() where id = ${id} and used_at is null and expires_at > now()`)
  return used > 0
}

/**
 * Counts an attempt at a code, whatever its outcome. Returns false when none is left. The caller commits the
 * count by itself.
 */
export async function countTry(database: Queryable, id: string, limit: number): Promise<boolean> {
  const counted = await database.count(sql`
    update basalt.mfa_challenges set attempts = attempts + 1
    where id = ${id} and attempts < ${limit} and used_at is null and expires_at > now()`)
  return counted > 0
}

/** Stores the code that is being sent. Returns false when the challenge is deleted, used or expired. */
export async function setCode(database: Queryable, id: string, codeHash: Buffer): Promise<boolean> {
  const set = await database.count(sql`
    update basalt.mfa_challenges set code_hash = ${codeHash}
    where id = ${id} and used_at is null and expires_at > now()`)
  return set > 0
}

/** Consumes the challenge by its code. One of several concurrent calls succeeds. */
export async function consumeCode(
  database: Queryable,
  id: string,
  codeHash: Buffer,
): Promise<'right' | 'wrong' | 'used'> {
  const used = await database.count(sql`
    update basalt.mfa_challenges set used_at = now()
    where id = ${id} and code_hash = ${codeHash} and used_at is null and expires_at > now()`)
  if (used > 0) return 'right'
  const consumed = await database.maybeOne(
    sql`select 1 from basalt.mfa_challenges where id = ${id} and used_at is not null`,
  )
  return consumed === undefined ? 'wrong' : 'used'
}
