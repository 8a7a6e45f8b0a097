import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { Filter } from '../parse/filter.ts'
import { type FilterPlan, planFilter, relationsOfFilter } from './filter.ts'
import type { Reader } from './reader.ts'

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
export function planRows(
  catalog: Catalog,
  relation: Relation,
  { filter }: RowsQuery,
  reader: Reader,
): RowsPlan {
  const conditions: RowCondition[] = []
  if (filter !== undefined) {
    conditions.push({ kind: 'filter', filter: planFilter(catalog, relation, filter, reader) })
  }
  return { relation, conditions }
}

/** The relations that are read to find the rows: their own, and those that conditions follow. */
export function relationsOfRows({ relation, conditions }: RowsPlan): readonly Relation[] {
  return [relation, ...conditions.flatMap(({ filter }) => relationsOfFilter(filter))]
}
