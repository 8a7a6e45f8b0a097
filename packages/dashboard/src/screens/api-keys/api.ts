import { listByPage } from '../../api/page-list.ts'
import { type ApiResponse, type Body, type Item, patch, post, remove, segment } from '../../api/request.ts'

export type ApiKey = Item<'apiKeys.list'>

export interface KeyFilter {
  readonly userId?: string | undefined
  readonly appId?: string | undefined
}

export type NewKey = Body<'apiKeys.create'>

/** New key including its secret, which is only returned once. */
export type CreatedKey = ApiResponse<'apiKeys.create'>

export const listKeys = (filter: KeyFilter, cursor: string | undefined, signal: AbortSignal) =>
  listByPage<'apiKeys.list'>('admin/api-keys', { ...filter }, cursor, signal)
export const createKey = (key: NewKey) => post<'apiKeys.create'>('admin/api-keys', key)
export const updateKey = (id: string, change: Body<'apiKeys.update'>) =>
  patch<'apiKeys.update'>(`admin/api-keys/${segment(id)}`, change)
export const rotateKey = (id: string, graceSeconds: number) =>
  post<'apiKeys.rotate'>(`admin/api-keys/${segment(id)}/rotate`, { graceSeconds })
export const revokeKey = (id: string) => remove<'apiKeys.revoke'>(`admin/api-keys/${segment(id)}`)
