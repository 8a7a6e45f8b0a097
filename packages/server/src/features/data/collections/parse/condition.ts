import { filterFault } from './filter-fault.ts'
import { type TokenReader, unexpected } from './token-reader.ts'
import type { NameToken, Operator, Token } from './tokens.ts'

/** Condition on one value. `isNegated` stands for NOT between the value and the word. */
export type Condition = Subject & Test

type Test =
  | { readonly kind: 'compare'; readonly operator: Operator; readonly value: Literal }
  | { readonly kind: 'in'; readonly isNegated: boolean; readonly values: readonly Literal[] }
  | {
      readonly kind: 'between'
      readonly isNegated: boolean
      readonly low: Value
      readonly high: Value
    }
  | {
      readonly kind: 'set'
      readonly operator: SetOperator
      readonly isNegated: boolean
      /** Values of the operand; several were written as a list. */
      readonly values: readonly Value[]
      readonly isList: boolean
    }
  | { readonly kind: 'matches'; readonly isNegated: boolean; readonly words: Value }

/** Subject of a condition: a column, a column of related records, or a value inside JSON. */
export interface Subject {
  /** Name, read as a column of the collection. */
  readonly column: string
  /** Names of relations followed by that of a column, where the name can be read as a path. */
  readonly path: readonly string[] | undefined
  /** True if the name can only be read as a path. */
  readonly isPath: boolean
  readonly json: JsonPath | undefined
  readonly position: number
}

/** JSON path such as `->'items'->0->>'name'`. */
export interface JsonPath {
  /** Keys of objects; numbers are array indexes. */
  readonly keys: readonly (string | number)[]
  /** True if the path ends in `->>`, which reads the value as text. */
  readonly isText: boolean
}

/** Operators that compare sets: arrays, ranges, documents. */
export type SetOperator = 'contains' | 'overlaps' | 'adjacent'

/** Operand of a comparison. Its kind matters for JSON only: for a column it is bound with the column's type. */
export type Literal = Value | null

export interface Value {
  readonly kind: 'string' | 'number' | 'boolean'
  readonly text: string
}

/** Words that test a value and may follow NOT. */
const wordTests = {
  in: 'IN',
  between: 'BETWEEN',
  contains: 'CONTAINS',
  overlaps: 'OVERLAPS',
  adjacent: 'ADJACENT',
  matches: 'MATCHES',
}

export function parseCondition(tokens: TokenReader, name: Token & NameToken): Condition {
  const hasParts = name.path.length > 1
  const subject: Subject = {
    column: name.name,
    path: hasParts ? name.path : undefined,
    isPath: hasParts && !name.isBare,
    json: parseJsonPath(tokens),
    position: name.position,
  }
  return { ...subject, ...parseTest(tokens, name.name) }
}

function parseJsonPath(tokens: TokenReader): JsonPath | undefined {
  const keys: (string | number)[] = []
  let isText = false
  for (
    let arrow = tokens.peek();
    !isText && (arrow.kind === '->' || arrow.kind === '->>');
    arrow = tokens.peek()
  ) {
    tokens.take()
    keys.push(parseKey(tokens.take(), arrow.kind))
    isText = arrow.kind === '->>'
  }
  return keys.length === 0 ? undefined : { keys, isText }
}

function parseKey(token: Token, arrow: string): string | number {
  if (token.kind === 'string') return token.value
  // PostgreSQL indexes arrays by four-byte integers.
  if (token.kind === 'number' && /^-?\d{1,9}$/.test(token.value)) return Number(token.value)
  throw filterFault(token.position, `expected a key in quotes or an array index after ${arrow}`)
}

function parseTest(tokens: TokenReader, column: string): Test {
  const { position } = tokens.peek()
  if (tokens.takeWord('is')) return parseNullTest(tokens)
  const isNegated = tokens.takeWord('not')
  const test = parseWordTest(tokens, isNegated, position)
  if (test !== undefined) return test
  const token = tokens.take()
  if (isNegated) {
    throw filterFault(token.position, `expected ${Object.values(wordTests).join(', ')} after NOT`)
  }
  if (token.kind !== 'operator') {
    throw filterFault(token.position, `expected operator after column ${column}`)
  }
  const value = parseLiteral(tokens)
  if (value === null && token.operator !== '=' && token.operator !== '!=') throw nullFault(token.position)
  return { kind: 'compare', operator: token.operator, value }
}

function parseNullTest(tokens: TokenReader): Test {
  const operator = tokens.takeWord('not') ? '!=' : '='
  const { position } = tokens.peek()
  if (!tokens.takeKeyword('null')) throw filterFault(position, 'expected NULL or NOT NULL after IS')
  return { kind: 'compare', operator, value: null }
}

function parseWordTest(tokens: TokenReader, isNegated: boolean, position: number): Test | undefined {
  if (tokens.takeKeyword('in'))
    return { kind: 'in', isNegated, values: parseList(tokens, 'IN', parseLiteral) }
  if (tokens.takeWord('between')) {
    const low = parseValue(tokens, position)
    const and = tokens.peek()
    if (!tokens.takeKeyword('and'))
      throw filterFault(and.position, 'expected AND after BETWEEN and its first value')
    return { kind: 'between', isNegated, low, high: parseValue(tokens, position) }
  }
  if (tokens.takeWord('matches')) return { kind: 'matches', isNegated, words: parseValue(tokens, position) }
  for (const operator of ['contains', 'overlaps', 'adjacent'] as const) {
    if (!tokens.takeWord(operator)) continue
    const isList = tokens.peek().kind === '('
    const values = isList
      ? parseList(tokens, wordTests[operator], () => parseValue(tokens, position))
      : [parseValue(tokens, position)]
    return { kind: 'set', operator, isNegated, values, isList }
  }
  return undefined
}

function parseList<Item>(
  tokens: TokenReader,
  word: string,
  parseItem: (tokens: TokenReader) => Item,
): Item[] {
  const opening = tokens.take()
  if (opening.kind !== '(') throw filterFault(opening.position, `expected '(' after ${word}`)
  const values = [parseItem(tokens)]
  for (;;) {
    const token = tokens.take()
    if (token.kind === ')') return values
    if (token.kind === 'end') throw filterFault(token.position, `expected ')' to close ${word} list`)
    if (token.kind !== ',') throw filterFault(token.position, `expected ',' or ')' in ${word} list`)
    values.push(parseItem(tokens))
  }
}

/** @param position of the operator, for operators that do not accept null */
function parseValue(tokens: TokenReader, position: number): Value {
  const value = parseLiteral(tokens)
  if (value === null) throw nullFault(position)
  return value
}

function parseLiteral(tokens: TokenReader): Literal {
  const token = tokens.take()
  if (token.kind === 'string' || token.kind === 'number') return { kind: token.kind, text: token.value }
  if (token.kind === 'keyword' && token.keyword === 'null') return null
  if (token.kind === 'keyword' && (token.keyword === 'true' || token.keyword === 'false')) {
    return { kind: 'boolean', text: token.keyword }
  }
  if (token.kind === 'end') throw unexpected(token)
  throw filterFault(token.position, `expected value, got ${token.text}`)
}

function nullFault(position: number): Error {
  return filterFault(position, 'null can only be compared with = or !=')
}
