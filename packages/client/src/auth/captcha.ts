import { BasaltError } from '../errors.ts'

/** Captcha of a route, as the server describes it. */
export interface CaptchaChallenge {
  readonly provider:
    | 'proof_of_work'
    | 'turnstile'
    | 'hcaptcha'
    | 'friendly_captcha'
    | (string & Record<never, never>)
  /** Route that requires it. It is the `action` of a Turnstile widget. */
  readonly route: string
  /** Public key for the widget of the provider. */
  readonly siteKey?: string
}

/** Solver of a provider's captcha. It returns the token of the provider's widget. */
export type SolveCaptcha = (challenge: CaptchaChallenge) => string | Promise<string>

interface ProofChallenge extends CaptchaChallenge {
  readonly algorithm: string
  readonly challenge: string
  readonly maxnumber: number
  readonly salt: string
  readonly signature: string
}

/** Number of hashes that are computed at once. The page handles events between them. */
const chunk = 256

/** Returns the response of a captcha. Returns undefined if it is of a provider and there is no solver. */
export async function solveCaptcha(
  challenge: CaptchaChallenge,
  solve: SolveCaptcha | undefined,
): Promise<string | undefined> {
  if (challenge.provider !== 'proof_of_work') return await solve?.(challenge)
  const { algorithm, challenge: hash, salt, signature, maxnumber } = challenge as ProofChallenge
  const number = await findNumber(salt, hash, maxnumber)
  return btoa(JSON.stringify({ algorithm, challenge: hash, number, salt, signature }))
}

/** Finds the number of a proof of work. The browser hashes on threads of its own, so the page is not blocked. */
async function findNumber(salt: string, hash: string, most: number): Promise<number> {
  // Browsers have it in secure contexts only.
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined
  if (subtle === undefined) throw unsolved('a proof of work needs a page with TLS')
  const encoder = new TextEncoder()
  for (let first = 0; first <= most; first += chunk) {
    const numbers = Array.from({ length: Math.min(chunk, most + 1 - first) }, (_, index) => first + index)
    const digests = await Promise.all(
      numbers.map((number) => subtle.digest('SHA-256', encoder.encode(`${salt}${number}`))),
    )
    const found = digests.findIndex((digest) => hexOf(digest) === hash)
    if (found !== -1) return first + found
  }
  throw unsolved('no number solves the captcha')
}

function hexOf(digest: ArrayBuffer): string {
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function unsolved(message: string): BasaltError {
  return new BasaltError(message, { error: 'captcha_unsolved', status: 0 })
}
