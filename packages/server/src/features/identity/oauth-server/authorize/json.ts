import type { FastifyReply, FastifyRequest } from 'fastify'
import { actions } from '../../../../http/access/actions.ts'
import { userOf } from '../../../../http/access/authentication.ts'
import { addressKey } from '../../../../http/requests/client-address.ts'
import {
  bearerSecurity,
  checkedByHandler,
  errorEnvelopeSchema,
  requiredByHandler,
  responses,
} from '../../../../http/schemas.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { type Static, Type } from '../../../../lib/type.ts'
import { type OAuthContext, requireEnabled } from '../context.ts'
import { answerProtocolError, bodyErrors, OAuthError, ProtocolError } from '../protocol-error.ts'
import { formatPermission } from '../scopes.ts'
import { approve, issueConsented } from './consent.ts'
import { codeAddress, denied, errorAddress } from './redirect.ts'
import { type AuthorizationRequest, checkRequest, readBody, readQuery } from './request.ts'

const tags = ['oauth']
const texts = Type.Array(Type.String())
const action = actions.join('|')
const required = (keywords: Readonly<Record<string, unknown>>) =>
  requiredByHandler(checkedByHandler(keywords, Type.String()))
const parameters = {
  response_type: required({ enum: ['code'] }),
  client_id: required({}),
  redirect_uri: required({
    description: 'One of the client, character by character.',
  }),
  scope: required({
    pattern: `^((${action}) )*(readonly|readwrite|\\*)( (${action}))*$`,
    description: 'One of `readonly`, `readwrite`, `*`, then actions: `readonly email:send`.',
  }),
  state: required({ maxLength: 2048, description: 'Up to 2048 bytes, returned as they are.' }),
  code_challenge: required({ pattern: '^[A-Za-z0-9_-]{43}$', description: 'RFC 7636 §4.2.' }),
  code_challenge_method: required({ enum: ['S256'] }),
}
const location = Type.Object({ requires_consent: Type.Literal(false), redirect_to: Type.String() })
const redirect = Type.Null({
  description: 'To the client; for `Accept: application/json` the address instead.',
})
/** An unknown client, or an invalid token of the user. */
const refused = Type.Union([OAuthError, errorEnvelopeSchema])

const authorizeSchema = {
  tags,
  summary: 'Request authorization as the signed-in user',
  description: 'For people there is the page `/oauth/authorize`, which takes the same parameters.',
  security: bearerSecurity,
  querystring: Type.Object(
    {
      ...parameters,
      allowed_tables: Type.Optional(
        Type.Union([Type.String(), texts], { description: 'Collections; none: all.' }),
      ),
      resource: Type.Optional(Type.Union([Type.String(), texts], { description: 'RFC 8707; this server.' })),
    },
    // Unknown parameters are ignored (RFC 6749 §3.1).
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
      location,
    ]),
    302: redirect,
    400: OAuthError,
    401: refused,
  }),
}

const consentBody = Type.Object({
  ...parameters,
  decision: required({ enum: ['approve', 'deny'] }),
  allowed_tables: Type.Optional(Type.Union([texts, Type.Null()])),
  resource: Type.Optional(Type.String()),
})

const consentSchema = {
  tags,
  summary: 'Approve or deny the request of a client',
  security: bearerSecurity,
  body: consentBody,
  response: responses({ 200: location, 302: redirect, 400: OAuthError, 401: refused }),
}

/**
 * Authorization endpoint as JSON: the user is the owner of the token. Routes of their own, whose status depends on the
 * outcome and on `Accept`.
 */
export function authorizeRoutes(app: HttpServer, context: OAuthContext): void {
  void app.register(async (scope: HttpServer) => {
    scope.setErrorHandler((error, _request, reply) => answerProtocolError(error, reply, bodyErrors.ofJson))
    scope.get(
      '/api/auth/authorize',
      { config: { guard: 'bearer', operation: 'oauth.authorize' }, schema: authorizeSchema },
      (request, reply) => answerAuthorize(context, request, reply),
    )
    scope.post(
      '/api/auth/authorize/consent',
      { config: { guard: 'bearer', operation: 'oauth.consent' }, schema: consentSchema },
      (request, reply) => answerConsent(context, request, request.body, reply),
    )
  })
}

async function answerAuthorize(
  context: OAuthContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  requireEnabled(context)
  const [, query = ''] = request.raw.url?.split(/\?(.*)/s) ?? []
  const asked = await checkRequest(context, readQuery(query), addressKey(request))
  const code = await issueConsented(context, asked, userOf(request))
  if (code !== undefined) return lead(request, reply, codeAddress(context, asked, code))
  return reply.send({ requires_consent: true, ...describe(asked) })
}

async function answerConsent(
  context: OAuthContext,
  request: FastifyRequest,
  body: Static<typeof consentBody>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  requireEnabled(context)
  const { decision, allowed_tables, resource, ...rest } = body
  if (decision !== 'approve' && decision !== 'deny') {
    throw new ProtocolError('invalid_request', 'decision must be approve or deny')
  }
  const parameters = readBody({
    ...rest,
    allowed_tables: allowed_tables ?? [],
    resource: resource === undefined ? [] : [resource],
  })
  const asked = await checkRequest(context, parameters, addressKey(request))
  const address =
    decision === 'deny'
      ? errorAddress(context, asked, denied())
      : codeAddress(context, asked, await approve(context, asked, userOf(request)))
  return lead(request, reply, address)
}

function describe(asked: AuthorizationRequest) {
  const { client, redirectUri, state, codeChallenge, allowedTables } = asked
  return {
    client_id: client.client_id,
    client_name: client.name,
    redirect_uri: redirectUri,
    scope: formatPermission(asked),
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    ...(allowedTables.length === 0 ? {} : { allowed_tables: allowedTables }),
  }
}

/** Redirects a browser; answers a program that accepts JSON with the address. */
function lead({ headers }: FastifyRequest, reply: FastifyReply, address: string): FastifyReply {
  if (headers.accept?.includes('application/json') === true) {
    return reply.send({ requires_consent: false, redirect_to: address })
  }
  return reply.code(302).header('location', address).send()
}
