import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { type Answered, choice, nullable } from '../../../../http/schemas.ts'
import { codeOf } from '../../../../lib/errors.ts'
import { Type } from '../../../../lib/type.ts'
import type { AccountContext } from '../context.ts'
import { requireUser } from '../users.ts'
import { administration, userParams } from './user-id.ts'

/** Maximum number of rows that are counted in a table. */
const mostRows = 10_000
/** Time limit for one table. Its column may have no index. */
const countTimeoutMs = 1000
/** Time limit for all tables. The remaining ones are not counted. */
const previewTimeoutMs = 5000
const mostReferences = 500

/** Action of a constraint `c` (PostgreSQL manual, pg_constraint: confdeltype). */
const actionOf = sql`
  case c.confdeltype when 'r' then 'restrict' when 'c' then 'cascade' when 'n' then 'set null'
    when 'd' then 'set default' else 'no action' end`

interface ForeignKey {
  readonly schema: string
  readonly name: string
  readonly columns: readonly string[]
  /** User columns that the key references. */
  readonly referenced: readonly string[]
  readonly action: Preview['further'][number]['action']
  readonly [column: string]: unknown
}

const action = choice(['cascade', 'set null', 'set default', 'restrict', 'no action'])

const Preview = Type.Object({
  references: Type.Array(
    Type.Object({
      table: Type.String({ description: 'Name of the table, with its schema.' }),
      columns: Type.Array(Type.String()),
      action,
      rows: nullable(Type.Integer(), {
        description: 'null if counting took more than a second. 10,001 means more than 10,000.',
      }),
    }),
    { description: 'Rows that reference the user by foreign key.' },
  ),
  further: Type.Array(Type.Object({ table: Type.String(), references: Type.String(), action }), {
    description: 'Tables whose rows reference the deleted rows. They are not counted.',
  }),
  files: Type.Object({ count: Type.Integer(), bytes: Type.Number() }),
  blockedBy: Type.Array(Type.String(), { description: 'Tables whose rows must be removed first.' }),
})
type Preview = Answered<typeof Preview>

export const previewDeletion = operation({
  ...administration,
  id: 'users.previewDeletion',
  method: 'GET',
  path: '/api/admin/users/:id/deletion',
  summary: 'Preview what deleting a user would delete, change or be blocked by',
  params: userParams,
  success: ok(Preview),
  async handle({ database }: AccountContext, { params: { id } }) {
    await requireUser(database, id)
    const until = performance.now() + previewTimeoutMs
    const references = []
    for (const key of await listForeignKeys(database)) {
      const rows = performance.now() < until ? await countRows(database, key, id) : null
      if (rows === 0) continue
      const { schema, name, columns, action } = key
      references.push({ table: `${schema}.${name}`, columns, action, rows })
    }
    const deleted = references.filter(({ action }) => action === 'cascade').map(({ table }) => table)
    const files = await database.one<{ count: number; bytes: number }>(sql`
      select count(*)::int as count, coalesce(sum(size), 0)::float8 as bytes
      from basalt.objects where user_id = ${id}::uuid`)
    return {
      references,
      further: await listFurther(database, deleted),
      files,
      blockedBy: references
        .filter(({ action, rows }) => (action === 'restrict' || action === 'no action') && rows !== null)
        .map(({ table }) => table),
    }
  },
})

async function listForeignKeys(database: SystemDatabase): Promise<ForeignKey[]> {
  return await database.many<ForeignKey>(sql`
    select n.nspname as schema, t.relname as name, ${actionOf} as action,
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

/** Counts the rows that reference the user. Returns null when the count exceeds its time limit. */
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

/** Lists foreign keys to tables whose rows would be deleted, directly or through other tables. */
async function listFurther(database: SystemDatabase, tables: readonly string[]): Promise<Preview['further']> {
  return await database.many<Preview['further'][number]>(sql`
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
    select distinct source.name as "table", target.name as "references", ${actionOf} as action
    from reached r
    join pg_constraint c on c.confrelid = r.oid and c.contype = 'f' and c.conparentid = 0
    join named source on source.oid = c.conrelid
    join named target on target.oid = r.oid
    order by 1, 2
    limit ${mostReferences}`)
}
