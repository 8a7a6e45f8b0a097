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

/** In a write: leaves the changes for the capturing call. `rows` is a JSON array of {@link changedRow}. */
export function leaveChangedRows(rows: Sql): Sql {
  return sql`set_config(${sql.literal(changedRows)}, ${rows}::text, true)`
}

/** One change as JSON, of expressions for JSON. @param oldRecord the record before an update */
export function changedRow(record: Sql, oldRecord?: Sql): Sql {
  return oldRecord === undefined
    ? sql`json_build_object('record', ${record})`
    : sql`json_build_object('record', ${record}, 'oldRecord', ${oldRecord})`
}

/**
 * In the capturing call: the changes of the write before it as a `json` array of `{record, oldRecord?}`, with the
 * columns its caller may read; never empty. `record` is the row as it is now, or as it was deleted.
 */
export const takeChangedRows: Sql = sql`current_setting(${sql.literal(changedRows)})::json`

/** The write, followed by the capturing call when there is one. */
export function withCapture(write: Call, capture: Call | undefined): readonly Step[] {
  return capture === undefined ? [write] : [write, { ...capture, asLogin: true }]
}
