import {
  bearerSecurity,
  component,
  noContent,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['accounts']
const text = (description: string, maxLength: number) =>
  requiredByHandler(Type.String({ maxLength, description }))
const email = text('One address.', 320)
/** Refused by length later, with the documented message; this bound only keeps out what no password is. */
const password = text('At least `auth.min_password_length` characters.', 8192)
const token = text('What the link carries.', 4096)

export const userObject = component(
  'User',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    email: Type.String({ description: 'Empty when there is none.' }),
    emailVerified: Type.Boolean(),
    phone: Type.Optional(Type.String({ description: 'E.164.' })),
    is_anonymous: Type.Boolean(),
    linked_at: Type.Optional(Type.String({ description: 'When an anonymous user got credentials.' })),
    createdAt: Type.String({ description: 'RFC 3339, UTC.' }),
    updatedAt: Type.String(),
  }),
)

export const authentication = component(
  'Authentication',
  Type.Object({
    token: Type.String({ description: 'Access token, a JWT.' }),
    refreshToken: Type.String({ description: 'Opaque; replaced at every refresh.' }),
    user: userObject,
  }),
)
const pending = component(
  'PendingAuthentication',
  Type.Object({
    mfa_pending: Type.Literal(true),
    mfa_token: Type.String({ description: 'For the endpoints of the second factor; lasts five minutes.' }),
  }),
)
/** Of a first factor. */
export const authenticationOrPending = Type.Union([authentication, pending])
/** Of an account that was made and has to be verified first. */
const authenticationOrUnverified = Type.Union([
  authentication,
  Type.Object({ user: userObject, message: Type.String() }),
])
export const message = component('Message', Type.Object({ message: Type.String() }))

export const session = component(
  'Session',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    user_agent: Type.String(),
    ip_address: Type.String(),
    created_at: Type.String(),
    last_active_at: Type.String(),
    current: Type.Boolean({ description: 'The one of this request.' }),
    impersonated_by: Type.Optional(
      Type.String({ description: 'The administrator who acts as the user in it.' }),
    ),
  }),
)

const credentials = Type.Object({ email, password })

export const registerSchema = {
  tags,
  summary: 'Make an account and sign in',
  description: 'With `auth.require_verified_email` there are no tokens before the address is verified.',
  body: credentials,
  response: responses({ 201: authenticationOrUnverified }),
}

export const logInSchema = {
  tags,
  summary: 'Sign in with email and password',
  body: credentials,
  response: responses({ 200: authenticationOrPending }),
}

export const meSchema = {
  tags,
  summary: 'The signed-in user',
  security: bearerSecurity,
  response: responses({ 200: userObject }),
}

export const deleteMeSchema = {
  tags,
  summary: 'Delete the signed-in user',
  description:
    'Sessions, tokens and codes go with it. With a second factor enrolled this takes an aal2 session.',
  security: bearerSecurity,
  response: responses({ 204: noContent }),
}

export const refreshSchema = {
  tags,
  summary: 'New tokens for a session',
  description:
    'The refresh token is replaced. Sent again within ten seconds it answers the same successor; later it ends the session.',
  body: Type.Object({ refreshToken: token }),
  response: responses({ 200: authentication }),
}

export const logOutSchema = {
  tags,
  summary: 'End the session of a refresh token',
  body: Type.Object({ refreshToken: token }),
  response: responses({ 204: noContent }),
}

export const sessionsSchema = {
  tags,
  summary: 'Sessions of the signed-in user',
  security: bearerSecurity,
  response: responses({ 200: Type.Array(session) }),
}

export const revokeSessionSchema = {
  tags,
  summary: 'End a session',
  security: bearerSecurity,
  params: Type.Object({ id: uuidByHandler() }),
  response: responses({ 204: noContent }),
}

export const revokeOthersSchema = {
  tags,
  summary: 'End all sessions but this one',
  security: bearerSecurity,
  querystring: Type.Object({ all_except_current: Type.Optional(Type.Unknown({ description: '`true`' })) }),
  response: responses({ 204: noContent }),
}

export const changePasswordSchema = {
  tags,
  summary: 'Change the password',
  description: 'All other sessions end. A user without a password sets one without `currentPassword`.',
  security: bearerSecurity,
  body: Type.Object({
    currentPassword: Type.Optional(Type.String({ maxLength: 8192 })),
    newPassword: password,
  }),
  response: responses({ 200: message }),
}

export const passwordResetSchema = {
  tags,
  summary: 'Ask for a link to reset the password',
  description: 'The answer is the same whether there is such an account or not.',
  body: Type.Object({ email }),
  response: responses({ 200: message }),
}

export const passwordResetConfirmSchema = {
  tags,
  summary: 'Set a password by a mailed token',
  body: Type.Object({ token, password }),
  response: responses({ 200: message }),
}

export const verifySchema = {
  tags,
  summary: 'Verify an email by a mailed token',
  body: Type.Object({ token }),
  response: responses({ 200: message }),
}

export const resendSchema = {
  tags,
  summary: 'Ask for another verification mail',
  security: bearerSecurity,
  response: responses({ 200: message }),
}

export const magicLinkSchema = {
  tags,
  summary: 'Ask for a sign-in link',
  body: Type.Object({ email }),
  response: responses({ 200: message }),
}

export const magicLinkConfirmSchema = {
  tags,
  summary: 'Sign in by a mailed token',
  description: 'With the access token of an anonymous user, that account gets the address and keeps its id.',
  security: [{}, ...bearerSecurity],
  body: Type.Object({ token }),
  response: responses({ 200: authenticationOrPending }),
}

export const smsSchema = {
  tags,
  summary: 'Ask for a code by SMS',
  description: 'The answer is the same whatever the number.',
  body: Type.Object({ phone: text('International form, such as +12025550123.', 64) }),
  response: responses({ 200: message }),
}

export const smsConfirmSchema = {
  tags,
  summary: 'Sign in by a code from SMS',
  body: Type.Object({
    phone: text('The number the code was sent to.', 64),
    code: text('Digits.', 64),
  }),
  response: responses({ 200: authenticationOrPending }),
}

export const anonymousSchema = {
  tags,
  summary: 'Sign in without telling who one is',
  response: responses({ 201: authentication }),
}

export const linkEmailSchema = {
  tags,
  summary: 'Give an anonymous account an email and a password',
  security: bearerSecurity,
  description: 'With `auth.require_verified_email` there are no tokens before the address is verified.',
  body: credentials,
  response: responses({ 200: authenticationOrUnverified }),
}
