/** Content types that a browser shows without running scripts of them. PDF and SVG may contain scripts. */
const safeInline =
  /^(image\/(png|jpeg|gif|webp|avif|bmp|x-icon)|(audio|video)\/[\w.+-]+|text\/plain|font\/woff2?)(;|$)/

/** Returns true if a browser may show the content in a page of its own. */
export function isSafeInline(contentType: string): boolean {
  return safeInline.test(contentType)
}

/**
 * Formats `Content-Disposition` (RFC 6266). It has the file name in ASCII for old clients, and in full (RFC
 * 8187) where that differs.
 *
 * @param fileName last segment of the object's name, or the name that the client prefers
 */
export function contentDisposition(kind: 'inline' | 'attachment', fileName: string): string {
  const ascii = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const parameter = `${kind}; filename="${ascii}"`
  return ascii === fileName ? parameter : `${parameter}; filename*=UTF-8''${encodeExtended(fileName)}`
}

/**
 * Encodes the value of an extended parameter, which allows fewer characters than `encodeURIComponent` leaves
 * (RFC 8187 §3.2.1).
 */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
