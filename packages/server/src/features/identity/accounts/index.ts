import type { Feature } from '../../../feature.ts'
import { impersonationRoutes } from './administration/impersonation-routes.ts'
import { adminUserRoutes } from './administration/routes.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'
import { mailJob } from './methods/email-link/mails.ts'
import { smsCodeJob } from './methods/sms/sms-sign-in.ts'
import { accountPages } from './pages.ts'
import { accountRoutes } from './routes.ts'

export { userIds } from './administration/user-id.ts'
export { defineAccountHousekeeping, deleteExpired, removeAnonymousUsers } from './clean-up.ts'
export { type AccountConfig, longestTokenSeconds } from './config.ts'
export type { AccountContext, SecondFactors } from './context.ts'
export { requireEmail, requireText } from './credentials.ts'
export { accountErrorTable } from './errors.ts'
export {
  type AccessTokenClaims,
  createAccessTokenVerifier,
  signAccessToken,
} from './sessions/access-token.ts'
export { EndedSessions, refuseEndedSessions } from './sessions/ended-sessions.ts'
export const { fieldRequired, userNotFound, onlyAnonymous, alreadyLinked } = accountErrors
export { type AccountKeys, deriveJobCode, deriveKeys, hashCode } from './keys.ts'
export { accountLimits, requireAttempt } from './limits.ts'
export { confirmMagicLink, requestMagicLink } from './methods/email-link/magic-link.ts'
export { logIn } from './methods/password/log-in.ts'
export { confirmSmsCode, requestSmsCode } from './methods/sms/sms-sign-in.ts'
export { lockSelf, requirePassedFactor } from './own-account.ts'
export { findOrMakeOwner } from './owner.ts'
export { clientOf } from './routes.ts'
export {
  authentication as authenticationSchema,
  authenticationOrPending as authenticationOrPendingSchema,
  message as messageSchema,
} from './schemas.ts'
export { createRefreshToken, type RefreshTokenContent, readRefreshToken } from './sessions/refresh-token.ts'
export { type Client, endSession, findSessionOwner } from './sessions/sessions.ts'
export {
  type AuthenticationResponse,
  claimsOf,
  finishFirstFactor,
  finishSecondFactor,
  isUnverified,
  type PendingResponse,
  type SecondMethod,
  startSession,
} from './sign-in.ts'
export {
  findUserByEmail,
  findUserById,
  insertUser,
  linkEmail,
  lockUser,
  markEmailVerified,
  markLinked,
  requireUser,
  type User,
} from './users.ts'

/** People: how they sign up, sign in and stay signed in. */
export function accounts(context: AccountContext): Feature {
  const { jobs } = context
  jobs.define(mailJob(context))
  jobs.define(smsCodeJob(context))
  return {
    name: 'accounts',
    routes(app) {
      void app.register(async (scope) => {
        accountRoutes(scope, context)
        adminUserRoutes(scope, context)
        impersonationRoutes(scope, context)
      })
      accountPages(app, context)
    },
  }
}
