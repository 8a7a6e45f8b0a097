import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import { type Answered, component } from '../../http/schemas.ts'
import { Type } from '../../lib/type.ts'

/** Privileges of a role on an object, and the policies for its rows. */
export interface Access {
  readonly role: string
  /** Object such as `table public.todo`, `function public.f(integer)`. */
  readonly object: string
  /** Privileges such as `select, insert`; for a function `execute`. */
  readonly privileges: readonly string[]
  /** `every row` without row-level security; else the policies that apply. */
  readonly rows: string
}

/** Reads the access of every role but superusers, PostgreSQL's own, and owners. It runs in a transaction. */
export async function readAccess(transaction: Queryable): Promise<Access[]> {
  return await transaction.many<Access & Record<string, unknown>>(sql`
    with role as (
      select oid, rolname, rolbypassrls from pg_roles where not rolsuper and not starts_with(rolname, 'pg_')
    ), own_schema as (
      select oid, nspname from pg_namespace
      where nspname not like 'pg\\_%' and nspname not in ('information_schema', 'basalt')
    ), relation as (
      select r.rolname, r.oid as role, c.oid, format('table %I.%I', n.nspname, c.relname) as object,
        c.relrowsecurity and not r.rolbypassrls as is_guarded,
        array_remove(array[
          case when has_any_column_privilege(r.oid, c.oid, 'select') then 'select' end,
          case when has_any_column_privilege(r.oid, c.oid, 'insert') then 'insert' end,
          case when has_any_column_privilege(r.oid, c.oid, 'update') then 'update' end,
          case when has_table_privilege(r.oid, c.oid, 'delete') then 'delete' end,
          case when has_table_privilege(r.oid, c.oid, 'truncate') then 'truncate' end], null) as privileges
      from role r
      cross join pg_class c
      join own_schema n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relowner <> r.oid
        and has_schema_privilege(r.oid, n.oid, 'usage')
    )
    select rolname as role, object, privileges,
      case when is_guarded then coalesce((
        select string_agg(format('%I (%s%s%s)', polname,
            case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
            ': ' || pg_get_expr(polqual, polrelid), ' check ' || pg_get_expr(polwithcheck, polrelid)), ', ' order by polname)
        from pg_policy p
        where p.polrelid = relation.oid
          and exists (select from unnest(p.polroles) g where g = 0 or pg_has_role(relation.role, g, 'usage'))), 'no row')
      else 'every row' end as rows
    from relation
    where privileges <> '{}'
    union all
    select r.rolname, format('function %I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)),
      array['execute'], case when p.prosecdef then 'with the rights of its owner' else 'with those of the caller' end
    from role r
    cross join pg_proc p
    join own_schema n on n.oid = p.pronamespace
    where p.proowner <> r.oid and has_schema_privilege(r.oid, n.oid, 'usage')
      and has_function_privilege(r.oid, p.oid, 'execute')
      and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')
    order by 1, 2`)
}

export const AccessChange = component(
  'AccessChange',
  Type.Object({
    role: Type.String(),
    object: Type.String(),
    gained: Type.Array(Type.String()),
    lost: Type.Array(Type.String()),
    rowsBefore: Type.String(),
    rowsAfter: Type.String(),
  }),
)
/** Change of a role's access; `rowsBefore` and `rowsAfter` are the same where only privileges differ. */
export type AccessChange = Answered<typeof AccessChange>

/** Compares the access of two states. Pure. */
export function compareAccess(before: readonly Access[], after: readonly Access[]): AccessChange[] {
  const keyOf = ({ role, object }: Access) => `${role} ${object}`
  const [old, current] = [before, after].map((list) => new Map(list.map((each) => [keyOf(each), each])))
  return [...new Set([...(old?.keys() ?? []), ...(current?.keys() ?? [])])].toSorted().flatMap((key) => {
    const [was, is] = [old?.get(key), current?.get(key)]
    const some = is ?? was
    if (some === undefined) return []
    const gained = is?.privileges.filter((privilege) => was?.privileges.includes(privilege) !== true) ?? []
    const lost = was?.privileges.filter((privilege) => is?.privileges.includes(privilege) !== true) ?? []
    const [rowsBefore, rowsAfter] = [was?.rows ?? 'nothing', is?.rows ?? 'nothing']
    if (gained.length + lost.length === 0 && rowsBefore === rowsAfter) return []
    return [{ role: some.role, object: some.object, gained, lost, rowsBefore, rowsAfter }]
  })
}

/** Formats a change: `basalt_authenticated may newly select, insert table public.todo: own (all: …)`. Pure. */
export function describeAccessChange(change: AccessChange): string {
  const { role, object, gained, lost, rowsBefore, rowsAfter } = change
  const parts = [
    ...(gained.length > 0 ? [`may newly ${gained.join(', ')}`] : []),
    ...(lost.length > 0 ? [`may no longer ${lost.join(', ')}`] : []),
  ]
  const rows =
    rowsBefore === rowsAfter || rowsBefore === 'nothing' ? rowsAfter : `${rowsBefore} → ${rowsAfter}`
  return `${role} ${parts.length === 0 ? 'has other rows of' : parts.join(' and ')} ${object}: ${rows}`
}
