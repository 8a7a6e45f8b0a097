import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { Actor } from '../actor.ts'
import { holdActor, isInForce } from '../in-force.ts'
import { readObject, type StoredObject, storedJson } from '../objects/object-queries.ts'

export interface NewAddress {
  readonly signatureHash: Buffer
  readonly kind: 'download' | 'upload'
  readonly bucket: string
  readonly name: string
  /** Object of a download. */
  readonly object: Pick<StoredObject, 'id' | 'userId'> | undefined
  readonly actor: Actor
  /** Scope of the actor in the policies; null for an administrator. */
  readonly scope: CallerScope | null
  readonly seconds: number
}

/**
 * Inserts an address as long as its actor is signed in and the object is the same user's.
 *
 * @returns when it expires, in whole seconds since 1970; null when the object was deleted or is another user's, undefined when the
 *   session or the grant of the actor has ended
 */
export async function insertAddress(
  database: Queryable,
  { signatureHash, kind, bucket, name, object, actor, scope, seconds }: NewAddress,
): Promise<number | null | undefined> {
  const { userId, sessionId, grantId, keyId, clientId, appId } = actor
  const row = await database.maybeOne<{ expires_at: number | null }>(sql`
    with held as materialized (${holdActor(actor)}),
    opened as materialized (
      select from basalt.objects
      where id = ${object?.id ?? null}::uuid and user_id is not distinct from ${object?.userId ?? null}::uuid
      for share
    ),
    inserted as (
      insert into basalt.signed_addresses (signature_hash, kind, bucket, name, object_id, user_id, scope, app_id, key_id,
        client_id, grant_id, session_id, expires_at)
      select ${signatureHash}::bytea, ${kind}, ${bucket}, ${name}, ${object?.id ?? null}::uuid, ${userId}::uuid,
        ${scope === null ? null : JSON.stringify(scope)}::jsonb, ${appId}::uuid, ${keyId ?? null}::uuid,
        ${clientId ?? null}::uuid, ${grantId ?? null}::uuid, ${sessionId ?? null}::uuid,
        date_trunc('second', now()) + make_interval(secs => ${seconds}::int)
      where exists (select from held) and (${kind} = 'upload' or exists (select from opened))
      returning extract(epoch from expires_at)::float8 as expires_at
    )
    select (select expires_at from inserted) as expires_at from held`)
  return row === undefined ? undefined : row.expires_at
}

/** Finds the object of a download address, if it still has the address's name. */
export async function findDownload(
  database: Queryable,
  signatureHash: Buffer,
  { bucket, name, expiresAt }: { readonly bucket: string; readonly name: string; readonly expiresAt: number },
): Promise<StoredObject | undefined> {
  const row = await database.maybeOne<{ object: StoredObject }>(sql`
    select ${storedJson} as object
    from basalt.signed_addresses s join basalt.objects o on o.id = s.object_id
    where s.signature_hash = ${signatureHash} and s.kind = 'download' and s.expires_at > now() and ${isInForce(sql`s`)}
      and s.expires_at = to_timestamp(${expiresAt}::float8) and o.bucket = ${bucket} and o.name = ${name}`)
  return row === undefined ? undefined : readObject(row.object)
}

export interface UploadAddress extends Record<string, unknown> {
  readonly user_id: string | null
  readonly scope: CallerScope | null
  readonly app_id: string
}

export async function findUpload(
  database: Queryable,
  signatureHash: Buffer,
  {
    bucket,
    name,
    expiresAt,
    mayHaveExpired = false,
  }: {
    readonly bucket: string
    readonly name: string
    readonly expiresAt: number
    readonly mayHaveExpired?: boolean
  },
): Promise<UploadAddress | undefined> {
  return await database.maybeOne<UploadAddress>(sql`
    select s.user_id, s.scope, s.app_id from basalt.signed_addresses s
    where s.signature_hash = ${signatureHash} and s.kind = 'upload' and (${mayHaveExpired}::bool or s.expires_at > now()) and ${isInForce(sql`s`)}
      and s.expires_at = to_timestamp(${expiresAt}::float8) and s.bucket = ${bucket} and s.name = ${name}`)
}

/** User whose addresses are deleted. Without a user, they are those of the app's programs that act for none. */
export interface AddressOwner {
  readonly userId: string | null
  readonly appId: string
}

/** @param owner undefined: of everybody */
export async function deleteAddresses(
  database: Queryable,
  { bucket, name }: { readonly bucket: string; readonly name: string },
  owner: AddressOwner | undefined,
): Promise<number> {
  const isOwn =
    owner === undefined
      ? sql`true`
      : owner.userId === null
        ? sql`user_id is null and scope is not null and app_id = ${owner.appId}::uuid`
        : sql`user_id = ${owner.userId}::uuid`
  return await database.count(sql`
    delete from basalt.signed_addresses where bucket = ${bucket} and name = ${name} and ${isOwn}`)
}
