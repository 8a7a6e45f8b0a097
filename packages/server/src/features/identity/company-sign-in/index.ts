import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { Outbound } from '../../../http/outbound.ts'
import { responses } from '../../../http/schemas.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Type } from '../../../lib/type.ts'
import type { AdminContext } from '../../operations/admin/index.ts'
import { createOidcProvider, createTransport, ProviderClient } from '../social-login/index.ts'
import { finish } from './callback.ts'
import { type CompanySignInContext, callbackPath } from './context.ts'
import { companySignInOperations } from './start.ts'

export { companySignInErrorTable } from './errors.ts'

export interface CompanySignInDeps {
  readonly administration: AdminContext
  readonly config: {
    readonly path: string
    readonly oidc: {
      readonly client_id: string
      readonly client_secret: string
      readonly scopes: readonly string[]
      readonly groups_claim: string
      readonly trusted_factors: readonly string[]
    }
  }
  readonly clock: Clock
  readonly outbound: Outbound
  readonly isDevelopment: boolean
  /** Replaces provider addresses, for tests. */
  readonly reachProvider?: ((url: string) => string) | undefined
}

const schema = {
  tags: ['admin'],
  summary: 'Finish a sign-in of an administrator with the OpenID provider',
  description:
    'For browsers that return from the provider. Starts a session in a cookie and redirects to the dashboard. A refusal is a page with the name of the error.',
  response: responses({
    200: {
      description: 'Page that closes its window, after a new authentication.',
      content: { 'text/html': { schema: Type.String() } },
    },
    303: Type.Null({ description: 'Redirects to the dashboard.' }),
  }),
}

/** Makes the feature that signs administrators in with the OpenID provider of the company. */
export function companySignIn(deps: CompanySignInDeps): Feature {
  const { administration, config, clock } = deps
  const { oidc } = config
  const { provider } = administration.methods
  const context: CompanySignInContext = {
    administration,
    isDevelopment: deps.isDevelopment,
    groupsClaim: oidc.groups_claim,
    trustedFactors: oidc.trusted_factors,
    dashboardPath: config.path,
    client:
      provider &&
      new ProviderClient(
        createOidcProvider({
          title: provider.title,
          scopes: oidc.scopes,
          claims: Object.keys(provider.roles).length > 0 ? [oidc.groups_claim] : [],
        }),
        {
          clientId: oidc.client_id,
          clientSecret: oidc.client_secret,
          storesTokens: false,
          extra: { issuer_url: provider.issuer },
        },
        { clock, transport: createTransport(deps.outbound, deps.reachProvider) },
      ),
  }
  return {
    name: 'company-sign-in',
    routes(app) {
      addOperations(app, context, companySignInOperations)
      app.get(
        callbackPath,
        {
          config: { guard: 'public', operation: 'companySignIn.finish' },
          schema,
          exposeHeadRoute: false,
        },
        (request, reply) => finish(context, request, reply),
      )
    },
  }
}
