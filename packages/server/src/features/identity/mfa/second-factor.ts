import type { Queryable } from '../../../database/system-database.ts'
import type { PendingIdentity, UserIdentity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { AppError } from '../../../lib/errors.ts'
import {
  type AuthenticationResponse,
  type Client,
  findUserById,
  finishSecondFactor,
  lockSelf,
  lockUser,
  type SecondMethod,
  type User,
} from '../accounts/index.ts'
import type { MfaContext } from './context.ts'
import { enrollmentNeedsAal2, mfaErrors } from './errors.ts'
import { isEnrolled } from './factors.ts'
import { forgetFailures, releaseTry, requireTry } from './lockout.ts'

/**
 * Returns the user who may enrol a factor. This requires an account. A user with a factor must have passed
 * it, see {@link requirePassedFactor}.
 *
 * @throws AppError link_account_first, invalid_token
 */
export async function requireEnroller({ accounts }: MfaContext, identity: UserIdentity): Promise<User> {
  return requireAccount(await findUserById(accounts.database, identity.userId), identity)
}

/**
 * Locks the user that {@link requireEnroller} returns, to confirm an enrolment. Since it started, the session
 * may have ended, or another factor may have been confirmed. The lock lasts until the transaction ends: of
 * two factors confirmed at once, the second request sees the first factor.
 */
export async function lockEnroller(transaction: Queryable, identity: UserIdentity): Promise<User> {
  return requireAccount(await lockSelf(transaction, identity), identity)
}

function requireAccount(user: User | undefined, identity: UserIdentity): User {
  if (user === undefined || user.disabled_at !== null) throw httpErrors.invalidToken()
  if (identity.isAnonymous || user.is_anonymous) throw mfaErrors.linkAccountFirst()
  return user
}

/**
 * Rejects sessions that have not passed a factor of the user. Every step of an enrolment calls it, the last
 * one with the user locked.
 *
 * @param hasPassed whether the session counts as one that has passed a factor
 * @throws AppError insufficient_aal
 */
export async function requirePassedFactor(
  database: Queryable,
  { userId, aal }: UserIdentity,
  hasPassed = aal === 'aal2',
): Promise<void> {
  if (!hasPassed && (await isEnrolled(database, userId))) throw enrollmentNeedsAal2()
}

/**
 * Verifies a second factor and completes the sign-in. The attempt is counted and committed first. One
 * transaction consumes the factor and starts the session.
 *
 * @param verify throws when the factor is wrong; runs in the transaction
 * @throws AppError too_many_mfa_failures, no_pending_mfa, errors of `verify`
 */
export async function passSecondFactor(
  { accounts }: MfaContext,
  pending: PendingIdentity,
  method: SecondMethod,
  client: Client,
  verify: (transaction: Queryable) => Promise<void>,
): Promise<AuthenticationResponse> {
  const { database, throttle, functions } = accounts
  await requireTry(throttle, pending.userId)
  try {
    const response = await functions.transaction(
      database,
      async (transaction) => {
        // Every use case locks the user, then tokens and factors, then sessions. Another order would deadlock.
        await lockUser(transaction, pending.userId)
        await verify(transaction)
        const finished = await finishSecondFactor(accounts, transaction, pending, method, client)
        if (finished === undefined) throw httpErrors.noPendingMfa()
        return finished
      },
      ['claims'],
    )
    await forgetFailures(throttle, pending.userId)
    return response
  } catch (error) {
    if (!(error instanceof AppError) || !failedTries.has(error.kind))
      await releaseTry(throttle, pending.userId)
    throw error
  }
}

/** Errors that count as failures. An unknown or used challenge reveals nothing about the factor. */
const failedTries = new Set([
  'invalid_totp_code',
  'totp_code_used',
  'invalid_email_mfa_code',
  'email_mfa_code_expired',
  'invalid_sms_mfa_code',
  'invalid_backup_code',
  'webauthn_assertion_failed',
  'invalid_assertion_response',
  'cloned_authenticator',
])
