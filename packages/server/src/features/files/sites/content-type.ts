import { typeOfExtension } from '../../../lib/media-types.ts'

/** Other file extensions of builds, or of requests by scanners. */
const otherExtension = /\.(aac|apk|bmp|cjs|eot|gz|jsx|jxl|mov|php|tsx?|wav|zip)$/i

/** Returns whether the path has a file extension, unlike `/user/john.doe`. */
export function hasFileExtension(path: string): boolean {
  return typeOfExtension(path) !== undefined || otherExtension.test(path)
}

/** Returns the content type for the extension, else the type sent with the upload, else `application/octet-stream`. */
export function contentTypeOf(path: string, uploadType = ''): string {
  const known = typeOfExtension(path)
  if (known !== undefined) return known
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}(; ?charset=[\w-]{1,30})?$/.test(uploadType)
    ? uploadType
    : 'application/octet-stream'
}
