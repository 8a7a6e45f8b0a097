import sharp from 'sharp'
import { type ImageRequest, type ImageResult, maxPixels } from './protocol.ts'

// Decodes and encodes images apart from the server: a broken or malicious file ends this process at worst. It holds no
// secret and knows no user.

/** Effort of AVIF encoding: four megapixels of noise take a tenth of the time of sharp's default, 4, and are no larger. */
const effort = 2

// The type of the file was read from its first bytes. A drawing that begins like an image is not opened: it can refer to other
// files and take any time.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
})
// The server caches the results. A cache here would only make the memory of this process grow.
sharp.cache(false)
sharp.concurrency(1)

process.on('message', async ({ id, bytes, transform }: ImageRequest) => {
  process.send?.(await make(id, bytes, transform))
})

async function make(
  id: number,
  bytes: Uint8Array,
  transform: ImageRequest['transform'],
): Promise<ImageResult> {
  const { width, height, fit, crop, quality, format } = transform
  try {
    const image = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', sequentialRead: true })
    const made = await image
      // Rotates the image as the camera was held. All other metadata of the camera, its location included, is left out.
      .autoOrient()
      .resize({
        ...(width === undefined ? {} : { width }),
        ...(height === undefined ? {} : { height }),
        fit: fit === 'contain' ? 'inside' : fit,
        position: crop === 'smart' ? sharp.strategy.attention : 'centre',
        withoutEnlargement: true,
      })
      .toFormat(format, format === 'png' ? {} : { quality, ...(format === 'avif' ? { effort } : {}) })
      .toBuffer()
    return { id, bytes: made }
  } catch {
    return { id }
  }
}
