/** A node of a plan of EXPLAIN (FORMAT JSON), with what stands out. Pure. */
export interface PlanNode {
  readonly title: string
  /** Conditions and keys. */
  readonly details: readonly (readonly [name: string, value: string])[]
  readonly estimatedRows: number
  /** Over all loops; undefined unless analyzed. */
  readonly actualRows: number | undefined
  /** Milliseconds without its children; undefined unless analyzed. */
  readonly ownMs: number | undefined
  /** Of the whole: by time where it was analyzed, else by cost. */
  readonly share: number
  readonly cost: number
  readonly warnings: readonly string[]
  readonly children: readonly PlanNode[]
}

interface RawNode {
  readonly [name: string]: unknown
  readonly Plans?: readonly RawNode[]
}

/** Rows from which a scan of a whole table is worth a word. */
const largeScan = 10_000
/** Between rows estimated and rows found. */
const misestimate = 10

/** @param answer of `POST /api/admin/sql/explain` */
export function readPlan(answer: unknown): PlanNode | undefined {
  const root = Array.isArray(answer) ? (answer[0] as { Plan?: RawNode } | undefined)?.Plan : undefined
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
    warnings.push(`Reads the whole table (${Math.round(scanned)} rows) to filter it: an index may help.`)
  if (actual !== undefined && Math.max(actual, estimated) >= 100) {
    const ratio = Math.max(actual, 1) / Math.max(estimated, 1)
    if (ratio >= misestimate || ratio <= 1 / misestimate)
      warnings.push(
        `Estimated ${Math.round(estimated)} rows, found ${Math.round(actual)}: run ANALYZE on the table.`,
      )
  }
  if (String(raw['Sort Space Type'] ?? '') === 'Disk')
    warnings.push(`Sorted on disk (${raw['Sort Space Used']} kB): more work_mem keeps it in memory.`)
  if ((numberOf(raw, 'Hash Batches') ?? 1) > 1)
    warnings.push(`The hash table took ${raw['Hash Batches']} batches: more work_mem keeps it in memory.`)
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
