import { changedRow, leaveChanges } from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { BulkPlan } from '../plan/bulk.ts'
import { compileChange, expectSlot, failWhen } from './bulk.ts'
import { compileSameRow, keyOf } from './identity.ts'
import { compileSelectList, neededColumns } from './record.ts'
import { relationName } from './relation.ts'
import { compileConditions } from './rows.ts'
import { compileJson, oldRecord } from './write.ts'
import { compileConvertedBody, coordinatorRow } from './write-on-workers.ts'

/** Alias of the collection's rows. */
const row = 't'

/**
 * Compiles a write by filter on a table that Citus keeps on its workers, as {@link compileWriteOnWorkers} does for one
 * record. It returns the row of `compileBulk`. The records before a captured update are locked by a query before it.
 * Citus accepts that query only if the filter finds them on one worker.
 */
export function compileBulkOnWorkers(plan: BulkPlan, isCaptured: boolean): Sql {
  const { action, record, answer, columns, limit } = plan
  const isCompared = isCaptured && action === 'update'
  const queries = [
    ...(action === 'update' ? [sql`b as materialized (${compileConvertedBody(columns)})`] : []),
    ...(isCompared ? [sql`o as materialized (${compileLocked(plan)})`] : []),
    sql`w as (${action === 'update' ? compileUpdate(plan, isCompared) : compileDelete(plan)}
      returning ${compileReturned(plan, isCaptured)})`,
  ]
  const members = [
    ...(isCaptured ? [sql`${compileJson(compileSelectList(record, row))} as record`] : []),
    ...(answer === undefined ? [] : [sql`${compileJson(compileSelectList(answer, row))} as answer`]),
    ...(isCompared ? [sql`${sql.id(row, oldRecord)} as old_record`] : []),
  ]
  const ordinal = sql`row_number() over ()`
  const change = changedRow(sql`x.record`, isCompared ? sql`x.old_record` : undefined)
  return sql`
    with ${sql.join(queries)}
    select c.count, c.answers, ${failWhen(sql`c.count <> ${expectSlot}::bigint`, sql`c.count`)}
      ${isCaptured ? sql`, ${leaveChanges(sql`c.changes`)}` : sql.empty}
    from ${coordinatorRow}
    cross join (
      select count(*) filter (where x.excess is null) as count,
        ${answer === undefined ? sql`null` : sql`coalesce(json_agg(x.answer), '[]')`} as answers
        ${isCaptured ? sql`, coalesce(json_agg(${change}), '[]') as changes` : sql.empty}
      from (
        select ${sql.join([...members, sql`${failWhen(sql`${ordinal} > ${sql.integer(limit)}`, ordinal)} as excess`])}
        from w ${sql.id(row)}
      ) x
    ) c`
}

function compileUpdate({ rows, record, columns, changes }: BulkPlan, isCompared: boolean): Sql {
  const assignments = columns.map(({ name }) => {
    const column = record.relation.column.get(name)
    const value = compileChange(column && changes?.get(column), sql.id(row, name), sql.id('b', name))
    return sql`${sql.id(name)} = ${value}`
  })
  const same = isCompared ? sql` and ${compileSameRow(keyOf(record), row, 'o')}` : sql.empty
  return sql`
    update ${relationName(rows.relation)} as ${sql.id(row)}
    set ${sql.join(assignments)}
    from b${isCompared ? sql`, o` : sql.empty}
    where (${compileConditions(rows, row)})${same}`
}

function compileDelete({ rows }: BulkPlan): Sql {
  return sql`delete from ${relationName(rows.relation)} as ${sql.id(row)} where ${compileConditions(rows, row)}`
}

/** Compiles a query of the records before an update, which locks them. */
function compileLocked({ rows, record, limit }: BulkPlan): Sql {
  return sql`
    select ${sql.join(keyOf(record).map(({ name }) => sql.id('o', name)))},
      ${compileJson(compileSelectList(record, 'o'))} as ${sql.id(oldRecord)}
    from ${relationName(rows.relation)} o
    where ${compileConditions(rows, 'o')}
    limit ${sql.integer(limit + 1)}
    for update`
}

function compileReturned({ action, record, answer }: BulkPlan, isCaptured: boolean): Sql {
  const columns = new Set([
    ...(isCaptured ? neededColumns(record) : []),
    ...(answer === undefined ? [] : neededColumns(answer)),
  ])
  const list = [...columns].map(({ name }) => sql.id(row, name))
  if (isCaptured && action === 'update') list.push(sql.id('o', oldRecord))
  return list.length === 0 ? sql`1` : sql.join(list)
}
