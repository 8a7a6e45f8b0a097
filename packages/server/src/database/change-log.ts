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
  /** Undefined without a listener: the write then costs nothing extra. Answered from memory. */
  capture(relation: Relation, action: ChangeAction, form: ChangeForm): Call | undefined
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
const rowBeforeSetting = 'basalt.row_before'
/** Which write leaves its changes; what triggers of `basalt events capture` need not log again. */
const writeSetting = 'basalt.captured_write'

/** Begins the names of the triggers that log what plain SQL changes; `insert` and so on follows. */
export const captureTriggerPrefix = 'basalt_capture_'

export const operations = { create: 'INSERT', update: 'UPDATE', delete: 'DELETE', upsert: 'UPSERT' } as const

/**
 * In a write: leaves the changes for the capturing call.
 *
 * @param changes JSON of a {@link ChangeForm}
 */
export function leaveChanges({ schema, name }: Relation, action: WriteAction, changes: Sql): Sql {
  const write = sql.literal(`${operations[action]} ${schema}.${name}`)
  // Both settings are made: neither is ever null. The answer is short, unlike the rows.
  return sql`(
    ${leave(changesSetting, sql`${changes}::text`)} is null or ${leave(writeSetting, write)} is null
  )`
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

/** Before a write: leaves the row it is about to change. @param row an expression for JSON; null without one */
export function leaveRowBefore(row: Sql): Sql {
  return sql`select ${leave(rowBeforeSetting, sql`coalesce(${row}::text, '')`)} is null`
}

/** What {@link leaveRowBefore} left, as `json`. */
export const takeRowBefore: Sql = sql`nullif(current_setting(${sql.literal(rowBeforeSetting)}, true), '')::json`

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

/** What surrounds a write that is captured. */
export interface Capture {
  /** Calls of the caller and of the login role that come before the write. */
  readonly before: readonly Step[]
  readonly after: readonly Call[]
  readonly committed: () => void
}

/** The write and what surrounds it. */
export function withCapture(write: Call, capture: Capture | undefined): readonly Step[] {
  if (capture === undefined) return [write]
  return [...capture.before, write, ...capture.after.map((call) => ({ ...call, asLogin: true }))]
}

function leave(setting: string, value: Sql): Sql {
  return sql`set_config(${sql.literal(setting)}, ${value}, true)`
}
