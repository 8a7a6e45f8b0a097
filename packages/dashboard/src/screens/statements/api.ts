import { get } from '../../api/request.ts'

export const statementOrders = ['total_time', 'mean_time', 'calls'] as const
export type StatementOrder = (typeof statementOrders)[number]

/** Of `GET /api/admin/analytics/queries`. */
export interface Statement {
  readonly query: string
  readonly calls: number
  readonly total_time_ms: number
  readonly mean_time_ms: number
  readonly rows: number
  readonly cache_hit_ratio: number | null
}

interface Statistics {
  readonly items: readonly Statement[]
  readonly index_suggestions: readonly {
    readonly table: string
    readonly scans: number
    readonly rows_per_scan: number
  }[]
}

export const listStatements = (sort: StatementOrder, signal: AbortSignal) =>
  get<Statistics>('admin/analytics/queries', { sort, limit: 100 }, { signal })
