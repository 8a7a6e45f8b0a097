import { createSecretKey } from 'node:crypto'
import type { AdminContext } from '../../operations/admin/index.ts'
import type { ProviderClient } from '../social-login/index.ts'
import { companySignInErrors } from './errors.ts'

export interface CompanySignInContext {
  readonly administration: AdminContext
  /** Client at the provider; undefined without one. */
  readonly client: ProviderClient | undefined
  readonly groupsClaim: string
  /** True in development, where limits per address are wide. */
  readonly isDevelopment: boolean
  readonly trustedFactors: readonly string[]
  /** Path of the dashboard: `admin.path`. */
  readonly dashboardPath: string
}

/** Configured provider, and the addresses to which it returns browsers. */
export interface Company {
  readonly provider: NonNullable<AdminContext['methods']['provider']>
  readonly client: ProviderClient
  readonly dashboardUrl: string
  /** Address before the path of the dashboard. It never comes from a request's headers. */
  readonly baseUrl: string
  readonly callbackUrl: string
  readonly isHttps: boolean
}

export const callbackPath = '/api/admin/auth/oidc/callback'

/** Returns the configured provider. @throws AppError company_sign_in_not_configured */
export function requireCompany({ administration, client, dashboardPath }: CompanySignInContext): Company {
  const dashboardUrl = administration.dashboardUrl()
  const { provider } = administration.methods
  if (client === undefined || provider === undefined || dashboardUrl === undefined) {
    throw companySignInErrors.companySignInNotConfigured()
  }
  const baseUrl = dashboardUrl.slice(0, -dashboardPath.length)
  return {
    provider,
    client,
    dashboardUrl,
    baseUrl,
    callbackUrl: `${baseUrl}${callbackPath}`,
    isHttps: baseUrl.startsWith('https:'),
  }
}

/** Returns the key that derives nonce and PKCE verifier. Only the browser and this server know its value. */
export function keyOf(browser: string) {
  return createSecretKey(browser, 'utf8')
}
