import { defineErrors } from '../../../lib/errors.ts'

export const companySignInErrorTable = {
  companySignInNotConfigured: {
    status: 404,
    message: 'no provider signs in administrators',
    help: 'Set `admin.oidc.issuer` and its client.',
  },
  invalidCompanySignIn: {
    status: 400,
    message: 'this sign-in has expired, was used, or began in another browser',
    help: 'A sign-in finishes once, within ten minutes, in the browser that began it.',
  },
  companySignInDenied: {
    status: 403,
    message: 'the provider has denied the sign-in',
    help: 'The provider responded with an error, for example because the person cancelled. The log of the server has it.',
  },
  companySignInFailed: {
    status: 502,
    message: 'failed to sign in with the provider',
    help: 'The provider is unavailable, rejected the code, or sent an unusable response. The log of the server has the reason. `basalt admin recover` opens another way in.',
  },
  invalidReturnTo: {
    status: 400,
    message: 'returnTo: expected a path of the dashboard',
    help: 'Send a path that begins with `admin.path`, such as `/admin/tables`.',
  },
} as const

export const companySignInErrors = defineErrors(companySignInErrorTable)
