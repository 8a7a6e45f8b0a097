import fc from 'fast-check'
import type { Literal as ParsedLiteral } from '../src/features/data/collections/parse/condition.ts'
import type { Filter } from '../src/features/data/collections/parse/filter.ts'
import type { Operator } from '../src/features/data/collections/parse/tokens.ts'
import { anyUnits } from './any-text.ts'

/** Filters as trees with the many ways to write each, according to the grammar instead of the parser. */

/** Value as text, however it was written, or null. */
export type Literal = string | null

/** Filter without positions, which only a text has. */
export type Tree =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Tree[] }
  | { readonly kind: 'not'; readonly term: Tree }
  | Condition

export type Condition = { readonly column: string } & (
  | { readonly kind: 'compare'; readonly operator: Operator; readonly value: Literal }
  | { readonly kind: 'in'; readonly isNegated: boolean; readonly values: readonly Literal[] }
  | { readonly kind: 'between'; readonly isNegated: boolean; readonly low: string; readonly high: string }
)

export function withoutPositions(filter: Filter): Tree {
  const text = (value: ParsedLiteral): Literal => value?.text ?? null
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { kind: filter.kind, terms: filter.terms.map(withoutPositions) }
    case 'not':
      return { kind: 'not', term: withoutPositions(filter.term) }
    case 'compare':
      return { kind: 'compare', column: filter.column, operator: filter.operator, value: text(filter.value) }
    case 'in':
      return {
        kind: 'in',
        column: filter.column,
        isNegated: filter.isNegated,
        values: filter.values.map(text),
      }
    case 'between': {
      const { column, isNegated, low, high } = filter
      return { kind: 'between', column, isNegated, low: low.text, high: high.text }
    }
    default:
      throw new Error(`no tree has ${filter.kind}`)
  }
}

/** Lists the conditions of a tree in the order in which they are written. */
export function conditionsOf(tree: Tree): Condition[] {
  if ('terms' in tree) return tree.terms.flatMap(conditionsOf)
  return tree.kind === 'not' ? conditionsOf(tree.term) : [tree]
}

/** Generates trees over such conditions, of up to four levels with two to four terms each. */
export function treeOf(condition: fc.Arbitrary<Condition>): fc.Arbitrary<Tree> {
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      { weight: 2, arbitrary: condition },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constantFrom('and', 'or'),
          terms: fc.array(tie('tree'), { minLength: 2, maxLength: 4 }),
        }),
      },
      { weight: 1, arbitrary: tie('tree').map((term) => ({ kind: 'not' as const, term })) },
    ),
  }))
  return tree
}

/** Conditions with any names and any literals, for a parser that knows no table. */
export const anyCondition: fc.Arbitrary<Condition> = fc.oneof(
  fc
    .record({
      column: anyName(),
      operator: fc.constantFrom<Operator>('=', '!=', '>', '>=', '<', '<=', '~', '!~', '~*', '!~*'),
      value: anyLiteral(),
    })
    .filter(({ operator, value }) => value !== null || operator === '=' || operator === '!=')
    .map((condition) => ({ kind: 'compare' as const, ...condition })),
  fc
    .record({
      column: anyName(),
      isNegated: fc.boolean(),
      values: fc.array(anyLiteral(), { minLength: 1, maxLength: 5 }),
    })
    .map((condition) => ({ kind: 'in' as const, ...condition })),
  fc
    .record({ column: anyName(), isNegated: fc.boolean(), low: anyValue(), high: anyValue() })
    .map((condition) => ({ kind: 'between' as const, ...condition })),
)

function anyName(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      'id',
      'Größe',
      '_x',
      'a.b',
      'a$1',
      'and',
      'IN',
      'null',
      'a b',
      'a"b',
      '"',
      '$1',
      '-- x',
      'not',
      'IS',
      'Between',
      'contains',
      'matches',
    ),
    fc.string({ minLength: 1, maxLength: 20 }),
    anyUnits({ minLength: 1, maxLength: 10 }),
  )
}

function anyLiteral(): fc.Arbitrary<Literal> {
  return fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 9, arbitrary: anyValue() })
}

function anyValue(): fc.Arbitrary<string> {
  const value = fc.oneof(
    fc.constantFrom('true', 'false', '', "'", '\\', "''", "\\'", '$1', '--', '0', '-0', '1e400', '١'),
    fc.integer().map(String),
    fc.double().map(String),
    fc.string({ maxLength: 30 }),
    anyUnits({ maxLength: 15 }),
  )
  // PostgreSQL's text cannot hold NUL, so the grammar rejects it.
  return value.filter((text) => !text.includes('\0'))
}

/** Choice between equivalent spellings: returns a number below the limit. */
type Choose = (limit: number) => number

/** Arbitrary choices. */
export const choices: fc.Arbitrary<readonly number[]> = fc.array(fc.nat(999), { minLength: 7, maxLength: 40 })

function chooser(numbers: readonly number[]): Choose {
  let index = 0
  // Without choices, the first spelling.
  return (limit) => (numbers[index++ % numbers.length] ?? 0) % limit
}

/** Writes the tree in the spelling of these choices, by default the plain one. */
export function printTree(tree: Tree, decisions: readonly number[] = []): string {
  const choose = chooser(decisions)
  return blank(choose) + print(tree, choose) + blank(choose)
}

function print(tree: Tree, choose: Choose): string {
  if (tree.kind === 'not') {
    const text = print(tree.term, choose)
    // NOT binds more tightly than AND and OR.
    const term = 'terms' in tree.term ? group(text, choose) : text
    return `${oneOf(['NOT', 'not', 'nOt'], choose)}${someBlank(choose)}${term}`
  }
  if (!('terms' in tree)) return perhapsGrouped(printCondition(tree, choose), choose)
  const connective = tree.kind === 'and' ? oneOf(['AND', 'and', 'aNd', '&&'], choose) : orConnective(choose)
  // Words need blanks, symbols do not.
  const space = () => (/\w/.test(connective) ? someBlank(choose) : blank(choose))
  const terms = tree.terms.map((term) => {
    // An AND needs no parentheses next to OR. A parenthesized group remains a term of its own.
    const needsGroup = 'terms' in term && !(tree.kind === 'or' && term.kind === 'and')
    const text = print(term, choose)
    return needsGroup ? group(text, choose) : text
  })
  return terms.reduce((text, term) => text + space() + connective + space() + term)
}

function printCondition(condition: Condition, choose: Choose): string {
  const name = printName(condition.column, choose)
  if (condition.kind === 'in') {
    const values = condition.values.map(
      (value) => blank(choose) + printLiteral(value, choose) + blank(choose),
    )
    const not = printNot(condition.isNegated, choose)
    return `${name}${someBlank(choose)}${not}${oneOf(['IN', 'in', 'In'], choose)}${blank(choose)}(${values.join(',')})`
  }
  if (condition.kind === 'between') {
    const words = [
      `${name}${someBlank(choose)}${printNot(condition.isNegated, choose)}${oneOf(['BETWEEN', 'between'], choose)}`,
      printLiteral(condition.low, choose),
      oneOf(['AND', 'and'], choose),
      printLiteral(condition.high, choose),
    ]
    return words.reduce((text, word) => text + someBlank(choose) + word)
  }
  if (condition.value === null && choose(2) === 1) {
    const words = [name, 'IS', ...(condition.operator === '=' ? [] : ['not']), 'Null']
    return words.reduce((text, word) => text + someBlank(choose) + word)
  }
  const value = printLiteral(condition.value, choose)
  return `${name}${blank(choose)}${condition.operator}${blank(choose)}${value}`
}

function printNot(isNegated: boolean, choose: Choose): string {
  return isNegated ? `${oneOf(['NOT', 'not'], choose)}${someBlank(choose)}` : ''
}

/** Words that are no names; `not` only before a condition of its own column. */
const keywords = /^(and|or|in|true|false|null|not)$/i

function printName(name: string, choose: Choose): string {
  const isPlain = /^[\p{L}_][\p{L}\p{M}\p{N}_.$]*$/u.test(name) && !keywords.test(name)
  return isPlain && choose(2) === 0 ? name : `"${name.replaceAll('"', '""')}"`
}

function printLiteral(value: Literal, choose: Choose): string {
  if (value === null) return oneOf(['null', 'NULL', 'Null'], choose)
  const bare = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value)
  if (bare && choose(2) === 0) return value
  if ((value === 'true' || value === 'false') && choose(2) === 0) {
    return oneOf([value, value.toUpperCase()], choose)
  }
  return `'${Array.from(value, (character) => printCharacter(character, choose)).join('')}'`
}

function printCharacter(character: string, choose: Choose): string {
  if (character === "'") return oneOf(["''", "\\'"], choose)
  if (character === '\\') return '\\\\'
  return choose(9) === 8 ? `\\${character}` : character
}

function perhapsGrouped(text: string, choose: Choose): string {
  return choose(4) === 3 ? group(text, choose) : text
}

function group(text: string, choose: Choose): string {
  return `(${blank(choose)}${text}${blank(choose)})`
}

function orConnective(choose: Choose): string {
  return oneOf(['OR', 'or', 'oR', '||'], choose)
}

function blank(choose: Choose): string {
  return oneOf(['', ' ', '  ', '\t', '\n', '\u00a0'], choose)
}

function someBlank(choose: Choose): string {
  return oneOf([' ', '  ', '\t', '\r\n'], choose)
}

function oneOf(options: readonly string[], choose: Choose): string {
  return options[choose(options.length)] ?? ''
}

/** Parts of filters, and texts that have broken parsers before. */
const fragments = [
  ...["'", "''", "\\'", '\\', '"', '""', '(', ')', ',', '--', '/*', '*/', ';', '$1', '$$', '%', '&', '|'],
  ...['&&', '||', 'AND', 'or', 'NOT', 'IN', 'in (', 'null', 'TRUE', '=', '!=', '<>', '==', '<=', '!~', '~*'],
  ...['!~*', '->', '->>', "->'a'", '->0', 'IS', 'IS NOT NULL', 'NOT IN', 'BETWEEN', 'CONTAINS', 'OVERLAPS'],
  ...['ADJACENT', 'MATCHES', '.', 'id.id', '"id".', '."id"'],
  ...['\0', '\u2019', '\ufeff', '\u202e', '\ud800', '😀', '١', '1e400', '-0', '0x1F', '1_000', '1.', '.5'],
  ...[
    '+1',
    '1e',
    '99999999999999999999',
    'id',
    ' id ',
    'id=1',
    "s='x'",
    '::int',
    '(select 1)',
    'now()',
    '{}',
  ],
]

/** Texts that are hardly ever filters. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 60 }),
  anyUnits({ maxLength: 30 }),
  fc.string({ maxLength: 30, unit: 'grapheme' }),
  fc.array(fc.constantFrom(...fragments), { maxLength: 12 }).map((parts) => parts.join('')),
  fc.array(fc.constantFrom(...fragments), { maxLength: 12 }).map((parts) => parts.join(' ')),
)

/** Mutates texts of filters. */
export function mutated(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.nat(400),
    remove: fc.nat(6),
    insert: fc.oneof(fc.constantFrom(...fragments), fc.string({ maxLength: 3 })),
  })
  return fc.tuple(text, fc.array(edit, { minLength: 1, maxLength: 3 })).map(([start, edits]) =>
    edits.reduce((current, { at, remove, insert }) => {
      const position = at % (current.length + 1)
      return current.slice(0, position) + insert + current.slice(position + remove)
    }, start),
  )
}
