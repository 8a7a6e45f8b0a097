import { type Answered, checkedByHandler, olderName } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { storageErrors } from '../errors.ts'

/** Transform of an image. Nothing is enlarged. */
export interface Transform {
  /** Width in pixels. At least one of width and height is set. */
  readonly width: number | undefined
  readonly height: number | undefined
  /** contain: within the box; cover: filling it, cropped; fill: stretched to it. */
  readonly fit: 'contain' | 'cover' | 'fill'
  /** Area kept by cover: the middle, or the part that draws the eye. */
  readonly crop: 'center' | 'smart'
  readonly quality: number
  readonly format: ImageFormat
}

const maxSide = 4096
const fits = ['contain', 'cover', 'fill'] as const
const crops = ['center', 'smart'] as const
const formats = ['jpeg', 'png', 'webp', 'avif'] as const

const side = { type: 'integer', minimum: 1, maximum: maxSide }

/** Download parameters that request a transform. */
export const transformQuery = {
  w: Type.Optional(checkedByHandler(side, Type.String({ description: 'Width of an image in pixels.' }))),
  h: Type.Optional(checkedByHandler(side, Type.String({ description: 'Height of an image in pixels.' }))),
  fit: Type.Optional(
    checkedByHandler(
      { enum: fits },
      Type.String({ description: '`contain`: within the box. `cover`: filling it. `fill`: stretched.' }),
    ),
  ),
  crop: Type.Optional(
    checkedByHandler({ enum: crops }, Type.String({ description: 'Part of the image that `cover` keeps.' })),
  ),
  q: Type.Optional(
    checkedByHandler(
      { type: 'integer', minimum: 1, maximum: 100 },
      Type.String({ description: 'Quality. Default: 80, and 50 for AVIF.' }),
    ),
  ),
  format: Type.Optional(
    checkedByHandler(
      { enum: [...formats, 'jpg', 'auto'] },
      Type.String({ description: "`auto`: by `Accept`. Default: the object's own." }),
    ),
  ),
  fmt: olderName(Type.String()),
}
export type ImageFormat = (typeof formats)[number]
type TransformQuery = Answered<ReturnType<typeof Type.Object<typeof transformQuery>>>

/** Types of objects that images are made from. */
const sources: ReadonlyMap<string, ImageFormat> = new Map([
  ['image/jpeg', 'jpeg'],
  ['image/png', 'png'],
  ['image/webp', 'webp'],
])

/**
 * Returns the transform that a query requests, undefined when it requests none.
 *
 * @param contentType of the object
 * @param accept the header, which `format=auto` chooses by
 * @throws AppError invalid_transform, unsupported_image
 */
export function readTransform(
  query: TransformQuery,
  contentType: string,
  accept: string | undefined,
): Transform | undefined {
  const { w, h, fit, crop, q, fmt, format = fmt } = query
  if ([w, h, fit, crop, q, format].every((value) => value === undefined)) return undefined
  const width = readSide(w, 'width')
  const height = readSide(h, 'height')
  if (width === undefined && height === undefined) {
    throw storageErrors.invalidTransform('w or h parameter is required for image transforms')
  }
  const source = sources.get(contentType)
  const target = readFormat(format, source, accept)
  const transform = {
    width,
    height,
    fit: readChoice(fit, fits, 'unsupported fit mode (use contain, cover, or fill)'),
    crop: readChoice(crop, crops, 'unsupported crop mode (use center or smart)'),
    quality: readQuality(q, target),
    format: target,
  }
  if (source === undefined) throw storageErrors.unsupportedImage()
  return transform
}

/** Checks whether the response depends on the header `Accept`. */
export function isNegotiated({ fmt, format = fmt }: TransformQuery): boolean {
  return format === 'auto'
}

function readSide(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  const pixels = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (pixels < 1 || pixels > maxSide) throw storageErrors.invalidTransform(`invalid ${name} parameter`)
  return pixels
}

function readQuality(text: string | undefined, format: ImageFormat): number {
  if (text === undefined) return format === 'avif' ? 50 : 80
  const quality = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (quality < 1 || quality > 100) throw storageErrors.invalidTransform('quality must be 1-100')
  return quality
}

/** Returns the format. `auto` selects WebP for clients that accept it. AVIF takes too much time to be a default. */
function readFormat(
  text: string | undefined,
  source: ImageFormat | undefined,
  accept: string | undefined,
): ImageFormat {
  if (text === 'auto') return takesWebp(accept) ? 'webp' : (source ?? 'jpeg')
  if (text === 'jpg') return 'jpeg'
  return readChoice(text ?? source, formats, 'unsupported format (use jpeg, png, webp, or avif)')
}

/** Checks whether the client accepts WebP by name (RFC 9110 §12.5.1). Clients without WebP support send a wildcard, too. */
function takesWebp(accept = ''): boolean {
  return accept
    .split(',')
    .some((range) => /^\s*image\/webp\s*(?:;|$)/i.test(range) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(range))
}

/** Returns the requested choice, by default the first. */
function readChoice<const Choice extends string>(
  text: string | undefined,
  choices: readonly [Choice, ...Choice[]],
  problem: string,
): Choice {
  const chosen = text === undefined ? choices[0] : choices.find((choice) => choice === text)
  if (chosen === undefined) throw storageErrors.invalidTransform(problem)
  return chosen
}
