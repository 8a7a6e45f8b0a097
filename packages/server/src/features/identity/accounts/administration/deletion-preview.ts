import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { codeOf } from '../../../../lib/errors.ts'

/** More rows than this are not counted. */
const mostRows = 10_000
/** For one table: a column without an index may be that of a large one. */
const countTimeoutMs = 1000
/** For all of them; what is left is not counted. */
const previewTimeoutMs = 5000
const mostReferences = 500

/** PostgreSQL manual, pg_constraint: confdeltype. */
const actions: Readonly<Record<string, string>> = {
  a: 'no action',
  r: 'restrict',
  c: 'cascade',
  n: 'set null',
  d: 'set default',
}

interface ForeignKey {
  readonly schema: string
  readonly name: string
  readonly columns: readonly string[]
  /** Columns of the user that they reference. */
  readonly referenced: readonly string[]
  readonly action: string
  readonly [column: string]: unknown
}

/** What the deletion of a user would delete, change or be refused by: rows by foreign key, and files. */
export async function previewDeletion(database: SystemDatabase, userId: string) {
  const until = performance.now() + previewTimeoutMs
  const references = []
  for (const key of await listForeignKeys(database)) {
    const rows = performance.now() < until ? await countRows(database, key, userId) : null
    if (rows === 0) continue
    const action = actions[key.action] ?? key.action
    references.push({ table: `${key.schema}.${key.name}`, columns: key.columns, action, rows })
  }
  const deleted = references.filter(({ action }) => action === 'cascade').map(({ table }) => table)
  const files = await database.one<{ count: number; bytes: number }>(sql`
    select count(*)::int as count, coalesce(sum(size), 0)::float8 as bytes
    from basalt.objects where user_id = ${userId}::uuid`)
  return {
    references,
    further: await listFurther(database, deleted),
    files,
    blockedBy: references
      .filter(({ action, rows }) => (action === 'restrict' || action === 'no action') && rows !== null)
      .map(({ table }) => table),
  }
}

async function listForeignKeys(database: SystemDatabase): Promise<ForeignKey[]> {
  return await database.many<ForeignKey>(sql`
    select n.nspname as schema, t.relname as name, c.confdeltype as action,
      array(
        select a.attname::text
        from unnest(c.conkey) with ordinality k (number, ordinal)
        join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.number
        order by k.ordinal
      ) as columns,
      array(
        select a.attname::text
        from unnest(c.confkey) with ordinality k (number, ordinal)
        join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.number
        order by k.ordinal
      ) as referenced
    from pg_constraint c
    join pg_class t on t.oid = c.conrelid
    join pg_namespace n on n.oid = t.relnamespace
    -- A partition has a copy of the constraint of its table, whose rows are counted there.
    where c.contype = 'f' and c.confrelid = 'basalt.users'::regclass and c.conparentid = 0
    order by n.nspname = 'basalt', 1, 2, c.conname
    limit ${mostReferences}`)
}

/** Null when it took too long. */
async function countRows(database: SystemDatabase, key: ForeignKey, userId: string): Promise<number | null> {
  const matches = key.columns.map(
    (column, index) => sql`t.${sql.id(column)} = u.${sql.id(key.referenced[index] ?? 'id')}`,
  )
  try {
    return await database.transaction(async (transaction) => {
      await transaction.count(sql`select set_config('statement_timeout', ${String(countTimeoutMs)}, true)`)
      const { rows } = await transaction.one<{ rows: number }>(sql`
        select count(*)::int as rows from (
          select
          from basalt.users u
          join ${sql.id(key.schema, key.name)} t on ${sql.join(matches, sql` and `)}
          where u.id = ${userId}::uuid
          limit ${mostRows + 1}
        ) as found`)
      return rows
    })
  } catch (error) {
    if (codeOf(error) === '57014') return null
    throw error
  }
}

interface Further {
  readonly table: string
  readonly references: string
  readonly action: string
  readonly [column: string]: unknown
}

/** Foreign keys that lead to tables whose rows would be deleted, however far. */
async function listFurther(database: SystemDatabase, tables: readonly string[]): Promise<Further[]> {
  const found = await database.many<Further>(sql`
    with recursive named as (
      select t.oid, n.nspname || '.' || t.relname as name
      from pg_class t
      join pg_namespace n on n.oid = t.relnamespace
      where n.nspname <> 'basalt'
    ),
    reached (oid) as (
      select oid from named where name = any(${tables}::text[])
      union
      select c.conrelid
      from reached r
      join pg_constraint c on c.confrelid = r.oid
      where c.contype = 'f' and c.confdeltype = 'c' and c.conparentid = 0
    )
    select distinct source.name as "table", target.name as "references", c.confdeltype as action
    from reached r
    join pg_constraint c on c.confrelid = r.oid and c.contype = 'f' and c.conparentid = 0
    join named source on source.oid = c.conrelid
    join named target on target.oid = r.oid
    order by 1, 2
    limit ${mostReferences}`)
  return found.map(({ table, references, action }) => ({
    table,
    references,
    action: actions[action] ?? action,
  }))
}
