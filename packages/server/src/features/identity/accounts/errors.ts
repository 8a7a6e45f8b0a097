import { defineErrors } from '../../../lib/errors.ts'

export const accountErrorTable = {
  fieldRequired: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'This member of the body is missing or empty.',
  },
  invalidEmail: {
    status: 400,
    message: 'invalid email format',
    help: 'Send one address such as `ada@example.com`.',
  },
  passwordTooShort: {
    status: 400,
    message: (length: number) => `password must be at least ${length} characters`,
    help: '`auth.min_password_length` sets the minimum length.',
  },
  passwordTooLong: {
    status: 400,
    message: (length: number) => `password must be at most ${length} characters`,
    help: 'Longer passwords are no more secure.',
  },
  commonPassword: {
    status: 400,
    message: 'password is too common: choose one that is harder to guess',
    help: 'Attackers try the passwords on this list first.',
  },
  emailTaken: {
    status: 409,
    message: 'email already registered',
    help: 'An account with this address exists. Sign in to it, or reset its password.',
  },
  invalidCredentials: {
    status: 401,
    message: 'invalid email or password',
    help: 'The response is the same for an unknown address, a wrong password and an account that may not sign in.',
  },
  emailNotVerified: {
    status: 403,
    message: 'verify your email address before signing in; a link has been sent to it',
    help: '`auth.require_verified_email` is set and the address is not verified. Open the link in the mail, then sign in. Each sign-in with the password sends another mail.',
  },
  wrongPassword: {
    status: 401,
    message: 'invalid password',
    help: 'The current password is wrong.',
  },
  invalidRefreshToken: {
    status: 401,
    message: 'invalid or expired refresh token',
    help: 'The session has ended, or the token has already been replaced. Sign in again.',
  },
  invalidSessionId: {
    status: 400,
    message: 'invalid session id format',
    help: 'Session ids are UUIDs. `GET /api/auth/sessions` lists them.',
  },
  sessionNotFound: {
    status: 404,
    message: 'session not found',
    help: 'The session does not exist or has ended.',
  },
  foreignSession: {
    status: 403,
    message: "cannot revoke another user's session",
    help: 'Callers can end only their own sessions here.',
  },
  allExceptCurrentRequired: {
    status: 400,
    message: 'all_except_current=true is required',
    help: 'Without this parameter no session ends. To end one session, use `DELETE /api/auth/sessions/{id}`.',
  },
  noCurrentSession: {
    status: 400,
    message: 'current session id is unavailable',
    help: 'The token belongs to no session, so the server does not know which session to keep.',
  },
  invalidResetToken: {
    status: 400,
    message: 'invalid or expired reset token',
    help: 'A reset link works once and for an hour. Only the latest link is valid.',
  },
  invalidVerificationToken: {
    status: 400,
    message: 'invalid or expired verification token',
    help: 'A verification link works once and for a day. Only the latest link is valid.',
  },
  invalidMagicLinkToken: {
    status: 400,
    message: 'invalid or expired magic link token',
    help: 'A sign-in link works once and for `auth.magic_link_duration`. Only the latest link is valid.',
  },
  magicLinkDisabled: {
    status: 404,
    message: 'magic link authentication is not enabled',
    help: 'Set `auth.magic_link_enabled`, or enable it in the auth settings.',
  },
  smsDisabled: {
    status: 404,
    message: 'SMS authentication is not enabled',
    help: 'Set `auth.sms_enabled`, or enable it in the auth settings.',
  },
  anonymousDisabled: {
    status: 404,
    message: 'anonymous auth is not enabled',
    help: 'Set `auth.anonymous_auth_enabled`, or enable it in the auth settings.',
  },
  invalidSmsCode: {
    status: 401,
    message: 'invalid or expired SMS code',
    help: 'The code is wrong, has expired, was used, or was tried too often. Request a new one.',
  },
  onlyAnonymous: {
    status: 403,
    message: 'only anonymous accounts can link credentials',
    help: 'The caller already has credentials.',
  },
  emailRequired: {
    status: 403,
    message: 'link an email before setting a password',
    help: 'An anonymous account has no address to sign in with. Use `POST /api/auth/link/email`.',
  },
  alreadyLinked: {
    status: 403,
    message: 'account is not anonymous or already linked',
    help: 'Another request linked the account first. Refresh the token.',
  },
  emailOfAnother: {
    status: 409,
    message: 'email already belongs to another account',
    help: 'Sign in to that account, without the anonymous token.',
  },
  invalidUserId: { status: 400, message: 'invalid user id format', help: 'User ids are UUIDs.' },
  userNotFound: {
    status: 404,
    message: 'user not found',
    help: 'No user has this id.',
  },
  invalidNewUser: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A user needs an email or a phone. With `invite`, send only the email: its owner chooses the password.',
  },
  invalidAppMetadata: {
    status: 400,
    message: 'app_metadata: expected an object of at most 8192 bytes, without the character U+0000',
    help: '`app_metadata` is an object of JSON. Its size is that of the text that PostgreSQL prints for it.',
  },
  invalidUserPhone: {
    status: 400,
    message: 'invalid phone number',
    help: 'Send the number in international form, such as `+14155550132`. It must exist in the numbering plan of its country.',
  },
  phoneTaken: {
    status: 409,
    message: 'phone already registered',
    help: 'Another user has this phone number.',
  },
  userWithoutEmail: {
    status: 409,
    message: 'user has no email address',
    help: 'Set an address first with `PATCH /api/admin/users/{id}`.',
  },
  userDisabled: {
    status: 409,
    message: 'user is disabled',
    help: 'Enable the user first.',
  },
  emailAlreadyVerified: {
    status: 409,
    message: 'email is already verified',
    help: 'No verification is needed.',
  },
  accountReferenced: {
    status: 409,
    message: 'the account cannot be deleted while other data refers to it',
    help: 'A row references the account by a foreign key without `on delete`. An administrator can find out which one.',
  },
  userReferenced: {
    status: 409,
    message: (table: string) => `user is referenced by rows of ${table}`,
    help: 'A row references the user by a foreign key without `on delete`. `GET /api/admin/users/{id}/deletion` lists the references. Remove those rows first, or change the key.',
  },
  impersonationNotFound: {
    status: 404,
    message: 'impersonation not found',
    help: 'The impersonation has ended, or none has this id. `GET /api/admin/impersonations` lists the active ones.',
  },
} as const

export const accountErrors = defineErrors(accountErrorTable)
