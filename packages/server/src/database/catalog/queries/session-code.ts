import { type Sql, sql } from '../../sql.ts'
import { firstUserOid } from './cataloged.ts'

/**
 * Volatile functions of PostgreSQL that leave no state in a session. Immutable and stable ones leave none
 * either, except for some that execute a text or read any relation.
 */
const harmless = sql`(
  p.proname in (
    'random', 'random_normal', 'gen_random_uuid', 'clock_timestamp', 'timeofday', 'nextval', 'pg_notify',
    'unique_key_recheck', 'suppress_redundant_updates_trigger', 'tsvector_update_trigger',
    'tsvector_update_trigger_column'
  )
  or p.proname like any (array['RI\\_FKey\\_%', 'pg\\_%advisory\\_xact\\_lock%', 'pg\\_sleep%', 'uuidv_'])
)`
const executesText = sql`(p.proname like '%\\_to\\_xml%' or p.proname in ('ts_rewrite', 'ts_stat'))`

/** Extensions whose volatile functions are harmless: they return random values. */
const harmlessExtensions = sql`('uuid-ossp', 'pgcrypto')`

/**
 * Pattern of functions, relations and types in a stored expression, between its colons (PostgreSQL,
 * `nodes/primnodes.h`).
 */
const references = sql.literal('^(funcid|opfuncid|aggfnoid|winfnoid|relid|[a-z]*type) [1-9]')

/** Returns a node of the graph, as a number, because nodes are compared often. */
const functionNode = (oid: Sql): Sql => sql`(${oid}::int8 * 4)`
const readNode = (oid: Sql): Sql => sql`(${oid}::int8 * 4 + 1)`
const writeNode = (oid: Sql): Sql => sql`(${oid}::int8 * 4 + 2)`
const typeNode = (oid: Sql): Sql => sql`(${oid}::int8 * 4 + 3)`
const everywhere = sql`-1`

/**
 * Query of the operator code that a statement may reach. It builds a graph of functions, of reads and writes of
 * relations, and of types. A path to a function with unknown effects is tainted: it may leave state in the
 * session.
 *
 * Functions are read from the stored expressions, because `pg_depend` does not contain those of PostgreSQL.
 * Bodies that are texts (PL/pgSQL, and SQL other than `begin atomic`) have unknown effects, and so do volatile
 * functions in C.
 */
export const sessionCodeQuery: Sql = sql`
  with recursive ours as (
    select to_regnamespace('basalt')::oid as oid
  ), own_relations as (
    select c.oid from pg_class c where relnamespace = (select oid from ours)
  ), functions as materialized (
    select p.oid, p.proname, p.pronamespace, p.provolatile, p.prosrc, p.prosqlbody, p.proargtypes, p.proallargtypes,
      p.prorettype, p.proargdefaults, l.lanname, x.extname,
      coalesce(p.pronamespace = (select oid from ours), false) as is_ours
    from pg_proc p
    join pg_language l on l.oid = p.prolang
    left join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
    left join pg_extension x on x.oid = d.refobjid
    where p.oid >= ${firstUserOid}
  ), trees as (
    select ${readNode(sql`polrelid`)} as node, concat_ws(' ', polqual::text, polwithcheck::text) as tree from pg_policy
    union all
    select case ev_type when '1' then ${readNode(sql`ev_class`)} else ${writeNode(sql`ev_class`)} end,
      concat_ws(' ', ev_qual::text, ev_action::text)
    from pg_rewrite where oid >= ${firstUserOid} and ev_class not in (select oid from own_relations)
    union all
    select case a.attgenerated when 'v' then ${readNode(sql`adrelid`)} else ${writeNode(sql`adrelid`)} end, adbin::text
    from pg_attrdef join pg_attribute a on a.attrelid = adrelid and a.attnum = adnum
    where adrelid not in (select oid from own_relations)
    union all
    select case contypid when 0 then ${writeNode(sql`conrelid`)} else ${typeNode(sql`contypid`)} end, conbin::text
    from pg_constraint
    where conbin is not null and oid >= ${firstUserOid} and conrelid not in (select oid from own_relations)
    union all
    select ${writeNode(sql`indrelid`)}, concat_ws(' ', indexprs::text, indpred::text) from pg_index
    where indexrelid >= ${firstUserOid} and indrelid not in (select oid from own_relations)
      and (indexprs is not null or indpred is not null)
    union all
    select ${writeNode(sql`partrelid`)}, partexprs::text from pg_partitioned_table where partexprs is not null
    union all
    select ${writeNode(sql`tgrelid`)}, tgqual::text from pg_trigger
    where tgqual is not null and tgfoid not in (select oid from functions where is_ours)
    union all
    select ${typeNode(sql`oid`)}, typdefaultbin::text from pg_type
    where typdefaultbin is not null and oid >= ${firstUserOid}
    union all
    select ${functionNode(sql`oid`)}, concat_ws(' ', prosqlbody::text, proargdefaults::text) from functions
    where not is_ours and (prosqlbody is not null or proargdefaults is not null)
  ), referred as materialized (
    select distinct node, split_part(field, ' ', 1) as kind, rtrim(split_part(field, ' ', 2), '){}')::int8 as oid
    from trees, string_to_table(tree, ':') field
    where field ~ ${references}
  ), edges as materialized (
    select node as source, case kind
        -- A relation that is not only read may be written.
        when 'relid' then case node & 3 when 1 then ${readNode(sql`oid`)} else ${writeNode(sql`oid`)} end
        when 'funcid' then ${functionNode(sql`oid`)} when 'opfuncid' then ${functionNode(sql`oid`)}
        when 'aggfnoid' then ${functionNode(sql`oid`)} when 'winfnoid' then ${functionNode(sql`oid`)}
        else ${typeNode(sql`oid`)}
      end as target
    from referred
    union all
    -- Writing a relation includes reading it.
    select ${writeNode(sql`oid`)}, ${readNode(sql`oid`)} from pg_class
    where oid >= ${firstUserOid} and relkind in ('r', 'p', 'v', 'm', 'f')
    union all
    select ${writeNode(sql`tgrelid`)}, ${functionNode(sql`tgfoid`)} from pg_trigger where tgenabled <> 'D'
    union all
    -- Tables to which a foreign key cascades.
    select ${writeNode(sql`confrelid`)}, ${writeNode(sql`conrelid`)} from pg_constraint
    where contype = 'f' and (confdeltype in ('c', 'n', 'd') or confupdtype in ('c', 'n', 'd'))
    union all
    select ${readNode(sql`inhparent`)}, ${readNode(sql`inhrelid`)} from pg_inherits
    union all
    select ${writeNode(sql`inhparent`)}, ${writeNode(sql`inhrelid`)} from pg_inherits
    union all
    select ${readNode(sql`attrelid`)}, ${typeNode(sql`atttypid`)} from pg_attribute
    where attrelid >= ${firstUserOid} and atttypid >= ${firstUserOid} and attnum > 0
    union all
    select ${typeNode(sql`oid`)}, target
    from pg_type,
      unnest(array[${typeNode(sql`typbasetype`)}, ${typeNode(sql`typelem`)}, ${readNode(sql`typrelid`)}]
        || array[${functionNode(sql`typinput::oid`)}, ${functionNode(sql`typoutput::oid`)},
          ${functionNode(sql`typreceive::oid`)}, ${functionNode(sql`typsend::oid`)},
          ${functionNode(sql`typmodin::oid`)}]) target
    where oid >= ${firstUserOid} and target > 3
    union all
    select ${typeNode(sql`rngtypid`)}, target
    from pg_range, unnest(array[${typeNode(sql`rngsubtype`)}, ${functionNode(sql`rngcanonical::oid`)},
      ${functionNode(sql`rngsubdiff::oid`)}]) target
    where target > 3
    union all
    select ${functionNode(sql`f.oid`)}, ${typeNode(sql`t.oid`)}
    from functions f, unnest(coalesce(f.proallargtypes, f.proargtypes::oid[]) || f.prorettype) t (oid)
    where t.oid >= ${firstUserOid} and not is_ours
    union all
    select ${functionNode(sql`aggfnoid::oid`)}, ${functionNode(sql`target`)}
    from pg_aggregate, unnest(array[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn,
      aggminvtransfn, aggmfinalfn]::oid[]) target
    where aggfnoid::oid >= ${firstUserOid} and target <> 0
    union all
    -- Our own functions are texts, too, and name the tables that they write.
    select ${functionNode(sql`f.oid`)}, target
    from functions f, string_to_table(f.prosrc, 'basalt.') with ordinality piece (text, ordinal),
      lateral substring(piece.text from '^\\w+') name,
      lateral (
        select ${writeNode(sql`c.oid`)} from pg_class c where c.relnamespace = f.pronamespace and c.relname = name
        union all
        select ${functionNode(sql`other.oid`)} from functions other where other.is_ours and other.proname = name
      ) named (target)
    where f.is_ours and f.provolatile = 'v' and ordinal > 1
    union all
    -- Code that no name in a statement leads to (operators, casts, order), and code behind names of PostgreSQL.
    select ${everywhere}, ${functionNode(sql`f.oid`)} from functions f
    where not (f.extname is not null and f.lanname = 'c') and not f.is_ours and (
      f.oid in (select unnest(array[oprcode, oprrest, oprjoin]::oid[]) from pg_operator where oid >= ${firstUserOid})
      or f.oid in (select castfunc from pg_cast where oid >= ${firstUserOid})
      or f.oid in (select amproc::oid from pg_amproc where oid >= ${firstUserOid})
      or f.extname is null and f.proname in (
        select proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace
      )
    )
  ), tainted as (
    select ${functionNode(sql`p.oid`)} as node from pg_proc p
    where p.oid < ${firstUserOid} and (p.provolatile = 'v' and not ${harmless} or ${executesText})
    union all
    select ${functionNode(sql`oid`)} from functions
    where not is_ours and case
      when extname in ${harmlessExtensions} then false
      when extname is not null or lanname in ('c', 'internal') then provolatile = 'v'
      else lanname <> 'sql' or prosqlbody is null
    end
    union
    select source from edges join tainted on node = target
  )
  select 'everywhere' as kind, null as schema, null as name from tainted where node = ${everywhere}
  union all
  select distinct 'prepares', null, null from functions
  where lanname not in ('c', 'internal') and not is_ours and extname is null
    and (lanname not in ('sql', 'plpgsql') or prosrc ~* 'prepare|execute')
  union all
  select case t.node & 3 when 1 then 'read' else 'write' end, n.nspname, c.relname
  from tainted t
  join pg_class c on c.oid = t.node / 4
  join pg_namespace n on n.oid = c.relnamespace
  where t.node & 3 in (1, 2) and c.oid >= ${firstUserOid} and n.nspname !~ '^pg_(temp|toast)'
  union all
  select distinct 'function', n.nspname, f.proname
  from tainted t
  join functions f on f.oid = t.node / 4
  join pg_namespace n on n.oid = f.pronamespace
  where t.node & 3 = 0 and n.nspname !~ '^pg_temp'`

export interface SessionCodeRow {
  /**
   * Reach of the code. `everywhere`: any statement reaches it. `prepares`: some function may prepare statements
   * by SQL.
   */
  readonly kind: 'everywhere' | 'prepares' | 'read' | 'write' | 'function'
  readonly schema: string | null
  readonly name: string | null
}
