import {
  bearerSecurity,
  choice,
  component,
  errorEnvelopeSchema,
  formBody,
  noContent,
  pageOf,
  pageQuery,
  responses,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['oauth']
const nullableText = Type.Union([Type.String(), Type.Null()])
const texts = Type.Array(Type.String())

const protocolError = component(
  'OAuthError',
  Type.Object({ error: Type.String(), error_description: Type.String() }, { description: 'RFC 6749 §5.2.' }),
)

const client = component(
  'OAuthClient',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    appId: nullableText,
    clientId: Type.String(),
    name: Type.String(),
    redirectUris: texts,
    scopes: texts,
    clientType: Type.String({ description: '`confidential` or `public`.' }),
    source: Type.String({
      description:
        'Who has registered it: `administrator`; `registration`: itself; `document`: none, its id is the address of its document.',
    }),
    createdAt: Type.String(),
    updatedAt: Type.String(),
    revokedAt: nullableText,
    activeAccessTokenCount: Type.Integer(),
    activeRefreshTokenCount: Type.Integer(),
    totalGrants: Type.Integer(),
    lastTokenIssuedAt: nullableText,
  }),
)
const clientParams = Type.Object({ clientId: Type.String() })
const clientSettings = {
  name: Type.Optional(Type.String({ description: 'Shown to people; at most 200 characters.' })),
  redirectUris: Type.Optional(texts),
  scopes: Type.Optional(
    Type.Array(Type.String(), {
      description:
        '`readonly`, `readwrite`, `*`; beside them actions: `email:send`, `sms:send`, `push:send`, of which `*` includes none.',
    }),
  ),
}

export const clientSchemas = {
  list: {
    tags,
    summary: 'OAuth clients, the newest first, revoked ones too',
    security: bearerSecurity,
    querystring: Type.Object({
      ...pageQuery.properties,
      appId: Type.Optional(Type.String({ description: 'Only clients of this app.' })),
    }),
    response: responses({ 200: pageOf(client) }),
  },
  create: {
    tags,
    summary: 'Register an OAuth client',
    security: bearerSecurity,
    body: Type.Object({
      ...clientSettings,
      appId: Type.Optional(Type.String()),
      clientType: Type.Optional(Type.String({ description: '`confidential` unless given, or `public`.' })),
    }),
    response: responses({
      201: Type.Object({
        clientSecret: Type.Optional(
          Type.String({ description: 'Shown this once; public clients have none.' }),
        ),
        client,
      }),
    }),
  },
  get: {
    tags,
    summary: 'An OAuth client',
    security: bearerSecurity,
    params: clientParams,
    response: responses({ 200: client }),
  },
  update: {
    tags,
    summary: 'Change an OAuth client',
    description: 'All members are required; type and app stay.',
    security: bearerSecurity,
    params: clientParams,
    body: Type.Object(clientSettings),
    response: responses({ 200: client }),
  },
  revoke: {
    tags,
    summary: 'Revoke an OAuth client and all that it was given',
    security: bearerSecurity,
    params: clientParams,
    response: responses({ 204: noContent }),
  },
  rotateSecret: {
    tags,
    summary: 'Give an OAuth client another secret',
    description: 'The one before ends at once.',
    security: bearerSecurity,
    params: clientParams,
    response: responses({ 200: Type.Object({ clientSecret: Type.String() }) }),
  },
}

const asked = {
  response_type: Type.Optional(Type.String({ description: '`code`.' })),
  client_id: Type.Optional(Type.String()),
  redirect_uri: Type.Optional(Type.String({ description: 'One of the client, character by character.' })),
  scope: Type.Optional(
    Type.String({
      description: 'One of `readonly`, `readwrite`, `*`, then actions: `readonly email:send`.',
    }),
  ),
  state: Type.Optional(Type.String({ description: 'Up to 2048 bytes, returned as they are.' })),
  code_challenge: Type.Optional(Type.String({ description: 'RFC 7636 §4.2.' })),
  code_challenge_method: Type.Optional(Type.String({ description: '`S256`.' })),
}
const led = Type.Object({ requires_consent: Type.Literal(false), redirect_to: Type.String() })
const redirect = Type.Null({
  description: 'To the client; for `Accept: application/json` the address instead.',
})

/** The client is unknown, or the token of the user is not valid. */
const refused = Type.Union([protocolError, errorEnvelopeSchema])

export const authorizeSchema = {
  tags,
  summary: 'Ask for authorization as the signed-in user',
  description: 'For people there is the page `/oauth/authorize`, which takes the same parameters.',
  security: bearerSecurity,
  querystring: Type.Object(
    {
      ...asked,
      allowed_tables: Type.Optional(
        Type.Union([Type.String(), texts], { description: 'Collections; none: all.' }),
      ),
      resource: Type.Optional(Type.Union([Type.String(), texts], { description: 'RFC 8707; this server.' })),
      // Parameters that are not recognized are ignored (RFC 6749 §3.1).
    },
    { additionalProperties: true },
  ),
  response: responses({
    200: Type.Union([
      Type.Object({
        requires_consent: Type.Literal(true),
        client_id: Type.String(),
        client_name: Type.String(),
        redirect_uri: Type.String(),
        scope: Type.String(),
        state: Type.String(),
        code_challenge: Type.String(),
        code_challenge_method: Type.String(),
        allowed_tables: Type.Optional(texts),
      }),
      led,
    ]),
    302: redirect,
    400: protocolError,
    401: refused,
  }),
}

export const consentSchema = {
  tags,
  summary: 'Approve or deny what a client asks for',
  security: bearerSecurity,
  body: Type.Object({
    ...asked,
    decision: Type.Optional(Type.String({ description: '`approve` or `deny`.' })),
    allowed_tables: Type.Optional(Type.Union([texts, Type.Null()])),
    resource: Type.Optional(Type.String()),
  }),
  response: responses({ 200: led, 302: redirect, 400: protocolError, 401: refused }),
}

/** Credentials of a client in a form, where it does not send them by HTTP Basic (RFC 6749 §2.3.1). */
const clientCredentials = {
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Type.String()),
}

const tokenForm = component(
  'OAuthTokenForm',
  Type.Object({
    token: Type.String(),
    token_type_hint: Type.Optional(Type.String()),
    ...clientCredentials,
  }),
)

export const tokenSchema = {
  tags,
  summary: 'Exchange a code, a refresh token or client credentials for tokens',
  description:
    'RFC 6749 §3.2. A form with `grant_type` (`authorization_code`, `refresh_token`, `client_credentials`), ' +
    '`client_id` and `client_secret` (or HTTP Basic), and by the type of grant `code`, `redirect_uri` and ' +
    '`code_verifier`; `refresh_token` and, for a narrower access token, `scope`; or `scope` and `allowed_tables`.',
  documentedBody: formBody(
    Type.Object({
      grant_type: choice(['authorization_code', 'refresh_token', 'client_credentials']),
      ...clientCredentials,
      code: Type.Optional(Type.String()),
      redirect_uri: Type.Optional(Type.String()),
      code_verifier: Type.Optional(Type.String({ minLength: 43, maxLength: 128 })),
      refresh_token: Type.Optional(Type.String()),
      scope: Type.Optional(Type.String()),
      allowed_tables: Type.Optional(Type.String()),
    }),
  ),
  response: responses({
    200: Type.Object({
      access_token: Type.String(),
      token_type: Type.Literal('Bearer'),
      expires_in: Type.Integer(),
      refresh_token: Type.Optional(Type.String()),
      scope: Type.String(),
      allowed_tables: Type.Optional(texts),
    }),
    400: protocolError,
    401: protocolError,
  }),
}

export const revokeSchema = {
  tags,
  summary: 'Revoke a token',
  description: 'RFC 7009. A form with `token`; a refresh token ends with all that was given with it.',
  documentedBody: formBody(tokenForm),
  response: responses({
    200: Type.Object({}, { description: 'Also when there is no such token.' }),
    400: protocolError,
  }),
}

export const introspectSchema = {
  tags,
  summary: 'Ask what a token is good for',
  description:
    'RFC 7662. A form with `token`, for confidential clients, which authenticate as at the token endpoint; of tokens of ' +
    'clients of the same app.',
  documentedBody: formBody(tokenForm),
  response: responses({
    200: Type.Object({ active: Type.Boolean() }, { additionalProperties: true }),
    400: protocolError,
    401: protocolError,
  }),
}

export const registerSchema = {
  tags,
  summary: 'Register a client',
  description:
    'RFC 7591, while `auth.oauth_provider.dynamic_registration` is on. `redirect_uris` is required; `client_name`, `scope` and ' +
    '`token_endpoint_auth_method` (`client_secret_basic`, `client_secret_post`, `none`) may be given; other members are ignored.',
  body: Type.Record(Type.String(), Type.Unknown()),
  response: responses({
    201: Type.Object({
      client_id: Type.String(),
      client_secret: Type.Optional(Type.String()),
      client_id_issued_at: Type.Integer(),
      client_secret_expires_at: Type.Optional(Type.Literal(0)),
      client_name: Type.String(),
      redirect_uris: texts,
      token_endpoint_auth_method: Type.String(),
      grant_types: texts,
      response_types: texts,
      scope: Type.String(),
    }),
    400: protocolError,
  }),
}

const metadata = Type.Object({}, { additionalProperties: true })
export const serverMetadataSchema = {
  tags,
  summary: 'The authorization server (RFC 8414)',
  response: responses({ 200: metadata }),
}
export const resourceMetadataSchema = {
  tags,
  summary: 'The protected resource (RFC 9728)',
  response: responses({ 200: metadata }),
}

const grant = component(
  'OAuthGrant',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    clientId: Type.String(),
    clientName: Type.String(),
    scope: Type.String({ description: 'As tokens have it: `readonly email:send`.' }),
    allowedTables: Type.Array(Type.String(), { description: 'Empty: all.' }),
    createdAt: Type.String(),
    updatedAt: Type.String(),
    lastTokenIssuedAt: nullableText,
  }),
)
const grantOfUser = component(
  'OAuthGrantOfUser',
  Type.Object({ ...grant.properties, userId: Type.String(), email: Type.String() }),
)

export const listGrantsSchema = {
  tags,
  summary: 'Programs that the caller lets in',
  security: bearerSecurity,
  response: responses({ 200: Type.Array(grant) }),
}
export const userGrantsSchema = {
  tags: ['admin'],
  summary: 'Programs that a user lets in',
  security: bearerSecurity,
  params: Type.Object({ id: uuidByHandler() }),
  response: responses({ 200: Type.Array(grantOfUser) }),
}
export const clientGrantsSchema = {
  tags: ['admin'],
  summary: 'Users who let an OAuth client in, the latest first',
  security: bearerSecurity,
  params: Type.Object({ clientId: Type.String() }),
  response: responses({ 200: Type.Array(grantOfUser) }),
}
export const revokeUserGrantSchema = {
  tags: ['admin'],
  summary: 'Let a program of a user in no longer',
  description: 'Its tokens end on every node within a second.',
  security: bearerSecurity,
  params: Type.Object({ id: uuidByHandler(), grantId: Type.String() }),
  response: responses({ 204: noContent }),
}
export const revokeGrantSchema = {
  tags,
  summary: 'Let a program in no longer',
  description: 'Its tokens end on every node within a second.',
  security: bearerSecurity,
  params: Type.Object({ id: Type.String() }),
  response: responses({ 204: noContent }),
}
