import type { Step } from './caller/caller-steps.ts'
import type { Relation } from './catalog/model.ts'
import type { Call } from './connection/message.ts'
import { type Sql, sql } from './sql.ts'

export type ChangeAction = 'create' | 'update' | 'delete'

/**
 * The one place where writes of the data API are handed on. A write that has a listener leaves what it
 * changed in a setting of its transaction; the call that `capture` answers runs right after it, in the same
 * message and transaction, as the login role, and finds the changes in {@link changedRows}.
 */
export interface ChangeLog {
  /**
   * Undefined without a listener: the write then costs nothing extra. Answered from memory.
   *
   * @param isPartial whether the records lack columns, which the caller may not read
   */
  capture(relation: Relation, action: ChangeAction, form: ChangeForm, isPartial: boolean): Call | undefined
  /** After the commit of a write that was captured. */
  committed(): void
}

/** What a statement does: `upsert` creates a record or updates the one that has its key. */
export type WriteAction = ChangeAction | 'upsert'

/**
 * How a write leaves what it changed: the one record it created, which is the quickest, or a JSON array of any number
 * of changes. Of an update a change is an object of {@link changedRow}, else the record. Of an `upsert` each is such an
 * object, whose `oldRecord` is null when the record was created.
 */
export type ChangeForm = 'record' | 'array' | 'upsert'

/** Without consumers. */
export const silentChangeLog: ChangeLog = { capture: () => undefined, committed: () => undefined }

const changesSetting = 'basalt.changed_rows'

/** Begins the names of the triggers that log changes; `insert` and so on follows. */
export const captureTriggerPrefix = 'basalt_capture_'

const operations = { create: 'insert', update: 'update', delete: 'delete' } as const

/** Name of the trigger that logs an action. */
export function captureTriggerName(action: ChangeAction): string {
  return `${captureTriggerPrefix}${operations[action]}`
}

/**
 * In a write: leaves the changes for the capturing call.
 *
 * @param changes JSON of a {@link ChangeForm}
 */
export function leaveChanges(changes: Sql): Sql {
  // The answer is short, unlike the rows.
  return sql`(${leave(changesSetting, sql`${changes}::text`)} is null)`
}

/** One change as JSON, of expressions for JSON. @param oldRecord the record before an update */
export function changedRow(record: Sql, oldRecord?: Sql): Sql {
  return oldRecord === undefined
    ? record
    : sql`json_build_object('record', ${record}, 'oldRecord', ${oldRecord})`
}

/** Replaces the changes that a write has left. @param changes as in {@link leaveChanges} */
export function replaceChanges(changes: Sql): Sql {
  return sql`select ${leave(changesSetting, sql`${changes}::text`)} is null`
}

/** What the write before has left, as `json` of a {@link ChangeForm}. */
export const takeChanges: Sql = sql`current_setting(${sql.literal(changesSetting)})::json`

/**
 * In the capturing call, for its `from`: the changes that the action made of the write before it, in their order, as
 * `c (record, "oldRecord")` of type `json`. `record` is the whole row as it is now, or as it was deleted; `"oldRecord"`
 * is there for updates alone.
 */
export function changedRows(action: ChangeAction, form: ChangeForm): Sql {
  if (form === 'upsert') {
    const made = action === 'create' ? sql`is null` : sql`is not null`
    return sql`(
      select u.record, u."oldRecord"
      from json_to_recordset(${takeChanges}) u (record json, "oldRecord" json)
      where u."oldRecord" ${made}) c`
  }
  if (action === 'update') return sql`json_to_recordset(${takeChanges}) c (record json, "oldRecord" json)`
  if (form === 'array') return sql`json_array_elements(${takeChanges}) c (record)`
  // Read once, however often it is named.
  return sql`(select ${takeChanges} as record offset 0) c`
}

/** What follows a write that is captured. */
export interface Capture {
  readonly after: readonly Call[]
  readonly committed: () => void
}

/** The write and what follows it. */
export function withCapture(write: Call, capture: Capture | undefined): readonly Step[] {
  if (capture === undefined) return [write]
  return [write, ...capture.after.map((call) => ({ ...call, asLogin: true }))]
}

function leave(setting: string, value: Sql): Sql {
  return sql`set_config(${sql.literal(setting)}, ${value}, true)`
}
