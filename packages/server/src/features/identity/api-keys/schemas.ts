import {
  bearerSecurity,
  component,
  noContent,
  pageOf,
  pageQuery,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const params = Type.Object({ id: uuidByHandler() })
const nullableText = Type.Union([Type.String(), Type.Null()])

const apiKey = component(
  'ApiKey',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    userId: Type.String({ format: 'uuid' }),
    name: Type.String(),
    keyPrefix: Type.String({ description: 'How the key begins.' }),
    scope: Type.String({ description: '`*`, `readonly` or `readwrite`.' }),
    allowedTables: Type.Array(Type.String(), { description: 'Empty: all.' }),
    actions: Type.Array(Type.String(), {
      description: 'Actions that the key may take beside its scope: `email:send`, `sms:send`, `push:send`.',
    }),
    appId: nullableText,
    lastUsedAt: nullableText,
    expiresAt: nullableText,
    createdAt: Type.String(),
    revokedAt: nullableText,
  }),
)

const created = component(
  'CreatedApiKey',
  Type.Object({
    key: Type.String({ description: 'To present as bearer token; shown this once.' }),
    apiKey,
  }),
)

const settings = {
  name: requiredByHandler(Type.String({ description: 'At most 200 characters.' })),
  scope: Type.Optional(Type.String({ description: '`*` unless given, `readonly` or `readwrite`.' })),
  allowedTables: Type.Optional(
    Type.Union([Type.Array(Type.String()), Type.Null()], { description: 'Collections; empty: all.' }),
  ),
  expiresAt: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'RFC 3339.' })),
}

const actions = (description: string) =>
  Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()], { description }))
const grantedActions = actions('`email:send`, `sms:send`, `push:send`; none unless given. `*` includes none.')

/** The schemas of an endpoint, for administrators or for users. */
function schemasFor(tags: string[]) {
  const common = { tags, security: bearerSecurity }
  return {
    revoke: { ...common, summary: 'Revoke an API key', params, response: responses({ 204: noContent }) },
    rotate: {
      ...common,
      summary: 'Give an API key another secret',
      description:
        'The secret before it stays valid for the grace period; an older one ends. A key with actions is rotated by an administrator only.',
      params,
      body: Type.Optional(
        Type.Object({
          graceSeconds: Type.Optional(Type.Integer({ description: '3600 unless given; at most 30 days.' })),
        }),
      ),
      response: responses({ 200: created }),
    },
  }
}

export const adminSchemas = {
  ...schemasFor(['admin']),
  update: {
    tags: ['admin'],
    summary: 'Change the name or the actions of an API key',
    security: bearerSecurity,
    params,
    body: Type.Object({
      name: Type.Optional(Type.String({ description: 'At most 200 characters.' })),
      actions: grantedActions,
    }),
    response: responses({ 200: apiKey }),
  },
  list: {
    tags: ['admin'],
    summary: 'API keys, the newest first, revoked ones too',
    security: bearerSecurity,
    querystring: Type.Object({
      ...pageQuery.properties,
      userId: Type.Optional(Type.String({ description: 'Only keys of this user.' })),
      appId: Type.Optional(Type.String({ description: 'Only keys of this app.' })),
    }),
    response: responses({ 200: pageOf(apiKey) }),
  },
  create: {
    tags: ['admin'],
    summary: 'Make an API key for a user',
    security: bearerSecurity,
    body: Type.Object({
      ...settings,
      userId: requiredByHandler(Type.String()),
      actions: grantedActions,
      appId: Type.Optional(nullableText),
      orgId: Type.Optional(nullableText),
    }),
    response: responses({ 201: created }),
  },
}

export const ownSchemas = {
  ...schemasFor(['accounts']),
  rename: {
    tags: ['accounts'],
    summary: 'Rename an API key',
    security: bearerSecurity,
    params,
    body: Type.Object({ name: settings.name }),
    response: responses({ 200: apiKey }),
  },
  list: {
    tags: ['accounts'],
    summary: "The caller's API keys, the newest first, revoked ones too",
    security: bearerSecurity,
    response: responses({ 200: Type.Array(apiKey) }),
  },
  create: {
    tags: ['accounts'],
    summary: 'Make an API key that acts as the caller',
    security: bearerSecurity,
    body: Type.Object({ ...settings, actions: actions('None: only an administrator grants actions.') }),
    response: responses({ 201: created }),
  },
}
