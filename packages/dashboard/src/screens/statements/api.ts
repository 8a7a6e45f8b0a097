import { get, type Item } from '../../api/request.ts'

export const statementOrders = ['total_time', 'mean_time', 'calls'] as const
export type StatementOrder = (typeof statementOrders)[number]
export type Statement = Item<'analytics.queries'>

export const listStatements = (sort: StatementOrder, signal: AbortSignal) =>
  get<'analytics.queries'>('admin/analytics/queries', { sort, limit: 100 }, { signal })
