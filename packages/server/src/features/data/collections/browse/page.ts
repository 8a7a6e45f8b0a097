import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { compileComparison } from '../compile/comparison.ts'
import { bind } from '../compile/filter.ts'
import { compileAfter, compileKey, compileOrder } from '../compile/keyset.ts'
import { compileFrom } from '../compile/rows.ts'
import { collectionErrors } from '../errors.ts'
import type { Cursor } from '../parse/cursor.ts'
import { parseBodyId } from '../parse/record-id.ts'
import { type OrderKey, planOrder, requireSameOrder } from '../plan/order.ts'
import { visibleColumns } from '../plan/reader.ts'
import { requireColumn } from '../plan/record.ts'
import { type PlanContext, planRows, type RowsPlan, relationsOfRows, searchOf } from '../plan/rows.ts'
import { compileCell, compileSize } from './cell.ts'
import type { BrowseQuery, Place } from './parse.ts'

/** A page of rows as a grid shows them: cells are texts, and long ones are cut. */
export interface PagePlan {
  readonly relation: Relation
  readonly rows: RowsPlan
  readonly columns: readonly Column[]
  readonly order: readonly OrderKey[]
  readonly paging: Paging
  readonly place: Place
  readonly limit: number
  /** Characters of a cell. */
  readonly width: number
  /** Whether rows tell which version of them was read. */
  readonly hasVersion: boolean
}

/**
 * How further rows are found: by their sort keys; by their place in the only file of a table without a key, which is
 * read as it lies; or by counting, in a view whose rows nothing distinguishes.
 */
export type Paging = 'keyset' | 'file' | 'offset'

/** What an answer has at most, about, whatever the number of columns. */
const answerCharacters = 1_000_000
const cellCharacters = { least: 32, most: 512 }
/** As the name of a key, of a cursor that counts rows. */
const offsetKey = '#'

/** @throws AppError naming the parameter */
export function planPage(context: PlanContext, relation: Relation, query: BrowseQuery): PagePlan {
  const { reader } = context
  const columns =
    query.columns?.map((name) => requireColumn(relation, name, 'columns', reader)) ??
    visibleColumns(relation, reader)
  const rows = planRows(context, relation, query)
  const planned = planOrder(relation, query.sort, reader, { search: searchOf(rows) })
  const paging = pagingOf(relation, query, planned.isTotal, rows)
  const width = Math.max(1, columns.length)
  const limit = Math.max(
    1,
    Math.min(query.limit, Math.floor(answerCharacters / cellCharacters.least / width)),
  )
  const { place } = query
  requireOrder(planned.keys, paging, place)
  return {
    relation,
    rows,
    columns,
    order: paging === 'file' ? fileOrder : planned.keys,
    paging,
    place,
    limit,
    width: Math.min(
      cellCharacters.most,
      Math.max(cellCharacters.least, Math.floor(answerCharacters / limit / width)),
    ),
    hasVersion: reader === 'unrestricted' && isStored(relation),
  }
}

export function relationsOfPage({ rows }: PagePlan): readonly Relation[] {
  return [...new Set(relationsOfRows(rows))]
}

const fileOrder: readonly OrderKey[] = [
  { name: 'ctid', column: undefined, nullable: false, descending: false },
]

/** Sorting by `ctid` would sort the whole table, although its rows are read in this order anyway. */
function pagingOf(relation: Relation, query: BrowseQuery, isTotal: boolean, rows: RowsPlan): Paging {
  if (!isTotal) return 'offset'
  const isAsStored = query.sort.length === 0 && searchOf(rows) === undefined
  return relation.kind === 'table' && relation.rowKey.length === 0 && isAsStored ? 'file' : 'keyset'
}

function requireOrder(keys: readonly OrderKey[], paging: Paging, place: Place): void {
  switch (place.kind) {
    case 'after':
    case 'before':
      if (paging === 'offset') requireOffset(place.cursor)
      else requireSameOrder(paging === 'file' ? fileOrder : keys, place.cursor)
      if (place.kind === 'before' && paging !== 'keyset') {
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

/** Alias of the rows, and of what is kept of them. */
const row = 't'
/** Names beside those of columns; columns do not have them. */
const names = { key: 'basalt key', order: 'basalt order', version: 'basalt version' }

/**
 * A row for each row of the page and one more where others follow: the cells and the sizes of those that may be cut as
 * JSON arrays; the primary key, and the sort keys, as JSON arrays of texts; the version.
 */
export function compilePage(plan: PagePlan): Sql {
  const { columns, relation, order, paging, limit, width, hasVersion } = plan
  const { keys, conditions } = compilePlace(plan)
  const texts = (values: readonly Sql[]) =>
    values.length === 0 ? sql`null::json` : sql`to_json(array[${sql.join(values)}]::text[])`
  const needed = columns.map(({ name }) => sql.id(row, name))
  const extra = [
    sql`${texts(relation.primaryKey.map(({ name }) => sql`${sql.id(row, name)}::text`))} as ${sql.id(names.key)}`,
    sql`${texts(paging === 'offset' ? [] : order.map((key) => sql`${compileKey(key, row)}::text`))} as ${sql.id(names.order)}`,
    sql`${hasVersion ? sql`${sql.id(row, 'xmin')}::text` : sql`null::text`} as ${sql.id(names.version)}`,
  ]
  const offset = plan.paging === 'offset' ? offsetOf(plan.place) : 0
  return sql`
    select ${texts(columns.map((column) => compileCell(column, row, width)))},
      ${texts(columns.map((column) => compileSize(column, row, width)))},
      ${sql.join(Object.values(names).map((name) => sql.id(row, name)))}
    from (
      select ${sql.join([...needed, ...extra])}
      ${compileFrom(plan.rows, row, conditions)}
      ${paging === 'file' ? sql.empty : compileOrder(keys, row)}
      limit ${sql.integer(limit + 1)}
      ${offset === 0 ? sql.empty : sql`offset ${String(offset)}`}
    ) ${sql.id(row)}`
}

/** The order in which the rows are read, and where they begin. */
function compilePlace({ order, paging, place, relation }: PagePlan): {
  readonly keys: readonly OrderKey[]
  readonly conditions: readonly Sql[]
} {
  switch (place.kind) {
    case 'start':
      return { keys: order, conditions: [] }
    case 'after': {
      if (paging === 'offset') return { keys: order, conditions: [] }
      return { keys: order, conditions: [compileAfter(order, place.cursor, row)] }
    }
    case 'before': {
      const backwards = order.map((key) => ({ ...key, descending: !key.descending }))
      return { keys: backwards, conditions: [compileAfter(backwards, place.cursor, row)] }
    }
    case 'from':
      return { keys: order, conditions: compileFromValue(order[0], place.value) }
    case 'row': {
      const id = parseBodyId(relation, place.id)
      const conditions = relation.primaryKey.map((column, index) =>
        compileComparison(column.type, sql.id(row, column.name), '=', bind(column, id[index] ?? '')),
      )
      return { keys: order, conditions }
    }
  }
}

function compileFromValue(first: OrderKey | undefined, value: string): readonly Sql[] {
  if (first?.column === undefined) return []
  const { column, descending } = first
  const source = sql.id(row, column.name)
  const reached = compileComparison(column.type, source, descending ? '<=' : '>=', bind(column, value))
  // Without a value: last ascending, so they follow; first descending, so they are passed.
  return [column.nullable && !descending ? sql`(${reached} or ${source} is null)` : reached]
}

export function offsetOf(place: Place): number {
  return place.kind === 'after' ? Number(place.cursor[0]?.value ?? 0) : 0
}

/** Where the rows after so many begin. */
export function offsetCursor(offset: number): Cursor {
  return [{ key: offsetKey, value: String(offset) }]
}
