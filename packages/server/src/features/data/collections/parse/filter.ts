import { collectionErrors } from '../errors.ts'
import { filterFault } from './filter-fault.ts'
import { type Operator, type Token, tokenize } from './tokens.ts'

/**
 * A filter as written: `and := unit (AND unit)*`, `or := and (OR and)*`. Frozen by convention; resolved against
 * a relation by plan/filter.ts.
 */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Filter[] }
  | {
      readonly kind: 'compare'
      readonly column: string
      readonly operator: Operator
      readonly value: Literal
      readonly position: number
    }
  | {
      readonly kind: 'in'
      readonly column: string
      readonly values: readonly Literal[]
      readonly position: number
    }

/** The text to bind, or null. Its kind does not matter: it binds with the column's type. */
export type Literal = string | null

const lengthLimitBytes = 10_000
const depthLimit = 50

/**
 * Reads a filter expression. Total: any text gives a filter or an error that points at the position.
 *
 * @throws AppError invalid_filter, filter_too_long
 */
export function parseFilter(text: string): Filter {
  if (Buffer.byteLength(text) > lengthLimitBytes) throw collectionErrors.filterTooLong()
  const tokens = new TokenReader(tokenize(text))
  const filter = parseOr(tokens, 0)
  const rest = tokens.peek()
  if (rest.kind !== 'end') throw unexpected(rest)
  return filter
}

class TokenReader {
  readonly #tokens: readonly Token[]
  #next = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  peek(): Token {
    const token = this.#tokens[this.#next]
    if (token === undefined) throw new Error('read past the end token')
    return token
  }

  take(): Token {
    const token = this.peek()
    if (token.kind !== 'end') this.#next += 1
    return token
  }

  takeKeyword(keyword: string): boolean {
    const token = this.peek()
    if (token.kind !== 'keyword' || token.keyword !== keyword) return false
    this.#next += 1
    return true
  }
}

function parseOr(tokens: TokenReader, depth: number): Filter {
  const terms = [parseAnd(tokens, depth)]
  while (tokens.takeKeyword('or')) terms.push(parseAnd(tokens, depth))
  return combine('or', terms)
}

function parseAnd(tokens: TokenReader, depth: number): Filter {
  const terms = [parseUnit(tokens, depth)]
  while (tokens.takeKeyword('and')) terms.push(parseUnit(tokens, depth))
  return combine('and', terms)
}

function combine(kind: 'and' | 'or', terms: readonly Filter[]): Filter {
  const [first] = terms
  return first !== undefined && terms.length === 1 ? first : { kind, terms }
}

function parseUnit(tokens: TokenReader, depth: number): Filter {
  const token = tokens.take()
  if (token.kind === '(') {
    if (depth === depthLimit) {
      throw filterFault(token.position, `filter expression too deeply nested (max ${depthLimit} levels)`)
    }
    const inner = parseOr(tokens, depth + 1)
    const closing = tokens.take()
    if (closing.kind !== ')') throw filterFault(closing.position, 'expected closing parenthesis')
    return inner
  }
  if (token.kind !== 'name') throw unexpected(token)
  return parseCondition(tokens, token.name, token.position)
}

function parseCondition(tokens: TokenReader, column: string, position: number): Filter {
  if (tokens.takeKeyword('in')) return { kind: 'in', column, values: parseList(tokens), position }
  const token = tokens.take()
  if (token.kind !== 'operator') {
    throw filterFault(token.position, `expected operator after column ${column}`)
  }
  const value = parseValue(tokens)
  if (value === null && token.operator !== '=' && token.operator !== '!=') {
    throw filterFault(token.position, 'null can only be compared with = or !=')
  }
  return { kind: 'compare', column, operator: token.operator, value, position }
}

function parseList(tokens: TokenReader): Literal[] {
  const opening = tokens.take()
  if (opening.kind !== '(') throw filterFault(opening.position, "expected '(' after IN")
  const values = [parseValue(tokens)]
  for (;;) {
    const token = tokens.take()
    if (token.kind === ')') return values
    if (token.kind === 'end') throw filterFault(token.position, "expected ')' to close IN list")
    if (token.kind !== ',') throw filterFault(token.position, "expected ',' or ')' in IN list")
    values.push(parseValue(tokens))
  }
}

function parseValue(tokens: TokenReader): Literal {
  const token = tokens.take()
  if (token.kind === 'string' || token.kind === 'number') return token.value
  if (token.kind === 'keyword' && token.keyword === 'null') return null
  if (token.kind === 'keyword' && (token.keyword === 'true' || token.keyword === 'false'))
    return token.keyword
  if (token.kind === 'end') throw unexpected(token)
  throw filterFault(token.position, `expected value, got ${token.text}`)
}

function unexpected(token: Token): Error {
  return token.kind === 'end'
    ? filterFault(token.position, 'unexpected end of filter expression')
    : filterFault(token.position, 'unexpected token', token.text)
}
