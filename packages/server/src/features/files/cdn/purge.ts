/** Purge of the content delivery network. */
export type Purge =
  | { readonly operation: 'purge_urls'; readonly urls: readonly string[] }
  | { readonly operation: 'purge_all' }

/**
 * Returns the distinct addresses, without surrounding spaces.
 *
 * @returns undefined if one of them is no absolute http or https URL
 */
export function readPublicUrls(texts: readonly string[]): readonly string[] | undefined {
  const urls = new Set(texts.map((text) => text.trim()))
  return [...urls].every(isPublicUrl) ? [...urls] : undefined
}

/**
 * Returns true for a complete URL. A URL parser alone would repair `https:host`, drop line ends and convert
 * backslashes.
 */
function isPublicUrl(text: string): boolean {
  if (!/^https?:\/\/[^/?#]/i.test(text) || /[\s\p{Cc}\\]/u.test(text) || !text.isWellFormed()) return false
  const url = URL.parse(text)
  return url !== null && url.username === '' && url.password === ''
}

/** Splits a list into parts of at most the given size. */
export function splitList<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size))
}
