import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { Diagram } from '../schemas.ts'
import { byName, ownTable } from './relations.ts'

export interface DiagramFilter {
  readonly schema?: string | undefined
  /** Table at the center, with the tables that it refers to or that refer to it. */
  readonly around?: { readonly schema: string; readonly name: string } | undefined
}

/** Maximum number of tables. A larger picture is not readable. */
export const mostDrawn = 300

export async function readDiagram(database: Queryable, filter: DiagramFilter): Promise<Diagram> {
  const chosen = compileChosen(filter)
  const { count } = await database.one<{ count: number }>(sql`
    select count(*)::int as count from (${chosen}) chosen`)
  if (count > mostDrawn) return { count, tables: [], references: [] }
  const [tables, references] = await Promise.all([
    database.many<Diagram['tables'][number]>(sql`
      select n.nspname as schema, c.relname as name, (
        select coalesce(json_agg(json_build_object(
          'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
          'isKey', exists (
            select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey))
        ) order by a.attnum), '[]')
        from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      ) as columns
      from (${chosen}) chosen
      join pg_class c on c.oid = chosen.oid
      join pg_namespace n on n.oid = c.relnamespace
      order by ${byName}`),
    // References of partitions belong to their table.
    database.many<Diagram['references'][number]>(sql`
      with chosen as materialized (${chosen})
      select k.conname as name, ${columnsOf(sql`k.conrelid`, sql`k.conkey`)} as from,
        ${columnsOf(sql`k.confrelid`, sql`k.confkey`)} as to
      from pg_constraint k
      where k.contype = 'f' and k.conparentid = 0
        and k.conrelid in (select oid from chosen) and k.confrelid in (select oid from chosen)
      order by k.conrelid::regclass::text, k.conname`),
  ])
  return { count, tables, references }
}

function compileChosen({ schema, around }: DiagramFilter): Sql {
  const isNear = sql`
    c.oid in (
      select at.oid from at
      union select k.confrelid from pg_constraint k join at on at.oid = k.conrelid where k.contype = 'f'
      union select k.conrelid from pg_constraint k join at on at.oid = k.confrelid where k.contype = 'f')`
  return sql`
    with at as (
      select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${around?.schema ?? null} and c.relname = ${around?.name ?? null}
    )
    select c.oid
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and ${ownTable}
      and (${schema ?? null}::text is null or n.nspname = ${schema ?? null})
      and (${around === undefined}::bool or ${isNear})`
}

const columnsOf = (relation: Sql, numbers: Sql): Sql => sql`(
  select json_build_object('schema', n.nspname, 'name', c.relname, 'columns', (
    select json_agg(a.attname order by u.ordinal)
    from unnest(${numbers}) with ordinality u (num, ordinal)
    join pg_attribute a on a.attrelid = c.oid and a.attnum = u.num
  ))
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = ${relation})`
