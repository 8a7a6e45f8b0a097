import { defineErrors } from '../../../lib/errors.ts'

export const adminErrorTable = {
  invalidPassword: {
    status: 401,
    message: 'invalid password',
    help: "The administrator's password is wrong. `basalt admin reset-password` sets a new one.",
  },
  invalidSignInCode: {
    status: 401,
    message: 'invalid or expired sign-in code',
    help: 'A sign-in link works once and for an hour. Sign in with the password instead.',
  },
  missingCredentials: {
    status: 400,
    message: 'password is required',
    help: 'Send the password as `{"password": "…"}`, or the code of a sign-in link as `{"code": "…"}`.',
  },
} as const

export const adminErrors = defineErrors(adminErrorTable)
