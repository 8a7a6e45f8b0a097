import {
  bearerSecurity,
  component,
  multipartBody,
  pageOf,
  pageQuery,
  requiredByHandler,
  responses,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { ticketStatuses } from './queries.ts'

const common = { tags: ['support'], security: bearerSecurity }
const id = Type.String({ format: 'uuid' })
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const message = component(
  'TicketMessage',
  Type.Object({
    id,
    ticket_id: id,
    author: Type.Enum(['user', 'support']),
    body: Type.String(),
    attachments: Type.Array(
      Type.Object({
        filename: Type.String(),
        content_type: Type.String(),
        size: Type.Integer(),
        kept: Type.Boolean({ description: 'Whether its content can be read: a ticket has room for 25 MiB.' }),
      }),
      {
        description:
          'What was attached to the mail. Administrators read the contents by their places, from 0.',
      },
    ),
    mailed_at: nullable('When an answer was mailed.'),
    created_at: Type.String(),
  }),
)

const ticketMembers = {
  id,
  user_id: id,
  email: nullable('Of the user.'),
  subject: Type.String(),
  status: Type.Enum(ticketStatuses),
  created_at: Type.String(),
  updated_at: Type.String(),
}
const ticket = component('Ticket', Type.Object(ticketMembers))

const ticketWithMessages = component(
  'TicketWithMessages',
  Type.Object({
    ...ticketMembers,
    messages: Type.Array(message, { description: 'The last 500, the oldest of them first.' }),
  }),
)

const params = Type.Object({ id: Type.String() })
const status = Type.Optional(Type.String({ description: 'open, answered or closed' }))
const body = requiredByHandler(Type.String({ description: 'At most 20000 characters.' }))

export const ownSchemas = {
  list: {
    ...common,
    summary: "The caller's tickets, those with the newest message first",
    querystring: Type.Object({ ...pageQuery.properties, status }),
    response: responses({ 200: pageOf(ticket) }),
  },
  open: {
    ...common,
    summary: 'Open a ticket',
    body: Type.Object({
      subject: requiredByHandler(Type.String({ description: 'One line of at most 200 characters.' })),
      body,
    }),
    response: responses({ 201: ticketWithMessages }),
  },
  get: {
    ...common,
    summary: "One of the caller's tickets",
    params,
    response: responses({ 200: ticketWithMessages }),
  },
  write: {
    ...common,
    summary: "Write into one of the caller's tickets",
    description: 'A closed ticket is open again.',
    params,
    body: Type.Object({ body }),
    response: responses({ 201: message }),
  },
}

export const adminSchemas = {
  list: {
    ...common,
    summary: 'Tickets, those with the newest message first',
    querystring: Type.Object({
      ...pageQuery.properties,
      status,
      user_id: Type.Optional(Type.String()),
      search: Type.Optional(
        Type.String({ description: "A part of the subject or of the user's address; empty: all tickets." }),
      ),
    }),
    response: responses({ 200: pageOf(ticket) }),
  },
  get: { ...common, summary: 'One ticket', params, response: responses({ 200: ticketWithMessages }) },
  change: {
    ...common,
    summary: 'Close a ticket, or open it again',
    params,
    body: Type.Object({ status }),
    response: responses({ 200: ticketWithMessages }),
  },
  getAttachment: {
    ...common,
    summary: 'Download what was attached to a mail',
    description: 'Always as a file, of no type that a browser would show.',
    params: Type.Object({
      id: Type.String(),
      messageId: Type.String(),
      place: Type.String({ description: 'In the list `attachments` of the message, from 0.' }),
    }),
    response: responses({
      200: {
        description: 'The content.',
        content: { 'application/octet-stream': { schema: Type.String({ format: 'binary' }) } },
      },
    }),
  },
  answer: {
    ...common,
    summary: 'Answer a ticket',
    description: 'The answer is mailed to the user.',
    params,
    body: Type.Object({ body }),
    response: responses({ 201: message }),
  },
}

export const inboundSchema = {
  tags: ['callbacks'],
  summary: 'A gateway of mail delivers a reply to a ticket',
  description:
    'Multipart: `from`, `to`, `subject`, `text`, `envelope`, and, when known, `html`, `headers`, `SPF`, `dkim` and files. `X-Webhook-Secret` is the key. The subject names the ticket: `[Ticket #…]`; other mail, and mail of programs, is answered `{"ok": true}`. A mail counts once, by its Message-ID. At most 2 MiB.',
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
  response: responses({ 200: Type.Union([message, Type.Object({ ok: Type.Boolean() })]) }),
}
