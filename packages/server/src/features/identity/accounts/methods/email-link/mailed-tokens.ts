import { sql } from '../../../../../database/sql.ts'
import type { Queryable } from '../../../../../database/system-database.ts'
import { takeTransactionLock } from '../../../../../database/transaction-lock.ts'
import { createToken, hashToken, isToken } from '../../../../../lib/tokens.ts'

/** What a mailed link is for. */
export type MailPurpose = 'password_reset' | 'email_verification' | 'magic_link'

const prefixes: Readonly<Record<MailPurpose, string>> = {
  password_reset: 'basalt_reset_',
  email_verification: 'basalt_verify_',
  magic_link: 'basalt_link_',
}

export interface MailedToken {
  readonly email: string
  readonly user_id: string | null
  readonly [column: string]: unknown
}

export interface MailedTokenRequest {
  readonly email: string
  readonly userId: string | undefined
  readonly lifetimeSeconds: number
  /** What the token is made of; the same for every attempt to send the mail. */
  readonly secret: Buffer
}

/**
 * Puts a token in force; an earlier one of the same purpose and address is void. In a transaction.
 *
 * @returns undefined when the token was used or replaced before: the mail had arrived although sending it failed
 */
export async function issueMailedToken(
  database: Queryable,
  purpose: MailPurpose,
  { email, userId, lifetimeSeconds, secret }: MailedTokenRequest,
): Promise<string | undefined> {
  const token = createToken(prefixes[purpose], secret)
  const hash = hashToken(token)
  // Of two mails to one address at once the later one carries the token that is in force.
  await takeTransactionLock(database, `mailed token ${purpose} ${email}`)
  const prolonged = await database.maybeOne<{ is_in_force: boolean }>(sql`
    update basalt.mailed_tokens
    set expires_at = greatest(expires_at, now() + make_interval(secs => ${lifetimeSeconds}::int))
    where token_hash = ${hash}
    returning used_at is null as is_in_force`)
  if (prolonged !== undefined) return prolonged.is_in_force ? token : undefined
  await voidMailedTokens(database, email, [purpose])
  await database.count(sql`
    insert into basalt.mailed_tokens (token_hash, purpose, email, user_id, expires_at)
    values (${hash}, ${purpose}, ${email}, ${userId ?? null},
      now() + make_interval(secs => ${lifetimeSeconds}::int))`)
  return token
}

/** Whom a token belongs to, without using it up: lock the user before {@link consumeMailedToken}. */
export async function findMailedToken(
  database: Queryable,
  purpose: MailPurpose,
  token: string,
): Promise<MailedToken | undefined> {
  if (!isToken(prefixes[purpose], token)) return undefined
  return await database.maybeOne<MailedToken>(sql`
    select email, user_id from basalt.mailed_tokens
    where token_hash = ${hashToken(token)} and purpose = ${purpose} and used_at is null and expires_at > now()`)
}

/** Uses the token up; of several at once one succeeds. */
export async function consumeMailedToken(
  database: Queryable,
  purpose: MailPurpose,
  token: string,
): Promise<MailedToken | undefined> {
  if (!isToken(prefixes[purpose], token)) return undefined
  return await database.maybeOne<MailedToken>(sql`
    update basalt.mailed_tokens set used_at = now()
    where token_hash = ${hashToken(token)} and purpose = ${purpose} and used_at is null and expires_at > now()
    returning email, user_id`)
}

/** Makes mailed tokens of an address worthless, as when its account changes hands. */
export async function voidMailedTokens(
  database: Queryable,
  email: string,
  purposes: readonly MailPurpose[] = ['password_reset', 'email_verification', 'magic_link'],
): Promise<void> {
  await database.count(sql`
    update basalt.mailed_tokens set used_at = now()
    where email = ${email} and purpose = any(${purposes}::text[]) and used_at is null`)
}
