import type { TokenVerifier } from '../../../../http/access/identity.ts'
import type { PasskeyContext } from '../../passkeys/index.ts'
import type { SocialLogin } from '../../social-login/index.ts'
import type { OAuthContext } from '../context.ts'

/** Dependencies of the authorization page. */
export interface PageContext {
  readonly oauth: OAuthContext
  readonly passkeys: PasskeyContext
  /** Verifier of session tokens. */
  readonly sessions: TokenVerifier
  readonly providers: SocialLogin['forPage']
}
