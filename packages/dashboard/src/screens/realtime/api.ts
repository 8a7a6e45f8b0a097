import { get, post, segment } from '../../api/request.ts'

/** Of `GET /api/admin/realtime/connections`. */
export interface Connection {
  readonly id: string
  readonly transport: 'sse' | 'ws'
  readonly userId: string | null
  readonly address: string
  readonly node: string
  readonly tables: readonly string[]
  readonly channels: readonly string[]
  readonly connectedAt: string
}

export interface Subscription {
  readonly kind: 'table' | 'channel'
  readonly name: string
  readonly connections: number
}

/** Of `GET /api/admin/realtime/preview`. */
export interface Preview {
  readonly items: readonly { readonly id: string; readonly happenedAt: string; readonly data: string }[]
  readonly decided: number
  readonly hasGap: boolean
  readonly nextCursor?: string
}

/** Who subscribes to what. */
export interface Subscriber {
  /** `admin`, `anonymous` or the id of a user. */
  readonly as: string
  readonly tables: string
  readonly filter?: string | undefined
}

export const listConnections = (signal: AbortSignal) =>
  get<{ items: Connection[] }>('admin/realtime/connections', {}, { signal })

export const listSubscriptions = (signal: AbortSignal) =>
  get<{ items: Subscription[] }>('admin/realtime/subscriptions', {}, { signal })

export const disconnect = (id: string) => post(`admin/realtime/connections/${segment(id)}/disconnect`)

export const preview = (
  subscriber: Subscriber,
  place: { readonly since?: string | undefined; readonly cursor?: string | undefined },
  signal: AbortSignal,
) => get<Preview>('admin/realtime/preview', { ...subscriber, ...place }, { signal })
