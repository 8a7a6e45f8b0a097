import { promisify } from 'node:util'
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
} from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { chooseCoding, type ResponseCoding, refusesIdentity, responseCodings } from './content-coding.ts'
import { codedTag, varyBy } from './entity-tag.ts'

/**
 * Size in bytes from which a response is compressed. Below, compressing costs as much processor time as it saves bytes: a
 * list of 20 short records stays below (docs/decisions, "Compression").
 */
const thresholdBytes = 4096

/** Size in bytes from which the work leaves the event loop. */
const largeBytes = 256 * 1024

/** Base-2 logarithm of the window in bytes. Larger windows cost memory, and its collection, for each response. */
const windowBits = 17

const zstdOptions = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: windowBits },
}
const brotliOptions = {
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 1,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_LGWIN]: windowBits,
  },
}
const gzipOptions = { level: 1 }

interface Compressor {
  readonly small: (text: string) => Buffer
  readonly large: (text: string) => Promise<Buffer>
}

const compressors: Readonly<Record<ResponseCoding, Compressor>> = {
  zstd: {
    small: (text) => zstdCompressSync(text, zstdOptions),
    large: (text) => promisify(zstdCompress)(text, zstdOptions),
  },
  br: {
    small: (text) => brotliCompressSync(text, brotliOptions),
    large: (text) => promisify(brotliCompress)(text, brotliOptions),
  },
  gzip: {
    small: (text) => gzipSync(text, gzipOptions),
    large: (text) => promisify(gzip)(text, gzipOptions),
  },
}

const textType = /^(text\/(?!event-stream)|application\/([\w.-]+\+)?(json|xml|yaml|javascript))/

/**
 * Compresses texts that are longer than the threshold. Files, streams and ranges are sent as they are.
 *
 * A text with a secret and a value of the request must not be compressed, because its length would reveal whether they are
 * alike (the attack BREACH). So only the data API, reads of administrators and the documents of the API are compressed, and
 * no sign-in, token or page with a form.
 */
export function addCompression(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload !== 'string' || !mayCompress(request, reply)) {
      done(null, payload)
      return
    }
    varyBy(reply, 'Accept-Encoding')
    const { method, headers } = request
    const accepted = headers['accept-encoding']
    const isLong = payload.length >= thresholdBytes || refusesIdentity(accepted)
    const coding = isLong && method !== 'HEAD' ? chooseCoding(accepted, responseCodings) : undefined
    if (coding === undefined) {
      done(null, payload)
      return
    }
    const send = (body: Buffer) => {
      markCoded(reply, coding)
      done(null, body)
    }
    const { small, large } = compressors[coding]
    if (payload.length < largeBytes) send(small(payload))
    else large(payload).then(send, done)
  })
}

function markCoded(reply: FastifyReply, coding: ResponseCoding): void {
  void reply.header('content-encoding', coding).removeHeader('content-length')
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string') void reply.header('etag', codedTag(tag, coding))
}

function mayCompress({ method, routeOptions, is404 }: FastifyRequest, reply: FastifyReply): boolean {
  const { guard, operation = '' } = routeOptions.config
  if (is404 || reply.statusCode === 304 || reply.statusCode === 206) return false
  const isRead = method === 'GET' || method === 'HEAD'
  const isDocument = operation.startsWith('reference.') || operation.startsWith('metrics.')
  if (guard !== 'data' && !(isRead && (guard === 'admin' || isDocument))) return false
  if (reply.getHeader('content-encoding') !== undefined) return false
  if (String(reply.getHeader('cache-control')).includes('no-transform')) return false
  return textType.test(String(reply.getHeader('content-type')))
}
