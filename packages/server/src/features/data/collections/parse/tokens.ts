import { filterFault } from './filter-fault.ts'

/** Token of the filter language. */
export type Token = {
  /** Start offset in characters, from 0. */
  readonly position: number
  /** Text as written, for messages. */
  readonly text: string
} & (
  | NameToken
  | { readonly kind: 'string' | 'number'; readonly value: string }
  | { readonly kind: 'keyword'; readonly keyword: Keyword }
  | { readonly kind: 'operator'; readonly operator: Operator }
  | { readonly kind: '->' | '->>' | '(' | ')' | ',' | 'end' }
)

export interface NameToken {
  readonly kind: 'name'
  /** Name without quotes. */
  readonly name: string
  /** Segments of the name, split at its dots. Dots inside quotes are part of a segment. */
  readonly path: readonly string[]
  /** True if no part is quoted. Such a name may be a word of the grammar, or a column whose name has dots. */
  readonly isBare: boolean
}

/** Words that are never a name. Other words of the grammar are names wherever a name makes sense. */
export type Keyword = 'and' | 'or' | 'in' | 'true' | 'false' | 'null'
/** Comparison operator; `~` is LIKE and `~*` ILIKE. */
export type Operator = '=' | '!=' | '>' | '>=' | '<' | '<=' | '~' | '!~' | '~*' | '!~*'

const keywords: ReadonlySet<string> = new Set<Keyword>(['and', 'or', 'in', 'true', 'false', 'null'])

/** Patterns, one per kind. They are sticky: each step either matches at the position or the character is rejected. */
const patterns = {
  space: /\s+/y,
  name: /[\p{L}_][\p{L}\p{M}\p{N}_.$]*/uy,
  quotedName: /"((?:[^"]|"")+)"(?!")/y,
  dot: /\./y,
  // Without the lookahead, half of a doubled quote would end an unterminated string.
  string: /'((?:[^'\\]|''|\\[\s\S])*)'(?!')/y,
  number: /-?\d[\w.]*(?:(?<=[eE])[+-]\d+)?/y,
  arrow: /->>?/y,
  operator: /!=|>=|<=|!?~\*?|=|>|</y,
  connective: /&&|\|\|/y,
  punctuation: /[(),]/y,
}

const wellFormedNumber = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** Splits a filter into tokens. @throws AppError invalid_filter, with the position */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let position = 0
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = position
    return pattern.exec(text)
  }
  while (position < text.length) {
    const space = match(patterns.space)
    if (space !== null) {
      position += space[0].length
      continue
    }
    const token = readToken(text, position, match)
    tokens.push(token)
    position += token.text.length
  }
  tokens.push({ kind: 'end', position: text.length, text: '' })
  return tokens
}

function readToken(
  text: string,
  position: number,
  match: (pattern: RegExp) => RegExpExecArray | null,
): Token {
  const name = readName(text, position)
  if (name !== undefined) {
    const lower = name.text.toLowerCase()
    // The set holds exactly the keywords.
    return keywords.has(lower)
      ? { kind: 'keyword', keyword: lower as Keyword, position, text: name.text }
      : name
  }
  const string = match(patterns.string)
  if (string?.[1] !== undefined) {
    if (string[1].includes('\0')) {
      throw filterFault(
        position,
        `string at position ${position} has the character U+0000, which PostgreSQL text cannot hold`,
      )
    }
    return {
      kind: 'string',
      value: string[1].replace(/''|\\([\s\S])/g, (_, escaped) => escaped ?? "'"),
      position,
      text: string[0],
    }
  }
  const number = match(patterns.number)?.[0]
  if (number !== undefined) {
    if (!wellFormedNumber.test(number)) throw filterFault(position, `invalid number: ${number}`)
    return { kind: 'number', value: number, position, text: number }
  }
  const arrow = match(patterns.arrow)?.[0]
  // The pattern matches exactly the arrows.
  if (arrow !== undefined) return { kind: arrow as '->' | '->>', position, text: arrow }
  const operator = match(patterns.operator)?.[0]
  // The pattern matches exactly the operators.
  if (operator !== undefined)
    return { kind: 'operator', operator: operator as Operator, position, text: operator }
  const connective = match(patterns.connective)?.[0]
  if (connective !== undefined) {
    return { kind: 'keyword', keyword: connective === '&&' ? 'and' : 'or', position, text: connective }
  }
  const punctuation = match(patterns.punctuation)?.[0]
  if (punctuation !== undefined) return { kind: punctuation as '(' | ')' | ',', position, text: punctuation }
  const character = String.fromCodePoint(text.codePointAt(position) ?? 0)
  if (character === "'") throw filterFault(position, `unterminated string at position ${position}`)
  if (character === '"') {
    const problem = /^""(?!")/.test(text.slice(position)) ? 'empty name' : 'unterminated name'
    throw filterFault(position, `${problem} at position ${position}`)
  }
  throw filterFault(position, `unexpected character '${character}' at position ${position}`)
}

/**
 * Reads a name: `name`, `"a name"`, `relation.column`, `relation."a column"`. Its segments are joined by dots, each
 * bare or in quotes.
 */
function readName(text: string, start: number): (Token & NameToken) | undefined {
  const path: string[] = []
  let position = start
  let isBare = true
  let isOpen: boolean
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = position
    const found = pattern.exec(text)
    if (found !== null) position += found[0].length
    return found
  }
  do {
    const bare = take(patterns.name)?.[0]
    if (bare !== undefined) path.push(...bare.split('.'))
    isOpen = bare?.endsWith('.') === true && text[position] === '"'
    if (isOpen) path.pop()
    if (bare === undefined || isOpen) {
      const quoted = take(patterns.quotedName)?.[1]
      if (quoted === undefined) {
        if (position > start) throw filterFault(position, 'expected a name after the dot')
        return undefined
      }
      isBare = false
      path.push(quoted.replaceAll('""', '"'))
      isOpen = take(patterns.dot) !== null
    }
  } while (isOpen)
  return {
    kind: 'name',
    name: path.join('.'),
    path,
    isBare,
    position: start,
    text: text.slice(start, position),
  }
}
