import {
  type ApiResponse,
  type Body,
  get,
  type Item,
  patch,
  post,
  remove,
  segment,
} from '../../api/request.ts'

export type Webhook = Item<'webhooks.list'>
export type WebhookInput = Body<'webhooks.update'>

/** Delivery attempt. */
export type Delivery = Item<'webhooks.listDeliveries'>

/** Result of an attempt that is not in the delivery log. */
export type Trial = ApiResponse<'webhooks.try'>
export type ReplayRange = Body<'webhooks.replayRange'>

const webhookPath = (id: string) => `webhooks/${segment(id)}` as const
const deliveryPath = (webhookId: string, id: string) =>
  `${webhookPath(webhookId)}/deliveries/${segment(id)}` as const

export const listWebhooks = (signal: AbortSignal) => get<'webhooks.list'>('webhooks', {}, { signal })

export const createWebhook = (input: Body<'webhooks.create'>) => post<'webhooks.create'>('webhooks', input)

export const updateWebhook = ({ id, ...input }: WebhookInput & { readonly id: string }) =>
  patch<'webhooks.update'>(webhookPath(id), input)

export const deleteWebhook = (id: string) => remove<'webhooks.delete'>(webhookPath(id))

export const testWebhook = (id: string) => post<'webhooks.test'>(`${webhookPath(id)}/test`)

export const listDeliveries = (
  { id, isFailedOnly, page }: { readonly id: string; readonly isFailedOnly: boolean; readonly page: number },
  signal: AbortSignal,
) =>
  get<'webhooks.listDeliveries'>(
    `${webhookPath(id)}/deliveries`,
    { page, perPage: 50, failed_only: isFailedOnly ? true : undefined },
    { signal },
  )

export const replayDelivery = ({ webhookId, id }: { readonly webhookId: string; readonly id: string }) =>
  post<'webhooks.replay'>(`${deliveryPath(webhookId, id)}/replay`)

export const tryDelivery = ({
  webhookId,
  id,
  ...body
}: {
  readonly webhookId: string
  readonly id: string
  readonly url: string
  readonly secret?: string | undefined
}) => post<'webhooks.try'>(`${deliveryPath(webhookId, id)}/try`, body)

export const replayRange = ({ id, ...range }: ReplayRange & { readonly id: string }) =>
  post<'webhooks.replayRange'>(`${webhookPath(id)}/replays`, range)
