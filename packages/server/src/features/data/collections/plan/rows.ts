import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { Filter } from '../parse/filter.ts'
import type { SpatialFilter } from '../parse/spatial.ts'
import { type FilterPlan, planFilter } from './filter.ts'
import { planSpatial, type SpatialPlan } from './spatial.ts'

/**
 * Which rows of a relation a request reads: those for which every condition holds. Everything that is read of them
 * (the page, its total, …) starts from the same value, so that no condition can be left out of one.
 */
export interface RowsPlan {
  readonly relation: Relation
  readonly conditions: readonly RowCondition[]
}

export type RowCondition =
  | { readonly kind: 'filter'; readonly filter: FilterPlan }
  | { readonly kind: 'spatial'; readonly spatial: SpatialPlan }

/** What of a query string restricts the rows. */
export interface RowsQuery {
  readonly filter: Filter | undefined
  readonly spatial: readonly SpatialFilter[]
}

/** @throws AppError naming the parameter */
export function planRows(catalog: Catalog, relation: Relation, { filter, spatial }: RowsQuery): RowsPlan {
  const conditions: RowCondition[] = []
  if (filter !== undefined) conditions.push({ kind: 'filter', filter: planFilter(relation, filter) })
  for (const plan of planSpatial(catalog, relation, spatial))
    conditions.push({ kind: 'spatial', spatial: plan })
  return { relation, conditions }
}
