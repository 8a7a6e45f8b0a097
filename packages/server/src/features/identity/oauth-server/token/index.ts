import { authenticateClient } from '../clients/authenticate.ts'
import type { ClientRow } from '../clients/queries.ts'
import type { OAuthContext } from '../context.ts'
import type { Form } from '../form.ts'
import { ProtocolError } from '../protocol-error.ts'
import { requireOwnResource } from '../resource.ts'
import type { TokenAnswer } from './answer.ts'
import { redeemAuthorizationCode } from './authorization-code.ts'
import { grantClientCredentials } from './client-credentials.ts'
import { refreshTokens } from './refresh-token.ts'

type Grant = (context: OAuthContext, client: ClientRow, form: Form) => Promise<TokenAnswer>

const grants: ReadonlyMap<string, Grant> = new Map([
  ['authorization_code', redeemAuthorizationCode],
  ['refresh_token', refreshTokens],
  ['client_credentials', grantClientCredentials],
])

export const grantTypes: readonly string[] = [...grants.keys()]

/** The token endpoint (RFC 6749 §3.2). @throws ProtocolError */
export async function answerTokenRequest(
  context: OAuthContext,
  authorization: string | undefined,
  form: Form,
): Promise<TokenAnswer> {
  const grant = grants.get(form.require('grant_type'))
  if (grant === undefined) throw new ProtocolError('unsupported_grant_type', 'unsupported grant_type')
  const client = await authenticateClient(context.database, authorization, form)
  requireOwnResource(context, form.all('resource'))
  return await grant(context, client, form)
}
