import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { SearchSettings } from '../collections/index.ts'

export interface SearchRow {
  readonly schema_name: string
  readonly table_name: string
  readonly attributes: SearchSettings['attributes']
  readonly custom_ranking: SearchSettings['customRanking']
  readonly synonyms: SearchSettings['synonyms']
  /** Whether indexes are wanted; null: not decided. */
  readonly is_indexed: boolean | null
  readonly built_at: Date | null
  readonly build_ms: number | null
  readonly build_error: string | null
  readonly version: string
}

const columns = sql`
  schema_name, table_name, attributes, custom_ranking, synonyms, is_indexed, built_at, build_ms, build_error,
  xmin::text as version`

export async function listSearchRows(database: Pick<Queryable, 'many'>): Promise<SearchRow[]> {
  return await database.many<SearchRow & Record<string, unknown>>(
    sql`select ${columns} from basalt.search_settings order by schema_name, table_name`,
  )
}

export async function findTextSearchConfig(
  database: Pick<Queryable, 'one'>,
  name: string,
): Promise<{ readonly name: string }> {
  return await database.one<{ name: string }>(sql`
    select quote_ident(n.nspname) || '.' || quote_ident(c.cfgname) as name
    from pg_ts_config c join pg_namespace n on n.oid = c.cfgnamespace
    where c.oid = ${name}::regconfig`)
}

export async function listTextSearchConfigs(database: Pick<Queryable, 'many'>): Promise<string[]> {
  const rows = await database.many<{ name: string }>(
    sql`select oid::regconfig::text as name from pg_ts_config order by 1`,
  )
  return rows.map(({ name }) => name)
}
