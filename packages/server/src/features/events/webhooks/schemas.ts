import {
  bearerSecurity,
  component,
  isTotalEstimated,
  noContent,
  requiredByHandler,
  responses,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['webhooks']
const security = bearerSecurity

const timestamp = Type.String({ description: 'RFC 3339, UTC.' })

const params = Type.Object({ id: Type.String() })
const deliveryParams = Type.Object({ id: Type.String(), deliveryId: Type.String() })

const webhook = component(
  'Webhook',
  Type.Object({
    id: Type.String(),
    url: Type.String(),
    hasSecret: Type.Boolean(),
    events: Type.Array(Type.String()),
    tables: Type.Array(Type.String({ description: 'Empty: all tables.' })),
    enabled: Type.Boolean(),
    pausedAt: Type.Union([timestamp, Type.Null()], {
      description: 'When the server stopped sending by itself; `enabled` is false then.',
    }),
    pausedReason: Type.Union([Type.String(), Type.Null()]),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)

/** What must be there is checked by hand, for the documented messages. */
const fields = {
  url: Type.Optional(Type.String({ description: 'An absolute http or https URL without credentials.' })),
  secret: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description:
        'Key of the signatures: any text, or `whsec_` and base64. Never returned. In a change null removes it, and an empty one leaves it as it is. The latest one replaced signs `webhook-signature` for another day, beside its successor; those before it end at once.',
    }),
  ),
  events: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Of create, update, delete and truncate; the first three unless given.',
    }),
  ),
  tables: Type.Optional(Type.Array(Type.String(), { description: 'Names of collections; empty: all.' })),
  enabled: Type.Optional(Type.Boolean()),
}

const delivery = component(
  'WebhookDelivery',
  Type.Object({
    id: Type.String(),
    webhookId: Type.String(),
    eventId: Type.String({ description: 'The header `webhook-id` of every attempt.' }),
    eventAction: Type.String(),
    eventTable: Type.String(),
    success: Type.Boolean(),
    statusCode: Type.Optional(Type.Integer()),
    attempt: Type.Integer(),
    durationMs: Type.Integer(),
    error: Type.Optional(Type.String()),
    requestBody: Type.String(),
    responseBody: Type.Optional(Type.String({ description: 'Its first 64 KiB.' })),
    deliveredAt: timestamp,
  }),
)

export const listWebhooksSchema = {
  tags,
  security,
  summary: 'List webhooks',
  description: 'Oldest first.',
  response: responses({ 200: Type.Object({ items: Type.Array(webhook) }) }),
}

export const createWebhookSchema = {
  tags,
  security,
  summary: 'Create a webhook',
  description: 'Writes that begin after the answer are delivered, on whatever node.',
  body: Type.Object({ ...fields, url: requiredByHandler(fields.url) }),
  response: responses({ 201: webhook }),
}

export const getWebhookSchema = {
  tags,
  security,
  summary: 'Get a webhook',
  params,
  response: responses({ 200: webhook }),
}

export const updateWebhookSchema = {
  tags,
  security,
  summary: 'Change a webhook',
  description: 'Fields that are left out stay as they are. `enabled: true` also ends a pause.',
  params,
  body: Type.Object(fields),
  response: responses({ 200: webhook }),
}

export const deleteWebhookSchema = {
  tags,
  security,
  summary: 'Delete a webhook and its deliveries',
  params,
  response: responses({ 204: noContent }),
}

export const testWebhookSchema = {
  tags,
  security,
  summary: 'Send a test event',
  description: 'One attempt, even if the webhook is disabled; not in the log.',
  params,
  response: responses({
    200: Type.Object({
      success: Type.Boolean(),
      statusCode: Type.Optional(Type.Integer()),
      durationMs: Type.Integer(),
      error: Type.Optional(Type.String()),
    }),
  }),
}

export const listDeliveriesSchema = {
  tags,
  security,
  summary: 'List the deliveries of a webhook',
  description: 'Every attempt, newest first.',
  params,
  querystring: Type.Object({
    page: Type.Optional(Type.String({ description: 'From 1.' })),
    perPage: Type.Optional(Type.String({ description: 'Default 20, at most 100.' })),
    failed_only: Type.Optional(Type.String({ description: 'true: only attempts that failed.' })),
  }),
  response: responses({
    200: Type.Object({
      items: Type.Array(delivery),
      page: Type.Integer(),
      perPage: Type.Integer(),
      totalItems: Type.Integer(),
      isTotalEstimated,
      totalPages: Type.Integer(),
    }),
  }),
}

export const getDeliverySchema = {
  tags,
  security,
  summary: 'Get a delivery',
  params: deliveryParams,
  response: responses({ 200: delivery }),
}

export const replayDeliverySchema = {
  tags,
  security,
  summary: 'Send a delivery again',
  description: 'One attempt with the same body and `webhook-id`; answers its row of the log.',
  params: deliveryParams,
  response: responses({ 200: delivery }),
}
