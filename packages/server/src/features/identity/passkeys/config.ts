import { flag } from '../../../config/keys.ts'

/** Of `auth`: passkeys. */
export const passkeyKeys = {
  webauthn_enabled: flag(false, 'Whether passkeys may be used.'),
}
