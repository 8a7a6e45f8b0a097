/** Decodes a segment of a path; returns one that is not well formed unchanged. */
export function decodeSegment(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
