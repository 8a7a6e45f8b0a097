/** What is to be removed from the content delivery network. */
export type Purge =
  | { readonly operation: 'purge_urls'; readonly urls: readonly string[] }
  | { readonly operation: 'purge_all' }

/**
 * The addresses without spaces around them, each once.
 *
 * @returns undefined when one of them is no absolute http or https URL
 */
export function readPublicUrls(texts: readonly string[]): readonly string[] | undefined {
  const urls = new Set(texts.map((text) => text.trim()))
  return [...urls].every(isPublicUrl) ? [...urls] : undefined
}

/** Written out whole: a URL parser repairs `https:host`, drops line ends and turns backslashes around. */
function isPublicUrl(text: string): boolean {
  if (!/^https?:\/\/[^/?#]/i.test(text) || /[\s\p{Cc}\\]/u.test(text) || !text.isWellFormed()) return false
  const url = URL.parse(text)
  return url !== null && url.username === '' && url.password === ''
}

/** Parts of a list, each of at most so many items. */
export function splitList<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size))
}
