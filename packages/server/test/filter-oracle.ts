import fc from 'fast-check'
import { quoteIdentifier, quoteLiteral } from '../src/database/sql.ts'
import type { Operator } from '../src/features/data/collections/parse/tokens.ts'
import type { Condition, Literal, Tree } from './filter-grammar.ts'

/**
 * Table whose values are known by their order, and the result of a filter on it by the rules of SQL: `true`, `false`,
 * or `undefined` for unknown.
 */

export interface OracleColumn {
  readonly name: string
  /** SQL type, with a collation if necessary. */
  readonly type: string
  /** Classes of equal values in ascending order, each with its spellings. */
  readonly classes: readonly (readonly string[])[]
  readonly operators: readonly Operator[]
}

/** Row with the index of the value's class per column, or null. */
export interface OracleRow {
  readonly id: number
  readonly owner: string | null
  readonly values: ReadonlyMap<string, { readonly text: string; readonly rank: number } | null>
}

const equality: readonly Operator[] = ['=', '!=']
const ordered: readonly Operator[] = [...equality, '>', '>=', '<', '<=']
const patterned: readonly Operator[] = [...ordered, '~', '!~', '~*', '!~*']

/** Texts in the order of their bytes, by which the collation "C" compares. */
const texts = ['', ' ', '%', "'", "''", '0', 'A', 'B', '\\', '_', 'a', "a'b", 'ab', 'b', 'null', 'é', '😀']

export const oracleColumns: readonly OracleColumn[] = [
  {
    name: 'i',
    type: 'int',
    classes: [['-2147483648'], ['-1'], ['0', '-0', '00'], ['1', '01'], ['42'], ['2147483647']],
    operators: ordered,
  },
  {
    name: 'b',
    type: 'bigint',
    classes: [
      ...[['-9223372036854775808'], ['0', '-0'], ['9007199254740992'], ['9007199254740993']],
      ['9223372036854775807'],
    ],
    operators: ordered,
  },
  {
    name: 'n',
    type: 'numeric',
    classes: [
      ...[['-Infinity'], ['-0.1', '-1e-1'], ['0', '0.00', '-0', '0e5'], ['0.1', '0.10', '1e-1']],
      ...[['1', '1.0'], ['9007199254740993', '9007199254740993.0'], ['9007199254740993.000000000001']],
      ...[['1e400', `1${'0'.repeat(400)}`], ['Infinity'], ['NaN']],
    ],
    operators: ordered,
  },
  {
    name: 'f',
    type: 'float8',
    classes: [
      ...[['-Infinity'], ['-0.5'], ['0', '-0', '0.0'], ['0.1', '1e-1'], ['1e308'], ['Infinity'], ['NaN']],
    ],
    operators: ordered,
  },
  { name: 's', type: 'text collate "C"', classes: texts.map((text) => [text]), operators: patterned },
  {
    name: 'a "b" c.d',
    type: 'varchar(20) collate "C"',
    classes: texts.map((text) => [text]),
    operators: patterned,
  },
  {
    name: 'padded',
    type: 'char(3) collate "C"',
    classes: [
      ['', ' ', '   '],
      ['A', 'A '],
      ['a', 'a  '],
      ['ab', 'ab '],
    ],
    operators: ordered,
  },
  {
    name: 'null',
    type: 'bool',
    classes: [
      ['false', 'f', '0', 'no', 'off'],
      ['true', 't', '1', 'yes', 'on'],
    ],
    operators: ordered,
  },
  {
    name: 'at',
    type: 'timestamptz',
    classes: [
      ...[['-infinity'], ['0044-03-15 00:00:00+00 BC'], ['1970-01-01T00:00:00Z', '1970-01-01 01:00:00+01']],
      ...[['2026-01-02T03:04:05.000001Z'], ['2026-01-02T03:04:05.000002Z', '2026-01-02 03:04:05.000002']],
      ...[['294276-12-31T23:59:59.999999Z'], ['infinity']],
    ],
    operators: ordered,
  },
  {
    name: 'Día',
    type: 'date',
    classes: [['-infinity'], ['0001-01-01 BC'], ['2026-02-28', '20260228'], ['2026-03-01'], ['infinity']],
    operators: ordered,
  },
  {
    name: 'u',
    type: 'uuid',
    classes: [
      ['00000000-0000-0000-0000-000000000000'],
      ['a11ce000-0000-4000-8000-000000000001', 'A11CE000-0000-4000-8000-000000000001'],
      ['b0b00000-0000-4000-8000-000000000002', '{b0b00000000040008000000000000002}'],
    ],
    operators: ordered,
  },
  { name: 'mood', type: 'mood', classes: [['sad'], ['ok'], ["it's"], ['happy']], operators: ordered },
  {
    name: 'tags',
    type: 'int[]',
    classes: [['{}'], ['{1}'], ['{1,2}', '{1, 2}'], ['{1,NULL}'], ['{2}']],
    operators: ordered,
  },
  {
    name: 'doc',
    type: 'jsonb',
    classes: [['null'], ['"null"'], ['1', '1.0'], ['true'], ['{"a": 1, "b": 2}', '{"b":2,"a":1.0}'], ['[]']],
    operators: equality,
  },
  { name: 'pair', type: 'pair', classes: [['(1,a)'], ['(1,b)'], ['(1,)'], ['(2,a)']], operators: ordered },
  {
    name: 'span',
    type: 'int4range',
    classes: [['empty'], ['(,1)'], ['[1,2)', '[1,1]'], ['[1,3)', '(0,2]'], ['[2,3)'], ['[2,)']],
    operators: ordered,
  },
  {
    name: 'wait',
    type: 'interval',
    classes: [
      ['P-1D', '-1 day'],
      ['PT0S', '0'],
      ['PT1H', '1 hour', '60 minutes'],
      ['P1D', 'PT24H'],
      ['P1M', '30 days'],
    ],
    operators: ordered,
  },
  {
    name: 'kind',
    type: 'regtype',
    classes: [
      ['boolean', '16'],
      ['bytea', '17'],
      ['integer', 'int4', '23'],
      ['text', '25'],
    ],
    operators: ordered,
  },
]

const byName = new Map(oracleColumns.map((column) => [column.name, column]))

/** Makes rows that hold every value of every column, and NULLs, unordered; the same rows each time. */
export function oracleRows(count: number, owners: readonly (string | null)[]): OracleRow[] {
  const random = pseudoRandom(20_260_102)
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    owner: owners[random(owners.length)] ?? null,
    values: new Map(
      oracleColumns.map(({ name, classes }) => {
        const rank = random(classes.length + 2)
        const spellings = classes[rank]
        return [
          name,
          spellings === undefined ? null : { rank, text: spellings[random(spellings.length)] ?? '' },
        ]
      }),
    ),
  }))
}

/** Creates the table with these rows. Callers see their own. */
export function oracleTable(table: string, rows: readonly OracleRow[]): string {
  const columns = oracleColumns.map(({ name, type }) => `, ${quoteIdentifier(name)} ${type}`).join('')
  const tuples = rows.map(({ id, owner, values }) => {
    const texts = [...values.values()].map((value) => (value === null ? 'null' : quoteLiteral(value.text)))
    return `(${[id, owner === null ? 'null' : quoteLiteral(owner), ...texts].join(', ')})`
  })
  return `
    create table ${table} (id int primary key, owner text${columns});
    insert into ${table} values ${tuples.join(',\n')};
    alter table ${table} enable row level security;
    create policy own on ${table} using (owner = current_setting('basalt.user_id', true));`
}

/** Statements that create the types of the table. */
export const oracleTypes = `
  create type mood as enum ('sad', 'ok', 'it''s', 'happy');
  create type pair as (a int, b text collate "C");`

/** Conditions that the columns of the table support. */
export const oracleCondition: fc.Arbitrary<Condition> = fc.constantFrom(...oracleColumns).chain((column) =>
  fc.oneof(
    { weight: 4, arbitrary: comparison(column) },
    { weight: 1, arbitrary: membership(column) },
    // Unordered values have no interval.
    { weight: column.operators.includes('<') ? 1 : 0, arbitrary: interval(column) },
  ),
)

function comparison({ name, classes, operators }: OracleColumn): fc.Arbitrary<Condition> {
  const value = fc.constantFrom(...classes.flat())
  return fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom('=', '!=').map((operator) => compare(name, operator, null)) },
    {
      weight: 5,
      arbitrary: fc
        .constantFrom(...operators)
        .chain((operator) =>
          (operator.includes('~') ? pattern : value).map((text) => compare(name, operator, text)),
        ),
    },
  )
}

function membership({ name, classes }: OracleColumn): fc.Arbitrary<Condition> {
  const value = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...classes.flat()) },
    { weight: 1, arbitrary: fc.constant(null) },
  )
  return fc
    .tuple(fc.boolean(), fc.array(value, { minLength: 1, maxLength: 4 }))
    .map(([isNegated, values]) => ({ kind: 'in', column: name, isNegated, values }))
}

function interval({ name, classes }: OracleColumn): fc.Arbitrary<Condition> {
  const value = fc.constantFrom(...classes.flat())
  return fc
    .tuple(fc.boolean(), value, value)
    .map(([isNegated, low, high]) => ({ kind: 'between', column: name, isNegated, low, high }))
}

const pattern = fc
  .array(fc.constantFrom('%', '_', '\\%', '\\_', '\\\\', 'a', 'A', "'", 'b', ' ', 'é', '😀'), {
    maxLength: 4,
  })
  .map((parts) => parts.join(''))

function compare(column: string, operator: Operator, value: Literal): Condition {
  return { kind: 'compare', column, operator, value }
}

export type Truth = boolean | undefined

/** Evaluates the tree on this row. */
export function evaluate(tree: Tree, row: OracleRow): Truth {
  if ('terms' in tree) {
    const truths = tree.terms.map((term) => evaluate(term, row))
    // One false decides an AND, one true an OR. Otherwise one unknown makes the result unknown.
    const decisive = tree.kind === 'or'
    if (truths.includes(decisive)) return decisive
    return truths.includes(undefined) ? undefined : !decisive
  }
  if (tree.kind === 'not') return opposite(evaluate(tree.term, row))
  if (tree.kind === 'in') {
    const truths = tree.values.map((value) => holds(tree.column, '=', value, row))
    const found = truths.includes(true) ? true : truths.includes(undefined) ? undefined : false
    return tree.isNegated ? opposite(found) : found
  }
  if (tree.kind === 'between') {
    // A NULL makes both sides unknown, so neither can decide without the other.
    const isAbove = holds(tree.column, '>=', tree.low, row)
    const isBelow = holds(tree.column, '<=', tree.high, row)
    const found = isAbove === undefined || isBelow === undefined ? undefined : isAbove && isBelow
    return tree.isNegated ? opposite(found) : found
  }
  if (tree.value === null) {
    const isNull = storedValue(tree.column, row) === null
    return tree.operator === '=' ? isNull : !isNull
  }
  return holds(tree.column, tree.operator, tree.value, row)
}

function opposite(truth: Truth): Truth {
  return truth === undefined ? undefined : !truth
}

function holds(column: string, operator: Operator, literal: Literal, row: OracleRow): Truth {
  const value = storedValue(column, row)
  if (value === null || literal === null) return undefined
  if (operator === '~' || operator === '!~') return isLike(value.text, literal) === (operator === '~')
  if (operator === '~*' || operator === '!~*') {
    return isLike(value.text.toLowerCase(), literal.toLowerCase()) === (operator === '~*')
  }
  const difference = value.rank - rankOf(column, literal)
  switch (operator) {
    case '=':
      return difference === 0
    case '!=':
      return difference !== 0
    case '>':
      return difference > 0
    case '>=':
      return difference >= 0
    case '<':
      return difference < 0
    case '<=':
      return difference <= 0
  }
}

function storedValue(column: string, row: OracleRow) {
  const value = row.values.get(column)
  if (value === undefined) throw new Error(`no column ${column}`)
  return value
}

function rankOf(column: string, literal: string): number {
  const rank = byName.get(column)?.classes.findIndex((spellings) => spellings.includes(literal)) ?? -1
  if (rank === -1) throw new Error(`${column} has no value ${literal}`)
  return rank
}

/** Evaluates LIKE: `%` matches any text, `_` any character, and a backslash escapes the next one. */
export function isLike(text: string, patternText: string): boolean {
  const source = Array.from(patternText.matchAll(/\\([\s\S])|%|_|[\s\S]/gu), ([part, escaped]) => {
    if (escaped !== undefined) return escapePattern(escaped)
    if (part === '%') return '[^]*'
    return part === '_' ? '[^]' : escapePattern(part)
  })
  return new RegExp(`^${source.join('')}$`, 'u').test(text)
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/** Negates a tree by De Morgan's laws, without NOT where the grammar has another way to write it. */
export function negate(tree: Tree): Tree {
  if ('terms' in tree) return { kind: tree.kind === 'and' ? 'or' : 'and', terms: tree.terms.map(negate) }
  switch (tree.kind) {
    case 'not':
      return tree.term
    case 'in':
    case 'between':
      return { ...tree, isNegated: !tree.isNegated }
    case 'compare':
      return { ...tree, operator: opposites[tree.operator] }
  }
}

const opposites: Readonly<Record<Operator, Operator>> = {
  '=': '!=',
  '!=': '=',
  '>': '<=',
  '<=': '>',
  '<': '>=',
  '>=': '<',
  '~': '!~',
  '!~': '~',
  '~*': '!~*',
  '!~*': '~*',
}

/** Makes a linear congruential generator of numbers below a limit; the seed determines the sequence. */
function pseudoRandom(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}
