import { type AttemptLimit, requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import { mfaErrors } from './errors.ts'

/** Limit of failures. Fifteen within an hour lock all second factors of the user for thirty minutes. */
const failures: AttemptLimit = { name: 'mfa.failures', attempts: 15, windowSeconds: 3600, lockSeconds: 1800 }

/**
 * Counts an attempt before it runs, so that concurrent attempts cannot all slip through. A success clears the
 * count.
 *
 * @throws AppError too_many_mfa_failures with Retry-After
 */
export async function requireTry(throttle: Throttle, userId: string): Promise<void> {
  requireAllowed(await throttle.attempt(failures, userId), mfaErrors.tooManyMfaFailures())
}

/** Releases an attempt that does not count: one with an unknown or used challenge. */
export async function releaseTry(throttle: Throttle, userId: string): Promise<void> {
  await throttle.release(failures, userId)
}

export async function forgetFailures(throttle: Throttle, userId: string): Promise<void> {
  await throttle.reset(failures, userId)
}

/** Limit of confirmations. Wrong codes block only further confirmations. */
const confirmations: AttemptLimit = { name: 'mfa.confirmations', attempts: 15, windowSeconds: 600 }

/** Counts an attempt at a confirmation. @throws AppError too_many_mfa_failures */
export async function requireConfirmTry(throttle: Throttle, userId: string): Promise<void> {
  requireAllowed(await throttle.attempt(confirmations, userId), mfaErrors.tooManyMfaFailures())
}
