import { randomBytes } from 'node:crypto'
import type { Step } from './caller/caller-steps.ts'
import type { Relation } from './catalog/model.ts'
import { type Call, StatementFailed, statement } from './connection/message.ts'
import { type Sql, sql } from './sql.ts'

export type ChangeAction = 'create' | 'update' | 'delete'

/**
 * Capture of data API writes for the log of changes. It is the only one. Where a trigger logs the changes of a
 * table, the call that `capture` returns verifies that it has. Elsewhere a write with a listener leaves its
 * changes in a setting of its transaction. The call runs right after the write, in the same message and
 * transaction, as the login role, and reads that setting.
 */
export interface ChangeLog {
  /** True if tables get triggers. Those also log writes that bypass the API. */
  readonly hasTriggers: boolean
  /**
   * Returns the capturing call from memory. It is undefined without a listener, and the write then costs
   * nothing extra.
   *
   * @param isPartial whether the records lack columns, because the caller may not read them
   */
  capture(
    relation: Relation,
    action: ChangeAction,
    form: ChangeForm,
    isPartial: boolean,
  ): CapturingCall | undefined
  /** Runs after the commit of a captured write. */
  committed(): void
  /**
   * Handles a failed write that no trigger has logged (see {@link isNotCaptured}). The next attempt leaves its
   * changes in the setting.
   */
  doubt(relation: Relation): void
}

/** Call after a write that captures its changes. */
export interface CapturingCall {
  readonly call: Call
  /** True if the write has to leave its changes in the setting. It then runs as the login role. */
  readonly takesChanges: boolean
}

/** Effect of a statement. `upsert` creates a record or updates the one with its key. */
export type WriteAction = ChangeAction | 'upsert'

/**
 * Form in which a write leaves its changes. `record` is the one record that was created, the quickest form.
 * `array` is a JSON array of any number of changes, each an object of {@link changedRow} for an update, else
 * the record. `upsert` is an array of such objects, in which `oldRecord` is null for a created record.
 */
export type ChangeForm = 'record' | 'array' | 'upsert'

/** Change log without consumers. */
export const silentChangeLog: ChangeLog = {
  hasTriggers: false,
  capture: () => undefined,
  committed: () => undefined,
  doubt: () => undefined,
}

const changesSetting = 'basalt.changed_rows'

/** Prefix of the capture trigger names, before `insert` and so on. */
export const captureTriggerPrefix = 'basalt_capture_'

const operations = { create: 'insert', update: 'update', delete: 'delete' } as const

/**
 * Returns true if the operator permits triggers on the table. A comment with `@events off` forbids them. Citus
 * accepts none on the tables of its workers.
 */
export function mayHaveTriggers({ kind, comment, isOfExtension, isOnWorkers }: Relation): boolean {
  if (isOnWorkers) return false
  if (kind !== 'table' && kind !== 'partitioned_table') return false
  return !isOfExtension && !/(?:^|\s)@events off(?:\s|$)/.test(comment ?? '')
}

/** Returns the name of the trigger that logs an action. */
export function captureTriggerName(action: ChangeAction | 'truncate'): string {
  return `${captureTriggerPrefix}${action === 'truncate' ? action : operations[action]}`
}

/**
 * Builds the part of a write that leaves the changes for the capturing call.
 *
 * @param changes JSON of a {@link ChangeForm}
 */
export function leaveChanges(changes: Sql): Sql {
  // The result is short, unlike the rows.
  return sql`(${leave(changesSetting, sql`${changes}::text`)} is null)`
}

/** Builds one change as JSON from JSON expressions. @param oldRecord the record before an update */
export function changedRow(record: Sql, oldRecord?: Sql): Sql {
  return oldRecord === undefined
    ? record
    : sql`json_build_object('record', ${record}, 'oldRecord', ${oldRecord})`
}

/** Builds a statement that replaces the captured changes. @param changes as in {@link leaveChanges} */
export function replaceChanges(changes: Sql): Sql {
  return sql`select ${leave(changesSetting, sql`${changes}::text`)} is null`
}

/** Changes of the preceding write, as `json` of a {@link ChangeForm}. */
export const takeChanges: Sql = sql`current_setting(${sql.literal(changesSetting)})::json`

/** Steps and callbacks after a captured write. */
export interface Capture {
  readonly after: readonly Step[]
  /** True if the write has to leave its changes in the setting. */
  readonly takesChanges: boolean
  readonly committed: () => void
  /** Handles a failure that {@link isNotCaptured} recognizes. */
  readonly doubt: () => void
}

/** Setting of the transaction in which triggers note their work, such as `INSERT 16385;`. */
const notedSetting = 'basalt.captured'

/** Random token, so that no value sent by a caller can look like it. */
const uncapturedToken = `not captured ${randomBytes(9).toString('base64url')} `

/**
 * Statement after a write that fails unless a trigger has noted the write; {@link isNotCaptured} recognizes the
 * failure.
 */
const requireCaptured = statement(`
  select case when position($1 in coalesce(current_setting('${notedSetting}', true), '')) = 0
    then ('${uncapturedToken}' || coalesce(current_setting('${notedSetting}', true), ''))::int end`)

/** Returns the call of {@link requireCaptured}, by the caller. */
export function requireCapturedBy({ oid }: Relation, action: ChangeAction): Call {
  return { statement: requireCaptured, values: [`${operations[action].toUpperCase()} ${oid};`] }
}

/**
 * Returns true if a write failed because no trigger has logged it, contrary to this node's knowledge. It then
 * has changed nothing.
 */
export function isNotCaptured(failure: unknown): boolean {
  return (
    failure instanceof StatementFailed &&
    failure.error.code === '22P02' &&
    failure.error.message.includes(uncapturedToken)
  )
}

/** Returns the write with its capturing steps. */
export function withCapture(write: Call, capture: Capture | undefined): readonly Step[] {
  if (capture === undefined) return [write]
  return [write, ...capture.after]
}

function leave(setting: string, value: Sql): Sql {
  return sql`set_config(${sql.literal(setting)}, ${value}, true)`
}
