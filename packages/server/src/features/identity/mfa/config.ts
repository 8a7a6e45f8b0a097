import { flag } from '../../../config/keys.ts'

/** Keys of `auth` for second factors. */
export const mfaKeys = {
  totp_enabled: flag(false, 'True if an authenticator app may be a second factor.'),
  email_mfa_enabled: flag(false, 'True if a mailed code may be a second factor.'),
}
