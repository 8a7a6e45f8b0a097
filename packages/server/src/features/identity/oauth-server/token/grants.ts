import { deleteInBatches } from '../../../../database/delete-in-batches.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { deleteUnusedClients } from '../clients/queries.ts'
import { type Permission, permitting } from '../scopes.ts'

/** Permissions of a grant. */
export interface GrantRow extends Permission {
  readonly id: string
  readonly allowed_tables: readonly string[]
  readonly [column: string]: unknown
}

export interface CodeRow extends Permission {
  readonly client_id: string
  readonly redirect_uri: string
  readonly code_challenge: string
  readonly is_expired: boolean
  readonly is_used: boolean
  readonly grant_id: string | null
  readonly [column: string]: unknown
}

export interface Lifetimes {
  readonly access_token_duration: number
  readonly refresh_token_duration: number
  readonly grant_duration: number
}

/** Grace period after a rotation in which a replayed refresh token gets the same successor, as for sessions. */
const graceSeconds = 10
/** Number of rotations whose time is kept. A client makes fewer within the grace period. */
const rememberedRotations = 16

export async function findCode(database: Queryable, hash: Buffer): Promise<CodeRow | undefined> {
  return await database.maybeOne<CodeRow>(sql`
    select client_id, scope, actions, redirect_uri, code_challenge, grant_id, expires_at <= now() as is_expired,
      used_at is not null as is_used
    from basalt.oauth_codes where code_hash = ${hash}::bytea`)
}

/**
 * Consumes a code and inserts its grant by one statement, so of many concurrent calls one succeeds. Client,
 * user and consent are locked first, in the order in which ending them locks them before their codes. One
 * order prevents deadlocks. A change of scopes and this statement wait for each other by the locks of client
 * and consent. A later change then ends or narrows the new grant.
 */
export async function redeemCode(
  database: Queryable,
  code: { readonly hash: Buffer; readonly clientRowId: string; readonly permission: Permission },
  grant: { readonly id: string; readonly accessTokenHash: Buffer },
  lifetimes: Lifetimes,
): Promise<GrantRow | undefined> {
  return await database.maybeOne<GrantRow>(sql`
    with consented as materialized (
      select c.code_hash
      from basalt.oauth_codes c join basalt.users u on u.id = c.user_id and u.disabled_at is null
      join basalt.oauth_consents s on s.id = c.consent_id
      join basalt.oauth_clients l on l.id = c.client_id and ${stillPermits(sql`l.scopes`, code.permission)}
      where c.code_hash = ${code.hash}::bytea
      for share of l for key share of u for share of s
    ), used as (
      update basalt.oauth_codes c set used_at = now(), grant_id = ${grant.id}::uuid
      from consented
      where c.code_hash = consented.code_hash and c.client_id = ${code.clientRowId}::uuid
        and c.used_at is null and c.expires_at > now()
      returning c.client_id, c.user_id, c.consent_id, c.scope, c.actions, c.allowed_tables
    ), granted as (
      insert into basalt.oauth_grants
        (id, client_id, user_id, consent_id, scope, actions, allowed_tables, generation, expires_at)
      select ${grant.id}::uuid, used.client_id, used.user_id, used.consent_id, used.scope, used.actions,
        used.allowed_tables, 1,
        now() + make_interval(secs => least(${lifetimes.grant_duration}::int,
          greatest(${lifetimes.refresh_token_duration}::int, ${lifetimes.access_token_duration}::int)))
      from used
      returning id, scope, actions, allowed_tables
    ), issued as (
      insert into basalt.oauth_access_tokens (token_hash, grant_id, scope, actions, expires_at)
      select ${grant.accessTokenHash}::bytea, id, scope, actions,
        now() + make_interval(secs => ${lifetimes.access_token_duration}::int)
      from granted
    )
    select id, scope, actions, allowed_tables from granted`)
}

/** Builds the condition that a client still has the requested permission. */
function stillPermits(listed: Sql, { scope, actions }: Permission): Sql {
  return sql`${listed} && ${permitting(scope)}::text[] and ${listed} @> ${actions}::text[]`
}

/**
 * Inserts a grant for the client itself, and locks the client as {@link redeemCode} does.
 *
 * @returns whether it still has the scope
 */
export async function insertClientGrant(
  database: Queryable,
  grant: GrantRow & { readonly clientRowId: string; readonly accessTokenHash: Buffer },
  { access_token_duration }: Lifetimes,
): Promise<boolean> {
  const count = await database.count(
    sql.prepared(sql`
      with client as materialized (
        select id from basalt.oauth_clients
        where id = ${grant.clientRowId}::uuid and ${stillPermits(sql`scopes`, grant)}
        for share
      ), granted as (
        insert into basalt.oauth_grants (id, client_id, scope, actions, allowed_tables, expires_at)
        select ${grant.id}::uuid, client.id, ${grant.scope}, ${grant.actions}::text[], ${grant.allowed_tables}::text[],
          now() + make_interval(secs => ${access_token_duration}::int)
        from client
        returning id, scope, actions, expires_at
      )
      insert into basalt.oauth_access_tokens (token_hash, grant_id, scope, actions, expires_at)
      select ${grant.accessTokenHash}::bytea, id, scope, actions, expires_at from granted`),
  )
  return count > 0
}

/** Grant with the scope of its newest access token, which may be narrower than its own. */
export interface RefreshedGrantRow extends GrantRow {
  readonly generation: number
  /** Seconds for which its access token is still valid. */
  readonly expires_in: number
}

/** Returns the time of the rotation that replaced a generation, or null when it is no longer kept. */
function rotationOf(generation: number) {
  return sql`g.rotations[cardinality(g.rotations) - (g.generation - ${generation}::int) + 1]`
}

/**
 * Rotates a grant that is at this generation, with a new access token. Within the grace period of a replaced
 * generation, returns the grant unchanged. One of several concurrent calls rotates. The others wait for its
 * row lock, and PostgreSQL evaluates the statement again on the updated row (PostgreSQL, Read Committed
 * Isolation Level). Only the rotation stores the access token, because a replay must not restore a revoked
 * one (RFC 7009 §2.1). A scope narrows only the access token, not the refresh token (RFC 6749 §6). A scope
 * that the grant does not permit prevents the refresh.
 */
export async function refreshGrant(
  database: Queryable,
  refresh: {
    readonly grantId: string
    readonly generation: number
    readonly clientRowId: string
    /** Hash of the next generation's access token. */
    readonly accessTokenHash: Buffer
    /** Narrower permissions. Undefined means those of the grant. */
    readonly permission: Permission | undefined
  },
  { access_token_duration, refresh_token_duration, grant_duration }: Lifetimes,
): Promise<RefreshedGrantRow | undefined> {
  const { grantId, generation, clientRowId, accessTokenHash, permission } = refresh
  const { scope = null, actions = null } = permission ?? {}
  const rotates = sql`g.generation = ${generation}::int`
  return await database.maybeOne<RefreshedGrantRow>(
    sql.prepared(sql`
      with refreshed as (
        update basalt.oauth_grants g set
          generation = case when ${rotates} then g.generation + 1 else g.generation end,
          rotations = case when ${rotates}
            then (g.rotations || now())[greatest(1, cardinality(g.rotations) + 2 - ${sql.integer(rememberedRotations)}):]
            else g.rotations end,
          last_issued_at = case when ${rotates} then now() else g.last_issued_at end,
          expires_at = case when ${rotates}
            then least(g.created_at + make_interval(secs => ${grant_duration}::int),
              now() + make_interval(secs => greatest(${refresh_token_duration}::int, ${access_token_duration}::int)))
            else g.expires_at end
        from basalt.users u
        where g.id = ${grantId}::uuid and g.client_id = ${clientRowId}::uuid
          and g.revoked_at is null and g.expires_at > now()
          and u.id = g.user_id and u.disabled_at is null
          and (${scope}::text is null 
            or g.scope = any(${scope === null ? [] : permitting(scope)}::text[]) and g.actions @> ${actions}::text[])
          and (${rotates}
            or g.generation > ${generation}::int
              and ${rotationOf(generation)} > now() - make_interval(secs => ${sql.integer(graceSeconds)}))
        returning g.id, g.scope, g.actions, g.allowed_tables, g.generation, g.last_issued_at
      ), issued as (
        insert into basalt.oauth_access_tokens (token_hash, grant_id, scope, actions, expires_at)
        select ${accessTokenHash}::bytea, id, coalesce(${scope}::text, scope), coalesce(${actions}::text[], actions),
          now() + make_interval(secs => ${access_token_duration}::int)
        from refreshed where generation = ${generation}::int + 1 and last_issued_at = now()
        on conflict (token_hash) do nothing
        returning scope, actions
      )
      select id, allowed_tables, generation, coalesce(i.scope, t.scope, r.scope) as scope,
        coalesce(i.actions, t.actions, r.actions) as actions,
        greatest(0, ceil(extract(epoch from last_issued_at - now()) + ${access_token_duration}::int))::int as expires_in
      from refreshed r left join issued i on true
      left join lateral (
        select scope, actions from basalt.oauth_access_tokens where grant_id = r.id order by created_at desc limit 1
      ) t on true`),
  )
}

export interface GrantState extends Permission {
  readonly client_id: string
  readonly is_revoked: boolean
  readonly is_expired: boolean
  readonly generation: number | null
  readonly [column: string]: unknown
}

export async function findGrantState(database: Queryable, id: string): Promise<GrantState | undefined> {
  return await database.maybeOne<GrantState>(sql`
    select client_id, scope, actions, generation, revoked_at is not null as is_revoked, expires_at <= now() as is_expired
    from basalt.oauth_grants where id = ${id}::uuid`)
}

/** Revokes a grant whose old refresh token is used again: two parties have it, and one of them stole it. */
export async function revokeReplayedGrant(
  database: Queryable,
  id: string,
  generation: number,
): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.oauth_grants g set revoked_at = now()
    where g.id = ${id}::uuid and g.revoked_at is null and g.generation > ${generation}::int
      and coalesce(${rotationOf(generation)} <= now() - make_interval(secs => ${sql.integer(graceSeconds)}), true)`)
  return count > 0
}

/** Revokes a grant. @returns whether the grant was active */
export async function revokeGrant(database: Queryable, id: string): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.oauth_grants set revoked_at = now() where id = ${id}::uuid and revoked_at is null`)
  return count > 0
}

/** Deletes an access token, and revokes a grant that has no other. @returns whether there was such a token */
export async function deleteAccessToken(database: Queryable, hash: Buffer): Promise<boolean> {
  const deleted = await database.count(sql`
    with deleted as (
      delete from basalt.oauth_access_tokens where token_hash = ${hash}::bytea returning grant_id
    ), revoked as (
      update basalt.oauth_grants g set revoked_at = now() from deleted
      where g.id = deleted.grant_id and g.generation is null and g.revoked_at is null
    )
    select from deleted`)
  return deleted > 0
}

/**
 * Deletes expired rows. A grant stays while its refresh token would be valid, revoked or not, so that replays
 * are detected.
 */
export async function deleteExpiredGrants(database: Queryable): Promise<void> {
  await deleteInBatches(database, 'oauth_access_tokens', sql`expires_at < now() - interval '1 hour'`)
  await deleteInBatches(
    database,
    'oauth_codes',
    sql`grant_id is null and expires_at < now() - interval '1 day'`,
  )
  await deleteInBatches(database, 'oauth_grants', sql`expires_at < now() - interval '1 day'`)
  await deleteUnusedClients(database)
}
