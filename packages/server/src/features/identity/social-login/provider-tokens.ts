import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { Type } from '../../../lib/type.ts'
import type { ProviderClient, ProviderTokens } from './provider-client.ts'
import type { SealedTokens } from './queries.ts'

interface Identified {
  readonly provider: string
  readonly subject: string
}

/**
 * Encrypts the tokens of a provider, unless they are not to be stored. Some providers send a refresh token
 * only the first time (Google). Then the stored one stays.
 */
export async function keepTokens(
  database: Queryable,
  secrets: () => SecretBox,
  { settings }: ProviderClient,
  identity: Identified,
  tokens: ProviderTokens | undefined,
): Promise<SealedTokens> {
  if (!settings.storesTokens || tokens === undefined) return { isRenewable: false }
  const refreshToken = tokens.refreshToken ?? (await findRefreshToken(database, secrets, identity))
  return sealTokens(secrets, identity, { ...tokens, refreshToken })
}

export function sealTokens(
  secrets: () => SecretBox,
  identity: Identified,
  { accessToken, refreshToken, expiresInSeconds }: ProviderTokens,
): SealedTokens {
  const text = JSON.stringify({ accessToken, refreshToken })
  return {
    sealed: secrets().seal(Buffer.from(text), contextOf(identity)),
    expiresInSeconds,
    isRenewable: refreshToken !== undefined,
  }
}

async function findRefreshToken(
  database: Queryable,
  secrets: () => SecretBox,
  identity: Identified,
): Promise<string | undefined> {
  const row = await database.maybeOne<{ tokens: string }>(sql`
    select tokens from basalt.social_identities
    where provider = ${identity.provider} and subject = ${identity.subject} and tokens_renewable`)
  return row && openTokens(secrets, identity, row.tokens)?.refreshToken
}

/** Decrypts stored tokens. Returns undefined when no key decrypts them. */
export function openTokens(
  secrets: () => SecretBox,
  identity: Identified,
  sealed: string,
): Pick<ProviderTokens, 'accessToken' | 'refreshToken'> | undefined {
  const opened = secrets().open(sealed, contextOf(identity))
  return opened && JSON.parse(opened.toString())
}

export const StoredTokens = component(
  'ProviderTokens',
  Type.Object({
    provider: Type.String(),
    subject: Type.String(),
    accessToken: Type.String(),
    refreshToken: Type.Optional(Type.String()),
    expiresAt: nullable(timestamp),
    renewal: choice(['active', 'failing', 'revoked', 'none'], {
      description:
        '`failing`: the provider was unavailable, and the renewal will be retried. `revoked`: the user must sign ' +
        'in again. `none`: the provider sent no refresh token, or no expiry.',
    }),
    renewalFailedAt: nullable(timestamp),
  }),
)
type StoredTokens = Answered<typeof StoredTokens>

/** Returns the stored tokens of a user, decrypted. */
export async function readTokens(
  database: Queryable,
  secrets: () => SecretBox,
  userId: string,
): Promise<StoredTokens[]> {
  const rows = await database.many<
    Omit<StoredTokens, 'accessToken' | 'refreshToken'> & { tokens: string }
  >(sql`
    select provider, subject, tokens, tokens_expire_at as "expiresAt", renewal_failed_at as "renewalFailedAt",
      case when renewal_failure = 'revoked' then 'revoked'
        when not tokens_renewable or tokens_expire_at is null then 'none'
        when renewal_failure is null then 'active'
        else 'failing' end as renewal
    from basalt.social_identities
    where user_id = ${userId} and tokens is not null order by provider, subject`)
  return rows.flatMap(({ tokens, ...row }) => {
    const opened = openTokens(secrets, row, tokens)
    return opened === undefined ? [] : [{ ...row, ...opened }]
  })
}

export async function forgetTokens(database: Queryable, userId: string, provider: string): Promise<number> {
  return await database.count(sql`
    update basalt.social_identities set tokens = null, tokens_expire_at = null, tokens_renewable = false,
      renewal_failure = null, renewal_failed_at = null, renewal_failures = 0, renew_after = null
    where user_id = ${userId} and provider = ${provider} and tokens is not null`)
}

function contextOf({ provider, subject }: Identified): string {
  return `tokens of ${provider} ${subject}`
}
