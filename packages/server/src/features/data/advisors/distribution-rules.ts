import type { Catalog } from '../../../database/catalog/model.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { nameOf } from './access-rules.ts'
import { type Finding, type Rule, write } from './advice.ts'

const rule: Rule = {
  name: 'local_table_on_worker',
  group: 'health',
  title: 'A policy on the workers reads a table of the coordinator',
  explanation:
    'Citus runs the function of the policy on the workers, which do not have the table. Requests fail with local_table_on_worker. As a reference table, it is on every worker.',
}

interface LocalRead extends Record<string, unknown> {
  readonly schema: string
  readonly name: string
  readonly policy: string
  readonly function: string
  readonly table_schema: string
  readonly table_name: string
}

/**
 * Finds policies of distributed tables whose functions read a local table of the coordinator. PostgreSQL knows
 * the tables of a function with a parsed body (`begin atomic`). In the text of another one, the names after `from`,
 * `join`, `into` and `update` count.
 */
export async function findLocalReads({ relations }: Catalog, database: Queryable): Promise<Finding[]> {
  const tables = [...relations.values()].filter(({ isOnWorkers }) => isOnWorkers)
  if (tables.length === 0) return []
  const found = await database.many<LocalRead>(sql`
    select n.nspname as schema, c.relname as name, p.polname as policy, f.oid::regprocedure::text as function,
      ln.nspname as table_schema, l.relname as table_name
    from pg_policy p
    join pg_class c on c.oid = p.polrelid
    join pg_namespace n on n.oid = c.relnamespace
    join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refclassid = 'pg_proc'::regclass
    join pg_proc f on f.oid = d.refobjid
    join pg_namespace fn on fn.oid = f.pronamespace and fn.nspname not in ('basalt', 'pg_catalog')
    join pg_class l on l.relkind in ('r', 'p', 'v', 'm', 'f')
    join pg_namespace ln on ln.oid = l.relnamespace and ln.nspname not in ('pg_catalog', 'information_schema')
    where p.polrelid::int8 = any (${tables.map(({ oid }) => oid)}::int8[])
      and not exists (select from pg_dist_partition where logicalrelid = l.oid)
      and (
        exists (
          select from pg_depend r
          where r.classid = 'pg_proc'::regclass and r.objid = f.oid
            and r.refclassid = 'pg_class'::regclass and r.refobjid = l.oid
        )
        or f.prosrc ~* ('\\m(from|join|into|update)\\s+(only\\s+)?("?' || regexp_replace(ln.nspname, '(\\W)', '\\\\\\1', 'g')
          || '"?\\.)?"?' || regexp_replace(l.relname, '(\\W)', '\\\\\\1', 'g') || '(?![\\w.])')
      )
    group by 1, 2, 3, 4, 5, 6
    order by 1, 2, 3, 4, 5, 6`)
  return found.map((read): Finding => {
    const local = nameOf({ schema: read.table_schema, name: read.table_name })
    return {
      rule,
      severity: 'warning',
      object: `policy "${read.policy}" on ${nameOf(read)}`,
      detail: `${read.function} reads ${local}.`,
      statement: write(sql`select create_reference_table(${quotedName(read.table_schema, read.table_name)})`),
    }
  })
}

const recreatedRule: Rule = {
  name: 'recreated_table_privileges',
  group: 'access',
  title: 'A table has privileges that were revoked',
  explanation:
    'Citus creates a table anew when it gets a foreign key to a reference table. The new table has the default privileges of its schema, and its shard has those from before. Callers may have more rights than intended, and requests fail with database_definition_error.',
}

interface RegainedPrivileges extends Record<string, unknown> {
  readonly schema: string
  readonly name: string
  readonly grantee: string
  readonly privileges: string
}

/**
 * Finds local tables with privileges that their only shard lacks. Citus carries every grant and revoke to the shard, so
 * they differ only after it created the table anew.
 */
export async function findRegainedPrivileges(
  { relations }: Catalog,
  database: Queryable,
): Promise<Finding[]> {
  // Such a table refers to a reference table.
  if (![...relations.values()].some(({ isOnWorkers }) => isOnWorkers)) return []
  const found = await database.many<RegainedPrivileges>(sql`
    select n.nspname as schema, c.relname as name, pg_get_userbyid(a.grantee) as grantee,
      string_agg(lower(a.privilege_type), ', ' order by a.privilege_type) as privileges
    from pg_dist_partition p
    join pg_dist_shard s on s.logicalrelid = p.logicalrelid
    join pg_class c on c.oid = p.logicalrelid
    join pg_namespace n on n.oid = c.relnamespace,
    aclexplode(c.relacl) a
    where p.partmethod = 'n' and p.repmodel <> 't' and a.grantee not in (0, c.relowner)
      and not has_table_privilege(a.grantee, to_regclass(shard_name(s.logicalrelid, s.shardid)), a.privilege_type)
    group by 1, 2, 3
    order by 1, 2, 3`)
  return found.map(
    ({ grantee, privileges, ...table }): Finding => ({
      rule: recreatedRule,
      severity: 'error',
      object: nameOf(table),
      detail: `${grantee} has ${privileges}.`,
      statement: `revoke ${privileges} on ${quotedName(table.schema, table.name)} from ${quotedName(grantee)};`,
    }),
  )
}

/** Returns a name as the text of a `regclass`. */
function quotedName(...parts: readonly string[]): string {
  return parts.map((part) => `"${part.replaceAll('"', '""')}"`).join('.')
}
