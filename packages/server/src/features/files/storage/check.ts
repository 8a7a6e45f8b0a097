import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { ByteStore, StoredBytes } from './bytes/store.ts'

const batchSize = 500

export interface LostObject {
  readonly bucket: string
  readonly name: string
  readonly key: string
  /** Of the bytes that are there; null: there are none. */
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
  const { lost, objects, bytes } = await compareObjects(database, store)
  const counts = await database.one<{ doomed: number; staged: number }>(sql`
    select count(*) filter (where state = 'doomed')::int as doomed,
      (count(*) filter (where state = 'staged')
        + (select count(*) from basalt.resumable_uploads where completed_at is null))::int as staged
    from basalt.stored_bytes`)
  const lostParts = await findLostParts({ database, store })
  return { objects, bytes, lost: [...lost, ...lostParts], orphans, ...counts }
}

/** Removes bytes that no row knows. What is lost cannot be brought back: its rows stay, to say what it was. */
export async function removeOrphans({ store }: CheckedStorage, { orphans }: StorageReport): Promise<void> {
  for (const key of orphans) await store.remove(key)
}

/** A row is there before the bytes and until they are removed: bytes that are listed and have none belong to nothing. */
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

async function compareObjects(database: SystemDatabase, store: ByteStore) {
  const lost: LostObject[] = []
  let [objects, bytes, after] = [0, 0, '']
  for (;;) {
    const rows = await database.many<{ bucket: string; name: string; key: string; size: number }>(sql`
      select bucket, name, key, size::float8 as size from basalt.objects
      where key > ${after} order by key limit ${batchSize}`)
    const last = rows.at(-1)
    if (last === undefined) return { lost, objects, bytes }
    for (const { bucket, name, key, size } of rows) {
      objects += 1
      bytes += size
      const foundSize = (await store.sizeOf(key)) ?? null
      if (foundSize !== size && (await isCurrent(database, key))) lost.push({ bucket, name, key, foundSize })
    }
    after = last.key
  }
}

async function findLostParts({ database, store }: CheckedStorage): Promise<LostObject[]> {
  const lost: LostObject[] = []
  let after = ''
  for (;;) {
    const rows = await database.many<{ bucket: string; name: string; key: string; size: number }>(sql`
      select u.bucket, u.name, p.key, p.size::float8 as size
      from basalt.resumable_parts p join basalt.resumable_uploads u on u.id = p.upload_id
      where p.key > ${after} order by p.key limit ${batchSize}`)
    const last = rows.at(-1)
    if (last === undefined) return lost
    for (const { bucket, name, key, size } of rows) {
      const foundSize = (await store.sizeOf(key)) ?? null
      if (foundSize !== size && (await isPart(database, key))) lost.push({ bucket, name, key, foundSize })
    }
    after = last.key
  }
}

/** Whether the part was not joined or ended meanwhile. */
async function isPart(database: SystemDatabase, key: string): Promise<boolean> {
  return (await database.count(sql`select from basalt.resumable_parts where key = ${key}`)) > 0
}

/** Whether an object still has the key. */
async function isCurrent(database: SystemDatabase, key: string): Promise<boolean> {
  return (await database.count(sql`select from basalt.objects where key = ${key}`)) > 0
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
