import type { Catalog } from '../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Finding, type Rule, write } from './advice.ts'
import { severityOf } from './indexes.ts'

const rules = {
  codePoints: {
    name: 'texts_sorted_by_code',
    group: 'health',
    title: 'Texts sort by code point',
    explanation:
      'Lists show Zoe before adam, and Äpfel last. The statements give columns the collation of a dictionary. Each one locks its table and rebuilds the indexes of the column. A column of a view or policy cannot be changed before that is dropped.',
  },
  prefix: {
    name: 'prefix_filter_unindexed',
    group: 'indexes',
    title: 'A filter for beginnings without an index',
    explanation:
      "Requests filter by the beginning of a text, such as name ~ 'The %'. In the collation of the column, only an index with a pattern operator class supports that.",
  },
} as const satisfies Record<string, Rule>

/** Maximum number of columns in one finding. */
const mostColumns = 20

/** Columns that requests on this node have filtered by their beginning, by collection. */
export type PrefixFilters = ReadonlyMap<string, ReadonlySet<string>>

/** Condition that the default collation of the database `d` compares bytes. */
const isDefaultByCode: Sql = sql`(
  d.datlocprovider = 'b'
  or d.datlocprovider = 'c' and (d.datcollate in ('C', 'POSIX') or d.datcollate like 'C.%'))`

/** Finds texts that sort by code point, and filters for beginnings without an index. */
export async function findCollations(
  { schemas, relations }: Pick<Catalog, 'schemas' | 'relations'>,
  database: Queryable,
  prefixFilters: PrefixFilters,
): Promise<Finding[]> {
  const filtered = [...prefixFilters].flatMap(([collection, columns]) => {
    const relation = relations.get(collection)
    // Under policies PostgreSQL uses no index for LIKE, which is not LEAKPROOF.
    if (relation === undefined || relation.rlsEnabled || relation.kind === 'view') return []
    return [...columns].map((column) => ({ schema: relation.schema, name: relation.name, column }))
  })
  return [...(await findCodePoints(database, schemas)), ...(await findPrefixes(database, filtered))]
}

async function findCodePoints(database: Queryable, schemas: readonly string[]): Promise<Finding[]> {
  const rows = await database.many<{
    database: string
    schema: string
    name: string
    column: string
    type: string
  }>(sql`
    select d.datname as database, n.nspname as schema, c.relname as name, a.attname as column,
      format_type(a.atttypid, a.atttypmod) as type
    from pg_database d
    cross join pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where d.datname = current_database() and ${isDefaultByCode} and n.nspname = any (${schemas})
      and exists (select from pg_collation where collname = 'und-x-icu')
      and c.relkind in ('r', 'p') and not c.relispartition
      and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
      and a.attcollation = 'pg_catalog."default"'::regcollation and a.atttypid in ('text'::regtype, 'varchar'::regtype)
      -- The order of keys and of values from a list is seldom seen.
      and not exists (
        select from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'f') and a.attnum = any (k.conkey))
    order by 2, 3, a.attnum
    limit ${sql.integer(mostColumns + 1)}`)
  const [first] = rows
  if (first === undefined) return []
  const shown = rows.slice(0, mostColumns)
  return [
    {
      rule: rules.codePoints,
      severity: 'info',
      object: `database ${first.database}`,
      detail:
        rows.length > mostColumns
          ? `The statements are those of the first ${mostColumns} columns.`
          : 'A new database sorts texts as a dictionary does.',
      statement: shown
        .map(({ schema, name, column, type }) =>
          write(
            sql`alter table ${sql.id(schema, name)} alter column ${sql.id(column)} type ${type === 'text' ? sql`text` : varchar(type)} collate "und-x-icu"`,
          ),
        )
        .join(' '),
    },
  ]
}

/** Returns the type as PostgreSQL prints it, with its length. */
function varchar(type: string): Sql {
  const [, length] = /\((\d+)\)$/.exec(type) ?? []
  return length === undefined ? sql`varchar` : sql`varchar(${sql.integer(Number(length))})`
}

interface FilteredColumn {
  readonly schema: string
  readonly name: string
  readonly column: string
}

async function findPrefixes(database: Queryable, columns: readonly FilteredColumn[]): Promise<Finding[]> {
  if (columns.length === 0) return []
  const rows = await database.many<
    FilteredColumn & Record<string, unknown> & { base: string; rows: number }
  >(sql`
    select f.schema, f.name, f.column, t.typname as base, greatest(c.reltuples, 0)::float8 as rows
    from jsonb_to_recordset(${JSON.stringify(columns)}::jsonb) f (schema text, name text, "column" text)
    join pg_namespace n on n.nspname = f.schema
    join pg_class c on c.relnamespace = n.oid and c.relname = f.name and c.relkind in ('r', 'p', 'm')
    join pg_attribute a on a.attrelid = c.oid and a.attname = f.column
    join pg_type t on t.oid = a.atttypid and t.typname in ('text', 'varchar', 'bpchar')
    join pg_collation o on o.oid = a.attcollation
    join pg_database d on d.datname = current_database()
    where not case o.collprovider
        when 'd' then ${isDefaultByCode}
        when 'c' then o.collcollate in ('C', 'POSIX')
        else o.collprovider = 'b'
      end
      and not exists (
        select from pg_index i
        join pg_opclass p on p.oid = i.indclass[0]
        left join pg_collation ic on ic.oid = i.indcollation[0]
        where i.indrelid = c.oid and i.indisvalid and i.indpred is null and i.indkey[0] = a.attnum
          and (p.opcname like '%\\_pattern\\_ops' or p.opcname like '%trgm\\_ops' or ic.collcollate in ('C', 'POSIX'))
      )
    order by 1, 2, 3`)
  return rows.map(({ schema, name, column, base, rows: count }) => ({
    rule: rules.prefix,
    severity: severityOf(count),
    object: `${schema}.${name}.${column}`,
    statement: write(
      sql`create index on ${sql.id(schema, name)} (${sql.id(column)} ${sql.id(`${base}_pattern_ops`)})`,
    ),
  }))
}
