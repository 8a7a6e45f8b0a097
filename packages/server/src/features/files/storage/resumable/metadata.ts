import { isUtf8 } from 'node:buffer'
import { storageErrors } from '../errors.ts'

const header = 'Upload-Metadata'
const maxLength = 8192
/** Padding is left out by some clients. */
const pairPattern =
  /^([\x21-\x7e]+)(?: ((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?))?$/

/**
 * Parses `Upload-Metadata` (tus 1.0, Creation): pairs of a key and, in Base64, a value, between commas.
 *
 * @throws AppError invalid_upload_header
 */
export function readMetadata(text: string | undefined): ReadonlyMap<string, Buffer> {
  const pairs = new Map<string, Buffer>()
  if (text === undefined || text.trim() === '') return pairs
  if (text.length > maxLength) {
    throw storageErrors.invalidUploadHeader(header, `it must have at most ${maxLength} characters`)
  }
  for (const pair of text.split(',')) {
    const [, key, value = ''] = pairPattern.exec(pair.trim()) ?? []
    if (key === undefined) {
      throw storageErrors.invalidUploadHeader(
        header,
        'expected pairs of a key and a Base64 value between commas',
      )
    }
    if (pairs.has(key)) throw storageErrors.invalidUploadHeader(header, `${key} is there twice`)
    pairs.set(key, Buffer.from(value, 'base64'))
  }
  return pairs
}

/**
 * Returns the value of the first key present, as a text.
 *
 * @throws AppError invalid_upload_header
 */
export function readText(
  metadata: ReadonlyMap<string, Buffer>,
  ...keys: readonly string[]
): string | undefined {
  const key = keys.find((each) => metadata.has(each))
  const value = key === undefined ? undefined : metadata.get(key)
  // Read with replacements, names that differ would become one.
  if (value !== undefined && !isUtf8(value))
    throw storageErrors.invalidUploadHeader(header, `${key} is not UTF-8`)
  return value?.toString()
}
