import { readTargetList } from '../../../database/catalog/target-list.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

/** Facts about view columns that PostgreSQL itself does not say. */
export interface ViewColumns {
  /** Returns whether the column never holds NULL: its source column never does, or it is a count. */
  isNotNull(schema: string, view: string, column: string): boolean
  /** Returns whether the column is a number of rows. */
  isCount(schema: string, view: string, column: string): boolean
}

/** Source column of an unchanged view column. */
export interface Origin {
  readonly name: string
  readonly relation: string
  readonly position: number
}

interface ViewRow {
  readonly oid: string
  readonly schema: string
  readonly name: string
  readonly definition: string
  readonly [column: string]: unknown
}

interface ColumnRow {
  readonly relation: string
  readonly position: number
  readonly name: string
  readonly [column: string]: unknown
}

const isOfUser = sql`n.nspname not in ('pg_catalog', 'information_schema')`

/** Query of the view definitions as parsed by PostgreSQL: a tree of nodes as text (`pg_node_tree`). */
const viewsQuery: Sql = sql`
  select c.oid::text as oid, n.nspname as schema, c.relname as name, r.ev_action::text as definition
  from pg_rewrite r
  join pg_class c on c.oid = r.ev_class
  join pg_namespace n on n.oid = c.relnamespace
  where r.rulename = '_RETURN' and c.relkind in ('v', 'm') and ${isOfUser}`

const notNullQuery: Sql = sql`
  select a.attrelid::text as relation, a.attnum::int as position, a.attname as name
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and a.attnotnull and a.attnum > 0 and not a.attisdropped and ${isOfUser}
    -- A NOT NULL that is not validated (PostgreSQL 18) says nothing of the rows that are there.
    and not exists (
      select from pg_constraint k
      where k.conrelid = a.attrelid and k.contype = 'n' and k.conkey = array[a.attnum] and not k.convalidated
    )`

export async function findViewColumns(transaction: Queryable): Promise<ViewColumns> {
  const views = await transaction.many<ViewRow>(viewsQuery)
  const columns = views.length === 0 ? [] : await transaction.many<ColumnRow>(notNullQuery)
  const notNull = new Set(columns.map(({ relation, position }) => `${relation} ${position}`))
  const origins = new Map(views.map(({ oid, definition }) => [oid, readOrigins(definition)]))
  const counts = new Map(views.map(({ oid, definition }) => [oid, readCounts(definition)]))
  const isCount = (relation: string, position: number): boolean => {
    if (counts.get(relation)?.has(position) === true) return true
    const origin = origins.get(relation)?.get(position)
    return origin !== undefined && isCount(origin.relation, origin.position)
  }
  const isNotNull = (relation: string, position: number): boolean => {
    // A view numbers its columns as its target list does.
    const origin = origins.get(relation)?.get(position)
    return origin === undefined
      ? notNull.has(`${relation} ${position}`) || isCount(relation, position)
      : isNotNull(origin.relation, origin.position)
  }
  const known = { isNotNull: new Set<string>(), isCount: new Set<string>() }
  for (const { oid, schema, name } of views) {
    const named = [
      ...[...(origins.get(oid) ?? [])].map(([position, origin]) => [position, origin.name] as const),
      ...(counts.get(oid) ?? []),
    ]
    for (const [position, column] of named) {
      const key = keyOf(schema, name, column)
      if (isNotNull(oid, position)) known.isNotNull.add(key)
      if (isCount(oid, position)) known.isCount.add(key)
    }
  }
  return {
    isNotNull: (...column) => known.isNotNull.has(keyOf(...column)),
    isCount: (...column) => known.isCount.has(keyOf(...column)),
  }
}

const keyOf = (...column: readonly [schema: string, view: string, column: string]) => JSON.stringify(column)

/**
 * Reads the names of the view columns, by number, that are a `count`, also over a window. Pure. A set operation has
 * none, as its columns are those of its queries.
 */
function readCounts(definition: string): ReadonlyMap<number, string> {
  return new Map(
    readTargetList(definition).flatMap(({ node, position, name }) =>
      isCall.test(node) ? [[position, name] as const] : [],
    ),
  )
}

/** Start of an entry whose whole value is a call of `count("any")` or `count(*)`, by their object ids (pg_proc.dat). */
const isCall = /^\{TARGETENTRY :expr \{(?:AGGREF :aggfnoid|WINDOWFUNC :winfnoid) (?:2147|2803) /

/**
 * Reads the view columns, by number, that are unchanged source columns and cannot become NULL by a join. A definition
 * that is not plain has none. Pure.
 */
function readOrigins(definition: string): ReadonlyMap<number, Origin> {
  const isPlain =
    !/:setOperations \{/.test(definition) &&
    !/:groupingSets \(/.test(definition) &&
    !hasHiddenJoin(definition)
  if (!isPlain) return new Map()
  return new Map(
    readTargetList(definition).flatMap(({ node, position, name, origin }): [number, Origin][] =>
      origin === undefined || !isColumn.test(node) || !isNeverNull(node, definition)
        ? []
        : [[position, { name, ...origin }]],
    ),
  )
}

/** Start of an entry whose whole value is a column. */
const isColumn = /^\{TARGETENTRY :expr \{VAR [^{}]*\} :resno /

const outerJoin = /:jointype [123] /

/**
 * Returns whether no join makes the column NULL. Since PostgreSQL 16 a column names the joins that may, but only
 * those of its own query.
 */
function isNeverNull(entry: string, definition: string): boolean {
  return !outerJoin.test(definition) || / :varnullingrels \(b\) /.test(entry)
}

function hasHiddenJoin(definition: string): boolean {
  return outerJoin.test(definition) && definition.split('{QUERY ').length > 2
}
