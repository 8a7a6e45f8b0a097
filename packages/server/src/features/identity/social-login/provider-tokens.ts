import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import type { ProviderClient, ProviderTokens } from './provider-client.ts'
import type { KeptTokens } from './queries.ts'

interface Identified {
  readonly provider: string
  readonly subject: string
}

/**
 * What of a provider's tokens is stored; nothing unless the provider is configured to keep them. Some send a refresh token
 * the first time only (Google): the one before is kept on.
 */
export async function keepTokens(
  database: Queryable,
  secrets: () => SecretBox,
  { settings }: ProviderClient,
  identity: Identified,
  tokens: ProviderTokens | undefined,
): Promise<KeptTokens> {
  if (!settings.storesTokens || tokens === undefined) return { isRenewable: false }
  const refreshToken = tokens.refreshToken ?? (await findRefreshToken(database, secrets, identity))
  return sealTokens(secrets, identity, { ...tokens, refreshToken })
}

export function sealTokens(
  secrets: () => SecretBox,
  identity: Identified,
  { accessToken, refreshToken, expiresInSeconds }: ProviderTokens,
): KeptTokens {
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

/** Undefined when no key opens them. */
export function openTokens(
  secrets: () => SecretBox,
  identity: Identified,
  sealed: string,
): Pick<ProviderTokens, 'accessToken' | 'refreshToken'> | undefined {
  const opened = secrets().open(sealed, contextOf(identity))
  return opened && JSON.parse(opened.toString())
}

export interface StoredTokens extends Identified {
  readonly accessToken: string
  readonly refreshToken?: string | undefined
  readonly expiresAt: string | null
  readonly renewal: 'none' | 'active' | 'failing' | 'revoked'
  readonly renewalFailedAt: string | null
}

/** The tokens that are kept of a user, decrypted. */
export async function readTokens(
  database: Queryable,
  secrets: () => SecretBox,
  userId: string,
): Promise<StoredTokens[]> {
  const rows = await database.many<TokenRow>(sql`
    select provider, subject, tokens, tokens_expire_at, tokens_renewable, renewal_failure, renewal_failed_at
    from basalt.social_identities
    where user_id = ${userId} and tokens is not null order by provider, subject`)
  return rows.flatMap((row) => {
    const opened = openTokens(secrets, row, row.tokens)
    if (opened === undefined) return []
    const { provider, subject, tokens_expire_at: expiresAt, renewal_failed_at: failedAt } = row
    return [
      {
        provider,
        subject,
        ...opened,
        expiresAt: expiresAt?.toISOString() ?? null,
        renewal: renewalOf(row),
        renewalFailedAt: failedAt?.toISOString() ?? null,
      },
    ]
  })
}

interface TokenRow extends Identified {
  readonly tokens: string
  readonly tokens_expire_at: Date | null
  readonly tokens_renewable: boolean
  readonly renewal_failure: 'revoked' | 'unavailable' | null
  readonly renewal_failed_at: Date | null
  readonly [column: string]: unknown
}

function renewalOf({ tokens_expire_at, tokens_renewable, renewal_failure }: TokenRow) {
  if (renewal_failure === 'revoked') return 'revoked'
  if (!tokens_renewable || tokens_expire_at === null) return 'none'
  return renewal_failure === null ? 'active' : 'failing'
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
