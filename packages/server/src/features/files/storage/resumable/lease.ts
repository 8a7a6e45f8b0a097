import type { SystemDatabase } from '../../../../database/system-database.ts'
import { AppError } from '../../../../lib/errors.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { type Actor, nameOf, requireBucket } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import type { LeasedUpload, ResumableUpload } from './upload-queries.ts'
import * as queries from './upload-queries.ts'

/** Interval of lease renewals in milliseconds, while bytes move: three per lease time. */
const renewalMs = 5000

/** @throws AppError resumable_upload_not_found, resumable_upload_forbidden, resumable_upload_expired */
export async function getOwn(database: SystemDatabase, actor: Actor, id: string): Promise<ResumableUpload> {
  const upload = isUuid(id) ? await queries.findUpload(database, id) : undefined
  if (upload === undefined) throw storageErrors.resumableUploadNotFound()
  requireBucket(actor, upload.bucket)
  if (upload.actor !== nameOf(actor)) throw storageErrors.resumableUploadForbidden()
  if (upload.state === 'expired') throw storageErrors.resumableUploadExpired()
  return upload
}

/**
 * Runs the work with the lease of the upload, which must have got as far as the offset.
 *
 * @throws AppError resumable_upload_offset_mismatch, resumable_upload_locked, and those of `getOwn`
 */
export async function withLease<Result>(
  database: SystemDatabase,
  actor: Actor,
  { id, offset }: { readonly id: string; readonly offset: number },
  work: (upload: LeasedUpload) => Promise<Result>,
): Promise<Result> {
  /** Throws the reason why the lease could not be acquired, or was lost. */
  async function refuse(): Promise<never> {
    const { state, received } = await getOwn(database, actor, id)
    throw state !== 'leased' && received !== offset
      ? storageErrors.resumableUploadOffsetMismatch()
      : // It may end at any time, and ends with its lease at the latest.
        storageErrors.resumableUploadLocked().retryAfter(1)
  }
  const upload = await queries.leaseUpload(database, actor, { id, offset })
  if (upload === undefined) return await refuse()
  try {
    return await work(upload)
  } catch (error) {
    // The lease was lost; the upload may be, too.
    if (error instanceof AppError && error.kind === 'resumable_upload_locked') await refuse()
    throw error
  } finally {
    // If the release fails, the lease expires.
    await queries.releaseLease(database, upload).catch(() => undefined)
  }
}

/** Passes a stream on, and renews the lease as long as bytes move. @throws AppError resumable_upload_locked */
export async function* renewing(
  database: SystemDatabase,
  upload: LeasedUpload,
  source: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let renewedAt = performance.now()
  for await (const chunk of source) {
    if (performance.now() - renewedAt > renewalMs) {
      if (!(await queries.renewLease(database, upload))) throw storageErrors.resumableUploadLocked()
      renewedAt = performance.now()
    }
    yield chunk
  }
}
