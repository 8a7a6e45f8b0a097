import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { searchIndexPrefixes } from '../collections/index.ts'

/** Search index as it is in the database. */
export interface IndexRow {
  readonly schema_name: string
  readonly table_name: string
  readonly name: string
  readonly is_valid: boolean
  readonly size_bytes: string
  /** Progress of a build, from 0 to 1; null otherwise. */
  readonly progress: number | null
}

const prefixes = Object.values(searchIndexPrefixes).map((prefix) => prefix.replaceAll('_', '\\_'))
const isOurs = sql.join(
  prefixes.map((prefix) => sql`x.relname like ${`${prefix}%`}`),
  sql` or `,
)

/**
 * Lists all indexes of the schemas, or those of one table. Indexes of partitions are counted with their partitioned
 * table.
 */
export async function listIndexes(
  database: Pick<Queryable, 'many'>,
  schemas: readonly string[],
  table?: { readonly schema: string; readonly name: string },
): Promise<IndexRow[]> {
  const isOfTable =
    table === undefined ? sql`true` : sql`n.nspname = ${table.schema} and c.relname = ${table.name}`
  return await database.many<IndexRow & Record<string, unknown>>(sql`
    select n.nspname as schema_name, c.relname as table_name, x.relname as name, i.indisvalid as is_valid,
      case when x.relkind = 'I'
        then (select sum(pg_relation_size(relid)) from pg_partition_tree(x.oid) where isleaf)
        else pg_relation_size(x.oid)
      end::text as size_bytes,
      (
        select coalesce(case when p.blocks_total > 0 then p.blocks_done::float8 / p.blocks_total end, 0)
        from pg_stat_progress_create_index p
        where p.index_relid = x.oid
      ) as progress
    from pg_index i
    join pg_class x on x.oid = i.indexrelid
    join pg_class c on c.oid = i.indrelid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any (${schemas}) and (${isOurs}) and ${isOfTable}
      and not exists (select from pg_inherits where inhrelid = x.oid)
    order by n.nspname, c.relname, x.relname`)
}

/** Input of an index over columns of a table. */
export interface IndexSource {
  /** Estimate of the planner; null before the first `analyze`. */
  readonly estimatedRows: number | null
  readonly tableBytes: number
  /** Size of the columns by the planner's statistics; null before there are any. */
  readonly textBytes: number | null
}

export async function readIndexSource(
  database: Pick<Queryable, 'maybeOne'>,
  { schema, name }: { readonly schema: string; readonly name: string },
  columns: readonly string[],
): Promise<IndexSource | undefined> {
  return await database.maybeOne<IndexSource & Record<string, unknown>>(sql`
    select case when c.reltuples >= 0 then c.reltuples::float8 end as "estimatedRows",
      case when c.relkind = 'p'
        then (select sum(pg_table_size(relid)) from pg_partition_tree(c.oid) where isleaf)
        else pg_table_size(c.oid)
      end::float8 as "tableBytes",
      (
        select round(sum(s.avg_width * (1 - s.null_frac))::numeric * greatest(c.reltuples, 0)::numeric)::float8
        from pg_stats s
        where s.schemaname = n.nspname and s.tablename = c.relname and s.attname = any (${columns}::name[])
      ) as "textBytes"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relname = ${name}`)
}

/** Lists names and validity of the search indexes of one table only, attached to others or not. */
export async function listOwnIndexes(
  database: Pick<Queryable, 'many'>,
  { schema, name }: { readonly schema: string; readonly name: string },
): Promise<{ readonly name: string; readonly is_valid: boolean; readonly is_part: boolean }[]> {
  return await database.many(sql`
    select x.relname as name, i.indisvalid as is_valid,
      exists (select from pg_inherits where inhrelid = x.oid) as is_part
    from pg_index i
    join pg_class x on x.oid = i.indexrelid
    join pg_class c on c.oid = i.indrelid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relname = ${name} and (${isOurs})
    order by 1`)
}

/** Lists the tables that hold the rows of a partitioned table. */
export async function listPartitions(
  database: Pick<Queryable, 'many'>,
  { schema, name }: { readonly schema: string; readonly name: string },
): Promise<{ readonly schema: string; readonly name: string }[]> {
  return await database.many(sql`
    select n.nspname as schema, c.relname as name
    from pg_partition_tree(${sql.literal(qualified(schema, name))}::regclass) t
    join pg_class c on c.oid = t.relid
    join pg_namespace n on n.oid = c.relnamespace
    where t.isleaf and c.relkind = 'r'
    order by 1, 2`)
}

/**
 * Tries to take the lock that a transaction holds until its end. Returns false while another transaction holds it, on
 * any node. The statement has no parameters: they would leave a portal with a snapshot, for whose end a concurrent
 * build waits.
 */
export async function tryLockIndexes(
  transaction: Queryable,
  { schema, name }: { readonly schema: string; readonly name: string },
): Promise<boolean> {
  const { is_locked } = await transaction.one<{ is_locked: boolean }>(sql`
    select pg_try_advisory_xact_lock(hashtextextended(${sql.literal(`basalt search ${schema}.${name}`)}, 0)) as is_locked`)
  return is_locked
}

export function createIndex(
  index: string,
  table: { readonly schema: string; readonly name: string },
  keys: Sql,
  { isConcurrent }: { readonly isConcurrent: boolean },
): Sql {
  const how = isConcurrent ? sql`concurrently` : sql.empty
  return sql`create index ${how} if not exists ${sql.id(index)} on ${sql.id(table.schema, table.name)} using gin (${keys})`
}

export function dropIndex(
  schema: string,
  index: string,
  { isConcurrent }: { readonly isConcurrent: boolean },
): Sql {
  return sql`drop index ${isConcurrent ? sql`concurrently` : sql.empty} if exists ${sql.id(schema, index)}`
}

function qualified(schema: string, name: string): string {
  return [schema, name].map((part) => `"${part.replaceAll('"', '""')}"`).join('.')
}
