import { quoteIdentifier, type Sql, sql } from '../../../../database/sql.ts'

/**
 * Rows that an index is asked for apart from the statement's conditions, by their tuple identifiers (PostgreSQL, System
 * Columns: ctid).
 */

/** Part of the rows that an index knows, in the order in which they are stored. */
export interface LookUpChunk {
  readonly skipped: number
  /** Undefined: all that follow. */
  readonly most: number | undefined
}

/** A query for the tuple identifiers in an array, each once; `isDistinct` where the array has them so. */
export function compileTids(array: Sql, isDistinct: boolean): Sql {
  // The inner query keeps the planner from calling the function for an estimate, and PostgreSQL 15 from calling it per row.
  const each = sql`unnest((select ${array})::tid[])`
  return isDistinct ? sql`select ${each}` : sql`select distinct ${each}`
}

/**
 * `(select …) alias`: the rows of a relation that all of the look-ups know, as far as policies show them. The planner has no
 * choice but to go from one tuple identifier to the next: by an index of another column it would compare each of its
 * rows with all of them, and it cannot know how many they are. OFFSET keeps the subquery from becoming a join.
 */
export function compileRowsAt(relation: Sql, lookUps: readonly Sql[], alias: string): Sql {
  const tids = sql.join(
    lookUps.map((each) => sql`(${each})`),
    sql` intersect `,
  )
  return sql`(${tids}) l (tid) cross join lateral (
    select r.tableoid, r.ctid, r.xmin, r.* from ${relation} r where r.ctid = l.tid offset 0) ${sql.id(alias)}`
}

/** A table or an index as an argument of the functions that look rows up. */
export function compileRegclass({ schema, name }: { readonly schema: string; readonly name: string }): Sql {
  return sql`${sql.literal(`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`)}::regclass`
}
