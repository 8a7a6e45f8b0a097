import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

/** Name of a table in a schema. */
export interface TableName {
  readonly schema: string
  readonly name: string
}

/** Required triggers of a table. */
export interface TriggerDefinition {
  /** Arguments of the trigger functions. */
  readonly args: readonly string[]
  /**
   * True if inserts and deletes are recorded row by row. Statement triggers record many rows at a third of the
   * cost. They fire only when a statement names their table, not when it names another table of the same
   * family.
   */
  readonly isPerRow: boolean
}

/** Existing triggers of a table. */
export interface TriggerRow extends TableName {
  readonly args: readonly string[]
  /** Names of the triggers. */
  readonly triggers: readonly string[]
  readonly [column: string]: unknown
}

/** Table with partitions or inheritance children, or one of these. */
export interface FamilyRow extends TableName {
  /** Root of a partition. */
  readonly root: TableName | null
  readonly [column: string]: unknown
}

const recordRow = sql.id('basalt', 'audit_row')
/** Statement trigger functions, which read the transition table `changed`. */
const recordInserts = sql.id('basalt', 'audit_inserts')
const recordDeletes = sql.id('basalt', 'audit_deletes')

const truncate = {
  name: 'basalt_audit_truncate',
  event: sql`after truncate`,
  scope: sql`for each statement`,
  run: recordRow,
}
/** Row triggers, in the order of their names. */
const perRow = [
  {
    name: 'basalt_audit_row',
    event: sql`after insert or update or delete`,
    scope: sql`for each row`,
    run: recordRow,
  },
  truncate,
]
/** Statement triggers, in the order of their names. */
const perStatement = [
  {
    name: 'basalt_audit_delete',
    event: sql`after delete`,
    scope: sql`referencing old table as changed for each statement`,
    run: recordDeletes,
  },
  {
    name: 'basalt_audit_insert',
    event: sql`after insert`,
    scope: sql`referencing new table as changed for each statement`,
    run: recordInserts,
  },
  truncate,
  { name: 'basalt_audit_update', event: sql`after update`, scope: sql`for each row`, run: recordRow },
]
const triggerNames = [...new Set([...perRow, ...perStatement].map(({ name }) => name))]

/** Returns the key of a table. A pair of names is unambiguous, unlike a joined name. */
export function keyOf({ schema, name }: TableName): string {
  return JSON.stringify([schema, name])
}

export function isSame({ args, triggers }: TriggerRow, definition: TriggerDefinition): boolean {
  const required = definition.isPerRow ? perRow : perStatement
  return (
    isEqual(args, definition.args) &&
    isEqual(
      triggers,
      required.map(({ name }) => name),
    )
  )
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index])
}

/** Lists triggers, without the copies that partitions have of their table's triggers. */
export async function listTriggers(database: Queryable): Promise<readonly TriggerRow[]> {
  return await database.many<TriggerRow>(sql`
    select n.nspname as schema, c.relname as name,
      string_to_array(rtrim(min(encode(t.tgargs, 'escape')), '\\000'), '\\000') as args,
      array_agg(t.tgname::text order by t.tgname::text collate "C") as triggers
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    join pg_namespace n on n.oid = c.relnamespace
    where t.tgname = any (${triggerNames}) and t.tgparentid = 0
    group by n.nspname, c.relname`)
}

export async function listFamilies(database: Queryable): Promise<readonly FamilyRow[]> {
  return await database.many<FamilyRow>(sql`
    select n.nspname as schema, c.relname as name,
      (
        select json_build_object('schema', rn.nspname, 'name', r.relname)
        from pg_class r
        join pg_namespace rn on rn.oid = r.relnamespace
        where r.oid = pg_partition_root(c.oid)
      ) as root
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p')
      and (c.relkind = 'p' or c.oid in (select inhrelid from pg_inherits union select inhparent from pg_inherits))`)
}

export async function createTriggers(
  transaction: Queryable,
  table: TableName,
  { args, isPerRow }: TriggerDefinition,
  found: TriggerRow | undefined,
): Promise<void> {
  const required = isPerRow ? perRow : perStatement
  const surplus = found?.triggers.filter((existing) => required.every(({ name }) => name !== existing)) ?? []
  await dropTriggers(transaction, table, surplus)
  const values = sql.join(args.map((value) => sql.literal(value)))
  for (const { name, event, scope, run } of required) {
    await transaction.count(sql`
      create or replace trigger ${sql.id(name)} ${event} on ${sql.id(table.schema, table.name)} ${scope}
      execute function ${run}(${values})`)
  }
}

/** Drops triggers of a table. @param names of existing triggers */
export async function dropTriggers(
  transaction: Queryable,
  { schema, name }: TableName,
  names: readonly string[],
): Promise<void> {
  for (const trigger of names) {
    await transaction.count(sql`drop trigger if exists ${sql.id(trigger)} on ${sql.id(schema, name)}`)
  }
}
