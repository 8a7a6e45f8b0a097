import { type Sql, sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { ByteStore, StoredBytes } from './bytes/store.ts'

const batchSize = 500

export interface LostObject {
  readonly bucket: string
  readonly name: string
  readonly key: string
  /** Size of the bytes found; null when the bytes are missing. */
  readonly foundSize: number | null
}

export interface StorageReport {
  readonly objects: number
  /** Bytes of those objects. */
  readonly bytes: number
  /** Objects, and parts of resumable uploads, whose bytes are missing or of another length. */
  readonly lost: readonly LostObject[]
  /** Keys of bytes that no row knows. */
  readonly orphans: readonly string[]
  /** Bytes whose removal is due. */
  readonly doomed: number
  /** Uploads that have not ended. */
  readonly staged: number
}

export interface CheckedStorage {
  readonly database: SystemDatabase
  readonly store: ByteStore
}

/** Compares what is stored with what the rows say, while the servers work. */
export async function checkStorage({ database, store }: CheckedStorage): Promise<StorageReport> {
  const orphans = await findOrphans(database, store)
  const ofObjects = await compareBytes(database, store, objectBytes)
  const counts = await database.one<{ doomed: number; staged: number }>(sql`
    select count(*) filter (where state = 'doomed')::int as doomed,
      (count(*) filter (where state = 'staged')
        + (select count(*) from basalt.resumable_uploads where completed_at is null))::int as staged
    from basalt.stored_bytes`)
  const ofParts = await compareBytes(database, store, partBytes)
  const { count: objects, bytes } = ofObjects
  return { objects, bytes, lost: [...ofObjects.lost, ...ofParts.lost], orphans, ...counts }
}

/** Removes bytes that no row knows. What is lost cannot be brought back: its rows stay, to say what it was. */
export async function removeOrphans({ store }: CheckedStorage, { orphans }: StorageReport): Promise<void> {
  for (const key of orphans) await store.remove(key)
}

/** Finds stored bytes without a row. A row exists before its bytes and until they are removed, so such bytes belong to nothing. */
async function findOrphans(database: SystemDatabase, store: ByteStore): Promise<string[]> {
  const orphans: string[] = []
  for await (const batch of batchesOf(store.list())) {
    const keys = batch.map(({ key }) => key)
    const rows = await database.many<{ key: string }>(
      sql`select key from basalt.stored_bytes where key = any (${keys}::text[])`,
    )
    const known = new Set(rows.map(({ key }) => key))
    for (const key of keys) {
      // Removed with its row since it was listed.
      if (!known.has(key) && (await store.sizeOf(key)) !== undefined) orphans.push(key)
    }
  }
  return orphans
}

const objectBytes = sql`(select bucket, name, key, size from basalt.objects) o`
const partBytes = sql`(
  select u.bucket, u.name, p.key, p.size
  from basalt.resumable_parts p join basalt.resumable_uploads u on u.id = p.upload_id) o`

/** Compares the bytes of objects, or of parts, with their rows. */
async function compareBytes(database: SystemDatabase, store: ByteStore, rows: Sql) {
  const lost: LostObject[] = []
  let [count, bytes, after] = [0, 0, '']
  for (;;) {
    const batch = await database.many<{ bucket: string; name: string; key: string; size: number }>(sql`
      select bucket, name, key, size::float8 as size from ${rows}
      where key > ${after} order by key limit ${batchSize}`)
    const last = batch.at(-1)
    if (last === undefined) return { lost, count, bytes }
    for (const { bucket, name, key, size } of batch) {
      count += 1
      bytes += size
      const foundSize = (await store.sizeOf(key)) ?? null
      if (foundSize === size) continue
      // The object may have been replaced meanwhile, the part joined.
      const isCurrent = (await database.count(sql`select from ${rows} where key = ${key}`)) > 0
      if (isCurrent) lost.push({ bucket, name, key, foundSize })
    }
    after = last.key
  }
}

async function* batchesOf(items: AsyncIterable<StoredBytes>): AsyncIterable<readonly StoredBytes[]> {
  let batch: StoredBytes[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
