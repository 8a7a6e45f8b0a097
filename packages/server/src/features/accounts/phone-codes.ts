import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'

/** What a code sent to a phone is for; a code of one purpose is worth nothing for another. */
export type PhoneCodePurpose = 'sign_in'

export interface PhoneCode {
  readonly phone: string
  readonly purpose: PhoneCodePurpose
}

/** Puts a code in force; an earlier one is void. */
export async function storePhoneCode(
  database: Queryable,
  { phone, purpose }: PhoneCode,
  codeHash: Buffer,
  lifetimeSeconds: number,
): Promise<void> {
  await database.count(sql`
    insert into basalt.phone_codes (phone, purpose, code_hash, expires_at)
    values (${phone}, ${purpose}, ${codeHash}, now() + make_interval(secs => ${lifetimeSeconds}::int))
    on conflict (phone, purpose) do update
      set code_hash = excluded.code_hash, attempts = 0, expires_at = excluded.expires_at`)
}

/** Counts an attempt, whatever comes of it; false when there is no code or it has none left. Commit this by itself. */
export async function countPhoneCodeAttempt(
  database: Queryable,
  { phone, purpose }: PhoneCode,
  maxAttempts: number,
): Promise<boolean> {
  const counted = await database.count(sql`
    update basalt.phone_codes set attempts = attempts + 1
    where phone = ${phone} and purpose = ${purpose} and attempts < ${maxAttempts} and expires_at > now()`)
  return counted > 0
}

/** Uses the code up; of several at once one succeeds. */
export async function consumePhoneCode(
  database: Queryable,
  { phone, purpose }: PhoneCode,
  codeHash: Buffer,
): Promise<boolean> {
  const used = await database.count(sql`
    delete from basalt.phone_codes
    where phone = ${phone} and purpose = ${purpose} and code_hash = ${codeHash} and expires_at > now()`)
  return used > 0
}
