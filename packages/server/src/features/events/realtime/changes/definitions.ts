import type { Catalog } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { findStreamTable } from './stream-table.ts'

/**
 * Compiles the definitions that decide about the events of tables: the table itself, its columns, its privileges and
 * its policies. Each row has the columns `name` and `version`. The version changes with any DDL and is null without the
 * table.
 */
export function definitionsOf(catalog: Catalog, tables: readonly string[]): Sql {
  const relations = tables.map((table) => findStreamTable(catalog, table))
  return sql`
    select requested.name, d.version
    from unnest(
      ${tables}::text[],
      ${relations.map((relation) => relation?.schema ?? null)}::text[],
      ${relations.map((relation) => relation?.name ?? null)}::text[]
    ) requested (name, schema_name, table_name)
    left join lateral (
      select concat_ws('/', c.oid, c.xmin,
        (select bit_xor(hash_record_extended(row(a.attnum, a.xmin), 0))
          from pg_attribute a where a.attrelid = c.oid and a.attnum > 0),
        (select bit_xor(hash_record_extended(row(p.oid, p.xmin), 0)) from pg_policy p where p.polrelid = c.oid)
      ) as version
      from pg_namespace n
      join pg_class c on c.relnamespace = n.oid
      where n.nspname = requested.schema_name and c.relname = requested.table_name
    ) d on true`
}
