import { type Sql, sql } from '../../sql.ts'
import { caller } from './caller.ts'

/** Plain functions that are not triggers and do not belong to an extension. */
export function functionsQuery(schemas: readonly string[]): Sql {
  return sql`
    select n.nspname as schema,
      p.proname as name,
      obj_description(p.oid, 'pg_proc') as comment,
      coalesce(p.proargnames, '{}') as argument_names,
      coalesce(p.proargmodes::text[], '{}') as argument_modes,
      array(select format_type(t, null) from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) t) as argument_types,
      format_type(p.prorettype, null) as return_type,
      p.proretset as returns_set,
      coalesce(has_function_privilege(${caller}, p.oid, 'execute'), false) as can_execute
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = any (${schemas}) and p.prokind = 'f'
      and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
      and not exists (
        select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
      )
    order by n.nspname, p.proname, p.oid`
}

export interface FunctionRow {
  readonly schema: string
  readonly name: string
  readonly comment: string | null
  readonly argument_names: string[]
  /** Empty when all arguments are plain inputs; else i, o, b (in and out), v (variadic), t (table). */
  readonly argument_modes: string[]
  readonly argument_types: string[]
  readonly return_type: string
  readonly returns_set: boolean
  readonly can_execute: boolean
}
