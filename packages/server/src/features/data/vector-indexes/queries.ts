import { unlessLocked } from '../../../database/catalog/queries/exclusive-locks.ts'
import { naturally } from '../../../database/natural-order.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, nullable } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { methods, metrics } from './definition.ts'

/** pgvector index. */
export const VectorIndex = component(
  'VectorIndex',
  Type.Object({
    name: Type.String(),
    schema: Type.String(),
    table: Type.String(),
    method: Type.Enum(methods),
    definition: Type.String({ description: 'Definition in SQL.' }),
    column: nullable(Type.String(), { description: 'Column; null for an index on an expression.' }),
    metric: nullable(Type.Enum(metrics), {
      description: 'Metric; null for an index that the distances of the API do not use.',
    }),
    valid: Type.Boolean({ description: 'True if the index is complete.' }),
    sizeBytes: Type.Integer(),
  }),
)

/** Index as the catalog has it. The definition is empty while the table is locked. */
export type StoredVectorIndex = Omit<Answered<typeof VectorIndex>, 'metric'> & {
  /** Operator class such as `vector_cosine_ops`. */
  readonly operatorClass: string
}

const vectorIndexes = sql`
  select x.relname as name, n.nspname as schema, c.relname as table, m.amname as method, a.attname as column,
    o.opcname as "operatorClass",
    coalesce(${unlessLocked(sql`i.indrelid`, sql`pg_get_indexdef(i.indexrelid)`)}, '') as definition,
    i.indisvalid as valid, pg_relation_size(i.indexrelid)::float8 as "sizeBytes"
  from pg_index i
  join pg_class x on x.oid = i.indexrelid
  join pg_am m on m.oid = x.relam and m.amname in ('hnsw', 'ivfflat')
  join pg_class c on c.oid = i.indrelid
  join pg_namespace n on n.oid = c.relnamespace
  join pg_opclass o on o.oid = i.indclass[0]
  left join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0] and a.attnum > 0`

export async function listVectorIndexes(
  database: Queryable,
  schemas: readonly string[],
): Promise<StoredVectorIndex[]> {
  return await database.many<StoredVectorIndex>(sql`
    ${vectorIndexes} where n.nspname = any (${schemas})
    order by ${naturally(sql`n.nspname`)}, ${naturally(sql`c.relname`)}, ${naturally(sql`x.relname`)}`)
}

export async function findVectorIndex(
  database: Queryable,
  schema: string,
  name: string,
): Promise<StoredVectorIndex | undefined> {
  return await database.maybeOne<StoredVectorIndex>(sql`
    ${vectorIndexes} where n.nspname = ${schema} and x.relname = ${name}`)
}

/** Returns whether any object in the schema has the name, since tables and indexes share their names. */
export async function isNameTaken(database: Queryable, schema: string, name: string): Promise<boolean> {
  const { is_taken } = await database.one<{ is_taken: boolean }>(sql`
    select exists (
      select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${schema} and c.relname = ${name}
    ) as is_taken`)
  return is_taken
}

/** Time without a renewal of the lease after which a build is presumed dead with its node. */
export const leaseSeconds = 15

/** Acquires the lease of the single build that may run. @returns whether this holder has it */
export async function leaseBuild(database: Queryable, holder: string): Promise<boolean> {
  const count = await database.count(sql`
    insert into basalt.vector_index_build as b (holder, leased_until)
    values (${holder}::uuid, ${until})
    on conflict (is_only) do update set holder = excluded.holder, leased_until = excluded.leased_until
    where b.leased_until < now()`)
  return count === 1
}

export async function renewBuild(database: Queryable, holder: string): Promise<void> {
  await database.count(sql`
    update basalt.vector_index_build set leased_until = ${until} where holder = ${holder}::uuid`)
}

export async function releaseBuild(database: Queryable, holder: string): Promise<void> {
  await database.count(sql`delete from basalt.vector_index_build where holder = ${holder}::uuid`)
}

const until: Sql = sql`now() + make_interval(secs => ${sql.integer(leaseSeconds)})`
