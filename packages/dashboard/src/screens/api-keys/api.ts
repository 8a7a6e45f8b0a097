import { listByPage } from '../../api/page-list.ts'
import { post, remove, segment } from '../../api/request.ts'

/** Of `GET /api/admin/api-keys`. */
export interface ApiKey {
  readonly id: string
  readonly userId: string
  readonly name: string
  readonly keyPrefix: string
  readonly scope: string
  /** Empty: all. */
  readonly allowedTables: readonly string[]
  readonly appId: string | null
  readonly lastUsedAt: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly revokedAt: string | null
}

export interface KeyFilter {
  readonly userId?: string | undefined
  readonly appId?: string | undefined
}

export interface NewKey {
  readonly userId: string
  readonly name: string
  readonly scope: string
  readonly allowedTables: readonly string[]
  readonly appId?: string
  readonly expiresAt?: string
}

/** With the key itself, this once. */
export interface CreatedKey {
  readonly key: string
  readonly apiKey: ApiKey
}

export const listKeys = (filter: KeyFilter, cursor: string | undefined, signal: AbortSignal) =>
  listByPage<ApiKey>('admin/api-keys', { ...filter }, cursor, signal)
export const createKey = (key: NewKey) => post<CreatedKey>('admin/api-keys', key)
export const rotateKey = (id: string, graceSeconds: number) =>
  post<CreatedKey>(`admin/api-keys/${segment(id)}/rotate`, { graceSeconds })
export const revokeKey = (id: string) => remove(`admin/api-keys/${segment(id)}`)
