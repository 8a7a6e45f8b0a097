import type { Catalog } from '../../../database/catalog/model.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

/** Names that an editor completes: those of a schema, with the columns of its relations. */
export const SchemaNames = component(
  'SqlSchemaNames',
  Type.Object({
    schema: Type.String(),
    relations: Type.Array(
      Type.Object({ name: Type.String(), kind: Type.String(), columns: Type.Array(Type.String()) }),
    ),
    functions: Type.Array(Type.String()),
  }),
)
type SchemaNames = Answered<typeof SchemaNames>

/**
 * Maximum number of relations. Further ones are left out, so that the response for one schema stays below a few
 * hundred kilobytes.
 */
const maxRelations = 2000
const maxFunctions = 2000

/** Lists the schemas that are not PostgreSQL's own, `public` first. */
export async function listSchemas(database: Queryable): Promise<string[]> {
  const rows = await database.many<{ name: string }>(sql`
    select nspname as name from pg_namespace
    where nspname not in ('basalt', 'information_schema') and nspname !~ '^pg_'
    order by nspname <> 'public', nspname limit 1000`)
  return rows.map(({ name }) => name)
}

async function nameSchema(database: Queryable, schema: string): Promise<SchemaNames> {
  const relations = await database.many<SchemaNames['relations'][number]>(sql`
    select c.relname as name,
      case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
        else 'table' end as kind,
      array(
        select attname::text from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped order by attnum limit 300
      ) as columns
    from pg_class c
    where c.relnamespace = (select oid from pg_namespace where nspname = ${schema})
      and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    order by c.relname limit ${maxRelations}::int`)
  const functions = await database.many<{ name: string }>(sql`
    select distinct proname as name from pg_proc p
    where pronamespace = (select oid from pg_namespace where nspname = ${schema})
      and not exists (
        select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e'
      )
    order by proname limit ${maxFunctions}::int`)
  return { schema, relations, functions: functions.map(({ name }) => name) }
}

/** Cache of the names in the schemas of a catalog snapshot. Schemas outside the snapshot are read each time. */
export class SchemaNamesCache {
  readonly #database: Queryable
  readonly #names = new WeakMap<Catalog, Map<string, Promise<SchemaNames>>>()

  constructor(database: Queryable) {
    this.#database = database
  }

  find(catalog: Catalog, schema: string): Promise<SchemaNames> {
    if (!catalog.schemas.includes(schema)) return nameSchema(this.#database, schema)
    const known = this.#names.get(catalog) ?? new Map<string, Promise<SchemaNames>>()
    this.#names.set(catalog, known)
    const names = known.get(schema) ?? nameSchema(this.#database, schema)
    known.set(schema, names)
    names.catch(() => known.delete(schema))
    return names
  }
}
