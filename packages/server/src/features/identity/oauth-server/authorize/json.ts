import type { FastifyReply, FastifyRequest } from 'fastify'
import { actionPattern } from '../../../../http/access/actions.ts'
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
const required = (keywords: Readonly<Record<string, unknown>>) =>
  requiredByHandler(checkedByHandler(keywords, Type.String()))
const parameters = {
  response_type: required({ enum: ['code'] }),
  client_id: required({}),
  redirect_uri: required({
    description: "One of the client's redirect addresses, character by character.",
  }),
  scope: required({
    pattern: `^(${actionPattern} )*(readonly|readwrite|\\*)( ${actionPattern})*$`,
    description: 'One of `readonly`, `readwrite`, `*`, then actions: `readonly email:send`.',
  }),
  state: required({ maxLength: 2048, description: 'Up to 2048 bytes, returned unchanged.' }),
  code_challenge: required({ pattern: '^[A-Za-z0-9_-]{43}$', description: 'RFC 7636 §4.2.' }),
  code_challenge_method: required({ enum: ['S256'] }),
}
const location = Type.Object({ requires_consent: Type.Literal(false), redirect_to: Type.String() })
const redirection = Type.Null({
  description:
    'Redirects to the client. With `Accept: application/json` the response has the address instead.',
})
/** Error for an unknown client, or for an invalid token of the user. */
const refused = Type.Union([OAuthError, errorEnvelopeSchema])

const authorizeSchema = {
  tags,
  summary: 'Request authorization as the signed-in user',
  description: 'The page `/oauth/authorize` is the same for browsers and has the same parameters.',
  security: bearerSecurity,
  querystring: Type.Object(
    {
      ...parameters,
      allowed_tables: Type.Optional(
        Type.Union([Type.String(), texts], {
          description: 'Collections that the client may access. Default: all.',
        }),
      ),
      resource: Type.Optional(
        Type.Union([Type.String(), texts], {
          description: 'Resource (RFC 8707), which must be this server.',
        }),
      ),
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
    302: redirection,
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
  response: responses({ 200: location, 302: redirection, 400: OAuthError, 401: refused }),
}

/**
 * Adds the authorization endpoint with JSON responses, for the user of the token. These are plain routes,
 * because their status depends on the outcome and on `Accept`.
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
  const checked = await checkRequest(context, readQuery(query), addressKey(request))
  const code = await issueConsented(context, checked, userOf(request))
  if (code !== undefined) return redirect(request, reply, codeAddress(context, checked, code))
  return reply.send({ requires_consent: true, ...describe(checked) })
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
  const checked = await checkRequest(context, parameters, addressKey(request))
  const address =
    decision === 'deny'
      ? errorAddress(context, checked, denied())
      : codeAddress(context, checked, await approve(context, checked, userOf(request)))
  return redirect(request, reply, address)
}

function describe(request: AuthorizationRequest) {
  const { client, redirectUri, state, codeChallenge, allowedTables } = request
  return {
    client_id: client.client_id,
    client_name: client.name,
    redirect_uri: redirectUri,
    scope: formatPermission(request),
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    ...(allowedTables.length === 0 ? {} : { allowed_tables: allowedTables }),
  }
}

/** Redirects a browser. A program that accepts JSON gets the address in a response. */
function redirect({ headers }: FastifyRequest, reply: FastifyReply, address: string): FastifyReply {
  if (headers.accept?.includes('application/json') === true) {
    return reply.send({ requires_consent: false, redirect_to: address })
  }
  return reply.code(302).header('location', address).send()
}
