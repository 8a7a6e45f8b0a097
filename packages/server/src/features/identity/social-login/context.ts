import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../../../lib/errors.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import type { AccountContext, AuthenticationResponse, PendingResponse } from '../accounts/index.ts'
import type { Popups } from './popups.ts'
import type { RedirectConfig } from './redirect-target.ts'
import type { ProviderRegistry } from './registry.ts'

export interface SocialLoginContext {
  readonly accounts: AccountContext
  readonly config: RedirectConfig
  readonly registry: ProviderRegistry
  readonly popups: Popups
  readonly secrets: () => SecretBox
  /** Address that providers redirect browsers to. It never comes from a request's headers. */
  readonly publicBaseUrl: () => string
  readonly resumeAuthorization: ResumeAuthorization
}

/** Return of a user from a provider to the authorization page. */
export interface ReturnToPage {
  /** Query of the authorization request. */
  readonly query: string
  /** Outcome of the sign-in. */
  readonly outcome: AuthenticationResponse | PendingResponse | AppError
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Function that resumes the authorization page. */
export type ResumeAuthorization = (returned: ReturnToPage) => Promise<FastifyReply>

export function callbackUrl({ publicBaseUrl }: SocialLoginContext, provider: string): string {
  return `${publicBaseUrl()}/api/auth/oauth/${encodeURIComponent(provider)}/callback`
}

export function isHttps({ publicBaseUrl }: SocialLoginContext): boolean {
  return publicBaseUrl().startsWith('https:')
}
