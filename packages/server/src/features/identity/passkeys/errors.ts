import { defineErrors } from '../../../lib/errors.ts'

export const passkeyErrorTable = {
  webauthnDisabled: {
    status: 404,
    message: 'WebAuthn MFA is not enabled',
    help: 'Set `auth.webauthn_enabled`, or switch it on in the auth settings.',
  },
  passkeysNeedDomain: {
    status: 404,
    message: (host: string) => `passkeys need a domain name, and ${host} is an address`,
    help: 'Passkeys belong to a domain. Set `server.public_base_url` to one, or use `http://localhost` on your own machine.',
  },
  invalidAttestationResponse: {
    status: 400,
    message: 'invalid attestation response',
    help: 'Expected what `navigator.credentials.create` answered, as its `toJSON()` gives it.',
  },
  webauthnEnrollmentFailed: {
    status: 400,
    message: 'WebAuthn enrollment verification failed',
    help: 'The answer does not belong to the latest enrolment of this user, is older than five minutes, or was not made for this site. The log of the server has the reason.',
  },
  passkeyRegistered: {
    status: 409,
    message: 'passkey already registered',
    help: 'A passkey belongs to one account and is added once.',
  },
  tooManyPasskeys: {
    status: 409,
    message: (limit: number) => `an account has at most ${limit} passkeys`,
    help: 'Delete one that is no longer used.',
  },
  invalidAssertionResponse: {
    status: 400,
    message: 'invalid assertion response',
    help: 'Expected what `navigator.credentials.get` answered, as its `toJSON()` gives it.',
  },
  webauthnAssertionFailed: {
    status: 401,
    message: 'WebAuthn assertion failed',
    help: 'The answer was not made by a passkey of this user, for this challenge and this site. The log of the server has the reason.',
  },
  clonedAuthenticator: {
    status: 401,
    message: 'cloned authenticator detected',
    help: 'The passkey counts its signatures, and this one has been counted before: there may be a copy of it. Sign in another way and remove the passkey.',
  },
  invalidPasskey: {
    status: 401,
    message: 'invalid email or passkey',
    help: 'The answer is the same for an unknown address, a wrong or unknown passkey, an expired challenge and an account that may not sign in.',
  },
  noWebauthnFactor: {
    status: 404,
    message: 'no WebAuthn factor enrolled',
    help: 'The user has no passkey.',
  },
  passkeyNotFound: {
    status: 404,
    message: 'passkey not found',
    help: 'The user has no passkey with this credential id.',
  },
  lastPasskey: {
    status: 409,
    message: 'the last passkey cannot be deleted by itself',
    help: 'Remove the whole factor with `DELETE /api/auth/mfa/webauthn/`, or add another passkey first.',
  },
} as const

export const passkeyErrors = defineErrors(passkeyErrorTable)
