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
import { isStorableJson } from '../../../../lib/storable-text.ts'

/**
 * Claims of an access token, a JWT signed with HS256. It is verified by hand because every request does so.
 * Each guard below names the RFC 8725 attack that it prevents.
 */

export interface AccessTokenClaims {
  /** User id, a UUID in lower case. */
  readonly sub: string
  readonly email: string
  readonly email_verified: boolean
  readonly aal: 'aal1' | 'aal2'
  readonly amr: readonly string[]
  readonly is_anonymous: boolean
  /** Session id. Tokens that an operator made have none. */
  readonly sid?: string
  readonly jti?: string
  /** Actor, the administrator who acts as the user (RFC 8693 §4.1). */
  readonly act?: { readonly sub: string }
  /** Claims of the function `claims` of the operator. */
  readonly custom_claims?: JsonObject
}

/** Claims of the token for the second factor. */
export interface PendingTokenClaims {
  readonly sub: string
  readonly email: string
  readonly aal: 'aal1'
  /** First factor of the sign-in. */
  readonly amr: readonly string[]
  readonly mfa_pending: true
  /** Id of the pending sign-in. */
  readonly jti: string
}

export interface AccessTokenKeys {
  readonly secret: string
  readonly clock: Clock
}

/** Maximum length of a token. */
const lengthLimit = 16_384
/** Tolerated clock difference between nodes for `nbf` and `iat`. It never applies to `exp`. */
const leewaySeconds = 60
/** Minimum number of tokens whose verification is cached. A client sends the same token for a quarter of an hour. */
const leastRemembered = 5000

interface Remembered {
  readonly verdict: Verdict
  readonly expiresAtMs: number
}

/**
 * Creates a verifier that recognizes every token unknown to the other verifiers. It must therefore be the
 * last one.
 *
 * @param connections maximum of one node. Twice as many tokens are cached: streams verify theirs in turn,
 * twice a second and before each event. A smaller cache would evict every token before its next use.
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

/** Signs an access token. @param lifetimeSeconds from the clock's current time */
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
  // A longer input would be hashed in full.
  if (token.length > lengthLimit) return undefined
  // A token has exactly three parts of unpadded base64url, each with one spelling only (RFC 7515 §3.1).
  const [head, body, signature, ...rest] = token.split('.')
  if (head === undefined || body === undefined || signature === undefined || rest.length > 0) return undefined
  if (![head, body, signature].every(isCanonicalBase64Url)) return undefined
  // The server chooses the algorithm, not the token (§3.1, §3.2). This excludes `none`, RS256 with the secret as a
  // public key, and keys or key ids in the token (`jwk`, `jku`, `x5u`, `kid`, §3.10).
  const header = decode(head)
  if (header === undefined || header.alg !== 'HS256') return undefined
  // Unknown extensions must be rejected (RFC 7515 §4.1.11).
  if ('crit' in header) return undefined
  // A token of another type (§3.11, §3.12) is not an access token, even if the same key signed it.
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

/**
 * Returns whether a token is valid now. It rejects tokens that never expire, are not valid yet, or were
 * issued in the future.
 */
function isInForce(claims: Readonly<Record<string, unknown>>, now: number): claims is Claims {
  const { exp, nbf, iat } = claims
  if (typeof exp !== 'number' || !Number.isFinite(exp) || exp <= now) return false
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf > now + leewaySeconds)) return false
  return iat === undefined || (typeof iat === 'number' && iat <= now + leewaySeconds)
}

/**
 * Returns whether a token is meant for this service. Its own tokens name neither issuer nor audience, so a
 * token that names one is meant for another service (§3.8, §3.9).
 */
function isForUs({ iss, aud }: Readonly<Record<string, unknown>>): boolean {
  return (iss === undefined || iss === 'basalt') && (aud === undefined || [aud].flat().includes('basalt'))
}

function judge(claims: Claims): Verdict {
  const { sub, email = '', email_verified = false, sid, aal = 'aal1', amr = [] } = claims
  const { is_anonymous = false, mfa_pending = false, iat, act, custom_claims } = claims
  if (typeof mfa_pending !== 'boolean') return refuse
  if (mfa_pending) return judgePending(claims)
  // Policies compare the id with uuid columns, and as text with the form that PostgreSQL prints.
  if (!isText(sub) || !uuid.test(sub) || !isText(email)) return refuse
  if (sid !== undefined && (!isText(sid) || !uuid.test(sid))) return refuse
  if ((aal !== 'aal1' && aal !== 'aal2') || typeof is_anonymous !== 'boolean') return refuse
  if (typeof email_verified !== 'boolean') return refuse
  if (!Array.isArray(amr) || !amr.every(isText)) return refuse
  // An impersonator must be identifiable, and ending the session must stop it.
  const impersonator = act === undefined ? undefined : readActor(act)
  if (act !== undefined && (impersonator === undefined || sid === undefined)) return refuse
  if (custom_claims !== undefined && !(isObject(custom_claims) && isStorableJson(custom_claims)))
    return refuse
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
      ...(custom_claims === undefined ? {} : { customClaims: JSON.stringify(custom_claims) }),
    },
  }
  return { identity }
}

/** Returns the actor of the claim `act` (RFC 8693 §4.1). */
function readActor(act: unknown): string | undefined {
  const sub = typeof act === 'object' && act !== null && 'sub' in act ? act.sub : undefined
  return isText(sub) && sub !== '' ? sub : undefined
}

/** Judges a token that is valid only for the second factor and has no session. */
function judgePending({ sub, email = '', jti }: Claims): Verdict {
  if (!isText(sub) || !uuid.test(sub) || !isText(email)) return refuse
  return { refusal: 'pending', pending: { userId: sub, email, pendingId: isText(jti) ? jti : '' } }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Returns whether the value can be stored in a PostgreSQL setting. */
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
