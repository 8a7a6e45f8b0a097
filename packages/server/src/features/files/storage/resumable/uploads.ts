import { randomUUID } from 'node:crypto'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { AppError } from '../../../../lib/errors.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { type Actor, nameOf, requireBucket } from '../actor.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import { declaredTypeOf } from '../objects/content-type.ts'
import { asLogin, type Place } from '../objects/object-queries.ts'
import type { ObjectService } from '../objects/objects.ts'
import { translateStoreFailure, withStagedBytes } from '../objects/staging.ts'
import type { Uploader } from '../objects/upload.ts'
import type { Reaper } from '../reaper.ts'
import { limit, startingWith } from './streams.ts'
import type { FoundUpload, Part, ResumableUpload } from './upload-queries.ts'
import * as queries from './upload-queries.ts'

export interface ResumableDeps {
  readonly database: SystemDatabase
  readonly store: ByteStore
  readonly objects: Pick<ObjectService, 'tryCommit' | 'limitsOf' | 'refusalOf'>
  readonly uploader: Uploader
  readonly reaper: Pick<Reaper, 'wake'>
}

export interface NewResumableUpload extends Place {
  readonly size: number
  readonly contentType: string | undefined
  readonly metadata: string | undefined
}

export interface Addition {
  /** Where the client believes the upload to be. */
  readonly offset: number
  /** Of the body; undefined when the request does not say. */
  readonly length: number | undefined
  /** The bytes that come, up to where the request is cut. */
  readonly source: AsyncIterable<Buffer>
}

/** How often a lease is renewed while bytes move: three times before its time is up. */
const renewalMs = 5000
/** That joining the parts may take. */
const joinSeconds = 24 * 60 * 60

export type ResumableService = ReturnType<typeof createResumableService>

/**
 * Uploads that come in several requests, to any node. Each request stores what it brings as a part under a key of its own,
 * durable before the offset moves; the last one joins the parts into an object, as any other upload becomes one.
 */
export function createResumableService({ database, store, objects, uploader, reaper }: ResumableDeps) {
  /** @throws AppError resumable_upload_not_found, resumable_upload_forbidden, resumable_upload_expired */
  async function getOwn(actor: Actor, id: string): Promise<FoundUpload> {
    const upload = isUuid(id) ? await queries.findUpload(database, id) : undefined
    if (upload === undefined) throw storageErrors.resumableUploadNotFound()
    requireBucket(actor, upload.bucket)
    if (upload.actor !== nameOf(actor)) throw storageErrors.resumableUploadForbidden()
    if (upload.is_expired) throw storageErrors.resumableUploadExpired()
    return upload
  }

  /** Runs the work with the lease of the upload, which must have got as far as the offset. */
  async function withLease<Result>(
    actor: Actor,
    { id, offset }: { readonly id: string; readonly offset: number },
    work: (upload: ResumableUpload, lease: string) => Promise<Result>,
  ): Promise<Result> {
    const lease = randomUUID()
    const upload = await queries.leaseUpload(database, { id, actor: nameOf(actor), offset, lease })
    if (upload === undefined) return await refuse(actor, id, offset)
    try {
      return await work(upload, lease)
    } catch (error) {
      if (error instanceof AppError && error.kind === 'resumable_upload_locked') {
        // The lease was lost; the upload may be, too.
        return await refuse(actor, id, offset)
      }
      throw error
    } finally {
      // What does not happen, time does.
      await queries.releaseLease(database, id, lease).catch(() => undefined)
    }
  }

  /** Says why the lease could not be taken, or was lost. */
  async function refuse(actor: Actor, id: string, offset: number): Promise<never> {
    const { is_free: isFree, received } = await getOwn(actor, id)
    throw isFree && received !== offset
      ? storageErrors.resumableUploadOffsetMismatch()
      : storageErrors.resumableUploadLocked()
  }

  /** Passes a stream on, and renews the lease as long as bytes move. */
  async function* renewing(
    source: AsyncIterable<Buffer>,
    id: string,
    lease: string,
  ): AsyncGenerator<Buffer, void, undefined> {
    let renewedAt = performance.now()
    for await (const chunk of source) {
      if (performance.now() - renewedAt > renewalMs) {
        if (!(await queries.renewLease(database, id, lease))) throw storageErrors.resumableUploadLocked()
        renewedAt = performance.now()
      }
      yield chunk
    }
  }

  /** Keeps what a request brings, if it brings anything. */
  async function keepPart(
    actor: Actor,
    upload: ResumableUpload,
    lease: string,
    source: AsyncIterable<Buffer>,
  ): Promise<ResumableUpload> {
    const { id, received: offset } = upload
    const chunks = renewing(limit(source, upload.size - offset), id, lease)
    const first = await chunks.next()
    if (first.done === true) return upload
    return await withStagedBytes(
      { database, store },
      startingWith(first.value, chunks),
      uploader.timeoutSeconds,
      async (part) => {
        const moved = await queries.addPart(database, { id, lease, offset }, part)
        return moved ?? (await refuse(actor, id, offset))
      },
    )
  }

  async function* readParts(parts: readonly Part[]): AsyncIterable<Buffer> {
    for (const { key } of parts) {
      const bytes = await store.read(key)
      if (bytes === undefined) {
        throw storageErrors.storageUnavailable().with({ detail: `no bytes under the key ${key}` })
      }
      yield* bytes
    }
  }

  /** Makes the object of an upload whose bytes are all there. The upload ends in the transaction of the object. */
  async function complete(actor: Actor, upload: ResumableUpload, lease: string): Promise<ResumableUpload> {
    const { id, bucket, name } = upload
    try {
      const parts = await queries.listParts(database, id)
      await uploader.receive(actor, {
        bucket,
        name: async () => name,
        declaredType: upload.content_type ?? undefined,
        source: renewing(readParts(parts), id, lease),
        seconds: joinSeconds,
        completes: asLogin(queries.completeUpload(id, lease)),
      })
    } catch (error) {
      throw translateStoreFailure(error)
    }
    reaper.wake()
    return { ...upload, is_completed: true }
  }

  /** Makes the object if a crash, or a refusal that may have ended since, left it to be made. */
  async function completeIfDue(actor: Actor, upload: ResumableUpload): Promise<ResumableUpload> {
    if (upload.is_completed || upload.received < upload.size) return upload
    return await withLease(actor, { id: upload.id, offset: upload.size }, (leased, lease) =>
      complete(actor, leased, lease),
    )
  }

  return {
    /**
     * Begins an upload; one without bytes is complete at once.
     *
     * @throws AppError bucket_not_found, file_too_large, insufficient_storage_permissions, storage_quota_exceeded,
     *   usage_limit_exceeded
     */
    async create(
      actor: Actor,
      { bucket, name, size, contentType, metadata }: NewResumableUpload,
    ): Promise<ResumableUpload> {
      const limitBytes = await uploader.limitOf(bucket)
      if (size > limitBytes) throw storageErrors.fileTooLarge(limitBytes)
      // The type as declared: what the bytes say is known when they are there, and asked about again.
      await objects.tryCommit(actor, { bucket, name, size, contentType: declaredTypeOf(contentType) })
      const id = randomUUID()
      const upload = {
        id,
        bucket,
        name,
        size,
        content_type: contentType === undefined ? null : declaredTypeOf(contentType),
        metadata: metadata ?? null,
        user_id: actor.userId,
        app_id: actor.appId,
        actor: nameOf(actor),
      }
      await queries.insertUpload(database, upload, objects.limitsOf(actor)).catch((error) => {
        throw objects.refusalOf(error)
      })
      return await completeIfDue(actor, await getOwn(actor, id))
    },

    /** @throws AppError resumable_upload_not_found, resumable_upload_forbidden, resumable_upload_expired, … */
    async find(actor: Actor, id: string): Promise<ResumableUpload> {
      return await completeIfDue(actor, await getOwn(actor, id))
    },

    /** Whether an upload takes so many bytes more at the place. @throws those of `add` that need no body */
    async requireFitting(
      actor: Actor,
      id: string,
      { offset, length = 0 }: Omit<Addition, 'source'>,
    ): Promise<void> {
      const { size, received } = await getOwn(actor, id)
      if (offset + length > size) throw storageErrors.resumableUploadExceeded()
      if (offset !== received) throw storageErrors.resumableUploadOffsetMismatch()
    },

    /**
     * Adds what a request brings, to where it is cut, and makes the object when that was the rest.
     *
     * @throws AppError resumable_upload_offset_mismatch, resumable_upload_locked, resumable_upload_exceeded, …
     */
    async add(actor: Actor, id: string, { offset, length, source }: Addition): Promise<ResumableUpload> {
      const found = await getOwn(actor, id)
      if (offset + (length ?? 0) > found.size) throw storageErrors.resumableUploadExceeded()
      if (found.is_completed && offset === found.received) {
        for await (const _ of limit(source, 0));
        return found
      }
      return await withLease(actor, { id, offset }, async (upload, lease) => {
        const moved = await keepPart(actor, upload, lease, source)
        return moved.received < moved.size ? moved : await complete(actor, moved, lease)
      })
    },

    /** Ends an upload, also while a request adds to it. An object that it has become stays. */
    async terminate(actor: Actor, id: string): Promise<void> {
      await getOwn(actor, id)
      if (!(await queries.deleteUpload(database, id, nameOf(actor))))
        throw storageErrors.resumableUploadNotFound()
      reaper.wake()
    },
  }
}
