import type { Notifications } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { defaultAppId } from '../../../http/access/identity.ts'
import { describeProgram, OpaqueTokens, type OpenedProgram } from '../opaque-tokens/index.ts'
import { accessTokenPrefix } from './context.ts'

interface OpenedClient extends OpenedProgram {
  readonly client_id: string
}

interface OpenedClientToken extends OpenedClient {
  readonly grant_id: string
}

/** Creates the verifier of client access tokens for the data API. */
export function createOAuthTokens(
  database: SystemDatabase,
  notifications: Notifications,
): OpaqueTokens<OpenedClientToken> {
  return new OpaqueTokens<OpenedClientToken>(
    {
      prefix: accessTokenPrefix,
      topic: 'oauth_tokens',
      version: sql`select version from basalt.oauth_version`,
      open: (hashes) => openAccessTokens(database, hashes),
      lifetimeOf: (token) => token.expires_in_ms,
      identify: (token) => ({
        ...describeProgram(token),
        clientId: token.client_id,
        grantId: token.grant_id,
      }),
    },
    notifications,
  )
}

/** Access of a client for a user, or for itself, with the reasons why it is not active. */
export interface ExaminedClient extends OpenedClient {
  readonly name: string
  readonly is_revoked: boolean
  readonly disabled_at: Date | null
  /** True if there is an active grant. */
  readonly is_granted: boolean
}

/**
 * Returns the newest active grant of a client, as an administrator examines it.
 *
 * @param clientId as clients send it
 * @param userId null for a grant of the client itself
 */
export async function examineClient(
  database: Queryable,
  clientId: string,
  userId: string | null,
): Promise<ExaminedClient | undefined> {
  return await database.maybeOne<ExaminedClient>(sql`
    select '' as hash, ${userId}::uuid as user_id, c.id as client_id, a.id as app_id, c.name,
      coalesce(g.scope, 'readonly') as scope, coalesce(g.actions, '{}') as actions,
      coalesce(g.allowed_tables, '{}') as allowed_tables,
      c.revoked_at is not null as is_revoked, g.id is not null as is_granted, null as expires_in_ms,
      u.email, u.disabled_at, coalesce(u.email_verified_at is not null and u.id is not null, false) as is_email_verified,
      coalesce(u.is_anonymous, false) as is_anonymous, a.rate_limit, a.rate_limit_window_seconds
    from basalt.oauth_clients c
    join basalt.apps a on a.id = coalesce(c.app_id, ${defaultAppId}::uuid)
    left join basalt.users u on u.id = ${userId}::uuid
    left join lateral (
      select id, scope, actions, allowed_tables from basalt.oauth_grants
      where client_id = c.id and user_id is not distinct from ${userId}::uuid
        and revoked_at is null and expires_at > now()
      order by created_at desc limit 1
    ) g on true
    where c.client_id = ${clientId}`)
}

/** Returns the active access tokens that have these hashes, by one statement. @param hashes in hexadecimal */
async function openAccessTokens(
  database: SystemDatabase,
  hashes: readonly string[],
): Promise<OpenedClientToken[]> {
  return await database.many<OpenedClientToken>(sql`
    select encode(t.token_hash, 'hex') as hash, g.user_id, c.id as client_id, g.id as grant_id, a.id as app_id,
      t.scope, t.actions, g.allowed_tables,
      (extract(epoch from t.expires_at - now()) * 1000)::float8 as expires_in_ms,
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
