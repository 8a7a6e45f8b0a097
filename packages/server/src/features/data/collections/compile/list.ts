import type { Relation } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Cursor } from '../parse/cursor.ts'
import type { ListPlan } from '../plan/list.ts'
import { describeKey, isOwnColumn, type OrderKey } from '../plan/order.ts'
import { computedValues } from './computed.ts'
import { compileFacetScopes, compileFacets } from './facets.ts'
import { compileAfter, compileKey, compileOrder } from './keyset.ts'
import { compileFromRanked, compileIsCut, compileRankedCount, compileRankedQueries } from './ranked.ts'
import { compileSelectList, memberNames, neededColumns } from './record.ts'
import { compileJoins } from './related-joins.ts'
import { compileFrom } from './rows.ts'
import { compileDistinct } from './selection.ts'

/** Alias of the collection's rows. */
const row = 't'

/**
 * Compiles a page. Returns one row: the page as a JSON array, and with `counts` the number of matching records. A
 * page that is not full ends the list and gives the number by itself. Only otherwise does PostgreSQL evaluate the
 * counting subquery, which depends on nothing outside it.
 */
export function compileOffsetPage(
  plan: ListPlan,
  page: number,
  { counts }: { readonly counts: boolean },
): Sql {
  const offset = (page - 1) * plan.perPage
  return sql`
    ${compileWith(plan)}
    select ${sql.join([
      sql`coalesce(json_agg(r.*), '[]')`,
      ...(counts ? [compileTotal(plan, offset)] : []),
      ...compileBeside(plan),
    ])}
    from (${compilePage(plan, offset)}) r`
}

/** Returns a subquery whose value is the page as a JSON array. */
export function compileItems(plan: ListPlan, offset: number): Sql {
  return sql`(
    ${compileWith(plan)}
    select coalesce(json_agg(r.*), '[]')
    from (${compilePage(plan, offset)}) r)`
}

function compilePage(plan: ListPlan, offset: number): Sql {
  if (readsRelatedOnWorkers(plan)) {
    // Citus relates rows of two tables only where it reads both, not to the rows of a page.
    return sql`
      select ${compileItem(plan, row)}
      ${compileFrom(plan.rows, row, [], { joins: compileJoins(plan.order, row) })}
      ${compileOrder(plan.order, row)}
      limit ${sql.integer(plan.perPage)}
      ${offset === 0 ? sql.empty : sql`offset ${String(offset)}`}`
  }
  return sql`
    select ${compileItem(plan, row)}
    from (${compileRows(plan, undefined, [])}
      limit ${sql.integer(plan.perPage)}
      ${offset === 0 ? sql.empty : sql`offset ${String(offset)}`}
    ) ${sql.id(row)}`
}

/**
 * Compiles the total. Past the end, only the first page gives the number by itself. It is a second scan, because
 * `count(*) over ()` stores every row: it took 1.1 to 3 times as long at 10,000 rows, 1.9 to 5.7 times at a million.
 */
function compileTotal(plan: ListPlan, offset: number): Sql {
  const isLast =
    offset === 0
      ? sql`count(*) < ${sql.integer(plan.perPage)}`
      : sql`count(*) > 0 and count(*) < ${sql.integer(plan.perPage)}`
  const total = offset === 0 ? sql`count(*)` : sql`count(*) + ${String(offset)}::bigint`
  return sql`case when ${isLast} then ${total} else ${compileCount(plan)} end`
}

function compileCount({ rows, ranking }: ListPlan): Sql {
  return ranking === undefined ? sql`(select count(*) ${compileFrom(rows, row)})` : compileRankedCount()
}

/**
 * Compiles a page by cursor. Returns one row: the page as a JSON array, and its end as the JSON of a {@link Cursor}
 * when more records follow.
 */
export function compileCursorPage(plan: ListPlan, after: Cursor | undefined): Sql {
  const cursorName = unusedName(plan.record.relation)
  const keys = plan.order.map(
    (key) =>
      sql`json_build_object('key', ${sql.literal(describeKey(key))}, 'value', ${compileKey(key, row)}::text)`,
  )
  const cursor = sql`json_build_array(${sql.join(keys)})`
  const found = sql`
    select (select row_to_json(s.*) from (select ${compileItem(plan, row)}) s) as record,
      ${sql.id(row, cursorName)} as cursor,
      row_number() over () as ordinal
    from (${compileRows(plan, after, [sql`${cursor} as ${sql.id(cursorName)}`])}
      limit ${sql.integer(plan.perPage + 1)}
    ) ${sql.id(row)}`
  return sql`
    ${compileWith(plan)}
    select ${sql.join([
      sql`coalesce(json_agg(r.record) filter (where r.ordinal <= ${sql.integer(plan.perPage)}), '[]')`,
      sql`case when count(*) > ${sql.integer(plan.perPage)}
        then (array_agg(r.cursor))[${sql.integer(plan.perPage)}]
      end`,
      ...compileBeside(plan),
    ])}
    from (${readsRelatedOnWorkers(plan) ? compileCursorRowsOnWorkers(plan, after, cursor) : found}) r`
}

/** Name of a column beside the members of a record. Neither columns nor members have this name. */
const cursorMember = sql.id('basalt cursor')

/**
 * Compiles the rows of a page by cursor whose related records are on the same workers. Citus relates rows of two
 * tables only where it reads both, not to the rows of a page. The members become one record on the coordinator.
 */
function compileCursorRowsOnWorkers(plan: ListPlan, after: Cursor | undefined, cursor: Sql): Sql {
  const { rows, order, perPage, record } = plan
  const conditions = after === undefined ? [] : [compileAfter(order, after, row)]
  const names = [...memberNames(record), ...computedValues(plan, row).map(({ name }) => name)]
  const members = sql.join(names.map((name) => sql.id(row, name)))
  return sql`
    select (select row_to_json(s.*) from (select ${members}) s) as record,
      ${sql.id(row)}.${cursorMember} as cursor,
      row_number() over () as ordinal
    from (
      select ${compileItem(plan, row)}, ${cursor} as ${cursorMember}
      ${compileFrom(rows, row, conditions, { joins: compileJoins(order, row) })}
      ${compileOrder(order, row)}
      limit ${sql.integer(perPage + 1)}
    ) ${sql.id(row)}`
}

/** Compiles the planner's estimate of the number of matching records, as JSON. */
export function compileEstimate({ rows }: ListPlan): Sql {
  return sql`explain (format json) select ${compileFrom(rows, row)}`
}

/** Compiles the queries that the page and {@link compileBeside} read. */
function compileWith(plan: ListPlan): Sql {
  const { facets, ranking } = plan
  const queries = [
    ...(ranking === undefined ? [] : compileRankedQueries(plan, ranking, row)),
    ...(facets === undefined ? [] : compileFacetScopes(facets)),
  ]
  return queries.length === 0 ? sql.empty : sql`with ${sql.join(queries)}`
}

/**
 * Compiles the result columns beside the page, each a subquery that depends on nothing outside it. They are, for a
 * ranked search, whether there are more matches than were ranked, and then the facets.
 */
function compileBeside({ facets, ranking }: ListPlan): readonly Sql[] {
  return [
    ...(ranking === undefined ? [] : [compileIsCut(ranking)]),
    ...(facets === undefined ? [] : compileFacets(facets)),
  ]
}

/** Compiles the select list of a record of the page; its row has this alias. */
export function compileItem(plan: ListPlan, alias: string): Sql {
  const computed = computedValues(plan, alias).map(({ name, value }) => sql`${value} as ${sql.id(name)}`)
  return sql.join([compileSelectList(plan.record, alias), ...computed])
}

function compileRows(plan: ListPlan, after: Cursor | undefined, extra: readonly Sql[]): Sql {
  const { record, rows, order, ranking, distinct = [] } = plan
  const needed = new Set([
    ...neededColumns(record),
    ...computedValues(plan, row).flatMap(({ columns }) => columns),
  ])
  const isFenced =
    plan.isDirect &&
    distinct.length === 0 &&
    ranking === undefined &&
    order.every(({ computed }) => computed === undefined)
  const names = new Set([...needed].map(({ name }) => name))
  if (isFenced) for (const key of order) if (isOwnColumn(key)) names.add(key.name)
  const columns = [...names].map((name) => sql.id(row, name))
  const conditions = after === undefined ? [] : [compileAfter(order, after, row)]
  const from =
    ranking === undefined
      ? compileFrom(rows, row, conditions, { joins: compileJoins(order, row) })
      : compileFromRanked(row, conditions)
  const found = (values: readonly Sql[]) => sql`
    select ${compileDistinct(distinct, row)}${sql.join([...columns, ...values, ...extra])}
    ${from}`
  if (!isFenced) return sql`${found([])} ${compileOrder(order, row)}`
  const fenced = order.map((key, index) =>
    isOwnColumn(key) ? key : { ...key, name: `basalt sort ${index}` },
  )
  const related = fenced.filter((key) => !isOwnColumn(key))
  const values = related.map((key) => sql`${compileKey(key, row)} as ${sql.id(key.name)}`)
  // Without OFFSET the planner may scan an index of the order past the rows of other users. It assumes that the
  // caller's rows are spread evenly and that values are distinct, which those of an import are not.
  return sql`
    select ${sql.id(row)}.*
    from (${found(values)} offset 0) ${sql.id(row)}
    ${compileOrder(fenced.map(withoutJoins), row)}`
}

/** Returns the key as a column of rows that have been joined already. */
function withoutJoins({ related: _, ...key }: OrderKey): OrderKey {
  return key
}

/** Returns whether the page has related records that Citus keeps on the same workers as the records. */
function readsRelatedOnWorkers({ record, ranking, distinct = [] }: ListPlan): boolean {
  const { relation, expand = [], selection } = record
  if (!relation.isOnWorkers || ranking !== undefined || distinct.length > 0) return false
  return selection !== undefined || expand.some((related) => related.record.relation.isOnWorkers)
}

/** Returns a column name that the relation does not have. */
function unusedName(relation: Relation): string {
  let name = 'cursor'
  while (relation.column.has(name)) name += '_'
  return name
}
