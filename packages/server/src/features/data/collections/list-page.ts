import type { Answer } from '../../../database/message.ts'
import type { Sql } from '../../../database/sql.ts'
import { compileCursorPage, compileEstimate, compileOffsetPage } from './compile/list.ts'
import type { ListContext, ListRequest } from './list-request.ts'
import { type Cursor, formatCursor } from './parse/cursor.ts'
import type { ListPlan } from './plan/list.ts'

/** A list sorted by columns. */
export function pageRequest(plan: ListPlan, { statements }: Pick<ListContext, 'statements'>): ListRequest {
  const calls = listFragments(plan).map((fragment) => statements.call(fragment))
  const { record, rows } = plan
  return { record, rows, calls: () => calls, format: (answers) => formatPage(plan, answers) }
}

/** The statements of a list: the page with its total, and the estimate if it is asked for. They run in one message. */
function listFragments(plan: ListPlan): readonly Sql[] {
  if (plan.paging.kind === 'cursor') return [compileCursorPage(plan, plan.paging.after)]
  const { page, total } = plan.paging
  const items = compileOffsetPage(plan, page, { counts: total === 'exact' })
  return total === 'estimated' ? [items, compileEstimate(plan)] : [items]
}

/** The body of a list, around the items as Postgres wrote them. */
function formatPage({ paging, perPage }: ListPlan, [page, estimate]: readonly Answer[]): string {
  const [items = '[]', beside = null] = page?.rows[0] ?? []
  if (paging.kind === 'cursor') {
    const next = beside === null ? '' : `,"nextCursor":"${formatCursor(JSON.parse(beside) as Cursor)}"`
    return `{"perPage":${perPage}${next},"items":${items}}`
  }
  const totalItems = readTotal(paging.total, beside, estimate?.rows[0]?.[0])
  const totalPages = totalItems === -1 ? -1 : Math.ceil(totalItems / perPage)
  return `{"page":${paging.page},"perPage":${perPage},"totalItems":${totalItems},"totalPages":${totalPages},"items":${items}}`
}

function readTotal(
  kind: 'exact' | 'estimated' | 'none',
  count: string | null,
  estimate: string | null | undefined,
): number {
  if (kind === 'none') return -1
  if (kind === 'exact') return Number(count)
  // EXPLAIN (FORMAT JSON) answers [{"Plan": {"Plan Rows": n, …}}].
  const [explained] = JSON.parse(estimate ?? '[]') as { Plan: { 'Plan Rows': number } }[]
  return Math.round(explained?.Plan['Plan Rows'] ?? 0)
}
