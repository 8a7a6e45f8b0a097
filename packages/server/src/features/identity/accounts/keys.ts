import { createHmac, hkdfSync } from 'node:crypto'

/** Keys of one purpose each, made from `auth.jwt_secret`: what is signed for one is worth nothing for another. */
export interface AccountKeys {
  /** Signs access tokens. */
  readonly access: string
  /** Makes refresh tokens. */
  readonly refresh: Buffer
  /** Makes the tokens of OAuth clients. */
  readonly oauth: Buffer
  /** Hashes short codes, which a plain hash would not hide. */
  readonly codes: Buffer
}

export function deriveKeys(secret: string): AccountKeys {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', `basalt ${purpose}`, 32))
  return {
    access: secret,
    refresh: derive('refresh token'),
    oauth: derive('oauth tokens'),
    codes: derive('one-time code'),
  }
}

/** What is stored of a short code, bound to what it is for. */
export function hashCode(keys: AccountKeys, purpose: string, subject: string, code: string): Buffer {
  return createHmac('sha256', keys.codes)
    .update(JSON.stringify([purpose, subject, code]))
    .digest()
}

/** 256 bits that every attempt of a job makes again: a message that is sent twice carries the same secret. */
export function deriveJobSecret(keys: AccountKeys, jobId: string): Buffer {
  return createHmac('sha256', keys.codes)
    .update(JSON.stringify(['job', jobId]))
    .digest()
}

/** The digits of a code that every attempt of a job makes again. */
export function deriveJobCode(keys: AccountKeys, jobId: string, length: number): string {
  const number = deriveJobSecret(keys, jobId).readUIntBE(0, 6) % 10 ** length
  return String(number).padStart(length, '0')
}
