/** Expression as PostgreSQL prints it (pg_get_expr), split at AND, OR and NOT. */
export interface Part {
  readonly text: string
  readonly operator: 'and' | 'or' | 'not' | undefined
  /** Terms of an operator. */
  readonly terms: readonly Part[]
  /** Sides of a comparison. */
  readonly sides: readonly string[]
}

/** Maximum number of parts of an expression. The rest stays in one piece. */
const partLimit = 400
const depthLimit = 20

interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
  /** Number of parentheses around it. */
  readonly depth: number
}

/**
 * Pattern of strings, identifiers, words and operators (PostgreSQL, Lexical Structure), and of each single
 * parenthesis.
 */
const lexeme =
  /[eE]?'(?:[^'\\]|''|\\[\s\S])*'|"(?:[^"]|"")*"|[\p{L}_][\p{L}\p{N}_$]*|\d[\d.eE]*|[-+*/<>=~!@#%^&|`?]+|[()[\],]|\S/gu

/** Splits an expression into its parts. Pure. */
export function splitExpression(text: string): Part {
  let left = partLimit
  const split = (whole: string, depth: number): Part => {
    left -= 1
    const inner = unwrap(whole)
    const tokens = tokenize(inner)
    const leaf: Part = { text: inner, operator: undefined, terms: [], sides: sidesOf(inner, tokens) }
    if (depth >= depthLimit || left <= 0) return leaf
    // PostgreSQL puts each AND and OR into parentheses of its own, so that only one of them can be at the top.
    for (const operator of ['or', 'and'] as const) {
      const separators = tokens.filter((token) => token.depth === 0 && token.text.toLowerCase() === operator)
      if (separators.length === 0 || isWithinCase(tokens)) continue
      if (separators.length >= left) return leaf
      const starts = [0, ...separators.map(({ end }) => end)]
      const ends = [...separators.map(({ start }) => start), inner.length]
      const terms = starts.map((start, index) => split(inner.slice(start, ends[index]).trim(), depth + 1))
      return { text: inner, operator, terms, sides: [] }
    }
    const [first] = tokens
    if (first?.text.toLowerCase() === 'not') {
      const term = split(inner.slice(first.end).trim(), depth + 1)
      return { text: inner, operator: 'not', terms: [term], sides: [] }
    }
    return leaf
  }
  return split(text.trim(), 0)
}

/** Returns a part and all parts within it, in text order. Pure. */
export function flatten(part: Part): Part[] {
  return [part, ...part.terms.flatMap(flatten)]
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let depth = 0
  for (const { 0: found, index } of text.matchAll(lexeme)) {
    if (found === ')' || found === ']') depth -= 1
    tokens.push({ text: found, start: index, end: index + found.length, depth })
    if (found === '(' || found === '[') depth += 1
  }
  return tokens
}

/** Removes parentheses around the whole text. */
function unwrap(text: string): string {
  const tokens = tokenize(text)
  const [first] = tokens
  if (first?.text !== '(') return text
  const closing = tokens.findIndex(({ text: each, depth }) => each === ')' && depth === 0)
  return closing === tokens.length - 1 ? unwrap(text.slice(1, -1).trim()) : text
}

function isWithinCase(tokens: readonly Token[]): boolean {
  return tokens.some(({ text, depth }) => depth === 0 && text.toLowerCase() === 'case')
}

const comparisons = new Set(['=', '<>', '<', '>', '<=', '>=', '~~', '!~~', '~~*', '~', '@>', '<@', '&&'])

/**
 * Returns the sides of a comparison that is the whole text. For `= ANY (…)` and `IN (…)` it returns only the left
 * side.
 */
function sidesOf(text: string, tokens: readonly Token[]): string[] {
  const top = tokens.filter(({ depth }) => depth === 0)
  if (isWithinCase(tokens)) return []
  const word = top.find(({ text: each }) => each.toLowerCase() === 'in')
  if (word !== undefined) return [text.slice(0, word.start).trim()]
  const found = top.filter(({ text: each }) => comparisons.has(each))
  const [operator] = found
  if (operator === undefined || found.length > 1) return []
  const sides = [text.slice(0, operator.start).trim(), text.slice(operator.end).trim()]
  return /^(any|all|some)\b/i.test(sides[1] ?? '') ? sides.slice(0, 1) : sides
}
