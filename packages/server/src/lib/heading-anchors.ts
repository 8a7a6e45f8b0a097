/**
 * Returns a function that names the anchors of a page's headings in the form of GitHub: in lower case, without
 * punctuation, numbered when a text is repeated.
 */
export function createAnchors(): (heading: string) => string {
  const slugs = new Map<string, number>()
  return (heading) => {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const count = slugs.get(slug) ?? 0
    slugs.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  }
}
