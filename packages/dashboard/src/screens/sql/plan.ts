/** Node of an EXPLAIN (FORMAT JSON) plan, with its warnings. Pure. */
export interface PlanNode {
  readonly title: string
  /** Conditions and keys. */
  readonly details: readonly (readonly [name: string, value: string])[]
  readonly estimatedRows: number
  /** Rows of all loops; undefined unless analyzed. */
  readonly actualRows: number | undefined
  /** Time without child nodes, in milliseconds; undefined unless analyzed. */
  readonly ownMs: number | undefined
  /** Share of the whole plan: of the time if it was analyzed, otherwise of the cost. */
  readonly share: number
  readonly cost: number
  readonly warnings: readonly string[]
  readonly children: readonly PlanNode[]
}

interface RawNode {
  readonly [name: string]: unknown
  readonly Plans?: readonly RawNode[]
}

/** Number of rows from which a full table scan causes a warning. */
const largeScan = 10_000
/** Ratio between estimated and actual rows that causes a warning. */
const misestimate = 10

/** Reads a plan. @param response response of `POST /api/admin/sql/explain` */
export function readPlan(response: unknown): PlanNode | undefined {
  const root = Array.isArray(response) ? (response[0] as { Plan?: RawNode } | undefined)?.Plan : undefined
  if (root === undefined) return undefined
  const whole = timeOf(root) ?? numberOf(root, 'Total Cost') ?? 0
  return readNode(root, Math.max(whole, Number.MIN_VALUE))
}

function readNode(raw: RawNode, whole: number): PlanNode {
  const children = raw.Plans ?? []
  const time = timeOf(raw)
  const cost = numberOf(raw, 'Total Cost') ?? 0
  const own = (of: (node: RawNode) => number | undefined) =>
    Math.max(0, (of(raw) ?? 0) - children.reduce((sum, child) => sum + (of(child) ?? 0), 0))
  const ownMs = time === undefined ? undefined : own(timeOf)
  const loops = numberOf(raw, 'Actual Loops') ?? 1
  const rows = numberOf(raw, 'Actual Rows')
  return {
    title: titleOf(raw),
    details: detailsOf(raw),
    estimatedRows: (numberOf(raw, 'Plan Rows') ?? 0) * (rows === undefined ? 1 : loops),
    actualRows: rows === undefined ? undefined : Math.round(rows * loops),
    ownMs,
    share: (ownMs ?? own((node) => numberOf(node, 'Total Cost'))) / whole,
    cost,
    warnings: warningsOf(raw, loops),
    children: children.map((child) => readNode(child, whole)),
  }
}

function timeOf(raw: RawNode): number | undefined {
  const perLoop = numberOf(raw, 'Actual Total Time')
  return perLoop === undefined ? undefined : perLoop * (numberOf(raw, 'Actual Loops') ?? 1)
}

function titleOf(raw: RawNode): string {
  const relation = textOf(raw, 'Relation Name') ?? textOf(raw, 'CTE Name') ?? textOf(raw, 'Function Name')
  const alias = textOf(raw, 'Alias')
  const index = textOf(raw, 'Index Name')
  return [
    textOf(raw, 'Join Type') !== undefined && raw['Join Type'] !== 'Inner'
      ? textOf(raw, 'Join Type')
      : undefined,
    raw['Node Type'] === 'ModifyTable' ? textOf(raw, 'Operation') : textOf(raw, 'Node Type'),
    index === undefined ? undefined : `by ${index}`,
    relation === undefined ? undefined : `on ${relation}`,
    alias === undefined || alias === relation ? undefined : alias,
  ]
    .filter((part) => part !== undefined)
    .join(' ')
}

const shownDetails = [
  'Filter',
  'Index Cond',
  'Recheck Cond',
  'Hash Cond',
  'Merge Cond',
  'Join Filter',
  'One-Time Filter',
  'Sort Key',
  'Group Key',
  'Sort Method',
  'Subplan Name',
]

function detailsOf(raw: RawNode): [string, string][] {
  return shownDetails.flatMap((name) => {
    const value = raw[name]
    if (value === undefined) return []
    return [[name, Array.isArray(value) ? value.join(', ') : String(value)] satisfies [string, string]]
  })
}

function warningsOf(raw: RawNode, loops: number): string[] {
  const warnings: string[] = []
  const actual = numberOf(raw, 'Actual Rows')
  const estimated = numberOf(raw, 'Plan Rows') ?? 0
  const removed = (numberOf(raw, 'Rows Removed by Filter') ?? 0) * loops
  const scanned = actual === undefined ? estimated : actual * loops + removed
  if (raw['Node Type'] === 'Seq Scan' && scanned >= largeScan && (raw.Filter !== undefined || removed > 0))
    warnings.push(`Reads the whole table (${Math.round(scanned)} rows) to filter it. An index may help.`)
  if (actual !== undefined && Math.max(actual, estimated) >= 100) {
    const ratio = Math.max(actual, 1) / Math.max(estimated, 1)
    if (ratio >= misestimate || ratio <= 1 / misestimate)
      warnings.push(
        `Estimated ${Math.round(estimated)} rows, found ${Math.round(actual)}. Run ANALYZE on the table.`,
      )
  }
  if (String(raw['Sort Space Type'] ?? '') === 'Disk')
    warnings.push(`Sorted on disk (${raw['Sort Space Used']} kB). A higher work_mem keeps it in memory.`)
  if ((numberOf(raw, 'Hash Batches') ?? 1) > 1)
    warnings.push(`The hash table took ${raw['Hash Batches']} batches. A higher work_mem keeps it in memory.`)
  return warnings
}

function numberOf(raw: RawNode, name: string): number | undefined {
  const value = raw[name]
  return typeof value === 'number' ? value : undefined
}

function textOf(raw: RawNode, name: string): string | undefined {
  const value = raw[name]
  return typeof value === 'string' ? value : undefined
}
