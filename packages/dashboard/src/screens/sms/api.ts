import { listByPage } from '../../api/page-list.ts'
import { get, type Item, post } from '../../api/request.ts'

export type TextMessage = Item<'sms.list'>

export const readHealth = (signal: AbortSignal) => get<'sms.health'>('admin/sms/health', {}, { signal })
export const listMessages = (cursor: string | undefined, signal: AbortSignal) =>
  listByPage<'sms.list'>('admin/sms/messages', {}, cursor, signal)
export const sendMessage = (message: { readonly to: string; readonly body: string }) =>
  post<'sms.send'>('admin/sms/send', message)
