import type { ColumnType } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { AggregatePlan, AggregateResult } from '../plan/aggregate.ts'
import { compileExtreme } from './extreme.ts'
import { compileJsonValue } from './json-value.ts'
import { compileFrom } from './rows.ts'

/** Aliases of the collection's rows and of one group. */
const [row, one] = ['t', 'g']

/**
 * Compiles an aggregate. Returns one row: the results as a JSON array, and whether they are complete, that is,
 * whether there are no more groups than the limit.
 */
export function compileAggregate(plan: AggregatePlan): Sql {
  const { limit } = plan
  return sql`
    select coalesce(json_agg(r.result) filter (where r.ordinal <= ${sql.integer(limit)}), '[]'),
      count(*) <= ${sql.integer(limit)}
    from (
      select ${compileResults(plan)} as result,
        row_number() over () as ordinal
      from (${compileGroups(plan)}) ${sql.id(one)}
    ) r`
}

function compileGroups({ rows, group, results, order, limit }: AggregatePlan): Sql {
  const keys = group.map((column) => sql.id(row, column.name))
  const values = results.map((result) => compileFigure(result, row))
  const items = [
    ...keys.map((key, index) => sql`${key} as ${groupName(index)}`),
    ...values.map((value, index) => sql`${value} as ${resultName(index)}`),
  ]
  const grouped = sql`
    select ${sql.join(items)}
    ${compileFrom(rows, row)}`
  if (group.length === 0) return grouped
  const terms = order.map(({ by, descending }) => {
    const name = 'group' in by ? groupName(by.group) : resultName(by.result)
    return descending ? sql`${name} desc` : name
  })
  return sql`${grouped}
    group by ${sql.join(keys)}
    order by ${sql.join(terms)}
    limit ${sql.integer(limit + 1)}`
}

function groupName(index: number): Sql {
  return sql.id(`group ${index}`)
}

function resultName(index: number): Sql {
  return sql.id(`result ${index}`)
}

/**
 * Compiles the results under their names, formatted as a list formats such values. A name such as `count_distinct_…`
 * may be longer than a column name can be (PostgreSQL, Identifiers and Key Words), so it is not used as a column
 * name.
 */
function compileResults({ group, results }: AggregatePlan): Sql {
  const format = (type: ColumnType | undefined, name: Sql, key: string) => {
    const source = sql`${sql.id(one)}.${name}`
    const json = type === undefined ? undefined : compileJsonValue(type, source, `${one}v`)
    return sql`${sql.literal(key)}, ${json ?? source}`
  }
  return sql`json_build_object(${sql.join([
    ...group.map(({ type, name }, index) => format(type, groupName(index), name)),
    ...results.map((result, index) => format(resultType(result), resultName(index), result.key)),
  ])})`
}

/** Returns the type by which a result is formatted. Undefined for numbers, which stay as PostgreSQL writes them. */
function resultType({ function: name, column }: AggregateResult): ColumnType | undefined {
  if (column === undefined) return undefined
  if (name === 'min' || name === 'max') return column.type
  // PostGIS computes these on a plane, whatever the type of the column.
  if (name === 'bbox' || name === 'centroid') return { ...column.type, base: 'geometry' }
  return undefined
}

/** Returns the aggregate expression of a figure over rows of `alias`. */
export function compileFigure(
  { function: name, column }: Pick<AggregateResult, 'function' | 'column'>,
  alias: string,
): Sql {
  if (column === undefined) return sql`count(*)`
  const source = sql.id(alias, column.name)
  switch (name) {
    case 'count':
      return sql`count(${source})`
    case 'count_distinct':
      return sql`count(distinct ${source})`
    case 'sum':
      return sql`sum(${source})`
    case 'avg':
      return sql`avg(${source})`
    case 'min':
    case 'max':
      return compileExtreme(name, column.type, source)
    case 'bbox':
    case 'centroid':
      return compileSpatial(name, column.type, source)
  }
}

function compileSpatial(
  name: 'bbox' | 'centroid',
  { base, spatialSchema = '' }: ColumnType,
  source: Sql,
): Sql {
  const geometry = sql.id(spatialSchema, 'geometry')
  const flat = base === 'geography' ? sql`${source}::${geometry}` : source
  const call = (called: string, value: Sql) => sql`${sql.id(spatialSchema, called)}(${value})`
  return name === 'bbox'
    ? sql`${call('st_extent', flat)}::${geometry}`
    : call('st_centroid', call('st_collect', flat))
}
