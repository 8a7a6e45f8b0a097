import { sql } from '../../../../../database/sql.ts'
import type { Queryable } from '../../../../../database/system-database.ts'
import { takeTransactionLock } from '../../../../../database/transaction-lock.ts'
import { createToken, hashToken, isToken } from '../../../../../lib/tokens.ts'

/** Purpose of a mailed link. */
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
  /** Bytes that the token encodes. They are the same in every attempt to send the mail. */
  readonly secret: Buffer
}

/**
 * Stores a token and voids the earlier one of the same purpose and address. Requires a transaction.
 *
 * @returns undefined when the token was used or replaced before: the mail had arrived although sending it
 * failed
 */
export async function issueMailedToken(
  database: Queryable,
  purpose: MailPurpose,
  { email, userId, lifetimeSeconds, secret }: MailedTokenRequest,
): Promise<string | undefined> {
  const token = createToken(prefixes[purpose], secret)
  const hash = hashToken(token)
  // When two mails to one address are sent at once, the later one carries the valid token.
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

/** Returns the owner of a token without consuming it. Callers lock the user before {@link consumeMailedToken}. */
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

/** Consumes the token. One of several concurrent calls succeeds. */
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

/** Voids the mailed tokens of an address, for example when its account changes hands. */
export async function voidMailedTokens(
  database: Queryable,
  email: string,
  purposes: readonly MailPurpose[] = ['password_reset', 'email_verification', 'magic_link'],
): Promise<void> {
  await database.count(sql`
    update basalt.mailed_tokens set used_at = now()
    where email = ${email} and purpose = any(${purposes}::text[]) and used_at is null`)
}
