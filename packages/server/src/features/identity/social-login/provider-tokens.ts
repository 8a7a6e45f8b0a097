import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import type { ProviderClient, ProviderTokens } from './provider-client.ts'

/** What of a provider's tokens is stored; nothing unless the provider is configured to keep them. */
export function sealTokens(
  secrets: () => SecretBox,
  { settings }: ProviderClient,
  identity: { readonly provider: string; readonly subject: string },
  tokens: ProviderTokens | undefined,
): { readonly tokens: string | undefined; readonly tokensExpireAt: Date | undefined } {
  if (!settings.storesTokens || tokens === undefined) return { tokens: undefined, tokensExpireAt: undefined }
  const { accessToken, refreshToken, expiresAt } = tokens
  const text = JSON.stringify({ accessToken, refreshToken })
  return {
    tokens: secrets().seal(Buffer.from(text), contextOf(identity)),
    tokensExpireAt: expiresAt,
  }
}

export interface StoredTokens {
  readonly provider: string
  readonly subject: string
  readonly accessToken: string
  readonly refreshToken?: string
  readonly expiresAt: string | null
}

/** The tokens that are kept of a user, decrypted. */
export async function readTokens(
  database: Queryable,
  secrets: () => SecretBox,
  userId: string,
): Promise<StoredTokens[]> {
  const rows = await database.many<TokenRow>(sql`
    select provider, subject, tokens, tokens_expire_at from basalt.social_identities
    where user_id = ${userId} and tokens is not null order by provider, subject`)
  return rows.flatMap((row) => {
    const opened = secrets().open(row.tokens, contextOf(row))
    if (opened === undefined) return []
    const { provider, subject, tokens_expire_at: expiresAt } = row
    return [
      { provider, subject, ...JSON.parse(opened.toString()), expiresAt: expiresAt?.toISOString() ?? null },
    ]
  })
}

interface TokenRow {
  readonly provider: string
  readonly subject: string
  readonly tokens: string
  readonly tokens_expire_at: Date | null
  readonly [column: string]: unknown
}

export async function forgetTokens(database: Queryable, userId: string, provider: string): Promise<number> {
  return await database.count(sql`
    update basalt.social_identities set tokens = null, tokens_expire_at = null
    where user_id = ${userId} and provider = ${provider} and tokens is not null`)
}

function contextOf({ provider, subject }: { readonly provider: string; readonly subject: string }): string {
  return `tokens of ${provider} ${subject}`
}
