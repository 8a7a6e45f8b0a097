import { defineErrors } from '../../../lib/errors.ts'

export const adminErrorTable = {
  invalidPassword: {
    status: 401,
    message: 'invalid password',
    help: "The administrator's password is wrong. `basalt admin reset-password` sets a new one.",
  },
  invalidAdministratorCredentials: {
    status: 401,
    message: 'invalid email or password',
    help: 'No enabled administrator has this address and password. An owner can invite you again, and `POST /api/admin/auth/forgot` mails a link for a new password.',
  },
  passwordSignInDisabled: {
    status: 403,
    message: 'administrators sign in with the provider of the company',
    help: '`admin.password_sign_in` is off. `POST /api/admin/auth/oidc` begins a sign-in, and `basalt admin recover` prints a sign-in link.',
  },
  unverifiedAdminAddress: {
    status: 403,
    message: 'the provider has not verified an email address of this account',
    help: 'The first sign-in of an administrator needs the claims `email` and `email_verified` of the provider.',
  },
  noAdministratorRole: {
    status: 403,
    message: 'your account has no role here',
    help: 'No group of the account is in `admin.oidc.roles`, and there is no `admin.oidc.default_role`. An owner can invite you if the provider decides no roles.',
  },
  administratorAccessDisabled: {
    status: 403,
    message: 'this administrator is disabled',
    help: 'An owner has disabled the administrator, and enables them with `PATCH /api/admin/administrators/{id}`.',
  },
  administratorBoundElsewhere: {
    status: 403,
    message: 'the administrator with this address signs in with another account of the provider',
    help: 'If the account was replaced, an owner removes the old one by `DELETE /api/admin/administrators/{id}/identity`.',
  },
  reauthenticationRefused: {
    status: 403,
    message: 'the provider has not authenticated this administrator again',
    help: 'Sign in at the provider with the account of the session, within ten minutes. With an enrolled second factor, send its code instead.',
  },
  noProviderIdentity: {
    status: 409,
    message: 'the administrator has no account at the provider',
    help: 'Administrators are bound to an account by their first sign-in with the provider of `admin.oidc`.',
  },
  invalidSignInCode: {
    status: 401,
    message: 'invalid or expired sign-in code',
    help: 'A sign-in link works once and for an hour. Sign in with the password instead.',
  },
  invalidPasswordCode: {
    status: 401,
    message: 'invalid or expired code',
    help: 'The link of an invitation or of a forgotten password works once and for a limited time. An owner can create another one.',
  },
  invalidNewPassword: {
    status: 400,
    message: 'password: expected 8 to 1024 characters',
    help: 'Administrators choose passwords of at least 8 characters.',
  },
  administratorNotFound: {
    status: 404,
    message: 'administrator not found',
    help: '`GET /api/admin/administrators` lists the administrators.',
  },
  administratorExists: {
    status: 409,
    message: (email: string) => `email: ${email} is the address of another administrator`,
    help: 'Each administrator has an address of their own. `PATCH /api/admin/administrators/{id}` changes the role of one.',
  },
  administratorDisabled: {
    status: 409,
    message: 'the administrator is disabled',
    help: 'Enable the administrator first: `PATCH /api/admin/administrators/{id}` with `{"isDisabled": false}`.',
  },
  invalidAdministratorEmail: {
    status: 400,
    message: 'email: expected an email address',
    help: 'Administrators sign in with an address to which mail can be sent.',
  },
  lastOwner: {
    status: 409,
    message: 'the last owner who can sign in keeps role and access',
    help: 'Make another administrator an owner first, and let them set a password.',
  },
  adminSessionNotFound: {
    status: 404,
    message: 'session not found',
    help: 'The session has ended, or belongs to another administrator.',
  },
  noAdministrator: {
    status: 409,
    message: 'this session belongs to no administrator',
    help: 'The token was created at the command line. Sign in with an address and a password.',
  },
  invalidTokenRequest: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A token has a name, an end within a year, at most the role of its administrator, and optionally address ranges.',
  },
  tokenOfToken: {
    status: 403,
    message: 'a token of a program creates no further tokens',
    help: 'Sign in with an address and a password.',
  },
  noPendingAdminSignIn: {
    status: 401,
    message: 'this sign-in no longer waits for a second factor',
    help: 'It lasts five minutes after the password. Sign in again.',
  },
  invalidSecondFactorCode: {
    status: 401,
    message: 'invalid code',
    help: 'Send the current code of the authenticator app, or an unused backup code. `basalt admin recover` removes the factors of an administrator.',
  },
  secondFactorCodeUsed: {
    status: 401,
    message: 'the code was already used',
    help: 'Each code works once. Wait for the next code of the app.',
  },
  passkeyRefused: {
    status: 401,
    message: 'the passkey was refused',
    help: 'Request a new challenge and try again. The log of the server has the reason.',
  },
  adminPasskeysNeedDomain: {
    status: 400,
    message: (host: string) => `passkeys require a domain name, and ${host} is an address`,
    help: 'Set `server.public_base_url` to an address with a domain name.',
  },
  administratorTotpEnrolled: {
    status: 409,
    message: 'an authenticator app is already enrolled',
    help: 'Remove it first: `DELETE /api/admin/account/factors/totp`.',
  },
  noAdministratorTotp: {
    status: 409,
    message: 'no enrolment of an authenticator app waits for its code',
    help: 'An enrolment lasts ten minutes. `POST /api/admin/account/factors/totp` begins one.',
  },
  administratorFactorNotFound: {
    status: 404,
    message: 'factor not found',
    help: '`GET /api/admin/account/factors` lists your factors.',
  },
  adminPasskeyFailed: {
    status: 400,
    message: 'the passkey was not added',
    help: 'Request new options and try again. The log of the server has the reason.',
  },
  tooManyAdminPasskeys: {
    status: 409,
    message: (most: number) => `an administrator has at most ${most} passkeys`,
    help: 'Remove a passkey that is no longer used.',
  },
  noSecondFactor: {
    status: 409,
    message: 'no second factor is enrolled',
    help: 'Enrol an authenticator app or a passkey first.',
  },
  programToken: {
    status: 403,
    message: 'a token of a program has no second factor',
    help: 'Sign in as the administrator.',
  },
  missingCredentials: {
    status: 400,
    message: (fields: string) => `${fields} required`,
    help: 'To sign in, send `{"email": "…", "password": "…"}`, the password of the first administrator as `{"password": "…"}`, or the code of a sign-in link as `{"code": "…"}`. To prove a second factor, send `code`, or `challenge_id` and `assertion_response` of a passkey.',
  },
} as const

export const adminErrors = defineErrors(adminErrorTable)
