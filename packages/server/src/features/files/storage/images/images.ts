import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { ByteSpan, ByteStore } from '../bytes/store.ts'
import type { Served } from '../download/serve.ts'
import { storageErrors } from '../errors.ts'
import type { StoredObject } from '../objects/object-queries.ts'
import { translateStoreFailure, withStagedBytes } from '../objects/staging.ts'
import { headBytes, readPixels } from './pixels.ts'
import { maxPixels } from './protocol.ts'
import type { Transform } from './transform.ts'
import type { QueuedTransform } from './transform-queue.ts'
import type { Transformer } from './transformer.ts'
import { findVariant, keepVariant, type Variant } from './variant-queries.ts'

/** Larger files are not read into memory. */
const maxSourceBytes = 50 * 1024 * 1024
/** Seconds that the bytes of a variant may take to be stored. */
const storingSeconds = 60

export interface ImageDeps {
  readonly database: SystemDatabase
  readonly store: ByteStore
  readonly transformer: Transformer
}

/** Client that requests an image. */
export interface ImageClient {
  /** The user, or without one the address. */
  readonly caller: string
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** True if everybody may read the object. */
  readonly isPublic: boolean
}

/** A variant that is being made. */
interface Making {
  readonly variant: Promise<Variant | undefined>
  readonly callers: Set<string>
  /** Clients that wait for it. */
  clients: number
  /** Aborted when there is none any more. */
  readonly abandoned: AbortController
}

export interface ImageService {
  /**
   * Returns the variant to serve instead of an image: made once from its bytes, then read from the cache.
   *
   * @returns undefined when the bytes were replaced since the object was read
   * @throws AppError image_processing_failed, images_busy, images_unavailable, storage_unavailable
   */
  serve(
    object: StoredObject,
    transform: Transform,
    client: ImageClient,
  ): Promise<Pick<Served, 'object' | 'cacheControl'> | undefined>
}

export function createImageService({ database, store, transformer }: ImageDeps): ImageService {
  /** Transforms that this node is making, so that concurrent requests wait for the same work. */
  const making = new Map<string, Making>()

  async function make(
    source: StoredObject,
    transform: Transform,
    parameters: string,
    clients: Pick<QueuedTransform, 'callers' | 'signal'>,
  ) {
    if (source.size > maxSourceBytes || source.size === 0) throw storageErrors.imageProcessingFailed()
    const head = await readBytes(store, source.key, { start: 0, end: Math.min(source.size, headBytes) - 1 })
    if (head === undefined) return undefined
    const pixels = readPixels(head) ?? maxPixels
    if (pixels > maxPixels) throw storageErrors.imageProcessingFailed()
    const made = await transformer.transform(
      { ...clients, object: source.key, pixels },
      () => readBytes(store, source.key),
      transform,
    )
    if (made === undefined) return undefined
    return await withStagedBytes({ database, store }, chunksOf(made), storingSeconds, async (staged) => {
      if (await keepVariant(database, source.key, parameters, staged)) return staged
      // Another node has made the same, or the image has ended.
      await staged.discard()
      return await findVariant(database, source.key, parameters)
    })
  }

  async function findOrMake(
    source: StoredObject,
    transform: Transform,
    client: ImageClient,
  ): Promise<Variant | undefined> {
    const parameters = spell(transform)
    const name = `${source.key} ${parameters}`
    const found = making.has(name) ? undefined : await findVariant(database, source.key, parameters)
    if (found !== undefined) return found
    const work = making.get(name) ?? begin(name, source, transform, parameters)
    return await join(name, work, client)
  }

  function begin(name: string, source: StoredObject, transform: Transform, parameters: string): Making {
    const abandoned = new AbortController()
    const callers = new Set<string>()
    const work: Making = {
      callers,
      clients: 0,
      abandoned,
      // The first client is one of the callers before anything is read.
      variant: make(source, transform, parameters, { callers, signal: abandoned.signal }).finally(() => {
        if (making.get(name) === work) making.delete(name)
      }),
    }
    making.set(name, work)
    return work
  }

  /** Waits for what is made. What no client waits for any more, and has not begun, is not made. */
  async function join(name: string, work: Making, { caller, signal }: ImageClient) {
    work.callers.add(caller)
    work.clients += 1
    const leave = () => {
      work.clients -= 1
      if (work.clients > 0) return
      // A later client starts the work again.
      if (making.get(name) === work) making.delete(name)
      work.abandoned.abort()
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave)
    try {
      return await work.variant
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  return {
    async serve(object, transform, client) {
      const variant = await findOrMake(object, transform, client)
      if (variant === undefined) return undefined
      const { format } = transform
      return {
        object: {
          ...object,
          ...variant,
          name: object.name.replace(/(\.\w{1,5})?$/, `.${format === 'jpeg' ? 'jpg' : format}`),
          contentType: `image/${format}`,
          etag: createHash('sha256').update(variant.key).digest('hex').slice(0, 32),
        },
        cacheControl: client.isPublic ? 'public, max-age=86400' : 'private, no-cache',
      }
    },
  }
}

/** Returns one spelling for all transforms with the same result. */
function spell({ width, height, fit, crop, quality, format }: Transform): string {
  const cut = fit === 'cover' ? crop : ''
  return [width ?? '', height ?? '', fit, cut, format === 'png' ? '' : quality, format].join(' ')
}

async function readBytes(store: ByteStore, key: string, span?: ByteSpan): Promise<Buffer | undefined> {
  try {
    const stream = await store.read(key, span)
    return stream === undefined ? undefined : await buffer(stream)
  } catch (error) {
    throw translateStoreFailure(error)
  }
}

async function* chunksOf(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes
}
