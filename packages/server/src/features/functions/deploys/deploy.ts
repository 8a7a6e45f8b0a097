import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { DeployFile } from './manifest.ts'
import { type NativeModule, nativeHeaderBytes } from './native-modules.ts'

export const FunctionDeploy = component(
  'FunctionDeploy',
  Type.Object({
    hash: Type.String({ description: 'SHA-256 over the paths and contents of the files.' }),
    fileCount: Type.Integer(),
    totalBytes: Type.Integer(),
    functionFiles: Type.Array(Type.String(), { description: 'Files in the folder of the functions.' }),
    isLive: Type.Boolean(),
    isPrevious: Type.Boolean({ description: 'True for the deploy that a rollback makes live.' }),
    installs: Type.Boolean({ description: 'True if each node installs the packages.' }),
    createdAt: timestamp,
    promotedAt: nullable(timestamp, {
      description: 'Last time at which it was made live, if the audit log has that.',
    }),
    promotedBy: nullable(Type.String(), {
      description: 'Administrator who made it live. null for the role `viewer`.',
    }),
  }),
)
export type FunctionDeploy = Answered<typeof FunctionDeploy>

/** Maximum number of entries of the audit log that are searched for promotions, and for rollbacks. */
const auditLimit = 1000

// The index `function_files_functions` has this condition.
const columns = sql`
  d.hash, d.installs, d.file_count as "fileCount", d.total_bytes::float8 as "totalBytes", d.created_at as "createdAt",
  exists (select from basalt.function_live l where l.hash = d.hash) as "isLive",
  coalesce(d.promotion = (
    select max(e.promotion) from basalt.function_live l
    join basalt.function_deploys live on live.hash = l.hash
    join basalt.function_deploys e on e.promotion < live.promotion
  ), false) as "isPrevious",
  array(
    select substr(f.path, 11) from basalt.function_files f
    where f.hash = d.hash and f.path ~ '^functions/[^/]+[.][cm]?[jt]s$' order by f.path limit 100
  ) as "functionFiles",
  promoted.happened_at as "promotedAt", coalesce(promoted.administrator, promoted.actor) as "promotedBy"`

const entriesOf = (action: string) => sql`(
  select id, target, happened_at, administrator, actor from basalt.audit
  where operation is null and action = ${action} and detail ->> 'previous' is distinct from target
  order by id desc limit ${auditLimit}::int)`

/**
 * Deploys as `d`, with the latest entry of the audit log that made each live as `promoted`. Promotions of the live deploy have
 * no effect.
 */
const source = sql`
  basalt.function_deploys d
  left join (
    select distinct on (target) target, happened_at, administrator, actor
    from (${entriesOf('functions.promote')} union all ${entriesOf('functions.rollback')}) entry
    order by target, id desc
  ) promoted on promoted.target = d.hash`

/** Version of the live deploy. */
export const liveVersion = sql`(select hash from basalt.function_live)`

/** Lists deploys, the newest first. The clean-up bounds their number. */
export async function listDeploys(database: Queryable): Promise<FunctionDeploy[]> {
  return await database.many<FunctionDeploy>(
    sql`select ${columns} from ${source} order by d.used_at desc, d.hash limit 200`,
  )
}

export async function findDeploy(database: Queryable, hash: string): Promise<FunctionDeploy | undefined> {
  return await database.maybeOne<FunctionDeploy>(sql`select ${columns} from ${source} where d.hash = ${hash}`)
}

/** Keeps the clean-up of contents from running until the transaction ends. */
export async function holdBlobs(transaction: Queryable): Promise<void> {
  await transaction.count(
    sql`select pg_advisory_xact_lock_shared(hashtextextended('basalt function blobs', 0))`,
  )
}

/** Stores a deploy with its files, or marks the one that exists as used. */
export async function insertDeploy(
  transaction: Queryable,
  hash: string,
  files: readonly DeployFile[],
  installs: boolean,
): Promise<void> {
  const total = files.reduce((sum, { size }) => sum + size, 0)
  await transaction.count(sql`
    insert into basalt.function_deploys (hash, file_count, total_bytes, installs)
    values (${hash}, ${files.length}::int, ${total}::bigint, ${installs})
    on conflict (hash) do update set used_at = now()`)
  await transaction.count(sql`
    insert into basalt.function_files (hash, path, sha256, size)
    select ${hash}, path, decode(sha256, 'hex'), size
    from unnest(${files.map(({ path }) => path)}::text[], ${files.map(({ sha256 }) => sha256)}::text[],
      ${files.map(({ size }) => size)}::int[]) f (path, sha256, size)
    on conflict do nothing`)
}

/** Lists the hashes of contents that a deploy lacks, or has with another size. */
export async function listMissing(database: Queryable, hash: string): Promise<string[]> {
  const rows = await database.many<{ sha256: string }>(sql`
    select distinct encode(f.sha256, 'hex') as sha256
    from basalt.function_files f left join basalt.function_blobs b on b.sha256 = f.sha256
    where f.hash = ${hash} and octet_length(b.bytes) is distinct from f.size
    order by 1`)
  return rows.map(({ sha256 }) => sha256)
}

export async function insertBlobs(
  database: Queryable,
  blobs: readonly { readonly sha256: Buffer; readonly bytes: Buffer }[],
): Promise<void> {
  await database.count(sql`
    insert into basalt.function_blobs (sha256, bytes)
    select distinct on (sha256) sha256, bytes
    from unnest(${blobs.map(({ sha256 }) => sha256)}::bytea[], ${blobs.map(({ bytes }) => bytes)}::bytea[]) b (sha256, bytes)
    order by sha256
    on conflict do nothing`)
}

/** Reads the native modules of a deploy with the beginning of their content. */
export async function listNativeModules(database: Queryable, hash: string): Promise<NativeModule[]> {
  return await database.many<NativeModule & Record<string, unknown>>(sql`
    select f.path, substring(b.bytes for ${nativeHeaderBytes}::int) as header
    from basalt.function_files f join basalt.function_blobs b on b.sha256 = f.sha256
    where f.hash = ${hash} and f.path like '%.node' order by f.path`)
}

/** Locks the live deploy until the transaction ends, so that changes of it run one after the other. */
export async function lockLive(transaction: Queryable): Promise<string | null> {
  const { hash } = await transaction.one<{ hash: string | null }>(
    sql`select hash from basalt.function_live for update`,
  )
  return hash
}

/** Makes a deploy live, after the live one was locked. */
export async function setLive(transaction: Queryable, hash: string): Promise<void> {
  await transaction.count(sql`update basalt.function_live set hash = ${hash}`)
}

/** Makes a deploy the latest of the history. */
export async function appendToHistory(transaction: Queryable, hash: string): Promise<void> {
  await transaction.count(sql`
    update basalt.function_deploys set used_at = now(),
      promotion = 1 + coalesce((select max(promotion) from basalt.function_deploys), 0)
    where hash = ${hash}`)
}

/** Removes the live deploy from the history. Returns the deploy that was live before it, if there is one. */
export async function takeFromHistory(transaction: Queryable, live: string): Promise<string | undefined> {
  const earlier = await transaction.maybeOne<{ hash: string }>(sql`
    select e.hash from basalt.function_deploys d
    join basalt.function_deploys e on e.promotion < d.promotion
    where d.hash = ${live} order by e.promotion desc limit 1`)
  if (earlier === undefined) return undefined
  await transaction.count(
    sql`update basalt.function_deploys set promotion = null, used_at = now() where hash = ${live}`,
  )
  return earlier.hash
}

export async function listFiles(database: Queryable, hash: string): Promise<DeployFile[]> {
  return await database.many<DeployFile & Record<string, unknown>>(sql`
    select path, encode(sha256, 'hex') as sha256, size from basalt.function_files where hash = ${hash} order by path`)
}

/** Reads contents by their hashes in hexadecimal. */
export async function readBlobs(
  database: Queryable,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, Buffer>> {
  const rows = await database.many<{ sha256: string; bytes: Buffer }>(sql`
    select encode(sha256, 'hex') as sha256, bytes from basalt.function_blobs
    where sha256 = any (array(select decode(h, 'hex') from unnest(${hashes}::text[]) h))`)
  return new Map(rows.map(({ sha256, bytes }) => [sha256, bytes]))
}

export async function listHashes(database: Queryable): Promise<string[]> {
  const rows = await database.many<{ hash: string }>(sql`select hash from basalt.function_deploys`)
  return rows.map(({ hash }) => hash)
}
