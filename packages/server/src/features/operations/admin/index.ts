import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { accountOperations } from './administrators/account.ts'
import { administratorOperations } from './administrators/operations.ts'
import type { AdminContext } from './context.ts'
import { adminOperations } from './operations.ts'
import { preferenceOperations } from './preferences.ts'
import { listMethods } from './provider/methods.ts'
import { secondFactorOperations } from './second-factor/operations.ts'
import { requestSignInPasskey } from './second-factor/sign-in-passkey.ts'

export { listAdministrators } from './administrators/administrator.ts'
export { addAdministrator, passwordLink, recoverAdministrator } from './administrators/invitation.ts'
export { type AdministratorMailDeps, administratorMailJob } from './administrators/mail.ts'
export type { AdminContext, AdminDeps } from './context.ts'
export { adminErrorTable } from './errors.ts'
export { removeFirstSignIn, writeFirstSignIn } from './first-sign-in.ts'
export { ensurePassword, type FirstSignIn, resetPassword } from './password.ts'
export { admitPerson, admitReauthentication, type ProviderPerson } from './provider/admit.ts'
export { requireWayIn, signInMethodsOf } from './provider/methods.ts'
export { countFactorSecretsByKey } from './second-factor/factors.ts'
export { createSession } from './session.ts'
export { signInLink } from './sign-in-link.ts'
export { createAdminTokenVerifier } from './token-verifier.ts'

/** Makes the feature of administrators, whose tokens grant admin endpoints and the data without policies. */
export function admin(context: AdminContext): Feature {
  return {
    name: 'admin',
    routes(app) {
      addOperations(app, context, [...adminOperations, listMethods])
      addOperations(app, context, preferenceOperations)
      addOperations(app, context, administratorOperations)
      addOperations(app, context, accountOperations)
      addOperations(app, context, [requestSignInPasskey, ...secondFactorOperations])
    },
  }
}
