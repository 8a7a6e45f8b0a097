import { type Sql, sql } from '../../../../database/sql.ts'
import type { Facet, FacetMember, FacetsPlan, FacetValueMember, SelectedFacets } from '../plan/facets.ts'
import type { SelectedColumn } from '../plan/selection.ts'
import { compileFacetsOnWorkers, facetName } from './facets-on-workers.ts'
import { compileJsonValue } from './json-value.ts'
import { compileFrom } from './rows.ts'
import { compileColumnValue, compileConstant } from './selection.ts'

/** Aliases of the collection's rows and of one value with its count. */
const [row, bucket] = ['t', 'f']

/** Compiles queries for `with`: the counts of each scope, computed by one read of its rows for all of its facets. */
export function compileFacetScopes(plan: FacetsPlan): readonly Sql[] {
  if (isOnWorkers(plan)) return compileFacetsOnWorkers(plan)
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
      compileIsExhaustive(counts, plan.maxBuckets),
      facet.hasStats ? compileStats(counts) : sql`null`,
    ]
  })
}

/** Compiles a query of one JSON array, with an object for each facet. */
export function compileSelectedFacets({ plan, columns, members }: SelectedFacets): Sql {
  const objects = plan.facets.map((facet, position) => {
    const index = facetsOf(plan, facet.scope).indexOf(facet)
    const [column, named] = [columns[position], members[position] ?? []]
    if (column === undefined) throw new TypeError('a facet has no column')
    const counts = compileCounts(plan, facet, index)
    const list = named.map(
      (member) => sql`${compileMember(member, { plan, facet, column, counts })} as ${sql.id(member.key)}`,
    )
    return sql`(select row_to_json(r.*) from (select ${sql.join(list)}) r)`
  })
  return sql`with ${sql.join(compileFacetScopes(plan))} select json_build_array(${sql.join(objects)})`
}

interface CountedFacet {
  readonly plan: FacetsPlan
  readonly facet: Facet
  readonly column: SelectedColumn
  readonly counts: Sql
}

function compileMember(member: FacetMember, counted: CountedFacet): Sql {
  const { plan, facet, column, counts } = counted
  switch (member.kind) {
    case 'constant':
      return compileConstant(member.value)
    case 'values':
      return compileSelectedBuckets(member.members, counted)
    case 'exhaustive':
      return compileIsExhaustive(counts, plan.maxBuckets)
    case 'figure': {
      if (!facet.hasStats) return sql`null::float8`
      const value = sql.id(bucket, 'value')
      const figure = member.function === 'min' ? sql`min(${value})` : sql`max(${value})`
      return sql`(select ${compileColumnValue(column, figure, `${bucket}v`)} from ${counts})`
    }
  }
}

function compileSelectedBuckets(
  members: readonly FacetValueMember[],
  { plan, column, counts }: CountedFacet,
): Sql {
  const [value, count] = [sql.id(bucket, 'value'), sql.id(bucket, 'count')]
  const list = members.map((member) => {
    const content =
      member.kind === 'constant'
        ? compileConstant(member.value)
        : member.kind === 'count'
          ? count
          : compileColumnValue(column, value, `${bucket}v`)
    return sql`${content} as ${sql.id(member.key)}`
  })
  return sql`(
    select coalesce(json_agg(r.*), '[]')
    from (
      select ${sql.join(list)}
      from ${counts}
      order by ${count} desc, ${value}
      limit ${sql.integer(plan.maxBuckets)}
    ) r)`
}

function isOnWorkers({ scopes }: FacetsPlan): boolean {
  return scopes.some(({ relation }) => relation.isOnWorkers)
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
function compileCounts(plan: FacetsPlan, facet: Facet, index: number): Sql {
  const { scope } = facet
  if (isOnWorkers(plan)) return sql`${facetName(plan.facets.indexOf(facet))} ${sql.id(bucket)}`
  const width = facetsOf(plan, scope).length
  const set = 2 ** width - 1 - 2 ** (width - 1 - index)
  return sql`(
    select ${valueName(index)} as value, "count"
    from ${scopeName(scope)}
    where "set" = ${sql.integer(set)}) ${sql.id(bucket)}`
}

function compileIsExhaustive(counts: Sql, maxBuckets: number): Sql {
  return sql`(select count(*) <= ${sql.integer(maxBuckets)} from ${counts})`
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
