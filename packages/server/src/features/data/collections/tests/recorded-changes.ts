import type { TestApp } from '../../../../../test/test-app.ts'
import {
  type ChangeAction,
  type ChangeForm,
  type ChangeLog,
  takeChanges,
} from '../../../../database/change-log.ts'
import { statement } from '../../../../database/connection/message.ts'
import { render, type Sql, sql } from '../../../../database/sql.ts'

/** Change log for tests that writes its changes into a table. */

/** Tables and actions that have a listener: `item create`. */
export const recordedChanges = new Set<string>()

export const recording: ChangeLog = {
  hasTriggers: false,
  doubt: () => undefined,
  committed: () => undefined,
  capture({ collection }, action, form) {
    if (!recordedChanges.has(`${collection} ${action}`)) return undefined
    const change =
      action === 'update'
        ? sql`json_build_object('record', c.record, 'oldRecord', c."oldRecord")`
        : sql`json_build_object('record', c.record)`
    const { text, values } = render(sql`
      insert into captured.change (collection, action, rows)
      select ${collection}, ${action}, json_agg(${change}) from ${changedRows(action, form)}`)
    // Only the two texts are bound.
    return { call: { statement: statement(text), values: values as string[] }, takesChanges: true }
  },
}

/**
 * Compiles the changes that the action made in the preceding write, for the `from` of the capturing call. They are in
 * order, as `c (record, "oldRecord")` of type `json`. `record` is the whole row as written or deleted; `"oldRecord"`
 * is present only for updates.
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
  // The value is read once, however often it is referenced.
  return sql`(select ${takeChanges} as record offset 0) c`
}

export const recordingTables = `
create schema captured;
grant usage on schema captured to public;
create table captured.change (id int generated always as identity, collection text, action text, rows json);
grant insert on captured.change to public;`

export interface RecordedEvent {
  readonly table: string
  readonly action: string
  // biome-ignore lint/suspicious/noExplicitAny: rows of any table
  readonly rows: any
}

/** Returns the recorded changes in order. A call without a change of its action records none. */
export async function eventsOf(app: TestApp): Promise<RecordedEvent[]> {
  const rows = await app.sql(
    'select collection as table, action, rows from captured.change where rows is not null order by id',
  )
  // The columns of the statement above.
  return rows as unknown as RecordedEvent[]
}
