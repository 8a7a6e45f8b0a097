import { listByPage } from '../../api/page-list.ts'
import { type Body, get, type Item, post, put, remove, segment } from '../../api/request.ts'

export type App = Item<'apps.list'>
export type AppSettings = Body<'apps.update'>

/** Id of the app for requests that belong to no other app. */
export const defaultAppId = '00000000-0000-0000-0000-000000000000'

const pathOf = (id: string) => `admin/apps/${segment(id)}` as const

export const listApps = (cursor: string | undefined, signal: AbortSignal) =>
  listByPage<'apps.list'>('admin/apps', {}, cursor, signal)
export const readApp = (id: string, signal: AbortSignal) => get<'apps.get'>(pathOf(id), {}, { signal })
export const readRateLimit = (id: string, signal: AbortSignal) =>
  get<'apps.getRateLimit'>(`${pathOf(id)}/rate-limit`, {}, { signal })
export const createApp = (app: AppSettings & { readonly ownerUserId: string }) =>
  post<'apps.create'>('admin/apps', app)
export const updateApp = (id: string, app: AppSettings) => put<'apps.update'>(pathOf(id), app)
export const deleteApp = (id: string) => remove<'apps.delete'>(pathOf(id))
