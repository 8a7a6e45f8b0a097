import { sql } from '../../../database/sql.ts'
import { ok, operation } from '../../../http/operation.ts'
import { formBody } from '../../../http/schemas.ts'
import { hashToken, isToken } from '../../../lib/tokens.ts'
import { Type } from '../../../lib/type.ts'
import { readRefreshToken } from '../accounts/index.ts'
import { authenticateClient } from './clients/authenticate.ts'
import type { ClientRow } from './clients/queries.ts'
import { accessTokenPrefix, issuerOf, type OAuthContext, requireEnabled } from './context.ts'
import { OAuthTokenParameters, readForm } from './form.ts'
import { OAuthError, ProtocolError, uncached } from './protocol-error.ts'
import { formatPermission } from './scopes.ts'

interface ActiveRow {
  readonly client_id: string
  readonly user_id: string | null
  readonly email: string | null
  readonly scope: string
  readonly actions: readonly string[]
  readonly allowed_tables: readonly string[]
  readonly issued_at: number
  readonly expires_at: number
  readonly generation: number | null
  readonly [column: string]: unknown
}

/** Token introspection (RFC 7662), for confidential clients. */
export const introspect = operation({
  id: 'oauth.introspect',
  method: 'POST',
  path: '/api/auth/introspect',
  guard: 'public',
  tag: 'oauth',
  summary: 'Introspect a token',
  description:
    'RFC 7662. Requires a form with `token`. Confidential clients authenticate as at the token endpoint, and ' +
    'may introspect tokens of clients of the same app.',
  documentedBody: formBody(OAuthTokenParameters),
  success: ok(Type.Object({ active: Type.Boolean() }, { additionalProperties: true })),
  otherResponses: { 400: OAuthError, 401: OAuthError },
  async handle(context: OAuthContext, { http }, reply) {
    void reply.headers(uncached)
    requireEnabled(context)
    const form = readForm(http)
    const caller = await authenticateClient(context.database, http.headers.authorization, form)
    if (caller.client_type !== 'confidential') {
      throw new ProtocolError('unauthorized_client', 'introspection is only allowed for confidential clients')
    }
    const token = form.require('token')
    const isAccess = isToken(accessTokenPrefix, token)
    const grant = isAccess
      ? await findAccessToken(context, caller, token)
      : await findRefreshToken(context, caller, token)
    // For any other token the response only says that it is not active (§2.2).
    if (grant === undefined) return { active: false }
    const issuer = issuerOf(context)
    return {
      active: true,
      scope: formatPermission(grant),
      client_id: grant.client_id,
      username: grant.email ?? undefined,
      token_type: isAccess ? 'Bearer' : undefined,
      exp: grant.expires_at,
      iat: grant.issued_at,
      sub: grant.user_id ?? grant.client_id,
      aud: issuer,
      iss: issuer,
      allowed_tables: grant.allowed_tables.length === 0 ? undefined : grant.allowed_tables,
    }
  },
})

/** Returns the condition for active grants that the caller may see. A self-registered client sees only its own. */
function activeGrant(caller: ClientRow) {
  return sql`g.revoked_at is null and c.revoked_at is null
    and (g.user_id is null or exists (select from basalt.users where id = g.user_id and disabled_at is null))
    and (c.id = ${caller.id}::uuid
      or c.app_id = ${caller.app_id}::uuid and ${caller.source === 'administrator'}::bool)`
}

const columns = sql`c.client_id, g.user_id, g.allowed_tables, g.generation,
  (select email from basalt.users where id = g.user_id) as email`

async function findAccessToken({ database }: OAuthContext, caller: ClientRow, token: string) {
  return await database.maybeOne<ActiveRow>(sql`
    select ${columns}, t.scope, t.actions, floor(extract(epoch from t.created_at))::float8 as issued_at,
      floor(extract(epoch from t.expires_at))::float8 as expires_at
    from basalt.oauth_access_tokens t
    join basalt.oauth_grants g on g.id = t.grant_id
    join basalt.oauth_clients c on c.id = g.client_id
    where t.token_hash = ${hashToken(token)}::bytea and t.expires_at > now() and ${activeGrant(caller)}`)
}

async function findRefreshToken({ database, key }: OAuthContext, caller: ClientRow, token: string) {
  const content = readRefreshToken(token, key)
  if (content === undefined) return undefined
  return await database.maybeOne<ActiveRow>(sql`
    select ${columns}, g.scope, g.actions, floor(extract(epoch from g.last_issued_at))::float8 as issued_at,
      floor(extract(epoch from g.expires_at))::float8 as expires_at
    from basalt.oauth_grants g
    join basalt.oauth_clients c on c.id = g.client_id
    where g.id = ${content.sessionId}::uuid and g.generation = ${content.generation}::int and g.expires_at > now()
      and ${activeGrant(caller)}`)
}
