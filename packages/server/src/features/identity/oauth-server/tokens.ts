import type { Notifications } from '../../../database/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { defaultAppId } from '../../../http/identity.ts'
import type { Clock } from '../../../lib/clock.ts'
import { describeProgram, OpaqueTokens, type OpenedProgram } from '../opaque-tokens/index.ts'
import { accessTokenPrefix } from './context.ts'

interface OpenedClientToken extends OpenedProgram {
  readonly client_id: string
}

/** Verifies access tokens of clients on the data API. */
export function createOAuthTokens(
  database: SystemDatabase,
  clock: Clock,
  notifications: Notifications,
): OpaqueTokens<OpenedClientToken> {
  return new OpaqueTokens<OpenedClientToken>(
    {
      prefix: accessTokenPrefix,
      topic: 'oauth_tokens',
      version: sql`select version from basalt.oauth_version`,
      open: (hashes) => openAccessTokens(database, hashes),
      expiryOf: (token) => token.expires_at_ms,
      identify: (token) => ({ ...describeProgram(token), clientId: token.client_id }),
    },
    clock,
    notifications,
  )
}

/** Access tokens in force, by one statement. @param hashes in hexadecimal */
async function openAccessTokens(
  database: SystemDatabase,
  hashes: readonly string[],
): Promise<OpenedClientToken[]> {
  return await database.many<OpenedClientToken>(sql`
    select encode(t.token_hash, 'hex') as hash, g.user_id, c.id as client_id, a.id as app_id, g.scope, g.allowed_tables,
      (extract(epoch from t.expires_at) * 1000)::float8 as expires_at_ms,
      u.email, coalesce(u.email_verified_at is not null and u.id is not null, false) as is_email_verified,
      coalesce(u.is_anonymous, false) as is_anonymous, a.rate_limit, a.rate_limit_window_seconds
    from unnest(${hashes}::text[]) as given (hash)
    join basalt.oauth_access_tokens t on t.token_hash = decode(given.hash, 'hex') and t.expires_at > now()
    join basalt.oauth_grants g on g.id = t.grant_id and g.revoked_at is null
    join basalt.oauth_clients c on c.id = g.client_id and c.revoked_at is null
    left join basalt.users u on u.id = g.user_id
    join basalt.apps a on a.id = coalesce(c.app_id, ${defaultAppId}::uuid)
    where g.user_id is null or u.disabled_at is null`)
}
