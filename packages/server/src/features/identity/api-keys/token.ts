import { createToken, hashToken } from '../../../lib/tokens.ts'

export const apiKeyPrefix = 'basalt_key_'
/** Number of secret characters that are shown. They distinguish keys and reveal nothing significant of 256 bits. */
const prefixLength = 8

/** New secret, which is shown once, with its stored form. */
export interface NewSecret {
  readonly key: string
  readonly hash: Buffer
  readonly keyPrefix: string
}

export function createSecret(): NewSecret {
  const key = createToken(apiKeyPrefix)
  return { key, hash: hashToken(key), keyPrefix: key.slice(0, apiKeyPrefix.length + prefixLength) }
}
