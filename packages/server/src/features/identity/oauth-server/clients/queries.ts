import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { defaultAppId } from '../../../../http/access/identity.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../../http/schemas.ts'
import { codeOf } from '../../../../lib/errors.ts'
import { Type } from '../../../../lib/type.ts'
import { OAuthScope } from '../scopes.ts'

/** Client in responses to administrators, with counts of its grants. */
export const OAuthClient = component(
  'OAuthClient',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    appId: nullable(Type.String({ format: 'uuid' })),
    clientId: Type.String(),
    name: Type.String(),
    redirectUris: Type.Array(Type.String()),
    scopes: Type.Array(OAuthScope),
    clientType: choice(['confidential', 'public']),
    source: choice(['administrator', 'registration', 'document'], {
      description:
        'Origin of the registration: an administrator, the client itself (`registration`), or the `document` at the address that is its id.',
    }),
    createdAt: timestamp,
    updatedAt: timestamp,
    revokedAt: nullable(timestamp),
    activeAccessTokenCount: Type.Integer(),
    activeRefreshTokenCount: Type.Integer(),
    totalGrants: Type.Integer(),
    lastTokenIssuedAt: nullable(timestamp),
  }),
)
export type OAuthClient = Answered<typeof OAuthClient>

/** Stored client. */
export interface ClientRow {
  readonly id: string
  readonly app_id: string | null
  readonly client_id: string
  readonly name: string
  readonly client_type: 'confidential' | 'public'
  readonly secret_hash: Buffer | null
  readonly redirect_uris: readonly string[]
  readonly scopes: readonly string[]
  /** Origin of the registration: an administrator, the client itself, or the document at the address that is its id. */
  readonly source: 'administrator' | 'registration' | 'document'
  readonly created_at: Date
  readonly updated_at: Date
  readonly revoked_at: Date | null
  readonly [column: string]: unknown
}

export type NewClient = Pick<ClientRow, 'client_id' | 'name' | 'client_type' | 'secret_hash' | 'source'> & {
  readonly app_id: string
  readonly redirect_uris: readonly string[]
  readonly scopes: readonly string[]
}

const columns = sql`c.id, c.app_id, c.client_id, c.name, c.client_type, c.secret_hash, c.redirect_uris, c.scopes,
  c.source, c.created_at, c.updated_at, c.revoked_at`

/**
 * Joins of counts, of one client at a time by an index. The cost of a page depends on the grants of its
 * clients, not on all grants.
 */
const counts = sql`
  left join lateral (
    select count(*)::int as grants, max(g.last_issued_at) as last_issued_at,
      (count(*) filter (where g.generation is not null and g.revoked_at is null and g.expires_at > now()))::int
        as refresh_tokens
    from basalt.oauth_grants g where g.client_id = c.id) as given on true
  left join lateral (
    select count(*)::int as access_tokens
    from basalt.oauth_grants g
    join basalt.oauth_access_tokens t on t.grant_id = g.id and t.expires_at > now()
    where g.client_id = c.id and g.expires_at > now() and g.revoked_at is null) as alive on c.revoked_at is null`

const described = sql`c.id, c.app_id as "appId", c.client_id as "clientId", c.name, c.redirect_uris as "redirectUris",
  c.scopes, c.client_type as "clientType", c.source, c.created_at as "createdAt", c.updated_at as "updatedAt",
  c.revoked_at as "revokedAt", coalesce(alive.access_tokens, 0) as "activeAccessTokenCount",
  case when c.revoked_at is null then given.refresh_tokens else 0 end as "activeRefreshTokenCount",
  given.grants as "totalGrants", given.last_issued_at as "lastTokenIssuedAt"`

export async function findClient(database: Queryable, clientId: string): Promise<ClientRow | undefined> {
  return await database.maybeOne<ClientRow>(
    sql.prepared(sql`select ${columns} from basalt.oauth_clients c where c.client_id = ${clientId}`),
  )
}

export async function describeClient(
  database: Queryable,
  clientId: string,
): Promise<OAuthClient | undefined> {
  return await database.maybeOne<OAuthClient>(sql`
    select ${described} from basalt.oauth_clients c ${counts} where c.client_id = ${clientId}`)
}

/** Lists clients, including revoked ones, the newest first, and counts them. */
export async function listClients(
  database: Queryable,
  {
    appId,
    limit,
    offset,
  }: { readonly appId: string | undefined; readonly limit: number; readonly offset: number },
): Promise<{ readonly items: readonly OAuthClient[]; readonly total: number }> {
  const isOfApp = appId === undefined ? sql`true` : sql`app_id = ${appId}`
  const items = await database.many<OAuthClient>(sql`
    with c as materialized (
      select * from basalt.oauth_clients where ${isOfApp} order by created_at desc, id limit ${limit} offset ${offset}
    )
    select ${described} from c ${counts} order by c.created_at desc, c.id`)
  const { total } = await database.one<{ total: number }>(
    sql`select count(*)::int as total from basalt.oauth_clients where ${isOfApp}`,
  )
  return { items, total }
}

/** Inserts a client. Returns undefined when the app does not exist. */
export async function insertClient(database: Queryable, client: NewClient): Promise<ClientRow | undefined> {
  const insert = database.one<ClientRow>(sql`
    insert into basalt.oauth_clients as c
      (app_id, client_id, name, client_type, secret_hash, redirect_uris, scopes, source)
    values (${client.app_id}, ${client.client_id}, ${client.name}, ${client.client_type},
      ${client.secret_hash}::bytea, ${client.redirect_uris}::text[], ${client.scopes}::text[], ${client.source})
    returning ${columns}`)
  return await insert.catch((error) => {
    if (codeOf(error) === '23503') return undefined
    throw error
  })
}

/** Updates a client. @returns whether the client is active */
export async function updateClient(
  database: Queryable,
  clientId: string,
  { name, redirect_uris, scopes }: Pick<ClientRow, 'name' | 'redirect_uris' | 'scopes'>,
): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.oauth_clients c set name = ${name}, redirect_uris = ${redirect_uris}::text[],
      scopes = ${scopes}::text[], updated_at = now()
    where c.client_id = ${clientId} and c.revoked_at is null`)
  return count > 0
}

/** Revokes a client. @returns whether the client was active */
export async function revokeClient(database: Queryable, clientId: string): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.oauth_clients set revoked_at = now(), updated_at = now()
    where client_id = ${clientId} and revoked_at is null`)
  return count > 0
}

/** Replaces the secret of a client. @returns whether there is such an active confidential client */
export async function replaceSecret(database: Queryable, clientId: string, hash: Buffer): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.oauth_clients set secret_hash = ${hash}::bytea, updated_at = now()
    where client_id = ${clientId} and client_type = 'confidential' and revoked_at is null`)
  return count > 0
}

export type DocumentedClient = Pick<ClientRow, 'client_id' | 'name'> & {
  readonly redirect_uris: readonly string[]
  readonly scopes: readonly string[]
  /** Seconds for which the document may be used. */
  readonly lifetimeSeconds: number
}

/** Returns a client with a metadata document, and whether the document is still fresh. */
export async function findDocumentedClient(
  database: Queryable,
  clientId: string,
): Promise<(ClientRow & { readonly is_fresh: boolean }) | undefined> {
  return await database.maybeOne<ClientRow & { is_fresh: boolean }>(sql`
    select ${columns}, c.document_expires_at > now() as is_fresh
    from basalt.oauth_clients c where c.client_id = ${clientId} and c.source = 'document'`)
}

/** Stores the content of a document. A revoked client stays revoked. */
export async function saveDocumentedClient(
  database: Queryable,
  client: DocumentedClient,
): Promise<ClientRow> {
  return await database.one<ClientRow>(sql`
    insert into basalt.oauth_clients as c
      (app_id, client_id, name, client_type, redirect_uris, scopes, source, document_expires_at)
    values (${defaultAppId}::uuid, ${client.client_id}, ${client.name}, 'public', ${client.redirect_uris}::text[],
      ${client.scopes}::text[], 'document', now() + make_interval(secs => ${client.lifetimeSeconds}::int))
    on conflict (client_id) do update set name = excluded.name, redirect_uris = excluded.redirect_uris,
      scopes = excluded.scopes, document_expires_at = excluded.document_expires_at, updated_at = now()
    returning ${columns}`)
}

/** Deletes clients that no administrator has registered and that no user has granted access for a month. */
export async function deleteUnusedClients(database: Queryable): Promise<void> {
  await database.count(sql`
    delete from basalt.oauth_clients c
    where c.source <> 'administrator' and c.revoked_at is null and c.updated_at < now() - interval '30 days'
      and not exists (select from basalt.oauth_consents where client_id = c.id)`)
}
