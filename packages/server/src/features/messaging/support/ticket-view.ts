import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, extended, type PageRequest, readPage } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { supportErrors } from './errors.ts'
import { listMessages, TicketMessage } from './message.ts'
import { countTickets, findTicket, listTickets, Ticket, type TicketFilter } from './ticket.ts'

export const TicketWithMessages = component(
  'TicketWithMessages',
  extended(
    Ticket,
    Type.Object({
      messages: Type.Array(TicketMessage, { description: 'Last 500 messages, the oldest first.' }),
    }),
  ),
)
const mostMessages = 500

/** Returns a page of tickets, the newest message first. */
export async function listPage(database: Queryable, request: PageRequest, filter: TicketFilter) {
  const { page, perPage, offset } = readPage(request)
  const [items, totalItems] = await Promise.all([
    listTickets(database, filter, { limit: perPage, offset }),
    countTickets(database, filter),
  ])
  return { items, page, perPage, totalItems, totalPages: Math.ceil(totalItems / perPage) }
}

/** Returns a ticket. @param userId required owner; undefined: any. @throws AppError ticket_not_found */
export async function getTicket(
  database: Queryable,
  id: string,
  userId?: string,
): Promise<Answered<typeof TicketWithMessages>> {
  const ticket = found(await findTicket(database, id, userId))
  return { ...ticket, messages: await listMessages(database, id, mostMessages) }
}

/** Returns the result, if there is one. @throws AppError ticket_not_found */
export function found<Result>(result: Result | undefined): Result {
  if (result === undefined) throw supportErrors.ticketNotFound()
  return result
}
