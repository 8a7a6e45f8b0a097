import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { BrowseQuery, Position } from '../parse/browse.ts'
import type { Cursor } from '../parse/cursor.ts'
import { type OrderKey, planOrder, requireSameOrder } from './order.ts'
import { visibleColumns } from './reader.ts'
import { requireColumn } from './references.ts'
import { type PlanContext, planRows, type RowsPlan, searchOf } from './rows.ts'

/** Page of the dashboard grid: cells are texts, and long ones are cut. */
export interface PagePlan {
  readonly relation: Relation
  readonly rows: RowsPlan
  readonly columns: readonly Column[]
  readonly order: readonly OrderKey[]
  readonly paging: Paging
  readonly position: Position
  readonly limit: number
  /** Maximum number of characters of a cell. */
  readonly width: number
  /** True if rows carry the version that was read. They have all columns that the reader may read. */
  readonly hasVersion: boolean
}

/**
 * Paging method. `keyset` uses the sort keys. `file` uses the row position in the only file of a table without a key,
 * which is read in stored order. `offset` counts rows, in a view whose rows cannot be distinguished.
 */
export type Paging = 'keyset' | 'file' | 'offset'

/** Approximate maximum size of a response in characters, for any number of columns. */
const answerCharacters = 1_000_000
const cellCharacters = { least: 32, most: 512 }
/** Key name in a cursor that counts rows. */
const offsetKey = '#'

/** @throws AppError naming the parameter */
export function planPage(context: PlanContext, relation: Relation, query: BrowseQuery): PagePlan {
  const { reader } = context
  const columns =
    query.columns?.map((name) => requireColumn(relation, name, 'columns', reader)) ??
    visibleColumns(relation, reader)
  const rows = planRows(context, relation, query)
  const planned = planOrder(relation, query.sort, reader, {
    catalog: context.catalog,
    search: searchOf(rows),
  })
  const paging = pagingOf(relation, query, planned.isTotal, rows)
  const width = Math.max(1, columns.length)
  const limit = Math.max(
    1,
    Math.min(query.limit, Math.floor(answerCharacters / cellCharacters.least / width)),
  )
  const { position } = query
  requireOrder(planned.keys, paging, position)
  return {
    relation,
    rows,
    columns,
    order: paging === 'file' ? fileOrder : planned.keys,
    paging,
    position,
    limit,
    width: Math.min(
      cellCharacters.most,
      Math.max(cellCharacters.least, Math.floor(answerCharacters / limit / width)),
    ),
    hasVersion: reader === 'unrestricted' && isStored(relation) && !relation.isInShards,
  }
}

const fileOrder: readonly OrderKey[] = [
  { name: 'ctid', column: undefined, nullable: false, descending: false },
]

/**
 * Returns the paging method. Sorting by `ctid` would sort the whole table, although its rows are read in this order
 * anyway.
 */
function pagingOf(relation: Relation, query: BrowseQuery, isTotal: boolean, rows: RowsPlan): Paging {
  if (!isTotal) return 'offset'
  const isAsStored = query.sort.length === 0 && searchOf(rows) === undefined
  return relation.kind === 'table' && relation.rowKey.length === 0 && isAsStored ? 'file' : 'keyset'
}

function requireOrder(keys: readonly OrderKey[], paging: Paging, position: Position): void {
  switch (position.kind) {
    case 'after':
    case 'before':
      if (paging === 'offset') requireOffset(position.cursor)
      else requireSameOrder(paging === 'file' ? fileOrder : keys, position.cursor)
      if (position.kind === 'before' && paging !== 'keyset') {
        throw collectionErrors.invalidParameter('before: expected a table with a primary key, or a sort')
      }
      return
    case 'from':
      if (paging !== 'keyset' || keys[0]?.column === undefined) {
        throw collectionErrors.invalidParameter('from: expected rows that are sorted by a column')
      }
      return
    default:
      return
  }
}

function requireOffset([first, second]: Cursor): void {
  const isOffset = first?.key === offsetKey && second === undefined && /^\d{1,15}$/.test(first.value ?? '')
  if (!isOffset) throw collectionErrors.invalidCursor('it belongs to another sort')
}

function isStored({ kind }: Relation): boolean {
  return kind === 'table' || kind === 'partitioned_table'
}

export function offsetOf(position: Position): number {
  return position.kind === 'after' ? Number(position.cursor[0]?.value ?? 0) : 0
}

/** Returns the cursor after a number of rows. */
export function offsetCursor(offset: number): Cursor {
  return [{ key: offsetKey, value: String(offset) }]
}
