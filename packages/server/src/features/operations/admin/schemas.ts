import { bearerSecurity, component, noContent, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['admin']

export const statusSchema = {
  tags,
  summary: 'Whether an administrator password is set',
  response: responses({ 200: Type.Object({ auth: Type.Boolean() }) }),
}

const credentials = Type.Object({
  password: Type.Optional(Type.String({ maxLength: 1024 })),
  code: Type.Optional(Type.String({ maxLength: 200 })),
})

export const signInSchema = {
  tags,
  summary: 'Sign in as administrator',
  description: 'With the password, or with the code of a one-time sign-in link.',
  body: credentials,
  response: responses({
    200: Type.Object({ token: Type.String(), expiresAt: Type.String({ description: 'RFC 3339, UTC.' }) }),
  }),
}

export const signOutSchema = {
  tags,
  summary: 'End the session of this admin token',
  security: bearerSecurity,
  response: responses({ 204: noContent }),
}

const session = component(
  'AdminSession',
  Type.Object({
    expiresAt: Type.String({ description: 'RFC 3339, UTC: unless another request comes before.' }),
  }),
)

export const startSessionSchema = {
  tags,
  summary: 'Sign in as administrator in the dashboard',
  description:
    'Sets an HttpOnly cookie that counts as an admin token on every route, for requests of pages of this server that carry `x-basalt-dashboard: 1`. The session ends after two hours without a request, and after twelve hours.',
  body: credentials,
  response: responses({ 200: session }),
}

export const sessionSchema = {
  tags,
  summary: 'When the session of this cookie or admin token ends',
  security: bearerSecurity,
  response: responses({ 200: session }),
}

export const endSessionSchema = {
  tags,
  summary: 'End the session of this cookie or admin token',
  security: bearerSecurity,
  response: responses({ 204: noContent }),
}
