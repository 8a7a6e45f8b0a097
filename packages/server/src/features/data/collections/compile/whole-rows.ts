import type { Relation } from '../../../../database/catalog/model.ts'
import {
  type ChangeAction,
  type ChangeForm,
  changedRow,
  leaveRowBefore,
  replaceChanges,
  takeChanges,
  takeRowBefore,
} from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
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
export function compileWholeRows(
  relation: Relation,
  action: ChangeAction,
  form: ChangeForm,
): WholeRowStatements | undefined {
  const visible = visibleColumns(relation, 'caller')
  if (visible.length === relation.columns.length || relation.primaryKey.length === 0) return undefined
  // Of a row whose key the caller may not read nothing more is known than what was left.
  if (!relation.primaryKey.every((column) => visible.includes(column))) return undefined
  const name = relationName(relation)
  const whole = (alias: string) => wholeRow(relation, alias)
  if (action === 'create')
    return { check: undefined, before: undefined, after: compileAfter(relation, whole('t'), form) }
  return {
    check: sql`select 1 from ${name} as t where ${compileIdentity(relation, 't')}`,
    // The lock keeps it the row that is changed.
    before: leaveRowBefore(sql`(
      select ${whole('t')} from ${name} as t where ${compileIdentity(relation, 't')} limit 1 for update)`),
    after:
      action === 'update'
        ? compileAfter(relation, whole('t'), form, takeRowBefore)
        : replaceChanges(sql`json_build_array(${changedRow(takeRowBefore)})`),
  }
}

function wholeRow(relation: Relation, alias: string): Sql {
  return sql`(select row_to_json(s.*)
    from (select ${compileSelectList(planWholeRecord(relation, 'unrestricted'), alias)}) s)`
}

/** The same after an update of any number of rows, whose old ones stay as they were left. */
export function compileWholeUpdates(relation: Relation): Sql | undefined {
  if (compileWholeRows(relation, 'update', 'array') === undefined) return undefined
  return compileAfter(relation, wholeRow(relation, 't'), 'array', sql`c.change->'oldRecord'`)
}

/** What was left, each row replaced by the one with its key; by itself when a trigger has moved that away. */
function compileAfter(relation: Relation, whole: Sql, form: ChangeForm, oldRecord?: Sql): Sql {
  const key = relation.primaryKey
  const types = sql.join(key.map(({ name, type }) => sql`${sql.id(name)} ${sql.type(type.name)}`))
  const isSame = sql.join(
    key.map(({ name }) => sql`${sql.id('t', name)} = ${sql.id('k', name)}`),
    sql` and `,
  )
  const left = oldRecord === undefined ? sql`c.change` : sql`c.change->'record'`
  const change = changedRow(sql`coalesce(f.record, ${left})`, oldRecord)
  const [changes, source] =
    form === 'record'
      ? [change, sql`(select ${takeChanges} as change offset 0) c`]
      : [
          sql`coalesce(json_agg(${change} order by c.place), '[]')`,
          sql`json_array_elements(${takeChanges}) with ordinality c (change, place)`,
        ]
  return replaceChanges(sql`(
    select ${changes}
    from ${source}
    cross join lateral json_to_record(${left}) as k (${types})
    left join lateral (
      select ${whole} as record from ${relationName(relation)} as t where ${isSame} limit 1
    ) f on true)`)
}
