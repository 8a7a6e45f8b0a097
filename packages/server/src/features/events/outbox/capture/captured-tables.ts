import { captureTriggerPrefix } from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { CapturedTable, InstalledTrigger } from './trigger.ts'
import { captureFunctions, earlierCaptureFunction } from './trigger.ts'

/**
 * Compiles the oids of the trigger functions. Triggers are found by their dependency on these, because a table may have
 * many triggers.
 */
function functionsNamed(names: readonly string[]): Sql {
  return sql`
    select oid from pg_proc
    where pronamespace = 'basalt'::regnamespace and proname = any (${sql.literal(`{${names.join()}}`)}::name[])`
}

/** Compiles a table expression with the triggers of these functions, as `t`. */
function triggersOf(names: readonly string[]): Sql {
  return sql`
    pg_depend d
    join pg_trigger t on t.oid = d.objid
    where d.classid = 'pg_trigger'::regclass and d.refclassid = 'pg_proc'::regclass
      and d.refobjid = any (array(${functionsNamed(names)}))`
}

/** Short text that differs after every change of the capture triggers. */
export const triggersVersion: Sql = sql`
  select count(*) || '/' || coalesce(bit_xor(hash_record_extended(row(t.oid, t.tgenabled), 0)), 0)
  from ${triggersOf(captureFunctions)}`

/** Lists the oids of tables and the names of the enabled triggers that log their changes. */
export function listInstalledTriggers(database: Queryable): Promise<{ oid: string; name: string }[]> {
  return database.many(sql`
    select t.tgrelid::text as oid, t.tgname::text as name
    from ${triggersOf(captureFunctions)} and t.tgenabled in ('O', 'A')`)
}

/** Lists the oids of tables with capture triggers, enabled or not. */
export async function listTablesWithTriggers(database: Queryable): Promise<string[]> {
  const rows = await database.many<{ oid: string }>(sql`
    select distinct t.tgrelid::text as oid
    from ${triggersOf([...captureFunctions, earlierCaptureFunction])}`)
  return rows.map(({ oid }) => oid)
}

interface Row {
  readonly [column: string]: unknown
  readonly oid: string
  readonly schema: string
  readonly name: string
  readonly collection: string
  readonly is_partition: boolean
  readonly is_partitioned: boolean
  readonly is_careful: boolean
  readonly key: readonly string[]
  readonly owner: string
  readonly is_owned: boolean
  readonly login: string
  readonly has_foreign: boolean
  readonly triggers: readonly InstalledTrigger[]
}

/**
 * Finds the tables with these oids, each with its partitions. A partition is logged under the name of its table, so its
 * own oid finds the table.
 */
export async function findCapturedTables(
  database: Queryable,
  oids: readonly string[],
): Promise<readonly CapturedTable[]> {
  const rows = await database.many<Row>(sql`
    with recursive roots as (
      select distinct coalesce(pg_partition_root(requested.oid)::oid, requested.oid) as oid
      from unnest(${oids}::oid[]) requested (oid)
    ),
    family as (
      select r.oid as root, r.oid, false as is_partition from roots r
      union all
      select r.oid, p.relid, true
      from roots r cross join lateral pg_partition_tree(r.oid) p
      where p.level > 0
    ),
    descendants as (
      select i.inhparent as oid, i.inhrelid from pg_inherits i join family f on f.oid = i.inhparent
      union
      select d.oid, i.inhrelid from descendants d join pg_inherits i on i.inhparent = d.inhrelid
    )
    select c.oid::text, n.nspname::text as schema, c.relname::text as name,
      basalt.collection_name(rn.nspname, r.relname) as collection, f.is_partition,
      c.relkind = 'p' as is_partitioned, basalt.key_columns(r.oid) as key,
      pg_get_userbyid(c.relowner)::text as owner, pg_has_role(c.relowner, 'usage') as is_owned, current_user::text as login,
      exists (
        select from descendants d join pg_class x on x.oid = d.inhrelid and x.relkind = 'f' where d.oid = c.oid
      ) as has_foreign,
      exists (
        select from pg_attribute a
        join pg_type t on t.oid = a.atttypid
        join pg_type b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
        left join pg_type e on e.oid = b.typelem and b.typcategory = 'A'
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          and (
            a.attgenerated = 'v'
            or coalesce(e.oid, b.oid) >= 16384 and coalesce(e.typtype, b.typtype) <> 'e'
          )
      ) as is_careful,
      coalesce((
        select json_agg(json_build_object('name', t.tgname, 'function', p.proname,
          'arguments', encode(t.tgargs, 'hex'), 'isEnabled', t.tgenabled in ('O', 'A')))
        from pg_trigger t
        join pg_proc p on p.oid = t.tgfoid and p.pronamespace = 'basalt'::regnamespace
        where t.tgrelid = c.oid and starts_with(t.tgname, ${captureTriggerPrefix})
      ), '[]') as triggers
    from family f
    join pg_class c on c.oid = f.oid and c.relkind in ('r', 'p')
    join pg_namespace n on n.oid = c.relnamespace
    join pg_class r on r.oid = f.root
    join pg_namespace rn on rn.oid = r.relnamespace
    order by f.root, f.is_partition, c.oid`)
  return rows.map((row) => ({
    ...{ oid: row.oid, schema: row.schema, name: row.name, collection: row.collection },
    ...{ isPartition: row.is_partition, isPartitioned: row.is_partitioned, isCareful: row.is_careful },
    ...{ key: row.key, triggers: row.triggers },
    login: row.login,
    obstacle: row.has_foreign
      ? { reason: 'a foreign table is a part of it', owner: undefined }
      : row.is_owned
        ? undefined
        : { reason: `it belongs to ${row.owner}`, owner: row.owner },
  }))
}
