import type { Relation } from './catalog/model.ts'
import type { Call } from './message.ts'
import { type Sql, sql } from './sql.ts'
import type { Step } from './user-database.ts'

export type ChangeAction = 'create' | 'update' | 'delete'

/**
 * The one place where writes of the data API are handed on. A write that somebody listens to leaves what it
 * changed in a setting of its transaction; the call that `capture` answers runs right after it, in the same
 * message and transaction, as the login role, and finds the changes in {@link takeChangedRows}.
 */
export interface ChangeLog {
  /** Undefined when nobody listens: the write then costs nothing extra. Answered from memory. */
  capture(relation: Relation, action: ChangeAction): Call | undefined
}

/** Nobody listens. */
export const silentChangeLog: ChangeLog = { capture: () => undefined }

const changedRows = 'basalt.changed_rows'
const rowBefore = 'basalt.row_before'
/** Which write leaves its changes; what triggers of `basalt events capture` need not log again. */
const capturedWrite = 'basalt.captured_write'

const operations = { create: 'INSERT', update: 'UPDATE', delete: 'DELETE' } as const

/**
 * In a write: leaves the changes for the capturing call.
 *
 * @param rows a JSON array of {@link changedRow}
 */
export function leaveChangedRows({ schema, name }: Relation, action: ChangeAction, rows: Sql): Sql {
  const write = sql.literal(`${operations[action]} ${schema}.${name}`)
  // Both settings are made: neither is ever null. The answer is short, unlike the rows.
  return sql`(
    ${leave(changedRows, sql`${rows}::text`)} is null or ${leave(capturedWrite, write)} is null
  )`
}

/** One change as JSON, of expressions for JSON. @param oldRecord the record before an update */
export function changedRow(record: Sql, oldRecord?: Sql): Sql {
  return oldRecord === undefined
    ? sql`json_build_object('record', ${record})`
    : sql`json_build_object('record', ${record}, 'oldRecord', ${oldRecord})`
}

/** Replaces the changes that a write has left. @param rows as in {@link leaveChangedRows} */
export function replaceChangedRows(rows: Sql): Sql {
  return sql`select ${leave(changedRows, sql`${rows}::text`)} is null`
}

/** Before a write: leaves the row it is about to change. @param row an expression for JSON; null without one */
export function leaveRowBefore(row: Sql): Sql {
  return sql`select ${leave(rowBefore, sql`coalesce(${row}::text, '')`)} is null`
}

/** What {@link leaveRowBefore} left, as `json`. */
export const takeRowBefore: Sql = sql`nullif(current_setting(${sql.literal(rowBefore)}, true), '')::json`

/**
 * In the capturing call: the changes of the write before it as a `json` array of `{record, oldRecord?}` with whole
 * rows; never empty. `record` is the row as it is now, or as it was deleted.
 */
export const takeChangedRows: Sql = sql`current_setting(${sql.literal(changedRows)})::json`

/** What surrounds a write that is captured. */
export interface Capture {
  /** Calls of the caller and of the login role that come before the write. */
  readonly before: readonly Step[]
  readonly after: readonly Call[]
}

/** The write and what surrounds it. */
export function withCapture(write: Call, capture: Capture | undefined): readonly Step[] {
  if (capture === undefined) return [write]
  return [...capture.before, write, ...capture.after.map((call) => ({ ...call, asLogin: true }))]
}

function leave(setting: string, value: Sql): Sql {
  return sql`set_config(${sql.literal(setting)}, ${value}, true)`
}
