import { type Expression, type Sql, sql } from '../../sql.ts'
import { caller } from './caller.ts'

export function policiesQuery(schemas: readonly string[]): Sql {
  return sql`
    select p.polrelid::int8 as relation_oid,
      p.polname as name,
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
      pg_get_expr(p.polqual, p.polrelid) as using_expression,
      pg_get_expr(p.polwithcheck, p.polrelid) as check_expression
    from pg_policy p
    join pg_class c on c.oid = p.polrelid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any (${schemas})
    order by p.polrelid, p.polname`
}

export interface PolicyRow {
  readonly relation_oid: string
  readonly name: string
  readonly command: string
  readonly permissive: boolean
  readonly roles: string[]
  readonly is_for_callers: boolean
  readonly using_expression: Expression | null
  readonly check_expression: string | null
}
