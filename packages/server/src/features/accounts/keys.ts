import { createHmac, hkdfSync } from 'node:crypto'

/** Keys of one purpose each, made from `auth.jwt_secret`: what is signed for one is worth nothing for another. */
export interface AccountKeys {
  /** Signs access tokens. */
  readonly access: string
  /** Makes refresh tokens. */
  readonly refresh: Buffer
  /** Hashes short codes, which a plain hash would not hide. */
  readonly codes: Buffer
}

export function deriveKeys(secret: string): AccountKeys {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', `basalt ${purpose}`, 32))
  return { access: secret, refresh: derive('refresh token'), codes: derive('one-time code') }
}

/** What is stored of a short code, bound to what it is for. */
export function hashCode(keys: AccountKeys, purpose: string, subject: string, code: string): Buffer {
  return createHmac('sha256', keys.codes)
    .update(JSON.stringify([purpose, subject, code]))
    .digest()
}
