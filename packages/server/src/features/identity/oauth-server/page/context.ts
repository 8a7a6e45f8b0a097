import type { TokenVerifier } from '../../../../http/access/identity.ts'
import type { PasskeyContext } from '../../passkeys/index.ts'
import type { SocialLogin } from '../../social-login/index.ts'
import type { OAuthContext } from '../context.ts'

/** Dependencies of the page for people. */
export interface PageContext {
  readonly oauth: OAuthContext
  readonly passkeys: PasskeyContext
  /** Verifies the tokens of sessions. */
  readonly sessions: TokenVerifier
  readonly providers: SocialLogin['forPage']
}
