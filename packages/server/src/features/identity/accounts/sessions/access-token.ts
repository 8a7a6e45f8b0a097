import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  type TokenVerifier,
  type UserIdentity,
  unattributed,
  type Verdict,
} from '../../../../http/access/identity.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { isObject, type JsonObject, parseJson } from '../../../../lib/json.ts'
import { Lru } from '../../../../lib/lru.ts'

/**
 * Access tokens: JWT, HS256. Verified by hand because
 * it is on the path of every request; each guard below names the attack of RFC 8725 it refuses.
 */

export interface AccessTokenClaims {
  /** User id, a uuid in lower case. */
  readonly sub: string
  readonly email: string
  readonly email_verified: boolean
  readonly aal: 'aal1' | 'aal2'
  readonly amr: readonly string[]
  readonly is_anonymous: boolean
  /** Session id; absent from tokens that an operator made. */
  readonly sid?: string
  readonly jti?: string
  /** Who acts as the user (RFC 8693 §4.1). */
  readonly act?: { readonly sub: string }
}

/** Claims of the token for the second factor. */
export interface PendingTokenClaims {
  readonly sub: string
  readonly email: string
  readonly aal: 'aal1'
  /** The first factor. */
  readonly amr: readonly string[]
  readonly mfa_pending: true
  /** The sign-in that waits to be completed. */
  readonly jti: string
}

export interface AccessTokenKeys {
  readonly secret: string
  readonly clock: Clock
}

/** Longest token that is looked at. */
const lengthLimit = 16_384
/** Clock difference between nodes that is forgiven for `nbf` and `iat`; never for `exp`. */
const leewaySeconds = 60
/** Tokens whose verification is remembered at least; a client sends the same one for a quarter of an hour. */
const leastRemembered = 5000

interface Remembered {
  readonly verdict: Verdict
  readonly expiresAtMs: number
}

/**
 * Recognizes every token that no other verifier does; ask it last.
 *
 * @param connections that a node holds at most. Twice as many tokens are remembered: streams verify theirs twice a second
 *   and before each event, one after the other, and of more than are remembered none would be found again.
 */
export function createAccessTokenVerifier(keys: AccessTokenKeys, connections = 0): TokenVerifier {
  const remembered = new Lru<string, Remembered>(Math.max(leastRemembered, 2 * connections))
  return {
    recognizes: () => true,
    verify(token) {
      const nowMs = keys.clock.now().getTime()
      const known = remembered.get(token)
      if (known !== undefined) return nowMs < known.expiresAtMs ? known.verdict : refuse
      const claims = verifyToken(token, keys.secret, nowMs / 1000)
      if (claims === undefined) return refuse
      const verdict = judge(claims)
      if ('identity' in verdict) remembered.set(token, { verdict, expiresAtMs: claims.exp * 1000 })
      return verdict
    },
  }
}

/** @param lifetimeSeconds from the clock's now */
export function signAccessToken(
  claims: AccessTokenClaims | PendingTokenClaims,
  lifetimeSeconds: number,
  keys: AccessTokenKeys,
): string {
  const issuedAt = Math.floor(keys.clock.now().getTime() / 1000)
  const head = encode({ alg: 'HS256', typ: 'JWT' })
  const body = encode({ ...claims, iat: issuedAt, exp: issuedAt + lifetimeSeconds })
  return `${head}.${body}.${sign(`${head}.${body}`, keys.secret).toString('base64url')}`
}

const refuse: Verdict = { refusal: 'invalid' }

interface Claims {
  readonly [name: string]: unknown
  readonly exp: number
}

function verifyToken(token: string, secret: string, nowSeconds: number): Claims | undefined {
  // Unbounded input would be hashed in full.
  if (token.length > lengthLimit) return undefined
  // Exactly three parts of unpadded base64url, each with one spelling only (RFC 7515 §3.1).
  const [head, body, signature, ...rest] = token.split('.')
  if (head === undefined || body === undefined || signature === undefined || rest.length > 0) return undefined
  if (![head, body, signature].every(isCanonicalBase64Url)) return undefined
  // The algorithm is ours to choose, not the token's (§3.1, §3.2): `none`, RS256 with our key as a public key and
  // keys or key ids that the token brings (`jwk`, `jku`, `x5u`, `kid`, §3.10) have no say.
  const header = decode(head)
  if (header === undefined || header.alg !== 'HS256') return undefined
  // Extensions we do not know must be refused (RFC 7515 §4.1.11).
  if ('crit' in header) return undefined
  // A token of another type (§3.11, §3.12) signed with the same key is not an access token.
  const type = header.typ
  if (type !== undefined && (typeof type !== 'string' || !acceptedTypes.has(type.toLowerCase())))
    return undefined
  const expected = sign(`${head}.${body}`, secret)
  const actual = Buffer.from(signature, 'base64url')
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined
  const claims = decode(body)
  if (claims === undefined || !isInForce(claims, nowSeconds) || !isForUs(claims)) return undefined
  return claims
}

const acceptedTypes = new Set(['jwt', 'at+jwt'])

/** A token without an end is refused; so is one that is not valid yet, or that claims to come from the future. */
function isInForce(claims: Readonly<Record<string, unknown>>, now: number): claims is Claims {
  const { exp, nbf, iat } = claims
  if (typeof exp !== 'number' || !Number.isFinite(exp) || exp <= now) return false
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf > now + leewaySeconds)) return false
  return iat === undefined || (typeof iat === 'number' && iat <= now + leewaySeconds)
}

/** Our tokens name neither issuer nor audience; one that names another is meant for another service (§3.8, §3.9). */
function isForUs({ iss, aud }: Readonly<Record<string, unknown>>): boolean {
  return (iss === undefined || iss === 'basalt') && (aud === undefined || [aud].flat().includes('basalt'))
}

function judge(claims: Claims): Verdict {
  const { sub, email = '', email_verified = false, sid, aal = 'aal1', amr = [] } = claims
  const { is_anonymous = false, mfa_pending = false, iat, act } = claims
  if (typeof mfa_pending !== 'boolean') return refuse
  if (mfa_pending) return judgePending(claims)
  // Policies compare it with uuid columns, and as text with how Postgres prints those.
  if (!isText(sub) || !uuid.test(sub) || !isText(email)) return refuse
  if (sid !== undefined && (!isText(sid) || !uuid.test(sid))) return refuse
  if ((aal !== 'aal1' && aal !== 'aal2') || typeof is_anonymous !== 'boolean') return refuse
  if (typeof email_verified !== 'boolean') return refuse
  if (!Array.isArray(amr) || !amr.every(isText)) return refuse
  // One who acts for another is known, and can be stopped by ending the session.
  const impersonator = act === undefined ? undefined : readActor(act)
  if (act !== undefined && (impersonator === undefined || sid === undefined)) return refuse
  const identity: UserIdentity = {
    kind: 'user',
    ...unattributed,
    userId: sub,
    email,
    sessionId: sid,
    aal,
    amr,
    isAnonymous: is_anonymous,
    issuedAt: typeof iat === 'number' ? iat : undefined,
    ...(impersonator === undefined ? {} : { impersonator }),
    scope: {
      kind: 'caller',
      userId: sub,
      email,
      isEmailVerified: email_verified,
      aal,
      isAnonymous: is_anonymous,
      sessionId: sid ?? '',
    },
  }
  return { identity }
}

/** Who acts (RFC 8693 §4.1). */
function readActor(act: unknown): string | undefined {
  const sub = typeof act === 'object' && act !== null && 'sub' in act ? act.sub : undefined
  return isText(sub) && sub !== '' ? sub : undefined
}

/** A token that opens nothing but the second factor; it has no session. */
function judgePending({ sub, email = '', jti }: Claims): Verdict {
  if (!isText(sub) || !uuid.test(sub) || !isText(email)) return refuse
  return { refusal: 'pending', pending: { userId: sub, email, pendingId: isText(jti) ? jti : '' } }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** What can stand in a setting of Postgres. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 1024 && !value.includes('\0')
}

function isCanonicalBase64Url(text: string): boolean {
  return Buffer.from(text, 'base64url').toString('base64url') === text
}

function decode(part: string): JsonObject | undefined {
  const value = parseJson(Buffer.from(part, 'base64url').toString('utf8'))
  return isObject(value) ? value : undefined
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function sign(input: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(input).digest()
}
