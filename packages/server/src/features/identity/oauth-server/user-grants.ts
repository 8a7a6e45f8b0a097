import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { userOf } from '../../../http/access/authentication.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type Answered, component, nullable, timestamp, uuidByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { requireUser } from '../accounts/index.ts'
import { getClient } from './clients/administration.ts'
import { type OAuthContext, requireEnabled } from './context.ts'
import { oauthServerErrors } from './errors.ts'

/** Consent of a user to a client, called grant in the API. */
const OAuthGrant = component(
  'OAuthGrant',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    clientId: Type.String(),
    clientName: Type.String(),
    scope: Type.String({ description: 'Scope as in tokens: `readonly email:send`.' }),
    allowedTables: Type.Array(Type.String(), { description: 'Empty means all collections.' }),
    createdAt: timestamp,
    updatedAt: timestamp,
    lastTokenIssuedAt: nullable(timestamp),
  }),
)
const OAuthGrantOfUser = component(
  'OAuthGrantOfUser',
  Type.Object({
    ...OAuthGrant.properties,
    userId: Type.String({ format: 'uuid' }),
    email: Type.String({ description: 'Empty if the user has none.' }),
  }),
)

/** Members that the descriptions below share. */
const own = { guard: 'bearer', tag: 'oauth' } as const
const administrative = { guard: 'admin', permission: 'apps.read', tag: 'admin' } as const

const list = operation({
  ...own,
  id: 'oauth.listGrants',
  method: 'GET',
  path: '/api/auth/grants',
  summary: 'List the OAuth clients that the caller has granted access',
  success: ok(Type.Array(OAuthGrant)),
  async handle(context: OAuthContext, { http }) {
    requireEnabled(context)
    const grants = await listGrants(context.database, sql`s.user_id = ${userOf(http).userId}::uuid`)
    return grants.map(({ userId: _, email: __, ...grant }) => grant)
  },
})

const revoke = operation({
  ...own,
  id: 'oauth.revokeGrant',
  method: 'DELETE',
  path: '/api/auth/grants/:id',
  summary: "Revoke the caller's grant to an OAuth client",
  description: 'Its tokens end on every node within a second.',
  params: Type.Object({ id: uuidByHandler() }),
  success: noContent,
  async handle(context: OAuthContext, { params, http }) {
    requireEnabled(context)
    await revokeGrant(context, userOf(http).userId, params.id)
  },
})

const listOfClient = operation({
  ...administrative,
  id: 'oauthClients.listGrants',
  permission: 'users.read',
  method: 'GET',
  path: '/api/admin/oauth/clients/:clientId/grants',
  summary: 'List the users who have granted an OAuth client access, the latest first',
  params: Type.Object({ clientId: Type.String() }),
  success: ok(Type.Array(OAuthGrantOfUser)),
  async handle(context: OAuthContext, { params: { clientId } }) {
    requireEnabled(context)
    const { id } = await getClient(context.database, clientId)
    return await listGrants(context.database, sql`s.client_id = ${id}::uuid`)
  },
})

const listOfUser = operation({
  ...administrative,
  id: 'users.listGrants',
  permission: 'users.read',
  method: 'GET',
  path: '/api/admin/users/:id/grants',
  summary: 'List the OAuth clients that a user has granted access',
  params: Type.Object({ id: uuidByHandler() }),
  success: ok(Type.Array(OAuthGrantOfUser)),
  async handle(context: OAuthContext, { params: { id } }) {
    requireEnabled(context)
    await requireUser(context.database, id)
    return await listGrants(context.database, sql`s.user_id = ${id}::uuid`)
  },
})

const revokeOfUser = operation({
  ...administrative,
  id: 'users.revokeGrant',
  permission: 'users.manage',
  method: 'DELETE',
  path: '/api/admin/users/:id/grants/:grantId',
  summary: "Revoke a user's grant to an OAuth client",
  description: 'Its tokens end on every node within a second.',
  params: Type.Object({ id: uuidByHandler(), grantId: uuidByHandler() }),
  success: noContent,
  async handle(context: OAuthContext, { params: { id, grantId }, origin }) {
    requireEnabled(context)
    await requireUser(context.database, id)
    await revokeGrant(context, id, grantId, origin)
  },
})

export const grantOperations = [list, revoke, listOfClient, listOfUser, revokeOfUser]

/** Lists grants with their users, the latest first. */
async function listGrants(database: Queryable, condition: ReturnType<typeof sql>) {
  return await database.many<Answered<typeof OAuthGrantOfUser>>(sql`
    select s.id, c.client_id as "clientId", c.name as "clientName",
      array_to_string(s.scope || s.actions, ' ') as scope, s.allowed_tables as "allowedTables",
      s.created_at as "createdAt", s.updated_at as "updatedAt", s.user_id as "userId", coalesce(u.email, '') as email,
      (select max(g.last_issued_at) from basalt.oauth_grants g where g.consent_id = s.id) as "lastTokenIssuedAt"
    from basalt.oauth_consents s join basalt.oauth_clients c on c.id = s.client_id and c.revoked_at is null
    join basalt.users u on u.id = s.user_id
    where ${condition}
    order by s.updated_at desc, s.id limit 1000`)
}

/**
 * Ends a consent and all its grants.
 *
 * @param origin request of the administrator who revokes, for the audit log; undefined when the user revokes
 * @throws AppError invalid_grant_id, grant_not_found
 */
async function revokeGrant(
  { database, onRevoke }: OAuthContext,
  userId: string,
  grantId: string,
  origin?: RequestOrigin,
): Promise<void> {
  if (!isUuid(grantId)) throw oauthServerErrors.invalidGrantId()
  await database.transaction(async (transaction) => {
    const count = await transaction.count(sql`
      delete from basalt.oauth_consents where id = ${grantId}::uuid and user_id = ${userId}::uuid`)
    if (count === 0) throw oauthServerErrors.grantNotFound()
    if (origin === undefined) return
    const entry = { action: 'users.revoke_grant', target: userId, detail: { grantId } }
    await recordAudit(transaction, { actor: 'admin', ...entry, origin })
  })
  onRevoke()
}
