import type { Policy, Relation } from '../../../database/catalog/model.ts'
import { comparedColumns, conditionsOf, mentions } from '../../../database/catalog/policy-expressions.ts'
import { type Expression, render, sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'

/** User id that no user has. */
const nilUuid = '00000000-0000-0000-0000-000000000000'

/** Types of which an index finds half of the table. */
export const coarseTypes = ['bool']

export interface PolicyOfTable {
  readonly table: Relation
  readonly policy: Policy & { readonly using: Expression }
}

/** Where policies are planned: a transaction of its own, which changes nothing. */
export type Planner = Pick<SystemDatabase, 'transaction'>

/**
 * The policies none of whose conditions on a column can use an index: PostgreSQL is asked for the plan of each, with
 * sequential scans off, so that the answer is the same for an empty table. Only conditions that read other tables, by a
 * subquery or a function, are asked for; of others their form says it.
 */
export async function findUnindexable(
  database: Planner,
  policies: readonly PolicyOfTable[],
): Promise<readonly PolicyOfTable[]> {
  const doubtful = policies.flatMap(({ table, policy }) => {
    const conditions = conditionsOnColumns(table, policy)
    return policy.readsRelations &&
      conditions.length > 0 &&
      !conditions.some((each) => isComparison(each, policy))
      ? [{ table, policy, conditions }]
      : []
  })
  if (doubtful.length === 0) return []
  return await database.transaction(async (transaction) => {
    await prepare(transaction)
    const found: PolicyOfTable[] = []
    for (const { table, policy, conditions } of doubtful) {
      if (!(await canUseIndex(transaction, table, conditions))) found.push({ table, policy })
    }
    return found
  })
}

function conditionsOnColumns(
  table: Relation,
  { using, columns }: PolicyOfTable['policy'],
): readonly Expression[] {
  const names = (columns ?? table.columns.map(({ name }) => name)).filter(
    (name) => !coarseTypes.includes(table.column.get(name)?.type.base ?? ''),
  )
  // Within a subquery a column of the row has the name of the table before it.
  return conditionsOf(using).filter((condition) =>
    names.some((name) => mentions(condition.replaceAll(`${table.name}.${name}`, name), name)),
  ) as Expression[]
}

/** Returns whether it is `column = …`, which an index serves, or would. */
function isComparison(condition: string, policy: Policy): boolean {
  return comparedColumns(condition, policy).length > 0
}

/** Claims of a user that does not exist: the planner evaluates them for its estimates. */
async function prepare(transaction: Queryable): Promise<void> {
  await transaction.count(sql`
    select set_config('enable_seqscan', 'off', true), set_config('transaction_read_only', 'on', true),
      set_config('basalt.user_id', ${nilUuid}, true), set_config('basalt.session_id', ${nilUuid}, true)`)
}

interface Plan {
  readonly 'Index Cond'?: string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Parent Relationship'?: string
  readonly Plans?: readonly Plan[]
}

async function canUseIndex(
  transaction: Queryable,
  table: Relation,
  conditions: readonly Expression[],
): Promise<boolean> {
  for (const condition of conditions) {
    const plan = await explain(transaction, table, condition)
    if (plan === undefined || usesIndex(plan, table)) return true
  }
  return false
}

/**
 * The plan of the rows for which the condition holds. Beside `or false` PostgreSQL plans a subquery as it does within a
 * policy, of which it makes no join.
 */
async function explain(
  transaction: Queryable,
  { schema, name }: Relation,
  condition: Expression,
): Promise<Plan | undefined> {
  await transaction.execute({ text: 'savepoint basalt_policy', values: [] })
  try {
    const { rows } = await transaction.execute(
      render(
        sql`explain (format json) select from ${sql.id(schema, name)} where ${sql.expression(condition)} or false`,
      ),
    )
    await transaction.execute({ text: 'release savepoint basalt_policy', values: [] })
    // As documented for this format.
    return (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan
  } catch {
    // A function that raises is reported where requests fail with it.
    await transaction.execute({ text: 'rollback to savepoint basalt_policy', values: [] })
    return undefined
  }
}

/** Returns whether an index finds rows of the table, or there is no table to be read. */
function usesIndex(plan: Plan, table: Relation): boolean {
  const nodes = flatten(plan)
  const isRead = nodes.some((node) => node['Relation Name'] !== undefined)
  const partial = new Set(table.indexes.filter(({ isPartial }) => isPartial).map(({ name }) => name))
  return (
    !isRead || nodes.some((node) => node['Index Cond'] !== undefined || partial.has(node['Index Name'] ?? ''))
  )
}

/** The nodes that read the table, without those of subqueries in conditions. */
function flatten(plan: Plan): readonly Plan[] {
  const inner = (plan.Plans ?? []).filter(
    (child) => child['Parent Relationship'] !== 'SubPlan' && child['Parent Relationship'] !== 'InitPlan',
  )
  return [plan, ...inner.flatMap(flatten)]
}
