import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

/** Minimum size of an unused index that is reported. A smaller one costs little. */
const unusedBytes = 1024 * 1024

/** Returns the numbers of rows by `schema.table`, from statistics, without counting. */
export async function estimateRows(
  database: Queryable,
  schemas: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await database.many<{ name: string; rows: number }>(sql`
    select n.nspname || '.' || c.relname as name, greatest(c.reltuples, s.n_live_tup, 0)::float8 as rows
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_stat_user_tables s on s.relid = c.oid
    where n.nspname = any (${schemas}) and c.relkind in ('r', 'p')`)
  return new Map(rows.map(({ name, rows: count }) => [name, count]))
}

interface IndexName extends Record<string, unknown> {
  readonly schema: string
  readonly name: string
}

/** Lists duplicate indexes. For two equal ones it reports the one that no constraint needs, or the later one. */
export async function listDuplicateIndexes(
  database: Queryable,
  schemas: readonly string[],
): Promise<readonly (IndexName & { readonly other: string })[]> {
  return await database.many(sql`
    with candidate as (
      select i.*, c.relname, n.nspname, c.relam, c.reloptions,
        i.indisprimary or i.indisexclusion or exists (
          select from pg_constraint k where k.conindid = i.indexrelid
        ) as is_needed
      from pg_index i
      join pg_class c on c.oid = i.indexrelid
      join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (${schemas}) and i.indisvalid and not c.relispartition
    )
    select distinct on (a.indexrelid) a.nspname as schema, a.relname as name, b.relname as other
    from candidate a
    join candidate b on b.indrelid = a.indrelid and b.indexrelid <> a.indexrelid
      and b.relam = a.relam and b.indkey = a.indkey and b.indclass = a.indclass and b.indcollation = a.indcollation
      and b.indoption = a.indoption and b.indnkeyatts = a.indnkeyatts
      and b.indpred::text is not distinct from a.indpred::text
      and b.indexprs::text is not distinct from a.indexprs::text
      and (b.indisunique or not a.indisunique)
      and (
        (b.is_needed, b.indisunique) > (a.is_needed, a.indisunique)
        or (b.is_needed, b.indisunique) = (a.is_needed, a.indisunique) and b.indexrelid < a.indexrelid
      )
    where not a.is_needed
    order by a.indexrelid, b.indexrelid`)
}

interface UnusedIndex extends IndexName {
  readonly table_name: string
  readonly size: string
  readonly since: Date
}

/** Lists unused indexes that no constraint needs, the largest first. */
export async function listUnusedIndexes(
  database: Queryable,
  schemas: readonly string[],
): Promise<readonly UnusedIndex[]> {
  return await database.many(sql`
    select s.schemaname as schema, s.indexrelname as name, s.relname as table_name,
      pg_size_pretty(pg_relation_size(s.indexrelid)) as size,
      coalesce(d.stats_reset, pg_postmaster_start_time()) as since
    from pg_stat_user_indexes s
    join pg_index i on i.indexrelid = s.indexrelid
    join pg_class c on c.oid = s.indexrelid
    join pg_stat_database d on d.datname = current_database()
    where s.schemaname = any (${schemas}) and s.idx_scan = 0 and i.indisvalid and not i.indisunique
      and not i.indisexclusion and not c.relispartition
      and pg_relation_size(s.indexrelid) >= ${String(unusedBytes)}::bigint
    order by pg_relation_size(s.indexrelid) desc
    limit 200`)
}
