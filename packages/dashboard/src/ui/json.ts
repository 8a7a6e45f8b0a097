export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns true for the text of a JSON value. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Parses a JSON object. Returns undefined for anything else. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value: unknown = isJson(text) ? JSON.parse(text) : undefined
  return isObject(value) ? value : undefined
}

/** Indents JSON, unless that would be slow or change the digits of a number. Other texts stay as they are. */
export function indentJson(text: string): string {
  if (text.length > 1_000_000 || /\d{16}|\.\d*0\b|\d[eE]/.test(text) || !isJson(text)) return text
  return JSON.stringify(JSON.parse(text), undefined, 2)
}
