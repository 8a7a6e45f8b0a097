import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { Catalog, DatabaseFunction, Relation } from '../../../database/catalog/model.ts'
import {
  type ChangeAction,
  captureTriggerName,
  changedRow,
  replaceChanges,
  takeChanges,
} from '../../../database/change-log.ts'
import { quoteIdentifier, type Sql, sql } from '../../../database/sql.ts'
import {
  compileSelectList,
  maySelect,
  planWholeRecord,
  privilegesOf,
  type Reader,
  relationName,
} from '../collections/index.ts'
import { columnsOf, isSet } from './result.ts'

/** Headers `X-Notify-Table` and `X-Notify-Action`, as sent. */
export interface NotifyHeaders {
  readonly table: string | undefined
  readonly action: string | undefined
}

/** Events that the call of a function announces: one for each returned row. */
export interface Notification {
  readonly relation: Relation
  readonly action: ChangeAction
}

const privileges = { create: 'insert', update: 'update', delete: 'delete' } as const

/**
 * Finds the notification of a call. Undefined for headers without an event that can be announced; they are ignored.
 * The caller must have the privilege for that write, and the function must return rows with the table's primary key.
 */
export function findNotification(
  { relations }: Catalog,
  called: DatabaseFunction,
  { scope, reader }: { readonly scope: CallerScope; readonly reader: Reader },
  { table = '', action = '' }: NotifyHeaders,
): Notification | undefined {
  const relation = relations.get(table)
  if (relation === undefined || !isAction(action)) return undefined
  // A single value is no record.
  if (!isSet(called) && called.result.kind === 'scalar') return undefined
  if (relation.kind !== 'table' && relation.kind !== 'partitioned_table') return undefined
  if (scope.kind === 'caller' && scope.grant?.tables?.has(table) === false) return undefined
  if (reader !== 'unrestricted' && relation.rlsGap !== undefined) return undefined
  // Policies may hide an existing row from the caller, and events have no other reader.
  if (action === 'delete' && reader !== 'unrestricted' && relation.rlsEnabled) return undefined
  const mayDo = privilegesOf(relation, reader)
  if (!mayDo[privileges[action]] || !mayDo.select || relation.primaryKey.length === 0) return undefined
  const isNamed = relation.primaryKey.every(
    (key) => maySelect(key, reader) && columnsOf(called).some(({ name }) => name === key.name),
  )
  return isNamed ? { relation, action } : undefined
}

function isAction(text: string): text is ChangeAction {
  return Object.hasOwn(privileges, text)
}

/**
 * Compiles a statement that runs after the call and replaces its stashed rows by the contents of the events. They are
 * what the table has under their keys and the caller may read, whatever the function returned. No argument can
 * therefore make an event of a row that does not exist. For a delete it is the returned row, if the table has none
 * with its key. Where triggers log the changes of the table, there is none.
 */
export function compileNotification({ relation, action }: Notification, reader: Reader): Sql {
  const { schema, name, primaryKey } = relation
  const isSame = primaryKey.map((key) => sql`${sql.id('t', key.name)} = ${sql.id('k', key.name)}`)
  const table = sql`${relationName(relation)} as t`
  const condition = sql.join(isSame, sql` and `)
  const current = sql`(select row_to_json(s.*)
    from (select ${compileSelectList(planWholeRecord(relation, reader), 't')}) s)`
  const changes =
    action === 'delete'
      ? sql`select json_agg(c.change order by c.ordinal) ${returnedRows(relation)}
          where not exists (select from ${table} where ${condition})`
      : sql`select json_agg(${action === 'update' ? changedRow(current, sql`null::json`) : current} order by c.ordinal)
          ${returnedRows(relation)} join ${table} on ${condition}`
  const qualified = sql.literal(`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`)
  const trigger = sql.literal(captureTriggerName(action))
  return replaceChanges(sql`coalesce((
    select (${changes})
    where not exists (select from pg_trigger where tgrelid = ${qualified}::regclass and tgname = ${trigger})
  ), '[]')`)
}

/** Compiles the rows that the call has stashed, with their keys as `k`. */
function returnedRows({ primaryKey }: Relation): Sql {
  const types = primaryKey.map(({ name, type }) => sql`${sql.id(name)} ${sql.type(type.name)}`)
  return sql`
    from json_array_elements(${takeChanges}) with ordinality c (change, ordinal)
    cross join lateral json_to_record(c.change) as k (${sql.join(types)})`
}
