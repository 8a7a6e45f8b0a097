import { bearerSecurity, component, noContent, responses, uuidByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { authenticationSchema, messageSchema } from '../accounts/index.ts'

const common = { tags: ['mfa'], security: bearerSecurity }
const code = Type.Optional(
  Type.String({ maxLength: 64, description: 'The digits; blanks and hyphens do not matter.' }),
)
const challengeId = Type.Optional(Type.String({ maxLength: 64 }))
const phone = Type.Optional(Type.String({ maxLength: 64, description: 'International form.' }))
const challenge = Type.Object({ challenge_id: Type.String({ format: 'uuid' }) })
const done = responses({ 200: messageSchema })

const factor = component(
  'Factor',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    method: Type.String({ description: '`totp`, `email`, `sms` or `webauthn`.' }),
    label: Type.String(),
    phone: Type.Optional(Type.String({ description: 'Masked.' })),
    email: Type.Optional(Type.String({ description: 'Masked.' })),
  }),
)

export const enrollTotpSchema = {
  ...common,
  summary: 'Begin to enrol an authenticator app',
  response: responses({
    200: Type.Object({
      factor_id: Type.String(),
      uri: Type.String(),
      secret: Type.String({ description: 'Base32; shown once.' }),
    }),
  }),
}
export const confirmSchema = {
  ...common,
  summary: 'Confirm the enrolment by a code',
  body: Type.Object({ code }),
  response: done,
}
export const challengeSchema = {
  ...common,
  summary: 'Ask for a challenge of this factor',
  response: responses({ 200: challenge }),
}
export const verifySchema = {
  ...common,
  summary: 'Verify the factor and complete the sign-in',
  body: Type.Object({ challenge_id: challengeId, code }),
  response: responses({ 200: authenticationSchema }),
}
export const enrollEmailSchema = {
  ...common,
  summary: 'Begin to enrol codes by mail',
  response: done,
}
export const enrollSmsSchema = {
  ...common,
  summary: 'Begin to enrol codes by SMS',
  body: Type.Object({ phone }),
  response: done,
}
export const confirmSmsSchema = {
  ...common,
  summary: 'Confirm the enrolment by a code',
  body: Type.Object({ phone, code }),
  response: done,
}
export const challengeSmsSchema = {
  ...common,
  summary: 'Send a code to the phone',
  response: responses({
    200: Type.Object({ challenge_id: Type.String({ format: 'uuid' }), message: Type.String() }),
  }),
}
export const backupCodesSchema = {
  ...common,
  summary: 'Ten new backup codes, shown once',
  response: responses({ 200: Type.Object({ codes: Type.Array(Type.String()) }) }),
}
export const backupCountSchema = {
  ...common,
  summary: 'How many backup codes are left',
  response: responses({ 200: Type.Object({ remaining: Type.Integer() }) }),
}
export const verifyBackupSchema = {
  ...common,
  summary: 'Complete the sign-in by a backup code',
  body: Type.Object({ code }),
  response: responses({ 200: authenticationSchema }),
}
export const factorsSchema = {
  ...common,
  summary: 'The factors of the user',
  response: responses({ 200: Type.Object({ factors: Type.Array(factor) }) }),
}
const params = Type.Object({ id: Type.String() })
const userParams = Type.Object({ id: uuidByHandler() })
export const factorSchema = {
  ...common,
  summary: 'A factor of the user',
  params,
  response: responses({ 200: factor }),
}
export const removeFactorSchema = {
  ...common,
  summary: 'Remove a factor',
  params,
  response: responses({ 204: noContent }),
}
export const adminFactorsSchema = {
  ...factorsSchema,
  tags: ['admin'],
  summary: 'The factors of a user',
  params: userParams,
}
export const adminRemoveSchema = {
  ...common,
  tags: ['admin'],
  summary: 'Remove a second factor of a user',
  description: 'With the last one the backup codes go too.',
  params: Type.Object({ id: uuidByHandler(), factorId: Type.String() }),
  response: responses({ 204: noContent }),
}
export const adminResetSchema = {
  ...common,
  tags: ['admin'],
  summary: 'Remove all second factors of a user',
  params: userParams,
  response: responses({ 204: noContent }),
}
