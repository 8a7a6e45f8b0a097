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

const tags = ['admin']
const params = Type.Object({ id: uuidByHandler() })

const app = component(
  'App',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    description: Type.String(),
    ownerUserId: Type.Union([Type.String({ format: 'uuid' }), Type.Null()], {
      description: 'Null once the owner is deleted, and of the default app.',
    }),
    rateLimitRps: Type.Integer({ description: 'Requests per window; 0: not limited.' }),
    rateLimitWindowSeconds: Type.Integer(),
    createdAt: Type.String(),
    updatedAt: Type.String(),
  }),
)

const settings = {
  name: requiredByHandler(Type.String({ description: 'At most 200 characters.' })),
  description: Type.Optional(Type.String({ maxLength: 10_000 })),
  rateLimitRps: Type.Optional(
    Type.Integer({ maximum: 2_147_483_647, description: 'Requests per window; 0: not limited.' }),
  ),
  rateLimitWindowSeconds: Type.Optional(Type.Integer({ maximum: 86_400, description: '0: 60 seconds.' })),
}

export const listAppsSchema = {
  tags,
  summary: 'Apps, the newest first',
  security: bearerSecurity,
  querystring: pageQuery,
  response: responses({ 200: pageOf(app) }),
}

export const createAppSchema = {
  tags,
  summary: 'Make an app',
  security: bearerSecurity,
  body: Type.Object({
    ...settings,
    ownerUserId: requiredByHandler(Type.String({ description: 'An existing user.' })),
  }),
  response: responses({ 201: app }),
}

export const getAppSchema = {
  tags,
  summary: 'An app',
  security: bearerSecurity,
  params,
  response: responses({ 200: app }),
}

export const rateLimitSchema = {
  tags,
  summary: 'How much of its rate limit an app has used',
  description:
    'In the window that ends now, over all nodes; permits that nodes hold ahead of requests count as used.',
  security: bearerSecurity,
  params,
  response: responses({
    200: Type.Object({
      limit: Type.Integer({ description: '0: not limited.' }),
      windowSeconds: Type.Integer(),
      used: Type.Integer(),
      remaining: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: not limited.' }),
    }),
  }),
}

export const updateAppSchema = {
  tags,
  summary: 'Replace an app',
  description: 'A description that is left out becomes empty; limits that are left out stay as they are.',
  security: bearerSecurity,
  params,
  body: Type.Object(settings),
  response: responses({ 200: app }),
}

export const deleteAppSchema = {
  tags,
  summary: 'Delete an app and revoke its API keys',
  security: bearerSecurity,
  params,
  response: responses({ 204: noContent }),
}
