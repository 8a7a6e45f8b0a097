import type { Policy, Relation } from '../../../database/catalog/model.ts'
import { comparedColumns, conditionsOf, mentions } from '../../../database/catalog/policy-expressions.ts'
import { type Expression, render, sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'

/** User id that no user has. */
const nilUuid = '00000000-0000-0000-0000-000000000000'

/** Types whose index finds half of the table. */
export const coarseTypes = ['bool']

export interface PolicyOfTable {
  readonly table: Relation
  readonly policy: Policy & { readonly using: Expression }
}

/** Database access for planning policies: a transaction of its own, which changes nothing. */
export type Planner = Pick<SystemDatabase, 'transaction'>

/**
 * Finds the policies of which no condition on a column can use an index. PostgreSQL plans each condition with
 * sequential scans off, so that the result is the same for an empty table. Only conditions that read other tables, by
 * a subquery or a function, are planned. For the others their form is enough.
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
  // Within a subquery, a column of the row is prefixed with the table name.
  return conditionsOf(using).filter((condition) =>
    names.some((name) => mentions(condition.replaceAll(`${table.name}.${name}`, name), name)),
  ) as Expression[]
}

/** Returns whether it is `column = …`, which an index supports, or would support. */
function isComparison(condition: string, policy: Policy): boolean {
  return comparedColumns(condition, policy).length > 0
}

/** Sets the claims of a user that does not exist, because the planner evaluates them for its estimates. */
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
 * Returns the plan of the rows for which the condition holds. With `or false`, PostgreSQL plans a subquery as it does
 * within a policy: it does not turn it into a join.
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
    // The format is documented.
    return (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan
  } catch {
    // A function that raises is reported when requests fail because of it.
    await transaction.execute({ text: 'rollback to savepoint basalt_policy', values: [] })
    return undefined
  }
}

/** Returns whether an index finds rows of the table, or the plan reads no table. */
function usesIndex(plan: Plan, table: Relation): boolean {
  const nodes = flatten(plan)
  const isRead = nodes.some((node) => node['Relation Name'] !== undefined)
  const partial = new Set(table.indexes.filter(({ isPartial }) => isPartial).map(({ name }) => name))
  return (
    !isRead || nodes.some((node) => node['Index Cond'] !== undefined || partial.has(node['Index Name'] ?? ''))
  )
}

/** Returns the nodes that read the table, without those of subqueries in conditions. */
function flatten(plan: Plan): readonly Plan[] {
  const inner = (plan.Plans ?? []).filter(
    (child) => child['Parent Relationship'] !== 'SubPlan' && child['Parent Relationship'] !== 'InitPlan',
  )
  return [plan, ...inner.flatMap(flatten)]
}
