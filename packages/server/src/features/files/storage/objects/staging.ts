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

/** How long after its time is up an upload still counts as one: its own timer ends it first. */
const marginSeconds = 600

/**
 * Writes a stream under a new key and hands it to the work, which makes it part of an object. What the work does not take is
 * removed again; what a crash leaves is, too, for the row is there before the bytes.
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
  // Of a commit whose answer was lost the row says whether it happened: only what is still staged is doomed.
  const discardThis = () => discard(database, store, key).catch(() => undefined)
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

async function discard(database: SystemDatabase, store: ByteStore, key: string): Promise<void> {
  const doomed = await database.count(
    sql`update basalt.stored_bytes set state = 'doomed' where key = ${key} and state = 'staged'`,
  )
  if (doomed === 0) return
  await store.remove(key)
  await database.count(sql`delete from basalt.stored_bytes where key = ${key} and state = 'doomed'`)
}

/** What the API says when the place of the bytes fails. */
export function translateStoreFailure(error: unknown): unknown {
  if (!(error instanceof StoreFailed)) return error
  const failure =
    error.reason === 'full' ? storageErrors.storageFull() : storageErrors.storageUnavailable().retryAfter(5)
  return failure.with({ cause: error.cause })
}
