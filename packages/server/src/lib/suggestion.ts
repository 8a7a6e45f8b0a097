import { closest, distance } from 'fastest-levenshtein'

/** Returns `; did you mean …?` with the nearest of the known names, unless none is near. */
export function suggestion(name: string, known: readonly string[]): string {
  if (known.length === 0) return ''
  const nearest = closest(name, known)
  return distance(name, nearest) <= Math.max(3, name.length / 2) ? `; did you mean ${nearest}?` : ''
}
