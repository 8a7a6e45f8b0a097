import { httpErrors } from '../../../http/errors/errors.ts'
import { AppError, defineErrors } from '../../../lib/errors.ts'

const disabled = (name: string, key: string) =>
  ({
    status: 404,
    message: `${name} is not enabled`,
    help: `Set \`auth.${key}\`, or enable it in the auth settings.`,
  }) as const
const enrolled = (name: string) =>
  ({
    status: 409,
    message: `${name} already enrolled`,
    help: 'A user has one factor of each kind. Remove the existing one first.',
  }) as const
const notEnrolled = (message: string) =>
  ({ status: 404, message, help: 'The user has no confirmed factor of this kind.' }) as const
const wrong = (message: string, help: string) => ({ status: 401, message, help }) as const

export const mfaErrorTable = {
  totpDisabled: disabled('TOTP MFA', 'totp_enabled'),
  emailMfaDisabled: disabled('Email MFA', 'email_mfa_enabled'),
  smsMfaDisabled: disabled('SMS MFA', 'sms_enabled'),
  linkAccountFirst: {
    status: 403,
    message: 'link your account before enabling MFA',
    help: 'An anonymous account has no first factor that a second one could protect.',
  },
  totpEnrolled: enrolled('TOTP MFA'),
  emailMfaEnrolled: enrolled('email MFA'),
  smsMfaEnrolled: enrolled('SMS MFA'),
  noTotpEnrollment: {
    status: 404,
    message: 'no pending TOTP enrollment found',
    help: 'Start with `POST /api/auth/mfa/totp/enroll`.',
  },
  noEmailMfaEnrollment: {
    status: 404,
    message: 'no pending email MFA enrollment found',
    help: 'Start with `POST /api/auth/mfa/email/enroll`.',
  },
  noSmsMfaEnrollment: {
    status: 404,
    message: 'no pending SMS MFA enrollment found',
    help: 'Start with `POST /api/auth/mfa/sms/enroll`.',
  },
  noTotpFactor: notEnrolled('no TOTP factor enrolled'),
  noEmailMfaFactor: notEnrolled('no email MFA factor enrolled'),
  noSmsMfaFactor: notEnrolled('no SMS MFA factor enrolled'),
  emailForMfaMissing: {
    status: 400,
    message: 'the account has no email',
    help: 'Codes can be mailed only to an account with an address.',
  },
  invalidPhone: {
    status: 400,
    message: 'invalid phone number format',
    help: 'Send the number in international form, such as +12025550123. Its country must be one that codes are sent to.',
  },
  challengeNotFound: {
    status: 404,
    message: 'challenge not found or expired',
    help: 'Request a new challenge. It is valid for five minutes, by email for ten.',
  },
  challengeUsed: {
    status: 409,
    message: 'challenge already verified',
    help: 'A challenge works once.',
  },
  invalidTotpCode: wrong(
    'invalid TOTP code',
    'The code is wrong, or the clock of the device is off by more than 30 seconds.',
  ),
  totpCodeUsed: wrong('TOTP code already used', 'Wait for the next code.'),
  invalidEmailMfaCode: wrong('invalid email MFA code', 'The code is wrong, or five attempts have failed.'),
  emailMfaCodeExpired: {
    status: 410,
    message: 'email MFA code expired',
    help: 'A code is valid for ten minutes. Request a new one.',
  },
  invalidSmsMfaCode: wrong(
    'invalid or expired code',
    'The code is wrong, has expired, or was tried too often.',
  ),
  invalidBackupCode: wrong('invalid or already used backup code', 'Each code works once.'),
  tooManyEmailChallenges: {
    status: 429,
    message: 'too many email challenges, try again later',
    help: 'At most three mails are sent in ten minutes.',
  },
  tooManySmsChallenges: {
    status: 429,
    message: 'too many SMS challenges, try again later',
    help: 'The limits are `auth.limits.sms_per_hour`, for a user and for a number that is being enrolled, and `auth.sms_daily_limit`.',
  },
  tooManyMfaFailures: {
    status: 429,
    message: 'too many failed attempts, try again later',
    help: 'Fifteen failures within an hour lock all second factors for thirty minutes.',
  },
  factorNotFound: {
    status: 404,
    message: 'factor not found',
    help: 'The user has no factor with this id.',
  },
} as const

export const mfaErrors = defineErrors(mfaErrorTable)

/** Returns the error for sessions without a second factor, with its own message. */
export function enrollmentNeedsAal2(): AppError {
  const { kind, status } = httpErrors.insufficientAal()
  return new AppError(kind, status, 'AAL2 session required to enroll additional MFA factors')
}
