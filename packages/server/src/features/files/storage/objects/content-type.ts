import { typeOfExtension } from '../../../../lib/media-types.ts'

/** Bytes from the start of a file that its type is read from. */
export const sniffedBytes = 512

interface Signature {
  readonly type: string
  readonly offset: number
  readonly bytes: Buffer
  /** Beginning of the file, if the signature's bytes are further on. */
  readonly first?: Buffer
}

const at = (offset: number, type: string, bytes: string): Signature => ({
  type,
  offset,
  bytes: Buffer.from(bytes, 'latin1'),
})

/** Returns the signature of a file in the container RIFF. The container names its content from the ninth byte on. */
const riff = (type: string, bytes: string): Signature => ({
  ...at(8, type, bytes),
  first: Buffer.from('RIFF'),
})

/** Beginnings of the files of a type (WHATWG, MIME Sniffing §6, and the formats' own specifications). */
const signatures: readonly Signature[] = [
  at(0, 'image/png', '\x89PNG\r\n\x1a\n'),
  at(0, 'image/jpeg', '\xff\xd8\xff'),
  at(0, 'image/gif', 'GIF87a'),
  at(0, 'image/gif', 'GIF89a'),
  riff('image/webp', 'WEBPVP'),
  at(4, 'image/avif', 'ftypavif'),
  at(4, 'image/avif', 'ftypavis'),
  at(4, 'image/heic', 'ftypheic'),
  at(4, 'image/heic', 'ftypmif1'),
  at(0, 'image/x-icon', '\x00\x00\x01\x00'),
  at(0, 'image/tiff', 'II*\x00'),
  at(0, 'image/tiff', 'MM\x00*'),
  at(4, 'video/quicktime', 'ftypqt  '),
  at(4, 'audio/mp4', 'ftypM4A '),
  at(4, 'video/mp4', 'ftyp'),
  at(0, 'video/webm', '\x1a\x45\xdf\xa3'),
  at(0, 'audio/mpeg', 'ID3'),
  at(0, 'audio/mpeg', '\xff\xfb'),
  at(0, 'audio/ogg', 'OggS'),
  at(0, 'audio/flac', 'fLaC'),
  riff('audio/wav', 'WAVE'),
  riff('video/x-msvideo', 'AVI '),
  at(0, 'application/pdf', '%PDF-'),
  at(0, 'application/zip', 'PK\x03\x04'),
  at(0, 'application/gzip', '\x1f\x8b\x08'),
  at(0, 'application/zstd', '\x28\xb5\x2f\xfd'),
  at(0, 'application/wasm', '\x00asm'),
  at(0, 'font/woff', 'wOFF'),
  at(0, 'font/woff2', 'wOF2'),
]

/** Types whose files begin in more ways than the table knows, or share a container with others. */
const families: Readonly<Record<string, RegExp>> = {
  'application/zip':
    /^application\/(zip|epub\+zip|java-archive|vnd\.(openxmlformats-officedocument|oasis\.opendocument)\.[\w.-]+)$/,
  'application/gzip': /^application\/(gzip|x-gzip|x-tar|x-gtar)$/,
  'audio/ogg': /^(audio|video|application)\/ogg$/,
  'video/webm': /^((video|audio)\/webm|(video|audio)\/x-matroska)$/,
  'video/mp4': /^(video|audio)\/(mp4|x-m4v|3gpp|3gpp2)$/,
  'audio/wav': /^audio\/(wav|x-wav|wave|vnd\.wave)$/,
}

const fallback = 'application/octet-stream'

/** Media types by their essence: a charset is all that is kept of the parameters. */
const mediaType =
  /^([a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126})\s*(?:;\s*charset=("?)([\w.:-]{1,40})\2\s*)?(?:;|$)/i

/**
 * Returns the type of a file. Its bytes decide. If they say nothing, the client's type counts. If the client sent none, the
 * extension of the name counts. A file does not become an image because the client calls it one.
 */
export function contentTypeOf(head: Buffer, declared: string | undefined, name = ''): string {
  const { essence, full } = readMediaType(declared, name)
  const found = findSignature(head)
  if (found !== undefined) return families[found]?.test(essence) ? essence : found
  return signatures.some(({ type }) => type === essence) ? fallback : full
}

/** Returns the client's type, as it is stored when the bytes say nothing else. */
export function declaredTypeOf(declared: string | undefined, name: string): string {
  return readMediaType(declared, name).full
}

/** Default type that clients such as `curl --data-binary` send with bytes. A form is no file. */
const formType = /^application\/x-www-form-urlencoded\s*(;|$)/i

/** Returns the type as it is stored: in small letters, with its charset. */
function readMediaType(declared = '', name = ''): { readonly essence: string; readonly full: string } {
  const text = declared.trim()
  const given = text === '' || formType.test(text) ? (typeOfExtension(name) ?? fallback) : text
  const [, essence = fallback, , charset] = mediaType.exec(given) ?? []
  const small = essence.toLowerCase()
  return {
    essence: small,
    full: charset === undefined ? small : `${small}; charset=${charset.toLowerCase()}`,
  }
}

function findSignature(head: Buffer): string | undefined {
  const has = (offset: number, bytes: Buffer) => head.subarray(offset, offset + bytes.length).equals(bytes)
  return signatures.find(({ offset, bytes, first }) => has(offset, bytes) && (!first || has(0, first)))?.type
}

/** Returns true if a list such as `image/*`, `text/plain` has the type. */
export function allowsType(allowed: readonly string[], type: string): boolean {
  const [essence = ''] = type.split(';')
  return allowed.some((each) =>
    each.endsWith('/*') ? essence.startsWith(each.slice(0, -1)) : each === essence,
  )
}
