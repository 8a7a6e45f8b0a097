import type { FastifyReply, FastifyRequest } from 'fastify'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { contentDisposition, isSafeInline } from '../../../../http/responses/disposition.ts'
import { selectPart } from '../../../../http/responses/partial-content.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import type { StoredObject } from '../objects/object-queries.ts'
import { translateStoreFailure } from '../objects/staging.ts'

/** Content security policy of a page made of an object: the page may show it, and do nothing else. */
const sandbox =
  "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; sandbox"

export interface Served {
  readonly object: StoredObject
  readonly cacheControl: string
  /** `download` of the query: a file name, or empty for the object's own; undefined: as is safe. */
  readonly download: string | undefined
}

/**
 * Responds with an object: conditions (RFC 9110 §13), one range (§14), and headers that keep a browser from running it. A
 * strong tag names one version of the bytes, so that a range never joins two.
 *
 * @returns false when the bytes were replaced since the object was read: nothing is sent
 * @throws AppError worker_refused, precondition_failed, range_not_satisfiable, storage_unavailable
 */
export async function serveObject(
  store: ByteStore,
  { object, cacheControl, download }: Served,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  // Sent by browsers that register one (Service Workers, "Service-Worker" header): the response's policy does not stop it.
  if (request.headers['service-worker'] !== undefined) throw storageErrors.workerRefused()
  const tag = `"${object.etag}"`
  // Whole seconds: the header has no more.
  const modifiedAt = Math.floor(Date.parse(object.updatedAt) / 1000)
  const part = selectPart(request, { tag, size: object.size, modifiedAt })
  if (part === 'failed') throw httpErrors.preconditionFailed()
  if (part === 'unsatisfiable') {
    throw storageErrors.rangeNotSatisfiable().with({
      headers: {
        'accept-ranges': 'bytes',
        'content-range': `bytes */${object.size}`,
        'cache-control': 'no-store',
      },
    })
  }
  reply.headers({
    etag: tag,
    'last-modified': new Date(modifiedAt * 1000).toUTCString(),
    'cache-control': cacheControl,
    'accept-ranges': 'bytes',
  })
  // A reply is a thenable: returned from here it would be awaited, and resolve to undefined.
  if (part === 'known') {
    void reply.code(304).send()
    return true
  }

  const { start, end } = part ?? { start: 0, end: object.size - 1 }
  reply.headers(headersOf(object, download))
  reply.header('content-length', end - start + 1)
  if (request.method === 'HEAD') {
    void reply.send()
    return true
  }
  const bytes = await store
    .read(object.key, object.size === 0 ? undefined : { start, end })
    .catch((error) => {
      throw translateStoreFailure(error)
    })
  if (bytes === undefined) return false
  if (part !== undefined) reply.code(206).header('content-range', `bytes ${start}-${end}/${object.size}`)
  void reply.send(bytes)
  return true
}

/** Returns the headers for the type, the name and the permitted use in a browser. */
export function headersOf(
  { contentType, name }: Pick<StoredObject, 'contentType' | 'name'>,
  download?: string,
): Readonly<Record<string, string>> {
  const kind = download === undefined && isSafeInline(contentType) ? 'inline' : 'attachment'
  const fileName = download || (name.split('/').at(-1) ?? name)
  return {
    'content-type': contentType,
    'content-disposition': contentDisposition(kind, fileName),
    'content-security-policy': sandbox,
  }
}
