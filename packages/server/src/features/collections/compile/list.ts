import { type Sql, sql } from '../../../database/sql.ts'
import type { Cursor } from '../parse/cursor.ts'
import type { ListPlan, OrderKey } from '../plan/list.ts'
import { compileFilter } from './filter.ts'
import { compileSelectList, neededColumns, relationName } from './record.ts'

/** Alias of the collection's rows. */
const row = 't'
/** Column beside those of the collection; a name nobody gives one. */
const cursorKey = 'basalt cursor key'

/** One row with one column: the page as a JSON array. */
export function compileOffsetPage(plan: ListPlan, page: number): Sql {
  const offset = (page - 1) * plan.perPage
  return sql`
    select coalesce(json_agg(r), '[]')
    from (
      select ${compileSelectList(plan.record, row)}
      from (${compileRows(plan, undefined, sql.empty)}
        limit ${sql.integer(plan.perPage)}
        ${offset === 0 ? sql.empty : sql`offset ${String(offset)}`}
      ) ${sql.id(row)}
    ) r`
}

/**
 * One row: the page as a JSON array, and the sort-key values of its last record as a JSON array of texts when
 * more records follow.
 */
export function compileCursorPage(plan: ListPlan, after: Cursor | undefined): Sql {
  const keys = sql.join(plan.order.map((key) => sql`${keyOf(key)}::text`))
  return sql`
    select coalesce(json_agg(r.record) filter (where r.place <= ${sql.integer(plan.perPage)}), '[]'),
      case when count(*) > ${sql.integer(plan.perPage)}
        then (array_agg(r.key))[${sql.integer(plan.perPage)}]
      end
    from (
      select (select row_to_json(s) from (select ${compileSelectList(plan.record, row)}) s) as record,
        ${sql.id(row, cursorKey)} as key,
        row_number() over () as place
      from (${compileRows(plan, after, sql`, json_build_array(${keys}) as ${sql.id(cursorKey)}`)}
        limit ${sql.integer(plan.perPage + 1)}
      ) ${sql.id(row)}
    ) r`
}

/** The number of records that match. */
export function compileCount(plan: ListPlan): Sql {
  return sql`select count(*) from ${relationName(plan.record.relation)} ${sql.id(row)} ${compileWhere(plan, undefined)}`
}

/** The planner's estimate of the same, as JSON. */
export function compileEstimate(plan: ListPlan): Sql {
  return sql`explain (format json)
    select from ${relationName(plan.record.relation)} ${sql.id(row)} ${compileWhere(plan, undefined)}`
}

function compileRows(plan: ListPlan, after: Cursor | undefined, extra: Sql): Sql {
  const columns = neededColumns(plan.record).map((column) => sql.id(row, column.name))
  const order = plan.order.map((key) => (key.descending ? sql`${keyOf(key)} desc` : keyOf(key)))
  return sql`
    select ${sql.join(columns)}${extra}
    from ${relationName(plan.record.relation)} ${sql.id(row)}
    ${compileWhere(plan, after)}
    ${order.length === 0 ? sql.empty : sql`order by ${sql.join(order)}`}`
}

function compileWhere({ filter, order }: ListPlan, after: Cursor | undefined): Sql {
  const conditions = [
    ...(filter === undefined ? [] : [compileFilter(filter, row)]),
    ...(after === undefined ? [] : [compileAfter(order, after)]),
  ]
  return conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
}

/**
 * The rows behind those key values in the order of the keys, where NULLs come last ascending and first
 * descending: the first key is behind, or equal and the second is behind, and so on.
 */
function compileAfter(order: readonly OrderKey[], after: Cursor): Sql {
  const alternatives = order.flatMap((key, index) => {
    const behind = compileBehind(key, after[index] ?? null)
    if (behind === undefined) return []
    const equal = order.slice(0, index).map((earlier, place) => compileEqual(earlier, after[place] ?? null))
    return [sql`(${sql.join([...equal, behind], sql` and `)})`]
  })
  if (alternatives.length === 0) return sql`false`
  const condition = sql`(${sql.join(alternatives, sql` or `)})`
  const bound = compileBound(order, after)
  return bound === undefined ? condition : sql`${bound} and ${condition}`
}

/** Follows from the alternatives, but only as one comparison can it be answered by an index. */
function compileBound([first]: readonly OrderKey[], [value = null]: Cursor): Sql | undefined {
  if (first === undefined || value === null || (first.nullable && !first.descending)) return undefined
  return first.descending ? sql`${keyOf(first)} <= ${value}` : sql`${keyOf(first)} >= ${value}`
}

/** Undefined when nothing can be behind: NULLs come last. */
function compileBehind(key: OrderKey, value: string | null): Sql | undefined {
  if (key.descending) return value === null ? sql`${keyOf(key)} is not null` : sql`${keyOf(key)} < ${value}`
  if (value === null) return undefined
  return key.nullable
    ? sql`(${keyOf(key)} > ${value} or ${keyOf(key)} is null)`
    : sql`${keyOf(key)} > ${value}`
}

function compileEqual(key: OrderKey, value: string | null): Sql {
  return value === null ? sql`${keyOf(key)} is null` : sql`${keyOf(key)} = ${value}`
}

function keyOf(key: OrderKey): Sql {
  return sql.id(row, key.name)
}
