/** Node of a plan, formatted for reading. */
export interface PlanNode {
  readonly title: string
  /** Costs, rows and times. */
  readonly figures: string
  /** Filter and join conditions. */
  readonly conditions: readonly string[]
  readonly children: readonly PlanNode[]
}

type Fields = Readonly<Record<string, unknown>>

const conditionFields = [
  'Index Cond',
  'Recheck Cond',
  'Hash Cond',
  'Join Filter',
  'Filter',
  'One-Time Filter',
]

/** Reads the output of EXPLAIN (FORMAT JSON). Returns undefined for anything else. Pure. */
export function readPlan(plan: unknown): PlanNode | undefined {
  if (!isFields(plan) || !isFields(plan.Plan)) return undefined
  return readNode(plan.Plan)
}

function readNode(node: Fields): PlanNode {
  const on = node['Relation Name'] === undefined ? '' : ` on ${node['Relation Name']}`
  const using = node['Index Name'] === undefined ? '' : ` using ${node['Index Name']}`
  const subplan = node['Subplan Name'] === undefined ? '' : `${node['Subplan Name']}: `
  const removed = node['Rows Removed by Filter']
  const figures = [
    `cost ${node['Total Cost']}`,
    node['Actual Rows'] === undefined
      ? `${node['Plan Rows']} rows expected`
      : `${node['Actual Rows']} rows, ${node['Plan Rows']} expected`,
    ...(node['Actual Total Time'] === undefined ? [] : [`${node['Actual Total Time']} ms`]),
    ...(Number(node['Actual Loops'] ?? 1) > 1 ? [`${node['Actual Loops']} times`] : []),
    ...(removed === undefined || removed === 0 ? [] : [`${removed} rows filtered out`]),
  ]
  const children = Array.isArray(node.Plans) ? node.Plans.filter(isFields).map(readNode) : []
  return {
    title: `${subplan}${node['Node Type']}${using}${on}`,
    figures: figures.join(' · '),
    conditions: conditionFields.flatMap((name) =>
      node[name] === undefined ? [] : [`${name}: ${node[name]}`],
    ),
    children,
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
