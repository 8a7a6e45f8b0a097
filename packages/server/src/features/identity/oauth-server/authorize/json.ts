import type { FastifyReply, FastifyRequest } from 'fastify'
import { userOf } from '../../../../http/access/authentication.ts'
import { addressKey } from '../../../../http/requests/client-address.ts'
import type { OAuthContext } from '../context.ts'
import { ProtocolError } from '../protocol-error.ts'
import { formatPermission } from '../scopes.ts'
import { approve, issueConsented } from './consent.ts'
import { codeAddress, denied, errorAddress } from './redirect.ts'
import { type AuthorizationRequest, checkRequest, type Parameters, readBody, readQuery } from './request.ts'

/** The form of the authorization endpoint for programs: the user is who the token says, and errors are answered as JSON. */
export async function answerAuthorize(
  context: OAuthContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [, query = ''] = request.raw.url?.split(/\?(.*)/s) ?? []
  const asked = await checkRequest(context, readQuery(query), addressKey(request))
  const code = await issueConsented(context, asked, userOf(request))
  if (code !== undefined) return lead(request, reply, codeAddress(context, asked, code))
  return reply.send({ requires_consent: true, ...describe(asked) })
}

export interface ConsentBody extends Omit<Parameters, 'encodedState' | 'allowed_tables' | 'resource'> {
  readonly decision?: string
  readonly allowed_tables?: readonly string[] | null
  readonly resource?: string
}

export async function answerConsent(
  context: OAuthContext,
  request: FastifyRequest,
  body: ConsentBody,
  reply: FastifyReply,
): Promise<FastifyReply> {
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

/** To a browser a redirect; to a program that asks for it the address. */
function lead({ headers }: FastifyRequest, reply: FastifyReply, address: string): FastifyReply {
  if (headers.accept?.includes('application/json') === true) {
    return reply.send({ requires_consent: false, redirect_to: address })
  }
  return reply.code(302).header('location', address).send()
}
