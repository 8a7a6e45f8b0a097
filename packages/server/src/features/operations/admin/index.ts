import type { Feature } from '../../../feature.ts'
import { adminRoutes } from './routes.ts'
import { type SessionRouteDeps, sessionRoutes } from './session-routes.ts'

export type { AdminDeps } from './context.ts'
export { adminErrorTable } from './errors.ts'
export { removeFirstSignIn, writeFirstSignIn } from './first-sign-in.ts'
export type { FirstSignIn } from './password.ts'
export { type AdminService, createAdminService } from './service.ts'
export { signInLink } from './sign-in-link.ts'
export { createAdminTokenVerifier } from './token-verifier.ts'

/** The administrator: one account, whose tokens open every admin endpoint and the data without policies. */
export function admin(deps: SessionRouteDeps): Feature {
  return {
    name: 'admin',
    routes(app) {
      adminRoutes(app, deps.service, deps.tokens)
      sessionRoutes(app, deps)
    },
  }
}
