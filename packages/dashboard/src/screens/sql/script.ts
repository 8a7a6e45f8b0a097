/**
 * Tokens that can contain a `$` without being a parameter: strings, quoted names, dollar quotes, comments and names
 * (PostgreSQL, Lexical Structure).
 */
const token =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$|[A-Za-z_][\w$]*|\$(\d{1,4})/g

/** Returns the number of the last parameter of a text: 3 for `$3`. */
export function lastParameter(text: string): number {
  let last = 0
  for (const [, , number] of text.matchAll(token)) {
    if (number !== undefined) last = Math.max(last, Number(number))
  }
  return last
}
