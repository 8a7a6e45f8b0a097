import { get, patch, post, remove, segment } from '../../api/request.ts'

/** Of `GET /api/webhooks`. */
export interface Webhook {
  readonly id: string
  readonly url: string
  readonly hasSecret: boolean
  readonly events: readonly string[]
  /** Empty: all. */
  readonly tables: readonly string[]
  readonly enabled: boolean
  readonly pausedAt: string | null
  readonly pausedReason: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export interface WebhookInput {
  readonly url?: string
  readonly secret?: string | null
  readonly events?: readonly string[]
  readonly tables?: readonly string[]
  readonly enabled?: boolean
}

/** Of `GET /api/webhooks/{id}/deliveries`: one attempt. */
export interface Delivery {
  readonly id: string
  readonly webhookId: string
  readonly eventId: string
  readonly eventAction: string
  readonly eventTable: string
  readonly success: boolean
  readonly statusCode?: number
  readonly attempt: number
  readonly durationMs: number
  readonly error?: string
  readonly requestBody: string
  readonly responseBody?: string
  readonly deliveredAt: string
}

/** How an attempt went that is not in the log. */
export interface Trial {
  readonly success: boolean
  readonly statusCode?: number
  readonly durationMs: number
  readonly error?: string
  readonly responseBody?: string
}

export interface ReplayRange {
  readonly which: 'failed' | 'delivered' | 'missed'
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** `nextCursor` of the request before. */
  readonly cursor?: string | undefined
  readonly limit?: number
  readonly dryRun?: boolean
}

const webhookPath = (id: string) => `webhooks/${segment(id)}`
const deliveryPath = (webhookId: string, id: string) => `${webhookPath(webhookId)}/deliveries/${segment(id)}`

export const listWebhooks = (signal: AbortSignal) => get<{ items: Webhook[] }>('webhooks', {}, { signal })

export const createWebhook = (input: WebhookInput) => post<Webhook>('webhooks', input)

export const updateWebhook = ({ id, ...input }: WebhookInput & { readonly id: string }) =>
  patch<Webhook>(webhookPath(id), input)

export const deleteWebhook = (id: string) => remove(webhookPath(id))

export const testWebhook = (id: string) => post<Trial>(`${webhookPath(id)}/test`)

export const listDeliveries = (
  { id, isFailedOnly, page }: { readonly id: string; readonly isFailedOnly: boolean; readonly page: number },
  signal: AbortSignal,
) =>
  get<{ items: Delivery[]; page: number; totalPages: number }>(
    `${webhookPath(id)}/deliveries`,
    { page, perPage: 50, failed_only: isFailedOnly ? true : undefined },
    { signal },
  )

export const replayDelivery = ({ webhookId, id }: { readonly webhookId: string; readonly id: string }) =>
  post<Delivery>(`${deliveryPath(webhookId, id)}/replay`)

export const tryDelivery = ({
  webhookId,
  id,
  ...body
}: {
  readonly webhookId: string
  readonly id: string
  readonly url: string
  readonly secret?: string | undefined
}) => post<Trial>(`${deliveryPath(webhookId, id)}/try`, body)

export const replayRange = ({ id, ...range }: ReplayRange & { readonly id: string }) =>
  post<{ queued: number; hasMore: boolean; nextCursor?: string }>(`${webhookPath(id)}/replays`, range)
