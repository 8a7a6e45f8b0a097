import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, nullable } from '../../../http/schemas.ts'
import { codeOf } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import { logErrors } from './errors.ts'

export const statementOrders = ['total_time', 'calls', 'mean_time'] as const
export type StatementOrder = (typeof statementOrders)[number]

const columns = {
  total_time: sql`s.total_exec_time`,
  calls: sql`s.calls`,
  mean_time: sql`s.mean_exec_time`,
} as const

export const Statement = component(
  'Statement',
  Type.Object({
    query: Type.String(),
    calls: Type.Number(),
    total_time_ms: Type.Number(),
    mean_time_ms: Type.Number(),
    rows: Type.Number(),
    cache_hit_ratio: nullable(Type.Number()),
  }),
)
type Statement = Answered<typeof Statement>

/**
 * Lists statistics of this database's statements, except the one that stores requests.
 *
 * @throws AppError query_statistics_unavailable
 */
export async function listStatements(
  database: Queryable,
  order: StatementOrder,
  limit: number,
): Promise<Statement[]> {
  const found = await database.maybeOne<{ schema: string }>(sql`
    select n.nspname as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    where e.extname = 'pg_stat_statements'`)
  if (found === undefined) throw logErrors.queryStatisticsUnavailable()
  try {
    return await database.many<Statement>(sql`
      select s.query, s.calls::float8, s.total_exec_time as total_time_ms, s.mean_exec_time as mean_time_ms,
        s.rows::float8, s.shared_blks_hit::float8 / nullif(s.shared_blks_hit + s.shared_blks_read, 0) as cache_hit_ratio
      from ${sql.id(found.schema, 'pg_stat_statements')} s
      where s.dbid = (select oid from pg_database where datname = current_database())
        -- Its time is that in which requests come, hardly any is PostgreSQL's.
        and s.query not like 'copy basalt.requests %'
      order by ${columns[order]} desc, s.queryid
      limit ${limit}::int`)
  } catch (cause) {
    // 55000: the extension is created, but not in shared_preload_libraries.
    if (codeOf(cause) === '55000') throw logErrors.queryStatisticsUnavailable()
    throw cause
  }
}

/** Number of rows below which a scan is as fast as an index. */
const scannedRows = 10_000
const scans = 50

export const IndexSuggestion = Type.Object({
  table: Type.String(),
  scans: Type.Number(),
  rows_per_scan: Type.Number(),
})
type IndexSuggestion = Answered<typeof IndexSuggestion>

/** Lists tables of the exposed schemas that are often read by sequential scans. */
export async function listIndexSuggestions(
  database: Queryable,
  schemas: readonly string[],
): Promise<IndexSuggestion[]> {
  return await database.many<IndexSuggestion>(sql`
    select case when schemaname = 'public' then relname else schemaname || '.' || relname end as table,
      seq_scan::float8 as scans, round(seq_tup_read::numeric / seq_scan)::float8 as rows_per_scan
    from pg_stat_user_tables
    where schemaname = any (${schemas}::text[]) and seq_scan >= ${scans}::int
      and seq_tup_read / seq_scan >= ${scannedRows}::int
    order by seq_tup_read desc
    limit 20`)
}
