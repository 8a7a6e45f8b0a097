import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { Column } from '../../../../database/catalog/model.ts'
import { type Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { SetOperator } from '../parse/condition.ts'
import type { FilterPlan, Operand, SetValue, TestPlan } from '../plan/filter-plan.ts'
import { compileComparison } from './comparison.ts'
import { compileReference, relationName } from './relation.ts'
import { searchedCharacters } from './search.ts'

/** Form in which compared values enter a statement. */
export interface BoundValues {
  one(operand: Operand, value: string | null): Sql
  /** Compiles the values as an array. */
  list(operand: Operand, values: readonly (string | null)[]): Sql
}

/** Values as parameters, each of which gets the type of the operator beside it. */
const parameters: BoundValues = {
  one: ({ column, as }, value) => (as === 'column' ? bind(column, value) : sql`${value}`),
  // The list is one parameter, whatever the number of values, so that the statement stays the same.
  list: (_, values) => sql`${arrayLiteral(values)}`,
}

/** Compiles a filter as a condition on the rows of `alias`. */
export function compileFilter(filter: FilterPlan, alias: string, bound: BoundValues = parameters): Sql {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      if (filter.terms.length === 0) return filter.kind === 'and' ? sql`true` : sql`false`
      const terms = filter.terms.map((term) => compileFilter(term, alias, bound))
      return sql`(${sql.join(terms, filter.kind === 'and' ? sql` and ` : sql` or `)})`
    }
    case 'not':
      return sql`not (${compileFilter(filter.term, alias, bound)})`
    case 'related':
      return compileRelated(filter, alias, bound)
    default:
      return compileTest(filter, alias, bound)
  }
}

function compileRelated(
  { relationship, from, relation, condition }: FilterPlan & { kind: 'related' },
  alias: string,
  bound: BoundValues,
): Sql {
  const related = `${alias}x`
  const reference = compileReference(from, relationship, relation, alias, related)
  return sql`exists (
    select from ${relationName(relation)} ${sql.id(related)}
    where ${reference} and ${compileFilter(condition, related, bound)}
  )`
}

function compileTest(test: TestPlan, alias: string, bound: BoundValues): Sql {
  const { operand } = test
  const target = compileOperand(operand, alias)
  const column = operand.as === 'column' ? operand.column : undefined
  switch (test.kind) {
    case 'compare':
      return compileComparison(column?.type, target, test.operator, bound.one(operand, test.value))
    case 'null':
      return compileNullTest(target, column, test.isNegated)
    case 'in':
      return compileMembership(target, operand, test.values, bound)
    case 'set':
      return sql`${target} ${setOperators[test.operator]} ${compileSet(operand, test.value)}`
    case 'matches':
      return compileMatch(target, column, test)
  }
}

/** Compiles a test whether the target, of the column's type, is NULL, or is not NULL if negated. */
export function compileNullTest(target: Sql, column: Column | undefined, isNegated: boolean): Sql {
  // `row(null, null) is null` is true although the value is not NULL.
  if (column?.type.attributes !== undefined) {
    return isNegated ? sql`${target} is distinct from null` : sql`${target} is not distinct from null`
  }
  return isNegated ? sql`${target} is not null` : sql`${target} is null`
}

/** Compiles the tested value. Keys of JSON are parameters, as is everything that a client writes. */
function compileOperand({ column, keys, as }: Operand, alias: string): Sql {
  const arrows = keys.map((key, index) => {
    const arrow = as === 'text' && index === keys.length - 1 ? sql`->>` : sql`->`
    const type = typeof key === 'number' ? sql`int` : sql`text`
    return sql` ${arrow} ${String(key)}::${type}`
  })
  const target = sql`${sql.id(alias, column.name)}${sql.join(arrows, sql.empty)}`
  if (as === 'column') return target
  if (as !== 'number') return sql`(${target})`
  return sql`case when jsonb_typeof(${target}) = 'number' then (${target})::numeric end`
}

function compileMembership(
  target: Sql,
  operand: Operand,
  values: readonly (string | null)[],
  bound: BoundValues,
): Sql {
  const { column, as } = operand
  const type = as === 'column' ? column.type : undefined
  // An array of arrays is one array of more dimensions, and one of boxes is written with semicolons.
  if (type !== undefined && (type.element !== undefined || type.base === 'box' || needsCast(column))) {
    return sql`(${sql.join(
      values.map((value) => compileComparison(type, target, '=', bound.one(operand, value))),
      sql` or `,
    )})`
  }
  return compileComparison(type, target, '=', sql`any (${bound.list(operand, values)})`)
}

const setOperators: Readonly<Record<SetOperator, Sql>> = {
  contains: sql`@>`,
  overlaps: sql`&&`,
  adjacent: sql`-|-`,
}

function compileSet({ column, as }: Operand, value: SetValue): Sql {
  const { type } = column
  if (typeof value !== 'string' && type.element !== undefined) {
    return sql`${arrayLiteral(value)}::${sql.type(type.element.name)}[]`
  }
  return sql`${value}::${as === 'column' ? sql.type(type.name) : sql`jsonb`}`
}

function compileMatch(
  target: Sql,
  column: Column | undefined,
  { language, words }: TestPlan & { kind: 'matches' },
): Sql {
  const config = sql`${sql.literal(language)}::regconfig`
  const document =
    column?.type.base === 'tsvector'
      ? target
      : sql`to_tsvector(${config}, left(${target}::text, ${searchedCharacters}))`
  return sql`${document} @@ websearch_to_tsquery(${config}, ${words})`
}

/** Binds a value as a parameter that gets the column's type. */
export function bind(column: Column, value: string | null | Slot): Sql {
  return needsCast(column) ? sql`${value}::${sql.type(column.type.name)}` : sql`${value}`
}

/**
 * Returns whether a parameter needs a cast to the column's type. Beside a column a parameter gets the type of the
 * operator: for a row that is `record`, and for `regclass` and its kin a number. Neither can be read from the text of
 * a value.
 */
function needsCast({ type }: Column): boolean {
  return type.attributes !== undefined || type.base.startsWith('reg')
}
