import type { Feature } from '../../../feature.ts'
import { passkeyAdminRoutes } from './admin-routes.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyRoutes } from './routes.ts'

export type { PasskeyContext } from './context.ts'
export { passkeyErrorTable } from './errors.ts'
export { challengePasskey, verifyPasskey } from './second-factor.ts'
export { beginDiscoverableSignIn, finishSignIn } from './sign-in.ts'
export { hasTwoFactors } from './two-factors.ts'

/** Passkeys: to sign in by themselves, or as second factor. */
export function passkeys(context: PasskeyContext): Feature {
  return {
    name: 'passkeys',
    routes(app) {
      passkeyRoutes(app, context)
      passkeyAdminRoutes(app, context)
    },
  }
}
