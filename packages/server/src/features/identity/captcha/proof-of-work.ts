import { createHash, createHmac, type KeyObject, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'

/** Lifetime of a challenge in seconds. */
export const challengeSeconds = 300

/** Challenge in the form of ALTCHA (https://altcha.org/docs/v1), version 1 of the protocol. */
export interface ProofChallenge {
  readonly algorithm: 'SHA-256'
  /** SHA-256 of the salt and the number, in hexadecimal. */
  readonly challenge: string
  readonly maxnumber: number
  readonly salt: string
  readonly signature: string
}

export interface Solution {
  readonly route: string
  /** Id of the challenge, by which it is used once. */
  readonly id: string
}

/** Creates a challenge. Its number is random, so nothing can be computed before it. */
export function createChallenge(
  key: KeyObject,
  { route, difficulty, now }: { readonly route: string; readonly difficulty: number; readonly now: Date },
): ProofChallenge {
  const expires = Math.floor(now.getTime() / 1000) + challengeSeconds
  // The last `&` separates the salt from the number. Without it, digits could move from one to the other.
  const salt = `${randomBytes(16).toString('hex')}?expires=${expires}&route=${route}&`
  const challenge = hashOf(salt, randomInt(difficulty + 1))
  return { algorithm: 'SHA-256', challenge, maxnumber: difficulty, salt, signature: sign(key, challenge) }
}

/** Verifies a solution: base64 of the JSON of a challenge with its number. Returns undefined if it is invalid or expired. */
export function verifySolution(key: KeyObject, payload: string, now: Date): Solution | undefined {
  const { algorithm, challenge, number, salt, signature } = decode(payload)
  if (algorithm !== 'SHA-256') return undefined
  if (typeof challenge !== 'string' || typeof salt !== 'string' || typeof signature !== 'string')
    return undefined
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0) return undefined
  if (!salt.endsWith('&')) return undefined
  if (!isEqual(signature, sign(key, challenge)) || !isEqual(challenge, hashOf(salt, number))) return undefined
  const parameters = new URLSearchParams(salt.slice(salt.indexOf('?') + 1))
  if (!(Number(parameters.get('expires')) * 1000 > now.getTime())) return undefined
  return { route: parameters.get('route') ?? '', id: challenge }
}

function decode(payload: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(payload, 'base64').toString('utf8'))
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function hashOf(salt: string, number: number): string {
  return createHash('sha256').update(`${salt}${number}`).digest('hex')
}

function sign(key: KeyObject, challenge: string): string {
  return createHmac('sha256', key).update(challenge).digest('hex')
}

function isEqual(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)]
  return first.length === second.length && timingSafeEqual(first, second)
}
