import { randomId } from '@basaltdb/client'
import { get, post, segment } from '../../api/request.ts'

/** Of `GET /api/admin/tables`. */
export interface TableSummary {
  readonly collection: string
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly estimatedRows: number | null
  readonly rlsEnabled: boolean
  readonly policies: number
  readonly isReadable: boolean
}

export interface ColumnInfo {
  readonly name: string
  readonly type: string
  readonly jsonType: string
  readonly nullable: boolean
  readonly hasDefault?: boolean
  readonly default?: string
  readonly identity?: 'always' | 'by default'
  readonly isGenerated?: boolean
  readonly isPrimaryKey: boolean
  readonly isGeometry?: boolean
  readonly isVector?: boolean
  readonly enumValues?: readonly string[]
  readonly comment?: string
}

export interface RelationInfo {
  readonly name: string
  readonly kind: 'many-to-one' | 'one-to-many'
  readonly table: string
  readonly pairs: readonly { readonly from: string; readonly to: string }[]
  readonly constraint: string
}

/** Of `GET /api/admin/tables/{table}`. */
export interface TableInfo {
  readonly table: string
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly comment?: string
  readonly rlsEnabled: boolean
  readonly policies: number
  readonly isWritable: boolean
  readonly primaryKey: readonly string[]
  readonly columns: readonly ColumnInfo[]
  readonly relations: readonly RelationInfo[]
  /** Columns that an index sorts. */
  readonly sorted: readonly string[]
  /** Whether streams are sent what plain SQL changes, too. */
  readonly isCaptured: boolean
}

export interface TableRow {
  readonly key: readonly string[] | null
  readonly version: string | null
  /** Bytes of cut cells by the index of their column. */
  readonly sizes?: Readonly<Record<string, number>>
  readonly cells: readonly (string | null)[]
}

/** Of `GET /api/admin/tables/{table}/rows`. */
export interface RowPage {
  readonly columns: readonly string[]
  readonly width: number
  readonly paging: 'keyset' | 'file' | 'offset'
  readonly before: string | null
  readonly after: string | null
  readonly rows: readonly TableRow[]
}

export interface RowCount {
  readonly count: number
  readonly isBounded: boolean
  readonly estimate: number
}

export interface Operation {
  readonly method: 'create' | 'update' | 'delete'
  readonly id?: string
  readonly version?: string
  readonly body?: Readonly<Record<string, unknown>>
}

const path = (table: string, part: string) => `admin/tables/${segment(table)}/${part}`

export const listTables = (search: string, limit: number, signal: AbortSignal) =>
  get<{ items: TableSummary[]; count: number }>('admin/tables', { search, limit }, { signal })

export const describeTable = (table: string, signal?: AbortSignal) =>
  get<TableInfo>(`admin/tables/${segment(table)}`, {}, signal === undefined ? {} : { signal })

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
  readonly as?: string | undefined
}

export const readRows = (table: string, request: RowsRequest, signal?: AbortSignal) =>
  get<RowPage>(path(table, 'rows'), { ...request }, signal === undefined ? {} : { signal })

export const countRows = (
  table: string,
  request: { filter?: string | undefined; as?: string | undefined; most?: number | undefined },
  signal?: AbortSignal,
) => get<RowCount>(path(table, 'count'), request, signal === undefined ? {} : { signal })

export const readCell = async (table: string, id: string, column: string, signal?: AbortSignal) =>
  (
    await get<{ value: string | null }>(
      path(table, 'cell'),
      { id, column },
      signal === undefined ? {} : { signal },
    )
  ).value

/** A result of a change. */
export interface Written {
  readonly index: number
  readonly body?: Readonly<Record<string, unknown>>
  /** The row as it was. */
  readonly before?: Readonly<Record<string, unknown>>
  /** That the row is in now. */
  readonly version?: string
}

/**
 * All or none.
 *
 * @param idempotencyKey the same for the same operations, sent again because their answer was lost
 * @throws BasaltError `record_changed` when a row is not in the version that was read
 */
export const applyChanges = (table: string, operations: readonly Operation[], idempotencyKey = randomId()) =>
  post<Written[]>(path(table, 'changes'), { operations }, { idempotencyKey })
