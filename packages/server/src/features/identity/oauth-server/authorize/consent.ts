import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { UserIdentity } from '../../../../http/access/identity.ts'
import { createToken, hashToken } from '../../../../lib/tokens.ts'
import type { OAuthContext } from '../context.ts'
import { type Access, covers } from '../scopes.ts'
import type { AuthorizationRequest } from './request.ts'

const codePrefix = 'basalt_code_'

interface ConsentRow extends Pick<Access, 'scope' | 'actions'> {
  readonly id: string
  readonly allowed_tables: readonly string[]
  readonly [column: string]: unknown
}

/**
 * Issues a code to a client that the user has already consented to. Returns undefined when the user must be
 * asked for consent.
 *
 * @throws AppError invalid_token, insufficient_aal
 */
export async function issueConsented(
  context: OAuthContext,
  request: AuthorizationRequest,
  identity: UserIdentity,
): Promise<string | undefined> {
  return await context.database.transaction(async (transaction) => {
    const { id: userId } = await context.lockGranter(transaction, identity)
    const consent = await transaction.maybeOne<ConsentRow>(sql`
      select id, scope, actions, allowed_tables from basalt.oauth_consents
      where user_id = ${userId}::uuid and client_id = ${request.client.id}::uuid
      for key share`)
    if (consent === undefined) return undefined
    const { scope, actions, allowed_tables: allowedTables } = consent
    if (!covers({ scope, actions, allowedTables }, request)) return undefined
    return await insertCode(context, transaction, request, { consentId: consent.id, userId })
  })
}

/**
 * Replaces the earlier consent and makes a code. Existing grants are narrowed to the new consent
 * (`basalt.narrow_oauth_grants`).
 *
 * @param endApproval ends the session of the approval, in the same transaction
 * @throws AppError invalid_token, insufficient_aal
 */
export async function approve(
  context: OAuthContext,
  request: AuthorizationRequest,
  identity: UserIdentity,
  endApproval?: (transaction: Queryable) => Promise<unknown>,
): Promise<string> {
  const { client, scope, actions, allowedTables } = request
  const code = await context.database.transaction(async (transaction) => {
    const { id: userId } = await context.lockGranter(transaction, identity)
    const { id } = await transaction.one<{ id: string }>(sql`
      insert into basalt.oauth_consents (user_id, client_id, scope, actions, allowed_tables)
      values (${userId}::uuid, ${client.id}::uuid, ${scope}, ${actions}::text[], ${allowedTables}::text[])
      on conflict (user_id, client_id) do update
        set scope = excluded.scope, actions = excluded.actions, allowed_tables = excluded.allowed_tables, updated_at = now()
      returning id`)
    await endApproval?.(transaction)
    return await insertCode(context, transaction, request, { consentId: id, userId })
  })
  context.onRevoke()
  return code
}

async function insertCode(
  { config }: OAuthContext,
  database: Queryable,
  request: AuthorizationRequest,
  { consentId, userId }: { readonly consentId: string; readonly userId: string },
): Promise<string> {
  const code = createToken(codePrefix)
  const { client, redirectUri, scope, actions, allowedTables, codeChallenge } = request
  await database.count(sql`
    insert into basalt.oauth_codes
      (code_hash, consent_id, client_id, user_id, redirect_uri, scope, actions, allowed_tables, code_challenge,
        expires_at)
    values (${hashToken(code)}::bytea, ${consentId}::uuid, ${client.id}::uuid, ${userId}::uuid, ${redirectUri},
      ${scope}, ${actions}::text[], ${allowedTables}::text[], ${codeChallenge},
      now() + make_interval(secs => ${config.auth_code_duration}::int))`)
  return code
}
