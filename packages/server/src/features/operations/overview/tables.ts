import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import { sortNaturally } from '../../../database/natural-order.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { type Answered, component, nullable } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

/** Served table or view. */
export const TableSummary = component(
  'TableSummary',
  Type.Object({
    collection: Type.String(),
    schema: Type.String(),
    name: Type.String(),
    kind: Type.String(),
    estimatedRows: nullable(Type.Integer(), {
      description: 'Estimate of the database. null for views.',
    }),
    rlsEnabled: Type.Boolean(),
    policies: Type.Integer(),
    isReadable: Type.Boolean({ description: 'True if signed-in users may read any of it.' }),
  }),
)
type TableSummary = Answered<typeof TableSummary>

export interface TableListQuery {
  readonly search?: string
  readonly limit?: number
}

export async function listTables(
  database: SystemDatabase,
  catalog: Catalog,
  { search = '', limit = Number.POSITIVE_INFINITY }: TableListQuery,
): Promise<{ readonly items: readonly TableSummary[]; readonly count: number }> {
  const [first = '', ...others] = search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = sortedEntries(catalog).filter(
    ({ text }) => text.includes(first) && others.every((part) => text.includes(part)),
  )
  const begins = ({ name }: Entry) => name.startsWith(first)
  const ranked = first === '' ? found : [...found.filter(begins), ...found.filter((each) => !begins(each))]
  const listed = ranked.slice(0, limit).map(({ relation }) => relation)
  const rows = await estimateRows(database, listed)
  const estimates = new Map(rows.map(({ schema, name, rows }) => [`${schema}.${name}`, rows]))
  const items = listed.map(({ collection, schema, name, kind, rlsEnabled, policies, callers }) => ({
    ...{ collection, schema, name, kind, rlsEnabled },
    estimatedRows: estimates.get(`${schema}.${name}`) ?? null,
    policies: policies.length,
    isReadable: callers.select,
  }))
  return { items, count: found.length }
}

/** Relation with the lower-case name that it is searched by. */
interface Entry {
  readonly relation: Relation
  readonly name: string
  readonly text: string
}

/**
 * Sorted relations by snapshot of the catalog. Sorting twenty thousand names for each typed letter would
 * block other requests.
 */
const sorted = new WeakMap<Catalog, readonly Entry[]>()

function sortedEntries(catalog: Catalog): readonly Entry[] {
  const known = sorted.get(catalog)
  if (known !== undefined) return known
  const relations = sortNaturally(catalog.relations.values(), ({ collection }) => collection)
  const entries = relations.map((relation) => ({
    relation,
    name: relation.name.toLowerCase(),
    text: relation.collection.toLowerCase(),
  }))
  sorted.set(catalog, entries)
  return entries
}

/** Returns the planner's estimates, or, before the first ANALYZE, the counts of written rows. */
function estimateRows(database: SystemDatabase, relations: readonly Relation[]) {
  return database.many<{ schema: string; name: string; rows: number }>(sql`
    select n.nspname as schema, c.relname as name, sum(
        case when stored.reltuples >= 0 then stored.reltuples else pg_stat_get_live_tuples(stored.oid) end
      )::float8 as rows
    from unnest(
      ${relations.map(({ schema }) => schema)}::text[],
      ${relations.map(({ name }) => name)}::text[]
    ) listed (schema, name)
    join pg_namespace n on n.nspname = listed.schema
    join pg_class c on c.relnamespace = n.oid and c.relname = listed.name
    cross join lateral (
      select c.oid where c.relkind in ('r', 'm')
      union all
      select t.relid from pg_partition_tree(c.oid) t where c.relkind = 'p' and t.isleaf
    ) part
    join pg_class stored on stored.oid = part.oid
    group by 1, 2`)
}
