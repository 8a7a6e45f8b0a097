import { changedRow, leaveChanges } from '../../../../database/change-log.ts'
import { staleFailure } from '../../../../database/distributed/stale-read.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { BulkPlan } from '../plan/bulk.ts'
import { mayReadSystemColumns } from '../plan/reader.ts'
import type { RecordPlan } from '../plan/record.ts'
import { compileChange, expectSlot, failWhen } from './bulk.ts'
import { compileSameRow, keyOf, mayReadKey } from './identity.ts'
import { compileSelectList, neededColumns } from './record.ts'
import { relationName } from './relation.ts'
import { compileConditions } from './rows.ts'
import { compileJson, oldRecord } from './write.ts'
import { compileConvertedBody, coordinatorRow } from './write-on-workers.ts'

/** Alias of the collection's rows. */
const row = 't'

/** Version of the row before an update. Columns do not have this name. */
const oldVersion = 'basalt old version'

/**
 * Compiles a write by filter on a table that Citus keeps on its workers, as {@link compileWriteOnWorkers} does for one
 * record. It returns the row of `compileBulk`.
 *
 * A captured update needs the records before it. Citus locks rows on one worker only, so they are read with their
 * versions (`xmin`), and only these versions are updated. A row that policies let the caller read but not update still
 * has its version afterwards. If another transaction has changed a row in between, the statement fails
 * ({@link staleFailure}). A caller who may not read `xmin` locks the rows, so that the filter has to find them on one
 * worker.
 */
export function compileBulkOnWorkers(plan: BulkPlan, isCaptured: boolean): Sql {
  const { action, record, answer, columns, limit } = plan
  const isCompared = isCaptured && action === 'update'
  const isVersioned = isCompared && readsVersions(record)
  const queries = [
    ...(action === 'update' ? [sql`b as materialized (${compileConvertedBody(columns)})`] : []),
    ...(isCompared ? [sql`o as materialized (${compileOld(plan)})`] : []),
    sql`w as (${action === 'update' ? compileUpdate(plan, isCompared) : compileDelete(plan)}
      returning ${compileReturned(plan, isCaptured)})`,
    ...(isVersioned
      ? [
          sql`v as materialized (${compileUnchanged(plan)})`,
          sql`s as materialized (${compileStaleCount(record)})`,
        ]
      : []),
  ]
  const members = [
    ...(isCaptured ? [sql`${compileJson(compileSelectList(record, row))} as record`] : []),
    ...(answer === undefined ? [] : [sql`${compileJson(compileSelectList(answer, row))} as answer`]),
    ...(isCompared ? [sql`${sql.id(row, oldRecord)} as old_record`] : []),
  ]
  const ordinal = sql`row_number() over ()`
  const change = changedRow(sql`x.record`, isCompared ? sql`x.old_record` : undefined)
  const unexpected = failWhen(sql`c.count <> ${expectSlot}::bigint`, sql`c.count`)
  const check = isVersioned
    ? sql`case when (select s.count from s) > 0 then ${staleFailure(sql`c.count`)} else ${unexpected} end`
    : unexpected
  return sql`
    with ${sql.join(queries)}
    select c.count, c.answers, ${check}
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
  const version = readsVersions(record)
    ? sql` and ${sql.id(row, 'xmin')} = ${sql.id('o', oldVersion)}`
    : sql.empty
  const same = isCompared ? sql` and ${compileSameRow(keyOf(record), row, 'o')}${version}` : sql.empty
  return sql`
    update ${relationName(rows.relation)} as ${sql.id(row)}
    set ${sql.join(assignments)}
    from b${isCompared ? sql`, o` : sql.empty}
    where (${compileConditions(rows, row)})${same}`
}

function compileDelete({ rows }: BulkPlan): Sql {
  return sql`delete from ${relationName(rows.relation)} as ${sql.id(row)} where ${compileConditions(rows, row)}`
}

/** Returns true if the caller may read what identifies a row, and its version. */
function readsVersions(record: RecordPlan): boolean {
  return mayReadKey(record) && mayReadSystemColumns(record.relation, record.reader)
}

/** Compiles a query of the records before an update, with their versions or with locks. */
function compileOld({ rows, record, limit }: BulkPlan): Sql {
  const isVersioned = readsVersions(record)
  return sql`
    select ${sql.join(keyOf(record).map(({ name }) => sql.id('o', name)))},
      ${isVersioned ? sql`${sql.id('o', 'xmin')} as ${sql.id(oldVersion)},` : sql.empty}
      ${compileJson(compileSelectList(record, 'o'))} as ${sql.id(oldRecord)}
    from ${relationName(rows.relation)} o
    where ${compileConditions(rows, 'o')}
    limit ${sql.integer(limit + 1)}
    ${isVersioned ? sql.empty : sql`for update`}`
}

/** Compiles a query of the rows whose version is still the one in `o`. */
function compileUnchanged({ rows, record }: BulkPlan): Sql {
  const key = keyOf(record)
  return sql`
    select ${sql.join(key.map(({ name }) => sql.id('o', name)))}
    from ${relationName(rows.relation)} as ${sql.id(row)}, o
    where ${compileSameRow(key, row, 'o')} and ${sql.id(row, 'xmin')} = ${sql.id('o', oldVersion)}`
}

/**
 * Compiles a query of the number of rows that were neither updated nor have their old version. An update may change the
 * key, so the old records are compared. They contain the key. It is a query of its own because Citus otherwise loses
 * the columns of the body.
 */
function compileStaleCount(record: RecordPlan): Sql {
  const old = (alias: string) => sql`${sql.id(alias, oldRecord)}::text`
  return sql`
    select count(*) as count
    from o
    where not exists (select from w where ${old('w')} = ${old('o')})
      and not exists (select from v where ${compileSameRow(keyOf(record), 'v', 'o')})`
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
