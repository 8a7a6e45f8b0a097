import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireOwnPage } from '../../../http/access/admin-cookie.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { ok, operation } from '../../../http/operation.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { component } from '../../../http/schemas.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { Type } from '../../../lib/type.ts'
import { perAddress, requireAllowed } from '../../operations/throttle/index.ts'
import { bindBrowserValue, bindState, stateSuffix } from '../social-login/index.ts'
import { type CompanySignInContext, keyOf, requireCompany } from './context.ts'
import { explainFailure } from './failure.ts'
import { insertRequest } from './queries.ts'
import { findReturnUrl } from './return-path.ts'

/** Limit of requests to the provider per network address, because each leaves a row for ten minutes. */
const starts = { name: 'admin.provider_sign_in', windowSeconds: 3600 }

const body = Type.Object({
  returnTo: Type.Optional(
    Type.String({ maxLength: 2000, description: 'Page of the dashboard to return to: a path.' }),
  ),
})
const ProviderRequest = component(
  'AdministratorProviderRequest',
  Type.Object({ url: Type.String({ description: 'Address of the provider, which the browser opens.' }) }),
)

const start = operation({
  id: 'companySignIn.start',
  guard: 'public',
  method: 'POST',
  path: '/api/admin/auth/oidc',
  tag: 'admin',
  summary: 'Begin a sign-in of an administrator with the OpenID provider',
  description:
    'Sets a cookie, with which only this browser can finish the sign-in. The provider returns it to a page that starts the session.',
  body,
  success: ok(ProviderRequest),
  async handle(context: CompanySignInContext, { body: { returnTo }, http }, reply) {
    requireOwnPage(http, context.administration.origins)
    return await begin(context, http, reply, { returnTo, sessionId: undefined }, {})
  },
})

const stepUp = operation({
  id: 'companySignIn.stepUp',
  guard: 'admin',
  permission: 'account',
  admitsUnenrolled: true,
  method: 'POST',
  path: '/api/admin/account/step-up/oidc',
  tag: 'administrators',
  summary: 'Authenticate again at the OpenID provider, which admits sensitive operations for ten minutes',
  description:
    'It replaces the second factor of administrators without one. The provider must report the time of the authentication. Without `returnTo`, the browser ends on a page that closes its window.',
  body,
  success: ok(ProviderRequest),
  async handle(context: CompanySignInContext, { body: { returnTo }, http }, reply) {
    const { sessionId } = adminOf(http)
    const parameters = { prompt: 'login', max_age: '0' }
    return await begin(context, http, reply, { returnTo, sessionId }, parameters)
  },
})

/** Operations that begin a request to the provider. */
export const companySignInOperations = [start, stepUp]

async function begin(
  context: CompanySignInContext,
  http: FastifyRequest,
  reply: FastifyReply,
  request: { readonly returnTo: string | undefined; readonly sessionId: string | undefined },
  parameters: Readonly<Record<string, string>>,
): Promise<{ readonly url: string }> {
  const { client, dashboardUrl, baseUrl, callbackUrl, isHttps } = requireCompany(context)
  const { log, database, throttle } = context.administration
  findReturnUrl(dashboardUrl, request.returnTo)
  const limit = { ...starts, attempts: perAddress(300, context) }
  requireAllowed(await throttle.attempt(limit, addressKey(http)))
  const state = `${randomBytes(32).toString('base64url')}${stateSuffix(http, baseUrl)}`
  const browser = bindBrowserValue(http, reply, { isHttps, crossSite: false })
  const binding = bindState(keyOf(browser), 'administrators', state, callbackUrl)
  const url = await client.createAuthorizationUrl(binding, parameters).catch((error) => {
    throw explainFailure(log, error)
  })
  await insertRequest(database, { ...request, stateHash: hashToken(state), browserHash: hashToken(browser) })
  void reply.header('cache-control', 'no-store')
  return { url: url.href }
}
