import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { render, type Sql, sql } from '../../../../database/sql.ts'
import {
  type BoundValues,
  compileFilter,
  type FilterPlan,
  findTextFault,
  isComparable,
  maySelect,
  planTest,
  type Reader,
} from '../../../data/collections/index.ts'
import { realtimeErrors } from '../errors.ts'
import { type StreamCondition, textsOf, wordOf } from './parse-filter.ts'
import { Undecidable } from './verdict-failures.ts'

/** Filter of one table, whose columns exist and whose operators apply to their types. */
export interface Filter {
  /** Key that is equal for equivalent filters. */
  readonly key: string
  /** Shape that is equal for filters with different values only. One statement decides them. */
  readonly shape: string
  readonly conditions: readonly StreamCondition[]
  /** Values by which filters of one shape differ. */
  readonly values: readonly string[]
}

/**
 * Plans a filter.
 *
 * @param reader caller whose readable columns the filter may name
 * @throws AppError invalid_stream_filter
 */
export function planFilter(
  relation: Relation,
  conditions: readonly StreamCondition[],
  reader: Reader,
): Filter {
  for (const condition of conditions) requireFitting(relation, condition, reader)
  const { condition, values } = compileConditions(relation, conditions, relation.name)
  const shape = JSON.stringify(render(condition))
  return { key: JSON.stringify([shape, values]), shape, conditions, values }
}

/** Checks a condition where the collections have other messages or accept more. */
function requireFitting(relation: Relation, condition: StreamCondition, reader: Reader): void {
  const { column: name } = condition
  const column = relation.column.get(name)
  if (column === undefined || !maySelect(column, reader)) {
    throw realtimeErrors.invalidStreamFilter(`unknown column: ${name}`)
  }
  if (!applies(condition, column)) throw inapplicable(condition, column)
  for (const text of textsOf(condition)) {
    const fault = findTextFault(column, text)
    if (fault !== undefined) throw realtimeErrors.invalidStreamFilter(`${name}: ${fault}`)
  }
}

function applies(condition: StreamCondition, { type }: Column): boolean {
  if (condition.kind === 'compare') return isComparable(type, condition.operator)
  return isComparable(type, '=') && type.element === undefined && type.base !== 'box'
}

export function inapplicable(condition: StreamCondition, { name, typeName }: Column): Error {
  return realtimeErrors.invalidStreamFilter(
    `${wordOf(condition)} does not apply to ${name}, which is ${typeName}`,
  )
}

/** Alias of the values of filters of one shape: texts in the columns `v0`, `v1`, … */
export const valuesAlias = 'basalt filters'

/**
 * Compiles the conditions on the row `alias`, for the current table.
 *
 * @returns also the values, which are columns of {@link valuesAlias} in the condition
 * @throws Undecidable if the table lacks a column
 */
export function compileConditions(relation: Relation, conditions: readonly StreamCondition[], alias: string) {
  const values: string[] = []
  const bound = castValues((text) => sql.id(valuesAlias, `v${values.push(text) - 1}`))
  return { condition: compileFilter(planConditions(relation, conditions), alias, bound), values }
}

/** Compiles a query that fails if the value does not have the type of the column, or cannot be compared. */
export function compileCheck(relation: Relation, condition: StreamCondition, { name, type }: Column): Sql {
  // The value is compared with itself, because a value that cannot be compared fails on two values and not on null.
  const [value = ''] = textsOf(condition)
  const bound = castValues((text) => sql`${text}::text`)
  return sql`
    select ${compileFilter(planConditions(relation, [condition]), 'row', bound)}
    from (select ${value}::text::${sql.type(type.name)} as ${sql.id(name)}) ${sql.id('row')}`
}

function planConditions(relation: Relation, conditions: readonly StreamCondition[]): FilterPlan {
  const terms = conditions.map((condition) => {
    const column = relation.column.get(condition.column)
    if (column === undefined) throw new Undecidable(`the table has no column ${condition.column}`)
    // Stream filters have no MATCHES, the only operator that needs a language.
    return planTest(column, condition, '')
  })
  return { kind: 'and', terms }
}

/** Returns values with the type of the column itself. A parameter would have the type of the operator. */
function castValues(bind: (text: string) => Sql): BoundValues {
  return {
    one: ({ column }, value) => sql`${bind(value ?? '')}::${sql.type(column.type.name)}`,
    list: ({ column }, values) => sql`${bind(arrayLiteral(values))}::${sql.type(column.type.name)}[]`,
  }
}
