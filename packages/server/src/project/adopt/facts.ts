import { anonymousRole, callerRole } from '../../database/caller/caller-scope.ts'
import { isPreparedQuery, openedSchemasQuery } from '../../database/catalog/queries/unguarded.ts'
import { administratorRole, developerRole, gatewayRole, readerRole } from '../../database/logins/roles.ts'
import { type Sql, sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'

/** Facts about a relation that the catalog of the API does not have. */
export interface Facts {
  readonly owner: string
  /** True if the login has the rights of the owner. */
  readonly isOurs: boolean
  /** True if row-level security applies to the owner, too. */
  readonly isForced: boolean
  /** Number of rows that the planner expects; negative while it is unknown. */
  readonly rows: number
  /** Other roles with a grant to which row-level security would apply. */
  readonly otherRoles: readonly string[]
  /** Statements that restore the grants to callers, in the order of their names. */
  readonly grants: readonly string[]
  /** Sequences of its columns that callers may not use, quoted. */
  readonly sequences: readonly string[]
  /** True if requests without a token may use its schema. */
  readonly isSchemaPublic: boolean
  /** True if a start has granted the relations of its schema to callers. */
  readonly isOpened: boolean
}

/** Quotes a name with its schema, even where SQL does not need it, as the statements of an adoption do. */
function quotedName(schema: Sql, name: Sql): Sql {
  return sql`'"' || replace(${schema}, '"', '""') || '"."' || replace(${name}, '"', '""') || '"'`
}

/** Reads the facts about each relation of the schemas, by its object id. */
export async function readFacts(
  database: Queryable,
  schemas: readonly string[],
): Promise<Map<string, Facts>> {
  const { prepared } = await database.one<{ prepared: boolean }>(isPreparedQuery)
  const opened = prepared ? await database.many<{ schema_name: string }>(openedSchemasQuery) : []
  const own = [callerRole, anonymousRole, gatewayRole, administratorRole, readerRole, developerRole]
  const rows = await database.many<{
    oid: string
    owner: string
    is_ours: boolean
    is_forced: boolean
    rows: number
    other_roles: string[]
    grants: string[]
    sequences: string[]
    is_schema_public: boolean
    schema: string
  }>(sql`
    with relation as (
      select c.*, n.nspname, n.nspacl, ${quotedName(sql`n.nspname`, sql`c.relname`)} as name
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (${schemas}) and c.relkind in ('r', 'p', 'v', 'm', 'f')
    ),
    grants as (
      select c.oid, null::name as column, a.grantee, a.privilege_type
      from relation c cross join lateral aclexplode(c.relacl) a
      union all
      select c.oid, t.attname, a.grantee, a.privilege_type
      from relation c
      join pg_attribute t on t.attrelid = c.oid and not t.attisdropped
      cross join lateral aclexplode(t.attacl) a
    )
    select c.oid::int8 as oid,
      pg_get_userbyid(c.relowner) as owner,
      pg_has_role(c.relowner, 'usage') as is_ours,
      c.relforcerowsecurity as is_forced,
      c.reltuples::float8 as rows,
      array(
        select r.rolname::text
        from pg_roles r
        where not r.rolsuper and not r.rolbypassrls and not pg_has_role(r.oid, c.relowner, 'usage')
          and not r.rolname = any (${own}) and not starts_with(r.rolname, 'pg_')
          and exists (
            select from grants g
            where g.oid = c.oid and (g.grantee = r.oid or g.grantee = 0 and r.rolcanlogin)
          )
        order by r.rolname
      ) as other_roles,
      array(
        select format('grant %s%s on table %s to %I',
          lower(g.privilege_type), case when g.column is not null then format(' (%I)', g.column) end, c.name, r.rolname)
        from grants g
        join pg_roles r on r.oid = g.grantee
        where g.oid = c.oid and r.rolname in (${callerRole}, ${anonymousRole})
        order by 1
      ) as grants,
      array(
        select ${quotedName(sql`n.nspname`, sql`s.relname`)}
        from pg_depend d
        join pg_class s on s.oid = d.objid and s.relkind = 'S'
        join pg_namespace n on n.oid = s.relnamespace
        where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid
          and d.deptype = 'a'
          -- The condition on the kind may be evaluated later.
          and case when s.relkind = 'S' then not coalesce(
            has_sequence_privilege((select r.oid from pg_roles r where r.rolname = ${callerRole}), s.oid, 'usage'),
            false
          ) end
        order by 1
      ) as sequences,
      has_schema_privilege('public', c.relnamespace, 'usage') or exists (
        select from aclexplode(c.nspacl) a
        join pg_roles r on r.oid = a.grantee
        where r.rolname = ${anonymousRole} and a.privilege_type = 'USAGE'
      ) as is_schema_public,
      c.nspname as schema
    from relation c`)
  return new Map(
    rows.map((row) => [
      row.oid,
      {
        owner: row.owner,
        isOurs: row.is_ours,
        isForced: row.is_forced,
        rows: row.rows,
        otherRoles: row.other_roles,
        grants: row.grants,
        sequences: row.sequences,
        isSchemaPublic: row.is_schema_public,
        isOpened: opened.some(({ schema_name }) => schema_name === row.schema),
      },
    ]),
  )
}

/** Finds the function of that name without arguments. */
export async function findFunction(database: Queryable, { schema, name }: { schema: string; name: string }) {
  return await database.maybeOne<{
    returns: string
    is_stable: boolean
    is_definer: boolean
    has_path: boolean
  }>(sql`
    select pg_get_function_result(p.oid) as returns,
      p.provolatile <> 'v' as is_stable,
      p.prosecdef as is_definer,
      exists (select from unnest(p.proconfig) s where starts_with(s, 'search_path=')) as has_path
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = ${schema} and p.proname = ${name} and p.pronargs = 0`)
}

/** Reads the name of the login, quoted where SQL needs it. */
export async function readLogin(database: Queryable): Promise<string> {
  const { login } = await database.one<{ login: string }>(sql`select quote_ident(current_user) as login`)
  return login
}
