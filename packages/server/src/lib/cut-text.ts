/** Characters of a message of PostgreSQL, which may quote a value of any size. */
const maxLength = 8000

/** A text of PostgreSQL as it is shown and kept. */
export function cutText(text: string): string {
  if (text.length <= maxLength) return text
  return `${text.slice(0, maxLength).toWellFormed()}… (${text.length} characters)`
}
