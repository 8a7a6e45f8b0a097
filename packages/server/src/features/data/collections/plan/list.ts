import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { ListQuery } from '../parse/list-query.ts'
import { type FacetsPlan, planFacets } from './facets.ts'
import { type OrderKey, planOrder, relationsOfOrder, requireSameOrder } from './order.ts'
import { findsOwnRows } from './own-rows.ts'
import { planRecord, type RecordPlan, relationsOf } from './record.ts'
import { type PlanContext, planRows, type RowsPlan, relationsOfRows, searchOf } from './rows.ts'
import { requireHighlightable, type SearchPlan } from './search.ts'
import { type DistancePlan, planDistance } from './spatial.ts'

export interface ListPlan {
  readonly record: RecordPlan
  readonly rows: RowsPlan
  readonly order: readonly OrderKey[]
  /** Columns of which each combination of values appears once; the order begins with them. */
  readonly distinct?: readonly Column[]
  /** Distance that sorts the records, returned as `_distance`. */
  readonly distance: DistancePlan | undefined
  /** Search that is highlighted in each record; undefined for none. */
  readonly highlight: SearchPlan | undefined
  readonly perPage: number
  /** True if the few rows that the caller may read are read before any are left out or sorted. */
  readonly isDirect: boolean
  readonly paging: ListQuery['paging']
  readonly facets: FacetsPlan | undefined
  /** Ranking; undefined where rows are not sorted by rank. */
  readonly ranking: RankingPlan | undefined
}

/** Bounds of a search that sorts by rank. */
export interface RankingPlan {
  readonly search: SearchPlan
  /** Maximum number of matches that are ranked. */
  readonly limit: number
  /** True if an index finds the rows that policies show. A caller of few rows is better served by these. */
  readonly hasOwnRows: boolean
}

/** Configured limits of responses. */
export interface ReadLimits {
  readonly maxFacetBuckets: number
  readonly aggregateEnabled: boolean
  readonly maxGroups: number
  /** Maximum number of matches of a search that are ranked. */
  readonly rankLimit: number
}

/** @throws AppError naming the parameter */
export function planList(
  context: PlanContext,
  relation: Relation,
  query: ListQuery,
  { maxFacetBuckets, rankLimit }: ReadLimits,
): ListPlan {
  const rows = planRows(context, relation, query)
  const search = searchOf(rows)
  if (query.search?.hasHighlight === true) requireHighlightable(relation)
  const facets = query.facets && planFacets(rows, query.facets, context.reader, maxFacetBuckets)
  const distance = query.distance && planDistance(context, relation, query.distance)
  const order = planOrder(relation, query.sort, context.reader, {
    catalog: context.catalog,
    search,
    distance,
  })
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
    isDirect: context.isDirect === true,
    paging: planPaging(relation, query.paging),
    facets,
    ranking:
      search === undefined || distance !== undefined || query.sort.length > 0
        ? undefined
        : { search, limit: rankLimit, hasOwnRows: findsOwnRows(relation, context.reader) },
  }
}

/** Returns every relation that the list reads. */
export function relationsOfList({
  record,
  rows,
  order = [],
}: Pick<ListPlan, 'record' | 'rows'> & Partial<Pick<ListPlan, 'order'>>): readonly Relation[] {
  return [...new Set([...relationsOf(record), ...relationsOfRows(rows), ...relationsOfOrder(order)])]
}

/** Returns the paging. PostgreSQL has no estimate for a table on workers, whose rows are therefore counted. */
function planPaging({ isOnWorkers }: Relation, paging: ListQuery['paging']): ListQuery['paging'] {
  const isEstimated = paging.kind === 'offset' && paging.total === 'estimated'
  return isOnWorkers && isEstimated ? { ...paging, total: 'exact' } : paging
}
