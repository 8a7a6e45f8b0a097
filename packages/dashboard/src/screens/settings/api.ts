import { get } from '../../api/request.ts'

/** Of `GET /api/admin/stats`. */
export interface NodeState {
  readonly uptime_seconds: number
  readonly node: string
  readonly node_version: string
  readonly memory_sys: number
  readonly memory_alloc: number
  readonly db_pool_idle: number
  readonly db_pool_in_use: number
  readonly db_pool_max: number
}

export const readNode = (signal: AbortSignal) => get<NodeState>('admin/stats', {}, { signal })

/** Of `GET /api/admin/configuration`. */
export interface Setting {
  readonly key: string
  readonly value: unknown
  readonly isSecret: boolean
  readonly isDefault: boolean
  readonly env: string
  readonly description: string
}

export const listSettings = async (signal: AbortSignal) =>
  (await get<{ items: Setting[] }>('admin/configuration', {}, { signal })).items
