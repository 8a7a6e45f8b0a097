/** Splits a list at commas outside parentheses and quotes: `a, coalesce(b, c) desc` has two parts. Pure. */
export function splitList(text: string): string[] {
  const parts: string[] = ['']
  let depth = 0
  for (const [token] of text.matchAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[\s\S]/g)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (token === ',' && depth === 0) parts.push('')
    else parts.push((parts.pop() ?? '') + token)
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}
