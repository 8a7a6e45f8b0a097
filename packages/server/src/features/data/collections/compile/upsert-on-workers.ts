import type { Column } from '../../../../database/catalog/model.ts'
import { changedRow, leaveChanges } from '../../../../database/change-log.ts'
import { staleFailure } from '../../../../database/distributed/stale-read.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { mayReadSystemColumns } from '../plan/reader.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { UpsertPlan } from '../plan/upsert.ts'
import { compileSameRow } from './identity.ts'
import { compileSelectList, neededColumns } from './record.ts'
import { relationName } from './relation.ts'
import { failWithout } from './required-row.ts'
import type { UpsertOptions } from './upsert.ts'
import { body, compileInsert, compileJson, compileRowSource, oldRecord } from './write.ts'
import { compileConvertedBody, coordinatorRow } from './write-on-workers.ts'

/** Alias of the collection's rows. */
const row = 't'

/** Names of columns beside those of the collection. Columns do not have these names. */
const isInserted = sql.id('basalt inserted')
const oldVersion = 'basalt old version'

/**
 * Compiles a create or update by key, on a table of the workers. Citus
 * accepts no function in the condition of `do update`, so `xmax` distinguishes an update from an insert. It is zero
 * in a row that no transaction has updated or locked (PostgreSQL, System Columns).
 *
 * @throws AppError where the change is captured, and the record before it cannot be read
 */
export function compileUpsertOnWorkers(
  record: RecordPlan,
  columns: readonly Column[],
  plan: UpsertPlan,
  options: UpsertOptions,
): Sql {
  if (options.isCaptured) return compileCaptured(record, columns, plan, options)
  const { requiresRow, answer = record } = options
  const source = compileRowSource(body, columns)
  return sql`
    with w as (${compileUpdatingInsert(record, columns, plan, source, neededColumns(answer))})
    select r.answer, r.created ${requiresRow ? sql`, ${failWithout(sql`r.answer`)}` : sql.empty}
    from ${coordinatorRow}
    ${requiresRow ? sql`left join` : sql`join`} (
      select ${compileJson(compileSelectList(answer, row))} as answer, ${sql.id(row)}.${isInserted} as created
      from w ${sql.id(row)}
      offset 0
    ) r on true`
}

/**
 * Compiles the same with the record before an update. Citus cannot lock that record by a key in the body, so it is
 * read with its version, and only this version is updated. Citus runs the queries of `with` one after the other:
 * - `i` creates the record, with the checks of any create.
 * - `o` and `u` read and update the record that exists.
 * - `h` runs where there is neither, like an upsert without a listener. It fails as that does where policies hide the
 *   record. If it updates one, another transaction has changed it since `o`, and the statement fails
 *   ({@link staleFailure}).
 */
function compileCaptured(
  record: RecordPlan,
  columns: readonly Column[],
  plan: UpsertPlan,
  { requiresRow, answer = record }: UpsertOptions,
): Sql {
  if (!mayReadSystemColumns(record.relation, record.reader)) {
    throw databaseErrors.unsupportedOnDistributedTable(
      'a create or update with a listener reads the versions of rows, for which the caller needs SELECT on the whole table',
    )
  }
  const { key, updated } = plan
  if (key.some((column) => !columns.includes(column))) {
    throw databaseErrors.unsupportedOnDistributedTable(
      'a create or update with a listener by a generated column; create or update the record by id',
    )
  }
  const name = relationName(record.relation)
  const needed = [...new Set([...neededColumns(record), ...neededColumns(answer)])]
  const returned = needed.map((column) => sql.id(row, column.name))
  const source = compileRowSource(body, columns)
  const assignments = updated.map((column) =>
    key.includes(column)
      ? sql`${sql.id(column.name)} = ${sql.id(row, column.name)}`
      : sql`${sql.id(column.name)} = ${sql.id('b', column.name)}`,
  )
  const inserted = sql`${compileInsert(record.relation, columns, source)}
    on conflict (${sql.join(key.map((column) => sql.id(column.name)))}) do nothing
    returning ${sql.join(returned)}`
  const old = sql`
    select ${sql.join(key.map((column) => sql.id('o', column.name)))},
      ${sql.id('o', 'xmin')} as ${sql.id(oldVersion)},
      ${compileJson(compileSelectList(record, 'o'))} as ${sql.id(oldRecord)}
    from ${name} o, b
    where ${compileSameRow(key, 'o', 'b')} and not exists (select from i)`
  const changed = sql`
    update ${name} as ${sql.id(row)}
    set ${sql.join(assignments)}
    from b, o
    where ${compileSameRow(key, row, 'o')} and ${sql.id(row, 'xmin')} = ${sql.id('o', oldVersion)}
    returning ${sql.join([...returned, sql.id('o', oldRecord)])}`
  const absent = sql`${source} where not exists (select from i) and not exists (select from u)`
  const list = sql.join(needed.map((column) => sql.id(column.name)))
  const created = sql`r.created`
  return sql`
    with b as materialized (${compileConvertedBody(columns)}),
      i as (${inserted}),
      o as materialized (${old}),
      u as (${changed}),
      h as (${compileUpdatingInsert(record, columns, plan, absent, needed)}),
      w as (
        select ${list}, true as ${isInserted}, null::json as ${sql.id(oldRecord)} from i
        union all select ${list}, false, ${sql.id(oldRecord)} from u
        union all select ${list}, ${isInserted}, null from h
      )
    select r.answer, ${created},
      case when ${created} is false and r.old_record is null then ${staleFailure(sql`${created}::text`)} end
      ${requiresRow ? sql`, ${failWithout(sql`r.answer`)}` : sql.empty},
      ${leaveChanges(sql`json_build_array(${changedRow(sql`r.record`, sql`r.old_record`)})`)}
    from ${coordinatorRow}
    ${requiresRow ? sql`left join` : sql`join`} (
      select ${compileJson(compileSelectList(answer, row))} as answer, ${sql.id(row)}.${isInserted} as created,
        ${compileJson(compileSelectList(record, row))} as record, ${sql.id(row, oldRecord)} as old_record
      from w ${sql.id(row)}
      offset 0
    ) r on true`
}

/** Compiles an insert of the rows that updates the record with the same key. It returns these columns, and `xmax`. */
function compileUpdatingInsert(
  { relation }: RecordPlan,
  columns: readonly Column[],
  { key, updated }: UpsertPlan,
  source: Sql,
  returned: readonly Column[],
): Sql {
  const assignments = updated.map(({ name }) => sql`${sql.id(name)} = ${sql.id('excluded', name)}`)
  const list = returned.map(({ name }) => sql.id(row, name))
  return sql`
    ${compileInsert(relation, columns, source)}
    on conflict (${sql.join(key.map(({ name }) => sql.id(name)))}) do update set ${sql.join(assignments)}
    returning ${sql.join([...list, sql`${sql.id(row, 'xmax')} = 0 as ${isInserted}`])}`
}
