/** Returns the HTML of a text with its prefix marked. The text begins with the prefix except for case. */
export function markPrefix(text: string, prefix: string): string {
  const length = [...prefix].length
  if (length === 0) return escapeHtml(text)
  const characters = [...text]
  const marked = characters.slice(0, length).join('')
  return `<mark>${escapeHtml(marked)}</mark>${escapeHtml(characters.slice(length).join(''))}`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
