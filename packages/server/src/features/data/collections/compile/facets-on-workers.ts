import { type Sql, sql } from '../../../../database/sql.ts'
import type { FacetsPlan } from '../plan/facets.ts'
import { compileFrom } from './rows.ts'

/** Alias of the collection's rows. */
const row = 't'

/**
 * Compiles queries for `with`: the counts of each facet, on a table that Citus keeps on its workers. Citus has no
 * grouping sets, so each facet reads the rows of its scope by itself.
 */
export function compileFacetsOnWorkers({ facets, scopes }: FacetsPlan): readonly Sql[] {
  return facets.map(({ column, scope }, index) => {
    const rows = scopes[scope]
    if (rows === undefined) throw new TypeError('a facet has no scope')
    const value = sql.id(row, column.name)
    return sql`${facetName(index)} as materialized (
      select ${value} as "value", count(*) as "count"
      ${compileFrom(rows, row)}
      group by ${value})`
  })
}

/** Returns the name of the query with the values of a facet and their counts. */
export function facetName(index: number): Sql {
  return sql.id(`facet ${index}`)
}
