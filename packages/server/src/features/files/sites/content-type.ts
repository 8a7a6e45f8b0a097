import { typeOfExtension } from '../../../lib/media-types.ts'

/** By the extension, else as the upload says, else plain bytes. */
export function contentTypeOf(path: string, given = ''): string {
  const known = typeOfExtension(path)
  if (known !== undefined) return known
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}(; ?charset=[\w-]{1,30})?$/.test(given)
    ? given
    : 'application/octet-stream'
}
