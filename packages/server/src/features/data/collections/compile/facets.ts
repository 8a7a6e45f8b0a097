import { type Sql, sql } from '../../../../database/sql.ts'
import type { Facet, FacetsPlan } from '../plan/facets.ts'
import { compileJsonValue } from './json-value.ts'
import { compileFrom } from './rows.ts'

/** Aliases of the collection's rows and of one value with its count. */
const [row, bucket] = ['t', 'f']

/** Compiles queries for `with`: the counts of each scope, computed by one read of its rows for all of its facets. */
export function compileFacetScopes(plan: FacetsPlan): readonly Sql[] {
  return plan.scopes.map((rows, scope) => {
    const columns = facetsOf(plan, scope).map(({ column }) => sql.id(row, column.name))
    const values = columns.map((column, index) => sql`${column} as ${valueName(index)}`)
    const sets = columns.map((column) => sql`(${column})`)
    return sql`${scopeName(scope)} as (
      select ${sql.join(values)}, grouping(${sql.join(columns)}) as "set", count(*) as "count"
      ${compileFrom(rows, row)}
      group by grouping sets (${sql.join(sets)}))`
  })
}

/**
 * Compiles three columns per facet: its values as a JSON array, whether these are all, and its statistics or NULL.
 */
export function compileFacets(plan: FacetsPlan): readonly Sql[] {
  return plan.facets.flatMap((facet) => {
    const index = facetsOf(plan, facet.scope).indexOf(facet)
    const counts = compileCounts(plan, facet, index)
    return [
      compileBuckets(facet, counts, plan.maxBuckets),
      sql`(select count(*) <= ${sql.integer(plan.maxBuckets)} from ${counts})`,
      facet.hasStats ? compileStats(counts) : sql`null`,
    ]
  })
}

function facetsOf({ facets }: FacetsPlan, scope: number): readonly Facet[] {
  return facets.filter((facet) => facet.scope === scope)
}

function scopeName(scope: number): Sql {
  return sql.id(`scope ${scope}`)
}

function valueName(index: number): Sql {
  return sql.id(`value ${index}`)
}

/**
 * Compiles the counts of one facet among those of its scope. `grouping` has a bit for each column, unset for the
 * counted one.
 */
function compileCounts(plan: FacetsPlan, { scope }: Facet, index: number): Sql {
  const width = facetsOf(plan, scope).length
  const set = 2 ** width - 1 - 2 ** (width - 1 - index)
  return sql`(
    select ${valueName(index)} as value, "count"
    from ${scopeName(scope)}
    where "set" = ${sql.integer(set)}) ${sql.id(bucket)}`
}

function compileBuckets({ column }: Facet, counts: Sql, maxBuckets: number): Sql {
  const value = sql.id(bucket, 'value')
  const json = compileJsonValue(column.type, value, `${bucket}v`) ?? value
  return sql`(
    select coalesce(json_agg(r.*), '[]')
    from (
      select ${json} as value, ${sql.id(bucket, 'count')} as count
      from ${counts}
      order by ${sql.id(bucket, 'count')} desc, ${value}
      limit ${sql.integer(maxBuckets)}
    ) r)`
}

function compileStats(counts: Sql): Sql {
  const value = sql.id(bucket, 'value')
  return sql`(
    select row_to_json(s.*)
    from (select min(${value}) as min, max(${value}) as max from ${counts}) s
    where s.min is not null)`
}
