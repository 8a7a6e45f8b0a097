import { type ApiResponse, get, type Item, segment } from '../../api/request.ts'

export const filterNames = ['table', 'record', 'user_id', 'request_id', 'action', 'since', 'until'] as const
export type EventFilter = Readonly<Partial<Record<(typeof filterNames)[number], string | undefined>>>
export type ListedEvent = Item<'events.list'>
export type Attempt = EventWebhook['attempts'][number]
export type EventWebhook = EventDetail['webhooks'][number]

/** Streams of a node that received the event. */
export type NodeDelivery = EventDetail['streams']['sent'][number]

/** Job that the transaction of the event added. */
export type EventJob = EventDetail['jobs'][number]
export type EventDetail = ApiResponse<'events.get'>

export const listEvents = (filter: EventFilter, cursor: string | undefined, signal: AbortSignal) =>
  get<'events.list'>('admin/events', { ...filter, cursor }, { signal })

export const getEvent = (id: string, signal: AbortSignal) =>
  get<'events.get'>(`admin/events/${segment(id)}`, {}, { signal })
