import { type Sql, sql } from '../../../../database/sql.ts'
import { parseBodyId } from '../parse/record-id.ts'
import { offsetOf, type PagePlan } from '../plan/browse.ts'
import type { OrderKey } from '../plan/order.ts'
import { compileCell, compileSize, isShort } from './cell.ts'
import { compileComparison } from './comparison.ts'
import { bind } from './filter.ts'
import { compileAfter, compileKey, compileOrder } from './keyset.ts'
import { compileJoins } from './related-joins.ts'
import { compileFrom } from './rows.ts'
import { compileVersion } from './version.ts'

/** Alias of the rows, and of the values selected from them. */
const row = 't'
/** Names beside those of columns, which columns do not have. */
const names = { key: 'basalt key', order: 'basalt order' }

/**
 * Compiles a page. It returns one row for each row of the page, and one more where others follow. Its columns are the
 * cells and the sizes of those that may be cut (JSON arrays), the primary key and the sort keys (JSON arrays of
 * texts), and the version.
 */
export function compilePage(plan: PagePlan): Sql {
  const { columns, relation, order, paging, limit, width, hasVersion } = plan
  const { keys, conditions } = compilePosition(plan)
  const texts = (values: readonly Sql[]) =>
    values.length === 0 ? sql`null::json` : sql`to_json(array[${sql.join(values)}]::text[])`
  // The version is computed for the rows of the page alone, not for all that are sorted.
  const needed = (hasVersion ? relation.columns : columns).map(({ name }) => sql.id(row, name))
  const extra = [
    sql`${texts(relation.primaryKey.map(({ name }) => sql`${sql.id(row, name)}::text`))} as ${sql.id(names.key)}`,
    sql`${texts(paging === 'offset' ? [] : order.map((key) => sql`${compileKey(key, row)}::text`))} as ${sql.id(names.order)}`,
  ]
  const offset = plan.paging === 'offset' ? offsetOf(plan.position) : 0
  return sql`
    select ${texts(columns.map((column) => compileCell(column, row, width)))},
      ${texts(columns.map((column) => compileSize(column, row, width)))},
      ${sql.join(Object.values(names).map((name) => sql.id(row, name)))}, ${compileRowVersion(plan)}
    from (
      select ${sql.join([...needed, ...extra])}
      ${compileFrom(plan.rows, row, conditions, { joins: compileJoins(order, row) })}
      ${paging === 'file' ? sql.empty : compileOrder(keys, row)}
      limit ${sql.integer(limit + 1)}
      ${offset === 0 ? sql.empty : sql`offset ${String(offset)}`}
    ) ${sql.id(row)}`
}

/**
 * Stored size of a row in bytes from which a page has no version of it: the row would be read whole, although its
 * cells are cut.
 */
const hashedBytes = 1_048_576

/** Compiles the version of a row. One that is read alone has it whatever its size. */
function compileRowVersion({ hasVersion, relation, position }: PagePlan): Sql {
  if (!hasVersion) return sql`null::text`
  const version = compileVersion({ relation, reader: 'unrestricted' }, row)
  const stored = relation.columns.filter(({ type }) => !isShort(type))
  if (position.kind === 'row' || stored.length === 0) return version
  const sizes = stored.map(({ name }) => sql`coalesce(pg_column_size(${sql.id(row, name)}), 0)`)
  return sql`case when ${sql.join(sizes, sql` + `)} < ${sql.integer(hashedBytes)} then ${version} end`
}

/** Compiles the order in which the rows are read, and the condition of where they begin. */
function compilePosition({ order, paging, position, relation }: PagePlan): {
  readonly keys: readonly OrderKey[]
  readonly conditions: readonly Sql[]
} {
  switch (position.kind) {
    case 'start':
      return { keys: order, conditions: [] }
    case 'after': {
      if (paging === 'offset') return { keys: order, conditions: [] }
      return { keys: order, conditions: [compileAfter(order, position.cursor, row)] }
    }
    case 'before': {
      const backwards = order.map((key) => ({ ...key, descending: !key.descending }))
      return { keys: backwards, conditions: [compileAfter(backwards, position.cursor, row)] }
    }
    case 'from':
      return { keys: order, conditions: compileFromValue(order[0], position.value) }
    case 'row': {
      const id = parseBodyId(relation, position.id)
      const conditions = relation.primaryKey.map((column, index) =>
        compileComparison(column.type, sql.id(row, column.name), '=', bind(column, id[index] ?? '')),
      )
      return { keys: order, conditions }
    }
  }
}

function compileFromValue(first: OrderKey | undefined, value: string): readonly Sql[] {
  if (first?.column === undefined) return []
  const { column, nullable, descending } = first
  const source = compileKey(first, row)
  const reached = compileComparison(column.type, source, descending ? '<=' : '>=', bind(column, value))
  // NULLs come last ascending, so they follow. They come first descending, so they have been passed.
  return [nullable && !descending ? sql`(${reached} or ${source} is null)` : reached]
}
