import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { Column } from '../../../../database/catalog/model.ts'
import { type Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { SetOperator } from '../parse/condition.ts'
import type { FilterPlan, Operand, SetValue, TestPlan } from '../plan/filter-plan.ts'
import { compileComparison } from './comparison.ts'
import { compileReference, relationName } from './record.ts'
import { searchedCharacters } from './search.ts'

/** A filter as a condition on the rows of `alias`. Every value is a parameter that takes the column's type. */
export function compileFilter(filter: FilterPlan, alias: string): Sql {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const terms = filter.terms.map((term) => compileFilter(term, alias))
      return sql`(${sql.join(terms, filter.kind === 'and' ? sql` and ` : sql` or `)})`
    }
    case 'not':
      return sql`not (${compileFilter(filter.term, alias)})`
    case 'related':
      return compileRelated(filter, alias)
    default:
      return compileTest(filter, alias)
  }
}

function compileRelated(
  { relationship, from, relation, condition }: FilterPlan & { kind: 'related' },
  alias: string,
): Sql {
  const related = `${alias}x`
  const reference = compileReference(from, relationship, relation, alias, related)
  return sql`exists (
    select from ${relationName(relation)} ${sql.id(related)}
    where ${reference} and ${compileFilter(condition, related)}
  )`
}

function compileTest(test: TestPlan, alias: string): Sql {
  const { operand } = test
  const target = compileOperand(operand, alias)
  const column = operand.as === 'column' ? operand.column : undefined
  switch (test.kind) {
    case 'compare':
      return compileComparison(column?.type, target, test.operator, bindBeside(operand, test.value))
    case 'null':
      return compileNullTest(target, column, test.isNegated)
    case 'in':
      return compileMembership(target, operand, test.values)
    case 'set':
      return sql`${target} ${setOperators[test.operator]} ${compileSet(operand, test.value)}`
    case 'matches':
      return compileMatch(target, column, test)
  }
}

/** Whether the target, of the column's type, is NULL; negated, whether it is not. */
export function compileNullTest(target: Sql, column: Column | undefined, isNegated: boolean): Sql {
  // `row(null, null) is null` is true although the value is not NULL.
  if (column?.type.attributes !== undefined) {
    return isNegated ? sql`${target} is distinct from null` : sql`${target} is not distinct from null`
  }
  return isNegated ? sql`${target} is not null` : sql`${target} is null`
}

/** The value that is tested. Keys of JSON are parameters like all that a client writes. */
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

function compileMembership(target: Sql, operand: Operand, values: readonly (string | null)[]): Sql {
  const { column, as } = operand
  const type = as === 'column' ? column.type : undefined
  // An array of arrays is one array of more dimensions, and one of boxes is written with semicolons.
  if (type !== undefined && (type.element !== undefined || type.base === 'box' || needsCast(column))) {
    return sql`(${sql.join(
      values.map((value) => compileComparison(type, target, '=', bind(column, value))),
      sql` or `,
    )})`
  }
  // One parameter whatever the number of values, so that the statement stays the same.
  return compileComparison(type, target, '=', sql`any (${arrayLiteral(values)})`)
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

function bindBeside({ column, as }: Operand, value: string): Sql {
  return as === 'column' ? bind(column, value) : sql`${value}`
}

/** A value as a parameter that takes the column's type. */
export function bind(column: Column, value: string | null | Slot): Sql {
  return needsCast(column) ? sql`${value}::${sql.type(column.type.name)}` : sql`${value}`
}

/**
 * Beside a column a parameter takes the type of the operator: for a row that is the row of no particular type, and
 * for `regclass` and kin a number, neither of which can be read from the text of a value.
 */
function needsCast({ type }: Column): boolean {
  return type.attributes !== undefined || type.base.startsWith('reg')
}
