import { sql } from '../../../database/sql.ts'
import { isUuid } from '../../../lib/uuid.ts'
import type { OAuthContext } from './context.ts'
import { oauthServerErrors } from './errors.ts'

interface ConsentRow {
  readonly id: string
  readonly client_id: string
  readonly name: string
  readonly scope: string
  readonly allowed_tables: readonly string[]
  readonly created_at: Date
  readonly updated_at: Date
  readonly last_issued_at: Date | null
  readonly [column: string]: unknown
}

/** The programs that a user lets in, the latest first. */
export async function listGrantsOf({ database }: OAuthContext, userId: string) {
  const rows = await database.many<ConsentRow>(sql`
    select s.id, c.client_id, c.name, s.scope, s.allowed_tables, s.created_at, s.updated_at,
      (select max(g.last_issued_at) from basalt.oauth_grants g where g.consent_id = s.id) as last_issued_at
    from basalt.oauth_consents s join basalt.oauth_clients c on c.id = s.client_id and c.revoked_at is null
    where s.user_id = ${userId}::uuid
    order by s.updated_at desc, s.id limit 1000`)
  return rows.map((row) => ({
    id: row.id,
    clientId: row.client_id,
    clientName: row.name,
    scope: row.scope,
    allowedTables: row.allowed_tables,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    lastTokenIssuedAt: row.last_issued_at?.toISOString() ?? null,
  }))
}

/** Ends the consent and all that was given by it. @throws AppError invalid_grant_id, grant_not_found */
export async function revokeGrantOf(
  { database, onRevoke }: OAuthContext,
  userId: string,
  id: string,
): Promise<void> {
  if (!isUuid(id)) throw oauthServerErrors.invalidGrantId()
  const count = await database.count(sql`
    delete from basalt.oauth_consents where id = ${id}::uuid and user_id = ${userId}::uuid`)
  if (count === 0) throw oauthServerErrors.grantNotFound()
  onRevoke()
}
