import { listByPage } from '../../api/page-list.ts'
import { get, post, put, segment } from '../../api/request.ts'

export const ticketStatuses = ['open', 'answered', 'closed'] as const
export type TicketStatus = (typeof ticketStatuses)[number]

/** Of `GET /api/admin/support/tickets`. */
export interface Ticket {
  readonly id: string
  readonly user_id: string
  readonly email: string | null
  readonly subject: string
  readonly status: TicketStatus
  readonly created_at: string
  readonly updated_at: string
}

export interface Message {
  readonly id: string
  readonly author: 'user' | 'support'
  readonly body: string
  readonly attachments: readonly {
    readonly filename: string
    readonly content_type: string
    readonly size: number
    /** Whether its content can be downloaded: a ticket has room for some. */
    readonly kept: boolean
  }[]
  readonly mailed_at: string | null
  readonly created_at: string
}

/** Of `GET /api/admin/support/tickets/{id}`. */
export interface TicketDetail extends Ticket {
  readonly messages: readonly Message[]
}

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
) => listByPage<Ticket>(path, { search, status, user_id: user }, cursor, signal)

export const readTicket = (id: string, signal: AbortSignal) =>
  get<TicketDetail>(`${path}/${segment(id)}`, {}, { signal })

/** Where the browser saves what was attached to a mail from. */
export const attachmentAddress = (ticketId: string, messageId: string, place: number) =>
  `/api/${path}/${segment(ticketId)}/messages/${segment(messageId)}/attachments/${place}`

export const answerTicket = ({ id, body }: { readonly id: string; readonly body: string }) =>
  post<Message>(`${path}/${segment(id)}/messages`, { body })

export const setStatus = ({ id, status }: { readonly id: string; readonly status: TicketStatus }) =>
  put<TicketDetail>(`${path}/${segment(id)}`, { status })
