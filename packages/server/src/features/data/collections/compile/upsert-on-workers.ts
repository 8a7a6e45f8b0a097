import type { Column } from '../../../../database/catalog/model.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { UpsertPlan } from '../plan/upsert.ts'
import { compileSelectList, neededColumns } from './record.ts'
import { failWithout } from './required-row.ts'
import type { UpsertOptions } from './upsert.ts'
import { body, compileInsert, compileJson, compileRowSource } from './write.ts'
import { coordinatorRow } from './write-on-workers.ts'

/** Alias of the collection's rows. */
const row = 't'

/** Name of a column beside those of the collection. Columns do not have this name. */
const isInserted = sql.id('basalt inserted')

/**
 * Compiles a create or update by key, on a table of the workers. Citus
 * accepts no function in the condition of `do update`, so `xmax` distinguishes an update from an insert. It is zero
 * in a row that no transaction has updated or locked (PostgreSQL, System Columns).
 *
 * @throws AppError where the change is captured: no query can lock the record before it is known to exist
 */
export function compileUpsertOnWorkers(
  record: RecordPlan,
  columns: readonly Column[],
  plan: UpsertPlan,
  { isCaptured, requiresRow, answer = record }: UpsertOptions,
): Sql {
  if (isCaptured) {
    throw databaseErrors.unsupportedOnDistributedTable(
      'a create or update has no event with the record before it; create or update the record by id',
    )
  }
  const keys = sql.join(plan.key.map(({ name }) => sql.id(name)))
  const assignments = plan.updated.map(({ name }) => sql`${sql.id(name)} = ${sql.id('excluded', name)}`)
  const returned = neededColumns(answer).map(({ name }) => sql.id(row, name))
  return sql`
    with w as (
      ${compileInsert(record.relation, columns, compileRowSource(body, columns))}
      on conflict (${keys}) do update set ${sql.join(assignments)}
      returning ${sql.join([...returned, sql`${sql.id(row, 'xmax')} = 0 as ${isInserted}`])}
    )
    select r.answer, r.created ${requiresRow ? sql`, ${failWithout(sql`r.answer`)}` : sql.empty}
    from ${coordinatorRow}
    ${requiresRow ? sql`left join` : sql`join`} (
      select ${compileJson(compileSelectList(answer, row))} as answer, ${sql.id(row)}.${isInserted} as created
      from w ${sql.id(row)}
      offset 0
    ) r on true`
}
