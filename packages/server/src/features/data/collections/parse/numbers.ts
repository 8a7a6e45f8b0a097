/** A decimal number as a query string has it; undefined when it is none, or too large for one. */
export function parseNumber(text: string): number | undefined {
  if (!/^\s*[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}
