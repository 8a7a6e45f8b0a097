/** Returns true if PostgreSQL can store the text: well-formed Unicode without NUL. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** Returns the text without NUL and halves of surrogate pairs, which PostgreSQL cannot store. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/** Returns the same as isStorableText for every text and name within a JSON value. */
export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, member]) => isStorableText(name) && isStorableJson(member))
}
