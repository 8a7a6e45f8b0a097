/** Types that a browser shows without running anything of them. PDF and SVG may hold scripts. */
const safeInline =
  /^(image\/(png|jpeg|gif|webp|avif|bmp|x-icon)|(audio|video)\/[\w.+-]+|text\/plain|font\/woff2?)(;|$)/

/** Whether a browser may show it in a page of its own. */
export function isSafeInline(contentType: string): boolean {
  return safeInline.test(contentType)
}

/**
 * `Content-Disposition` (RFC 6266): the file name in ASCII for old clients, and as it is (RFC 8187) where that differs.
 *
 * @param fileName the last segment of the object's name, or what the client would rather have
 */
export function contentDisposition(kind: 'inline' | 'attachment', fileName: string): string {
  const ascii = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const parameter = `${kind}; filename="${ascii}"`
  return ascii === fileName ? parameter : `${parameter}; filename*=UTF-8''${encodeExtended(fileName)}`
}

/** `encodeURIComponent` leaves more characters than the value of an extended parameter may have (RFC 8187 §3.2.1). */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
