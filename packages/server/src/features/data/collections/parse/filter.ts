import { collectionErrors } from '../errors.ts'
import { type Condition, parseCondition } from './condition.ts'
import { filterFault } from './filter-fault.ts'
import { TokenReader, unexpected } from './token-reader.ts'
import { tokenize } from './tokens.ts'

/**
 * Parsed filter: `unit := condition | NOT unit | ( or )`, `and := unit (AND unit)*`, `or := and (OR and)*`. Frozen by
 * convention. plan/filter.ts resolves it against a relation.
 */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Filter[] }
  | { readonly kind: 'not'; readonly term: Filter }
  | Condition

const lengthLimitBytes = 10_000
const depthLimit = 50

/**
 * Parses a filter expression. Any text gives a filter or an error that points at the position.
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
  const { position } = tokens.peek()
  if (takeNot(tokens)) {
    requireDepth(depth, position)
    return { kind: 'not', term: parseUnit(tokens, depth + 1) }
  }
  const token = tokens.take()
  if (token.kind === '(') {
    requireDepth(depth, position)
    const inner = parseOr(tokens, depth + 1)
    const closing = tokens.take()
    if (closing.kind !== ')') throw filterFault(closing.position, 'expected closing parenthesis')
    return inner
  }
  if (token.kind !== 'name') throw unexpected(token)
  return parseCondition(tokens, token)
}

/** Consumes a NOT. In front of a comparison `not` is the name of a column. */
function takeNot(tokens: TokenReader): boolean {
  const { kind } = tokens.peek(1)
  return kind !== 'operator' && kind !== 'keyword' && tokens.takeWord('not')
}

function requireDepth(depth: number, position: number): void {
  if (depth < depthLimit) return
  throw filterFault(position, `filter expression too deeply nested (max ${depthLimit} levels)`)
}
