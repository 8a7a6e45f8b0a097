import { captureTriggerPrefix } from '../../database/change-log.ts'
import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import type { SqlStatement } from '../../lib/sql-statements.ts'
import { type Effect, readEffect } from './effects.ts'

/** Volatile functions of PostgreSQL and its extensions that only return a value. */
const harmless = [
  ...['random', 'gen_random_uuid', 'uuidv4', 'uuidv7', 'clock_timestamp', 'timeofday', 'pg_sleep'],
  ...['uuid_generate_v4', 'gen_random_bytes', 'gen_salt'],
]

/**
 * Finds the reason why the script may have a lasting effect when its transaction is rolled back. Such effects
 * are a sequence number, a file, a message, a session lock, or a write on another server. `README.md` lists the
 * checks.
 *
 * @returns a reason such as `line 3 calls setval`; undefined when the script has no lasting effect
 */
export async function findTrace(
  transaction: Queryable,
  statements: readonly SqlStatement[],
): Promise<string | undefined> {
  const effects = statements.map((statement) => ({ ...readEffect(statement), statement }))
  const unknown = effects.find(({ kind }) => kind === 'unknown')
  if (unknown !== undefined) {
    const { words, line } = unknown.statement
    return `line ${line} (${words.slice(0, 2).join(' ')}) is not known to be undone as a whole`
  }
  const work = effects.find(({ kind }) => kind === 'works')
  if (work !== undefined && effects.some(({ isRedefining }) => isRedefining)) {
    return `line ${work.statement.line} may call functions that the script itself makes or renames`
  }
  // Working statements use defaults, views and triggers that the script creates.
  const evaluated = work === undefined ? effects.filter(({ kind }) => kind === 'checks') : effects
  const functions = await listFunctions(transaction, evaluated)
  const relations = await listRelations(transaction, effects)
  for (const { statement, kind, names, calls, isInserting } of evaluated) {
    // A function of one argument can be written like a column (PostgreSQL, Function Calls).
    const called = functions.find(({ name, isBuiltIn }) =>
      kind === 'works' && !isBuiltIn ? names.includes(name) : calls.includes(name),
    )
    if (called !== undefined) return `line ${statement.line} calls ${called.name}`
    if (kind !== 'works') continue
    const used = relations.find(
      ({ name, isNumbered }) => names.includes(name) && (!isNumbered || isInserting),
    )
    if (used === undefined) continue
    return used.isNumbered
      ? `line ${statement.line} takes numbers from a sequence of ${used.name}`
      : `line ${statement.line} uses ${used.name}, with a trigger, rule, query, default or check that may call functions`
  }
  return undefined
}

interface RiskyFunction {
  readonly name: string
  /** True for a function of PostgreSQL itself. */
  readonly isBuiltIn: boolean
}

/** Condition that `p` in the schema `n` may do more than return a value. */
const isRisky = sql`not (
  (p.provolatile <> 'v' and (n.nspname in ('pg_catalog', 'basalt')
    or (p.prokind <> 'a' and p.prolang in (select oid from pg_language where lanname in ('internal', 'c')))))
  or (p.proname = any (${harmless})
    and p.prolang in (select oid from pg_language where lanname in ('internal', 'c'))))`

async function listFunctions(
  transaction: Queryable,
  effects: readonly Effect[],
): Promise<readonly RiskyFunction[]> {
  const names = [...new Set(effects.flatMap((effect) => effect.names))]
  if (names.length === 0) return []
  return await transaction.many<RiskyFunction & Record<string, unknown>>(sql`
    select p.proname as name, bool_and(n.nspname = 'pg_catalog') as "isBuiltIn"
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where p.proname = any (${names}) and ${isRisky}
    group by p.proname
    order by p.proname`)
}

interface RiskyRelation {
  readonly name: string
  /** True if only new rows of it take sequence numbers. */
  readonly isNumbered: boolean
}

/**
 * Lists the relations with those that writes reach through foreign keys, partitions and children, under the
 * name in the statement.
 */
async function listRelations(
  transaction: Queryable,
  effects: readonly Effect[],
): Promise<readonly RiskyRelation[]> {
  const names = [...new Set(effects.flatMap(({ kind, names: used }) => (kind === 'works' ? used : [])))]
  if (names.length === 0) return []
  return await transaction.many<RiskyRelation & Record<string, unknown>>(sql`
    with recursive touched as (
      select c.oid, c.relname as name
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where c.relname = any (${names}) and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and n.nspname not in ('pg_catalog', 'information_schema', 'basalt')
      union
      select next.oid, touched.name
      from touched
      cross join lateral (
        select conrelid from pg_constraint
        where contype = 'f' and confrelid = touched.oid and (confdeltype not in ('a', 'r') or confupdtype not in ('a', 'r'))
        union all
        select inhrelid from pg_inherits where inhparent = touched.oid) next (oid)
    ), part as (
      select touched.oid as relation, 'pg_attrdef'::regclass::oid as catalog, d.oid
      from touched join pg_attrdef d on d.adrelid = touched.oid
      union all
      select touched.oid, 'pg_constraint'::regclass::oid, k.oid
      from touched join pg_constraint k on k.conrelid = touched.oid and k.contype = 'c'
    ), risk as (
      select touched.name, c.relkind in ('v', 'f') or (c.relhasrules and c.relkind <> 'm')
        or exists (select from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal
          and not starts_with(t.tgname, ${captureTriggerPrefix}))
        or exists (select from part
          join pg_depend d on d.classid = part.catalog and d.objid = part.oid and d.refclassid = 'pg_proc'::regclass
          join pg_proc p on p.oid = d.refobjid
          join pg_namespace n on n.oid = p.pronamespace
          where part.relation = c.oid and ${isRisky}) as calls,
        exists (select from pg_attribute a where a.attrelid = c.oid and a.attidentity <> '' and not a.attisdropped)
        or exists (select from part
          join pg_depend d on d.classid = part.catalog and d.objid = part.oid and d.refclassid = 'pg_class'::regclass
          join pg_class s on s.oid = d.refobjid and s.relkind = 'S'
          where part.relation = c.oid) as numbers
      from touched join pg_class c on c.oid = touched.oid
    )
    select name, not bool_or(calls) as "isNumbered"
    from risk
    where calls or numbers
    group by name
    order by name`)
}
