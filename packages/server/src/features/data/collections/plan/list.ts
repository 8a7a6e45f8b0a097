import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { ListQuery } from '../parse/list-query.ts'
import { type OrderKey, planOrder, requireSameOrder } from './order.ts'
import type { Reader } from './reader.ts'
import { planRecord, type RecordPlan } from './record.ts'
import { planRows, type RowsPlan } from './rows.ts'
import { type DistancePlan, planDistance } from './spatial.ts'

export interface ListPlan {
  readonly record: RecordPlan
  readonly rows: RowsPlan
  readonly order: readonly OrderKey[]
  /** What records are sorted by and show as `_distance`. */
  readonly distance: DistancePlan | undefined
  readonly perPage: number
  readonly paging: ListQuery['paging']
}

/** @throws AppError naming the parameter */
export function planList(catalog: Catalog, relation: Relation, query: ListQuery, reader: Reader): ListPlan {
  const distance = query.distance && planDistance(catalog, relation, query.distance)
  const order = planOrder(relation, query.sort, distance)
  if (query.paging.kind === 'cursor') {
    if (!order.isTotal) {
      throw collectionErrors.invalidParameter(
        `cursor: "${relation.collection}" has no primary key that could tell its rows apart; use page`,
      )
    }
    if (query.paging.after !== undefined) requireSameOrder(order.keys, query.paging.after)
  }
  return {
    record: planRecord(catalog, relation, query, reader),
    rows: planRows(catalog, relation, query),
    order: order.keys,
    distance,
    perPage: query.perPage,
    paging: query.paging,
  }
}
