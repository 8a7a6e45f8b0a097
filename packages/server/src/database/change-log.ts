import { randomBytes } from 'node:crypto'
import type { Step } from './caller/caller-steps.ts'
import type { Relation } from './catalog/model.ts'
import { type Call, StatementFailed, statement } from './connection/message.ts'
import { type Sql, sql } from './sql.ts'

export type ChangeAction = 'create' | 'update' | 'delete'

/**
 * The one place where writes of the data API are handed on. Where a trigger logs what the table changes, the call that
 * `capture` answers makes sure that it has. Elsewhere a write that has a listener leaves what it changed in a setting of
 * its transaction; the call runs right after it, in the same message and transaction, as the login role, and finds the
 * changes in that setting.
 */
export interface ChangeLog {
  /** True if tables get triggers, which log what is written past the API, too. */
  readonly hasTriggers: boolean
  /**
   * Undefined without a listener: the write then costs nothing extra. Answered from memory.
   *
   * @param isPartial whether the records lack columns, which the caller may not read
   */
  capture(
    relation: Relation,
    action: ChangeAction,
    form: ChangeForm,
    isPartial: boolean,
  ): CapturingCall | undefined
  /** After the commit of a write that was captured. */
  committed(): void
  /** A write failed since no trigger has logged it, as {@link isNotCaptured} tells: the next attempt leaves its changes. */
  doubt(relation: Relation): void
}

/** What follows a write for the log of changes. */
export interface CapturingCall {
  readonly call: Call
  /** True if the write has to leave its changes for it. It then runs as the login role. */
  readonly takesChanges: boolean
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
export const silentChangeLog: ChangeLog = {
  hasTriggers: false,
  capture: () => undefined,
  committed: () => undefined,
  doubt: () => undefined,
}

const changesSetting = 'basalt.changed_rows'

/** Begins the names of the triggers that log changes; `insert` and so on follows. */
export const captureTriggerPrefix = 'basalt_capture_'

const operations = { create: 'insert', update: 'update', delete: 'delete' } as const

/** Returns whether the operator lets the table have triggers: a comment may hold `@events off`. */
export function mayHaveTriggers({ kind, comment, isOfExtension }: Relation): boolean {
  if (kind !== 'table' && kind !== 'partitioned_table') return false
  return !isOfExtension && !/(?:^|\s)@events off(?:\s|$)/.test(comment ?? '')
}

/** Name of the trigger that logs an action. */
export function captureTriggerName(action: ChangeAction | 'truncate'): string {
  return `${captureTriggerPrefix}${action === 'truncate' ? action : operations[action]}`
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

/** What follows a write that is captured. */
export interface Capture {
  readonly after: readonly Step[]
  /** True if the write has to leave its changes. */
  readonly takesChanges: boolean
  readonly committed: () => void
  /** After a failure as {@link isNotCaptured} tells. */
  readonly doubt: () => void
}

/** What triggers note in a setting of the transaction: `INSERT 16385;` and so on. */
const notedSetting = 'basalt.captured'

/** Unknown outside, so that no value sent by a caller can look like it. */
const uncapturedToken = `not captured ${randomBytes(9).toString('base64url')} `

/** After a write: fails unless a trigger has noted it; {@link isNotCaptured} recognizes that. */
const requireCaptured = statement(`
  select case when position($1 in coalesce(current_setting('${notedSetting}', true), '')) = 0
    then ('${uncapturedToken}' || coalesce(current_setting('${notedSetting}', true), ''))::int end`)

/** The call of {@link requireCaptured}, by the caller. */
export function requireCapturedBy({ oid }: Relation, action: ChangeAction): Call {
  return { statement: requireCaptured, values: [`${operations[action].toUpperCase()} ${oid};`] }
}

/** Returns whether a write failed as no trigger has logged it, against what this node knew. Nothing was changed then. */
export function isNotCaptured(failure: unknown): boolean {
  return (
    failure instanceof StatementFailed &&
    failure.error.code === '22P02' &&
    failure.error.message.includes(uncapturedToken)
  )
}

/** The write and what follows it. */
export function withCapture(write: Call, capture: Capture | undefined): readonly Step[] {
  if (capture === undefined) return [write]
  return [write, ...capture.after]
}

function leave(setting: string, value: Sql): Sql {
  return sql`set_config(${sql.literal(setting)}, ${value}, true)`
}
