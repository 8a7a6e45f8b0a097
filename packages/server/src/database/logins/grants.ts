import { type Sql, sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { administratorRole, developerRole, readerRole } from './roles.ts'

/**
 * Lock timeout of a grant. A table that a transaction is changing stays closed until the next attempt, and
 * nothing waits for it.
 */
const grantWait = '100ms'

/** Schemas of the operator, exposed or not, because functions and triggers use objects in all of them. */
const ownSchemas = sql`
  select oid, nspname, nspowner from pg_namespace
  where nspname not in ('basalt', 'information_schema') and nspname !~ '^pg_'`

/** Selects the parts of extensions, such as `cron.job`. Their writers would act with other rights. */
const partsOfExtensions = (catalog: 'pg_class' | 'pg_namespace') => sql`
  select objid from pg_depend where classid = ${sql.literal(catalog)}::regclass and deptype = 'e'`

/** @param granted further condition on the relation `c` */
function lackingOn(role: string, tables: string, sequences: string, granted = sql`true`): Sql {
  const name = sql.literal(role)
  const each = (privileges: string) =>
    sql.join(privileges.split(', ').map((privilege) => sql.literal(privilege)))
  return sql`
    select format('grant usage on schema %I to ${sql.id(role)}', nspname) as statement, null as relation from own
    where not has_schema_privilege(${name}, oid, 'usage')
      and (pg_has_role(nspowner, 'usage') or has_schema_privilege(oid, 'usage with grant option'))
    union all
    select format('grant %s on %s %I.%I to ${sql.id(role)}',
      case c.relkind when 'S' then ${sql.literal(sequences)} else ${sql.literal(tables)} end,
      case c.relkind when 'S' then 'sequence' else 'table' end, n.nspname, c.relname),
      case when c.relkind in ('r', 'p') then format('%I.%I', n.nspname, c.relname) end
    from pg_class c join own n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and pg_has_role(c.relowner, 'usage') and ${granted}
      and case c.relkind
        when 'S' then not (
          select bool_and(has_sequence_privilege(${name}, c.oid, p)) from unnest(array[${each(sequences)}]) p)
        else not (select bool_and(has_table_privilege(${name}, c.oid, p)) from unnest(array[${each(tables)}]) p) end`
}

/** Query for the grants that the reader lacks and the login role may make, as statements. */
const lackingOfReader = sql`with own as (${ownSchemas}) ${lackingOn(readerRole, 'select', 'select')}`

/** Query for the grants that the SQL of developers lacks. Nothing that belongs to an extension is granted. */
const lackingOfDeveloper = sql`
  with own as (
    ${ownSchemas} and (nspname = 'public' or oid not in (${partsOfExtensions('pg_namespace')})))
  ${lackingOn(
    developerRole,
    'select, insert, update, delete',
    'usage, select, update',
    sql`c.oid not in (${partsOfExtensions('pg_class')})`,
  )}`

/**
 * Query for the grants that the administrators' data API lacks. It has the login role's access to rows, and
 * creates nothing. Tables that the login role creates later are granted to it on creation.
 */
const lackingOfAdministrator = sql`
  with own as (${ownSchemas})
  ${lackingOn(administratorRole, 'select, insert, update, delete', 'usage, select, update')}
  union all
  select format('grant execute on %s %s to ${sql.id(administratorRole)}',
    case p.prokind when 'p' then 'procedure' else 'function' end, p.oid::regprocedure), null
  from pg_proc p join own n on n.oid = p.pronamespace
  where pg_has_role(p.proowner, 'usage') and not has_function_privilege(${sql.literal(administratorRole)}, p.oid, 'execute')
  union all
  select format('alter default privileges in schema %I grant %s on %s to ${sql.id(administratorRole)}',
    n.nspname, d.privileges, d.kind), null
  from own n cross join (values
    ('r'::"char", 'tables', 'select, insert, update, delete'), ('S', 'sequences', 'usage, select, update'),
    ('f', 'functions', 'execute')) d (type, kind, privileges)
  where has_schema_privilege(n.oid, 'create') and not exists (
    select from pg_default_acl a cross join aclexplode(a.defaclacl) g
    where a.defaclnamespace = n.oid and a.defaclobjtype = d.type
      and a.defaclrole = (select oid from pg_roles where rolname = current_user)
      and g.grantee = (select oid from pg_roles where rolname = ${sql.literal(administratorRole)}))
  union all
  select format('grant %s to ${sql.id(administratorRole)}', o.privileges), null
  from (values
    ('basalt.objects', 'select, insert, update, delete on basalt.objects')) o (name, privileges)
  where not has_table_privilege(${sql.literal(administratorRole)}, o.name, 'insert')
  union all
  select format('grant execute on function %s to ${sql.id(administratorRole)}', p.oid::regprocedure), null
  from pg_proc p
  where p.pronamespace = 'basalt'::regnamespace and pg_has_role(p.proowner, 'usage')
    and p.proname in (
      'search_query', 'search_rows', 'similar_rows', 'nearby_rows', 'without_accents', 'headline', 'enqueue',
      'set_app_metadata')
    and not has_function_privilege(${sql.literal(administratorRole)}, p.oid, 'execute')`

export const grantToReader = (transaction: Queryable) => grant(transaction, lackingOfReader)

export const grantToDeveloper = (transaction: Queryable) => grant(transaction, lackingOfDeveloper)

/** Adds missing grants to administrators. @returns true if any was missing */
export const grantToAdministrator = (transaction: Queryable) => grant(transaction, lackingOfAdministrator)

/**
 * Makes the missing grants, one session at a time. The second of two concurrent grants on one table fails
 * ("tuple concurrently updated"). So would a statement of the operator that changes the table, unless it waits
 * for the grant, because GRANT locks no table. A failed grant does not affect the others.
 */
async function grant(transaction: Queryable, lacking: Sql): Promise<boolean> {
  if ((await transaction.maybeOne(sql`select from (${lacking}) missing limit 1`)) === undefined) return false
  await transaction.count(sql`
    do $grant$
    declare
      missing record;
      lock_wait constant text := current_setting('lock_timeout');
    begin
      perform set_config('lock_timeout', ${sql.literal(grantWait)}, true);
      perform pg_advisory_xact_lock(hashtextextended('basalt grants', 0));
      for missing in ${lacking} loop
        begin
          if missing.relation is not null then
            execute 'lock table only ' || missing.relation || ' in share update exclusive mode';
          end if;
          execute missing.statement;
        exception when insufficient_privilege or lock_not_available or deadlock_detected or undefined_table
          or undefined_function or invalid_schema_name or internal_error then
          null;
        end;
      end loop;
      perform set_config('lock_timeout', lock_wait, true);
    exception when lock_not_available then
      null;
    end $grant$`)
  return true
}
