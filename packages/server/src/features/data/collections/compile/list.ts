import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Cursor } from '../parse/cursor.ts'
import type { Operator } from '../parse/tokens.ts'
import { describeKey, type ListPlan, type OrderKey } from '../plan/list.ts'
import { compileComparison } from './comparison.ts'
import { bind, compileFilter, compileNullTest } from './filter.ts'
import { compileSelectList, neededColumns, relationName } from './record.ts'

/** Alias of the collection's rows. */
const row = 't'

/**
 * One row: the page as a JSON array, and with `counts` the number of records that match. A page that is not full ends
 * the list and says how many they are; only otherwise does PostgreSQL evaluate the subquery that counts them, which
 * depends on nothing outside it.
 */
export function compileOffsetPage(
  plan: ListPlan,
  page: number,
  { counts }: { readonly counts: boolean },
): Sql {
  const offset = (page - 1) * plan.perPage
  return sql`
    select coalesce(json_agg(r.*), '[]')${counts ? sql`, ${compileTotal(plan, offset)}` : sql.empty}
    from (
      select ${compileSelectList(plan.record, row)}
      from (${compileRows(plan, undefined, [])}
        limit ${sql.integer(plan.perPage)}
        ${offset === 0 ? sql.empty : sql`offset ${String(offset)}`}
      ) ${sql.id(row)}
    ) r`
}

/** Past the end no page but the first says how many there are. */
function compileTotal(plan: ListPlan, offset: number): Sql {
  const isLast =
    offset === 0
      ? sql`count(*) < ${sql.integer(plan.perPage)}`
      : sql`count(*) > 0 and count(*) < ${sql.integer(plan.perPage)}`
  const total = offset === 0 ? sql`count(*)` : sql`count(*) + ${String(offset)}::bigint`
  return sql`case when ${isLast} then ${total} else (${compileCount(plan)}) end`
}

/** One row: the page as a JSON array, and its end as the JSON of a {@link Cursor} when more records follow. */
export function compileCursorPage(plan: ListPlan, after: Cursor | undefined): Sql {
  const cursorName = unusedName(plan.record.relation)
  const keys = plan.order.map(
    (key) => sql`json_build_object('key', ${sql.literal(describeKey(key))}, 'value', ${columnOf(key)}::text)`,
  )
  return sql`
    select coalesce(json_agg(r.record) filter (where r.place <= ${sql.integer(plan.perPage)}), '[]'),
      case when count(*) > ${sql.integer(plan.perPage)}
        then (array_agg(r.cursor))[${sql.integer(plan.perPage)}]
      end
    from (
      select (select row_to_json(s.*) from (select ${compileSelectList(plan.record, row)}) s) as record,
        ${sql.id(row, cursorName)} as cursor,
        row_number() over () as place
      from (${compileRows(plan, after, [sql`json_build_array(${sql.join(keys)}) as ${sql.id(cursorName)}`])}
        limit ${sql.integer(plan.perPage + 1)}
      ) ${sql.id(row)}
    ) r`
}

/** The number of records that match. */
function compileCount(plan: ListPlan): Sql {
  return sql`select count(*) from ${relationName(plan.record.relation)} ${sql.id(row)} ${compileWhere(plan, undefined)}`
}

/** The planner's estimate of the same, as JSON. */
export function compileEstimate(plan: ListPlan): Sql {
  return sql`explain (format json)
    select from ${relationName(plan.record.relation)} ${sql.id(row)} ${compileWhere(plan, undefined)}`
}

function compileRows(plan: ListPlan, after: Cursor | undefined, extra: readonly Sql[]): Sql {
  const columns = neededColumns(plan.record).map((column) => sql.id(row, column.name))
  const order = plan.order.map((key) => (key.descending ? sql`${columnOf(key)} desc` : columnOf(key)))
  return sql`
    select ${sql.join([...columns, ...extra])}
    from ${relationName(plan.record.relation)} ${sql.id(row)}
    ${compileWhere(plan, after)}
    ${order.length === 0 ? sql.empty : sql`order by ${sql.join(order)}`}`
}

function compileWhere({ filter, order, record }: ListPlan, after: Cursor | undefined): Sql {
  const conditions = [
    ...(filter === undefined ? [] : [compileFilter(filter, row)]),
    ...(after === undefined ? [] : [compileAfter(pairKeys(record.relation, order, after))]),
  ]
  return conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
}

/** A sort key with the value it had in the last row of the page before. */
interface KeyValue extends OrderKey {
  /** Undefined for a system column. */
  readonly column: Column | undefined
  /** As a parameter; undefined stands for NULL. */
  readonly value: Sql | undefined
}

function pairKeys(relation: Relation, order: readonly OrderKey[], after: Cursor): KeyValue[] {
  return order.map((key, index) => {
    const column = relation.column.get(key.name)
    const value = after[index]?.value ?? null
    if (value === null) return { ...key, column, value: undefined }
    return { ...key, column, value: column === undefined ? sql`${value}` : bind(column, value) }
  })
}

/**
 * The rows behind those key values in the order of the keys, where NULLs come last ascending and first
 * descending: the first key is behind, or equal and the second is behind, and so on.
 */
function compileAfter(keys: readonly KeyValue[]): Sql {
  const alternatives = keys.flatMap((key, index) => {
    const behind = compileBehind(key)
    if (behind === undefined) return []
    return [sql`(${sql.join([...keys.slice(0, index).map(compileEqual), behind], sql` and `)})`]
  })
  if (alternatives.length === 0) return sql`false`
  const condition = sql`(${sql.join(alternatives, sql` or `)})`
  const bound = compileBound(keys)
  return bound === undefined ? condition : sql`${bound} and ${condition}`
}

/** Follows from the alternatives, but only as one comparison can it be answered by an index. */
function compileBound([first]: readonly KeyValue[]): Sql | undefined {
  if (first?.value === undefined || (first.nullable && !first.descending)) return undefined
  return compare(first, first.descending ? '<=' : '>=', first.value)
}

/** Undefined when nothing can be behind: NULLs come last. */
function compileBehind(key: KeyValue): Sql | undefined {
  if (key.descending) {
    return key.value === undefined ? nullTest(key, true) : compare(key, '<', key.value)
  }
  if (key.value === undefined) return undefined
  const isGreater = compare(key, '>', key.value)
  return key.nullable ? sql`(${isGreater} or ${nullTest(key, false)})` : isGreater
}

function compileEqual(key: KeyValue): Sql {
  return key.value === undefined ? nullTest(key, false) : compare(key, '=', key.value)
}

function compare(key: KeyValue, operator: Operator, value: Sql): Sql {
  return compileComparison(key.column?.type, columnOf(key), operator, value)
}

function nullTest(key: KeyValue, isNegated: boolean): Sql {
  return compileNullTest(columnOf(key), key.column, isNegated)
}

function columnOf(key: OrderKey): Sql {
  return sql.id(row, key.name)
}

/** A name for a column beside those of the relation. */
function unusedName(relation: Relation): string {
  let name = 'cursor'
  while (relation.column.has(name)) name += '_'
  return name
}
