import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { Attachment } from './inbound-mail.ts'

export const ticketStatuses = ['open', 'answered', 'closed'] as const
export type TicketStatus = (typeof ticketStatuses)[number]

export interface TicketRow {
  readonly id: string
  readonly user_id: string
  /** Of the user, now. */
  readonly email: string | null
  readonly subject: string
  readonly status: TicketStatus
  readonly created_at: Date
  readonly updated_at: Date
  readonly [column: string]: unknown
}

export interface MessageRow {
  readonly id: string
  readonly ticket_id: string
  readonly author: 'user' | 'support'
  readonly body: string
  /** Content for which its ticket had no room is not kept. */
  readonly attachments: readonly (Attachment & { readonly kept: boolean })[]
  readonly mailed_at: Date | null
  readonly created_at: Date
  readonly [column: string]: unknown
}

export interface TicketFilter {
  readonly userId?: string | undefined
  readonly status?: TicketStatus | undefined
  /** A part of the subject or of the user's address. */
  readonly search?: string | undefined
}

const ticketColumns = sql`t.id, t.user_id, u.email, t.subject, t.status, t.created_at, t.updated_at`
const messageColumns = sql`id, ticket_id, author, body, mailed_at, created_at, coalesce((
  select jsonb_agg(listed.attachment || jsonb_build_object('kept', exists (
    select from basalt.support_attachments
    where message_id = support_messages.id and place = listed.number - 1
  )) order by listed.number)
  from jsonb_array_elements(attachments) with ordinality as listed (attachment, number)
), '[]') as attachments`
const ticketsOfUsers = sql`basalt.support_tickets t join basalt.users u on u.id = t.user_id`

function conditionOf({ userId, status, search }: TicketFilter): Sql {
  const conditions = [
    ...(userId === undefined ? [] : [sql`t.user_id = ${userId}`]),
    ...(status === undefined ? [] : [sql`t.status = ${status}`]),
    ...(search === undefined
      ? []
      : [
          sql`(position(lower(${search}) in lower(t.subject)) > 0
          or position(lower(${search}) in lower(u.email)) > 0)`,
        ]),
  ]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)
}

/** Those with the newest message first. */
export function listTickets(
  database: Queryable,
  filter: TicketFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<TicketRow[]> {
  return database.many<TicketRow>(sql`
    select ${ticketColumns} from ${ticketsOfUsers} where ${conditionOf(filter)}
    order by t.updated_at desc, t.id desc limit ${limit} offset ${offset}`)
}

export async function countTickets(database: Queryable, filter: TicketFilter): Promise<number> {
  const { count } = await database.one<{ count: number }>(sql`
    select count(*)::int as count from ${ticketsOfUsers} where ${conditionOf(filter)}`)
  return count
}

/** @param userId whose ticket it has to be; undefined: anybody's */
export function findTicket(database: Queryable, id: string, userId?: string): Promise<TicketRow | undefined> {
  return database.maybeOne<TicketRow>(sql`
    select ${ticketColumns} from ${ticketsOfUsers} where t.id = ${id} and ${conditionOf({ userId })}`)
}

export function insertTicket(
  transaction: Queryable,
  { userId, subject }: { readonly userId: string; readonly subject: string },
): Promise<{ readonly id: string } | undefined> {
  return transaction.maybeOne<{ id: string }>(sql`
    insert into basalt.support_tickets (user_id, subject)
    select id, ${subject} from basalt.users where id = ${userId} for key share
    returning id`)
}

/** The last ones, the oldest of them first. */
export function listMessages(database: Queryable, ticketId: string, limit: number): Promise<MessageRow[]> {
  return database.many<MessageRow>(sql`
    select * from (
      select ${messageColumns} from basalt.support_messages where ticket_id = ${ticketId}
      order by created_at desc, id desc limit ${limit}
    ) last order by created_at, id`)
}

export interface NewMessage {
  readonly ticketId: string
  /** Whose ticket it has to be; undefined: anybody's. */
  readonly userId?: string | undefined
  readonly author: MessageRow['author']
  readonly body: string
  readonly mailKey?: Buffer | undefined
  readonly attachments?: readonly Attachment[]
}

/** What attachments of one ticket may take together: a mail of 2 MiB is sent quickly, and again. */
const ticketBytes = 25 * 1024 * 1024

/** Keeps the content of an attachment unless its ticket is full. After the message, which has locked the ticket. */
export async function insertAttachment(
  transaction: Queryable,
  { id, ticket_id: ticketId }: Pick<MessageRow, 'id' | 'ticket_id'>,
  place: number,
  content: Buffer,
): Promise<void> {
  await transaction.count(sql`
    insert into basalt.support_attachments (message_id, place, content)
    select ${id}, ${place}::int, ${content}
    where ${content.length}::bigint + coalesce((
      select sum(octet_length(a.content))
      from basalt.support_messages m join basalt.support_attachments a on a.message_id = m.id
      where m.ticket_id = ${ticketId}
    ), 0) <= ${ticketBytes}::bigint`)
}

export interface StoredAttachment extends Record<string, unknown> {
  readonly filename: string
  readonly content: Buffer
}

export function findAttachment(
  database: Queryable,
  ticketId: string,
  messageId: string,
  place: number,
): Promise<StoredAttachment | undefined> {
  return database.maybeOne<StoredAttachment>(sql`
    select m.attachments -> a.place ->> 'filename' as filename, a.content
    from basalt.support_messages m join basalt.support_attachments a on a.message_id = m.id
    where m.ticket_id = ${ticketId} and m.id = ${messageId} and a.place = ${place}::int`)
}

/** Undefined when there is no such ticket, or the mail is in it already. */
export function insertMessage(
  transaction: Queryable,
  { ticketId, userId, author, body, mailKey, attachments = [] }: NewMessage,
): Promise<MessageRow | undefined> {
  return transaction.maybeOne<MessageRow>(sql`
    insert into basalt.support_messages (ticket_id, author, body, mail_key, attachments)
    select t.id, ${author}, ${body}, ${mailKey ?? null}, ${JSON.stringify(attachments)}::jsonb
    from basalt.support_tickets t where t.id = ${ticketId} and ${conditionOf({ userId })}
    for no key update
    on conflict (ticket_id, mail_key) do nothing
    returning ${messageColumns}`)
}

export function findMailedMessage(
  database: Queryable,
  ticketId: string,
  mailKey: Buffer,
): Promise<MessageRow | undefined> {
  return database.maybeOne<MessageRow>(sql`
    select ${messageColumns} from basalt.support_messages
    where ticket_id = ${ticketId} and mail_key = ${mailKey}`)
}

export async function isAnswer(database: Queryable, id: string): Promise<boolean> {
  const { known } = await database.one<{ known: boolean }>(sql`
    select exists (select from basalt.support_messages where id = ${id} and author = 'support') as known`)
  return known
}

/** Whether there is such a ticket. */
export async function setStatus(transaction: Queryable, id: string, status: TicketStatus): Promise<boolean> {
  const count = await transaction.count(sql`
    update basalt.support_tickets set status = ${status}, updated_at = now() where id = ${id}`)
  return count > 0
}

/** An answer that is to be mailed. */
export interface AnswerRow {
  readonly ticket_id: string
  readonly subject: string
  readonly body: string
  readonly email: string
  readonly [column: string]: unknown
}

/** Undefined when it is mailed already, or the user has no address or may not sign in. */
export function findUnmailedAnswer(database: Queryable, id: string): Promise<AnswerRow | undefined> {
  return database.maybeOne<AnswerRow>(sql`
    select m.ticket_id, t.subject, m.body, u.email
    from basalt.support_messages m join ${ticketsOfUsers} on t.id = m.ticket_id
    where m.id = ${id} and m.mailed_at is null and u.email is not null and u.disabled_at is null`)
}

export async function markMailed(database: Queryable, id: string): Promise<void> {
  await database.count(sql`update basalt.support_messages set mailed_at = now() where id = ${id}`)
}

/** Removes tickets that were closed so many days ago. */
export function deleteClosedTickets(database: Queryable, days: number): Promise<number> {
  return deleteInBatches(
    database,
    'support_tickets',
    sql`status = 'closed' and updated_at < now() - make_interval(days => ${days})`,
  )
}
