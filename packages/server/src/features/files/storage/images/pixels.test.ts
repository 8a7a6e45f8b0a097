import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { readPixels } from './pixels.ts'

const image = () => sharp({ create: { width: 123, height: 45, channels: 4, background: 'red' } })

describe('storage › images › the number of pixels', () => {
  test.each([
    ['JPEG', () => image().jpeg()],
    ['a progressive JPEG with metadata', () => image().jpeg({ progressive: true }).withMetadata()],
    ['PNG', () => image().png()],
    ['WebP', () => image().flatten().webp()],
    ['lossless WebP', () => image().flatten().webp({ lossless: true })],
    ['WebP with transparency', () => image().ensureAlpha(0.5).webp()],
  ])('is read from the first bytes of %s', async (_format, make) => {
    expect(readPixels(await make().toBuffer())).toBe(123 * 45)
  })

  test('is unknown of anything else, however it begins', async () => {
    const jpeg = await image().jpeg().toBuffer()
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from('GIF89a'),
      jpeg.subarray(0, 40),
      Buffer.from([0xff, 0xd8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
      Buffer.from('RIFF0000WEBPVP9 00000000000000000000'),
    ]) {
      expect(readPixels(bytes)).toBeUndefined()
    }
  })
})
