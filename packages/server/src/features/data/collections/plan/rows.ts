import type { Relation } from '../../../../database/catalog/model.ts'
import type { Filter } from '../parse/filter.ts'
import { type FilterPlan, planFilter } from './filter.ts'

/**
 * Which rows of a relation a request reads: those for which every condition holds. Everything that is read of them
 * (the page, its total, …) starts from the same value, so that no condition can be left out of one.
 */
export interface RowsPlan {
  readonly relation: Relation
  readonly conditions: readonly RowCondition[]
}

export type RowCondition = { readonly kind: 'filter'; readonly filter: FilterPlan }

/** What of a query string restricts the rows. */
export interface RowsQuery {
  readonly filter: Filter | undefined
}

/** @throws AppError naming the parameter */
export function planRows(relation: Relation, { filter }: RowsQuery): RowsPlan {
  return {
    relation,
    conditions: filter === undefined ? [] : [{ kind: 'filter', filter: planFilter(relation, filter) }],
  }
}
