/** Whether PostgreSQL can hold a text, in JSON too (PostgreSQL manual, JSON Types). */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
