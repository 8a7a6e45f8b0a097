import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * Loads the WebAuthn library with the first passkey. It takes a quarter of a second, and 16 MB that a server
 * without passkeys does not need.
 */
export const webauthn = (): typeof import('@simplewebauthn/server') => require('@simplewebauthn/server')

export const webauthnHelpers = (): typeof import('@simplewebauthn/server/helpers') =>
  require('@simplewebauthn/server/helpers')
