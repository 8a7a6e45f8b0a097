import { Type } from 'typebox'
import { bearerSecurity, noContent, responses } from '../../../http/schemas.ts'

const tags = ['admin']

export const statusSchema = {
  tags,
  summary: 'Whether an administrator password is set',
  response: responses({ 200: Type.Object({ auth: Type.Boolean() }) }),
}

export const signInSchema = {
  tags,
  summary: 'Sign in as administrator',
  description: 'With the password, or with the code of a one-time sign-in link.',
  body: Type.Object({
    password: Type.Optional(Type.String({ maxLength: 1024 })),
    code: Type.Optional(Type.String({ maxLength: 200 })),
  }),
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
