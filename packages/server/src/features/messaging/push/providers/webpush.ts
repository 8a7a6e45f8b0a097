import { createECDH, createHash, createPrivateKey, type KeyObject } from 'node:crypto'
import type { Outbound } from '../../../../http/outbound.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { signJwt } from '../../../../lib/signed-jwt.ts'
import {
  exchangeTimeoutMs,
  type Outcome,
  type Outgoing,
  type PushProvider,
  reasonOf,
  retryAfter,
} from '../provider.ts'
import { encryptWebPush, longestWebPush } from '../webpush-encryption.ts'

export interface VapidKeys {
  /** Value of `applicationServerKey` in browsers: 65 bytes, base64url. */
  readonly publicKey: string
  readonly privateKey: KeyObject
}

const defaultPauseSeconds = 60
/** Lifetime of a VAPID token, at most a day (RFC 8292 §2). */
const tokenLifeSeconds = 12 * 3600

/** Reads the VAPID keys. @param privateKey 32 bytes. @throws Error when they are not a key of P-256 */
export function readVapidKeys(privateKey: Buffer): VapidKeys {
  // OpenSSL accepts fewer bytes for a small number.
  if (privateKey.length !== 32) throw new Error('expected 32 bytes')
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(privateKey)
  const point = ecdh.getPublicKey()
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    d: privateKey.toString('base64url'),
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  }
  return { publicKey: point.toString('base64url'), privateKey: createPrivateKey({ key: jwk, format: 'jwk' }) }
}

/**
 * Creates the client of browser push services (RFC 8030). Browsers name them, so requests go only to
 * addresses where users may send them.
 */
export function createWebPush(
  vapid: VapidKeys,
  subject: string,
  outbound: Outbound,
  clock: Clock,
): PushProvider {
  const tokens = new Map<string, { readonly text: string; readonly expiresAt: number }>()

  /** Returns the token for a push service (RFC 8292 §2). */
  function tokenFor(audience: string): string {
    const now = Math.floor(clock.now().getTime() / 1000)
    const known = tokens.get(audience)
    if (known !== undefined && known.expiresAt - now > tokenLifeSeconds / 2) return known.text
    const expiresAt = now + tokenLifeSeconds
    const claims = { aud: audience, exp: expiresAt, ...(subject === '' ? {} : { sub: subject }) }
    const text = signJwt('ES256', vapid.privateKey, claims, { typ: 'JWT' })
    // Users name the services, so their number must be bounded.
    if (tokens.size >= 100) tokens.clear()
    tokens.set(audience, { text, expiresAt })
    return text
  }

  return {
    async send(outgoing) {
      const { token: endpoint, keys, message, ttlSeconds } = outgoing
      if (keys === undefined) throw new Error('a browser has keys')
      const plain = Buffer.from(describe(outgoing))
      if (plain.length > longestWebPush) return tooLarge(plain.length)
      const { collapse_key: collapseKey, priority } = message.options
      const reply = await outbound.post({
        url: endpoint,
        headers: {
          authorization: `vapid t=${tokenFor(new URL(endpoint).origin)}, k=${vapid.publicKey}`,
          'content-type': 'application/octet-stream',
          'content-encoding': 'aes128gcm',
          ttl: String(ttlSeconds),
          urgency: priority === 'normal' ? 'normal' : 'high',
          ...(collapseKey === undefined ? {} : { topic: topicOf(collapseKey) }),
        },
        body: encryptWebPush(plain, keys),
        timeoutMs: exchangeTimeoutMs,
        replyLimit: 4096,
      })
      return judge(reply, outgoing, clock.now())
    },
    lane: (endpoint) => new URL(endpoint).origin,
    close: () => undefined,
  }
}

/** Returns the content that the page's service worker reads: `event.data.json()`. */
function describe({ message: { title, body, data, options } }: Outgoing): string {
  return JSON.stringify({ title, body, data, ...options })
}

/**
 * Returns the outcome of a message that is too large. Browsers could not decrypt it, although some push
 * services would accept it.
 */
function tooLarge(bytes: number): Outcome {
  const reason = `the message is ${bytes} bytes; push services of browsers take ${longestWebPush}`
  return { kind: 'refused', code: 'payload_too_large', reason }
}

/**
 * Returns a topic of at most 32 characters of base64url (RFC 8030 §5.4), different for each key. A push
 * service drops the earlier message with the same topic.
 */
function topicOf(collapseKey: string): string {
  return createHash('sha256').update(collapseKey).digest('base64url').slice(0, 32)
}

function judge(
  { status, headers, text, error }: Awaited<ReturnType<Outbound['post']>>,
  { token }: Outgoing,
  now: Date,
): Outcome {
  if (status === undefined) return { kind: 'failed', code: 'provider_error', reason: error ?? 'no answer' }
  const reason = reasonOf(`HTTP ${status} ${text}`.trim(), token)
  if (status >= 200 && status < 300) {
    const { location } = headers
    return { kind: 'sent', messageId: typeof location === 'string' ? location.slice(0, 500) : '' }
  }
  switch (status) {
    case 404:
    case 410:
      return { kind: 'dead', code: 'unregistered', reason }
    case 413:
      return { kind: 'refused', code: 'payload_too_large', reason }
    case 429: {
      const { 'retry-after': header } = headers
      const text = typeof header === 'string' ? header : undefined
      return {
        kind: 'throttled',
        seconds: retryAfter(text, defaultPauseSeconds, now),
        reason,
        isForAll: true,
      }
    }
    case 401:
    case 403:
      return { kind: 'failed', code: 'provider_auth', reason }
  }
  return { kind: status >= 500 ? 'failed' : 'refused', code: 'provider_error', reason }
}
