import { Secret, TOTP } from 'otpauth'

/** Period of time-based one-time codes (RFC 6238): SHA-1, 6 digits, 30 seconds, one step of skew either way. */
const period = 30
const digits = 6
const skew = 1

/** Length of a shared secret in bytes (RFC 4226 §4, R6). */
export const totpSecretBytes = 20

/** Returns the URI for a QR code, and the secret in base32. */
export function describeTotp(
  secret: Buffer,
  names: { readonly issuer: string; readonly label: string },
): { readonly uri: string; readonly secret: string } {
  const totp = totpOf(secret, names)
  return { uri: totp.toString(), secret: totp.secret.base32 }
}

/** Returns the time step of a code that is valid at the time; undefined for a wrong code. */
export function findTimeStep(secret: Buffer, code: string, timestampMs: number): number | undefined {
  const token = code.replace(/[\s-]/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const delta = totpOf(secret).validate({ token, timestamp: timestampMs, window: skew })
  return delta === null ? undefined : Math.floor(timestampMs / 1000 / period) + delta
}

function totpOf(secret: Buffer, names: { issuer: string; label: string } = { issuer: '', label: '' }): TOTP {
  const buffer = new Uint8Array(secret).buffer
  return new TOTP({ ...names, algorithm: 'SHA1', digits, period, secret: new Secret({ buffer }) })
}
