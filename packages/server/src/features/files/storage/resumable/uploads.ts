import type { SystemDatabase } from '../../../../database/system-database.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import type { Actor } from '../actor.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import { asLogin } from '../objects/object-queries.ts'
import type { ObjectService } from '../objects/objects.ts'
import { limitBytes, type Uploader } from '../objects/upload.ts'
import type { Reaper } from '../reaper.ts'
import { getOwn, renewing, withLease } from './lease.ts'
import { keepPart, readParts } from './parts.ts'
import type { LeasedUpload, ResumableUpload } from './upload-queries.ts'
import * as queries from './upload-queries.ts'

// Uploads that come in several requests, to any node. Each request stores its bytes as a part under a key of its own, durable
// before the offset moves. The last request joins the parts and commits the object as any other upload does.

export interface ResumableDeps {
  readonly database: SystemDatabase
  readonly store: ByteStore
  readonly objects: Pick<ObjectService, 'tryCommit' | 'limitsOf' | 'refusalOf'>
  readonly uploader: Uploader
  readonly reaper: Pick<Reaper, 'wake'>
}

export interface Addition {
  /** Offset of the upload as the client believes it to be. */
  readonly offset: number
  /** Length of the body; undefined when the request does not say. */
  readonly length: number | undefined
  /** The bytes that come, up to where the request is cut. */
  readonly source: AsyncIterable<Buffer>
}

/** Seconds that joining the parts may take. */
const joinSeconds = 24 * 60 * 60

/**
 * Begins an upload; one without bytes is complete at once.
 *
 * @throws AppError bucket_not_found, file_too_large, insufficient_storage_permissions, storage_quota_exceeded,
 *   usage_limit_exceeded
 */
export async function beginUpload(
  deps: ResumableDeps,
  actor: Actor,
  upload: queries.NewUpload,
): Promise<ResumableUpload> {
  const { database, objects, uploader } = deps
  const limit = await uploader.limitOf(upload.bucket)
  if (upload.size > limit) throw storageErrors.fileTooLarge(limit)
  // Checks the declared type. The type of the content is known once the bytes have arrived, and is checked then.
  await objects.tryCommit(actor, upload)
  const begun = await queries
    .insertUpload(database, actor, upload, objects.limitsOf(actor))
    .catch((error) => {
      throw objects.refusalOf(error)
    })
  if (begun === undefined) throw httpErrors.invalidToken()
  return await completeIfDue(deps, actor, begun)
}

/** Makes the object if a crash, or a refusal that may have ended since, left it to be made. */
export async function completeIfDue(
  deps: ResumableDeps,
  actor: Actor,
  upload: ResumableUpload,
): Promise<ResumableUpload> {
  const { id, state, received, size } = upload
  if (state === 'completed' || received < size) return upload
  return await withLease(deps.database, actor, { id, offset: size }, (leased) =>
    complete(deps, actor, leased),
  )
}

/** Rejects bytes that an upload does not accept at an offset. @throws those of `addBytes` that need no body */
export async function requireFitting(
  { database }: ResumableDeps,
  actor: Actor,
  id: string,
  { offset, length = 0 }: Omit<Addition, 'source'>,
): Promise<void> {
  const { size, received } = await getOwn(database, actor, id)
  if (offset + length > size) throw storageErrors.resumableUploadExceeded()
  if (offset !== received) throw storageErrors.resumableUploadOffsetMismatch()
}

/**
 * Adds what a request brings, to where it is cut, and makes the object when that was the rest.
 *
 * @throws AppError resumable_upload_offset_mismatch, resumable_upload_locked, resumable_upload_exceeded, …
 */
export async function addBytes(
  deps: ResumableDeps,
  actor: Actor,
  id: string,
  { offset, length = 0, source }: Addition,
): Promise<ResumableUpload> {
  const found = await getOwn(deps.database, actor, id)
  if (offset + length > found.size) throw storageErrors.resumableUploadExceeded()
  if (found.state === 'completed' && offset === found.received) {
    for await (const _ of limitBytes(source, 0, storageErrors.resumableUploadExceeded));
    return found
  }
  return await withLease(deps.database, actor, { id, offset }, async (upload) => {
    const moved = await keepPart(deps, upload, source, deps.uploader.timeoutSeconds)
    return moved.received < moved.size ? moved : await complete(deps, actor, moved)
  })
}

/** Makes the object of an upload whose bytes have all arrived. The upload ends in the transaction of the object. */
async function complete(deps: ResumableDeps, actor: Actor, upload: LeasedUpload): Promise<ResumableUpload> {
  await deps.uploader.receive(actor, {
    bucket: upload.bucket,
    name: async () => upload.name,
    declaredType: upload.content_type,
    source: renewing(deps.database, upload, readParts(deps, upload)),
    seconds: joinSeconds,
    completes: asLogin(queries.completeUpload(upload)),
  })
  deps.reaper.wake()
  return { ...upload, state: 'completed' }
}
