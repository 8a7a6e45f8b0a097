import { type AttemptLimit, requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import { mfaErrors } from './errors.ts'

/** Fifteen failures within an hour lock all second factors of the user for thirty minutes. */
const failures: AttemptLimit = { name: 'mfa.failures', attempts: 15, windowSeconds: 3600, lockSeconds: 1800 }

/**
 * Counts a try before it is made, so that tries made together cannot all slip through; a success forgets them.
 *
 * @throws AppError too_many_mfa_failures with Retry-After
 */
export async function requireTry(throttle: Throttle, userId: string): Promise<void> {
  requireAllowed(await throttle.attempt(failures, userId), mfaErrors.tooManyMfaFailures())
}

/** Takes a try back that was none: an unknown or used challenge. */
export async function releaseTry(throttle: Throttle, userId: string): Promise<void> {
  await throttle.release(failures, userId)
}

export async function forgetFailures(throttle: Throttle, userId: string): Promise<void> {
  await throttle.reset(failures, userId)
}

/** Limit of confirmations: wrong codes lock nothing but further tries. */
const confirmations: AttemptLimit = { name: 'mfa.confirmations', attempts: 15, windowSeconds: 600 }

/** @throws AppError too_many_mfa_failures */
export async function requireConfirmTry(throttle: Throttle, userId: string): Promise<void> {
  requireAllowed(await throttle.attempt(confirmations, userId), mfaErrors.tooManyMfaFailures())
}
