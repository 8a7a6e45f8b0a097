import { listByOffset } from '../../api/page-list.ts'
import { get, post, put, remove, segment } from '../../api/request.ts'

/** Of `GET /api/admin/push/devices`. */
export interface Device {
  readonly id: string
  readonly app_id: string
  readonly user_id: string
  readonly provider: string
  readonly platform: string
  readonly token: string
  readonly device_name: string
  readonly topics: readonly string[]
  readonly is_active: boolean
  readonly inactive_reason: string | null
  readonly last_used: string | null
  readonly created_at: string
}

/** Of `GET /api/admin/push/deliveries`. */
export interface Delivery {
  readonly id: string
  readonly send_id: string
  readonly device_token_id: string
  readonly user_id: string
  readonly provider: string
  readonly title: string
  readonly body: string
  readonly data: Readonly<Record<string, unknown>>
  readonly status: 'pending' | 'sent' | 'failed' | 'invalid_token'
  readonly attempts: number
  readonly error_code: string | null
  readonly error_message: string | null
  readonly provider_message_id: string | null
  readonly sent_at: string | null
  readonly created_at: string
}

/** Of `GET /api/admin/push/providers`. */
export interface Provider {
  readonly provider: string
  readonly source: 'database' | 'configuration' | null
  readonly sends: 'provider' | 'log' | 'nothing'
  readonly details: Readonly<Record<string, unknown>> | null
}

const limit = 100

export const listDevices = (user: string, cursor: string | undefined, signal: AbortSignal) =>
  listByOffset<Device>(
    'admin/push/devices',
    { user_id: user || undefined, include_inactive: true, limit },
    cursor,
    signal,
  )

export const listDeliveries = (
  filter: { readonly user: string; readonly status: string },
  cursor: string | undefined,
  signal: AbortSignal,
) => {
  const query = { user_id: filter.user || undefined, status: filter.status || undefined, limit }
  return listByOffset<Delivery>('admin/push/deliveries', query, cursor, signal)
}

export const revokeDevice = (id: string) => remove(`admin/push/devices/${segment(id)}`)

export const sendToDevice = (input: {
  readonly token_id: string
  readonly title: string
  readonly body: string
}) => post<Delivery>('admin/push/send-to-token', input)

export const listProviders = async (signal: AbortSignal) =>
  (await get<{ items: Provider[] }>('admin/push/providers', {}, { signal })).items

export const setCredentials = (input: { readonly provider: string; readonly credentials: unknown }) =>
  put<Provider>(`admin/push/providers/${segment(input.provider)}`, input.credentials)

export const resetCredentials = (provider: string) => remove(`admin/push/providers/${segment(provider)}`)
