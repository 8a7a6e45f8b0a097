import type { SocialLoginConfig } from './config.ts'
import { socialLoginErrors } from './errors.ts'

export type RedirectConfig = Pick<SocialLoginConfig, 'oauth_redirect_url' | 'oauth_return_to_allowlist'>

/**
 * Returns the address that the browser is redirected to after a sign-in. It is checked before the redirect to
 * the provider and again at the callback.
 *
 * @returns undefined when no redirect is configured and none was requested
 * @throws AppError invalid_redirect_to
 */
export function findRedirectTarget(config: RedirectConfig, text: string | undefined): URL | undefined {
  const standard = config.oauth_redirect_url === '' ? undefined : new URL(config.oauth_redirect_url)
  const requested = text?.trim() ?? ''
  if (requested === '') return standard
  if (standard === undefined) throw socialLoginErrors.invalidRedirectTo()
  const target = requested.startsWith('/') ? URL.parse(requested, standard.origin) : URL.parse(requested)
  if (target === null || target.username !== '' || target.password !== '') {
    throw socialLoginErrors.invalidRedirectTo()
  }
  target.hash = ''
  if (target.origin === standard.origin) return target
  // A path that leads to another host is not a path.
  if (requested.startsWith('/')) throw socialLoginErrors.invalidRedirectTo()
  const isLocal = target.hostname === 'localhost' || target.hostname === '127.0.0.1'
  const isSafe = target.protocol === 'https:' || (target.protocol === 'http:' && isLocal)
  if (!isSafe || !config.oauth_return_to_allowlist.includes(target.hostname)) {
    throw socialLoginErrors.invalidRedirectTo()
  }
  return target
}
