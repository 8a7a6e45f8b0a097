import { type Sql, sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { type Actor, nameOf } from '../actor.ts'
import { holdActor, isInForce } from '../in-force.ts'
import { type ObjectLocation, type StorageLimits, setLimits } from '../objects/object-queries.ts'

/** Sliding: from the last bytes on. */
const lifetime = sql`interval '24 hours'`
/** A request that dies with its node keeps others waiting no longer. It renews the lease while bytes move. */
const leaseTime = sql`interval '15 seconds'`

/** The README says what leads from one to another. */
export type UploadState = 'free' | 'leased' | 'completed' | 'expired'

export interface ResumableUpload extends Record<string, unknown> {
  readonly id: string
  readonly bucket: string
  readonly name: string
  readonly size: number
  /** Number of bytes received. */
  readonly received: number
  readonly content_type: string
  readonly metadata: string | null
  readonly actor: string
  readonly state: UploadState
  /** Expiry in seconds since 1970. */
  readonly expires_at: number
}

/** An upload that one request alone adds to, as long as it has the lease. */
export interface LeasedUpload extends ResumableUpload {
  readonly lease: string
}

/** Condition that no request adds to the upload. */
const isFree = sql`(lease is null or lease_until <= now())`

const columnsOf = (row: Sql) => sql`
  id, bucket, name, size::float8 as size, received::float8 as received, content_type, metadata, actor, lease,
  case when expires_at <= now() or not (${isInForce(row)}) then 'expired' when completed_at is not null then 'completed'
    when ${isFree} then 'free' else 'leased' end as state,
  extract(epoch from expires_at)::float8 as expires_at`

const columns = columnsOf(sql`resumable_uploads`)

export interface NewUpload extends ObjectLocation {
  readonly size: number
  readonly contentType: string
  readonly metadata: string | undefined
}

/**
 * Reserves what the upload declares, in the plan of its app and among the unfinished uploads of its user.
 *
 * @returns undefined when the session or the grant of the actor has ended
 */
export async function insertUpload(
  database: SystemDatabase,
  actor: Actor,
  { bucket, name, size, contentType, metadata }: NewUpload,
  limits: StorageLimits,
): Promise<ResumableUpload | undefined> {
  const { userId, appId, sessionId, grantId, keyId, clientId } = actor
  return await database.transaction(async (transaction) => {
    await transaction.one(setLimits(limits))
    return await transaction.maybeOne<ResumableUpload>(sql`
      with held as materialized (${holdActor(actor)})
      insert into basalt.resumable_uploads (bucket, name, size, content_type, metadata, user_id, app_id, actor,
        session_id, grant_id, key_id, client_id, expires_at)
      select ${bucket}, ${name}, ${size}::bigint, ${contentType}, ${metadata ?? null}, ${userId}::uuid, ${appId}::uuid,
        ${nameOf(actor)}, ${sessionId ?? null}::uuid, ${grantId ?? null}::uuid, ${keyId ?? null}::uuid,
        ${clientId ?? null}::uuid, now() + ${lifetime}
      from held
      returning ${columns}`)
  })
}

export async function findUpload(database: SystemDatabase, id: string): Promise<ResumableUpload | undefined> {
  return await database.maybeOne<ResumableUpload>(
    sql`select ${columns} from basalt.resumable_uploads where id = ${id}::uuid`,
  )
}

/** Takes the lease of an unfinished upload of the user that has got as far as the offset. */
export async function leaseUpload(
  database: SystemDatabase,
  actor: Actor,
  { id, offset }: { readonly id: string; readonly offset: number },
): Promise<LeasedUpload | undefined> {
  return await database.maybeOne<LeasedUpload>(sql`
    update basalt.resumable_uploads set lease = gen_random_uuid(), lease_until = now() + ${leaseTime}
    where id = ${id}::uuid and actor = ${nameOf(actor)} and expires_at > now()
      and received = ${offset}::bigint and completed_at is null and ${isFree} and ${isInForce(sql`resumable_uploads`)}
    returning ${columns}`)
}

/** @returns false when another request has taken the lease, or the upload was terminated */
export async function renewLease(database: SystemDatabase, { id, lease }: LeasedUpload): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.resumable_uploads set lease_until = now() + ${leaseTime}, expires_at = now() + ${lifetime}
    where id = ${id}::uuid and lease = ${lease}::uuid`)
  return count > 0
}

export async function releaseLease(database: SystemDatabase, { id, lease }: LeasedUpload): Promise<void> {
  await database.count(sql`
    update basalt.resumable_uploads set lease = null, lease_until = null
    where id = ${id}::uuid and lease = ${lease}::uuid`)
}

export interface Part {
  readonly key: string
  readonly size: number
}

/**
 * Adds staged bytes to an upload: the offset moves and the part is kept, or neither. A lease whose time is up counts until
 * another request takes it.
 *
 * @returns undefined when the lease was lost, or the upload terminated
 */
export async function addPart(
  database: SystemDatabase,
  { id, lease, received: offset }: LeasedUpload,
  { key, size }: Part,
): Promise<LeasedUpload | undefined> {
  return await database.maybeOne<LeasedUpload>(sql`
    with moved as (
      update basalt.resumable_uploads
      set received = received + ${size}::bigint, expires_at = now() + ${lifetime}, lease_until = now() + ${leaseTime}
      where id = ${id}::uuid and lease = ${lease}::uuid and received = ${offset}::bigint and ${isInForce(sql`resumable_uploads`)}
      returning *
    ), added as (
      insert into basalt.resumable_parts (upload_id, start, size, key)
      select id, ${offset}::bigint, ${size}::bigint, ${key} from moved
    )
    select ${columnsOf(sql`moved`)} from moved`)
}

/** Lists the parts of an upload in their order. */
export async function listParts(database: SystemDatabase, id: string): Promise<Part[]> {
  return await database.many<Part & Record<string, unknown>>(sql`
    select key, size::float8 as size from basalt.resumable_parts where upload_id = ${id}::uuid order by start`)
}

/** Returns the statement that completes an upload, for the transaction of the object. It fails when the lease was lost. */
export function completeUpload({ id, lease }: LeasedUpload): Sql {
  return sql`select basalt.complete_resumable_upload(${id}, ${lease})`
}

/** Deletes an upload with its parts, which dooms their bytes. A request that adds to the upload detects the deletion. */
export async function deleteUpload(database: SystemDatabase, actor: Actor, id: string): Promise<boolean> {
  const count = await database.count(sql`
    delete from basalt.resumable_uploads
    where id = ${id}::uuid and actor = ${nameOf(actor)} and expires_at > now()`)
  return count > 0
}

/** Deletes expired uploads with their parts. */
export async function expireUploads(database: SystemDatabase): Promise<void> {
  await database.count(sql`delete from basalt.resumable_uploads where expires_at <= now() and ${isFree}`)
}
