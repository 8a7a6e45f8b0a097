import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * Returns the WebAuthn library, which is read with the first passkey: it takes a quarter of a second and 16 MB that a server without
 * passkeys can do without.
 */
export const webauthn = (): typeof import('@simplewebauthn/server') => require('@simplewebauthn/server')

export const webauthnHelpers = (): typeof import('@simplewebauthn/server/helpers') =>
  require('@simplewebauthn/server/helpers')
