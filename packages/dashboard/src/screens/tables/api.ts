import { randomId } from '@basaltdb/client'
import { type ApiResponse, type Body, get, type Item, post, segment } from '../../api/request.ts'

export type TableSummary = Item<'overview.tables'>
export type ColumnInfo = TableInfo['columns'][number]
export type RelationInfo = TableInfo['relations'][number]
export type TableInfo = ApiResponse<'tables.get'>
export type TableRow = RowPage['rows'][number]
export type RowPage = ApiResponse<'tables.rows'>
export type Operation = Body<'tables.applyChanges'>['operations'][number]

const path = <Part extends string>(table: string, part: Part) =>
  `admin/tables/${segment(table)}/${part}` as const

export const listTables = (search: string, limit: number, signal: AbortSignal) =>
  get<'overview.tables'>('admin/tables', { search, limit }, { signal })

export const describeTable = (table: string, signal?: AbortSignal) =>
  get<'tables.get'>(`admin/tables/${segment(table)}`, {}, signal === undefined ? {} : { signal })

/** User as whom rows are read. */
export interface Reader {
  /** User id. */
  readonly as: string
  /** Reason, which the audit log stores. */
  readonly reason?: string | undefined
}

export interface RowsRequest {
  readonly filter?: string | undefined
  readonly sort?: string | undefined
  readonly columns?: string | undefined
  readonly limit?: number | undefined
  readonly after?: string | undefined
  readonly before?: string | undefined
  readonly from?: string | undefined
  readonly id?: string | undefined
  readonly maxCost?: number | undefined
  readonly as?: Reader | undefined
}

export const readRows = (table: string, { as, ...request }: RowsRequest, signal?: AbortSignal) =>
  get<'tables.rows'>(path(table, 'rows'), { ...request, ...as }, signal === undefined ? {} : { signal })

export const countRows = (
  table: string,
  { as, ...request }: { filter?: string | undefined; as?: Reader | undefined; most?: number | undefined },
  signal?: AbortSignal,
) => get<'tables.count'>(path(table, 'count'), { ...request, ...as }, signal === undefined ? {} : { signal })

export const readCell = async (table: string, id: string, column: string, signal?: AbortSignal) =>
  (await get<'tables.cell'>(path(table, 'cell'), { id, column }, signal === undefined ? {} : { signal }))
    .value

/** Result of a change. */
export type ChangeResult = ApiResponse<'tables.applyChanges'>[number]

/**
 * Applies all changes in one transaction, or none.
 *
 * @param idempotencyKey key of the operations. It stays the same when they are sent again after a lost response.
 * @throws BasaltError `precondition_failed` or `record_not_found` if a row has changed since it was read
 */
export const applyChanges = (table: string, operations: readonly Operation[], idempotencyKey = randomId()) =>
  post<'tables.applyChanges'>(path(table, 'changes'), { operations }, { idempotencyKey })
