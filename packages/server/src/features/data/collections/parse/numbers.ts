/** Parses a decimal number of a query string. Returns undefined when the text is none, or too large. */
export function parseNumber(text: string): number | undefined {
  if (!/^\s*[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}
