import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { Actor } from './actor.ts'

/**
 * Returns the condition under which a row `alias` of signed addresses or resumable uploads is still in force. The end of a
 * session or a grant removes such rows at once; users may be enabled again, and keys and clients keep their rows.
 */
export function isInForce(alias: Sql): Sql {
  return sql`
    not exists (select from basalt.users u where u.id = ${alias}.user_id and u.disabled_at is not null)
    and (${alias}.key_id is null or exists (
      select from basalt.api_keys k
      where k.id = ${alias}.key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())))
    and (${alias}.client_id is null or exists (
      select from basalt.oauth_clients c where c.id = ${alias}.client_id and c.revoked_at is null))`
}

/** Rejects an actor whose session, grant, key, client or account has ended since the request came. @throws AppError invalid_token */
export async function requireInForce(database: Queryable, actor: Actor): Promise<void> {
  const { userId, keyId, clientId } = actor
  const found = await database.maybeOne(sql`
    with held as materialized (${holdActor(actor)})
    select from (
      select ${userId}::uuid as user_id, ${keyId ?? null}::uuid as key_id, ${clientId ?? null}::uuid as client_id
    ) as actor
    where exists (select from held) and ${isInForce(sql`actor`)}`)
  if (found === undefined) throw httpErrors.invalidToken()
}

/**
 * Locks the session or the grant of an actor until the transaction ends, and returns no row when the session or grant has
 * ended. A node may accept its token for a second after that. An end at the same time either waits, and ends what is
 * inserted, or comes first.
 */
export function holdActor({ scope, sessionId, userId, grantId }: Actor): Sql {
  if (grantId !== undefined) {
    return sql`select from basalt.oauth_grants where id = ${grantId}::uuid and revoked_at is null for share`
  }
  // Without a session there is nothing to hold.
  if (sessionId === undefined || sessionId === userId) return sql`select`
  return scope.kind === 'unrestricted'
    ? sql`select from basalt.admin_sessions where id = ${sessionId}::uuid for key share`
    : sql`select from basalt.sessions where id = ${sessionId}::uuid for key share`
}
