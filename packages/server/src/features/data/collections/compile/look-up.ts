import { quoteIdentifier, type Sql, sql } from '../../../../database/sql.ts'

/**
 * Rows that an index finds apart from the statement's conditions, by their tuple identifiers (PostgreSQL, System
 * Columns: ctid).
 */

/** Chunk of the rows that an index finds, in stored order. */
export interface LookupChunk {
  readonly skipped: number
  /** Maximum number of rows; undefined for all that follow. */
  readonly most: number | undefined
}

/** Compiles a query for the distinct tuple identifiers in an array; `isDistinct` if the array has no duplicates. */
export function compileTids(array: Sql, isDistinct: boolean): Sql {
  // The inner query keeps the planner from calling the function for an estimate, and PostgreSQL 15 from calling it
  // per row.
  const each = sql`unnest((select ${array})::tid[])`
  return isDistinct ? sql`select ${each}` : sql`select distinct ${each}`
}

/**
 * Compiles `(select …) alias`: the rows of a relation that all of the lookups find, as far as policies allow. The
 * planner is forced to go from one tuple identifier to the next. By an index of another column it would compare each
 * row with all identifiers, since it cannot know their number. OFFSET keeps the subquery from becoming a join.
 */
export function compileRowsAt(relation: Sql, lookups: readonly Sql[], alias: string): Sql {
  const tids = sql.join(
    lookups.map((each) => sql`(${each})`),
    sql` intersect `,
  )
  return sql`(${tids}) l (tid) cross join lateral (
    select r.tableoid, r.ctid, r.xmin, r.* from ${relation} r where r.ctid = l.tid offset 0) ${sql.id(alias)}`
}

/** Compiles a table or an index as an argument of the lookup functions. */
export function compileRegclass({ schema, name }: { readonly schema: string; readonly name: string }): Sql {
  return sql`${sql.literal(`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`)}::regclass`
}
