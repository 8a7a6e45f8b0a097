import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { Encodings } from './compress.ts'
import { type DeployRow, deployColumns } from './deploy.ts'

export interface NewFile {
  readonly path: string
  readonly sha256: Buffer
  readonly size: number
  readonly contentType: string
}

/** Locks a deploy for an upload. Returns false if it accepts no files. */
export async function lockUploading(transaction: Queryable, siteId: string, id: string): Promise<boolean> {
  const count = await transaction.count(sql`
    select from basalt.site_deploys
    where id = ${id}::uuid and site_id = ${siteId}::uuid and status = 'uploading' for update`)
  return count === 1
}

export async function insertBlob(
  transaction: Queryable,
  sha256: Buffer,
  bytes: Buffer,
  { brotli, gzip }: Encodings,
): Promise<void> {
  await transaction.count(sql`
    insert into basalt.site_blobs (sha256, bytes, brotli, gzip)
    values (${sha256}::bytea, ${bytes}::bytea, ${brotli}::bytea, ${gzip}::bytea)
    -- -- Locks an existing blob, so that the clean-up does not remove it before its file is committed.
    on conflict (sha256) do update set created_at = site_blobs.created_at`)
}

export async function hasBlob(database: Queryable, sha256: Buffer): Promise<boolean> {
  return (await database.count(sql`select from basalt.site_blobs where sha256 = ${sha256}::bytea`)) === 1
}

/** Finds stored content with its size, and locks it until the transaction ends. */
export async function findBlobs(
  transaction: Queryable,
  hashes: readonly Buffer[],
): Promise<{ sha256: Buffer; size: number }[]> {
  return await transaction.many(sql`
    select sha256, octet_length(bytes) as size from basalt.site_blobs
    where sha256 = any(${hashes}::bytea[]) order by sha256 for key share`)
}

/** Adds files to a locked deploy. An existing file is replaced and counted once. */
export async function putFiles(
  transaction: Queryable,
  deployId: string,
  files: readonly NewFile[],
): Promise<DeployRow> {
  return await transaction.one<DeployRow>(sql`
    with input as (
      select * from unnest(
        ${files.map(({ path }) => path)}::text[], ${files.map(({ sha256 }) => sha256)}::bytea[],
        ${files.map(({ size }) => size)}::int[], ${files.map(({ contentType }) => contentType)}::text[]
      ) as g (path, sha256, size, content_type)
    ),
    -- -- Sizes before this statement.
    replaced as (
      select f.size from input g
      join basalt.site_files f on f.deploy_id = ${deployId}::uuid and f.path = g.path
    ),
    put as (
      insert into basalt.site_files as f (deploy_id, path, sha256, size, content_type)
      select ${deployId}::uuid, path, sha256, size, content_type from input
      on conflict (deploy_id, path) do update set
        sha256 = excluded.sha256, size = excluded.size, content_type = excluded.content_type
      where (f.sha256, f.content_type) is distinct from (excluded.sha256, excluded.content_type)
    )
    update basalt.site_deploys d set
      file_count = d.file_count + (select count(*) from input) - (select count(*) from replaced),
      total_bytes = d.total_bytes
        + (select coalesce(sum(size), 0) from input) - (select coalesce(sum(size), 0) from replaced),
      updated_at = now()
    where d.id = ${deployId}::uuid
    returning ${deployColumns}`)
}
