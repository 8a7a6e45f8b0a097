import type { Column } from '../../../../database/catalog/model.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { DistanceMetric } from '../parse/vector.ts'
import type { VectorPlan } from '../plan/vector.ts'

/** Operators of pgvector, whatever the type of the vectors. The inner product is negative, so that less is nearer. */
const operators: Readonly<Record<DistanceMetric, string>> = { cosine: '<=>', l2: '<->', inner_product: '<#>' }

/** The vector of the request, in a statement that names it as often as it needs. */
const queryVector = sql`(select value from query)`

const vectorSlot = new Slot('vector')

/** What goes into the slot of {@link compileQueryVector}. */
export function vectorSlots(vector: string): Readonly<Record<string, string>> {
  return { [vectorSlot.name]: vector }
}

/** The first of the common table expressions of a statement: the one place of a parameter that can be long. */
export function compileQueryVector({ column }: VectorPlan): Sql {
  return sql`query as materialized (
    select ${vectorSlot}::${sql.id(column.vectorSchema, column.type.base)} as value
  )`
}

/** How far the rows of `alias` are from the vector, as an index on the column would compare them. */
function compileDistance({ column, metric }: VectorPlan, alias: string): Sql {
  const operator = sql.operator(column.vectorSchema, operators[metric])
  return sql`${sql.id(alias, column.name)} ${operator} ${queryVector}`
}

/** Conditions on the rows of `alias` that have a distance. */
function compileComparable({ column, dimensions }: VectorPlan, alias: string): readonly Sql[] {
  const value = sql.id(alias, column.name)
  const isPresent = sql`${value} is not null`
  // Vectors of other lengths are left out where the column takes them; pgvector would refuse to compare any.
  if (dimensions !== undefined || column.type.base === 'sparsevec') return [isPresent]
  const length = (of: Sql) => sql`${sql.id(column.vectorSchema, 'vector_dims')}(${of})`
  return [isPresent, sql`${length(value)} = ${length(queryVector)}`]
}

/**
 * The rows nearest to the vector as common table expressions, of which the last is `name` with the columns and
 * `distance`. An index finds what is near before policies and filters leave out most of it: where it has found too few
 * rows, they are sorted without it. It is evaluated only then.
 */
export function compileNearestRows(
  plan: VectorPlan,
  source: {
    readonly name: string
    /** `from … where …` with further conditions. */
    readonly from: (alias: string, further: readonly Sql[]) => Sql
    readonly columns: readonly Sql[]
    readonly limit: number
    readonly alias: string
    /** Of the distance. */
    readonly distance: string
  },
): readonly Sql[] {
  const { name, from, columns, limit, alias } = source
  const distance = compileDistance(plan, alias)
  const distanceColumn = sql.id(source.distance)
  const selected = sql.join([...columns, sql`${distance} as ${distanceColumn}`])
  const rows = from(alias, compileComparable(plan, alias))
  const select = (order: Sql) => sql`
    select ${selected} ${rows} order by ${order} limit ${sql.integer(limit)}`
  if (!plan.isApproximate) return [sql`${sql.id(name)} as materialized (${select(distance)})`]
  const isFull = sql`(select count(*) from approximate) = ${sql.integer(limit)}`
  return [
    sql`approximate as materialized (${select(distance)})`,
    // No index sorts by this expression.
    sql`exact as materialized (${select(sql`(${distance}) + 0`)})`,
    // The condition stands where `exact` is read: within it, parallel workers would be started before it is evaluated.
    sql`${sql.id(name)} as (
      select * from approximate where ${isFull}
      union all
      select * from exact where not (${isFull})
    )`,
  ]
}

/** More than the number of candidates that an HNSW index looks at by itself. */
const defaultCandidates = 40

/**
 * Settings of the transaction for an index: to scan until enough rows pass policies and filters, and to look at as many
 * candidates as there are rows to find. An operator's own larger number of candidates stays.
 */
export function compileVectorSettings({ iterates }: VectorPlan, limit: number): Sql | undefined {
  const settings = [
    ...(iterates ? ['hnsw.iterative_scan', 'ivfflat.iterative_scan'] : []).map(
      (name) => sql`set_config(${sql.literal(name)}, 'relaxed_order', true)`,
    ),
    ...(iterates && limit > defaultCandidates
      ? [
          sql`set_config('hnsw.ef_search',
            greatest(nullif(current_setting('hnsw.ef_search', true), '')::int, ${sql.integer(limit)})::text, true)`,
        ]
      : []),
  ]
  return settings.length === 0 ? undefined : sql`select ${sql.join(settings)}`
}

/** Columns as they stand in the rows of `alias`. */
export function compileColumns(columns: Iterable<Column>, alias: string): Sql[] {
  return [...columns].map((column) => sql.id(alias, column.name))
}
