import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { Cursor } from '../parse/cursor.ts'
import type { ListQuery, SortTerm } from '../parse/list-query.ts'
import { type FilterPlan, planFilter } from './filter.ts'
import type { Reader } from './reader.ts'
import { planRecord, type RecordPlan, requireColumn } from './record.ts'

export interface ListPlan {
  readonly record: RecordPlan
  readonly filter: FilterPlan | undefined
  readonly order: readonly OrderKey[]
  readonly perPage: number
  readonly paging: ListQuery['paging']
}

/** A column to sort by; also a system column, where nothing else tells rows apart. */
export interface OrderKey {
  readonly name: string
  readonly nullable: boolean
  readonly descending: boolean
}

/** @throws AppError naming the parameter */
export function planList(catalog: Catalog, relation: Relation, query: ListQuery, reader: Reader): ListPlan {
  const sort = query.sort.map((term) => planSortTerm(relation, term))
  const ties = tieBreak(relation, sort)
  const order = [...sort, ...ties]
  const isTotal = relation.rowKey.length > 0 || ties.length > 0
  if (query.paging.kind === 'cursor') {
    if (!isTotal) {
      throw collectionErrors.invalidParameter(
        `cursor: "${relation.collection}" has no primary key that could tell its rows apart; use page`,
      )
    }
    if (query.paging.after !== undefined) requireSameOrder(order, query.paging.after)
  }
  return {
    record: planRecord(catalog, relation, query, reader),
    filter: query.filter === undefined ? undefined : planFilter(relation, query.filter),
    order,
    perPage: query.perPage,
    paging: query.paging,
  }
}

/** A key as {@link Cursor} names it. */
export function describeKey({ name, descending }: OrderKey): string {
  return descending ? `-${name}` : name
}

/** The values of another sort would be compared with the wrong columns. */
function requireSameOrder(order: readonly OrderKey[], after: Cursor): void {
  if (after.length !== order.length) {
    throw collectionErrors.invalidCursor(
      `cursor has ${after.length} values but sort has ${order.length} fields`,
    )
  }
  const isSame = order.every((key, index) => describeKey(key) === after[index]?.key)
  if (!isSame) throw collectionErrors.invalidCursor('it belongs to another sort')
}

function planSortTerm(relation: Relation, { column: name, descending }: SortTerm): OrderKey {
  const column = requireColumn(relation, name, 'sort')
  if (!column.type.hasOrder) {
    throw collectionErrors.invalidParameter(`sort: ${column.typeName} of column "${name}" has no order`)
  }
  return { name, nullable: column.nullable, descending }
}

/** What makes the order total: the missing columns of the row key, else the row's place in its table. */
function tieBreak(relation: Relation, sort: readonly OrderKey[]): OrderKey[] {
  const sorted = new Set(sort.map(({ name }) => name))
  const key = relation.rowKey.length > 0 ? relation.rowKey.map(({ name }) => name) : rowPlace(relation)
  return key.filter((name) => !sorted.has(name)).map((name) => ({ name, nullable: false, descending: false }))
}

/** Rows of a table have a place in the part they are stored in; those of a view keep the order it gives them. */
function rowPlace({ kind }: Relation): readonly string[] {
  const isStored = kind === 'table' || kind === 'partitioned_table' || kind === 'materialized_view'
  return isStored ? ['tableoid', 'ctid'] : []
}
