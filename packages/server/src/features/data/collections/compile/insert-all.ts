import type { Column } from '../../../../database/catalog/model.ts'
import { leaveChanges } from '../../../../database/change-log.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { SlotValues } from '../statement-cache.ts'
import { compileSelectList } from './record.ts'
import { compileInsert, compileJson, compileRowSource } from './write.ts'

/** Alias of the collection's rows. */
const row = 't'

const bodiesSlot = 'bodies'

/** Returns what fills the slots of {@link compileInsertAll}. */
export function insertAllSlots(bodies: readonly string[]): SlotValues {
  return { [bodiesSlot]: `[${bodies.join(',')}]` }
}

export interface InsertAllOptions {
  readonly isCaptured: boolean
  /** Record that the response has of each row; undefined: their number alone. */
  readonly answer: RecordPlan | undefined
}

/**
 * Inserts several rows with values for the same columns by one statement. Its one row holds the number of
 * rows, and the records as a JSON array in the order of the bodies.
 */
export function compileInsertAll(
  record: RecordPlan,
  columns: readonly Column[],
  { isCaptured, answer }: InsertAllOptions,
): Sql {
  const source = compileRowSource(sql`json_to_recordset(${new Slot(bodiesSlot)}::json)`, columns)
  const members = [
    ...(isCaptured ? [sql`${compileJson(compileSelectList(record, row))} as record`] : []),
    ...(answer === undefined ? [] : [sql`${compileJson(compileSelectList(answer, row))} as answer`]),
  ]
  return sql`
    with w as (
        ${compileInsert(record.relation, columns, source)}
        returning ${members.length === 0 ? sql`1` : sql.join(members)}
      ),
      n as (select w.*, row_number() over () as ordinal from w)
    select count(*),
      ${answer === undefined ? sql`null` : sql`coalesce(json_agg(n.answer order by n.ordinal), '[]')`}
      ${isCaptured ? sql`, ${leaveChanges(sql`coalesce(json_agg(n.record order by n.ordinal), '[]')`)}` : sql.empty}
    from n`
}
