import { type Sql, sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { type StorageLimits, setLimits } from '../objects/object-queries.ts'

/** Sliding: from the last bytes on. */
const lifetime = sql`interval '24 hours'`
/** A request that dies with its node keeps others waiting no longer. It renews the lease while bytes move. */
const leaseTime = sql`interval '15 seconds'`

export interface ResumableUpload extends Record<string, unknown> {
  readonly id: string
  readonly bucket: string
  readonly name: string
  readonly size: number
  /** How many bytes have arrived. */
  readonly received: number
  readonly content_type: string | null
  readonly metadata: string | null
  readonly user_id: string | null
  /** Whose storage is reserved for it. */
  readonly app_id: string
  readonly actor: string
  readonly is_completed: boolean
  /** In seconds since 1970. */
  readonly expires_at: number
}

const columns = sql`
  id, bucket, name, size::float8 as size, received::float8 as received, content_type, metadata, user_id, app_id,
  actor, completed_at is not null as is_completed, extract(epoch from expires_at)::float8 as expires_at`

/** Whether no request adds to it. */
const isFree = sql`(lease is null or lease_until <= now())`

export type NewUpload = Pick<
  ResumableUpload,
  'id' | 'bucket' | 'name' | 'size' | 'content_type' | 'metadata' | 'user_id' | 'app_id' | 'actor'
>

/** Reserves what the upload declares, in the plan of its app and among the unfinished uploads of its user. */
export async function insertUpload(
  database: SystemDatabase,
  { id, bucket, name, size, content_type, metadata, user_id, app_id, actor }: NewUpload,
  limits: StorageLimits,
): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.one(setLimits(limits))
    await transaction.count(sql`
      insert into basalt.resumable_uploads
        (id, bucket, name, size, content_type, metadata, user_id, app_id, actor, expires_at)
      values (${id}::uuid, ${bucket}, ${name}, ${size}::bigint, ${content_type}, ${metadata}, ${user_id}::uuid,
        ${app_id}::uuid, ${actor}, now() + ${lifetime})`)
  })
}

export interface FoundUpload extends ResumableUpload {
  readonly is_expired: boolean
  readonly is_free: boolean
}

export async function findUpload(database: SystemDatabase, id: string): Promise<FoundUpload | undefined> {
  return await database.maybeOne<FoundUpload>(sql`
    select ${columns}, expires_at <= now() as is_expired, ${isFree} as is_free
    from basalt.resumable_uploads where id = ${id}::uuid`)
}

export interface Lease {
  readonly id: string
  readonly actor: string
  readonly offset: number
  readonly lease: string
}

/** Takes the lease of an unfinished upload of the user that has got as far as the offset. */
export async function leaseUpload(
  database: SystemDatabase,
  { id, actor, offset, lease }: Lease,
): Promise<ResumableUpload | undefined> {
  return await database.maybeOne<ResumableUpload>(sql`
    update basalt.resumable_uploads set lease = ${lease}::uuid, lease_until = now() + ${leaseTime}
    where id = ${id}::uuid and actor = ${actor} and expires_at > now()
      and received = ${offset}::bigint and completed_at is null and ${isFree}
    returning ${columns}`)
}

/** @returns false when another request has taken the lease, or the upload was terminated */
export async function renewLease(database: SystemDatabase, id: string, lease: string): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.resumable_uploads set lease_until = now() + ${leaseTime}, expires_at = now() + ${lifetime}
    where id = ${id}::uuid and lease = ${lease}::uuid`)
  return count > 0
}

export async function releaseLease(database: SystemDatabase, id: string, lease: string): Promise<void> {
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
  { id, lease, offset }: Omit<Lease, 'actor'>,
  { key, size }: Part,
): Promise<ResumableUpload | undefined> {
  return await database.maybeOne<ResumableUpload>(sql`
    with moved as (
      update basalt.resumable_uploads
      set received = received + ${size}::bigint, expires_at = now() + ${lifetime}, lease_until = now() + ${leaseTime}
      where id = ${id}::uuid and lease = ${lease}::uuid and received = ${offset}::bigint
      returning *
    ), added as (
      insert into basalt.resumable_parts (upload_id, start, size, key)
      select id, ${offset}::bigint, ${size}::bigint, ${key} from moved
    )
    select ${columns} from moved`)
}

/** In their order. */
export async function listParts(database: SystemDatabase, id: string): Promise<Part[]> {
  return await database.many<Part & Record<string, unknown>>(sql`
    select key, size::float8 as size from basalt.resumable_parts where upload_id = ${id}::uuid order by start`)
}

/** For the transaction that makes the object. Fails when the lease was lost. */
export function completeUpload(id: string, lease: string): Sql {
  return sql`select basalt.complete_resumable_upload(${id}::uuid, ${lease}::uuid) is null`
}

/** With its parts, whose bytes are doomed by that; a request that adds to it finds that out. */
export async function deleteUpload(database: SystemDatabase, id: string, actor: string): Promise<boolean> {
  const count = await database.count(sql`
    delete from basalt.resumable_uploads
    where id = ${id}::uuid and actor = ${actor} and expires_at > now()`)
  return count > 0
}

/** Those whose time is up, with their parts. */
export async function expireUploads(database: SystemDatabase): Promise<void> {
  await database.count(sql`delete from basalt.resumable_uploads where expires_at <= now() and ${isFree}`)
}
