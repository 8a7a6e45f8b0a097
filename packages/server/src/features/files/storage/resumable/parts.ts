import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import { withStagedBytes } from '../objects/staging.ts'
import { limitBytes } from '../objects/upload.ts'
import { renewing } from './lease.ts'
import { addPart, type LeasedUpload, listParts, type ResumableUpload } from './upload-queries.ts'

interface PartsDeps {
  readonly database: SystemDatabase
  readonly store: ByteStore
}

/**
 * Keeps what a request brings, if it brings anything.
 *
 * @param seconds that the request may take
 * @throws AppError resumable_upload_exceeded, resumable_upload_locked, storage_full, storage_unavailable
 */
export async function keepPart(
  deps: PartsDeps,
  upload: LeasedUpload,
  source: AsyncIterable<Buffer>,
  seconds: number,
): Promise<LeasedUpload> {
  const missing = limitBytes(source, upload.size - upload.received, storageErrors.resumableUploadExceeded)
  const chunks = renewing(deps.database, upload, missing)
  const first = await chunks.next()
  if (first.done === true) return upload
  return await withStagedBytes(deps, startingWith(first.value, chunks), seconds, async (part) => {
    const moved = await addPart(deps.database, upload, part)
    if (moved === undefined) throw storageErrors.resumableUploadLocked()
    return moved
  })
}

/** Reads the parts that the requests brought, in their order. @throws AppError storage_unavailable */
export async function* readParts({ database, store }: PartsDeps, { id }: ResumableUpload) {
  for (const { key } of await listParts(database, id)) {
    const bytes: AsyncIterable<Buffer> | undefined = await store.read(key)
    if (bytes === undefined) {
      throw storageErrors.storageUnavailable().with({ detail: `no bytes under the key ${key}` })
    }
    yield* bytes
  }
}

async function* startingWith(first: Buffer, rest: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield first
  yield* rest
}
