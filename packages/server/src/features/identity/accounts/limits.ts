import { createHash } from 'node:crypto'
import { AppError } from '../../../lib/errors.ts'
import {
  type AttemptLimit,
  perAddress,
  requireAllowed,
  type Throttle,
} from '../../operations/throttle/index.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'

const hour = 3600
const quarter = 15 * 60

type LimitSettings = Pick<AccountContext, 'config' | 'isDevelopment'>

/** Number of attempts that no window reaches, the maximum `integer` of PostgreSQL. */
const unlimited = 2_147_483_647

/** Returns the limits of callers per account, address or number, over all nodes. */
export function accountLimits(settings: LimitSettings) {
  const { limits, sms_daily_limit } = settings.config
  const limit = (name: string, attempts: number, windowSeconds: number): AttemptLimit => ({
    name: `accounts.${name}`,
    attempts,
    windowSeconds,
  })
  return {
    /** Failed sign-ins to one account from one address. */
    signIn: limit('sign_in', limits.login_failures, quarter),
    /**
     * Failed sign-ins to one account from all addresses it is not known at. The limit is wide enough that a
     * stranger does not lock the owner out in passing, and narrow enough that guessing is hopeless (NIST SP
     * 800-63B §3.2.2).
     */
    signInToAccount: limit('sign_in_to_account', limits.login_failures_per_account, hour),
    /** Addresses that the account signed in from. Failures from other addresses do not count here. */
    knownAddress: limit('known_address', 1, 30 * 24 * hour),
    signInFromAddress: limit(
      'sign_in_from_address',
      perAddress(limits.login_failures_per_address, settings),
      quarter,
    ),
    register: limit('register', perAddress(limits.registrations_per_hour, settings), hour),
    anonymous: limit('anonymous', limits.anonymous_per_hour, hour),
    mailTo: limit('mail_to', limits.mails_per_hour, hour),
    mailFromAddress: limit('mail_from_address', perAddress(limits.mail_requests_per_hour, settings), hour),
    smsTo: limit('sms_to', limits.sms_per_hour, hour),
    /**
     * Messages that enrol one number as a factor. They are counted apart, so that sign-in codes requested by a
     * stranger do not block the owner.
     */
    smsToEnroll: limit('sms_to_enroll', limits.sms_per_hour, hour),
    smsDaily: limit('sms_daily', sms_daily_limit === 0 ? unlimited : sms_daily_limit, 24 * hour),
    smsFromAddress: limit('sms_from_address', perAddress(limits.sms_requests_per_hour, settings), hour),
    codeFromAddress: limit(
      'code_from_address',
      perAddress(limits.login_failures_per_address, settings),
      quarter,
    ),
  }
}

/** Returns the key that counts failed sign-ins to one account from one address. */
export function signInKey(email: string, address: string): string {
  return `${email} ${address}`
}

/**
 * Returns the key of an address that an account signed in from. It is stored for a month, so it holds neither
 * in plain text.
 */
export function knownAddressKey(email: string, address: string): string {
  return createHash('sha256').update(signInKey(email, address)).digest('base64url')
}

/**
 * Remembers an address that an account signed in from, so that failures from elsewhere do not lock its owner
 * out there. A failure does not affect the sign-in: the next one makes up for it.
 */
export async function rememberAddress(
  { throttle, ...settings }: LimitSettings & { readonly throttle: Throttle },
  email: string,
  address: string,
): Promise<void> {
  const { knownAddress } = accountLimits(settings)
  await throttle.attempt(knownAddress, knownAddressKey(email, address)).catch(() => undefined)
}

/** Counts an attempt and rejects one beyond the limit. @throws AppError too_many_requests with Retry-After */
export async function requireAttempt(throttle: Throttle, limit: AttemptLimit, key: string): Promise<void> {
  requireAllowed(await throttle.attempt(limit, key))
}

/** Limits that an attempt counts against, with the effect of a success on the counts. */
export interface CountedFailure {
  readonly limit: AttemptLimit
  readonly key: string
  readonly onSuccess: 'release' | 'reset'
}

const wrongPasswords: readonly string[] = [
  accountErrors.invalidCredentials().kind,
  accountErrors.wrongPassword().kind,
]

/**
 * Runs an attempt at a password. The attempt is counted before it runs, so that none slips through, and
 * released unless the password was wrong. Server faults and concurrent right passwords therefore lock no
 * account.
 *
 * @throws AppError too_many_requests, and the error of the attempt
 */
export async function countFailures<Result>(
  throttle: Throttle,
  [counted, ...others]: readonly CountedFailure[],
  attempt: () => Promise<Result>,
): Promise<Result> {
  if (counted === undefined) return await attempt()
  const { limit, key, onSuccess } = counted
  return await throttle.withSlot(limit, key, async () => {
    await requireAttempt(throttle, limit, key)
    try {
      const result = await countFailures(throttle, others, attempt)
      await throttle[onSuccess](limit, key)
      return result
    } catch (error) {
      const isFailure = error instanceof AppError && wrongPasswords.includes(error.kind)
      // A count that cannot be released now ends with its window.
      if (!isFailure) await throttle.release(limit, key).catch(() => undefined)
      throw error
    }
  })
}
