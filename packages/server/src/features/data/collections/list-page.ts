import type { Answer } from '../../../database/message.ts'
import type { Sql } from '../../../database/sql.ts'
import { compileCount, compileCursorPage, compileEstimate, compileOffsetPage } from './compile/list.ts'
import { type Cursor, formatCursor } from './parse/cursor.ts'
import type { ListPlan } from './plan/list.ts'

/** The statements of a list: the page, and the total if it is asked for. They run in one message. */
export function listFragments(plan: ListPlan): readonly Sql[] {
  if (plan.paging.kind === 'cursor') return [compileCursorPage(plan, plan.paging.after)]
  const page = compileOffsetPage(plan, plan.paging.page)
  switch (plan.paging.total) {
    case 'exact':
      return [page, compileCount(plan)]
    case 'estimated':
      return [page, compileEstimate(plan)]
    case 'none':
      return [page]
  }
}

/** The body of a list, around the items as Postgres wrote them. */
export function formatPage({ paging, perPage }: ListPlan, [page, total]: readonly Answer[]): string {
  const [items = '[]', lastKey = null] = page?.rows[0] ?? []
  if (paging.kind === 'cursor') {
    const next = lastKey === null ? '' : `,"nextCursor":"${formatCursor(JSON.parse(lastKey) as Cursor)}"`
    return `{"perPage":${perPage}${next},"items":${items}}`
  }
  const totalItems = readTotal(paging.total, total?.rows[0]?.[0] ?? '')
  const totalPages = totalItems === -1 ? -1 : Math.ceil(totalItems / perPage)
  return `{"page":${paging.page},"perPage":${perPage},"totalItems":${totalItems},"totalPages":${totalPages},"items":${items}}`
}

function readTotal(kind: 'exact' | 'estimated' | 'none', text: string): number {
  if (kind === 'none') return -1
  if (kind === 'exact') return Number(text)
  // EXPLAIN (FORMAT JSON) answers [{"Plan": {"Plan Rows": n, …}}].
  const [explained] = JSON.parse(text) as { Plan: { 'Plan Rows': number } }[]
  return Math.round(explained?.Plan['Plan Rows'] ?? 0)
}
