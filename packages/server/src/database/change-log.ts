import type { Relation } from './catalog/model.ts'
import type { Call } from './message.ts'
import { type Sql, sql } from './sql.ts'

export type ChangeAction = 'create' | 'update' | 'delete'

/**
 * The one place where writes of the data API are handed on. A write that somebody listens to leaves the rows it
 * touched, as a JSON array, in the transaction-local setting {@link changedRows}; the call that `capture`
 * answers runs right after it, in the same message and transaction, as the login role.
 */
export interface ChangeLog {
  /** Undefined when nobody listens: the write then costs nothing extra. Answered from memory. */
  capture(relation: Relation, action: ChangeAction): Call | undefined
}

/** Nobody listens. */
export const silentChangeLog: ChangeLog = { capture: () => undefined }

const changedRows = 'basalt.changed_rows'

/** In a write: leaves the rows for the capturing call. `rows` is an expression for a JSON array. */
export function leaveChangedRows(rows: Sql): Sql {
  return sql`set_config(${sql.literal(changedRows)}, ${rows}::text, true)`
}

/** In the capturing call: the rows as `json`. */
export const takeChangedRows: Sql = sql`current_setting(${sql.literal(changedRows)})::json`
