import type { Feature } from '../../feature.ts'
import type { TokenVerifier } from '../../http/identity.ts'
import type { Platform } from '../../platform.ts'
import {
  type AccountContext,
  accounts,
  createAccessTokenVerifier,
  defineAccountHousekeeping,
  deriveKeys,
  EndedSessions,
  refuseEndedSessions,
} from './accounts/index.ts'
import { AuthSettings, authSettings } from './auth-settings/index.ts'
import { mfa, secondFactors } from './mfa/index.ts'
import { passkeys } from './passkeys/index.ts'

export type IdentityPorts = Pick<AccountContext, 'passwords' | 'throttle' | 'mail' | 'sms'> & {
  /** Key of the access tokens; asked for while auth is enabled. */
  readonly jwtSecret: () => string
}

/** Wires who people are and how they sign in; nothing but housekeeping while auth is disabled. */
export function wireIdentity(
  platform: Platform,
  { jwtSecret, ...ports }: IdentityPorts,
): { readonly features: readonly Feature[]; readonly verifiers: readonly TokenVerifier[] } {
  const { config, isDevelopment, clock, log, notifications, queue, publicBaseUrl } = platform
  const database = platform.database.system
  defineAccountHousekeeping(database, queue, config.auth.clean_up.anonymous_days)
  if (!config.auth.enabled) return { features: [], verifiers: [] }
  const keys = deriveKeys(jwtSecret())
  const settings = new AuthSettings(database, config.auth, notifications)
  const endedSessions = new EndedSessions(database, clock, notifications)
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
    siteUrl: () => config.auth.site_url.replace(/\/$/, '') || publicBaseUrl(),
  }
  const mfaContext = { accounts: context, secrets: platform.secrets() }
  return {
    features: [
      authSettings(settings),
      accounts(context),
      mfa(mfaContext),
      passkeys({ mfa: mfaContext, publicBaseUrl, log }),
    ],
    verifiers: [
      refuseEndedSessions(createAccessTokenVerifier({ secret: keys.access, clock }), endedSessions),
    ],
  }
}
