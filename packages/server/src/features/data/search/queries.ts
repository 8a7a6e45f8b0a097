import { callerRole } from '../../../database/caller/caller-scope.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { SearchSettings } from '../collections/index.ts'

export interface SearchRow {
  readonly schema_name: string
  readonly table_name: string
  readonly attributes: SearchSettings['attributes']
  readonly custom_ranking: SearchSettings['customRanking']
  readonly synonyms: SearchSettings['synonyms']
  /** True if accents are ignored; null if not decided. */
  readonly ignores_accents: boolean | null
  /** True if indexes are enabled; null if not decided. */
  readonly is_indexed: boolean | null
  readonly built_at: Date | null
  readonly build_ms: number | null
  readonly build_error: string | null
  readonly version: string
}

const columns = sql`
  schema_name, table_name, attributes, custom_ranking, synonyms, ignores_accents, is_indexed, built_at, build_ms, build_error,
  xmin::text as version`

export async function listSearchRows(database: Pick<Queryable, 'many'>): Promise<SearchRow[]> {
  return await database.many<SearchRow & Record<string, unknown>>(
    sql`select ${columns} from basalt.search_settings order by schema_name, table_name`,
  )
}

export async function findTextSearchConfig(
  database: Pick<Queryable, 'one'>,
  name: string,
): Promise<{ readonly name: string; readonly schema: string; readonly is_usable: boolean }> {
  return await database.one(sql`
    select quote_ident(n.nspname) || '.' || quote_ident(c.cfgname) as name, quote_ident(n.nspname) as schema,
      has_schema_privilege(${callerRole}, n.oid, 'usage') as is_usable
    from pg_ts_config c join pg_namespace n on n.oid = c.cfgnamespace
    where c.oid = ${name}::regconfig`)
}

export async function listTextSearchConfigs(database: Pick<Queryable, 'many'>): Promise<string[]> {
  const rows = await database.many<{ name: string }>(
    sql`select oid::regconfig::text as name from pg_ts_config order by 1`,
  )
  return rows.map(({ name }) => name)
}

type Table = Pick<SearchRow, 'schema_name' | 'table_name'>

/** Settings to store. The decision about accents remains if it is undefined. */
type NewSettings = Pick<SearchSettings, 'attributes' | 'customRanking'> & {
  readonly ignoresAccents: boolean | undefined
}

export async function replaceSettings(
  transaction: Queryable,
  { schema_name, table_name }: Table,
  { attributes, customRanking, ignoresAccents }: NewSettings,
): Promise<SearchRow> {
  return await transaction.one<SearchRow & Record<string, unknown>>(sql`
    insert into basalt.search_settings (schema_name, table_name, attributes, custom_ranking, ignores_accents)
    values (
      ${schema_name}, ${table_name}, ${JSON.stringify(attributes)}::jsonb, ${JSON.stringify(customRanking)}::jsonb,
      ${ignoresAccents ?? null}::boolean)
    on conflict (schema_name, table_name) do update
      set attributes = excluded.attributes, custom_ranking = excluded.custom_ranking,
        ignores_accents = coalesce(excluded.ignores_accents, search_settings.ignores_accents)
    returning ${columns}`)
}

export async function replaceSynonyms(
  transaction: Queryable,
  { schema_name, table_name }: Table,
  synonyms: SearchSettings['synonyms'],
): Promise<SearchRow> {
  return await transaction.one<SearchRow & Record<string, unknown>>(sql`
    insert into basalt.search_settings (schema_name, table_name, synonyms)
    values (${schema_name}, ${table_name}, ${JSON.stringify(synonyms)}::jsonb)
    on conflict (schema_name, table_name) do update set synonyms = excluded.synonyms
    returning ${columns}`)
}

/**
 * Renames the settings of a table. Returns undefined where the old name has none, or the new name already has some.
 */
export async function renameSearchRow(
  transaction: Queryable,
  from: Table,
  to: Table,
): Promise<SearchRow | undefined> {
  return await transaction.maybeOne<SearchRow & Record<string, unknown>>(sql`
    update basalt.search_settings set schema_name = ${to.schema_name}, table_name = ${to.table_name}
    where schema_name = ${from.schema_name} and table_name = ${from.table_name} and not exists (
      select from basalt.search_settings
      where schema_name = ${to.schema_name} and table_name = ${to.table_name})
    returning ${columns}`)
}

/**
 * Renames columns in the settings of a table. Returns undefined where none of the columns occurs. @param names the
 * new names by the old ones
 */
export async function renameSearchColumns(
  transaction: Queryable,
  { schema_name, table_name }: Table,
  names: Readonly<Record<string, string>>,
): Promise<SearchRow | undefined> {
  const renamed = (list: Sql) => sql`(
    select coalesce(jsonb_agg(
      e || jsonb_build_object('column', coalesce(n.names->(e->>'column'), e->'column')) order by ordinal), '[]')
    from jsonb_array_elements(${list}) with ordinality l (e, ordinal))`
  return await transaction.maybeOne<SearchRow & Record<string, unknown>>(sql`
    update basalt.search_settings
    set attributes = ${renamed(sql`attributes`)}, custom_ranking = ${renamed(sql`custom_ranking`)}
    from (select ${JSON.stringify(names)}::jsonb as names) n
    where schema_name = ${schema_name} and table_name = ${table_name} and exists (
      select from jsonb_array_elements(attributes || custom_ranking) e where n.names ? (e->>'column'))
    returning ${columns}`)
}

export async function findSearchRow(
  database: Pick<Queryable, 'maybeOne'>,
  { schema_name, table_name }: Table,
): Promise<SearchRow | undefined> {
  return await database.maybeOne<SearchRow & Record<string, unknown>>(sql`
    select ${columns} from basalt.search_settings
    where schema_name = ${schema_name} and table_name = ${table_name}`)
}

export async function setAccents(
  database: Queryable,
  { schema_name, table_name }: Table,
  ignoresAccents: boolean,
): Promise<void> {
  await database.count(sql`
    insert into basalt.search_settings (schema_name, table_name, ignores_accents)
    values (${schema_name}, ${table_name}, ${ignoresAccents})
    on conflict (schema_name, table_name) do update set ignores_accents = excluded.ignores_accents`)
}

export async function setIndexed(
  database: Queryable,
  { schema_name, table_name }: Table,
  isIndexed: boolean,
): Promise<void> {
  await database.count(sql`
    insert into basalt.search_settings (schema_name, table_name, is_indexed)
    values (${schema_name}, ${table_name}, ${isIndexed})
    on conflict (schema_name, table_name) do update set is_indexed = excluded.is_indexed`)
}

/** Records the duration of the last build, or its failure. */
export async function recordBuild(
  database: Queryable,
  { schema_name, table_name }: Table,
  { durationMs, error }: { readonly durationMs: number | null; readonly error: string | null },
): Promise<void> {
  await database.count(sql`
    insert into basalt.search_settings (schema_name, table_name, built_at, build_ms, build_error)
    values (${schema_name}, ${table_name}, clock_timestamp(), ${durationMs}::int, ${error})
    on conflict (schema_name, table_name) do update
      set built_at = excluded.built_at, build_ms = excluded.build_ms, build_error = excluded.build_error`)
}
