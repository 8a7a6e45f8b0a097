import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { readObject, type StoredObject, storedJson } from '../objects/object-queries.ts'

export interface NewAddress {
  readonly signatureHash: Buffer
  readonly kind: 'download' | 'upload'
  readonly bucket: string
  readonly name: string
  readonly objectId: string | null
  readonly userId: string | null
  readonly scope: CallerScope | null
  readonly appId: string
  readonly keyId: string | undefined
  readonly clientId: string | undefined
  readonly seconds: number
}

/** @returns when it expires, in whole seconds since 1970 */
export async function insertAddress(database: Queryable, address: NewAddress): Promise<number> {
  const { expires_at } = await database.one<{ expires_at: number }>(sql`
    insert into basalt.signed_addresses
      (signature_hash, kind, bucket, name, object_id, user_id, scope, app_id, key_id, client_id, expires_at)
    values (${address.signatureHash}, ${address.kind}, ${address.bucket}, ${address.name}, ${address.objectId}::uuid,
      ${address.userId}::uuid, ${address.scope === null ? null : JSON.stringify(address.scope)}::jsonb,
      ${address.appId}::uuid, ${address.keyId ?? null}::uuid, ${address.clientId ?? null}::uuid,
      date_trunc('second', now()) + make_interval(secs => ${address.seconds}::int))
    returning extract(epoch from expires_at)::float8 as expires_at`)
  return expires_at
}

/** Those of a user who was disabled, and of a key or a client that is no longer valid, are in force no more. */
const isInForce = sql`
  s.expires_at > now()
  and not exists (select from basalt.users u where u.id = s.user_id and u.disabled_at is not null)
  and (s.key_id is null or exists (
    select from basalt.api_keys k
    where k.id = s.key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())))
  and (s.client_id is null or exists (
    select from basalt.oauth_clients c where c.id = s.client_id and c.revoked_at is null))`

/** The object that an address opens, if it is still of that name. */
export async function findDownload(
  database: Queryable,
  signatureHash: Buffer,
  { bucket, name, expiresAt }: { readonly bucket: string; readonly name: string; readonly expiresAt: number },
): Promise<StoredObject | undefined> {
  const row = await database.maybeOne<{ object: StoredObject }>(sql`
    select ${storedJson} as object
    from basalt.signed_addresses s join basalt.objects o on o.id = s.object_id
    where s.signature_hash = ${signatureHash} and s.kind = 'download' and ${isInForce}
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
  { bucket, name, expiresAt }: { readonly bucket: string; readonly name: string; readonly expiresAt: number },
): Promise<UploadAddress | undefined> {
  return await database.maybeOne<UploadAddress>(sql`
    select s.user_id, s.scope, s.app_id from basalt.signed_addresses s
    where s.signature_hash = ${signatureHash} and s.kind = 'upload' and ${isInForce}
      and s.expires_at = to_timestamp(${expiresAt}::float8) and s.bucket = ${bucket} and s.name = ${name}`)
}

/** @param owner undefined: of everybody; without a user those of the app's programs that act for none */
export async function deleteAddresses(
  database: Queryable,
  { bucket, name }: { readonly bucket: string; readonly name: string },
  owner: { readonly userId: string | null; readonly appId: string } | undefined,
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
