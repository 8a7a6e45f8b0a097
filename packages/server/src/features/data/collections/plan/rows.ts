import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { RowsQuery } from '../parse/rows.ts'
import { planFilter, relationsOfFilter } from './filter.ts'
import type { FilterPlan } from './filter-plan.ts'
import type { Reader } from './reader.ts'
import { planSearch, type SearchDefinitions, type SearchPlan } from './search.ts'
import { planSpatial, type SpatialPlan } from './spatial.ts'

/**
 * Rows of a relation that a request reads. Every condition holds for them. Every read of them (the page, its total,
 * …) starts from the same value, so that no condition can be left out of one.
 */
export interface RowsPlan {
  readonly relation: Relation
  readonly conditions: readonly RowCondition[]
}

export type RowCondition =
  | { readonly kind: 'filter'; readonly filter: FilterPlan }
  | { readonly kind: 'search'; readonly search: SearchPlan }
  | { readonly kind: 'spatial'; readonly spatial: SpatialPlan }

/** Context in which a request is planned. */
export interface PlanContext {
  readonly catalog: Catalog
  readonly reader: Reader
  readonly searches: SearchDefinitions
  /** True if rows are found without the search indexes, for callers who may read few rows. */
  readonly isDirect?: boolean
}

/** @throws AppError naming the parameter */
export function planRows(
  { catalog, reader, searches, isDirect = false }: PlanContext,
  relation: Relation,
  { filter, search, spatial = [] }: RowsQuery,
): RowsPlan {
  const conditions: RowCondition[] = []
  if (filter !== undefined) {
    conditions.push({
      kind: 'filter',
      filter: planFilter({ catalog, reader, language: searches.config }, relation, filter),
    })
  }
  for (const each of planSpatial({ catalog, reader }, relation, spatial)) {
    conditions.push({ kind: 'spatial', spatial: each })
  }
  if (search !== undefined) {
    const planned = planSearch(catalog, relation, search, reader, searches)
    conditions.push({ kind: 'search', search: isDirect ? { ...planned, candidates: undefined } : planned })
  }
  return { relation, conditions }
}

/** Returns the relations that are read to find the rows: their own, and those of the conditions. */
export function relationsOfRows({ relation, conditions }: RowsPlan): readonly Relation[] {
  return [
    relation,
    ...conditions.flatMap((condition) =>
      condition.kind === 'filter' ? relationsOfFilter(condition.filter) : [],
    ),
  ]
}

/** Returns the search among the conditions. */
export function searchOf({ conditions }: RowsPlan): SearchPlan | undefined {
  return conditions.find((condition) => condition.kind === 'search')?.search
}
