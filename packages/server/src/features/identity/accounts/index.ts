import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { changeUser } from './administration/change-user.ts'
import { createUser } from './administration/create-user.ts'
import { previewDeletion } from './administration/deletion-preview.ts'
import { disableUser, enableUser } from './administration/disable-user.ts'
import { endUserSession, endUserSessions, listUserSessions } from './administration/end-sessions.ts'
import { endImpersonation, impersonate, listImpersonations } from './administration/impersonation.ts'
import { listUsers } from './administration/list-users.ts'
import { getUser } from './administration/listed-user.ts'
import { mailUser } from './administration/mail-user.ts'
import { nameUsers } from './administration/name-users.ts'
import { removeUser } from './administration/remove-user.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'
import { linkEmail, signInAnonymously } from './methods/anonymous.ts'
import { confirmMagicLinkOperation, requestMagicLinkOperation } from './methods/email-link/magic-link.ts'
import { mailJob } from './methods/email-link/mails.ts'
import { resendVerification, verifyEmailOperation } from './methods/email-link/verify-email.ts'
import { logInOperation } from './methods/password/log-in.ts'
import { confirmPasswordResetOperation, requestPasswordReset } from './methods/password/password-reset.ts'
import { register } from './methods/password/register.ts'
import { confirmSmsCodeOperation, requestSmsCodeOperation, smsCodeJob } from './methods/sms/sms-sign-in.ts'
import { changePassword, deleteMe, me } from './own-account.ts'
import { accountPages } from './pages.ts'
import { createRotationQueue, type RefreshContext, refresh } from './sessions/refresh.ts'
import { listOwnSessions, logOut, revokeOtherSessions, revokeSession } from './sessions/session-use.ts'

export {
  type AccountFunctions,
  admitAccount,
  noAccountFunctions,
  type SignUp,
} from './account-functions.ts'
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
export { Message as messageSchema } from '../../../http/schemas.ts'
export { type AccountKeys, deriveJobCode, deriveKeys, hashCode } from './keys.ts'
export { accountLimits, requireAttempt } from './limits.ts'
export { confirmMagicLink, requestMagicLink } from './methods/email-link/magic-link.ts'
export { logIn } from './methods/password/log-in.ts'
export { confirmSmsCode, requestSmsCode } from './methods/sms/sms-sign-in.ts'
export { lockSelf, requirePassedFactor } from './own-account.ts'
export { findOrMakeOwner } from './owner.ts'
export { createRefreshToken, type RefreshTokenContent, readRefreshToken } from './sessions/refresh-token.ts'
export { type Client, clientOf, endSession, findSessionOwner } from './sessions/sessions.ts'
export {
  Authentication as authenticationSchema,
  type Authentication as AuthenticationResponse,
  AuthenticationOrPending as authenticationOrPendingSchema,
  claimsOf,
  finishFirstFactor,
  finishSecondFactor,
  isUnverified,
  type PendingAuthentication as PendingResponse,
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

const operations = [
  register,
  logInOperation,
  refresh,
  logOut,
  me,
  deleteMe,
  changePassword,
  listOwnSessions,
  revokeSession,
  revokeOtherSessions,
  requestPasswordReset,
  confirmPasswordResetOperation,
  verifyEmailOperation,
  resendVerification,
  requestMagicLinkOperation,
  confirmMagicLinkOperation,
  requestSmsCodeOperation,
  confirmSmsCodeOperation,
  signInAnonymously,
  linkEmail,
  listUsers,
  nameUsers,
  createUser,
  getUser,
  changeUser,
  mailUser,
  listUserSessions,
  endUserSession,
  endUserSessions,
  disableUser,
  enableUser,
  previewDeletion,
  removeUser,
  impersonate,
  listImpersonations,
  endImpersonation,
]

/** Makes the feature by which users sign up, sign in and stay signed in. */
export function accounts(context: AccountContext): Feature {
  const { jobs } = context
  jobs.define(mailJob(context))
  jobs.define(smsCodeJob(context))
  return {
    name: 'accounts',
    routes(app) {
      void app.register(async (scope) => {
        // Responses with tokens are never cached, even when the request had no token.
        scope.addHook('onSend', async (_request, reply) => {
          void reply.header('cache-control', 'no-store')
        })
        addOperations<RefreshContext>(
          scope,
          { ...context, rotations: createRotationQueue(context) },
          operations,
        )
      })
      accountPages(app, context)
    },
  }
}
