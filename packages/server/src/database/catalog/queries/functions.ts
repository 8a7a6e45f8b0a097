import { type Expression, type Sql, sql, type TypeName } from '../../sql.ts'
import { anonymous, anonymousPrivileges, caller } from './caller.ts'
import { firstUserOid } from './cataloged.ts'

/**
 * Builds the condition that `p` in the schema `n` is a plain function: no trigger, and part of neither an
 * extension nor PostgreSQL.
 */
export function isServedFunction(schemas: readonly string[]): Sql {
  return sql`
    n.nspname = any (${schemas}) and p.oid >= ${firstUserOid} and p.prokind = 'f'
      and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
      and not exists (
        select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
      )`
}

export function functionsQuery(schemas: readonly string[]): Sql {
  return sql`
    select p.oid::int8 as oid,
      p.xmin::text as version,
      n.nspname as schema,
      p.proname as name,
      obj_description(p.oid, 'pg_proc') as comment,
      coalesce(p.proargnames, '{}') as argument_names,
      coalesce(p.proargmodes::text[], '{}') as argument_modes,
      array(select t::text from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) t) as argument_type_oids,
      array(select format_type(t, null) from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) t) as argument_types,
      p.pronargdefaults::int as default_count,
      pg_get_function_arg_default(p.oid, array_position(p.proargmodes::text[], 'v')) as variadic_default,
      p.provolatile as volatility,
      p.prorettype::int8 as return_type_oid,
      format_type(p.prorettype, null) as return_type,
      p.proretset as returns_set,
      (
        select c.oid::int8
        from pg_type t
        join pg_class c on c.oid = t.typrelid
        where t.oid = p.prorettype and c.relkind <> 'c'
      ) as returned_relation_oid,
      p.proisstrict as is_strict,
      coalesce(
        has_schema_privilege(${caller}, n.oid, 'usage') and has_function_privilege(${caller}, p.oid, 'execute'), false
      ) as can_execute,
      coalesce(has_schema_privilege(${anonymous}, n.oid, 'usage'), false)
        and exists (${anonymousPrivileges(sql`p.proacl`)}) as anonymous_can_execute,
      exists (
        select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g where g.grantee = 0
      ) as public_can_execute,
      p.prosecdef and not exists (
        select from unnest(p.proconfig) setting where setting like 'search\\_path=%'
      ) as is_open_definer
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where ${isServedFunction(schemas)}
    order by n.nspname, p.proname, p.oid`
}

export interface FunctionRow {
  readonly oid: string
  /** Transaction of its last definition. */
  readonly version: string
  readonly schema: string
  readonly name: string
  readonly comment: string | null
  readonly argument_names: string[]
  /** Modes of the arguments: i, o, b (in and out), v (variadic), t (table). Empty when all are plain inputs. */
  readonly argument_modes: ('i' | 'o' | 'b' | 'v' | 't')[]
  readonly argument_type_oids: string[]
  readonly argument_types: TypeName[]
  /** Number of inputs with a default, which are the last ones. */
  readonly default_count: number
  readonly variadic_default: Expression | null
  readonly volatility: 'i' | 's' | 'v'
  readonly return_type_oid: string
  readonly return_type: TypeName
  readonly returns_set: boolean
  /** Relation whose rows it returns. */
  readonly returned_relation_oid: string | null
  readonly is_strict: boolean
  readonly can_execute: boolean
  readonly anonymous_can_execute: boolean
  readonly public_can_execute: boolean
  readonly is_open_definer: boolean
}
