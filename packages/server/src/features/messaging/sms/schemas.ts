import { limitParameter } from '../../../http/requests/filters.ts'
import {
  bearerSecurity,
  component,
  isTotalEstimated,
  pageOf,
  requiredByHandler,
  responses,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const common = { tags: ['sms'], security: bearerSecurity }
const id = Type.String({ format: 'uuid' })
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const message = component(
  'SmsMessage',
  Type.Object({
    id,
    user_id: nullable('The user who sent it; null for codes and messages of the administration.'),
    to: Type.String({ description: 'E.164.' }),
    body: Type.String({ description: 'Codes show as `[redacted]`.' }),
    provider: Type.String(),
    message_id: nullable('What the provider calls it; null until it has taken the message.'),
    status: Type.String({
      description:
        'pending, accepted, queued, sending, sent, then one of delivered, undelivered, failed, canceled',
    }),
    error_message: nullable('Why it failed.'),
    created_at: Type.String(),
    updated_at: Type.String(),
  }),
)

const newMessage = Type.Object({
  to: requiredByHandler(Type.String({ description: 'A number in international form.' })),
  body: requiredByHandler(Type.String({ description: 'At most 1600 characters.' })),
})

const period = component(
  'SmsPeriod',
  Type.Object({
    sent: Type.Integer(),
    confirmed: Type.Integer({ description: 'Delivered, as the provider reported.' }),
    failed: Type.Integer(),
    conversion_rate: Type.Number({ description: 'Percent of the sent ones that are confirmed.' }),
  }),
)

export const adminSchemas = {
  list: {
    ...common,
    summary: 'Text messages, the newest first',
    querystring: Type.Object({
      page: Type.Optional(Type.Integer({ description: 'From 1.' })),
      perPage: Type.Optional(Type.Integer({ description: 'At most 200; 50 unless given.' })),
    }),
    response: responses({
      200: Type.Object({ ...pageOf(message).properties, isTotalEstimated }),
    }),
  },
  health: {
    ...common,
    summary: 'How many text messages were sent and delivered',
    response: responses({
      200: Type.Object({
        today: period,
        last_7d: period,
        last_30d: period,
        warning: Type.Optional(Type.String({ description: '`low conversion rate`: below 10 % today.' })),
      }),
    }),
  },
  send: {
    ...common,
    summary: 'Send a text message',
    body: newMessage,
    response: responses({
      200: Type.Object({
        id,
        message_id: nullable('What the provider calls it.'),
        status: Type.String(),
        to: Type.String(),
      }),
    }),
  },
}

export const ownLimit = limitParameter(50, 100)

export const ownSchemas = {
  send: {
    ...common,
    summary: 'Send a text message',
    description: 'Who may is `sms.policy.senders`; programs need the action `sms:send`.',
    body: newMessage,
    response: responses({ 201: message }),
  },
  list: {
    ...common,
    summary: "The caller's text messages, the newest first",
    querystring: Type.Object({
      limit: ownLimit.schema,
    }),
    response: responses({ 200: Type.Array(message) }),
  },
  get: {
    ...common,
    summary: "One of the caller's text messages",
    params: Type.Object({ id: Type.String() }),
    response: responses({ 200: message }),
  },
}

/** Report in the form of its provider. */
const report = Type.Object({}, { additionalProperties: true })

export const statusSchema = {
  tags: ['callbacks'],
  summary: 'A provider of text messages reports what became of one',
  description:
    'Signed by the provider, in the form that it documents. Reports arrive in any order and more than once; a status never goes back. Unknown messages and statuses are ignored. At most 64 KiB.',
  documentedBody: {
    required: true,
    content: {
      'application/json': { schema: report },
      'application/x-www-form-urlencoded': { schema: report },
    },
  },
  response: responses({ 200: Type.Object({}) }),
}
