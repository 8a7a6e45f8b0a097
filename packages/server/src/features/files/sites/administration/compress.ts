import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const toBrotli = promisify(brotliCompress)
const toGzip = promisify(gzip)

/** Size limits in bytes. Smaller files gain nothing; larger ones would occupy a thread for seconds. */
const sizes = { least: 256, most: 8 * 1024 * 1024 }
/** Minimum saving, as a share of the size. */
const saving = 0.05

const compressible =
  /^(text\/|image\/svg|application\/(json|javascript|manifest\+json|xml|wasm)|font\/(otf|ttf))/

/** Encodings of a file for clients that accept them. Null if an encoding is not smaller. */
export interface Encodings {
  readonly brotli: Buffer | null
  readonly gzip: Buffer | null
}

/** Compresses a file once, at upload. The levels favor size over speed. */
export async function compress(bytes: Buffer, contentType: string): Promise<Encodings> {
  const isFit = bytes.length >= sizes.least && bytes.length <= sizes.most && compressible.test(contentType)
  if (!isFit) return { brotli: null, gzip: null }
  const [brotli, zipped] = await Promise.all([
    toBrotli(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
    toGzip(bytes, { level: 9 }),
  ])
  const smaller = (encoded: Buffer) => (encoded.length <= bytes.length * (1 - saving) ? encoded : null)
  return { brotli: smaller(brotli), gzip: smaller(zipped) }
}
