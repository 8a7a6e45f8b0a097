import { flag } from '../../../config/keys.ts'

/** Keys of `auth` for passkeys. */
export const passkeyKeys = {
  webauthn_enabled: flag(false, 'True if passkeys may be used.'),
}
