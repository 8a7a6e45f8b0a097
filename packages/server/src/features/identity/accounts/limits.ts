import { createHash } from 'node:crypto'
import { AppError } from '../../../lib/errors.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'

const hour = 3600
const quarter = 15 * 60

type LimitSettings = Pick<AccountContext, 'config' | 'isDevelopment'>

/** In development one person is all clients; elsewhere an address may be that of a whole school. */
const developmentFactor = 100

/** Attempts that no window reaches; `integer` of PostgreSQL. */
const unlimited = 2_147_483_647

/** What callers may do how often; per account, address or number, on all nodes together. */
export function accountLimits({ config: { limits, sms_daily_limit }, isDevelopment }: LimitSettings) {
  const perAddress = (attempts: number) => (isDevelopment ? attempts * developmentFactor : attempts)
  const limit = (name: string, attempts: number, windowSeconds: number): AttemptLimit => ({
    name: `accounts.${name}`,
    attempts,
    windowSeconds,
  })
  return {
    /** Failed sign-ins to one account from one address. */
    signIn: limit('sign_in', limits.login_failures, quarter),
    /**
     * Failed sign-ins to one account from all addresses it is not known at: wide enough that a stranger does not lock its
     * owner out in passing, narrow enough that guessing is hopeless (NIST SP 800-63B §3.2.2).
     */
    signInToAccount: limit('sign_in_to_account', limits.login_failures_per_account, hour),
    /** Addresses the account was signed in to from; here the failures of others do not count. */
    knownAddress: limit('known_address', 1, 30 * 24 * hour),
    signInFromAddress: limit('sign_in_from_address', perAddress(limits.login_failures_per_address), quarter),
    register: limit('register', perAddress(limits.registrations_per_hour), hour),
    anonymous: limit('anonymous', limits.anonymous_per_hour, hour),
    mailTo: limit('mail_to', limits.mails_per_hour, hour),
    mailFromAddress: limit('mail_from_address', perAddress(limits.mail_requests_per_hour), hour),
    smsTo: limit('sms_to', limits.sms_per_hour, hour),
    /** To enrol one number as a factor: apart, so that no stranger who asks for sign-in codes keeps its owner from it. */
    smsToEnroll: limit('sms_to_enroll', limits.sms_per_hour, hour),
    smsDaily: limit('sms_daily', sms_daily_limit === 0 ? unlimited : sms_daily_limit, 24 * hour),
    smsFromAddress: limit('sms_from_address', perAddress(limits.sms_requests_per_hour), hour),
    codeFromAddress: limit('code_from_address', perAddress(limits.login_failures_per_address), quarter),
  }
}

/** What failed sign-ins to one account from one address are counted under. */
export function signInKey(email: string, address: string): string {
  return `${email} ${address}`
}

/**
 * What an address is remembered under that an account was signed in to from: for a month, so neither of them stands there
 * in plain text.
 */
export function knownAddressKey(email: string, address: string): string {
  return createHash('sha256').update(signInKey(email, address)).digest('base64url')
}

/**
 * Remembers where an account was signed in to from, so that failures from elsewhere do not keep its owner out there. Without
 * effect on the sign-in: the next one makes up for one that fails.
 */
export async function rememberAddress(
  { throttle, ...settings }: LimitSettings & { readonly throttle: Throttle },
  email: string,
  address: string,
): Promise<void> {
  const { knownAddress } = accountLimits(settings)
  await throttle.attempt(knownAddress, knownAddressKey(email, address)).catch(() => undefined)
}

/** Counts an attempt. @throws AppError too_many_requests with Retry-After */
export async function requireAttempt(throttle: Throttle, limit: AttemptLimit, key: string): Promise<void> {
  requireAllowed(await throttle.attempt(limit, key))
}

/** What an attempt counts against, and what a success does to the count. */
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
 * Makes an attempt at a password. It is counted before it is made, so that none slips through, and taken back unless the
 * password was wrong: what the server cannot answer, and right passwords that arrive together, lock no account.
 *
 * @throws AppError too_many_requests, and what the attempt throws
 */
export async function countFailures<Result>(
  throttle: Throttle,
  [counted, ...others]: readonly CountedFailure[],
  attempt: () => Promise<Result>,
): Promise<Result> {
  if (counted === undefined) return await attempt()
  const { limit, key, onSuccess } = counted
  return await throttle.inTurn(limit, key, async () => {
    await requireAttempt(throttle, limit, key)
    try {
      const result = await countFailures(throttle, others, attempt)
      await throttle[onSuccess](limit, key)
      return result
    } catch (error) {
      const isFailure = error instanceof AppError && wrongPasswords.includes(error.kind)
      // A count that cannot be taken back now ends with its window.
      if (!isFailure) await throttle.release(limit, key).catch(() => undefined)
      throw error
    }
  })
}
