import type { Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { ListQuery } from '../parse/list-query.ts'
import type { VectorQuery } from '../parse/vector.ts'
import { type OrderKey, planOrder } from './order.ts'
import { planRecord, type RecordPlan } from './record.ts'
import { type PlanContext, planRows, type RowsPlan, searchOf } from './rows.ts'
import type { SearchPlan } from './search.ts'
import { planVector, requireNoColumn, type VectorPlan } from './vector.ts'

/** Records found by words and by meaning, merged by reciprocal rank fusion. */
export interface HybridPlan {
  readonly record: RecordPlan
  /** Rows that have the words. */
  readonly found: RowsPlan
  readonly search: SearchPlan
  /** Rows that may be near. */
  readonly near: RowsPlan
  readonly vector: VectorPlan
  /** Keys that distinguish rows, and sort those with the same score. */
  readonly keys: readonly OrderKey[]
  /** Maximum number of records that each leg contributes. */
  readonly legLimit: number
  readonly perPage: number
  readonly page: number
  /** Records before the page. */
  readonly offset: number
  readonly counts: boolean
}

/** Names of the values beside the columns. The last two are present only for records that their leg has found. */
export const hybridNames = {
  score: '_hybrid_score',
  rank: '_fts_rank',
  distance: '_vector_distance',
} as const

/** Factor between the page's end and the number of records that each leg contributes, within bounds. */
const legFactor = 3
const maxLegLimit = 500

/**
 * @param start records before the page; undefined: as the query says
 * @throws AppError naming the parameter
 */
export function planHybrid(
  context: PlanContext,
  relation: Relation,
  query: ListQuery & { readonly vector: VectorQuery },
  start?: number,
): HybridPlan {
  const { paging, perPage } = query
  if (paging.kind === 'cursor') throw collectionErrors.unsupportedParameter('cursor')
  const offset = start ?? (paging.page - 1) * perPage
  for (const name of Object.values(hybridNames)) requireNoColumn(relation, name, 'semantic')
  const vector = planVector(context, relation, query.vector)
  const found = planRows(context, relation, query)
  const search = searchOf(found)
  // A blank term is a plain list, which is planned elsewhere.
  if (search === undefined) throw collectionErrors.unsupportedParameter('semantic')
  const { keys, isTotal } = planOrder(relation, [], context.reader)
  if (!isTotal) {
    throw collectionErrors.invalidParameter(
      `semantic: "${relation.collection}" has no readable key that could tell its rows apart`,
    )
  }
  return {
    record: planRecord(context.catalog, relation, query, context.reader),
    found,
    search,
    near: planRows(context, relation, { ...query, search: undefined }),
    vector,
    keys,
    legLimit: Math.min(legFactor * (offset + perPage), maxLegLimit),
    perPage,
    page: paging.page,
    offset,
    counts: paging.total !== 'none',
  }
}
