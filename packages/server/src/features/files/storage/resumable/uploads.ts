import type { SystemDatabase } from '../../../../database/system-database.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import type { Actor } from '../actor.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import { asLogin } from '../objects/object-queries.ts'
import type { ObjectService } from '../objects/objects.ts'
import type { Uploader } from '../objects/upload.ts'
import type { Reaper } from '../reaper.ts'
import { getOwn, renewing, withLease } from './lease.ts'
import { keepPart, limit, readParts } from './parts.ts'
import type { LeasedUpload, ResumableUpload } from './upload-queries.ts'
import * as queries from './upload-queries.ts'

export interface ResumableDeps {
  readonly database: SystemDatabase
  readonly store: ByteStore
  readonly objects: Pick<ObjectService, 'tryCommit' | 'limitsOf' | 'refusalOf'>
  readonly uploader: Uploader
  readonly reaper: Pick<Reaper, 'wake'>
}

export interface Addition {
  /** Where the client believes the upload to be. */
  readonly offset: number
  /** Of the body; undefined when the request does not say. */
  readonly length: number | undefined
  /** The bytes that come, up to where the request is cut. */
  readonly source: AsyncIterable<Buffer>
}

/** That joining the parts may take. */
const joinSeconds = 24 * 60 * 60

export type ResumableService = ReturnType<typeof createResumableService>

/**
 * Uploads that come in several requests, to any node. Each request stores what it brings as a part under a key of its own,
 * durable before the offset moves; the last one joins the parts into an object, as any other upload becomes one.
 */
export function createResumableService(deps: ResumableDeps) {
  const { database, objects, uploader, reaper } = deps

  /** Makes the object of an upload whose bytes are all there. The upload ends in the transaction of the object. */
  async function complete(actor: Actor, upload: LeasedUpload): Promise<ResumableUpload> {
    await uploader.receive(actor, {
      bucket: upload.bucket,
      name: async () => upload.name,
      declaredType: upload.content_type,
      source: renewing(database, upload, readParts(deps, upload)),
      seconds: joinSeconds,
      completes: asLogin(queries.completeUpload(upload)),
    })
    reaper.wake()
    return { ...upload, state: 'completed' }
  }

  /** Makes the object if a crash, or a refusal that may have ended since, left it to be made. */
  async function completeIfDue(actor: Actor, upload: ResumableUpload): Promise<ResumableUpload> {
    const { id, state, received, size } = upload
    if (state === 'completed' || received < size) return upload
    return await withLease(database, actor, { id, offset: size }, (leased) => complete(actor, leased))
  }

  return {
    /**
     * Begins an upload; one without bytes is complete at once.
     *
     * @throws AppError bucket_not_found, file_too_large, insufficient_storage_permissions, storage_quota_exceeded,
     *   usage_limit_exceeded
     */
    async create(actor: Actor, upload: queries.NewUpload): Promise<ResumableUpload> {
      const limitBytes = await uploader.limitOf(upload.bucket)
      if (upload.size > limitBytes) throw storageErrors.fileTooLarge(limitBytes)
      // The type as declared: what the bytes say is known when they are there, and asked about again.
      await objects.tryCommit(actor, upload)
      const limits = objects.limitsOf(actor)
      const begun = await queries.insertUpload(database, actor, upload, limits).catch((error) => {
        throw objects.refusalOf(error)
      })
      if (begun === undefined) throw httpErrors.invalidToken()
      return await completeIfDue(actor, begun)
    },

    /** @throws AppError resumable_upload_not_found, resumable_upload_forbidden, resumable_upload_expired, … */
    async find(actor: Actor, id: string): Promise<ResumableUpload> {
      return await completeIfDue(actor, await getOwn(database, actor, id))
    },

    /** Whether an upload takes so many bytes more at the place. @throws those of `add` that need no body */
    async requireFitting(
      actor: Actor,
      id: string,
      { offset, length = 0 }: Omit<Addition, 'source'>,
    ): Promise<void> {
      const { size, received } = await getOwn(database, actor, id)
      if (offset + length > size) throw storageErrors.resumableUploadExceeded()
      if (offset !== received) throw storageErrors.resumableUploadOffsetMismatch()
    },

    /**
     * Adds what a request brings, to where it is cut, and makes the object when that was the rest.
     *
     * @throws AppError resumable_upload_offset_mismatch, resumable_upload_locked, resumable_upload_exceeded, …
     */
    async add(actor: Actor, id: string, { offset, length = 0, source }: Addition): Promise<ResumableUpload> {
      const found = await getOwn(database, actor, id)
      if (offset + length > found.size) throw storageErrors.resumableUploadExceeded()
      if (found.state === 'completed' && offset === found.received) {
        for await (const _ of limit(source, 0));
        return found
      }
      return await withLease(database, actor, { id, offset }, async (upload) => {
        const moved = await keepPart(deps, upload, source, uploader.timeoutSeconds)
        return moved.received < moved.size ? moved : await complete(actor, moved)
      })
    },

    /** Ends an upload, also while a request adds to it. An object that it has become stays. */
    async terminate(actor: Actor, id: string): Promise<void> {
      await getOwn(database, actor, id)
      if (!(await queries.deleteUpload(database, actor, id))) {
        throw storageErrors.resumableUploadNotFound()
      }
      reaper.wake()
    },
  }
}
