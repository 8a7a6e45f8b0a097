import sharp from 'sharp'
import { type ImageRequest, type ImageResult, maxPixels } from './protocol.ts'

// Decodes and encodes images apart from the server: a broken or malicious file ends this process at worst. It holds no
// secret and knows no user.

/** Of AVIF: four megapixels of noise take a tenth of the time of sharp's default, 4, and are no larger. */
const effort = 2

// What the file is was read from its first bytes: one that begins like an image and is a drawing, which can refer to other files
// and take any time, is not opened.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
})
// What is made is cached by the server, and memory is not to grow with the images that passed.
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
      // As the camera was held; what else it noted, the place included, is left out.
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
