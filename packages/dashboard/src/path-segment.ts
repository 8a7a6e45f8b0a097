/** Decodes a path segment. Returns a malformed segment unchanged. */
export function decodeSegment(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
