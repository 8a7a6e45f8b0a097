import { typeOfExtension } from '../../../lib/media-types.ts'

/** Other extensions that builds have, or that scanners ask for. */
const otherExtension = /\.(aac|apk|bmp|cjs|eot|gz|jsx|jxl|mov|php|tsx?|wav|zip)$/i

/** Returns whether the path ends as that of a file does, unlike `/user/john.doe`. */
export function hasFileExtension(path: string): boolean {
  return typeOfExtension(path) !== undefined || otherExtension.test(path)
}

/** Returns the type by the extension, else the one of the upload, else that of plain bytes. */
export function contentTypeOf(path: string, given = ''): string {
  const known = typeOfExtension(path)
  if (known !== undefined) return known
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}(; ?charset=[\w-]{1,30})?$/.test(given)
    ? given
    : 'application/octet-stream'
}
