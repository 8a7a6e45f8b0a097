import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type PageRequest, readPage } from '../../../http/schemas.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import { answerJobName } from './answer-mail.ts'
import { supportErrors } from './errors.ts'
import type { InboundMail } from './inbound-mail.ts'
import * as queries from './queries.ts'
import { isSentBy } from './sender.ts'

export interface SupportServiceDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly throttle: Throttle
  /** Of one user. */
  readonly messagesPerHour: number
  /** In lower case; empty: no mail is accepted. */
  readonly inboundDomain: string
}

const longestSubject = 200
const longestBody = 20_000
/** Messages that are shown with their ticket. */
const shownMessages = 500

/** Tickets of users, and the messages in them. */
export class SupportService {
  readonly #deps: SupportServiceDeps

  constructor(deps: SupportServiceDeps) {
    this.#deps = deps
  }

  /** @throws AppError invalid_support_field */
  async list(
    request: PageRequest & { readonly status?: string; readonly user_id?: string; readonly search?: string },
  ) {
    const { database } = this.#deps
    const filter = {
      userId: readUserId(request.user_id),
      status: readStatus(request.status),
      search: readSearch(request.search),
    }
    const { page, perPage, offset } = readPage(request)
    const [rows, totalItems] = await Promise.all([
      queries.listTickets(database, filter, { limit: perPage, offset }),
      queries.countTickets(database, filter),
    ])
    const totalPages = Math.ceil(totalItems / perPage)
    return { items: rows.map(showTicket), page, perPage, totalItems, totalPages }
  }

  /** @param userId whose ticket it has to be. @throws AppError invalid_ticket_id, ticket_not_found */
  async get(id: string, userId?: string) {
    const { database } = this.#deps
    const ticket = await queries.findTicket(database, requireTicketId(id), userId)
    if (ticket === undefined) throw supportErrors.ticketNotFound()
    const messages = await queries.listMessages(database, ticket.id, shownMessages)
    return { ...showTicket(ticket), messages: messages.map(showMessage) }
  }

  /** @throws AppError missing_support_field, invalid_support_field, support_limit_reached */
  async open(userId: string, given: { readonly subject?: string; readonly body?: string }) {
    const subject = requireText('subject', given.subject, longestSubject)
    if (/\p{Cc}/u.test(subject)) throw supportErrors.invalidSupportField('subject: expected one line')
    const body = requireText('body', given.body, longestBody)
    await this.#requireAttempt(userId)
    const id = await this.#deps.database.transaction(async (transaction) => {
      const ticket = await queries.insertTicket(transaction, { userId, subject })
      // The user was deleted in this moment.
      if (ticket === undefined) throw supportErrors.ticketNotFound()
      await queries.insertMessage(transaction, { ticketId: ticket.id, author: 'user', body })
      return ticket.id
    })
    return await this.get(id, userId)
  }

  /** The user writes again, which opens a closed ticket. @throws AppError ticket_not_found, … */
  async write(userId: string, id: string, given: string | undefined) {
    const ticketId = requireTicketId(id)
    const body = requireText('body', given, longestBody)
    const { database } = this.#deps
    if ((await queries.findTicket(database, ticketId, userId)) === undefined)
      throw supportErrors.ticketNotFound()
    await this.#requireAttempt(userId)
    const message = await database.transaction(async (transaction) =>
      addMessage(transaction, { ticketId, userId, author: 'user', body }, 'open'),
    )
    if (message === undefined) throw supportErrors.ticketNotFound()
    return showMessage(message)
  }

  /** An administrator answers; a job mails it. @throws AppError ticket_not_found, … */
  async answer(id: string, given: string | undefined, origin: RequestOrigin) {
    const ticketId = requireTicketId(id)
    const body = requireText('body', given, longestBody)
    const { database, queue } = this.#deps
    const message = await database.transaction(async (transaction) => {
      const added = await addMessage(transaction, { ticketId, author: 'support', body }, 'answered')
      if (added === undefined) throw supportErrors.ticketNotFound()
      await queue.enqueue(answerJobName, { message_id: added.id }, transaction)
      const detail = { messageId: added.id }
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'support.answer',
        target: ticketId,
        detail,
        origin,
      })
      return added
    })
    queue.wake()
    return showMessage(message)
  }

  /** @throws AppError missing_support_field, invalid_support_field, ticket_not_found */
  async change(id: string, given: string | undefined, origin: RequestOrigin) {
    const ticketId = requireTicketId(id)
    const status = readStatus(given)
    if (status === undefined) throw supportErrors.missingSupportField('status')
    await this.#deps.database.transaction(async (transaction) => {
      if (!(await queries.setStatus(transaction, ticketId, status))) throw supportErrors.ticketNotFound()
      const detail = { status }
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'support.change',
        target: ticketId,
        detail,
        origin,
      })
    })
    return await this.get(ticketId)
  }

  /** @param place in the list of the message, from 0. @throws AppError invalid_ticket_id, attachment_not_found */
  async getAttachment(id: string, messageId: string, place: string): Promise<queries.StoredAttachment> {
    const ticketId = requireTicketId(id)
    const isPlace = isUuid(messageId) && /^\d{1,3}$/.test(place)
    const found = isPlace
      ? await queries.findAttachment(this.#deps.database, ticketId, messageId, Number(place))
      : undefined
    if (found === undefined) throw supportErrors.attachmentNotFound()
    return found
  }

  /**
   * Puts a mail into the ticket that its subject names, once however often it is delivered.
   *
   * @returns undefined when it is none of a ticket, or of a program
   * @throws AppError support_domain_mismatch, ticket_not_found, support_sender_mismatch, support_limit_reached
   */
  async receive(mail: InboundMail) {
    const { database, inboundDomain } = this.#deps
    const { ticketId, key: mailKey, ownId } = mail
    if (inboundDomain === '' || !mail.recipientDomains.includes(inboundDomain)) {
      throw supportErrors.supportDomainMismatch()
    }
    if (ticketId === undefined || mail.isAutomatic) return undefined
    if (ownId !== undefined && (await queries.isAnswer(database, ownId))) return undefined
    const ticket = await queries.findTicket(database, ticketId)
    if (ticket === undefined) throw supportErrors.ticketNotFound()
    if (ticket.email === null || !isSentBy(mail, ticket.email)) throw supportErrors.supportSenderMismatch()
    const known = await queries.findMailedMessage(database, ticketId, mailKey)
    if (known !== undefined) return showMessage(known)
    await this.#requireAttempt(ticket.user_id)
    const { text: body, attachments } = mail
    const contents = await Promise.all(mail.files.map(async (file) => Buffer.from(await file.arrayBuffer())))
    await database.transaction(async (transaction) => {
      const message = await addMessage(
        transaction,
        { ticketId, author: 'user', body, mailKey, attachments },
        'open',
      )
      if (message === undefined) return
      for (const [place, content] of contents.entries()) {
        await queries.insertAttachment(transaction, message, place, content)
      }
    })
    // The same mail may have been added by another request at once; read with the attachments that are stored.
    const message = await queries.findMailedMessage(database, ticketId, mailKey)
    if (message === undefined) throw supportErrors.ticketNotFound()
    return showMessage(message)
  }

  async #requireAttempt(userId: string): Promise<void> {
    const { throttle, messagesPerHour } = this.#deps
    const limit = { name: 'support.message', attempts: messagesPerHour, windowSeconds: 3600 }
    requireAllowed(await throttle.attempt(limit, userId), supportErrors.supportLimitReached())
  }
}

async function addMessage(
  transaction: Queryable,
  message: queries.NewMessage,
  status: queries.TicketStatus,
): Promise<queries.MessageRow | undefined> {
  const added = await queries.insertMessage(transaction, message)
  if (added !== undefined) await queries.setStatus(transaction, message.ticketId, status)
  return added
}

function requireTicketId(id: string): string {
  if (!isUuid(id)) throw supportErrors.invalidTicketId()
  return id.toLowerCase()
}

function requireText(field: string, given: string | undefined, longest: number): string {
  const text = given?.trim() ?? ''
  if (text === '') throw supportErrors.missingSupportField(field)
  if (Array.from(text).length > longest) {
    throw supportErrors.invalidSupportField(`${field} must be at most ${longest} characters`)
  }
  if (text.includes('\0') || !text.isWellFormed()) {
    throw supportErrors.invalidSupportField(`${field}: expected Unicode text without NUL`)
  }
  return text
}

function readStatus(given: string | undefined): queries.TicketStatus | undefined {
  if (given === undefined || given === '') return undefined
  const status = queries.ticketStatuses.find((known) => known === given)
  if (status === undefined) {
    throw supportErrors.invalidSupportField(`status must be one of: ${queries.ticketStatuses.join(', ')}`)
  }
  return status
}

function readUserId(given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  if (!isUuid(given)) throw supportErrors.invalidSupportField('invalid user id format')
  return given.toLowerCase()
}

function readSearch(given = ''): string | undefined {
  const text = given.toWellFormed().trim()
  if (text.includes('\0')) {
    throw supportErrors.invalidSupportField('search: PostgreSQL text cannot hold the character U+0000')
  }
  return text === '' ? undefined : text
}

function showTicket({ id, user_id, email, subject, status, created_at, updated_at }: queries.TicketRow) {
  return {
    id,
    user_id,
    email,
    subject,
    status,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}

function showMessage({ created_at, mailed_at, ...row }: queries.MessageRow) {
  return {
    id: row.id,
    ticket_id: row.ticket_id,
    author: row.author,
    body: row.body,
    attachments: row.attachments,
    mailed_at: mailed_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  }
}
