import { randomUUID } from 'node:crypto'
import { sql } from '../../../../../database/sql.ts'
import type { Queryable } from '../../../../../database/system-database.ts'
import { takeTransactionLock } from '../../../../../database/transaction-lock.ts'

export interface NewPhoneCode {
  readonly phone: string
  /** Id of the job that sends the code, if a job does. */
  readonly id?: string
  readonly codeHash: Buffer
  readonly lifetimeSeconds: number
}

/**
 * Stores a code and voids the earlier one. Requires a transaction.
 *
 * @returns false when this code was used up or replaced before: it had arrived although sending it failed
 */
export async function issuePhoneCode(database: Queryable, code: NewPhoneCode): Promise<boolean> {
  const { id = randomUUID(), phone, codeHash, lifetimeSeconds } = code
  await takeTransactionLock(database, `phone code ${phone}`)
  const prolonged = await database.maybeOne<{ is_in_force: boolean }>(sql`
    update basalt.phone_codes
    set expires_at = greatest(expires_at, now() + make_interval(secs => ${lifetimeSeconds}::int))
    where id = ${id}
    returning used_at is null as is_in_force`)
  if (prolonged !== undefined) return prolonged.is_in_force
  await database.count(sql`
    update basalt.phone_codes set used_at = now()
    where phone = ${phone} and used_at is null`)
  await database.count(sql`
    insert into basalt.phone_codes (id, phone, code_hash, expires_at)
    values (${id}, ${phone}, ${codeHash}, now() + make_interval(secs => ${lifetimeSeconds}::int))`)
  return true
}

/**
 * Counts an attempt, whatever its outcome. Returns false when there is no code or it has no attempts left.
 * The caller commits the count before it checks the code.
 */
export async function countPhoneCodeAttempt(
  database: Queryable,
  phone: string,
  maxAttempts: number,
): Promise<boolean> {
  const counted = await database.count(sql`
    update basalt.phone_codes set attempts = attempts + 1
    where phone = ${phone} and used_at is null
      and attempts < ${maxAttempts} and expires_at > now()`)
  return counted > 0
}

/** Consumes the code. One of several concurrent calls succeeds. */
export async function consumePhoneCode(
  database: Queryable,
  phone: string,
  codeHash: Buffer,
): Promise<boolean> {
  const used = await database.count(sql`
    update basalt.phone_codes set used_at = now()
    where phone = ${phone} and used_at is null
      and code_hash = ${codeHash} and expires_at > now()`)
  return used > 0
}
