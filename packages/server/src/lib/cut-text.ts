/** Maximum length of a PostgreSQL message, which may quote a value of any size. */
const maxLength = 8000

/** Shortens a text of PostgreSQL for display and storage. */
export function cutText(text: string): string {
  if (text.length <= maxLength) return text
  return `${text.slice(0, maxLength).toWellFormed()}… (${text.length} characters)`
}
