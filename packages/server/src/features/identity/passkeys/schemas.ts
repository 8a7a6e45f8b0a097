import { bearerSecurity, component, noContent, responses, uuidByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { authenticationSchema, messageSchema } from '../accounts/index.ts'

const tags = ['passkeys']
const common = { tags, security: bearerSecurity }
const displayName = Type.Optional(
  Type.String({ maxLength: 1024, description: 'What the user calls it; at most 100 characters.' }),
)
const challengeId = Type.Optional(Type.String({ maxLength: 64 }))

const descriptor = Type.Object({
  type: Type.Literal('public-key'),
  id: Type.String({ description: 'Base64url.' }),
  transports: Type.Optional(Type.Array(Type.String())),
})
const challenge = Type.String({ description: 'Base64url.' })
const timeout = Type.Integer({ description: 'Milliseconds.' })

const creationOptions = component(
  'PasskeyCreationOptions',
  Type.Object(
    {
      rp: Type.Object({ id: Type.String(), name: Type.String() }),
      user: Type.Object({
        id: Type.String({ description: 'Base64url.' }),
        name: Type.String(),
        displayName: Type.String(),
      }),
      challenge,
      pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
      timeout,
      excludeCredentials: Type.Array(descriptor),
      authenticatorSelection: Type.Object({
        residentKey: Type.String(),
        requireResidentKey: Type.Boolean(),
        userVerification: Type.String(),
      }),
      attestation: Type.Literal('none'),
      extensions: Type.Object({ credProps: Type.Boolean() }),
    },
    { description: 'For `PublicKeyCredential.parseCreationOptionsFromJSON`.' },
  ),
)

const asked = component(
  'PasskeyRequestOptions',
  Type.Object({
    challenge_id: Type.String({ format: 'uuid' }),
    options: Type.Object(
      {
        rpId: Type.String(),
        challenge,
        timeout,
        userVerification: Type.String(),
        allowCredentials: Type.Optional(Type.Array(descriptor)),
      },
      { description: 'For `PublicKeyCredential.parseRequestOptionsFromJSON`.' },
    ),
  }),
)

const given = component(
  'PasskeyAssertion',
  Type.Object({
    challenge_id: challengeId,
    assertion_response: Type.Optional(
      Type.Unknown({ description: 'What `navigator.credentials.get` answered, by `toJSON()`.' }),
    ),
    challengeId: Type.Optional(Type.String({ maxLength: 64, description: 'The same as `challenge_id`.' })),
    assertion: Type.Optional(Type.Unknown({ description: 'The same as `assertion_response`.' })),
  }),
)

const passkey = component(
  'Passkey',
  Type.Object({
    credential_id: Type.String({ description: 'Base64url.' }),
    display_name: Type.String(),
    transports: Type.Array(Type.String()),
    created_at: Type.String(),
    last_used_at: Type.Optional(Type.String({ description: 'Only once it was used.' })),
  }),
)

export const enrollSchema = {
  ...common,
  summary: 'Begin to add a passkey',
  description: 'With a factor enrolled already, the session must have passed two factors.',
  response: responses({ 200: creationOptions }),
}
export const confirmSchema = {
  ...common,
  summary: 'Add the passkey that was made',
  body: Type.Object({
    display_name: displayName,
    attestation_response: Type.Optional(
      Type.Unknown({ description: 'What `navigator.credentials.create` answered, by `toJSON()`.' }),
    ),
    attestation: Type.Optional(Type.Unknown({ description: 'The same as `attestation_response`.' })),
  }),
  response: responses({ 200: messageSchema }),
}
export const challengeSchema = {
  ...common,
  summary: 'Ask for a passkey as second factor',
  response: responses({ 200: asked }),
}
export const verifySchema = {
  ...common,
  summary: 'Complete the sign-in by a passkey',
  body: given,
  response: responses({ 200: authenticationSchema }),
}
export const beginSchema = {
  tags,
  summary: 'Begin to sign in by a passkey of an account',
  description: 'The answer has the same form whether there is such an account or not.',
  body: Type.Object({ email: Type.Optional(Type.String({ maxLength: 320, description: 'One address.' })) }),
  response: responses({ 200: asked }),
}
export const beginDiscoverableSchema = {
  tags,
  summary: 'Begin to sign in by any passkey of this site',
  response: responses({ 200: asked }),
}
export const finishSchema = {
  tags,
  summary: 'Sign in by a passkey',
  body: given,
  response: responses({ 200: authenticationSchema }),
}
export const listSchema = {
  ...common,
  summary: 'The passkeys of the user',
  response: responses({ 200: Type.Object({ credentials: Type.Array(passkey) }) }),
}
export const adminListSchema = {
  ...common,
  tags: ['admin'],
  summary: 'The passkeys of a user',
  params: Type.Object({ id: uuidByHandler() }),
  response: listSchema.response,
}
export const adminRemoveSchema = {
  ...common,
  tags: ['admin'],
  summary: 'Remove a passkey of a user',
  description: 'With the last one the factor goes, and with the last factor the backup codes.',
  params: Type.Object({ id: uuidByHandler(), credential_id: Type.String() }),
  response: responses({ 204: noContent }),
}
const params = Type.Object({ credential_id: Type.String() })
export const renameSchema = {
  ...common,
  summary: 'Rename a passkey',
  params,
  body: Type.Object({ display_name: displayName }),
  response: responses({ 200: passkey }),
}
export const removeSchema = {
  ...common,
  summary: 'Delete one of several passkeys',
  description: 'The session must have passed two factors.',
  params,
  response: responses({ 204: noContent }),
}
export const removeAllSchema = {
  ...common,
  summary: 'Remove all passkeys',
  description: 'The session must have passed two factors. With the last factor the backup codes go too.',
  response: responses({ 204: noContent }),
}
