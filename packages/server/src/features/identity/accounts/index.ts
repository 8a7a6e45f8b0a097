import type { Feature } from '../../../feature.ts'
import { adminUserRoutes } from './admin-users.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'
import { mailJob } from './mails.ts'
import { accountPages } from './pages.ts'
import { accountRoutes } from './routes.ts'
import { smsCodeJob } from './sms-sign-in.ts'

export {
  type AccessTokenClaims,
  createAccessTokenVerifier,
  signAccessToken,
} from './access-token.ts'
export { defineAccountHousekeeping, deleteExpired, removeAnonymousUsers } from './clean-up.ts'
export { longestTokenSeconds } from './config.ts'
export type { AccountContext, SecondFactors } from './context.ts'
export { requireEmail, requireText } from './credentials.ts'
export { EndedSessions, refuseEndedSessions } from './ended-sessions.ts'
export { accountErrorTable } from './errors.ts'
export const { fieldRequired, userNotFound, onlyAnonymous, alreadyLinked } = accountErrors
export { type AccountKeys, deriveJobCode, deriveKeys, hashCode } from './keys.ts'
export { accountLimits, requireAttempt } from './limits.ts'
export { logIn } from './log-in.ts'
export { confirmMagicLink, requestMagicLink } from './magic-link.ts'
export { requirePassedFactor } from './own-account.ts'
export { findOrMakeOwner } from './owner.ts'
export { createRefreshToken, type RefreshTokenContent, readRefreshToken } from './refresh-token.ts'
export { clientOf } from './routes.ts'
export {
  authentication as authenticationSchema,
  authenticationOrPending as authenticationOrPendingSchema,
  message as messageSchema,
} from './schemas.ts'
export { type Client, endSession, findSessionOwner } from './sessions.ts'
export {
  type AuthenticationResponse,
  finishFirstFactor,
  finishSecondFactor,
  type PendingResponse,
  type SecondMethod,
  startSession,
} from './sign-in.ts'
export { confirmSmsCode, requestSmsCode } from './sms-sign-in.ts'
export { takeTransactionLock } from './transaction-lock.ts'
export {
  findUserByEmail,
  findUserById,
  insertUser,
  linkEmail,
  lockUser,
  markEmailVerified,
  markLinked,
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
      })
      accountPages(app, context)
    },
  }
}
