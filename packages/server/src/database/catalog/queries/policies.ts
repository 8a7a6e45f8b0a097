import { type Expression, type Sql, sql } from '../../sql.ts'
import type { Policy } from '../model.ts'
import { anonymous, caller } from './caller.ts'
import { firstUserOid, isCataloged } from './cataloged.ts'

/**
 * Pattern of a relation among those that a stored expression reads (PostgreSQL, `nodes/parsenodes.h`,
 * RangeTblEntry).
 */
const readsRelation = sql.literal(':relid [1-9]')

/**
 * Condition that the result of the function `f` may depend on more than its arguments and settings. `pg_depend`
 * does not contain built-in functions, which read no tables of users. A body in SQL or PL/pgSQL may name no
 * relation to read from, execute no text and call no other user function. Such a function reads none, for
 * example a wrapper of `current_setting`.
 */
const mayReadRelations = sql`(
  f.provolatile <> 'i' and not (
    f.prolang in (select oid from pg_language where lanname in ('sql', 'plpgsql'))
    and f.prosrc !~* '\\m(from|table|execute)\\M'
    and (f.prosqlbody is null or f.prosqlbody::text !~ ${readsRelation})
    and not exists (
      select from pg_depend b
      where b.classid = 'pg_proc'::regclass and b.objid = f.oid and b.refclassid = 'pg_proc'::regclass
    )
    and not exists (
      select from pg_proc other
      where other.oid >= ${firstUserOid} and other.oid <> f.oid
        -- The helpers for policies read settings; custom wrappers often name the same ones.
        and other.pronamespace is distinct from to_regnamespace('basalt')
        and f.prosrc ~* ('\\m' || regexp_replace(other.proname, '(\\W)', '\\\\\\1', 'g') || '\\M')
    )
  )
)`

export function policiesQuery(schemas: readonly string[]): Sql {
  return sql`
    select p.polrelid::int8 as relation_oid,
      p.polname as name,
      concat(p.oid, '/', p.xmin) as version,
      case p.polcmd
        when 'r' then 'SELECT' when 'a' then 'INSERT' when 'w' then 'UPDATE' when 'd' then 'DELETE' else 'ALL'
      end as command,
      p.polpermissive as permissive,
      case when p.polroles = '{0}' then array['public']
        else array(select rolname::text from pg_roles where oid = any (p.polroles) order by rolname)
      end as roles,
      p.polroles = '{0}' or exists (
        select from unnest(p.polroles) role (oid) where pg_has_role(${caller}, role.oid, 'usage')
      ) as is_for_callers,
      p.polroles = '{0}' or exists (
        select from unnest(p.polroles) role (oid) where pg_has_role(${anonymous}, role.oid, 'usage')
      ) as is_for_anonymous,
      pg_get_expr(p.polqual, p.polrelid) as using_expression,
      pg_get_expr(p.polwithcheck, p.polrelid) as check_expression,
      coalesce(p.polqual::text ~ ${readsRelation}, false) or exists (
        select
        from pg_depend d
        left join pg_operator o on d.refclassid = 'pg_operator'::regclass and o.oid = d.refobjid
        join pg_proc f on f.oid = coalesce(o.oprcode::oid, d.refobjid)
        where d.classid = 'pg_policy'::regclass and d.objid = p.oid
          and d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass)
          and ${mayReadRelations}
      ) as reads_relations,
      -- A reference to the whole row is not always among the dependencies.
      case when p.polqual::text ~ ':varattno 0 ' then null
        else array(
          select a.attname::text
          from pg_depend d
          join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
          where d.classid = 'pg_policy'::regclass and d.objid = p.oid
            and d.refclassid = 'pg_class'::regclass and d.refobjid = p.polrelid and d.refobjsubid > 0
        )
      end as columns
    from pg_policy p
    join pg_class c on c.oid = p.polrelid
    join pg_namespace n on n.oid = c.relnamespace
    where ${isCataloged(schemas)}
    order by p.polrelid, p.polname`
}

export interface PolicyRow {
  readonly relation_oid: string
  readonly name: string
  readonly version: string
  readonly command: Policy['command']
  readonly permissive: boolean
  readonly roles: string[]
  readonly is_for_callers: boolean
  readonly is_for_anonymous: boolean
  readonly using_expression: Expression | null
  readonly check_expression: Expression | null
  readonly reads_relations: boolean
  readonly columns: string[] | null
}
