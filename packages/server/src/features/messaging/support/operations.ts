import { userOf } from '../../../http/access/authentication.ts'
import { content, created, ok, operation } from '../../../http/operation.ts'
import { contentDisposition } from '../../../http/responses/disposition.ts'
import {
  checkedText,
  choice,
  choiceOrEmpty,
  lineForm,
  pageOf,
  pageQuery,
  refusedWith,
  textForm,
  uuid,
} from '../../../http/schemas.ts'
import { isStorableText } from '../../../lib/storable-text.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { answerJobName } from './answer-mail.ts'
import { requireAttempt, type SupportContext } from './context.ts'
import { supportErrors } from './errors.ts'
import { addMessage, findAttachment, insertMessage, TicketMessage } from './message.ts'
import { findTicket, insertTicket, setStatus, Ticket, ticketStatuses } from './ticket.ts'
import { found, getTicket, listPage, TicketWithMessages } from './ticket-view.ts'

const longestSubject = 200
const longestBody = 20_000

const params = Type.Object({ id: refusedWith({ invalid: supportErrors.invalidTicketId }, uuid) })
const missing = (field: string) => () => supportErrors.missingSupportField(field)
const invalid = (problem: string) => () => supportErrors.invalidSupportField(problem)
const invalidStatus = invalid(`status must be one of: ${ticketStatuses.join(', ')}`)
const body = refusedWith({ missing: missing('body') }, checkedText(longestBody, textForm))
const status = Type.Optional(refusedWith({ invalid: invalidStatus }, choiceOrEmpty(ticketStatuses)))

const own = { guard: 'bearer', tag: 'support' } as const
const ownTickets = '/api/support/tickets'

const listOwn = operation({
  ...own,
  id: 'support.listOwn',
  method: 'GET',
  path: ownTickets,
  summary: "List the caller's tickets, the newest message first",
  query: Type.Object({ ...pageQuery.properties, status }),
  success: ok(pageOf(Ticket)),
  handle: async ({ database }: SupportContext, { query, http }) =>
    await listPage(database, query, { status: query.status, userId: userOf(http).userId }),
})

const open = operation({
  ...own,
  id: 'support.open',
  method: 'POST',
  path: ownTickets,
  summary: 'Open a ticket',
  body: Type.Object({
    subject: refusedWith({ missing: missing('subject') }, checkedText(longestSubject, lineForm)),
    body,
  }),
  success: created(TicketWithMessages),
  async handle(context: SupportContext, { body, http }) {
    const { database } = context
    const { userId } = userOf(http)
    const subject = requireText('subject', body.subject, longestSubject)
    if (/\p{Cc}/u.test(subject)) throw supportErrors.invalidSupportField('subject: expected one line')
    const text = requireText('body', body.body, longestBody)
    await requireAttempt(context, userId)
    const id = await database.transaction(async (transaction) => {
      const ticket = await insertTicket(transaction, { userId, subject })
      if (ticket === undefined) throw supportErrors.ticketNotFound()
      await insertMessage(transaction, { ticketId: ticket.id, author: 'user', body: text })
      return ticket.id
    })
    return await getTicket(database, id, userId)
  },
})

const getOwn = operation({
  ...own,
  id: 'support.getOwn',
  method: 'GET',
  path: `${ownTickets}/:id`,
  summary: "Get one of the caller's tickets",
  params,
  success: ok(TicketWithMessages),
  handle: async ({ database }: SupportContext, { params, http }) =>
    await getTicket(database, params.id, userOf(http).userId),
})

const write = operation({
  ...own,
  id: 'support.write',
  method: 'POST',
  path: `${ownTickets}/:id/messages`,
  summary: "Write to one of the caller's tickets",
  description: 'A closed ticket is opened again.',
  params,
  body: Type.Object({ body }),
  success: created(TicketMessage),
  async handle(context: SupportContext, { params: { id: ticketId }, body, http }) {
    const { database } = context
    const { userId } = userOf(http)
    const text = requireText('body', body.body, longestBody)
    found(await findTicket(database, ticketId, userId))
    await requireAttempt(context, userId)
    return await database.transaction(async (transaction) =>
      found(await addMessage(transaction, { ticketId, userId, author: 'user', body: text }, 'open')),
    )
  },
})

/** Operations on tickets of the caller. */
export const ownTicketOperations = [listOwn, open, getOwn, write]

const administrative = { guard: 'admin', permission: 'users.read', tag: 'support' } as const
const tickets = '/api/admin/support/tickets'

const list = operation({
  ...administrative,
  id: 'support.list',
  method: 'GET',
  path: tickets,
  summary: 'List tickets, the newest message first',
  query: Type.Object({
    ...pageQuery.properties,
    status,
    user_id: Type.Optional(refusedWith({ invalid: invalid('invalid user id format') }, uuid)),
    search: Type.Optional(
      refusedWith(
        { invalid: invalid('search: PostgreSQL text cannot hold the character U+0000') },
        Type.String({
          pattern: '^[^\\u0000]*$',
          description: "Part of the subject or of the user's address. Empty lists all tickets.",
        }),
      ),
    ),
  }),
  success: ok(pageOf(Ticket)),
  handle: async ({ database }: SupportContext, { query }) =>
    await listPage(database, query, {
      status: query.status,
      userId: query.user_id,
      search: query.search?.trim(),
    }),
})

const get = operation({
  ...administrative,
  id: 'support.get',
  method: 'GET',
  path: `${tickets}/:id`,
  summary: 'Get a ticket',
  params,
  success: ok(TicketWithMessages),
  handle: async ({ database }: SupportContext, { params }) => await getTicket(database, params.id),
})

const change = operation({
  ...administrative,
  id: 'support.change',
  permission: 'tickets.write',
  method: 'PUT',
  path: `${tickets}/:id`,
  summary: 'Close or reopen a ticket',
  params,
  body: Type.Object({
    status: refusedWith(
      { missing: missing('status'), invalid: invalidStatus },
      choice(ticketStatuses, { minLength: 1 }),
    ),
  }),
  success: ok(TicketWithMessages),
  async handle({ database }: SupportContext, { params, body: { status }, origin }) {
    await database.transaction(async (transaction) => {
      if (!(await setStatus(transaction, params.id, status))) throw supportErrors.ticketNotFound()
      const target = params.id.toLowerCase()
      const entry = { actor: 'admin', action: 'support.change', target, detail: { status }, origin }
      await recordAudit(transaction, entry)
    })
    return await getTicket(database, params.id)
  },
})

const answer = operation({
  ...administrative,
  id: 'support.answer',
  permission: 'tickets.write',
  method: 'POST',
  path: `${tickets}/:id/messages`,
  summary: 'Answer a ticket',
  description: 'The answer is mailed to the user.',
  params,
  body: Type.Object({ body }),
  success: created(TicketMessage),
  async handle({ database, queue }: SupportContext, { params: { id: ticketId }, body, origin }) {
    const text = requireText('body', body.body, longestBody)
    const message = await database.transaction(async (transaction) => {
      const added = found(
        await addMessage(transaction, { ticketId, author: 'support', body: text }, 'answered'),
      )
      await queue.enqueue(answerJobName, { message_id: added.id }, transaction)
      const detail = { messageId: added.id }
      const entry = { actor: 'admin', action: 'support.answer', target: added.ticket_id, detail, origin }
      await recordAudit(transaction, entry)
      return added
    })
    queue.wake()
    return message
  },
})

const noAttachment = { invalid: supportErrors.attachmentNotFound }

const getAttachment = operation({
  ...administrative,
  id: 'support.getAttachment',
  method: 'GET',
  path: `${tickets}/:id/messages/:messageId/attachments/:place`,
  summary: 'Download an attachment of a mail',
  description: 'The response is always a file, of no type that a browser would show.',
  params: Type.Object({
    ...params.properties,
    messageId: refusedWith(noAttachment, uuid),
    place: refusedWith(
      noAttachment,
      Type.String({
        pattern: '^\\d{1,3}$',
        description: 'Position in the list `attachments` of the message, from 0.',
      }),
    ),
  }),
  success: content('application/octet-stream', 'Content of the attachment.'),
  async handle({ database }: SupportContext, { params: { id, messageId, place } }, reply) {
    const attachment = await findAttachment(database, id, messageId, Number(place))
    if (attachment === undefined) throw supportErrors.attachmentNotFound()
    const { filename, content } = attachment
    void reply
      .header('content-disposition', contentDisposition('attachment', filename || 'attachment'))
      .header('content-security-policy', "default-src 'none'; sandbox")
    return content
  },
})

/** Operations of administrators on all tickets. */
export const ticketOperations = [list, get, change, getAttachment, answer]

/** Returns a required text. @throws AppError missing_support_field, invalid_support_field */
function requireText(field: string, input: string, longest: number): string {
  const text = input.trim()
  if (text === '') throw supportErrors.missingSupportField(field)
  if (Array.from(text).length > longest) {
    throw supportErrors.invalidSupportField(`${field} must be at most ${longest} characters`)
  }
  if (!isStorableText(text)) {
    throw supportErrors.invalidSupportField(`${field}: expected Unicode text without NUL`)
  }
  return text
}
