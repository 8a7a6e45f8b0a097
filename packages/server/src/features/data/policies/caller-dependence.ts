import type { Policy, Relation } from '../../../database/catalog/model.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { applicablePolicies } from './applicable-policies.ts'
import { type ExpressionFacts, type SharedClaim, type Term, TermReader } from './caller-terms.ts'
import { type NodeValue, parseStoredExpression, walk } from './stored-expression.ts'

/**
 * Properties by which SELECT policies distinguish callers with a token, if all of them are known. Callers with the
 * same claims, whose id the row does not name, are equal to the policies.
 */
export interface CallerDependence {
  /** Condition on a row that all policies combine to. */
  readonly term: Term
  readonly claims: ReadonlySet<SharedClaim>
  /** True if the id matters, as a value in a column or by its existence. */
  readonly namesCaller: boolean
  /** Functions of Basalt that the policies may call, by object id, as they were when this was read. */
  readonly helpers: readonly HelperVersion[]
}

export interface HelperVersion {
  readonly oid: string
  readonly version: string
}

/** Bodies of Basalt's helpers for policies, as the migrations create them. */
const helpers: ReadonlyMap<string, readonly [claim: 'userId' | SharedClaim, body: string]> = new Map([
  ['user_id', ['userId', "select nullif(current_setting('basalt.user_id', true), '')::uuid"]],
  [
    'email_verified',
    ['isEmailVerified', "select nullif(current_setting('basalt.email_verified', true), '')::bool"],
  ],
  ['aal', ['aal', "select nullif(current_setting('basalt.aal', true), '')"]],
  ['is_anonymous', ['isAnonymous', "select nullif(current_setting('basalt.is_anonymous', true), '')::bool"]],
])

/** Stable functions with the same result for every caller: the transaction time, and sums with it. */
const stableFunctions = [
  'now()',
  'transaction_timestamp()',
  'statement_timestamp()',
  'timestamptz_pl_interval(timestamptz, interval)',
  'timestamptz_mi_interval(timestamptz, interval)',
]

/**
 * Reads the properties by which the policies of a table distinguish callers. The facts are current and may be newer
 * than the relation, whose policies must then be the same.
 *
 * @returns undefined where they are not known: the policies must be evaluated for every caller
 */
export async function readCallerDependence(
  database: Queryable,
  relation: Relation,
): Promise<CallerDependence | undefined> {
  if (!relation.rlsEnabled) return independent
  const policies = applicablePolicies(relation, 'caller', 'SELECT')
  if (policies.some(({ readsRelations }) => readsRelations)) return undefined
  const table = await readTable(database, relation)
  if (table?.is_plain !== true) return undefined
  const stored = new Map(table.policies.map((policy) => [policy.version, policy.tree]))
  const trees = new Map<Policy, NodeValue>()
  for (const policy of policies) {
    // A policy without USING has no condition.
    if (policy.using === undefined) continue
    const tree = parseStoredExpression(stored.get(policy.version) ?? '')
    if (tree === undefined) return undefined
    trees.set(policy, tree)
  }
  const facts = await readFacts(database, table, [...trees.values()])
  const reader = new TermReader(facts)
  const terms: [Policy, Term][] = []
  for (const [policy, tree] of trees) {
    const term = reader.read(tree)
    if (term === undefined) return undefined
    terms.push([policy, term])
  }
  const ofKind = (isPermissive: boolean) =>
    terms.flatMap(([{ permissive }, term]) => (permissive === isPermissive ? [term] : []))
  return {
    term: { kind: 'and', terms: [{ kind: 'or', terms: ofKind(true) }, ...ofKind(false)] },
    claims: reader.claims,
    namesCaller: reader.namesCaller,
    helpers: table.helpers.map(({ oid, version }) => ({ oid, version })),
  }
}

/** Dependence of a table without row-level security, which has no condition on a row. */
const independent: CallerDependence = {
  term: { kind: 'constant', value: true },
  claims: new Set(),
  namesCaller: false,
  helpers: [],
}

interface TableRow {
  readonly [column: string]: unknown
  readonly policies: readonly { readonly version: string; readonly tree: string }[]
  readonly columns: readonly { readonly number: string; readonly name: string; readonly isStored: boolean }[]
  readonly helpers: readonly {
    readonly oid: string
    readonly name: string
    readonly version: string
    readonly body: string
  }[]
  /** True if making a row of values runs no code of the operator, and no descendant has policies of its own. */
  readonly is_plain: boolean
  readonly enums: readonly string[]
  readonly nondeterministic: readonly string[]
}

/** Condition for base types and enumerations. All other types consist of types, or have constraints. */
const isPlainType = sql`(t.typtype in ('b', 'e') or t.oid < 16384) and not exists (
  select from pg_type e where e.oid = t.typelem and e.typtype not in ('b', 'e') and e.oid >= 16384)`

function readTable(database: Queryable, { schema, name }: Relation): Promise<TableRow | undefined> {
  return database.maybeOne<TableRow>(sql`
    with recursive family as (
      select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${schema} and c.relname = ${name}
    ), descendants as (
      select i.inhrelid as oid from pg_inherits i join family on i.inhparent = family.oid
      union
      select i.inhrelid from pg_inherits i join descendants d on i.inhparent = d.oid
    )
    select
      coalesce((
        select json_agg(json_build_object('version', concat(p.oid, '/', p.xmin), 'tree', p.polqual::text))
        from pg_policy p where p.polrelid = family.oid and p.polqual is not null
      ), '[]') as policies,
      (
        select json_agg(json_build_object(
          'number', a.attnum::text, 'name', a.attname, 'isStored', a.attgenerated <> 'v'))
        from pg_attribute a where a.attrelid = family.oid and a.attnum > 0 and not a.attisdropped
      ) as columns,
      coalesce((
        select json_agg(json_build_object(
          'oid', f.oid::text, 'name', f.proname, 'version', f.xmin::text, 'body', btrim(f.prosrc, E' \\n')
        ) order by f.oid)
        from pg_proc f
        where f.pronamespace = 'basalt'::regnamespace and f.pronargs = 0 and f.prokind = 'f'
          and f.prolang = (select oid from pg_language where lanname = 'sql')
          and f.prosqlbody is null and f.proconfig is null and not f.prosecdef
          and f.proname = any (${[...helpers.keys()]})
      ), '[]') as helpers,
      not exists (
        select from pg_attribute a join pg_type t on t.oid = a.atttypid
        where a.attrelid = family.oid and a.attnum > 0 and not a.attisdropped and not (${isPlainType})
      ) and not exists (select from pg_policy p join descendants d on d.oid = p.polrelid) as is_plain,
      array(
        select t.oid::text from pg_type t left join pg_type e on e.oid = t.typelem
        where coalesce(e.typtype, t.typtype) = 'e' and t.oid >= 16384
      ) as enums,
      array(select oid::text from pg_collation where not collisdeterministic) as nondeterministic
    from family`)
}

async function readFacts(
  database: Queryable,
  { columns, helpers: found, enums, nondeterministic }: TableRow,
  trees: readonly NodeValue[],
): Promise<ExpressionFacts> {
  const oids = (field: string) => [
    ...new Set(
      [...walk(trees)].flatMap(({ fields }) => {
        const oid = fields.get(field)
        return typeof oid === 'string' && /^\d+$/.test(oid) ? [oid] : []
      }),
    ),
  ]
  const pure = await database.one<{ functions: string[]; operators: string[] }>(sql`
    with pure as (
      -- A function of PostgreSQL that was replaced has another language.
      select oid from pg_proc
      where oid < 16384 and prolang = (select oid from pg_language where lanname = 'internal')
        and (provolatile = 'i' or oid = any (${stableFunctions}::regprocedure[]::oid[]))
    )
    select
      array(select oid::text from pure where oid = any (${oids('funcid')}::text[]::oid[])) as functions,
      array(
        select o.oid::text from pg_operator o
        where o.oid = any (${oids('opno')}::text[]::oid[]) and o.oid < 16384
          and o.oprcode::oid in (select oid from pure)
      ) as operators`)
  const ofBasalt = found.flatMap(({ oid, name, body }) => {
    const helper = helpers.get(name)
    return helper?.[1] === body ? [[oid, helper[0]] as const] : []
  })
  const [plain, unusual] = [new Set(enums), new Set(nondeterministic)]
  return {
    columns: new Map(columns.map(({ number, ...column }) => [number, column])),
    helpers: new Map(ofBasalt),
    pureFunctions: new Set(pure.functions),
    pureOperators: new Set(pure.operators),
    plainTypes: (oid) => Number(oid) < 16384 || plain.has(oid),
    isDeterministic: (collation) => !unusual.has(collation),
  }
}
