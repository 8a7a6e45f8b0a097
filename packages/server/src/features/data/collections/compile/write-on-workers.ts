import type { Column } from '../../../../database/catalog/model.ts'
import { type ChangeAction, changedRow, leaveChanges } from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { RecordPlan } from '../plan/record.ts'
import { compileBodyValue } from './body.ts'
import { compileIdentity } from './identity.ts'
import { compileSelectList, neededColumns } from './record.ts'
import { relationName } from './relation.ts'
import { failWithout } from './required-row.ts'
import { body, compileInsert, compileJson, compileRowSource, type WriteOptions } from './write.ts'

/** Alias of the collection's rows. */
const row = 't'

/**
 * Row that only the coordinator has. Without it, Citus sends a statement on one shard to the worker as a whole, and
 * settings of the statement are lost.
 */
export const coordinatorRow: Sql = sql`(select 1 from pg_catalog.pg_am limit 1) one`

/**
 * Compiles the statement of an action on a table that Citus keeps in shards. It differs from
 * {@link compileWrite} in what Citus cannot send to a worker:
 * - a function that returns records of any type. The body is therefore converted on the coordinator first.
 * - functions in `returning` that are not immutable. Rows are returned as they are, and become JSON afterwards.
 * - a subquery that locks the row inside the update. The row is locked by a query before it.
 *
 * Tables on workers have no triggers, so that none can discard a change. A table with a shard on the coordinator may have
 * one. The record is then reported as missing, since Citus cannot plan another read of the table in this statement.
 */
export function compileWriteOnWorkers(
  action: ChangeAction,
  record: RecordPlan,
  columns: readonly Column[],
  { isCaptured, answer = record, setsIdentity = false }: WriteOptions,
): Sql {
  const isCompared = isCaptured && action === 'update'
  const queries = [
    ...(action === 'update' ? [sql`b as materialized (${compileConvertedBody(columns)})`] : []),
    ...(isCompared ? [sql`o as materialized (${compileLocked(record)})`] : []),
    sql`w as (${compileAction(action, record, columns, setsIdentity)} returning ${compileReturned(action, record, answer, isCaptured)})`,
  ]
  const isReturned = action !== 'delete' || isCaptured
  const whole = isReturned ? compileJson(compileSelectList(record, row)) : sql`'null'::json`
  const change = changedRow(sql`r.record`, isCompared ? sql`r.old_record` : undefined)
  const changes = action === 'create' ? change : sql`json_build_array(${change})`
  return sql`
    with ${sql.join(queries)}
    select ${answer === record ? sql`r.record` : sql`r.answer`}, ${failWithout(sql`r.record`)}
      ${isCaptured ? sql`, ${leaveChanges(changes)}` : sql.empty}
    from ${coordinatorRow}
    left join (
      select ${whole} as record
        ${answer === record ? sql.empty : sql`, ${compileJson(compileSelectList(answer, row))} as answer`}
        ${isCompared ? sql`, o.old_record` : sql.empty}
      from w ${sql.id(row)} ${isCompared ? sql`cross join o` : sql.empty}
      offset 0
    ) r on true
    limit 1`
}

function compileAction(
  action: ChangeAction,
  record: RecordPlan,
  columns: readonly Column[],
  setsIdentity: boolean,
): Sql {
  const { relation } = record
  switch (action) {
    case 'create':
      return compileInsert(relation, columns, compileRowSource(body, columns), { setsIdentity })
    case 'update':
      return sql`
        update ${relationName(relation)} as ${sql.id(row)}
        set ${sql.join(columns.map(({ name }) => sql`${sql.id(name)} = ${sql.id('b', name)}`))}
        from b
        where ${compileIdentity(relation, row)}`
    case 'delete':
      return sql`
        delete from ${relationName(relation)} as ${sql.id(row)}
        where ${compileIdentity(relation, row)}`
  }
}

/** Compiles a query of the body's values as the columns have them. */
export function compileConvertedBody(columns: readonly Column[]): Sql {
  const values = columns.map((column) => sql`${compileBodyValue(column, 'b')} as ${sql.id(column.name)}`)
  return sql`select ${sql.join(values)} from ${compileRowSource(body, columns)}`
}

/** Compiles a query of the record before an update, which locks it. */
function compileLocked(record: RecordPlan): Sql {
  return sql`
    select ${compileJson(compileSelectList(record, 'o'))} as old_record
    from ${relationName(record.relation)} o
    where ${compileIdentity(record.relation, 'o')}
    for update`
}

/** Compiles the list of returned columns. A delete that is not captured needs no right to read them. */
function compileReturned(
  action: ChangeAction,
  record: RecordPlan,
  answer: RecordPlan,
  isCaptured: boolean,
): Sql {
  if (action === 'delete' && !isCaptured) return sql`1`
  const columns = new Set([...neededColumns(record), ...neededColumns(answer)])
  return columns.size === 0 ? sql`1` : sql.join([...columns].map(({ name }) => sql.id(row, name)))
}
