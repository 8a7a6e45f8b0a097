import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { type ByteStore, newKey, StoreFailed } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'

/** Bytes that are durable and belong to no object yet. */
export interface StagedBytes {
  readonly key: string
  readonly size: number
  /** Removes them again, where the work has no need of them. */
  discard(): Promise<void>
}

/** Seconds that an upload still counts as one after its time is up. Its own timer ends it first. */
const marginSeconds = 600

/**
 * Writes a stream under a new key and hands it to the work, which makes it part of an object. Bytes that the work does not use
 * are removed again. Bytes left by a crash are removed too, because the row is written before them.
 *
 * @param seconds that the upload may take
 * @throws AppError storage_full, storage_unavailable, and what source and work throw
 */
export async function withStagedBytes<Result>(
  { database, store }: { readonly database: SystemDatabase; readonly store: ByteStore },
  source: AsyncIterable<Buffer>,
  seconds: number,
  work: (staged: StagedBytes) => Promise<Result>,
): Promise<Result> {
  const key = newKey()
  // If the response to a commit was lost, the row shows whether it happened: only bytes that are still staged are doomed.
  const discardThis = () => discardStaged(database, store, key)
  await database.count(sql`
    insert into basalt.stored_bytes (key, expires_at)
    values (${key}, now() + make_interval(secs => ${seconds + marginSeconds}))`)
  try {
    return await work({ key, size: await store.write(key, source), discard: discardThis })
  } catch (error) {
    await discardThis()
    throw translateStoreFailure(error)
  }
}

/** Removes bytes that nothing uses. It never rejects: the reaper removes them if this fails. */
export async function discardStaged(database: SystemDatabase, store: ByteStore, key: string): Promise<void> {
  try {
    const doomed = await database.count(
      sql`update basalt.stored_bytes set state = 'doomed' where key = ${key} and state = 'staged'`,
    )
    if (doomed === 0) return
    await store.remove(key)
    await database.count(sql`delete from basalt.stored_bytes where key = ${key} and state = 'doomed'`)
  } catch {
    // The row remains.
  }
}

/** Translates a failure of the byte store into an API error. */
export function translateStoreFailure(error: unknown): unknown {
  if (!(error instanceof StoreFailed)) return error
  const failure =
    error.reason === 'full' ? storageErrors.storageFull() : storageErrors.storageUnavailable().retryAfter(5)
  return failure.with({ cause: error.cause })
}
