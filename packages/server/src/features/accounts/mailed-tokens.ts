import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import { createToken, hashToken, isToken } from '../../lib/tokens.ts'

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

/** Puts a token in force; earlier ones of the same purpose and address are void. */
export async function issueMailedToken(
  database: Queryable,
  purpose: MailPurpose,
  { email, userId, lifetimeSeconds, secret }: MailedTokenRequest,
): Promise<string> {
  const token = createToken(prefixes[purpose], secret)
  await database.count(sql`
    insert into basalt.mailed_tokens (token_hash, purpose, email, user_id, expires_at)
    values (${hashToken(token)}, ${purpose}, ${email}, ${userId ?? null},
      now() + make_interval(secs => ${lifetimeSeconds}::int))
    on conflict (email, purpose) do update set token_hash = excluded.token_hash, user_id = excluded.user_id,
      created_at = excluded.created_at, expires_at = excluded.expires_at`)
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
    where token_hash = ${hashToken(token)} and purpose = ${purpose} and expires_at > now()`)
}

/** Uses the token up; of several at once one succeeds. */
export async function consumeMailedToken(
  database: Queryable,
  purpose: MailPurpose,
  token: string,
): Promise<MailedToken | undefined> {
  if (!isToken(prefixes[purpose], token)) return undefined
  return await database.maybeOne<MailedToken>(sql`
    delete from basalt.mailed_tokens
    where token_hash = ${hashToken(token)} and purpose = ${purpose} and expires_at > now()
    returning email, user_id`)
}

/** Makes mailed tokens of an address worthless, as when its account changes hands. */
export async function voidMailedTokens(
  database: Queryable,
  email: string,
  purposes: readonly MailPurpose[] = ['password_reset', 'email_verification', 'magic_link'],
): Promise<void> {
  await database.count(
    sql`delete from basalt.mailed_tokens where email = ${email} and purpose = any(${purposes}::text[])`,
  )
}
