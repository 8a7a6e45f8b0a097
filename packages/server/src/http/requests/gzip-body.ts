import { PassThrough, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { httpErrors } from '../errors/errors.ts'

/** Body whose encoded bytes are counted, which the parser compares with `Content-Length`. */
interface DecodedBody extends PassThrough {
  receivedEncodedLength: number
}

/**
 * Returns the body as it was before gzip. The parser stops reading at the size limit, so a body that expands beyond it is
 * never unpacked. Blocks can also be empty without end, so the encoded body has the same limit.
 *
 * @param limit in bytes
 * @throws AppError invalid_gzip_body and body_too_large, by the stream
 */
export function decodeGzip(payload: Readable, limit: number): Readable {
  const gunzip = createGunzip()
  const body: DecodedBody = Object.assign(new PassThrough(), { receivedEncodedLength: 0 })
  // The parser gets its error. Without a parser, the error must not end the process.
  body.on('error', () => undefined)
  payload.on('data', (chunk: Buffer) => {
    body.receivedEncodedLength += chunk.length
    if (body.receivedEncodedLength > limit) body.destroy(httpErrors.bodyTooLarge(limit))
  })
  payload.once('error', (error) => body.destroy(error))
  gunzip.once('error', () => body.destroy(httpErrors.invalidGzipBody()))
  body.once('close', () => {
    payload.unpipe(gunzip)
    gunzip.destroy()
    payload.resume()
  })
  payload.pipe(gunzip).pipe(body)
  return body
}
