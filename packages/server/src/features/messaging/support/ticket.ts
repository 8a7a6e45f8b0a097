import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

export const ticketStatuses = ['open', 'answered', 'closed'] as const
export type TicketStatus = (typeof ticketStatuses)[number]

/** Request of a user for help. */
export const Ticket = component(
  'Ticket',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    user_id: Type.String({ format: 'uuid' }),
    email: nullable(Type.String(), { description: 'Current address of the user.' }),
    subject: Type.String(),
    status: choice(ticketStatuses),
    created_at: timestamp,
    updated_at: timestamp,
  }),
)
export type Ticket = Answered<typeof Ticket>

export interface TicketFilter {
  readonly userId?: string | undefined
  readonly status?: TicketStatus | '' | undefined
  /** Part of the subject or of the user's address. Empty lists every ticket. */
  readonly search?: string | undefined
}

const columns = sql`t.id, t.user_id, u.email, t.subject, t.status, t.created_at, t.updated_at`
export const ticketsOfUsers = sql`basalt.support_tickets t join basalt.users u on u.id = t.user_id`

/** Builds the condition on tickets `t` of users `u`. */
export function conditionOf({ userId, status = '', search = '' }: TicketFilter): Sql {
  const conditions = [
    ...(userId === undefined ? [] : [sql`t.user_id = ${userId}`]),
    ...(status === '' ? [] : [sql`t.status = ${status}`]),
    ...(search === ''
      ? []
      : [
          sql`(position(lower(${search}) in lower(t.subject)) > 0
          or position(lower(${search}) in lower(u.email)) > 0)`,
        ]),
  ]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)
}

/** Lists tickets, the newest message first. */
export async function listTickets(
  database: Queryable,
  filter: TicketFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<Ticket[]> {
  return await database.many<Ticket>(sql`
    select ${columns} from ${ticketsOfUsers} where ${conditionOf(filter)}
    order by t.updated_at desc, t.id desc limit ${limit} offset ${offset}`)
}

export async function countTickets(database: Queryable, filter: TicketFilter): Promise<number> {
  const { count } = await database.one<{ count: number }>(sql`
    select count(*)::int as count from ${ticketsOfUsers} where ${conditionOf(filter)}`)
  return count
}

/** Finds a ticket. @param userId required owner; undefined: any */
export async function findTicket(
  database: Queryable,
  id: string,
  userId?: string,
): Promise<Ticket | undefined> {
  return await database.maybeOne<Ticket>(sql`
    select ${columns} from ${ticketsOfUsers} where t.id = ${id} and ${conditionOf({ userId })}`)
}

/** Inserts a ticket, unless its user has been deleted. */
export async function insertTicket(
  transaction: Queryable,
  { userId, subject }: { readonly userId: string; readonly subject: string },
): Promise<{ readonly id: string } | undefined> {
  return await transaction.maybeOne<{ id: string }>(sql`
    insert into basalt.support_tickets (user_id, subject)
    select id, ${subject} from basalt.users where id = ${userId} for key share
    returning id`)
}

/** Sets the status of a ticket. Returns whether the ticket exists. */
export async function setStatus(transaction: Queryable, id: string, status: TicketStatus): Promise<boolean> {
  const count = await transaction.count(sql`
    update basalt.support_tickets set status = ${status}, updated_at = now() where id = ${id}`)
  return count > 0
}

/** Deletes tickets that were closed this many days ago. */
export async function deleteClosedTickets(database: Queryable, days: number): Promise<number> {
  return await deleteInBatches(
    database,
    'support_tickets',
    sql`status = 'closed' and updated_at < now() - make_interval(days => ${days})`,
  )
}
