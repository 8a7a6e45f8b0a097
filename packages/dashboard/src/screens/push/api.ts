import { listByOffset } from '../../api/page-list.ts'
import { type Body, get, type Item, post, put, remove, segment } from '../../api/request.ts'

export type Device = Item<'push.listDevices'>
export type Delivery = Item<'push.listDeliveries'>
export type Provider = Item<'push.listProviders'>

const limit = 100

export const listDevices = (user: string, cursor: string | undefined, signal: AbortSignal) =>
  listByOffset<'push.listDevices'>(
    'admin/push/devices',
    { user_id: user || undefined, include_inactive: true, limit },
    cursor,
    signal,
  )

export const listDeliveries = (
  { user, status }: Readonly<Record<'user' | 'status', string | undefined>>,
  cursor: string | undefined,
  signal: AbortSignal,
) =>
  listByOffset<'push.listDeliveries'>(
    'admin/push/deliveries',
    { user_id: user, status, limit },
    cursor,
    signal,
  )

export const revokeDevice = (id: string) => remove<'push.revokeDevice'>(`admin/push/devices/${segment(id)}`)

export const sendToDevice = (input: {
  readonly token_id: string
  readonly title: string
  readonly body: string
}) => post<'push.sendToDevice'>('admin/push/send-to-token', input)

export const listProviders = async (signal: AbortSignal) =>
  (await get<'push.listProviders'>('admin/push/providers', {}, { signal })).items

export const setCredentials = (input: {
  readonly provider: string
  readonly credentials: Body<'push.changeProvider'>
}) => put<'push.changeProvider'>(`admin/push/providers/${segment(input.provider)}`, input.credentials)

export const resetCredentials = (provider: string) =>
  remove<'push.resetProvider'>(`admin/push/providers/${segment(provider)}`)
