import type { Column, Relation } from '../../../../database/catalog/model.ts'
import {
  type ChangeForm,
  changedRow,
  leaveRowBefore,
  replaceChanges,
  takeChanges,
  takeRowBefore,
  type WriteAction,
} from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { type Reader, visibleColumns } from '../plan/reader.ts'
import { planWholeRecord } from '../plan/record.ts'
import type { RowsPlan } from '../plan/rows.ts'
import { compileComparison } from './comparison.ts'
import { compileIdentity } from './identity.ts'
import { compileSelectList, relationName } from './record.ts'
import { compileFrom } from './rows.ts'
import { compileSameKey } from './upsert.ts'
import { compileJson } from './write.ts'

/**
 * A write of a caller leaves its changes with the columns that the caller may read. Where there are others, subscribers
 * still get whole rows: the login role reads them, before the write and after it.
 */
export interface WholeRowStatements {
  /** As the caller, so that an id of the wrong form or a missing right is a fault of the request. */
  readonly check: Sql | undefined
  /** As the login role, before the write. */
  readonly before: Sql | undefined
  /** As the login role, after the write. */
  readonly after: Sql
}

/** Which rows a write is for. */
export type Written =
  | { readonly kind: 'id' }
  /** The one with the key that the body holds. */
  | { readonly kind: 'key'; readonly key: readonly Column[] }
  | { readonly kind: 'rows'; readonly rows: RowsPlan; readonly limit: number }

/** Undefined where the reader sees every column, or where no key finds the row again. */
export function compileWholeRows(
  relation: Relation,
  action: WriteAction,
  form: ChangeForm,
  reader: Reader,
  written: Written,
): WholeRowStatements | undefined {
  const visible = visibleColumns(relation, reader)
  if (visible.length === relation.columns.length || relation.rowKey.length === 0) return undefined
  // Of a row whose key the caller may not read nothing more is known than what was left.
  if (!relation.rowKey.every((column) => visible.includes(column))) return undefined
  const name = relationName(relation)
  const whole = compileJson(compileSelectList(planWholeRecord(relation, 'unrestricted'), 't'))
  if (action === 'create')
    return { check: undefined, before: undefined, after: compileAfter(relation, whole, form) }
  if (written.kind === 'rows') return compileWholeSet(relation, action, whole, written)
  const isWritten = written.kind === 'id' ? compileIdentity(relation, 't') : compileSameKey(written.key, 't')
  return {
    check: sql`select 1 from ${name} as t where ${isWritten}`,
    // The lock keeps it the row that is changed.
    before: leaveRowBefore(sql`(select ${whole} from ${name} as t where ${isWritten} limit 1 for update)`),
    after:
      action === 'delete'
        ? replaceChanges(sql`json_build_array(${changedRow(takeRowBefore)})`)
        : compileAfter(relation, whole, form, form === 'upsert' ? rowBeforeUpsert : takeRowBefore),
  }
}

/** A record that was created has none, though the key may be that of a row which a trigger has moved away. */
const rowBeforeUpsert = sql`case when json_typeof(c.change->'oldRecord') = 'object'
  then coalesce(${takeRowBefore}, c.change->'oldRecord') end`

const keysSetting = sql.literal('basalt.written_keys')

/**
 * The caller notes the keys of the rows it is about to write, since only its policies know which those are; the login
 * role keeps these rows, and finds the row before each change among them.
 */
function compileWholeSet(
  relation: Relation,
  action: WriteAction,
  whole: Sql,
  { rows, limit }: Written & { kind: 'rows' },
): WholeRowStatements {
  const key = relation.rowKey
  const name = relationName(relation)
  const members = key.flatMap(({ name: each }) => [sql.literal(each), sql.id('t', each)])
  const types = sql.join(key.map(({ name: each, type }) => sql`${sql.id(each)} ${sql.type(type.name)}`))
  const isNoted = sql`exists (
    select from json_to_recordset(current_setting(${keysSetting})::json) k (${types}) where ${compileSame(key, 't', 'k')})`
  const change = action === 'delete' ? sql`c.change` : sql`c.change->'oldRecord'`
  const isBefore = sql.join(
    key.map(({ name: each }) => sql`o.record->>${sql.literal(each)} = (${change})->>${sql.literal(each)}`),
    sql` and `,
  )
  const before = sql`coalesce((select o.record from kept o where ${isBefore} limit 1), ${change})`
  const kept = sql`with kept as materialized (select value as record from json_array_elements(${takeRowBefore}))`
  return {
    check: sql`
      select set_config(${keysSetting}, coalesce(json_agg(json_build_object(${sql.join(members)})), '[]')::text, true)
        is null
      from (select ${sql.join(key.map(({ name: each }) => sql.id('t', each)))} ${compileFrom(rows, 't')} limit ${sql.integer(limit + 1)}) t`,
    before: leaveRowBefore(sql`(
      select coalesce(json_agg(r.whole), '[]')
      from (select ${whole} as whole from ${name} as t where ${isNoted} for update) r)`),
    after:
      action === 'delete'
        ? replaceChanges(sql`(
            ${kept}
            select coalesce(json_agg(${before} order by c.ordinal), '[]')
            from json_array_elements(${takeChanges}) with ordinality c (change, ordinal))`)
        : compileAfter(relation, whole, 'array', before, kept),
  }
}

function compileSame(key: readonly Column[], one: string, other: string): Sql {
  return sql.join(
    key.map(({ name, type }) => compileComparison(type, sql.id(one, name), '=', sql.id(other, name))),
    sql` and `,
  )
}

/** What was left, each row replaced by the one with its key; by itself when a trigger has moved that away. */
function compileAfter(
  relation: Relation,
  whole: Sql,
  form: ChangeForm,
  oldRecord?: Sql,
  prelude = sql.empty,
): Sql {
  const key = relation.rowKey
  const types = sql.join(key.map(({ name, type }) => sql`${sql.id(name)} ${sql.type(type.name)}`))
  const left = oldRecord === undefined ? sql`c.change` : sql`c.change->'record'`
  const change = changedRow(sql`coalesce(f.record, ${left})`, oldRecord)
  const [changes, source] =
    form === 'record'
      ? [change, sql`(select ${takeChanges} as change offset 0) c`]
      : [
          sql`coalesce(json_agg(${change} order by c.ordinal), '[]')`,
          sql`json_array_elements(${takeChanges}) with ordinality c (change, ordinal)`,
        ]
  return replaceChanges(sql`(
    ${prelude}
    select ${changes}
    from ${source}
    cross join lateral json_to_record(${left}) as k (${types})
    left join lateral (
      select ${whole} as record from ${relationName(relation)} as t where ${compileSame(key, 't', 'k')} limit 1
    ) f on true)`)
}
