import type { TestApp } from '../../../../../test/test-app.ts'
import {
  type ChangeAction,
  type ChangeForm,
  type ChangeLog,
  takeChanges,
} from '../../../../database/change-log.ts'
import { statement } from '../../../../database/connection/message.ts'
import { render, type Sql, sql } from '../../../../database/sql.ts'

/** A change log for tests: writes what it is handed into a table. */

/** Table and action of what has a listener: `item create`. */
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
    // Nothing but the two texts is bound.
    return { call: { statement: statement(text), values: values as string[] }, takesChanges: true }
  },
}

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

/** What was recorded, in order; a call that found no change of its action is none. */
export async function eventsOf(app: TestApp): Promise<RecordedEvent[]> {
  const rows = await app.sql(
    'select collection as table, action, rows from captured.change where rows is not null order by id',
  )
  // The columns of the statement above.
  return rows as unknown as RecordedEvent[]
}
