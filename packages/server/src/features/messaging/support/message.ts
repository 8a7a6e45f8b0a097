import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { Attachment } from './inbound-mail.ts'
import { conditionOf, setStatus, type TicketStatus, ticketsOfUsers } from './ticket.ts'

export const TicketMessage = component(
  'TicketMessage',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    ticket_id: Type.String({ format: 'uuid' }),
    author: choice(['user', 'support']),
    body: Type.String(),
    attachments: Type.Array(
      Type.Object({
        filename: Type.String(),
        content_type: Type.String(),
        size: Type.Integer(),
        kept: Type.Boolean({
          description: 'False if the content was not stored, because the ticket has its maximum of 25 MiB.',
        }),
      }),
      {
        description: 'Attachments of the mail. Administrators read their contents by position, from 0.',
      },
    ),
    mailed_at: nullable(timestamp, { description: 'Time at which an answer was mailed.' }),
    created_at: timestamp,
  }),
)
export type TicketMessage = Answered<typeof TicketMessage>

const columns = sql`id, ticket_id, author, body, coalesce((
  select jsonb_agg(listed.attachment || jsonb_build_object('kept', exists (
    select from basalt.support_attachments
    where message_id = support_messages.id and place = listed.number - 1
  )) order by listed.number)
  from jsonb_array_elements(attachments) with ordinality as listed (attachment, number)
), '[]') as attachments, mailed_at, created_at`

/** Returns the last messages of a ticket, the oldest first. */
export async function listMessages(
  database: Queryable,
  ticketId: string,
  limit: number,
): Promise<TicketMessage[]> {
  return await database.many<TicketMessage>(sql`
    select * from (
      select ${columns} from basalt.support_messages where ticket_id = ${ticketId}
      order by created_at desc, id desc limit ${limit}
    ) last order by created_at, id`)
}

export interface NewMessage {
  readonly ticketId: string
  /** Required owner of the ticket. Undefined accepts any. */
  readonly userId?: string | undefined
  readonly author: TicketMessage['author']
  readonly body: string
  readonly mailKey?: Buffer | undefined
  readonly attachments?: readonly Attachment[]
}

/** Inserts a message, unless its ticket does not exist or has the mail already. */
export async function insertMessage(
  transaction: Queryable,
  { ticketId, userId, author, body, mailKey, attachments = [] }: NewMessage,
): Promise<TicketMessage | undefined> {
  return await transaction.maybeOne<TicketMessage>(sql`
    insert into basalt.support_messages (ticket_id, author, body, mail_key, attachments)
    select t.id, ${author}, ${body}, ${mailKey ?? null}, ${JSON.stringify(attachments)}::jsonb
    from basalt.support_tickets t where t.id = ${ticketId} and ${conditionOf({ userId })}
    for no key update
    on conflict (ticket_id, mail_key) do nothing
    returning ${columns}`)
}

/** Inserts a message as {@link insertMessage} does, and sets the status of its ticket. */
export async function addMessage(
  transaction: Queryable,
  message: NewMessage,
  status: TicketStatus,
): Promise<TicketMessage | undefined> {
  const added = await insertMessage(transaction, message)
  if (added !== undefined) await setStatus(transaction, message.ticketId, status)
  return added
}

/** Maximum size of all attachments of one ticket. A mail of 2 MiB is sent quickly, and repeatedly. */
const ticketBytes = 25 * 1024 * 1024

/** Stores the content of an attachment, unless its ticket is full. The insert of the message has locked the ticket. */
export async function insertAttachment(
  transaction: Queryable,
  { id, ticket_id: ticketId }: Pick<TicketMessage, 'id' | 'ticket_id'>,
  position: number,
  content: Buffer,
): Promise<void> {
  await transaction.count(sql`
    insert into basalt.support_attachments (message_id, place, content)
    select ${id}, ${position}::int, ${content}
    where ${content.length}::bigint + coalesce((
      select sum(octet_length(a.content))
      from basalt.support_messages m join basalt.support_attachments a on a.message_id = m.id
      where m.ticket_id = ${ticketId}
    ), 0) <= ${ticketBytes}::bigint`)
}

export async function findAttachment(
  database: Queryable,
  ticketId: string,
  messageId: string,
  position: number,
): Promise<{ readonly filename: string; readonly content: Buffer } | undefined> {
  return await database.maybeOne<{ filename: string; content: Buffer }>(sql`
    select m.attachments -> a.place ->> 'filename' as filename, a.content
    from basalt.support_messages m join basalt.support_attachments a on a.message_id = m.id
    where m.ticket_id = ${ticketId} and m.id = ${messageId} and a.place = ${position}::int`)
}

export async function findMailedMessage(
  database: Queryable,
  ticketId: string,
  mailKey: Buffer,
): Promise<TicketMessage | undefined> {
  return await database.maybeOne<TicketMessage>(sql`
    select ${columns} from basalt.support_messages
    where ticket_id = ${ticketId} and mail_key = ${mailKey}`)
}

/** Returns whether the id is that of an administrator's answer. */
export async function isAnswer(database: Queryable, id: string): Promise<boolean> {
  const { known } = await database.one<{ known: boolean }>(sql`
    select exists (select from basalt.support_messages where id = ${id} and author = 'support') as known`)
  return known
}

/** Answer that must be mailed. */
export interface UnmailedAnswer extends Record<string, unknown> {
  readonly ticket_id: string
  readonly subject: string
  readonly body: string
  readonly email: string
}

/**
 * Finds an answer to mail. Returns undefined when it is already mailed, or the user has no address or may not
 * sign in.
 */
export async function findUnmailedAnswer(
  database: Queryable,
  id: string,
): Promise<UnmailedAnswer | undefined> {
  return await database.maybeOne<UnmailedAnswer>(sql`
    select m.ticket_id, t.subject, m.body, u.email
    from basalt.support_messages m join ${ticketsOfUsers} on t.id = m.ticket_id
    where m.id = ${id} and m.mailed_at is null and u.email is not null and u.disabled_at is null`)
}

export async function markMailed(database: Queryable, id: string): Promise<void> {
  await database.count(sql`update basalt.support_messages set mailed_at = now() where id = ${id}`)
}
