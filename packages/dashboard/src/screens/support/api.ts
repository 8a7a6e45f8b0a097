import { listByPage } from '../../api/page-list.ts'
import { type ApiResponse, get, type Item, post, put, segment } from '../../api/request.ts'

export const ticketStatuses = ['open', 'answered', 'closed'] as const
export type TicketStatus = Ticket['status']
export type Ticket = Item<'support.list'>
export type Message = TicketDetail['messages'][number]
export type TicketDetail = ApiResponse<'support.get'>

export interface TicketFilter {
  readonly search?: string | undefined
  readonly status?: string | undefined
  readonly user?: string | undefined
}

const path = 'admin/support/tickets'

export const listTickets = (
  { search, status, user }: TicketFilter,
  cursor: string | undefined,
  signal: AbortSignal,
) => listByPage<'support.list'>(path, { search, status, user_id: user }, cursor, signal)

export const readTicket = (id: string, signal: AbortSignal) =>
  get<'support.get'>(`${path}/${segment(id)}`, {}, { signal })

/** Returns the URL from which the browser downloads a mail attachment. */
export const attachmentAddress = (ticketId: string, messageId: string, index: number) =>
  `/api/${path}/${segment(ticketId)}/messages/${segment(messageId)}/attachments/${index}`

export const answerTicket = ({ id, body }: { readonly id: string; readonly body: string }) =>
  post<'support.answer'>(`${path}/${segment(id)}/messages`, { body })

export const setStatus = ({ id, status }: { readonly id: string; readonly status: TicketStatus }) =>
  put<'support.change'>(`${path}/${segment(id)}`, { status })
