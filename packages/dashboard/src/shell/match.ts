/**
 * How well a text answers what was typed: 0 not at all, more is better. All words must be in it, those at the beginning
 * of a word count more.
 */
export function rate(text: string, typed: string): number {
  const target = text.toLowerCase()
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  let total = 1
  for (const word of words) {
    const at = target.indexOf(word)
    if (at === -1) return 0
    if (at === 0) total += 4
    else if (/[^\p{L}\p{N}]/u.test(target[at - 1] ?? '') || target.includes(` ${word}`)) total += 2
    else total += 1
  }
  // Of equal ones the shorter: more of it was typed.
  return total + 1 / (1 + target.length)
}

/** The best ones, in order. */
export function best<T>(
  items: readonly T[],
  typed: string,
  textOf: (item: T) => string,
  most: number,
): readonly T[] {
  return items
    .map((item) => ({ item, rating: rate(textOf(item), typed) }))
    .filter(({ rating }) => rating > 0)
    .sort((left, right) => right.rating - left.rating)
    .slice(0, most)
    .map(({ item }) => item)
}
