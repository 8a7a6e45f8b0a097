import { createToken, hashToken } from '../../../lib/tokens.ts'

export const apiKeyPrefix = 'basalt_key_'
/** Characters of the secret that are shown: they tell keys apart and give nothing away of 256 bits that matters. */
const shownLength = 8

/** A secret as it is shown once, and what is stored of it. */
export interface NewSecret {
  readonly key: string
  readonly hash: Buffer
  readonly keyPrefix: string
}

export function createSecret(): NewSecret {
  const key = createToken(apiKeyPrefix)
  return { key, hash: hashToken(key), keyPrefix: key.slice(0, apiKeyPrefix.length + shownLength) }
}
