import { bearerSecurity, component, noContent, requiredByHandler, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['push']
const id = Type.String({ format: 'uuid' })
const nullable = (description?: string) =>
  Type.Union([Type.String(), Type.Null()], description === undefined ? {} : { description })

const device = component(
  'PushDevice',
  Type.Object({
    id,
    app_id: id,
    user_id: id,
    provider: Type.String({ description: 'fcm, apns or webpush' }),
    platform: Type.String({ description: 'android, ios or web' }),
    token: Type.String(),
    device_name: Type.String(),
    topics: Type.Array(Type.String()),
    is_active: Type.Boolean(),
    inactive_reason: nullable(
      '`revoked`, also by the end of the session that registered it, or what the provider said.',
    ),
    last_refreshed_at: Type.String(),
    last_used: nullable(),
    created_at: Type.String(),
    updated_at: Type.String(),
  }),
)

const options = component(
  'PushOptions',
  Type.Object(
    {
      badge: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
      sound: Type.Optional(Type.String()),
      ttl_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_419_200 })),
      priority: Type.Optional(
        Type.Union([Type.Literal('high'), Type.Literal('normal')], { description: 'high unless given' }),
      ),
      collapse_key: Type.Optional(Type.String({ description: 'At most 64 bytes.' })),
      image: Type.Optional(Type.String({ description: 'An https URL.' })),
    },
    { additionalProperties: false },
  ),
)

const message = {
  title: requiredByHandler(Type.String({ description: 'At most 256 characters.' })),
  body: requiredByHandler(Type.String({ description: 'At most 4096 characters.' })),
  data: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'Strings by name, for the app.' }),
  ),
  options: Type.Optional(options),
  send_at: Type.Optional(Type.String({ description: 'RFC 3339; now unless given.' })),
  idempotency_key: Type.Optional(
    Type.String({ description: 'The same key of an app answers the first message again.' }),
  ),
}

const delivery = component(
  'PushDelivery',
  Type.Object({
    id,
    send_id: id,
    device_token_id: id,
    job_id: Type.Union([id, Type.Null()]),
    app_id: id,
    user_id: id,
    provider: Type.String(),
    title: Type.String(),
    body: Type.String(),
    data: Type.Object({}, { additionalProperties: Type.String() }),
    options,
    status: Type.Enum(['pending', 'sent', 'failed', 'invalid_token']),
    attempts: Type.Integer(),
    error_code: nullable(
      'unregistered, invalid_token, provider_auth, payload_too_large, provider_error, provider_not_configured, expired or device_moved',
    ),
    error_message: nullable(),
    provider_message_id: nullable(),
    send_at: Type.String(),
    sent_at: nullable(),
    created_at: Type.String(),
    updated_at: Type.String(),
  }),
)

const send = Type.Object({
  id,
  app_id: id,
  topic: nullable(),
  title: Type.String(),
  body: Type.String(),
  send_at: Type.String(),
  created_at: Type.String(),
  counts: Type.Object({
    pending: Type.Integer(),
    sent: Type.Integer(),
    failed: Type.Integer(),
    invalid_token: Type.Integer(),
  }),
})

const ownDevice = {
  app_id: requiredByHandler(Type.String()),
  provider: requiredByHandler(Type.String({ description: '`fcm`, `apns` or `webpush`.' })),
  platform: requiredByHandler(Type.String({ description: '`android`, `ios` or `web`.' })),
  token: requiredByHandler(
    Type.String({ description: 'At most 4096 characters. Of Web Push the endpoint.' }),
  ),
  device_name: Type.Optional(Type.String({ description: 'At most 255 characters.' })),
  topics: Type.Optional(Type.Array(Type.String(), { description: 'Replaces those of the device.' })),
  keys: Type.Optional(
    Type.Object({ p256dh: Type.Optional(Type.String()), auth: Type.Optional(Type.String()) }),
  ),
}

const rangeOf = (limit: string) => ({
  limit: Type.Optional(Type.Integer({ description: limit })),
  offset: Type.Optional(Type.Integer()),
})
const deviceRange = rangeOf('500 unless given, and at most.')
const deliveryRange = rangeOf('50 unless given; at most 500.')
const owners = { app_id: Type.Optional(Type.String()), user_id: Type.Optional(Type.String()) }
const params = Type.Object({ id: Type.String() })
const providerParams = Type.Object({ provider: Type.String({ description: 'fcm, apns or webpush' }) })
const provider = component(
  'PushProvider',
  Type.Object({
    provider: Type.String(),
    source: Type.Union([Type.String(), Type.Null()], {
      description: 'Where the credentials are from: `database`, `configuration` or null.',
    }),
    sends: Type.String({ description: '`provider`, `log` (development, without credentials) or `nothing`.' }),
    details: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
      description: 'What of the credentials is no secret.',
    }),
  }),
)
const common = { tags, security: bearerSecurity }

export const ownSchemas = {
  send: {
    ...common,
    summary: 'Send a message to the devices of a user, or of a topic, as a program',
    description:
      'For API keys and OAuth tokens with the action `push:send`, to devices that are registered in their own app.',
    body: Type.Object({
      app_id: Type.Optional(Type.String({ description: 'The app of the program, if it is given.' })),
      user_id: Type.Optional(Type.String()),
      topic: Type.Optional(Type.String()),
      ...message,
    }),
    response: responses({
      200: Type.Object({
        send_id: id,
        count: Type.Integer({
          description: 'Devices that the message goes to; 0 for a topic, before they are found.',
        }),
      }),
    }),
  },
  register: {
    ...common,
    summary: 'Register a device of the caller, or refresh its registration',
    body: Type.Object(ownDevice),
    response: responses({ 201: device }),
  },
  list: {
    ...common,
    summary: "The caller's active devices",
    querystring: Type.Object({
      app_id: requiredByHandler(Type.String()),
      ...deviceRange,
    }),
    response: responses({ 200: Type.Object({ items: Type.Array(device) }) }),
  },
  revoke: {
    ...common,
    summary: "Revoke one of the caller's devices",
    params,
    response: responses({ 204: noContent }),
  },
  webPushKey: {
    ...common,
    summary: 'The key that browsers subscribe with',
    response: responses({
      200: Type.Object({
        public_key: Type.Optional(Type.String({ description: 'Absent without credentials of Web Push.' })),
      }),
    }),
  },
}

export const adminSchemas = {
  listDevices: {
    ...common,
    summary: 'Devices, the newest first',
    querystring: Type.Object({
      ...owners,
      include_inactive: Type.Optional(Type.String({ description: '`true` shows those, too.' })),
      ...deviceRange,
    }),
    response: responses({ 200: Type.Object({ items: Type.Array(device) }) }),
  },
  register: {
    ...common,
    summary: 'Register a device for a user',
    body: Type.Object({ ...ownDevice, user_id: requiredByHandler(Type.String()) }),
    response: responses({ 201: device }),
  },
  revoke: { ...common, summary: 'Revoke a device', params, response: responses({ 204: noContent }) },
  send: {
    ...common,
    summary: 'Send a message to the devices of a user, or of a topic',
    body: Type.Object({ ...owners, topic: Type.Optional(Type.String()), ...message }),
    response: responses({ 200: Type.Object({ send_id: id, deliveries: Type.Array(delivery) }) }),
  },
  sendToDevice: {
    ...common,
    summary: 'Send a message to one device',
    body: Type.Object({
      token_id: requiredByHandler(Type.String({ description: 'The id of the device.' })),
      ...message,
    }),
    response: responses({ 200: delivery }),
  },
  listDeliveries: {
    ...common,
    summary: 'Deliveries, the newest first',
    querystring: Type.Object({
      ...owners,
      send_id: Type.Optional(Type.String()),
      device_token_id: Type.Optional(Type.String()),
      status: Type.Optional(Type.String({ description: 'pending, sent, failed or invalid_token' })),
      ...deliveryRange,
    }),
    response: responses({ 200: Type.Object({ items: Type.Array(delivery) }) }),
  },
  getDelivery: { ...common, summary: 'A delivery', params, response: responses({ 200: delivery }) },
  getSend: {
    ...common,
    summary: 'A message, with its deliveries counted by status',
    params,
    response: responses({ 200: send }),
  },
  listProviders: {
    ...common,
    summary: 'Push providers and where their credentials are from',
    response: responses({ 200: Type.Object({ items: Type.Array(provider) }) }),
  },
  changeProvider: {
    ...common,
    summary: 'Give the credentials of a provider',
    description:
      'Of fcm the members of the service account; of apns `key`, `team_id`, `key_id`, `bundle_id` and `environment`; of webpush `private_key` and `subject`. They are stored encrypted and never shown.',
    params: providerParams,
    body: Type.Record(Type.String(), Type.Unknown()),
    response: responses({ 200: provider }),
  },
  resetProvider: {
    ...common,
    summary: 'Put the credentials of the configuration back in force',
    params: providerParams,
    response: responses({ 204: noContent }),
  },
}
