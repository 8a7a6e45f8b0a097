import { listByPage } from '../../api/page-list.ts'
import { get, post } from '../../api/request.ts'

interface Period {
  readonly sent: number
  readonly confirmed: number
  readonly failed: number
  /** Percent. */
  readonly conversion_rate: number
}

/** Of `GET /api/admin/sms/health`. */
export interface SmsHealth {
  readonly today: Period
  readonly last_7d: Period
  readonly last_30d: Period
  readonly warning?: string
}

export interface TextMessage {
  readonly id: string
  readonly user_id: string | null
  readonly to: string
  /** Without codes. */
  readonly body: string
  readonly provider: string
  readonly status: string
  readonly error_message: string | null
  readonly created_at: string
}

export const readHealth = (signal: AbortSignal) => get<SmsHealth>('admin/sms/health', {}, { signal })
export const listMessages = (cursor: string | undefined, signal: AbortSignal) =>
  listByPage<TextMessage>('admin/sms/messages', {}, cursor, signal)
export const sendMessage = (message: { readonly to: string; readonly body: string }) =>
  post<{ id: string; status: string }>('admin/sms/send', message)
