import { randomBytes } from 'node:crypto'
import { changedRow, leaveChanges } from '../../../../database/change-log.ts'
import type { StatementFailed } from '../../../../database/connection/message.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { BulkPlan, ColumnChange } from '../plan/bulk.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { SlotValues } from '../statement-cache.ts'
import { compileBodyValue } from './body.ts'
import { canFindAgain, compileSameRow, keyOf } from './identity.ts'
import { compileSelectList } from './record.ts'
import { relationName } from './relation.ts'
import { compileConditions } from './rows.ts'
import { body, compileJson, compileRowSource, oldRecord, writeSlots } from './write.ts'

/** Alias of the collection's rows. */
const row = 't'

export const expectSlot = new Slot('expect')

/**
 * Returns the slot values of {@link compileBulk}.
 *
 * @param expect number of records that the write must change; undefined: any
 */
export function bulkSlots(json: string, expect: number | undefined): SlotValues {
  return { ...writeSlots(json, []), ...(expect === undefined ? {} : { [expectSlot.name]: String(expect) }) }
}

/**
 * Compiles a statement that writes all records matching the conditions. It fails when their number is not the
 * expected one, and the failure undoes the write. {@link readUnexpectedCount} recognizes it. It fails as soon as the
 * limit is exceeded, not after a whole table. It returns one row: the number of records, and the records as a JSON
 * array if requested.
 */
export function compileBulk(plan: BulkPlan, isCaptured: boolean): Sql {
  const { action, record, answer, limit } = plan
  const members = [
    ...(isCaptured ? [sql`${compileRecord(record)} as record`] : []),
    ...(answer === undefined ? [] : [sql`${compileRecord(answer)} as answer`]),
  ]
  const isCompared = isCaptured && action === 'update'
  const list = [...members, ...(isCompared ? [sql`${sql.id('o', oldRecord)} as old_record`] : [])]
  const write = sql`${action === 'update' ? compileUpdate(plan, isCompared) : compileDelete(plan)}
    returning ${list.length === 0 ? sql`1` : sql.join(list)}`
  const change = changedRow(sql`x.record`, isCompared ? sql`x.old_record` : undefined)
  const ordinal = sql`row_number() over ()`
  return sql`
    with w as (${write})
    select c.count, c.answers, ${failWhen(sql`c.count <> ${expectSlot}::bigint`, sql`c.count`)}
      ${isCaptured ? sql`, ${leaveChanges(sql`c.changes`)}` : sql.empty}
    from (
      select count(*) filter (where x.excess is null) as count,
        ${answer === undefined ? sql`null` : sql`coalesce(json_agg(x.answer), '[]')`} as answers
        ${isCaptured ? sql`, coalesce(json_agg(${change}), '[]') as changes` : sql.empty}
      from (
        select w.*, ${failWhen(sql`${ordinal} > ${sql.integer(limit)}`, ordinal)} as excess from w
      ) x
    ) c`
}

function compileUpdate({ rows, record, columns, changes, limit }: BulkPlan, isCompared: boolean): Sql {
  const name = relationName(rows.relation)
  const assignments = sql.join(
    columns.map((column) => {
      const value = compileBodyValue(column, 'b')
      const current = sql.id(row, column.name)
      return sql`${sql.id(column.name)} = ${compileChange(changes?.get(column), current, value)}`
    }),
  )
  const update = sql`
    update ${name} as ${sql.id(row)}
    set ${assignments}
    from ${compileRowSource(body, columns)}`
  if (!isCompared) return sql`${update} where ${compileConditions(rows, row)}`
  if (!canFindAgain(record)) {
    // Rows that are the same to the caller now were the same before, too.
    const visible = (alias: string) => sql`${compileJson(compileSelectList(record, alias))}::text`
    return sql`${update}, (
        select l.visible, l.visible::json as ${sql.id(oldRecord)}
        from (
          select distinct ${visible('o')} as visible from ${name} o where ${compileConditions(rows, 'o')}
          limit ${sql.integer(limit + 1)}) l
      ) o
      where ${visible(row)} = o.visible and (${compileConditions(rows, row)})`
  }
  // Because of the lock, the old record in the result is the one that is updated.
  const key = keyOf(record)
  // Rows may share their key; only those matching the conditions are written.
  const isShared = rows.relation.hasDescendants && !key.some(({ name: each }) => each === 'ctid')
  const also = isShared ? sql` and (${compileConditions(rows, row)})` : sql.empty
  return sql`${update}, (
      select ${sql.join(key.map(({ name: each }) => sql.id('o', each)))}, ${compileJson(compileSelectList(record, 'o'))} as ${sql.id(oldRecord)}
      from ${name} o
      where ${compileConditions(rows, 'o')}
      limit ${sql.integer(limit + 1)}
      for update of o
    ) o
    where ${compileSameRow(key, row, 'o')}${also}`
}

/** Returns the new value of a column. */
export function compileChange(change: ColumnChange | undefined, current: Sql, value: Sql): Sql {
  switch (change) {
    case 'increment':
      return sql`${current} + ${value}`
    case 'append':
      return sql`${current} || ${value}`
    case 'prepend':
      return sql`${value} || ${current}`
    default:
      return value
  }
}

function compileDelete({ rows }: BulkPlan): Sql {
  return sql`delete from ${relationName(rows.relation)} as ${sql.id(row)} where ${compileConditions(rows, row)}`
}

function compileRecord(record: RecordPlan): Sql {
  return compileJson(compileSelectList(record, row))
}

/** Token that is unknown to clients, so that no value sent by a caller can be mistaken for it. */
const countToken = `unexpected count ${randomBytes(9).toString('base64url')} `

/**
 * Compiles an expression that fails. PostgreSQL has no statement that fails on purpose, so it casts a text of ours to
 * a number.
 */
export function failWhen(condition: Sql, count: Sql): Sql {
  return sql`case when ${condition} then (${sql.literal(countToken)} || ${count})::int end`
}

/**
 * Returns how many records a write matched that failed for their number. Undefined when it failed for another reason.
 */
export function readUnexpectedCount({ error }: StatementFailed): number | undefined {
  if (error.code !== '22P02') return undefined
  const start = error.message.indexOf(countToken)
  return start === -1 ? undefined : Number.parseInt(error.message.slice(start + countToken.length), 10)
}
