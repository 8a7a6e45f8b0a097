import { filterFault } from './filter-fault.ts'

/** Tokens of the filter language. */
export type Token = {
  /** Where it starts, in characters from 0. */
  readonly position: number
  /** As written, for messages. */
  readonly text: string
} & (
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'string' | 'number'; readonly value: string }
  | { readonly kind: 'keyword'; readonly keyword: Keyword }
  | { readonly kind: 'operator'; readonly operator: Operator }
  | { readonly kind: '(' | ')' | ',' | 'end' }
)

export type Keyword = 'and' | 'or' | 'in' | 'true' | 'false' | 'null'
export type Operator = '=' | '!=' | '>' | '>=' | '<' | '<=' | '~' | '!~'

const keywords: ReadonlySet<string> = new Set<Keyword>(['and', 'or', 'in', 'true', 'false', 'null'])

/** One alternative per kind; sticky, so each step either matches here or the character is refused. */
const patterns = {
  space: /\s+/y,
  name: /[\p{L}_][\p{L}\p{M}\p{N}_.$]*/uy,
  quotedName: /"((?:[^"]|"")+)"(?!")/y,
  // Without the look-ahead half of a doubled quote would end a string that never ends.
  string: /'((?:[^'\\]|''|\\[\s\S])*)'(?!')/y,
  number: /-?\d[\w.]*(?:(?<=[eE])[+-]\d+)?/y,
  operator: /!=|>=|<=|!~|=|>|<|~/y,
  connective: /&&|\|\|/y,
  punctuation: /[(),]/y,
}

const wellFormedNumber = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** @throws AppError invalid_filter, with the position */
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
  const name = match(patterns.name)?.[0]
  if (name !== undefined) {
    const lower = name.toLowerCase()
    // The set holds exactly the keywords.
    if (keywords.has(lower)) return { kind: 'keyword', keyword: lower as Keyword, position, text: name }
    return { kind: 'name', name, position, text: name }
  }
  const quoted = match(patterns.quotedName)
  if (quoted?.[1] !== undefined) {
    return { kind: 'name', name: quoted[1].replaceAll('""', '"'), position, text: quoted[0] }
  }
  const string = match(patterns.string)
  if (string?.[1] !== undefined) {
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
  if (character === "'") throw filterFault(position, 'unterminated string')
  if (character === '"') {
    throw filterFault(position, /^""(?!")/.test(text.slice(position)) ? 'empty name' : 'unterminated name')
  }
  throw filterFault(position, `unexpected character '${character}'`)
}
