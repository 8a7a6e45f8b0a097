import type { Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { ListQuery } from '../parse/list-query.ts'
import { type FacetsPlan, planFacets } from './facets.ts'
import { type OrderKey, planOrder, requireSameOrder } from './order.ts'
import { planRecord, type RecordPlan, relationsOf } from './record.ts'
import { type PlanContext, planRows, type RowsPlan, relationsOfRows, searchOf } from './rows.ts'
import { requireHighlightable, type SearchPlan } from './search.ts'
import { type DistancePlan, planDistance } from './spatial.ts'

export interface ListPlan {
  readonly record: RecordPlan
  readonly rows: RowsPlan
  readonly order: readonly OrderKey[]
  /** What records are sorted by and show as `_distance`. */
  readonly distance: DistancePlan | undefined
  /** What is highlighted in each record; undefined: nothing. */
  readonly highlight: SearchPlan | undefined
  readonly perPage: number
  readonly paging: ListQuery['paging']
  readonly facets: FacetsPlan | undefined
}

/** What is answered at most, by the configuration. */
export interface ReadLimits {
  readonly maxFacetBuckets: number
  readonly aggregateEnabled: boolean
  readonly maxGroups: number
}

/** @throws AppError naming the parameter */
export function planList(
  context: PlanContext,
  relation: Relation,
  query: ListQuery,
  { maxFacetBuckets }: ReadLimits,
): ListPlan {
  const rows = planRows(context, relation, query)
  const search = searchOf(rows)
  if (query.search?.hasHighlight === true) requireHighlightable(relation)
  const facets = query.facets && planFacets(rows, query.facets, context.reader, maxFacetBuckets)
  const distance = query.distance && planDistance(context, relation, query.distance)
  const order = planOrder(relation, query.sort, context.reader, { search, distance })
  if (query.paging.kind === 'cursor') {
    if (!order.isTotal) {
      throw collectionErrors.invalidParameter(
        `cursor: "${relation.collection}" has no readable key that could tell its rows apart; use page`,
      )
    }
    if (query.paging.after !== undefined) requireSameOrder(order.keys, query.paging.after)
  }
  return {
    record: planRecord(context.catalog, relation, query, context.reader),
    rows,
    order: order.keys,
    distance,
    highlight: query.search?.hasHighlight === true ? search : undefined,
    perPage: query.perPage,
    paging: query.paging,
    facets,
  }
}

/** Every relation that the list reads. */
export function relationsOfList({ record, rows }: Pick<ListPlan, 'record' | 'rows'>): readonly Relation[] {
  return [...new Set([...relationsOf(record), ...relationsOfRows(rows)])]
}
