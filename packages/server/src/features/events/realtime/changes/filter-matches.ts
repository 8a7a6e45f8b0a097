import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import { describeReason } from '../../../../database/errors/definition-faults.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { TaskQueue } from '../../../../lib/task-queue.ts'
import type { Audience } from './audience.ts'
import { compileMatches } from './decision-statements.ts'
import { type Row, toJsonArray } from './event-rows.ts'
import { compileConditions, type Filter } from './filter.ts'
import { findStreamTable } from './stream-table.ts'
import { isUndecidable, retryWhileUnavailable, Undecidable } from './verdict-failures.ts'

/** Function that finds the rows of a batch matching a filter. It returns undefined if they cannot be found. */
export type FindMatches = (table: string, filter: Filter) => Promise<ReadonlySet<Row> | undefined>

export interface FilterMatchDeps {
  readonly live: LiveCatalog
  readonly database: SystemDatabase
  readonly log: Logger
}

/** Filters of one table that differ in their values only. */
interface FilterGroup {
  readonly table: string
  readonly rows: readonly Row[]
  readonly filters: Map<Filter['key'], Filter>
}

/**
 * Finds the filters that the rows match, for all identities. One statement per table and shape of filter runs after the
 * other. Audiences without a filter wait for none of them.
 */
export function matchFilters(
  deps: FilterMatchDeps,
  rowsByTable: ReadonlyMap<string, readonly Row[]>,
  audiences: Iterable<Audience>,
): FindMatches {
  const startedAt = performance.now()
  const found = new Map<string, Promise<ReadonlyMap<Filter['key'], ReadonlySet<Row>> | undefined>>()
  const queue = new TaskQueue()
  for (const [key, group] of groupFilters(rowsByTable, audiences)) {
    const finding = queue.add(() => retryWhileUnavailable(startedAt, () => evaluate(deps, group)))
    const settled = finding.catch((error) => {
      if (!isUndecidable(error)) throw error
      deps.log.warn(
        { table: group.table, reason: describeReason(error) },
        'failed to evaluate a filter of streams',
      )
      return undefined
    })
    // A failure concerns only the audiences that await it.
    settled.catch(() => undefined)
    found.set(key, settled)
  }
  return async (table, filter) => (await found.get(groupKey(table, filter)))?.get(filter.key)
}

async function evaluate({ live, database }: FilterMatchDeps, { table, rows, filters }: FilterGroup) {
  const relation = findStreamTable(live.current, table)
  const list = [...filters.values()]
  const [first] = list
  if (relation === undefined || first === undefined) throw new Undecidable(`there is no table ${table}`)
  const { condition, values } = compileConditions(relation, first.conditions, relation.name)
  if (values.length !== first.values.length) throw new Undecidable('a column has another type')
  const lists = values.map((_, index) => list.map((filter) => filter.values[index] ?? ''))
  const pairs = await database.many<{ row: string; filter: string }>(
    compileMatches(relation, sql`${toJsonArray(rows)}`, condition, lists),
  )
  const matches = new Map(list.map(({ key }) => [key, new Set<Row>()]))
  for (const pair of pairs) {
    const filter = list[Number(pair.filter) - 1]
    const row = rows[Number(pair.row) - 1]
    if (filter !== undefined && row !== undefined) matches.get(filter.key)?.add(row)
  }
  return matches
}

/** Groups the different filters of the tables that have events, by table and shape. */
function groupFilters(
  rowsByTable: ReadonlyMap<string, readonly Row[]>,
  audiences: Iterable<Audience>,
): ReadonlyMap<string, FilterGroup> {
  const groups = new Map<string, FilterGroup>()
  for (const { subscriptions } of audiences) {
    for (const [table, filter] of subscriptions) {
      const rows = rowsByTable.get(table)
      if (filter === undefined || rows === undefined) continue
      const key = groupKey(table, filter)
      const group = groups.get(key) ?? { table, rows, filters: new Map() }
      groups.set(key, group)
      group.filters.set(filter.key, filter)
    }
  }
  return groups
}

function groupKey(table: string, { shape }: Filter): string {
  return `${shape} ${table}`
}
