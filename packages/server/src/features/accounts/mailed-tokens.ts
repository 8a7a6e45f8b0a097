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

/** Makes a token; earlier ones of the same purpose and address are void. */
export async function issueMailedToken(
  database: Queryable,
  purpose: MailPurpose,
  { email, userId, lifetimeSeconds }: { email: string; userId: string | undefined; lifetimeSeconds: number },
): Promise<string> {
  const token = createToken(prefixes[purpose])
  await database.count(sql`delete from basalt.mailed_tokens where purpose = ${purpose} and email = ${email}`)
  await database.count(sql`
    insert into basalt.mailed_tokens (token_hash, purpose, email, user_id, expires_at)
    values (${hashToken(token)}, ${purpose}, ${email}, ${userId ?? null},
      now() + make_interval(secs => ${lifetimeSeconds}::int))`)
  return token
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
