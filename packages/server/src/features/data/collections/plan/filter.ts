import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { Filter, Literal } from '../parse/filter.ts'
import { filterFault } from '../parse/filter-fault.ts'
import type { Operator } from '../parse/tokens.ts'
import { findTextFault } from '../parse/values.ts'

/** A filter whose columns exist and whose operators apply to their types. */
export type FilterPlan =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly FilterPlan[] }
  | { readonly kind: 'compare'; readonly column: Column; readonly operator: Operator; readonly value: string }
  | { readonly kind: 'null'; readonly column: Column; readonly isNegated: boolean }
  | { readonly kind: 'in'; readonly column: Column; readonly values: readonly Literal[] }

/** @throws AppError invalid_filter, with the position */
export function planFilter(relation: Relation, filter: Filter): FilterPlan {
  if ('terms' in filter) {
    return { kind: filter.kind, terms: filter.terms.map((term) => planFilter(relation, term)) }
  }
  const column = relation.column.get(filter.column)
  if (column === undefined) {
    const { column: name, position } = filter
    throw collectionErrors.unknownFilterColumn(name, position).with({ data: { position } })
  }
  if (filter.kind === 'in') {
    requireOperator(column, '=', filter.position)
    for (const value of filter.values) requireFit(column, value ?? '', filter.position)
    return { kind: 'in', column, values: filter.values }
  }
  const { operator, value, position } = filter
  if (value === null) return { kind: 'null', column, isNegated: operator === '!=' }
  requireOperator(column, operator, position)
  requireFit(column, value, position)
  return { kind: 'compare', column, operator, value }
}

/** What is no value of the column would be compared as another one. */
function requireFit(column: Column, value: string, position: number): void {
  const fault = findTextFault(column, value)
  if (fault !== undefined) throw filterFault(position, `${column.name}: ${fault}`)
}

function requireOperator(column: Column, operator: Operator, position: number): void {
  const { type } = column
  const applies =
    operator === '~' || operator === '!~'
      ? type.isText
      : operator === '=' || operator === '!='
        ? type.hasEquality
        : type.hasOrder
  if (!applies) {
    throw filterFault(
      position,
      `operator ${operator} does not apply to ${column.name}, which is ${column.typeName},`,
    )
  }
}
