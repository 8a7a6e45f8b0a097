import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { ByteStore } from '../bytes/store.ts'
import type { Served } from '../download/serve.ts'
import { storageErrors } from '../errors.ts'
import type { StoredObject } from '../objects/object-queries.ts'
import { translateStoreFailure, withStagedBytes } from '../objects/staging.ts'
import type { Transform } from './transform.ts'
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

export interface ImageService {
  /**
   * What is answered instead of an image: made once from its bytes, then from the cache.
   *
   * @returns undefined when the bytes were replaced since the object was read
   * @throws AppError image_processing_failed, images_busy, images_unavailable, storage_unavailable
   */
  serve(
    object: StoredObject,
    transform: Transform,
    isPublic: boolean,
  ): Promise<Pick<Served, 'object' | 'cacheControl'> | undefined>
}

export function createImageService({ database, store, transformer }: ImageDeps): ImageService {
  /** What this node is making, so that many who ask at once wait for the same work. */
  const making = new Map<string, Promise<Variant | undefined>>()

  async function make(source: StoredObject, transform: Transform, parameters: string) {
    if (source.size > maxSourceBytes) throw storageErrors.imageProcessingFailed()
    const bytes = await readWhole(store, source.key)
    if (bytes === undefined) return undefined
    const made = await transformer.transform(bytes, transform)
    return await withStagedBytes({ database, store }, chunksOf(made), storingSeconds, async (staged) => {
      if (await keepVariant(database, source.key, parameters, staged)) return staged
      // Another node has made the same, or the image has ended.
      await staged.discard()
      return await findVariant(database, source.key, parameters)
    })
  }

  async function findOrMake(source: StoredObject, transform: Transform): Promise<Variant | undefined> {
    const parameters = spell(transform)
    const name = `${source.key} ${parameters}`
    const found = making.get(name) ?? (await findVariant(database, source.key, parameters))
    if (found !== undefined) return await found
    const work = making.get(name) ?? make(source, transform, parameters).finally(() => making.delete(name))
    making.set(name, work)
    return await work
  }

  return {
    async serve(object, transform, isPublic) {
      const variant = await findOrMake(object, transform)
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
        cacheControl: isPublic ? 'public, max-age=86400' : 'private, no-cache',
      }
    },
  }
}

/** One spelling for what has the same result. */
function spell({ width, height, fit, crop, quality, format }: Transform): string {
  const cut = fit === 'cover' ? crop : ''
  return [width ?? '', height ?? '', fit, cut, format === 'png' ? '' : quality, format].join(' ')
}

async function readWhole(store: ByteStore, key: string): Promise<Buffer | undefined> {
  try {
    const stream = await store.read(key)
    return stream === undefined ? undefined : await buffer(stream)
  } catch (error) {
    throw translateStoreFailure(error)
  }
}

async function* chunksOf(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes
}
