import { sql } from '../../../database/sql.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { Actor } from './clients/administration.ts'
import type { OAuthContext } from './context.ts'
import { oauthServerErrors } from './errors.ts'
import { formatPermission } from './scopes.ts'

interface ConsentRow {
  readonly id: string
  readonly user_id: string
  readonly email: string | null
  readonly client_id: string
  readonly name: string
  readonly scope: string
  readonly actions: readonly string[]
  readonly allowed_tables: readonly string[]
  readonly created_at: Date
  readonly updated_at: Date
  readonly last_issued_at: Date | null
  readonly [column: string]: unknown
}

/** The programs that a user lets in, the latest first. */
export async function listGrantsOf(context: OAuthContext, userId: string) {
  const rows = await selectGrants(context, { userId })
  return rows.map(describeGrant)
}

/** Grants of a user or to a client, the latest first, with whose they are. */
export async function listGrants(context: OAuthContext, of: GrantOwner) {
  const rows = await selectGrants(context, of)
  return rows.map((row) => ({ ...describeGrant(row), userId: row.user_id, email: row.email ?? '' }))
}

type GrantOwner = { readonly userId: string } | { readonly clientRowId: string }

async function selectGrants({ database }: OAuthContext, of: GrantOwner): Promise<ConsentRow[]> {
  const matching =
    'userId' in of ? sql`s.user_id = ${of.userId}::uuid` : sql`s.client_id = ${of.clientRowId}::uuid`
  return await database.many<ConsentRow>(sql`
    select s.id, s.user_id, u.email, c.client_id, c.name, s.scope, s.actions, s.allowed_tables, s.created_at, s.updated_at,
      (select max(g.last_issued_at) from basalt.oauth_grants g where g.consent_id = s.id) as last_issued_at
    from basalt.oauth_consents s join basalt.oauth_clients c on c.id = s.client_id and c.revoked_at is null
    join basalt.users u on u.id = s.user_id
    where ${matching}
    order by s.updated_at desc, s.id limit 1000`)
}

function describeGrant(row: ConsentRow) {
  return {
    id: row.id,
    clientId: row.client_id,
    clientName: row.name,
    scope: formatPermission(row),
    allowedTables: row.allowed_tables,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    lastTokenIssuedAt: row.last_issued_at?.toISOString() ?? null,
  }
}

/**
 * Ends the consent and all that was given by it.
 *
 * @param by the administrator who does it, for the audit; not given when it is the user
 * @throws AppError invalid_grant_id, grant_not_found
 */
export async function revokeGrantOf(
  { database, onRevoke }: OAuthContext,
  userId: string,
  id: string,
  by?: Actor,
): Promise<void> {
  if (!isUuid(id)) throw oauthServerErrors.invalidGrantId()
  await database.transaction(async (transaction) => {
    const count = await transaction.count(sql`
      delete from basalt.oauth_consents where id = ${id}::uuid and user_id = ${userId}::uuid`)
    if (count === 0) throw oauthServerErrors.grantNotFound()
    if (by === undefined) return
    const entry = { action: 'users.revoke_grant', target: userId, detail: { grantId: id } }
    await recordAudit(transaction, { ...by, ...entry })
  })
  onRevoke()
}
