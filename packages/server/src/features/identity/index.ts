import { isReachedAtLoopback } from '../../config/development.ts'
import type { Queryable } from '../../database/system-database.ts'
import type { Feature } from '../../feature.ts'
import type { TokenVerifier, UserIdentity } from '../../http/access/identity.ts'
import { createOutbound, type Resolve } from '../../http/outbound.ts'
import type { Platform } from '../../platform.ts'
import type { AdminContext } from '../operations/admin/index.ts'
import {
  type AccountContext,
  accounts,
  createAccessTokenVerifier,
  defineAccountHousekeeping,
  deriveKeys,
  EndedSessions,
  lockSelf,
  refuseEndedSessions,
  requirePassedFactor,
  userIds,
} from './accounts/index.ts'
import { ApiKeyVerifier, apiKeys } from './api-keys/index.ts'
import { AppLimiter, apps, createCallerLimiter, type LeasedCallerLimiter } from './apps/index.ts'
import { AuthSettings, authSettings } from './auth-settings/index.ts'
import { AccountCallers } from './callers/index.ts'
import { Captcha, captchas } from './captcha/index.ts'
import { companySignIn } from './company-sign-in/index.ts'
import { defineUnfinishedHousekeeping, mfa, secondFactors } from './mfa/index.ts'
import {
  ClientDocuments,
  createOAuthTokens,
  defineOAuthHousekeeping,
  oauthServer,
  requireRegistration,
  resourceMetadataUrl,
} from './oauth-server/index.ts'
import { hasTwoFactors, passkeys } from './passkeys/index.ts'
import {
  defineSocialHousekeeping,
  defineTokenRenewal,
  type SocialLogin,
  socialLogin,
} from './social-login/index.ts'

export type IdentityPorts = Pick<
  AccountContext,
  'passwords' | 'breachedPasswords' | 'throttle' | 'mail' | 'sms' | 'functions'
> & {
  /** Returns the key of the access tokens. It is called only while auth is enabled. */
  readonly jwtSecret: () => string
  /** Redirects requests to a sign-in provider or client, for tests. */
  readonly reachProvider?: ((url: string) => string) | undefined
  /** Address of the stand-in for built-in sign-in providers without a client, only in `basalt dev`. */
  readonly providerStandIn?: string | undefined
  /** Resolver of host names in client metadata, replaced by tests. */
  readonly resolve?: Resolve | undefined
  /** Dependencies of the administrators, who sign in with a provider, too. */
  readonly administration: AdminContext
  /** Switches of the sign-in methods. Undefined without auth. */
  readonly settings: AuthSettings | undefined
}

export interface Identity {
  readonly features: readonly Feature[]
  readonly verifiers: readonly TokenVerifier[]
  /** Rate limiter of apps. */
  readonly limiter: AppLimiter
  /** Rate limiter of users and addresses. Undefined without limits. */
  readonly callerLimiter: LeasedCallerLimiter | undefined
  /** Finder of callers whose access is explained. Undefined without auth. */
  readonly callers?: AccountCallers
  /** Opens streams that wait for a sign-in with a provider. Undefined without auth. */
  readonly openPopup?: SocialLogin['openPopup']
  /** Returns the metadata address where programs learn how to get tokens. Undefined while they cannot get any. */
  readonly resourceMetadataUrl?: (() => string) | undefined
}

/**
 * Opens the switches of the sign-in methods, which administrators change at run time. Returns undefined
 * without auth.
 */
export function openAuthSettings({ config, database, notifications }: Platform): AuthSettings | undefined {
  return config.auth.enabled ? new AuthSettings(database.system, config.auth, notifications) : undefined
}

/**
 * Wires the features by which users and programs sign in, and the limits on their access. Without auth only
 * apps are administered.
 */
export function wireIdentity(
  platform: Platform,
  { jwtSecret, reachProvider, providerStandIn, resolve, settings, administration, ...ports }: IdentityPorts,
): Identity {
  const { config, isDevelopment, clock, log, notifications, queue, publicBaseUrl } = platform
  const database = platform.database.system
  defineAccountHousekeeping(database, queue, config.auth.clean_up.anonymous_days)
  defineUnfinishedHousekeeping(database, queue, config.auth.clean_up)
  defineOAuthHousekeeping(database, queue)
  defineSocialHousekeeping(database, queue)
  const limiter = new AppLimiter(database, clock)
  const callerLimiter = createCallerLimiter(config.limits.requests_per_minute, database, clock)
  const company = companySignIn({
    administration,
    config: config.admin,
    isDevelopment,
    clock,
    // Operators name the provider, which may be in their own network.
    outbound: createOutbound({ allowsPrivate: () => true }),
    reachProvider,
  })
  if (settings === undefined) {
    defineTokenRenewal(queue, undefined)
    return {
      features: [
        userIds,
        apps({ database, limiter, callerLimiter, onChange: () => undefined }),
        authSettings(undefined),
        company,
      ],
      verifiers: [],
      limiter,
      callerLimiter,
    }
  }
  const keys = deriveKeys(jwtSecret())
  const endedSessions = new EndedSessions(database, clock, notifications)
  const siteUrl = () => config.auth.site_url.replace(/\/$/, '') || publicBaseUrl()
  const captcha = new Captcha({
    config: config.auth.captcha,
    key: keys.captcha,
    throttle: ports.throttle,
    isDevelopment,
    clock,
    // Operators name the address of the provider.
    outbound: createOutbound({ allowsPrivate: () => true }),
    log,
    ownUrls: () => [publicBaseUrl(), siteUrl()],
  })
  const context: AccountContext = {
    ...ports,
    config: config.auth,
    isDevelopment,
    log,
    appName: config.email.app_name,
    database,
    keys,
    clock,
    settings,
    jobs: queue,
    endedSessions,
    secondFactors,
    siteUrl,
    captcha,
  }
  const apiKeyVerifier = new ApiKeyVerifier(database, notifications, log)
  const oauthTokens = createOAuthTokens(database, notifications)
  const clearApiKeyCache = () => apiKeyVerifier.change()
  const clearTokenCaches = () => {
    apiKeyVerifier.change()
    oauthTokens.change()
  }
  const social = socialLogin({
    queue,
    accounts: context,
    config: config.auth,
    database,
    notifications,
    secrets: platform.secrets,
    publicBaseUrl,
    // Operators name the providers, which may be in their own network.
    outbound: createOutbound({ allowsPrivate: () => true }),
    reachProvider,
    providerStandIn,
    resumeAuthorization: (returned) => authorizationServer.resume(returned),
  })
  const mfaContext = { accounts: context, secrets: platform.secrets() }
  const passkeyContext = { mfa: mfaContext, publicBaseUrl, log }
  const sessions = refuseEndedSessions(
    createAccessTokenVerifier({ secret: keys.access, clock }, config.server.max_connections),
    endedSessions,
  )
  // A session of the first factor alone gets no credential that outlives it and never requires a second factor.
  const lockPassed = async (transaction: Queryable, caller: UserIdentity) => {
    const user = await lockSelf(transaction, caller)
    if (!hasTwoFactors(caller)) await requirePassedFactor(context, transaction, caller)
    return user
  }
  const oauth = {
    config: config.auth.oauth_provider,
    database,
    key: keys.oauth,
    appName: config.email.app_name,
    publicBaseUrl,
    onRevoke: () => oauthTokens.change(),
    throttle: ports.throttle,
    lockGranter: lockPassed,
    isDevelopment,
  }
  const documents = new ClientDocuments({
    database,
    isEnabled: oauth.config.client_metadata_documents,
    permittedScopes: oauth.config.self_registered_scopes,
    outbound: createOutbound({
      allowsPrivate: () => isReachedAtLoopback(config.server),
      ...(resolve === undefined ? {} : { resolve }),
    }),
    reach: reachProvider,
    requireFetch: (address) => requireRegistration(oauth, 'oauth.fetch_client', address),
  })
  const authorizationServer = oauthServer({
    oauth: { ...oauth, documents },
    passkeys: passkeyContext,
    sessions,
    providers: social.forPage,
  })
  return {
    features: [
      userIds,
      apps({ database, limiter, callerLimiter, onChange: clearTokenCaches }),
      apiKeys({
        database,
        onChange: clearApiKeyCache,
        verifier: apiKeyVerifier,
        lockCaller: lockSelf,
        lockIssuer: lockPassed,
      }),
      authSettings(settings),
      accounts(context),
      captchas(captcha),
      mfa(mfaContext),
      passkeys(passkeyContext),
      authorizationServer.feature,
      social.feature,
      company,
    ],
    callers: new AccountCallers({ accounts: context, database, clock }),
    openPopup: social.openPopup,
    resourceMetadataUrl: oauth.config.enabled ? () => resourceMetadataUrl(oauth) : undefined,
    verifiers: [apiKeyVerifier, ...(config.auth.oauth_provider.enabled ? [oauthTokens] : []), sessions],
    limiter,
    callerLimiter,
  }
}
