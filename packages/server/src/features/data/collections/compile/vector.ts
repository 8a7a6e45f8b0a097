import type { Column } from '../../../../database/catalog/model.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { DistanceMetric } from '../parse/vector.ts'
import type { VectorPlan } from '../plan/vector.ts'

/** Operators of pgvector for every vector type. The inner product is negative, so that lower is nearer. */
const operators: Readonly<Record<DistanceMetric, string>> = { cosine: '<=>', l2: '<->', inner_product: '<#>' }

/** Vector of the request, in a statement that refers to it as often as needed. */
const queryVector = sql`(select value from query)`

const vectorSlot = new Slot('vector')

/** Returns the slot value of {@link compileQueryVector} without a slot of its own. */
export function vectorSlots(vector: string): Readonly<Record<string, string>> {
  return { [vectorSlot.name]: vector }
}

/** Compiles the first common table expression of a statement: the only position of a parameter that can be long. */
export function compileQueryVector({ column }: VectorPlan, slot = vectorSlot): Sql {
  return sql`query as materialized (
    select ${slot}::${sql.id(column.vectorSchema, column.type.base)} as value
  )`
}

/** Compiles the distance between the rows of `alias` and the vector, as an index on the column would compute it. */
function compileDistance({ column, metric }: VectorPlan, alias: string): Sql {
  const operator = sql.operator(column.vectorSchema, operators[metric])
  return sql`${sql.id(alias, column.name)} ${operator} ${queryVector}`
}

/** Compiles the conditions on rows of `alias` that have a distance. */
function compileComparable({ column, dimensions }: VectorPlan, alias: string): readonly Sql[] {
  const value = sql.id(alias, column.name)
  const isPresent = sql`${value} is not null`
  // Vectors of other lengths are left out where the column accepts them, since pgvector would refuse to compare any.
  if (dimensions !== undefined || column.type.base === 'sparsevec') return [isPresent]
  const length = (of: Sql) => sql`${sql.id(column.vectorSchema, 'vector_dims')}(${of})`
  return [isPresent, sql`${length(value)} = ${length(queryVector)}`]
}

/**
 * Compiles the rows nearest to the vector as common table expressions. The last one is `name` and has the columns and
 * `distance`. An index finds near rows before policies and filters leave out most of them. Where it has found too few
 * rows, the rows are sorted without it. That part is evaluated only then.
 */
export function compileNearestRows(
  plan: VectorPlan,
  source: {
    readonly name: string
    /** Compiles `from … where …` with further conditions. */
    readonly from: (alias: string, further: readonly Sql[]) => Sql
    readonly columns: readonly Sql[]
    readonly limit: number
    readonly alias: string
    /** Name of the distance column. */
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
    // The condition is where `exact` is read. Inside `exact`, parallel workers would start before it is evaluated.
    sql`${sql.id(name)} as (
      select * from approximate where ${isFull}
      union all
      select * from exact where not (${isFull})
    )`,
  ]
}

/** Number of candidates that is more than an HNSW index considers by default. */
const defaultCandidates = 40

/**
 * Compiles transaction settings for an index scan. They let it scan until enough rows pass policies and filters, with
 * as many candidates as rows to find. A larger number set by the operator is kept.
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

/** Compiles columns as they are named in the rows of `alias`. */
export function compileColumns(columns: Iterable<Column>, alias: string): Sql[] {
  return [...columns].map((column) => sql.id(alias, column.name))
}
