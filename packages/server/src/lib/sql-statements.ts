/** Statement of a script, without its semicolon. */
export interface SqlStatement {
  readonly text: string
  /** Offset in the script. */
  readonly start: number
  /** Line of the script where it begins, from 1. */
  readonly line: number
  /** First words in lower case: `create`, `or`, `replace`, `function`. */
  readonly words: readonly string[]
  /** Number of its last parameter, 3 for `$3`; 0 without any. */
  readonly parameters: number
}

/** Number of words that distinguish statements. */
const keptWords = 6

/**
 * Pattern of the tokens that determine the end of a statement (PostgreSQL, Lexical Structure). An unclosed
 * quote extends to the end, where PostgreSQL will reject it.
 */
const token = new RegExp(
  [
    /(?<blank>\s+|--[^\n]*)/,
    /(?<comment>\/\*)/,
    /(?<string>[eE]'(?:[^'\\]|''|\\[\s\S])*(?:'|$)|(?:[uU]&)?'(?:[^']|'')*(?:'|$)|(?:[uU]&)?"(?:[^"]|"")*(?:"|$))/,
    /(?<parameter>\$\d+)/,
    /(?<dollar>\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)/,
    /(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)/,
    /(?<other>\d[\w.]*|[\s\S])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
)

/** Token of a script, other than blanks and comments. */
export interface SqlToken {
  readonly kind: 'word' | 'string' | 'dollar' | 'parameter' | 'other'
  readonly text: string
  readonly start: number
}

/** Yields the tokens. @param from offset of a statement */
export function* readTokens(script: string, from = 0): Generator<SqlToken> {
  let position = from
  while (position < script.length) {
    token.lastIndex = position
    const found = token.exec(script)
    const { blank, comment, string, parameter, dollar, word } = found?.groups ?? {}
    const start = position
    if (comment !== undefined) {
      position = endOfComment(script, start)
      continue
    }
    position = dollar === undefined ? start + (found?.[0].length ?? 1) : endOfQuote(script, start, dollar)
    if (blank !== undefined) continue
    const text = script.slice(start, position)
    if (word !== undefined) yield { kind: 'word', text, start }
    else if (string !== undefined) yield { kind: 'string', text, start }
    else if (dollar !== undefined) yield { kind: 'dollar', text, start }
    else yield { kind: parameter === undefined ? 'other' : 'parameter', text, start }
  }
}

/**
 * Splits a script where psql does. A semicolon within quotes, comments, parentheses, or the body of a function
 * that begins with BEGIN ATOMIC, ends no statement.
 */
export function splitStatements(script: string): SqlStatement[] {
  const statements: SqlStatement[] = []
  let start: number | undefined
  let words: string[] = []
  let parameters = 0
  let line = 1
  let counted = 0
  let parentheses = 0
  let bodies = 0
  let end = 0
  const finish = () => {
    if (start !== undefined) {
      line += countLines(script, counted, start)
      counted = start
      const text = script.slice(start, end)
      statements.push({ text, start, line, words: words.slice(0, keptWords), parameters })
    }
    start = undefined
    words = []
    parameters = 0
    parentheses = 0
    bodies = 0
  }
  for (const { kind, text, start: position } of readTokens(script)) {
    if (kind === 'other' && text === ';' && parentheses === 0 && bodies === 0) {
      finish()
      continue
    }
    start ??= position
    end = position + text.length
    if (kind === 'parameter') parameters = Math.max(parameters, Number(text.slice(1)))
    if (kind === 'other' && text === '(') parentheses += 1
    if (kind === 'other' && text === ')') parentheses = Math.max(0, parentheses - 1)
    if (kind === 'word') {
      const name = text.toLowerCase()
      if (words.length < keptWords) words.push(name)
      if (parentheses === 0 && definesRoutine(words)) bodies = depthAfter(bodies, name)
    }
  }
  finish()
  return statements
}

function countLines(script: string, from: number, to: number): number {
  let count = 0
  for (let at = script.indexOf('\n', from); at !== -1 && at < to; at = script.indexOf('\n', at + 1))
    count += 1
  return count
}

function depthAfter(depth: number, word: string): number {
  if (word === 'begin') return depth + 1
  if (word === 'case') return depth > 0 ? depth + 1 : 0
  return word === 'end' ? Math.max(0, depth - 1) : depth
}

function definesRoutine([create, ...rest]: readonly string[]): boolean {
  const kind = rest[0] === 'or' && rest[1] === 'replace' ? rest[2] : rest[0]
  return create === 'create' && (kind === 'function' || kind === 'procedure')
}

/** Returns the end of a comment. Comments nest (PostgreSQL, Comments). */
function endOfComment(script: string, start: number): number {
  const edge = /\/\*|\*\//g
  edge.lastIndex = start
  let depth = 0
  for (let found = edge.exec(script); found !== null; found = edge.exec(script)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return edge.lastIndex
  }
  return script.length
}

function endOfQuote(script: string, start: number, tag: string): number {
  const end = script.indexOf(tag, start + tag.length)
  return end === -1 ? script.length : end + tag.length
}
