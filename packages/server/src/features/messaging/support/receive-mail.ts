import { ok, operation } from '../../../http/operation.ts'
import { acceptRaw } from '../../../http/requests/body.ts'
import { readForm } from '../../../http/requests/multipart.ts'
import { multipartBody } from '../../../http/schemas.ts'
import type { HttpServer } from '../../../http/server.ts'
import { isSameSignature } from '../../../lib/signatures.ts'
import { Type } from '../../../lib/type.ts'
import { requireAttempt, type SupportContext } from './context.ts'
import { supportErrors } from './errors.ts'
import { type InboundMail, readInboundMail } from './inbound-mail.ts'
import { addMessage, findMailedMessage, insertAttachment, isAnswer, TicketMessage } from './message.ts'
import { isSentBy } from './sender.ts'
import { findTicket } from './ticket.ts'

export const receiveMail = operation({
  id: 'support.receiveMail',
  guard: 'public',
  method: 'POST',
  path: '/api/webhooks/support/email',
  tag: 'callbacks',
  summary: 'Receive a mail to a ticket from a gateway',
  description:
    'Multipart form with `from`, `to`, `subject`, `text`, `envelope`, and, if known, `html`, `headers`, `SPF`, `dkim` and files. `X-Webhook-Secret` is the key. The subject names the ticket: `[Ticket #…]`. For other mail, and for mail of programs, the response is `{"ok": true}`. A mail counts once, by its Message-ID. At most 2 MiB.',
  documentedBody: multipartBody(
    Type.Object(
      {
        from: Type.String(),
        to: Type.String(),
        subject: Type.String(),
        text: Type.String(),
        envelope: Type.String(),
        html: Type.Optional(Type.String()),
        headers: Type.Optional(Type.String()),
        SPF: Type.Optional(Type.String()),
        dkim: Type.Optional(Type.String()),
      },
      { additionalProperties: true },
    ),
  ),
  bodyLimit: 2 * 1024 * 1024,
  success: ok(Type.Union([TicketMessage, Type.Object({ ok: Type.Boolean() })])),
  async handle(context: SupportContext, { http }) {
    const body = Buffer.isBuffer(http.body) ? http.body : Buffer.alloc(0)
    const form = await readForm(body, http.headers['content-type'] ?? '')
    if (form === undefined) throw supportErrors.invalidSupportForm()
    return (await addMail(context, readInboundMail(form))) ?? { ok: true }
  },
})

/** Prepares the scope of {@link receiveMail}, which rejects requests without the key before the body is read. */
export function acceptMail(scope: HttpServer, secret: string): void {
  acceptRaw(scope)
  scope.addHook('onRequest', async (_request, reply) => {
    void reply.header('cache-control', 'no-store')
  })
  scope.addHook('preParsing', async (request) => {
    const { 'x-webhook-secret': key } = request.headers
    if (secret === '' || typeof key !== 'string' || !isSameSignature(key, secret)) {
      throw supportErrors.invalidSupportAuth()
    }
  })
}

/**
 * Adds a mail to the ticket that its subject names, once however often it is delivered.
 *
 * @returns undefined for mail that names no ticket or that a program sent
 * @throws AppError support_domain_mismatch, ticket_not_found, support_sender_mismatch, support_limit_reached
 */
async function addMail(context: SupportContext, mail: InboundMail): Promise<TicketMessage | undefined> {
  const { database, inboundDomain } = context
  const { ticketId, key: mailKey, ownId } = mail
  if (inboundDomain === '' || !mail.recipientDomains.includes(inboundDomain)) {
    throw supportErrors.supportDomainMismatch()
  }
  if (ticketId === undefined || mail.isAutomatic) return undefined
  if (ownId !== undefined && (await isAnswer(database, ownId))) return undefined
  const ticket = await findTicket(database, ticketId)
  if (ticket === undefined) throw supportErrors.ticketNotFound()
  if (ticket.email === null || !isSentBy(mail, ticket.email)) throw supportErrors.supportSenderMismatch()
  const known = await findMailedMessage(database, ticketId, mailKey)
  if (known !== undefined) return known
  await requireAttempt(context, ticket.user_id)
  const { text: body, attachments } = mail
  const contents = await Promise.all(mail.files.map(async (file) => Buffer.from(await file.arrayBuffer())))
  await database.transaction(async (transaction) => {
    const draft = { ticketId, author: 'user', body, mailKey, attachments } as const
    const message = await addMessage(transaction, draft, 'open')
    if (message === undefined) return
    for (const [position, content] of contents.entries()) {
      await insertAttachment(transaction, message, position, content)
    }
  })
  // A concurrent request may have added the same mail. The result has the attachments that are stored.
  const message = await findMailedMessage(database, ticketId, mailKey)
  if (message === undefined) throw supportErrors.ticketNotFound()
  return message
}
