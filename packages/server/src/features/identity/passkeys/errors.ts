import { defineErrors } from '../../../lib/errors.ts'

export const passkeyErrorTable = {
  webauthnDisabled: {
    status: 404,
    message: 'WebAuthn MFA is not enabled',
    help: 'Set `auth.webauthn_enabled`, or enable it in the auth settings.',
  },
  passkeysNeedDomain: {
    status: 404,
    message: (host: string) => `passkeys need a domain name, and ${host} is an address`,
    help: 'Passkeys belong to a domain. Set `server.public_base_url` to an address with a domain, or use `http://localhost` on your own machine.',
  },
  invalidAttestationResponse: {
    status: 400,
    message: 'invalid attestation response',
    help: 'Send the result of `navigator.credentials.create`, as its `toJSON()` returns it.',
  },
  webauthnEnrollmentFailed: {
    status: 400,
    message: 'WebAuthn enrollment verification failed',
    help: 'The response does not belong to the latest enrolment of this user, is older than five minutes, or was not made for this site. The server log has the reason.',
  },
  passkeyRegistered: {
    status: 409,
    message: 'passkey already registered',
    help: 'A passkey belongs to one account and is added once.',
  },
  tooManyPasskeys: {
    status: 409,
    message: (limit: number) => `an account has at most ${limit} passkeys`,
    help: 'Delete a passkey that is no longer used.',
  },
  invalidAssertionResponse: {
    status: 400,
    message: 'invalid assertion response',
    help: 'Send the result of `navigator.credentials.get`, as its `toJSON()` returns it.',
  },
  webauthnAssertionFailed: {
    status: 401,
    message: 'WebAuthn assertion failed',
    help: 'The response was not made by a passkey of this user, for this challenge and this site. The server log has the reason.',
  },
  clonedAuthenticator: {
    status: 401,
    message: 'cloned authenticator detected',
    help: 'The passkey counts its signatures, and this count was seen before, so there may be a copy of the passkey. Sign in with another method and remove the passkey.',
  },
  invalidPasskey: {
    status: 401,
    message: 'invalid email or passkey',
    help: 'The response is the same for an unknown address, a wrong or unknown passkey, an expired challenge and an account that may not sign in.',
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
