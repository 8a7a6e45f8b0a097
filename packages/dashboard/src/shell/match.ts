/**
 * Rates how well a text matches the input: 0 for no match, higher is better. The text must contain all words. Words at the
 * start of a word rate higher.
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
  // Among equal texts the shorter one ranks first, because the input covers more of it.
  return total + 1 / (1 + target.length)
}

/** Returns the best matches in order. */
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
