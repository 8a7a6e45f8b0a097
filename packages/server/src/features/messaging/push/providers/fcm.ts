import { createPrivateKey } from 'node:crypto'
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

/** Members of the JSON file of a Google service account. */
export interface ServiceAccount {
  readonly project_id: string
  readonly client_email: string
  readonly private_key: string
  readonly private_key_id?: string
  readonly token_uri: string
}

const scope = 'https://www.googleapis.com/auth/firebase.messaging'
/** Margin before the expiry of an access token at which it is renewed. Tokens last an hour. */
const renewalMarginMs = 5 * 60_000
/** Pause after an exceeded quota without a given time (https://firebase.google.com/docs/cloud-messaging/scale-fcm). */
const defaultPauseSeconds = 60

/**
 * Creates the client of Firebase Cloud Messaging, HTTP v1
 * (https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages/send).
 */
export function createFcm(
  account: ServiceAccount,
  baseUrl: string,
  outbound: Outbound,
  clock: Clock,
): PushProvider {
  const url = `${baseUrl === '' ? 'https://fcm.googleapis.com' : baseUrl.replace(/\/$/, '')}/v1/projects/${encodeURIComponent(account.project_id)}/messages:send`
  const credential = createCredential(account, outbound, clock)

  async function attempt(outgoing: Outgoing): Promise<Outcome & { refusedToken?: string }> {
    const token = await credential.get()
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: describe(outgoing) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(exchangeTimeoutMs),
    })
    const reply = (await response.json().catch(() => undefined)) as FcmReply | undefined
    if (response.ok && typeof reply?.name === 'string') return { kind: 'sent', messageId: reply.name }
    const outcome = judge(response, reply, outgoing, clock.now())
    return response.status === 401 ? { ...outcome, refusedToken: token } : outcome
  }

  return {
    async send(outgoing) {
      const first = await attempt(outgoing)
      if (first.refusedToken === undefined) return first
      credential.discard(first.refusedToken)
      return await attempt(outgoing)
    },
    lane: () => 'fcm',
    close: () => undefined,
  }
}

/** Response of FCM (https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode). */
interface FcmReply {
  readonly name?: unknown
  readonly error?: {
    readonly message?: string
    readonly status?: string
    readonly details?: readonly {
      readonly errorCode?: string
      readonly fieldViolations?: readonly { readonly field?: string }[]
    }[]
  }
}

function judge(response: Response, reply: FcmReply | undefined, { token }: Outgoing, now: Date): Outcome {
  const { error } = reply ?? {}
  const code =
    error?.details?.find(({ errorCode }) => errorCode !== undefined)?.errorCode ?? error?.status ?? ''
  const reason = reasonOf([`HTTP ${response.status}`, code, error?.message].filter(Boolean).join(' '), token)
  const pause = retryAfter(response.headers.get('retry-after'), defaultPauseSeconds, now)
  switch (code) {
    case 'UNREGISTERED':
      return { kind: 'dead', code: 'unregistered', reason }
    case 'SENDER_ID_MISMATCH':
      return { kind: 'dead', code: 'invalid_token', reason }
    case 'INVALID_ARGUMENT':
      // A bad message and a bad token have the same code. Only an error that names the token deactivates a device.
      if (blamesToken(error)) return { kind: 'dead', code: 'invalid_token', reason }
      return /too (big|large)|exceeds/i.test(error?.message ?? '')
        ? { kind: 'refused', code: 'payload_too_large', reason }
        : { kind: 'refused', code: 'provider_error', reason }
    case 'QUOTA_EXCEEDED':
    case 'RESOURCE_EXHAUSTED':
      return { kind: 'throttled', seconds: pause, reason, isForAll: true }
    case 'THIRD_PARTY_AUTH_ERROR':
      return { kind: 'failed', code: 'provider_auth', reason }
  }
  switch (response.status) {
    case 401:
    case 403:
      return { kind: 'failed', code: 'provider_auth', reason }
    case 413:
      return { kind: 'refused', code: 'payload_too_large', reason }
    case 429:
      return { kind: 'throttled', seconds: pause, reason, isForAll: true }
    case 503:
      if (response.headers.has('retry-after'))
        return { kind: 'throttled', seconds: pause, reason, isForAll: true }
  }
  const isRefused = response.status >= 400 && response.status < 500 && response.status !== 408
  return { kind: isRefused ? 'refused' : 'failed', code: 'provider_error', reason }
}

function blamesToken(error: FcmReply['error']): boolean {
  const fields = error?.details?.flatMap(({ fieldViolations = [] }) => fieldViolations) ?? []
  return (
    fields.some(({ field }) => field === 'message.token') ||
    /registration token is not a valid/i.test(error?.message ?? '')
  )
}

/** Builds a `Message` of the API. */
function describe({ token, message: { title, body, data, options }, ttlSeconds }: Outgoing) {
  const { badge, sound, priority, collapse_key: collapseKey, image } = options
  const picture = image === undefined ? {} : { image }
  return {
    token,
    notification: { title, body, ...picture },
    data,
    android: {
      priority: priority === 'normal' ? 'NORMAL' : 'HIGH',
      ttl: `${ttlSeconds}s`,
      ...(collapseKey === undefined ? {} : { collapse_key: collapseKey }),
      ...(sound === undefined && badge === undefined
        ? {}
        : {
            notification: {
              ...(sound === undefined ? {} : { sound }),
              ...(badge === undefined ? {} : { notification_count: badge }),
            },
          }),
    },
    apns: {
      payload: {
        aps: {
          ...(badge === undefined ? {} : { badge }),
          ...(sound === undefined ? {} : { sound }),
          ...(image === undefined ? {} : { 'mutable-content': 1 }),
        },
      },
      ...(image === undefined ? {} : { fcm_options: { image } }),
    },
  }
}

/** Maximum size of a token endpoint response in bytes. */
const replyLimit = 64 * 1024

/**
 * Creates the source of access tokens by a signed assertion (RFC 7523 §2.1). Concurrent requests use one
 * exchange. Administrators name the token endpoint, so requests go only to addresses where they may be sent.
 */
function createCredential(account: ServiceAccount, outbound: Outbound, clock: Clock) {
  const key = createPrivateKey(account.private_key)
  let current: { readonly token: Promise<string>; value?: string; expiresAt: number } | undefined

  async function exchange(known: { value?: string; expiresAt: number }): Promise<string> {
    const issuedAt = Math.floor(clock.now().getTime() / 1000)
    const claims = {
      iss: account.client_email,
      scope,
      aud: account.token_uri,
      iat: issuedAt,
      exp: issuedAt + 3600,
    }
    const header = account.private_key_id === undefined ? {} : { kid: account.private_key_id }
    if (outbound.refuses(account.token_uri))
      throw new CredentialRefused('no access token: requests to token_uri are not allowed')
    const { status, text, error } = await outbound.post({
      url: account.token_uri,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: signJwt('RS256', key, claims, header),
      }).toString(),
      timeoutMs: exchangeTimeoutMs,
      replyLimit,
    })
    if (error !== undefined || status === undefined) throw new Error(`no access token: ${error}`)
    const reply = parseReply(text)
    if (status !== 200 || typeof reply.access_token !== 'string') {
      const reason = typeof reply.error === 'string' ? ` ${reply.error}` : ''
      throw new CredentialRefused(`no access token: HTTP ${status}${reason}`)
    }
    const seconds = typeof reply.expires_in === 'number' ? reply.expires_in : 3600
    known.expiresAt = clock.now().getTime() + seconds * 1000
    known.value = reply.access_token
    return reply.access_token
  }

  return {
    get(): Promise<string> {
      if (current !== undefined && clock.now().getTime() < current.expiresAt - renewalMarginMs)
        return current.token
      const known = { expiresAt: Number.POSITIVE_INFINITY }
      const token = exchange(known)
      const next = Object.assign(known, { token })
      current = next
      token.catch(() => {
        if (current === next) current = undefined
      })
      return token
    },
    /** Discards the token, unless another one has replaced it, for example when two messages were refused at once. */
    discard(refused: string) {
      if (current?.value === refused) current = undefined
    },
  }
}

interface TokenReply {
  readonly access_token?: unknown
  readonly expires_in?: unknown
  readonly error?: unknown
}

function parseReply(text: string): TokenReply {
  try {
    return (JSON.parse(text) ?? {}) as TokenReply
  } catch {
    return {}
  }
}

/** Error for credentials without an access token. */
export class CredentialRefused extends Error {
  override readonly name = 'CredentialRefused'
}
