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
  missingCredentials: {
    status: 400,
    message: 'password is required',
    help: 'Send `{"email": "…", "password": "…"}`, the password of the first administrator as `{"password": "…"}`, or the code of a sign-in link as `{"code": "…"}`.',
  },
} as const

export const adminErrors = defineErrors(adminErrorTable)
