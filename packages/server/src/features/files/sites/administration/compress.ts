import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const toBrotli = promisify(brotliCompress)
const toGzip = promisify(gzip)

/** Less gains nothing; more would hold a thread for seconds. */
const sizes = { least: 256, most: 8 * 1024 * 1024 }
/** Of the size that compressing must save. */
const saving = 0.05

const compressible =
  /^(text\/|image\/svg|application\/(json|javascript|manifest\+json|xml|wasm)|font\/(otf|ttf))/

/** What is sent to clients that accept it; null where it is not smaller. */
export interface Compressed {
  readonly brotli: Buffer | null
  readonly gzip: Buffer | null
}

/** Made once, when the file comes: well, rather than fast. */
export async function compress(bytes: Buffer, contentType: string): Promise<Compressed> {
  const isFit = bytes.length >= sizes.least && bytes.length <= sizes.most && compressible.test(contentType)
  if (!isFit) return { brotli: null, gzip: null }
  const [brotli, zipped] = await Promise.all([
    toBrotli(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
    toGzip(bytes, { level: 9 }),
  ])
  const smaller = (made: Buffer) => (made.length <= bytes.length * (1 - saving) ? made : null)
  return { brotli: smaller(brotli), gzip: smaller(zipped) }
}
