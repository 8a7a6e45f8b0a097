import type { FastifyReply, FastifyRequest } from 'fastify'
import { contentDisposition, isSafeInline } from '../../../../http/responses/disposition.ts'
import {
  matchesStrongTag,
  matchesTag,
  readHttpDate,
  readRange,
} from '../../../../http/responses/partial-content.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import type { StoredObject } from '../objects/object-queries.ts'
import { translateStoreFailure } from '../objects/staging.ts'

/** What a page made of an object may do: show it, and nothing else. */
const sandbox =
  "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; sandbox"

export interface Served {
  readonly object: StoredObject
  readonly cacheControl: string
  /** `download` of the query: a file name, or empty for the object's own; undefined: as is safe. */
  readonly download: string | undefined
}

/**
 * Answers an object: conditions (RFC 9110 §13), one range (§14), and what keeps a browser from running it. A strong tag names
 * one version of the bytes, so that a range never joins two.
 *
 * @returns false when the bytes were replaced since the object was read: nothing is answered
 * @throws AppError worker_refused, precondition_failed, range_not_satisfiable, storage_unavailable
 */
export async function serveObject(
  store: ByteStore,
  { object, cacheControl, download }: Served,
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  // Sent by browsers that register one (Service Workers, "Service-Worker" header): the policy of the answer does not stop it.
  if (headers['service-worker'] !== undefined) throw storageErrors.workerRefused()
  const tag = `"${object.etag}"`
  // Whole seconds: the header has no more.
  const modified = Math.floor(Date.parse(object.updatedAt) / 1000)
  if (headers['if-match'] !== undefined && !matchesStrongTag(headers['if-match'], tag)) {
    throw storageErrors.preconditionFailed()
  }
  if (headers['if-match'] === undefined && isBefore(headers['if-unmodified-since'], modified)) {
    throw storageErrors.preconditionFailed()
  }
  const isKnown =
    headers['if-none-match'] === undefined
      ? isNotBefore(headers['if-modified-since'], modified)
      : matchesTag(headers['if-none-match'], tag)
  reply.headers({
    etag: tag,
    'last-modified': new Date(modified * 1000).toUTCString(),
    'cache-control': cacheControl,
    'accept-ranges': 'bytes',
  })
  // A reply is a thenable: returned from here it would be awaited, and resolve to undefined.
  if (isKnown) {
    void reply.code(304).send()
    return true
  }

  const isCurrent = headers['if-range'] === undefined || headers['if-range'] === tag
  const range = isCurrent && method === 'GET' ? readRange(headers.range, object.size) : undefined
  if (range === null) {
    for (const name of ['etag', 'last-modified', 'cache-control']) reply.removeHeader(name)
    throw storageErrors.rangeNotSatisfiable().with({
      headers: { 'content-range': `bytes */${object.size}`, 'cache-control': 'no-store' },
    })
  }
  const { start, end } = range ?? { start: 0, end: object.size - 1 }
  describe(reply, object, download)
  reply.header('content-length', end - start + 1)
  if (method === 'HEAD') {
    void reply.send()
    return true
  }
  const bytes = await store
    .read(object.key, object.size === 0 ? undefined : { start, end })
    .catch((error) => {
      throw translateStoreFailure(error)
    })
  if (bytes === undefined) return false
  if (range !== undefined) reply.code(206).header('content-range', `bytes ${start}-${end}/${object.size}`)
  void reply.send(bytes)
  return true
}

/** Type, name, and what a browser may do with it. */
function describe(
  reply: FastifyReply,
  { contentType, name }: StoredObject,
  download: string | undefined,
): void {
  const kind = download === undefined && isSafeInline(contentType) ? 'inline' : 'attachment'
  const fileName = download || (name.split('/').at(-1) ?? name)
  reply.headers({
    'content-type': contentType,
    'content-disposition': contentDisposition(kind, fileName),
    'content-security-policy': sandbox,
  })
}

/** Whether the date of a header is one, and before the time. */
function isBefore(header: string | undefined, seconds: number): boolean {
  const date = readHttpDate(header)
  return date !== undefined && date < seconds
}

function isNotBefore(header: string | undefined, seconds: number): boolean {
  const date = readHttpDate(header)
  return date !== undefined && date >= seconds
}
