import type { SecretBox } from '../../../lib/secret-box.ts'
import type { AccountContext } from '../accounts/index.ts'
import type { Popups } from './popups.ts'
import type { ProviderRegistry } from './registry.ts'

export interface SocialLoginContext {
  readonly accounts: AccountContext
  readonly registry: ProviderRegistry
  readonly popups: Popups
  readonly secrets: () => SecretBox
  /** Where providers send browsers back; never made from a request's headers. */
  readonly publicBaseUrl: () => string
}

export function callbackUrl({ publicBaseUrl }: SocialLoginContext, provider: string): string {
  return `${publicBaseUrl()}/api/auth/oauth/${encodeURIComponent(provider)}/callback`
}

export function isHttps({ publicBaseUrl }: SocialLoginContext): boolean {
  return publicBaseUrl().startsWith('https:')
}
