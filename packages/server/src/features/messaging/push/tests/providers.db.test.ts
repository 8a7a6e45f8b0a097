import { createPublicKey, generateKeyPairSync, randomUUID, verify } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApplication } from '../../../../../test/api-keys.ts'
import { alice } from '../../../../../test/fixtures.ts'
import {
  createApnsKey,
  createSubscription,
  type PushAnswer,
  type PushStandIn,
  startApns,
  startHttpPush,
  writeApnsKey,
  writeServiceAccount,
} from '../../../../../test/push-stand-ins.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { type Clock, systemClock } from '../../../../lib/clock.ts'

let fcm: Awaited<ReturnType<typeof startHttpPush>>
let apns: Awaited<ReturnType<typeof startApns>>
let browser: PushStandIn
let app: TestApp
let admin: string
let shop: string

const config = () => ({
  'push.enabled': 'true',
  'push.fcm.credentials_file': writeServiceAccount(`${fcm.url}/token`),
  'push.fcm.base_url': fcm.url,
  'push.apns.key_file': writeApnsKey(),
  'push.apns.team_id': 'TEAM',
  'push.apns.key_id': 'KEY',
  'push.apns.bundle_id': 'com.example.shop',
  'push.apns.base_url': apns.url,
})

beforeAll(async () => {
  fcm = await startHttpPush(() => [200, { name: 'm1' }])
  apns = await startApns(() => [200])
  browser = await startHttpPush(() => [201])
  app = await createTestApp({ config: config() })
  await app.sql('insert into basalt.users (id) values ($1)', [alice])
  admin = await app.adminToken()
  shop = await createApplication(app, { ownerUserId: alice })
})
beforeEach(() => {
  fcm.answer = () => [200, { name: 'm1' }]
  apns.answer = () => [200]
  browser.answer = () => [201]
  for (const standIn of [fcm, apns, browser]) standIn.received.length = 0
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  for (const standIn of [fcm, apns, browser]) await standIn[Symbol.asyncDispose]()
})

const asAdmin = (method: string, path: string, body?: unknown) =>
  app.request(method, `/api/admin/push${path}`, { token: admin, body })

const kinds = {
  fcm: { provider: 'fcm', platform: 'android' },
  apns: { provider: 'apns', platform: 'ios' },
} as const

async function register(kind: keyof typeof kinds, topics: readonly string[] = []): Promise<string> {
  const body = { ...kinds[kind], app_id: shop, user_id: alice, token: `token-${randomUUID()}`, topics }
  const response = await asAdmin('POST', '/devices', body)
  expect(response.status).toBe(201)
  return response.json.id
}

async function send(deviceId: string, more: object = {}): Promise<string> {
  const response = await asAdmin('POST', '/send-to-token', {
    token_id: deviceId,
    title: 'Hi',
    body: 'there',
    ...more,
  })
  expect(response.status).toBe(200)
  return response.json.id
}

/** Waits for the end of an attempt and returns the delivery. */
async function attempted(id: string) {
  return await waitFor('an attempt', async () => {
    const { json } = await asAdmin('GET', `/deliveries/${id}`)
    return json.error_code !== null || json.error_message !== null || json.status === 'sent'
      ? json
      : undefined
  })
}

async function deviceOf(id: string) {
  const { items } = (await asAdmin('GET', `/devices?user_id=${alice}&include_inactive=true&limit=500`)).json
  return items.find((device: { id: string }) => device.id === id)
}

const fcmError = (status: number, code: string, message = '', details: object = {}): PushAnswer => [
  status,
  { error: { code: status, message, status: code, details: [{ errorCode: code, ...details }] } },
]

/** Provider responses, each with the delivery status, its code, and whether the device stays active. */
const outcomes: readonly [string, keyof typeof kinds, PushAnswer, string, string, boolean][] = [
  ['UNREGISTERED', 'fcm', fcmError(404, 'UNREGISTERED'), 'invalid_token', 'unregistered', false],
  ['SENDER_ID_MISMATCH', 'fcm', fcmError(403, 'SENDER_ID_MISMATCH'), 'invalid_token', 'invalid_token', false],
  [
    'INVALID_ARGUMENT for the token',
    'fcm',
    fcmError(400, 'INVALID_ARGUMENT', '', { fieldViolations: [{ field: 'message.token' }] }),
    'invalid_token',
    'invalid_token',
    false,
  ],
  [
    'INVALID_ARGUMENT for the message',
    'fcm',
    fcmError(400, 'INVALID_ARGUMENT'),
    'failed',
    'provider_error',
    true,
  ],
  [
    'INVALID_ARGUMENT for the size',
    'fcm',
    fcmError(400, 'INVALID_ARGUMENT', 'Message is too big'),
    'failed',
    'payload_too_large',
    true,
  ],
  ['THIRD_PARTY_AUTH_ERROR', 'fcm', fcmError(401, 'THIRD_PARTY_AUTH_ERROR'), 'failed', 'provider_auth', true],
  ['INTERNAL', 'fcm', fcmError(500, 'INTERNAL'), 'failed', 'provider_error', true],
  ['a page instead of an answer', 'fcm', [200], 'failed', 'provider_error', true],
  ['BadDeviceToken', 'apns', [400, { reason: 'BadDeviceToken' }], 'invalid_token', 'invalid_token', false],
  [
    'DeviceTokenNotForTopic',
    'apns',
    [400, { reason: 'DeviceTokenNotForTopic' }],
    'invalid_token',
    'invalid_token',
    false,
  ],
  ['ExpiredToken', 'apns', [410, { reason: 'ExpiredToken' }], 'invalid_token', 'unregistered', false],
  ['Unregistered', 'apns', [410, { reason: 'Unregistered' }], 'invalid_token', 'unregistered', false],
  [
    'Unregistered before the device registered again',
    'apns',
    [410, { reason: 'Unregistered', timestamp: 1_000_000_000_000 }],
    'invalid_token',
    'unregistered',
    true,
  ],
  ['BadTopic', 'apns', [400, { reason: 'BadTopic' }], 'failed', 'provider_error', true],
  ['PayloadTooLarge', 'apns', [413, { reason: 'PayloadTooLarge' }], 'failed', 'payload_too_large', true],
  [
    'InvalidProviderToken',
    'apns',
    [403, { reason: 'InvalidProviderToken' }],
    'failed',
    'provider_auth',
    true,
  ],
  ['InternalServerError', 'apns', [500, { reason: 'InternalServerError' }], 'failed', 'provider_error', true],
]

test.each(outcomes)('push › %s of %s ends as documented', async (_, kind, answer, status, code, isActive) => {
  const standIn = kind === 'fcm' ? fcm : apns
  standIn.answer = () => answer
  const device = await register(kind)
  const delivery = await attempted(await send(device))
  expect(delivery).toMatchObject({ status, error_code: code, provider_message_id: null, sent_at: null })
  expect(await deviceOf(device)).toMatchObject({
    is_active: isActive,
    inactive_reason: isActive ? null : expect.stringContaining(`${code}: HTTP`),
  })
})

test('push › a device that its provider does not know gets one request', async () => {
  apns.answer = () => [410, { reason: 'Unregistered' }]
  const device = await register('apns')
  const later = await send(device, { send_at: '2999-01-01T00:00:00Z' })
  await attempted(await send(device))
  await app.sql(
    `update basalt.jobs set run_at = now() where id = (select job_id from basalt.push_deliveries where id = $1)`,
    [later],
  )
  expect(await attempted(later)).toMatchObject({ status: 'invalid_token', error_code: 'unregistered' })
  expect(apns.received).toHaveLength(1)
})

test('push › a message for a user who has left the device is not shown to the next one', async () => {
  const bob = randomUUID()
  await app.sql('insert into basalt.users (id) values ($1)', [bob])
  const token = `token-${randomUUID()}`
  const body = { ...kinds.fcm, app_id: shop, token }
  const { id } = (await asAdmin('POST', '/devices', { ...body, user_id: alice })).json
  const later = await send(id, { send_at: '2999-01-01T00:00:00Z' })
  await asAdmin('POST', '/devices', { ...body, user_id: bob })
  await app.sql(
    `update basalt.jobs set run_at = now() where id = (select job_id from basalt.push_deliveries where id = $1)`,
    [later],
  )
  expect(await attempted(later)).toMatchObject({ status: 'failed', error_code: 'device_moved' })
  // Messages of earlier tests to other devices may be retried.
  expect(fcm.received.filter(({ body }) => body.includes(token))).toEqual([])
})

test('push › a failed delivery is retried and sent', async () => {
  fcm.answer = () => (fcm.received.length === 1 ? fcmError(500, 'INTERNAL') : [200, { name: 'm2' }])
  const id = await send(await register('fcm'))
  expect(await attempted(id)).toMatchObject({ status: 'failed', attempts: 1 })
  await app.sql(`update basalt.jobs set run_at = now() where type = 'push_delivery' and state = 'queued'`)
  const sent = await waitFor('the second attempt', async () => {
    const { json } = await asAdmin('GET', `/deliveries/${id}`)
    return json.status === 'sent' ? json : undefined
  })
  expect(sent).toMatchObject({
    attempts: 2,
    provider_message_id: 'm2',
    error_code: null,
    error_message: null,
  })
})

/** Creates a server with a device at FCM, because a pause of FCM stops all of its messages. */
async function createFcmApp(more: Readonly<Record<string, string>> = {}, clock: Clock = systemClock) {
  const own = await createTestApp({
    clock,
    config: { ...config(), ...more },
    setup: `insert into basalt.users (id) values ('${alice}')`,
  })
  const token = await own.adminToken()
  const post = async (path: string, body: object) =>
    (await own.request('POST', `/api/admin/push${path}`, { token, body })).json
  const appId = await createApplication(own, { ownerUserId: alice })
  const device = await post('/devices', { ...kinds.fcm, app_id: appId, user_id: alice, token: randomUUID() })
  return {
    own,
    send: async () => (await post('/send-to-token', { token_id: device.id, title: 'Hi', body: 'there' })).id,
    until: (id: string, isDone: (delivery: { status: string; error_message: string | null }) => boolean) =>
      waitFor('the delivery', async () => {
        const { json } = await own.request('GET', `/api/admin/push/deliveries/${id}`, { token })
        return isDone(json) ? json : undefined
      }),
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  }
}

describe('push › fcm', () => {
  test('gets no request for as long as its 429 says, even where the clock of the node is slow', async () => {
    await using shop = await createFcmApp({}, { now: () => new Date(Date.now() - 3_600_000) })
    fcm.answer = () => [429, { error: { status: 'RESOURCE_EXHAUSTED' } }, { 'retry-after': '600' }]
    const first = await shop.send()
    expect(await shop.until(first, ({ error_message }) => error_message !== null)).toMatchObject({
      status: 'pending',
      error_message: 'HTTP 429 RESOURCE_EXHAUSTED',
    })
    const second = await shop.send()
    await shop.until(second, ({ error_message }) => error_message !== null)
    expect(fcm.received).toHaveLength(1)
    const waiting = await shop.own.sql<{ seconds: number }>(
      `select extract(epoch from run_at - now())::float8 as seconds from basalt.jobs
       where type = 'push_delivery' and state = 'queued'`,
    )
    expect(waiting.map(({ seconds }) => seconds > 500)).toEqual([true, true])
    const jobs = await shop.own.sql(
      `select from basalt.push_deliveries d join basalt.jobs j on j.id = d.job_id where j.state = 'queued'`,
    )
    expect(jobs).toHaveLength(2)
  })

  test('gets one request for an access token, and another when it rejects the token', async () => {
    await using shop = await createFcmApp()
    const before = fcm.tokens
    fcm.answer = ({ headers }) =>
      headers.authorization === `Bearer access-${before + 1}`
        ? [401, { error: { status: 'UNAUTHENTICATED' } }]
        : [200, { name: 'm' }]
    for (const id of [await shop.send(), await shop.send()]) {
      expect(await shop.until(id, ({ status }) => status !== 'pending')).toMatchObject({ status: 'sent' })
    }
    expect(fcm.tokens).toBe(before + 2)
  })

  test('gets one request for an access token when it rejects that of two messages', async () => {
    await using shop = await createFcmApp()
    const before = fcm.tokens
    const renewed = Promise.withResolvers<void>()
    const refused: string[] = []
    fcm.answer = async ({ headers }) => {
      const token = String(headers.authorization)
      if (token !== `Bearer access-${before + 1}`) {
        renewed.resolve()
        return [200, { name: 'm' }]
      }
      refused.push(token)
      // The later message is rejected when the first already has another token.
      if (refused.length === 2) await renewed.promise
      else await waitFor('both messages', () => refused.length === 2)
      return [401, { error: { status: 'UNAUTHENTICATED' } }]
    }
    const ids = await Promise.all([shop.send(), shop.send()])
    for (const id of ids) {
      expect(await shop.until(id, ({ status }) => status !== 'pending')).toMatchObject({ status: 'sent' })
    }
    expect([refused.length, fcm.tokens - before]).toEqual([2, 2])
  })

  test('gets a request for an access token only at an allowed address', async () => {
    const credentials = writeServiceAccount('http://169.254.169.254/token')
    await using shop = await createFcmApp({ 'push.fcm.credentials_file': credentials })
    const id = await shop.send()
    expect(await shop.until(id, ({ error_message }) => error_message !== null)).toMatchObject({
      error_code: 'provider_auth',
      error_message: 'no access token: requests to token_uri are not allowed',
    })
    expect(fcm.received).toEqual([])
  })
})

test('push › a delivery whose node is lost is sent at most twice, and the later attempt counts', async () => {
  await using other = await createTestApp({ config: config(), database: app.database })
  const held = Promise.withResolvers<PushAnswer>()
  apns.answer = () => (apns.received.length === 1 ? held.promise : [200])
  const id = await send(await register('apns'))
  await waitFor('the first attempt', () => apns.received.length === 1)
  // The node that runs the job no longer renews its lease.
  await app.sql(
    `update basalt.jobs set leased_until = now() - interval '1 second'
    where id = (select job_id from basalt.push_deliveries where id = $1)`,
    [id],
  )
  await waitFor(
    'the second attempt',
    async () => (await asAdmin('GET', `/deliveries/${id}`)).json.status === 'sent',
  )
  held.resolve([400, { reason: 'BadDeviceToken' }])
  expect((await asAdmin('GET', `/deliveries/${id}`)).json).toMatchObject({ status: 'sent', attempts: 2 })
  expect(apns.received.map(({ headers }) => headers['apns-id'])).toEqual([id, id])
  expect(other.url).not.toBe(app.url)
})

test('push › one message to 1,000 devices of a user reaches each once', async () => {
  const user = randomUUID()
  await app.sql('insert into basalt.users (id) values ($1)', [user])
  await app.sql(
    `insert into basalt.push_devices (app_id, user_id, provider, platform, token, token_hash)
     select $1, $2, 'fcm', 'android', 't' || n, sha256(('t' || n)::bytea) from generate_series(1, 1000) n`,
    [shop, user],
  )
  const { json } = await asAdmin('POST', '/send', { app_id: shop, user_id: user, title: 'a', body: 'b' })
  expect(json.deliveries).toHaveLength(1000)
  await waitFor(
    'all deliveries',
    async () => (await asAdmin('GET', `/sends/${json.send_id}`)).json.counts.sent === 1000,
  )
  const received = Map.groupBy(fcm.received, ({ body }) => JSON.parse(body.toString()).message.token)
  expect(received.size).toBe(1000)
  // On a busy machine a response may take longer than 10 s, after which the message is sent again.
  const repeated = await app.sql(
    `select token, attempts from basalt.push_deliveries join basalt.push_devices d on d.id = device_id
     where send_id = $1 and attempts > 1`,
    [json.send_id],
  )
  const attempts = new Map(repeated.map((delivery) => [delivery.token, delivery.attempts]))
  const tooMany = [...received].filter(([token, messages]) => messages.length > (attempts.get(token) ?? 1))
  expect(tooMany).toEqual([])
})

describe('push › apns', () => {
  test('gets a signed token, the delivery as its id, and data next to aps', async () => {
    const device = await register('apns')
    const options = {
      badge: 0,
      sound: 'default',
      collapse_key: 'c',
      ttl_seconds: 0,
      image: 'https://shop.example/1.png',
    }
    const id = await send(device, { data: { order: '7' }, options })
    expect(await attempted(id)).toMatchObject({ status: 'sent', provider_message_id: id })
    const [message] = apns.received
    expect(message?.path).toMatch(/^\/3\/device\/token-/)
    expect(message?.headers).toMatchObject({
      ':method': 'POST',
      authorization: expect.stringMatching(/^bearer [\w-]+\.[\w-]+\.[\w-]+$/),
      'apns-id': id,
      'apns-topic': 'com.example.shop',
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-expiration': '0',
      'apns-collapse-id': 'c',
    })
    const [header, claims] = (message?.headers.authorization ?? '')
      .slice(7)
      .split('.')
      .slice(0, 2)
      .map(decode)
    expect(header).toEqual({ alg: 'ES256', kid: 'KEY' })
    expect(claims).toEqual({ iss: 'TEAM', iat: expect.any(Number) })
    expect(JSON.parse(String(message?.body))).toEqual({
      order: '7',
      image: 'https://shop.example/1.png',
      aps: { alert: { title: 'Hi', body: 'there' }, badge: 0, sound: 'default', 'mutable-content': 1 },
    })
  })

  test('gets a new token at once when the old one has expired', async () => {
    const device = await register('apns')
    const tokens = () => apns.received.map(({ headers }) => headers.authorization)
    apns.answer = () => (apns.received.length === 1 ? [403, { reason: 'ExpiredProviderToken' }] : [200])
    expect(await attempted(await send(device))).toMatchObject({ status: 'sent', attempts: 1 })
    expect(new Set(tokens()).size).toBe(2)
  })

  test('gets another session after GOAWAY, without losing a message', async () => {
    const device = await register('apns')
    await attempted(await send(device))
    const opened = apns.opened
    for (const session of apns.sessions) session.goaway()
    const ids = await Promise.all(Array.from({ length: 5 }, () => send(device)))
    for (const id of ids) expect(await attempted(id)).toMatchObject({ status: 'sent' })
    expect(apns.opened).toBeGreaterThan(opened)
  })

  test('gets one session for messages that wait for it together', async () => {
    for (let count = 0; count < 10; count += 1) await register('apns', ['burst'])
    const opened = apns.opened
    for (const session of apns.sessions) session.goaway()
    const body = { app_id: shop, topic: 'burst', title: 'Hi', body: 'there' }
    const { send_id: id } = (await asAdmin('POST', '/send', body)).json
    await waitFor(
      'the deliveries',
      async () => (await asAdmin('GET', `/sends/${id}`)).json.counts.sent === 10,
    )
    expect(apns.opened - opened).toBe(1)
  })

  test('pauses only the device that had too many messages', async () => {
    const [throttled, idle] = [await register('apns'), await register('apns')]
    apns.answer = () => [429, { reason: 'TooManyRequests' }, { 'retry-after': '600' }]
    expect(await attempted(await send(throttled))).toMatchObject({ status: 'pending', error_code: null })
    apns.answer = () => [200]
    expect(await attempted(await send(idle))).toMatchObject({ status: 'sent' })
  })

  test('gets a retry after a broken connection', async () => {
    const device = await register('apns')
    apns.answer = () => {
      for (const session of apns.sessions) session.destroy()
      return [200]
    }
    const id = await send(device)
    expect(await attempted(id)).toMatchObject({
      status: 'failed',
      error_code: 'provider_error',
      error_message: 'no answer from apns',
    })
    apns.answer = () => [200]
    await app.sql(`update basalt.jobs set run_at = now() where type = 'push_delivery' and state = 'queued'`)
    await waitFor(
      'the second attempt',
      async () => (await asAdmin('GET', `/deliveries/${id}`)).json.status === 'sent',
    )
  })
})

describe('push › web push', () => {
  async function subscribe(origin = browser.url) {
    const subscription = createSubscription()
    const response = await asAdmin('POST', '/devices', {
      app_id: shop,
      user_id: alice,
      provider: 'webpush',
      platform: 'web',
      token: `${origin}/push/${randomUUID()}`,
      keys: subscription.keys,
    })
    expect(response.status).toBe(201)
    return { ...subscription, id: response.json.id as string, endpoint: response.json.token as string }
  }

  test('encrypts the message for the browser and signs it for its push service', async () => {
    const subscription = await subscribe()
    const id = await send(subscription.id, {
      data: { order: '7' },
      options: { ttl_seconds: 60, collapse_key: 'orders' },
    })
    expect(await attempted(id)).toMatchObject({ status: 'sent' })
    const [message] = browser.received
    expect(subscription.endpoint.endsWith(message?.path ?? '-')).toBe(true)
    expect(message?.headers).toMatchObject({
      'content-encoding': 'aes128gcm',
      urgency: 'high',
      topic: expect.stringMatching(/^[\w-]{32}$/),
      ttl: expect.stringMatching(/^(60|5\d)$/),
    })
    expect(subscription.read(message?.body ?? Buffer.of())).toEqual({
      title: 'Hi',
      body: 'there',
      data: { order: '7' },
      ttl_seconds: 60,
      collapse_key: 'orders',
    })
    const [, token = '', key = ''] =
      /^vapid t=([^,]+), k=(.+)$/.exec(message?.headers.authorization ?? '') ?? []
    const { public_key: published } = (await webPushKey()).json
    expect(key).toBe(published)
    const [head, claims, signature] = token.split('.')
    expect(decode(claims)).toEqual({ aud: browser.url, exp: expect.any(Number) })
    const point = Buffer.from(key, 'base64url')
    const jwk = {
      kty: 'EC',
      crv: 'P-256',
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
    }
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
    const signed = Buffer.from(`${head}.${claims}`)
    expect(
      verify(
        'sha256',
        signed,
        { key: publicKey, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature ?? '', 'base64url'),
      ),
    ).toBe(true)
  })

  test('sends the longest message that push services accept, and rejects a longer one', async () => {
    const { id, read } = await subscribe()
    const empty = JSON.stringify({ title: 'Hi', body: '', data: {} }).length
    const body = 'x'.repeat(3993 - empty)
    expect(await attempted(await send(id, { body }))).toMatchObject({ status: 'sent' })
    expect(await attempted(await send(id, { body: `${body}x` }))).toMatchObject({
      status: 'failed',
      error_code: 'payload_too_large',
      error_message: 'the message is 3994 bytes; push services of browsers take 3993',
    })
    expect(browser.received.map((message) => message.body.length)).toEqual([4096])
    expect(read(browser.received[0]?.body ?? Buffer.of())).toEqual({ title: 'Hi', body, data: {} })
    expect(await deviceOf(id)).toMatchObject({ is_active: true })
  })

  test('separates messages whose collapse keys end alike', async () => {
    const { id } = await subscribe()
    const keys = ['chat-1', 'chat-2', 'chat-1'].map((chat) => `${chat}-of-the-application-for-customers`)
    const topics = []
    for (const collapse_key of keys) {
      await attempted(await send(id, { options: { collapse_key } }))
      topics.push(browser.received.at(-1)?.headers.topic)
    }
    const [first, second, third] = topics
    expect([first === third, first === second]).toEqual([true, false])
    // The limit is that of RFC 8030 §5.4.
    expect(topics).toEqual(Array(3).fill(expect.stringMatching(/^[\w-]{1,32}$/)))
  })

  test('deactivates a subscription that its push service does not know', async () => {
    browser.answer = () => [410]
    const { id } = await subscribe()
    expect(await attempted(await send(id))).toMatchObject({
      status: 'invalid_token',
      error_code: 'unregistered',
    })
    expect(await deviceOf(id)).toMatchObject({ is_active: false })
  })

  test('pauses only the push service that requests it', async () => {
    await using other = await startHttpPush(() => [429, undefined, { 'retry-after': '600' }])
    const slow = await subscribe(other.url)
    const first = await send(slow.id)
    expect(await attempted(first)).toMatchObject({ status: 'pending', error_message: 'HTTP 429' })
    await attempted(await send(slow.id))
    expect(other.received).toHaveLength(1)
    expect(await attempted(await send((await subscribe()).id))).toMatchObject({ status: 'sent' })
  })

  const webPushKey = async () => {
    return await app.request('GET', '/api/push/web-push-key', { token: userToken({ sub: alice }) })
  }

  test('has one key over all nodes and starts', async () => {
    const { public_key: key } = (await webPushKey()).json
    await using node = await createTestApp({ config: config(), database: app.database })
    const { items } = (await node.request('GET', '/api/admin/push/providers', { token: admin })).json
    expect(items[2]).toEqual({
      provider: 'webpush',
      source: 'database',
      sends: 'provider',
      details: { subject: '', public_key: key },
    })
  })
})

describe('push › credentials', () => {
  test('are stored encrypted, never shown, and apply on every node when an administrator sets them', async () => {
    await using node = await createTestApp({ config: { 'push.enabled': 'true' }, database: app.database })
    const key = createApnsKey()
    const body = { key, team_id: 'T2', key_id: 'K2', bundle_id: 'com.example.other', environment: 'sandbox' }
    const response = await asAdmin('PUT', '/providers/apns', body)
    expect(response.json).toEqual({
      provider: 'apns',
      source: 'database',
      sends: 'provider',
      details: { team_id: 'T2', key_id: 'K2', bundle_id: 'com.example.other', environment: 'sandbox' },
    })
    await waitFor('the credentials on the other node', async () => {
      const { items } = (await node.request('GET', '/api/admin/push/providers', { token: admin })).json
      return items[1].source === 'database'
    })
    const stored = JSON.stringify(await app.sql(`select value from basalt.settings`))
    const audit = JSON.stringify(await app.sql('select * from basalt.audit'))
    const secret = key.split('\n')[1] ?? '-'
    for (const text of [stored, audit, response.text, app.log.join()]) expect(text).not.toContain(secret)
    expect((await asAdmin('DELETE', '/providers/apns')).status).toBe(204)
    const { items } = (await asAdmin('GET', '/providers')).json
    expect(items[1]).toMatchObject({ source: 'configuration', details: { team_id: 'TEAM' } })
  })

  const rsa = String(
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  )
  const p384 = String(
    generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }),
  )
  const notP256 = 'private_key: expected a private key of P-256, 32 bytes as base64url'
  test.each([
    ['pigeon', {}, 'invalid push provider: "pigeon"'],
    ['fcm', {}, 'project_id is required'],
    [
      'fcm',
      { project_id: 'p', client_email: 'e', private_key: 'x' },
      'private_key: expected a private RSA key in PEM',
    ],
    [
      'apns',
      { key: rsa, team_id: 't', key_id: 'k', bundle_id: 'b' },
      'key: expected a private P-256 key in PEM',
    ],
    [
      'apns',
      { key: p384, team_id: 't', key_id: 'k', bundle_id: 'b' },
      'key: expected a private P-256 key in PEM',
    ],
    ['apns', { environment: 'moon' }, 'environment: expected production or sandbox'],
    ['webpush', { private_key: 'AA' }, notP256],
    ['webpush', { private_key: 'password' }, notP256],
    ['webpush', { private_key: Buffer.alloc(31, 1).toString('base64url') }, notP256],
    ['webpush', { private_key: Buffer.alloc(33, 1).toString('base64url') }, notP256],
  ])('are rejected for %s when they are unusable', async (provider, body, message) => {
    expect(envelope(await asAdmin('PUT', `/providers/${provider}`, body))).toEqual({
      code: 400,
      message,
      error: 'invalid_push',
    })
  })

  test('fail deliveries with that reason when they are missing', async () => {
    await using bare = await createTestApp({
      config: { 'push.enabled': 'true' },
      setup: `insert into basalt.users (id) values ('${alice}')`,
    })
    const token = await bare.adminToken()
    const own = await createApplication(bare, { ownerUserId: alice })
    const device = { ...kinds.fcm, app_id: own, user_id: alice, token: 'x' }
    const { id } = (await bare.request('POST', '/api/admin/push/devices', { token, body: device })).json
    const body = { token_id: id, title: 'a', body: 'b' }
    const delivery = (await bare.request('POST', '/api/admin/push/send-to-token', { token, body })).json
    const failed = await waitFor('the failure', async () => {
      const { json } = await bare.request('GET', `/api/admin/push/deliveries/${delivery.id}`, { token })
      return json.status === 'failed' ? json : undefined
    })
    expect(failed).toMatchObject({
      error_code: 'provider_not_configured',
      error_message: 'no credentials for fcm',
    })
  })
})

function decode(part = ''): unknown {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
}
