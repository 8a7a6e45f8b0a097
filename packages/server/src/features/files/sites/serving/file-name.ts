/**
 * Returns the path of a request within a site, `''` for the root. Returns undefined for paths that no file can have:
 * `..`, encoded slashes, NUL, empty segments and invalid percent-encoded UTF-8.
 */
export function readRequestPath(target: string): string | undefined {
  const [path = ''] = target.split('?', 1)
  if (!path.startsWith('/')) return undefined
  const segments = path.slice(1).split('/').map(decodeSegment)
  const isWhole = segments.every((segment, index): segment is string => {
    if (segment === undefined || ['.', '..'].includes(segment)) return false
    return segment !== '' || index === segments.length - 1
  })
  return isWhole ? segments.join('/').normalize('NFC') : undefined
}

/**
 * Returns the same for a path that only the script of a page reads, such as `/p/@scope%2Fname`. No file has such a
 * path, because an encoded slash is part of a segment.
 */
export function readPagePath(target: string): string | undefined {
  const [path = ''] = target.split('?', 1)
  const isEncoded = /%2f/i.test(path)
  return isEncoded ? readRequestPath(path.replaceAll(/%2f/gi, '/')) : undefined
}

function decodeSegment(text: string): string | undefined {
  try {
    const segment = decodeURIComponent(text)
    return /[/\\\p{Cc}]/u.test(segment) ? undefined : segment
  } catch {
    return undefined
  }
}

/**
 * Returns whether the name contains a content hash of a bundler, so that the file never changes. A hash consists of
 * hexadecimal digits, or of eight characters of base64url or base32 with a capital letter. Returns false for an
 * uncertain name, because a stale file is worse than a revalidation.
 */
export function isHashedName(path: string): boolean {
  const hash = /[.-]([\w-]{8,64})\.[a-z0-9]+(\.map)?$/.exec(path)?.[1]
  if (hash === undefined || /\.html?$/.test(path)) return false
  const last = hash.length > 8 ? (/(?:^|-)([0-9a-f]{8,64})$/.exec(hash)?.[1] ?? hash.slice(-8)) : hash
  if (/^[0-9a-f]{8,64}$/.test(last)) return /\d/.test(last) && /[a-f]/.test(last)
  return /^[\w-]{8}$/.test(last) && /[A-Z]/.test(last) && /[a-z0-9]/.test(last) && !/^[A-Z][a-z]+$/.test(last)
}
