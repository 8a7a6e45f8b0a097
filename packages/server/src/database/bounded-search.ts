import { type Sql, sql } from './sql.ts'
import type { Queryable } from './system-database.ts'

/** Search through rows in an order that an index serves. */
export interface BoundedSearch {
  /** Query of the rows in their order: `select … from … where … order by …`. */
  readonly read: Sql
  /** Condition without an index, on the alias `found`; undefined where every row matches. */
  readonly filter: Sql | undefined
  /** Result columns, of the alias `found`. */
  readonly columns: Sql
  /** Order of `read`, by the alias `found`. */
  readonly order: Sql
  /** Maximum number of rows that the filter is applied to. */
  readonly bound: number
}

/**
 * Lists rows. A filter without an index is applied to the first rows only, so that no search reads a whole log.
 *
 * @returns `end`: the last row that was read, if the bound ended the search
 */
export async function searchBounded<Row extends object>(
  database: Queryable,
  { read, filter, columns, order, bound }: BoundedSearch,
  { limit, offset = 0 }: { readonly limit: number; readonly offset?: number },
): Promise<{ readonly rows: readonly Row[]; readonly end: Row | undefined }> {
  const source = filter === undefined ? read : sql`${read} limit ${sql.integer(bound)}`
  const rows = await database.many<Row & Record<string, unknown>>(sql`
    select ${columns}
    from (${source}) found
    where ${filter ?? sql`true`}
    ${order}
    limit ${limit}::int offset ${offset}::bigint`)
  if (filter === undefined || rows.length === limit) return { rows, end: undefined }
  const end = await database.maybeOne<Row & Record<string, unknown>>(
    sql`select ${columns} from (${read} limit 1 offset ${sql.integer(bound - 1)}) found`,
  )
  return { rows, end }
}
