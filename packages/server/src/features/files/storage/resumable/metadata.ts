import { storageErrors } from '../errors.ts'

const header = 'Upload-Metadata'
const maxLength = 8192

/**
 * `Upload-Metadata` (tus 1.0, Creation): pairs of a key and, in Base64, a value, between commas.
 *
 * @throws AppError invalid_upload_header
 */
export function readMetadata(text: string | undefined): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>()
  if (text === undefined || text.trim() === '') return pairs
  if (text.length > maxLength) {
    throw storageErrors.invalidUploadHeader(header, `it must have at most ${maxLength} characters`)
  }
  for (const pair of text.split(',')) {
    const [, key, value = ''] = /^([\x21-\x7e]+)(?: ([A-Za-z0-9+/]*={0,2}))?$/.exec(pair.trim()) ?? []
    if (key === undefined) {
      throw storageErrors.invalidUploadHeader(
        header,
        'expected pairs of a key and a Base64 value between commas',
      )
    }
    if (pairs.has(key)) throw storageErrors.invalidUploadHeader(header, `${key} is there twice`)
    pairs.set(key, Buffer.from(value, 'base64').toString('utf8'))
  }
  return pairs
}
