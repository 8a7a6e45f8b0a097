import { type ApiResponse, get, post, segment } from '../../api/request.ts'

export type Preview = ApiResponse<'realtime.preview'>

/** Subscriber and its tables. */
export interface Subscriber {
  /** `admin`, `anonymous` or the id of a user. */
  readonly as: string
  readonly tables: string
  readonly filter?: string | undefined
  /** Reason of the view as a user, which the audit log stores. */
  readonly reason?: string | undefined
}

export const listConnections = (signal: AbortSignal) =>
  get<'realtime.listConnections'>('admin/realtime/connections', {}, { signal })

export const listSubscriptions = (signal: AbortSignal) =>
  get<'realtime.listSubscriptions'>('admin/realtime/subscriptions', {}, { signal })

export const disconnect = (id: string) =>
  post<'realtime.disconnect'>(`admin/realtime/connections/${segment(id)}/disconnect`)

export const preview = (
  subscriber: Subscriber,
  range: { readonly since?: string | undefined; readonly cursor?: string | undefined },
  signal: AbortSignal,
) => get<'realtime.preview'>('admin/realtime/preview', { ...subscriber, ...range }, { signal })
