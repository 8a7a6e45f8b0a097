import { createPrivateKey } from 'node:crypto'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
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

export interface ApnsCredentials {
  /** Content of the .p8 file, in PEM. */
  readonly key: string
  readonly team_id: string
  readonly key_id: string
  readonly bundle_id: string
  readonly environment: 'production' | 'sandbox'
}

/** Lifetime of a provider token. Apple accepts tokens for an hour, and limits renewals to one every 20 minutes. */
const tokenLifeMs = 50 * 60_000
/** Idle time after which a session is checked by PING before its next use. */
const idleMs = 60_000
const defaultPauseSeconds = 10

/**
 * Creates the client of the Apple Push Notification service. It uses one HTTP/2 session, which is reopened
 * when the service closes it
 * (https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns).
 */
export function createApns(credentials: ApnsCredentials, baseUrl: string, clock: Clock): PushProvider {
  const host = credentials.environment === 'sandbox' ? 'api.sandbox.push.apple.com' : 'api.push.apple.com'
  const origin = baseUrl === '' ? `https://${host}` : baseUrl
  const key = createPrivateKey(credentials.key)
  const sessions = createSessions(origin)
  let token: { readonly text: string; readonly madeAt: number } | undefined

  function providerToken(): string {
    const now = clock.now().getTime()
    if (token === undefined || now - token.madeAt > tokenLifeMs) {
      const claims = { iss: credentials.team_id, iat: Math.floor(now / 1000) }
      token = { text: signJwt('ES256', key, claims, { kid: credentials.key_id }), madeAt: now }
    }
    return token.text
  }

  async function attempt(outgoing: Outgoing): Promise<Reply> {
    const session = await sessions.get()
    return await request(
      session,
      describeHeaders(outgoing, credentials, providerToken(), clock.now()),
      describe(outgoing),
    )
  }

  return {
    async send(outgoing) {
      const reply = await attempt(outgoing)
      if (reply.status !== 403 || reply.reason !== 'ExpiredProviderToken')
        return judge(reply, outgoing, clock.now())
      token = undefined
      return judge(await attempt(outgoing), outgoing, clock.now())
    },
    lane: () => 'apns',
    close: () => sessions.close(),
  }
}

interface Reply {
  readonly status: number
  readonly id: string
  readonly reason: string
  readonly retryAfter: string | undefined
  /** Time since which the device of a 410 does not exist, in milliseconds. */
  readonly timestamp: number | undefined
}

/**
 * Judges a response
 * (https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns).
 */
function judge(
  { status, id, reason: code, retryAfter: header, timestamp }: Reply,
  { token }: Outgoing,
  now: Date,
): Outcome {
  if (status === 200) return { kind: 'sent', messageId: id }
  const reason = reasonOf(`HTTP ${status} ${code}`.trim(), token)
  const pause = retryAfter(header, defaultPauseSeconds, now)
  if (status === 410) {
    const since = timestamp === undefined ? undefined : new Date(timestamp)
    return { kind: 'dead', code: 'unregistered', reason, since }
  }
  switch (code) {
    case 'BadDeviceToken':
    case 'DeviceTokenNotForTopic':
      return { kind: 'dead', code: 'invalid_token', reason }
    case 'ExpiredToken':
    case 'Unregistered':
      return { kind: 'dead', code: 'unregistered', reason }
    case 'PayloadTooLarge':
      return { kind: 'refused', code: 'payload_too_large', reason }
    case 'TooManyRequests':
      // The limit applies to this device only.
      return { kind: 'throttled', seconds: pause, reason, isForAll: false }
  }
  if (status === 403) return { kind: 'failed', code: 'provider_auth', reason }
  if (status === 413) return { kind: 'refused', code: 'payload_too_large', reason }
  if (status === 429 || (status === 503 && header !== undefined)) {
    return { kind: 'throttled', seconds: pause, reason, isForAll: true }
  }
  return { kind: status >= 500 ? 'failed' : 'refused', code: 'provider_error', reason }
}

function describeHeaders(
  { id, token, message: { options }, ttlSeconds }: Outgoing,
  credentials: ApnsCredentials,
  authorization: string,
  now: Date,
) {
  const { priority, collapse_key: collapseKey } = options
  return {
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: `/3/device/${encodeURIComponent(token)}`,
    authorization: `bearer ${authorization}`,
    'apns-id': id,
    'apns-topic': credentials.bundle_id,
    'apns-push-type': 'alert',
    'apns-priority': priority === 'normal' ? '5' : '10',
    'apns-expiration': String(ttlSeconds === 0 ? 0 : Math.floor(now.getTime() / 1000) + ttlSeconds),
    ...(collapseKey === undefined ? {} : { 'apns-collapse-id': collapseKey }),
  }
}

/** Builds the payload. The data are next to `aps`. */
function describe({ message: { title, body, data, options } }: Outgoing): string {
  const { badge, sound, image } = options
  return JSON.stringify({
    ...data,
    ...(image === undefined ? {} : { image }),
    aps: {
      alert: { title, body },
      ...(badge === undefined ? {} : { badge }),
      ...(sound === undefined ? {} : { sound }),
      ...(image === undefined ? {} : { 'mutable-content': 1 }),
    },
  })
}

/** Sends one request on the session. The error says if the service did not process the stream. */
function request(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, {
      signal: AbortSignal.timeout(exchangeTimeoutMs),
    })
    const chunks: Buffer[] = []
    let received: Readonly<Record<string, unknown>> = {}
    stream.on('response', (response) => {
      received = response
    })
    stream.on('data', (chunk: Buffer) => {
      if (chunks.length < 16) chunks.push(chunk)
    })
    stream.on('error', reject)
    stream.on('close', () => {
      const status = Number(received[constants.HTTP2_HEADER_STATUS] ?? 0)
      if (status === 0) return reject(new Error('the connection to APNs was closed before it answered'))
      const { reason, timestamp } = parseReply(Buffer.concat(chunks).toString('utf8'))
      const id = received['apns-id']
      const retry = received['retry-after']
      resolve({
        status,
        id: typeof id === 'string' ? id : '',
        reason,
        retryAfter: typeof retry === 'string' ? retry : undefined,
        timestamp,
      })
    })
    stream.end(body)
  })
}

function parseReply(text: string): { reason: string; timestamp: number | undefined } {
  try {
    const { reason, timestamp } = JSON.parse(text) as { reason?: unknown; timestamp?: unknown }
    return {
      reason: typeof reason === 'string' ? reason : '',
      timestamp: typeof timestamp === 'number' ? timestamp : undefined,
    }
  } catch {
    return { reason: '', timestamp: undefined }
  }
}

/**
 * Creates the holder of the session for requests. A session that received GOAWAY (RFC 9113 §6.8) finishes its
 * streams.
 */
function createSessions(origin: string) {
  let current: Promise<ClientHttp2Session> | undefined
  let usedAt = 0

  function open(): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const session = connect(origin)
      const timer = setTimeout(() => session.destroy(new Error('no connection to APNs')), exchangeTimeoutMs)
      session.on('connect', () => {
        clearTimeout(timer)
        resolve(session)
      })
      session.on('goaway', () => session.close())
      session.on('error', (error) => {
        clearTimeout(timer)
        reject(error)
      })
      session.on('close', () => {
        clearTimeout(timer)
        reject(new Error('the connection to APNs was closed'))
      })
      // An idle session does not keep the process alive.
      session.unref()
    })
  }

  return {
    async get(): Promise<ClientHttp2Session> {
      const isIdle = Date.now() - usedAt > idleMs
      usedAt = Date.now()
      if (isIdle) current = current?.then(requireAnswer)
      const known = current
      const session = await known?.catch(() => undefined)
      if (session !== undefined && !session.closed && !session.destroyed) return session
      // All waiting messages use one new session.
      if (current === known || current === undefined) current = open()
      return await current
    },
    close() {
      void current?.then(
        (session) => session.close(),
        () => undefined,
      )
      current = undefined
    },
  }
}

/** Returns the session once the other side has responded to a PING. Otherwise the session is destroyed. */
function requireAnswer(session: ClientHttp2Session): Promise<ClientHttp2Session> {
  return new Promise((resolve) => {
    if (session.closed || session.destroyed) return resolve(session)
    const timer = setTimeout(() => {
      session.destroy()
      resolve(session)
    }, 2000)
    session.ping((error) => {
      clearTimeout(timer)
      if (error !== null) session.destroy()
      resolve(session)
    })
  })
}
