import { listByPage } from '../../api/page-list.ts'
import { get, post, put, remove, segment } from '../../api/request.ts'

/** Of `GET /api/admin/apps`. */
export interface App {
  readonly id: string
  readonly name: string
  readonly description: string
  /** Null once the owner is deleted, and of the default app. */
  readonly ownerUserId: string | null
  /** Requests per window; 0: not limited. */
  readonly rateLimitRps: number
  readonly rateLimitWindowSeconds: number
  readonly createdAt: string
}

export interface RateLimitUse {
  readonly limit: number
  readonly windowSeconds: number
  readonly used: number
  readonly remaining: number | null
}

export interface AppSettings {
  readonly name: string
  readonly description: string
  readonly rateLimitRps: number
  readonly rateLimitWindowSeconds: number
}

/** Requests that belong to no other app. */
export const defaultAppId = '00000000-0000-0000-0000-000000000000'

const pathOf = (id: string) => `admin/apps/${segment(id)}`

export const listApps = (cursor: string | undefined, signal: AbortSignal) =>
  listByPage<App>('admin/apps', {}, cursor, signal)
export const readApp = (id: string, signal: AbortSignal) => get<App>(pathOf(id), {}, { signal })
export const readRateLimit = (id: string, signal: AbortSignal) =>
  get<RateLimitUse>(`${pathOf(id)}/rate-limit`, {}, { signal })
export const createApp = (app: AppSettings & { readonly ownerUserId: string }) => post<App>('admin/apps', app)
export const updateApp = (id: string, app: AppSettings) => put<App>(pathOf(id), app)
export const deleteApp = (id: string) => remove(pathOf(id))
