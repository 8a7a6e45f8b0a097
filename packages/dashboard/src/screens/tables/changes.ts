import type { Operation, TableRow } from './api.ts'
import { idOf } from './names.ts'

/** Staged changes, which the grid shows before they are written. Pure. */

/** Value as a text that PostgreSQL parses. Null is NULL, and undefined is the default of the column. */
export type Value = string | null | undefined

/** Error of the server for a change. */
export interface Fault {
  readonly message: string
  /** Refused columns. Empty if the error names none, such as that of a check. */
  readonly columns: readonly string[]
}

/** Returns the message for a cell: that of its column, or of its row if the error names no column. */
export const faultAt = (fault: Fault | undefined, column: string) =>
  fault === undefined || (fault.columns.length > 0 && !fault.columns.includes(column))
    ? undefined
    : fault.message

export interface RowChange {
  /** Row as it was read. */
  readonly row: TableRow
  readonly values: Readonly<Record<string, Value>>
  readonly isDeleted: boolean
  /** Current row, if another request has changed it; null if it was deleted. */
  readonly present?: TableRow | null
  readonly fault?: Fault
}

export interface NewRow {
  readonly id: number
  readonly values: Readonly<Record<string, Value>>
  readonly fault?: Fault
}

export interface Changes {
  /** Changes by row id, in the order in which they were made. */
  readonly rows: ReadonlyMap<string, RowChange>
  readonly created: readonly NewRow[]
  /** Highest number of a dropped new row. It may be in flight, so no other row gets the number. */
  readonly lastDropped?: number
}

export const noChanges: Changes = { rows: new Map(), created: [] }

export const countChanges = ({ rows, created }: Changes) => rows.size + created.length

/** Stages the value of a cell. @param before value that was read; the change is dropped if both are equal */
export function changeCell(
  changes: Changes,
  row: TableRow,
  column: string,
  value: Value,
  before: Value,
): Changes {
  if (row.key === null) return changes
  const id = idOf(row.key)
  const { [column]: _previous, ...others } = changes.rows.get(id)?.values ?? {}
  const values = value === before ? others : { ...others, [column]: value }
  return putRow(changes, id, { ...(changes.rows.get(id) ?? { row, isDeleted: false }), values })
}

export function deleteRow(changes: Changes, row: TableRow, isDeleted: boolean): Changes {
  if (row.key === null) return changes
  const id = idOf(row.key)
  return putRow(changes, id, { ...(changes.rows.get(id) ?? { row, values: {} }), isDeleted })
}

/** Stores the change of a row, or removes it if it is empty. */
export function putRow(changes: Changes, id: string, change: RowChange): Changes {
  const rows = new Map(changes.rows)
  const { fault: _fault, ...rest } = change
  if (!change.isDeleted && Object.keys(change.values).length === 0) rows.delete(id)
  else rows.set(id, rest)
  return { ...changes, rows }
}

export function dropRow(changes: Changes, id: string): Changes {
  const rows = new Map(changes.rows)
  rows.delete(id)
  return { ...changes, rows }
}

export function addRow(changes: Changes, values: NewRow['values']): Changes {
  const id = Math.max(changes.lastDropped ?? 0, ...changes.created.map((row) => row.id)) + 1
  return { ...changes, created: [...changes.created, { id, values }] }
}

export function changeNew(changes: Changes, id: number, column: string, value: Value): Changes {
  return {
    ...changes,
    created: changes.created.map((row) =>
      row.id === id ? { id, values: { ...row.values, [column]: value } } : row,
    ),
  }
}

export const dropNew = (changes: Changes, id: number): Changes => ({
  ...changes,
  lastDropped: Math.max(changes.lastDropped ?? 0, id),
  created: changes.created.filter((row) => row.id !== id),
})

/** Operation with the change it comes from. */
export interface PlannedOperation {
  readonly operation: Operation
  readonly of: { readonly id: string } | { readonly created: number }
}

/** Plans the operations. Deletes come first, so that a new row can reuse the key of a deleted one. */
export function planOperations(
  { rows, created }: Changes,
  types: ReadonlyMap<string, string>,
): PlannedOperation[] {
  const written = [...rows].map(([id, { row, values, isDeleted, present }]): PlannedOperation => {
    const { etag } = present ?? row
    const common = { id, ...(etag === null ? {} : { ifMatch: etag }) }
    return {
      of: { id },
      operation: isDeleted
        ? { method: 'delete', ...common }
        : { method: 'update', ...common, body: bodyOf(values, types) },
    }
  })
  const isDelete = ({ operation }: PlannedOperation) => operation.method === 'delete'
  return [
    ...written.filter(isDelete),
    ...written.filter((planned) => !isDelete(planned)),
    ...created.map(
      ({ id, values }): PlannedOperation => ({
        of: { created: id },
        operation: { method: 'create', body: bodyOf(values, types) },
      }),
    ),
  ]
}

/** Returns the values as texts, which PostgreSQL converts to the column types. JSON documents stay documents. */
function bodyOf(values: NewRow['values'], types: ReadonlyMap<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, bodyValue(value, types.get(name) ?? 'text')]],
    ),
  )
}

function bodyValue(text: string | null, type: string): unknown {
  return text === null || !isDocument(type) ? text : parseDocument(text)
}

/** Returns true for types whose values are JSON documents. */
const isDocument = (type: string) =>
  type === 'json' || type === 'jsonb' || /\b(geometry|geography)\b/.test(type)

/** Parses JSON as `JSON.parse` does. Numbers keep all digits if the browser supports `JSON.rawJSON`. */
function parseDocument(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined && rawJson !== undefined
      ? rawJson(context.source)
      : value,
  )
}

// The TypeScript library does not declare it yet.
const { rawJSON: rawJson } = JSON as { readonly rawJSON?: (text: string) => unknown }
