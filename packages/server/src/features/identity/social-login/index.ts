import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { Outbound } from '../../../http/outbound.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import type { AccountContext } from '../accounts/index.ts'
import { bindBrowser } from './browser-cookie.ts'
import type { SocialLoginConfig } from './config.ts'
import { isHttps, type ResumeAuthorization, type SocialLoginContext } from './context.ts'
import { identityAdministration } from './identity-administration.ts'
import { identityOperations } from './operations.ts'
import { Popups } from './popups.ts'
import { providerAdministration } from './provider-administration.ts'
import { deleteExpiredSignIns } from './queries.ts'
import { ProviderRegistry } from './registry.ts'
import { socialLoginRoutes } from './routes.ts'
import { requireStart, startFromPage } from './start.ts'
import { defineTokenRenewal } from './token-renewal.ts'
import { createTransport } from './transport.ts'

export { bindState } from './binding.ts'
export { bindBrowserValue, browserValue, signInSeconds } from './browser-cookie.ts'
export { sendClosingPage } from './closing-page.ts'
export type { ReturnToPage } from './context.ts'
export { socialLoginErrorTable } from './errors.ts'
export { findReturnAddress, stateSuffix } from './loopback-detour.ts'
export { onlyOne } from './parameters.ts'
export { ProviderClient } from './provider-client.ts'
export { createOidcProvider } from './providers/oidc.ts'
export { type Profile, ProviderFailure } from './providers/provider.ts'
export { countClientSecretsByKey } from './queries.ts'
export { type ProviderStandIn, startProviderStandIn } from './stand-in/server.ts'
export { defineTokenRenewal } from './token-renewal.ts'
export { createTransport } from './transport.ts'

export interface SocialLoginDeps {
  readonly queue: JobQueue
  readonly accounts: AccountContext
  readonly config: SocialLoginConfig
  readonly database: SystemDatabase
  readonly notifications: Notifications
  readonly secrets: () => SecretBox
  readonly publicBaseUrl: () => string
  readonly outbound: Outbound
  /** Replaces provider addresses, for tests. */
  readonly reachProvider?: ((url: string) => string) | undefined
  /** Address of the stand-in for built-in providers without a client, only in `basalt dev`. */
  readonly providerStandIn?: string | undefined
  readonly resumeAuthorization: ResumeAuthorization
}

export interface SocialLogin {
  readonly feature: Feature
  /** Opens a stream that waits for the tokens of a sign-in in another window. */
  readonly openPopup: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
  /** Sign-in on the authorization page. */
  readonly forPage: {
    /** Lists the providers that users may sign in with. */
    list(): readonly { readonly name: string; readonly title: string }[]
    /**
     * Redirects the browser to a provider, from which it returns by {@link ResumeAuthorization}.
     *
     * @param query of the authorization request
     * @throws AppError
     */
    start(
      provider: string,
      query: string,
      request: FastifyRequest,
      reply: FastifyReply,
    ): Promise<FastifyReply>
  }
}

/** Defines the clean-up job, whether or not auth is enabled, because the schedule names it. */
export function defineSocialHousekeeping(database: SystemDatabase, queue: JobQueue): void {
  queue.define(housekeeping('social_sign_in_cleanup', () => deleteExpiredSignIns(database)))
}

/** Makes the feature that signs users in with other providers. */
export function socialLogin(deps: SocialLoginDeps): SocialLogin {
  const { accounts, secrets, publicBaseUrl, notifications, database, resumeAuthorization } = deps
  const registry = new ProviderRegistry({
    database,
    config: deps.config,
    secrets,
    notifications,
    clock: accounts.clock,
    transport: createTransport(deps.outbound, deps.reachProvider),
    standIn: deps.providerStandIn,
  })
  const popups = new Popups({ database, notifications, secrets })
  const context: SocialLoginContext = {
    accounts,
    config: deps.config,
    registry,
    popups,
    secrets,
    publicBaseUrl,
    resumeAuthorization,
  }
  defineTokenRenewal(deps.queue, context)
  return {
    feature: {
      name: 'social-login',
      routes(app) {
        void app.register(async (scope) => {
          scope.addHook('onSend', async (_request, reply) => {
            void reply.header('cache-control', 'no-store')
          })
          socialLoginRoutes(scope, context)
          const operations = [...identityOperations, ...providerAdministration, ...identityAdministration]
          addOperations(scope, context, operations)
        })
      },
      drain: () => popups.drain(),
    },
    forPage: {
      list: () => registry.listUsable(),
      start: (provider, query, request, reply) => startFromPage(context, provider, query, request, reply),
    },
    async openPopup(request, reply) {
      await requireStart(context, request)
      return await popups.open(
        reply,
        bindBrowser(request, reply, { isHttps: isHttps(context), crossSite: false }),
      )
    },
  }
}
