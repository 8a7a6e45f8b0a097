import type { AlternativeForFew, Step } from '../../../../database/caller/caller-steps.ts'
import type { Answer, Call } from '../../../../database/connection/message.ts'
import type { Sql } from '../../../../database/sql.ts'
import { compileCursorPage, compileEstimate, compileOffsetPage } from '../compile/list.ts'
import { type Cursor, formatCursor } from '../parse/cursor.ts'
import { type ListPlan, relationsOfList } from '../plan/list.ts'
import { searchOf } from '../plan/rows.ts'
import { formatFacets } from './facets-page.ts'
import type { ListContext, ListRequest } from './list-request.ts'

/** Number of rows that can be searched one by one in the time of an index scan for a common word. */
const searchedRows = 1024
/**
 * Number of rows that can be read and sorted in the time of an ordered index scan for a page among the rows of
 * others.
 */
const sortedRows = 4096

/**
 * Returns the request of a list sorted by columns.
 *
 * @param planDirect plan of the same rows that is faster for callers with few visible ones
 */
export function pageRequest(
  plan: ListPlan,
  planDirect: () => ListPlan,
  { statements }: Pick<ListContext, 'statements'>,
): ListRequest {
  const fragments = listFragments(plan)
  let direct: readonly Call[] | undefined
  const forFew = (index: number, original: Call): AlternativeForFew => ({
    rows: searchOf(plan.rows)?.candidates === undefined ? sortedRows : searchedRows,
    call() {
      // Most lists are never read by such a caller.
      direct ??= listFragments(planDirect()).map((fragment) => statements.call(fragment))
      return direct[index] ?? original
    },
  })
  const calls = fragments.map((fragment, index): Step => {
    const call = statements.call(fragment)
    return { ...call, forFew: forFew(index, call) }
  })
  return {
    relations: relationsOfList(plan),
    rows: plan.rows,
    calls,
    format: (answers) => formatPage(plan, answers),
  }
}

/**
 * Returns the statements of a list: the page with its total, and the estimate if requested. They run in one message.
 */
function listFragments(plan: ListPlan): readonly Sql[] {
  if (plan.paging.kind === 'cursor') return [compileCursorPage(plan, plan.paging.after)]
  const { page, total } = plan.paging
  const items = compileOffsetPage(plan, page, { counts: total === 'exact' })
  return total === 'estimated' ? [items, compileEstimate(plan)] : [items]
}

/** Formats the body of a list around the items, which stay as PostgreSQL wrote them. */
export function formatPage(plan: ListPlan, [page, estimate]: readonly Answer[]): string {
  const { paging, perPage } = plan
  const row = page?.rows[0] ?? []
  const [items = '[]', beside = null] = row
  if (paging.kind === 'cursor') {
    const next = beside === null ? '' : `,"nextCursor":"${formatCursor(JSON.parse(beside) as Cursor)}"`
    return `{"perPage":${perPage}${next},"items":${items}${formatBeside(plan, row.slice(2))}}`
  }
  const isCounted = paging.total === 'exact'
  const totalItems = readTotal(paging.total, beside, estimate?.rows[0]?.[0])
  const totalPages = totalItems === -1 ? -1 : Math.ceil(totalItems / perPage)
  const totals = `"totalItems":${totalItems},"totalPages":${totalPages}`
  const members = formatBeside(plan, row.slice(isCounted ? 2 : 1))
  return `{"page":${paging.page},"perPage":${perPage},${totals},"items":${items}${members}}`
}

/** Formats the members of the body after the items, each with a comma in front. */
function formatBeside({ facets, ranking }: ListPlan, columns: readonly (string | null)[]): string {
  const isCut = ranking !== undefined && columns[0] === 't'
  const ofFacets = ranking === undefined ? columns : columns.slice(1)
  return `${isCut ? ',"searchExhaustive":false' : ''}${facets === undefined ? '' : formatFacets(facets, ofFacets)}`
}

function readTotal(
  kind: 'exact' | 'estimated' | 'none',
  count: string | null,
  estimate: string | null | undefined,
): number {
  if (kind === 'none') return -1
  if (kind === 'exact') return Number(count)
  // EXPLAIN (FORMAT JSON) returns [{"Plan": {"Plan Rows": n, …}}].
  const [explained] = JSON.parse(estimate ?? '[]') as Explained[]
  return Math.round(explained === undefined ? 0 : rowsOf(explained))
}

interface Explained {
  readonly Plan: {
    readonly 'Plan Rows': number
    /** Plans of the shards, which Citus adds. The plan itself then has 0 rows. */
    readonly 'Distributed Query'?: {
      readonly Job: { readonly Tasks: readonly { readonly 'Remote Plan': readonly Explained[][] }[] }
    }
  }
}

/** Returns the estimated rows. A local table that refers to a reference table has one shard. */
function rowsOf({ Plan: plan }: Explained): number {
  const [task] = plan['Distributed Query']?.Job.Tasks ?? []
  const [shard] = task?.['Remote Plan'].flat() ?? []
  return shard === undefined ? plan['Plan Rows'] : rowsOf(shard)
}
