import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { Column } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Literal } from '../parse/filter.ts'
import type { FilterPlan } from '../plan/filter.ts'
import { compileComparison } from './comparison.ts'

/** A filter as a condition on the rows of `alias`. Every value is a parameter that takes the column's type. */
export function compileFilter(filter: FilterPlan, alias: string): Sql {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const terms = filter.terms.map((term) => compileFilter(term, alias))
      return sql`(${sql.join(terms, filter.kind === 'and' ? sql` and ` : sql` or `)})`
    }
    case 'compare': {
      const { column, operator, value } = filter
      return compileComparison(column.type, sql.id(alias, column.name), operator, bind(column, value))
    }
    case 'null':
      return compileNullTest(sql.id(alias, filter.column.name), filter.column, filter.isNegated)
    case 'in':
      return compileMembership(filter, alias)
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

function compileMembership({ column, values }: FilterPlan & { kind: 'in' }, alias: string): Sql {
  const target = sql.id(alias, column.name)
  // An array of arrays is one array of more dimensions, and one of boxes is written with semicolons.
  if (column.type.element !== undefined || column.type.base === 'box' || needsCast(column)) {
    return sql`(${sql.join(
      values.map((value) => compileComparison(column.type, target, '=', bind(column, value))),
      sql` or `,
    )})`
  }
  // One parameter whatever the number of values, so that the statement stays the same.
  // One parameter whatever the number of values, so that the statement stays the same.
  return compileComparison(column.type, target, '=', sql`any (${arrayLiteral(values)})`)
}

/** A value as a parameter that takes the column's type. */
export function bind(column: Column, value: Literal): Sql {
  return needsCast(column) ? sql`${value}::${sql.type(column.type.name)}` : sql`${value}`
}

/**
 * Beside a column a parameter takes the type of the operator: for a row that is the row of no particular type, and
 * for `regclass` and kin a number, neither of which can be read from the text of a value.
 */
function needsCast({ type }: Column): boolean {
  return type.attributes !== undefined || type.base.startsWith('reg')
}
