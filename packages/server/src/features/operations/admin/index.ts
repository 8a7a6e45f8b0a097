import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { type AdminContext, adminOperations } from './operations.ts'
import { preferenceOperations } from './preferences.ts'

export type { AdminDeps } from './context.ts'
export { adminErrorTable } from './errors.ts'
export { removeFirstSignIn, writeFirstSignIn } from './first-sign-in.ts'
export { ensurePassword, type FirstSignIn, resetPassword } from './password.ts'
export { createSession } from './session.ts'
export { signInLink } from './sign-in-link.ts'
export { createAdminTokenVerifier } from './token-verifier.ts'

/**
 * Makes the feature of the administrator, one account whose tokens grant every admin endpoint and the data
 * without policies.
 */
export function admin(context: AdminContext): Feature {
  return {
    name: 'admin',
    routes(app) {
      addOperations(app, context, adminOperations)
      addOperations(app, context, preferenceOperations)
    },
  }
}
