import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

/**
 * Keys derived from `auth.jwt_secret`, one for each purpose. A signature made for one purpose is invalid for
 * another. They are key objects, because `createHmac` takes five times as long with the bytes of a key.
 */
export interface AccountKeys {
  /** Key that signs access tokens. */
  readonly access: string
  /** Key that makes refresh tokens. */
  readonly refresh: KeyObject
  /** Key that makes the tokens of OAuth clients. */
  readonly oauth: KeyObject
  /** Key that hashes short codes. A plain hash would not hide them. */
  readonly codes: KeyObject
  /** Key that signs captchas. */
  readonly captcha: KeyObject
}

export function deriveKeys(secret: string): AccountKeys {
  const derive = (purpose: string) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `basalt ${purpose}`, 32)))
  return {
    access: secret,
    refresh: derive('refresh token'),
    oauth: derive('oauth tokens'),
    codes: derive('one-time code'),
    captcha: derive('captcha'),
  }
}

/** Returns the stored form of a short code, bound to its purpose and subject. */
export function hashCode(keys: AccountKeys, purpose: string, subject: string, code: string): Buffer {
  return createHmac('sha256', keys.codes)
    .update(JSON.stringify([purpose, subject, code]))
    .digest()
}

/** Derives 256 bits, the same in every attempt of a job, so that a message sent twice carries the same secret. */
export function deriveJobSecret(keys: AccountKeys, jobId: string): Buffer {
  return createHmac('sha256', keys.codes)
    .update(JSON.stringify(['job', jobId]))
    .digest()
}

/** Derives the digits of a code, the same in every attempt of a job. */
export function deriveJobCode(keys: AccountKeys, jobId: string, length: number): string {
  const number = deriveJobSecret(keys, jobId).readUIntBE(0, 6) % 10 ** length
  return String(number).padStart(length, '0')
}
