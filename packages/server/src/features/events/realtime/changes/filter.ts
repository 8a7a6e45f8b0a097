import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { compileComparison, findTextFault, maySelect, type Reader } from '../../../data/collections/index.ts'
import { realtimeErrors } from '../errors.ts'
import type { Condition, FilterOperator } from './parse-filter.ts'

/** A filter of one table, whose columns exist and whose operators apply to their types. */
export interface Filter {
  /** The same for filters that mean the same. */
  readonly key: string
  /** The same for filters that differ in their values only: those are decided by one statement. */
  readonly shape: string
  readonly conditions: readonly PlannedCondition[]
}

interface PlannedCondition {
  readonly column: string
  readonly operator: FilterOperator
  /** As a text; an array literal for `in`. */
  readonly value: string
}

/**
 * @param reader whose columns it may name
 * @throws AppError invalid_stream_filter
 */
export function planFilter(relation: Relation, conditions: readonly Condition[], reader: Reader): Filter {
  const planned = conditions.map(({ column: name, operator, values }): PlannedCondition => {
    const column = relation.column.get(name)
    if (column === undefined || !maySelect(column, reader)) {
      throw realtimeErrors.invalidStreamFilter(`unknown column: ${name}`)
    }
    if (!applies(operator, column)) {
      throw realtimeErrors.invalidStreamFilter(
        `${operator} does not apply to ${name}, which is ${column.typeName}`,
      )
    }
    for (const value of values) {
      const fault = findTextFault(column, value)
      if (fault !== undefined) throw realtimeErrors.invalidStreamFilter(`${name}: ${fault}`)
    }
    return { column: name, operator, value: operator === 'in' ? arrayLiteral(values) : (values[0] ?? '') }
  })
  const shape = JSON.stringify(planned.map(({ column, operator }) => [column, operator]))
  return { key: JSON.stringify(planned), shape, conditions: planned }
}

function applies(operator: FilterOperator, { type }: Column): boolean {
  if (operator === 'eq' || operator === 'neq') return type.hasEquality
  // An array of arrays is one array of more dimensions, and one of boxes is written with semicolons.
  if (operator === 'in') return type.hasEquality && type.element === undefined && type.base !== 'box'
  return type.hasOrder
}

const operators = { eq: '=', neq: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

/**
 * Whether the row `alias` passes the filters of a shape, whose values are the columns `v0`, `v1`, … of `values`, as
 * texts.
 */
export function compileConditions(relation: Relation, filter: Filter, alias: string, values: string): Sql {
  return sql.join(
    filter.conditions.map(({ column: name, operator }, index) => {
      const type = relation.column.get(name)?.type
      const target = sql.id(alias, name)
      const value = compileValue(relation, name, operator, sql.id(values, `v${index}`))
      return operator === 'in'
        ? compileComparison(type, target, '=', sql`any (${value})`)
        : compileComparison(type, target, operators[operator], value)
    }),
    sql` and `,
  )
}

/** Fails where the values are none of the columns' types, or cannot be compared. */
export function compileCheck(relation: Relation, { conditions }: Filter): Sql {
  const comparisons = conditions.map(({ column: name, operator, value }) => {
    const type = relation.column.get(name)?.type
    const left = compileValue(relation, name, operator === 'in' ? 'eq' : operator, sql`null::text`)
    const right = compileValue(relation, name, operator, sql`${value}::text`)
    return operator === 'in'
      ? compileComparison(type, left, '=', sql`any (${right})`)
      : // Equal to itself: what cannot be compared fails on two values, not on null.
        compileComparison(type, right, operators[operator], right)
  })
  return sql`select ${sql.join(comparisons.map((comparison) => sql`(${comparison}) is null`))}`
}

function compileValue(relation: Relation, name: string, operator: FilterOperator, text: Sql): Sql {
  const column = relation.column.get(name)
  if (column === undefined) throw new Error(`the table has no column ${name}`)
  const type = sql.type(column.type.name)
  return operator === 'in' ? sql`${text}::${type}[]` : sql`${text}::${type}`
}
