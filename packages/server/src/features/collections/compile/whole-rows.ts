import type { Relation } from '../../../database/catalog/model.ts'
import {
  type ChangeAction,
  changedRow,
  leaveRowBefore,
  replaceChangedRows,
  takeChangedRows,
  takeRowBefore,
} from '../../../database/change-log.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import { visibleColumns } from '../plan/reader.ts'
import { planWholeRecord } from '../plan/record.ts'
import { compileSelectList, relationName } from './record.ts'
import { compileIdentity } from './write.ts'

/**
 * A write of a caller leaves its changes with the columns that the caller may read. Where there are others, whoever
 * listens still gets whole rows: the login role reads them, before the write and after it.
 */
export interface WholeRowStatements {
  /** As the caller, so that an id of the wrong form or a missing right is a fault of the request. */
  readonly check: Sql | undefined
  /** As the login role, before the write. */
  readonly before: Sql | undefined
  /** As the login role, after the write. */
  readonly after: Sql
}

/** Undefined where callers read every column, or where no key finds the row again. */
export function compileWholeRows(relation: Relation, action: ChangeAction): WholeRowStatements | undefined {
  const visible = visibleColumns(relation, 'caller')
  if (visible.length === relation.columns.length || relation.primaryKey.length === 0) return undefined
  // Of a row whose key the caller may not read nothing more is known than what was left.
  if (!relation.primaryKey.every((column) => visible.includes(column))) return undefined
  const name = relationName(relation)
  const whole = (alias: string) =>
    sql`(select row_to_json(s.*)
      from (select ${compileSelectList(planWholeRecord(relation, 'unrestricted'), alias)}) s)`
  if (action === 'create')
    return { check: undefined, before: undefined, after: compileAfter(relation, whole('t')) }
  return {
    check: sql`select 1 from ${name} as t where ${compileIdentity(relation, 't')}`,
    // The lock keeps it the row that is changed.
    before: leaveRowBefore(sql`(
      select ${whole('t')} from ${name} as t where ${compileIdentity(relation, 't')} limit 1 for update)`),
    after:
      action === 'update'
        ? compileAfter(relation, whole('t'), takeRowBefore)
        : replaceChangedRows(sql`json_build_array(${changedRow(takeRowBefore)})`),
  }
}

/** The rows left, each replaced by the one with its key; by itself when a trigger has moved that away. */
function compileAfter(relation: Relation, whole: Sql, oldRecord?: Sql): Sql {
  const key = relation.primaryKey
  const types = sql.join(key.map(({ name, type }) => sql`${sql.id(name)} ${sql.type(type.name)}`))
  const isSame = sql.join(
    key.map(({ name }) => sql`${sql.id('t', name)} = ${sql.id('k', name)}`),
    sql` and `,
  )
  const record = sql`coalesce(f.record, c.change->'record')`
  return replaceChangedRows(sql`(
    select json_agg(${changedRow(record, oldRecord)} order by c.place)
    from json_array_elements(${takeChangedRows}) with ordinality c (change, place)
    cross join lateral json_to_record(c.change->'record') as k (${types})
    left join lateral (
      select ${whole} as record from ${relationName(relation)} as t where ${isSame} limit 1
    ) f on true)`)
}
