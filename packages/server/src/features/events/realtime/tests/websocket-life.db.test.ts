import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccountsApp } from '../../../../../test/accounts.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { forgeJwt } from '../../../../../test/jwt.ts'
import { exchangeRaw, openRaw } from '../../../../../test/raw-http.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import {
  type HandshakeRefused,
  openWebSocket,
  type WebSocketClient,
  type WebSocketClientOptions,
} from '../../../../../test/websocket-client.ts'
import { created, errorReply, eventOf, okReply } from './messages.ts'

let app: TestApp
let other: TestApp
/** Milliseconds by which the clock of the other node is ahead. */
let aheadMs = 0
const token = userToken({ sub: alice })
const config = {
  'realtime.max_connections_per_user': '3',
  'server.cors_allowed_origins': 'https://app.example.com',
  'server.public_base_url': 'http://api.example.com:8000',
}

beforeAll(async () => {
  app = await createTestApp({ config, setup: 'create table item (id int primary key, name text)' })
  const clock = { now: () => new Date(Date.now() + aheadMs) }
  other = await createTestApp({
    config: { ...config, 'realtime.heartbeat_interval_seconds': '1' },
    database: app.database,
    clock,
  })
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

function open(options: WebSocketClientOptions = { token }, node = app): Promise<WebSocketClient> {
  return openWebSocket(node.url, options)
}

async function admin(method: string, path: string, node = app) {
  return await node.request(method, `/api/admin/realtime/${path}`, { token: await app.adminToken() })
}

const ok = expect.objectContaining(okReply)

function handshake(headers: Readonly<Record<string, string>> = {}, path = '/api/realtime/ws'): string {
  const all = {
    Host: new URL(app.url).host,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

describe('realtime › GET /api/realtime/ws › handshake', () => {
  test('returns 426 to requests without an upgrade', async () => {
    const response = await app.request('GET', '/api/realtime/ws', { token })
    expect(envelope(response)).toEqual({
      code: 426,
      error: 'upgrade_required',
      message: 'expected a WebSocket handshake',
    })
    expect(response.headers.get('upgrade')).toBe('websocket')
    const post = await app.request('POST', '/api/realtime/ws', { token })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET'])
  })

  test.each([
    ['another version', { 'Sec-WebSocket-Version': '12' }, 426, 'upgrade_required'],
    ['no key', { 'Sec-WebSocket-Key': '' }, 400, 'bad_handshake'],
    ['a key of another length', { 'Sec-WebSocket-Key': 'YQ==' }, 400, 'bad_handshake'],
    ['an invalid protocol list', { 'Sec-WebSocket-Protocol': 'a,,' }, 400, 'bad_handshake'],
  ])('is rejected for %s', async (_what, headers, status, error) => {
    const response = await exchangeRaw(app.url, handshake(headers))
    expect([response.status, JSON.parse(response.body).error]).toEqual([status, error])
    expect(response.headers.get('connection')).toEqual(['close'])
    expect(response.headers.get('x-request-id')).toHaveLength(1)
    if (status === 426) expect(response.headers.get('sec-websocket-version')).toEqual(['13'])
  })

  test.each(['/health', '/api/realtime/ws/more', '/api/realtime'])(
    'is ignored by %s, which responds as without the header',
    async (path) => {
      const plain = await exchangeRaw(app.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      const requested = await exchangeRaw(app.url, handshake({ Connection: 'Upgrade, close' }, path))
      expect(requested.status).toBe(plain.status)
      expect(requested.status).not.toBe(101)
    },
  )

  test('selects none of the offered subprotocols', async () => {
    const connection = openRaw(app.url)
    connection.write(handshake({ 'Sec-WebSocket-Protocol': 'graphql-transport-ws, mqtt' }))
    const [head] = await once(connection.socket, 'data')
    connection.socket.destroy()
    expect(String(head)).toMatch(/^HTTP\/1\.1 101 /)
    expect(String(head)).not.toMatch(/^sec-websocket-protocol:/im)
  })

  test('ends a connection when it is pipelined after another request, and the server continues', async () => {
    const connection = openRaw(app.url)
    connection.write(`GET /health HTTP/1.1\r\nHost: x\r\n\r\n${handshake()}`)
    await connection.ended
    expect((await app.request('GET', '/health')).status).toBe(200)
  })

  test.each([
    ['no origin', undefined, true],
    ['the server’s own origin', () => app.url, true],
    ['the origin of the public URL', () => 'http://api.example.com:8000', true],
    ['a configured origin', () => 'https://app.example.com', true],
    ['another origin', () => 'https://evil.example.com', false],
    ['the server’s own origin on another port', () => 'http://127.0.0.1:1', false],
    ['an origin with a configured prefix', () => 'https://app.example.com.evil.com', false],
    ['a configured origin with another scheme', () => 'http://app.example.com', false],
    ['the origin of a file', () => 'null', false],
    ['a text that is no URL', () => 'x', false],
    ['the origin of an extension', () => `chrome-extension://${new URL(app.url).host}`, false],
  ])('checks the origin: %s', async (_what, origin, isAllowed) => {
    const attempt = open({ token, ...(origin === undefined ? {} : { headers: { origin: origin() } }) })
    if (isAllowed) {
      await using client = await attempt
      await client.next('connected')
      return
    }
    const refusal: HandshakeRefused = await attempt.then(
      () => expect.unreachable(),
      (error) => error,
    )
    expect(refusal.status).toBe(403)
    expect(JSON.parse(refusal.body)).toMatchObject({
      code: 403,
      error: 'origin_not_allowed',
      message: 'origin not allowed',
    })
  })
})

describe('realtime › GET /api/realtime/ws › with any origin allowed', () => {
  const foreign = 'https://anywhere.example'

  test('accepts pages of every origin, which need a token to do anything', async () => {
    await using server = await createTestApp({ database: app.database })
    for (const origin of [foreign, 'null']) {
      await using client = await openWebSocket(server.url, { token, headers: { origin } })
      await client.next('connected')
    }
  })

  test('accepts only pages of this machine while auth is off', async () => {
    await using server = await createTestApp({
      database: app.database,
      config: { 'auth.enabled': 'false' },
    })
    for (const origin of [
      foreign,
      'null',
      'https://localhost.evil.example',
      'http://127.0.0.1.evil.example',
    ]) {
      const refusal: HandshakeRefused = await openWebSocket(server.url, { headers: { origin } }).then(
        () => expect.unreachable(),
        (error) => error,
      )
      expect([refusal.status, JSON.parse(refusal.body).error]).toEqual([403, 'origin_not_allowed'])
    }
    for (const origin of [server.url, 'http://localhost:5173', 'http://[::1]:3000']) {
      await using client = await openWebSocket(server.url, { headers: { origin } })
      await client.next('connected')
    }
  })
})

describe('realtime › WebSocket token', () => {
  const seconds = Math.floor(Date.now() / 1000)
  const claims = { sub: alice, email: '', aal: 'aal1', amr: ['password'], iat: seconds, exp: seconds + 900 }

  test('is accepted in the header or as a parameter', async () => {
    const forged = forgeJwt({ payload: claims })
    for (const options of [{ token }, { query: `?token=${token}` }, { token: forged }]) {
      await using client = await open(options)
      await client.next('connected')
      expect(await client.request({ type: 'subscribe', tables: ['item'] })).toEqual(ok)
    }
  })

  const bad: [string, () => string | Promise<string>][] = [
    ['malformed', () => 'nonsense'],
    ['expired', () => userToken({ sub: alice }, -1)],
    ['forged', () => forgeJwt({ payload: { sub: alice, exp: 9_999_999_999 }, secret: 'x'.repeat(40) })],
    ['an administrator’s token', () => app.adminToken()],
    ['waiting for a second factor', () => forgeJwt({ payload: { ...claims, mfa_pending: true } })],
  ]
  test.each(bad)('closes with 4401 when it is %s', async (_what, make) => {
    const invalid = await make()
    for (const options of [{ token: invalid }, { query: `?token=${invalid}` }]) {
      await using client = await open(options)
      expect(await client.ended()).toEqual({ code: 4401, reason: 'invalid or expired token' })
      expect(client.messages).toEqual([])
    }
    await using client = await open({})
    expect(await client.request({ type: 'auth', token: invalid })).toEqual(
      errorReply('authentication failed'),
    )
    expect(await client.request({ type: 'subscribe', tables: ['item'] })).toEqual(
      errorReply('authentication required'),
    )
  })

  test('closes with 4401 in a malformed header', async () => {
    await using client = await open({ headers: { authorization: `Basic ${token}` } })
    expect((await client.ended()).code).toBe(4401)
  })

  test('may follow in a message, also after a failed one', async () => {
    await using client = await open({})
    const [{ client_id: id }] = await client.next('connected')
    for (const type of ['subscribe', 'unsubscribe', 'channel_subscribe', 'broadcast', 'presence_track']) {
      expect(await client.request({ type, tables: ['item'], channel: 'a' })).toEqual(
        errorReply('authentication required'),
      )
    }
    expect(await client.request({ type: 'auth' })).toEqual(errorReply('missing token'))
    expect(await client.request({ type: 'auth', token: 5 })).toEqual(errorReply('missing token'))
    expect(await client.request({ type: 'auth', token: 'nonsense' })).toEqual(
      errorReply('authentication failed'),
    )
    expect(await client.request({ type: 'auth', token })).toEqual(ok)
    expect(await client.request({ type: 'subscribe', tables: ['item'] })).toEqual(ok)
    const { items } = (await admin('GET', 'connections')).json
    expect(items).toContainEqual(expect.objectContaining({ id, transport: 'ws', userId: alice }))
  })

  test('can be replaced only by another one of the same user', async () => {
    await using client = await open()
    await client.request({ type: 'subscribe', tables: ['item'] })
    const fresh = userToken({ sub: alice, aal: 'aal2' })
    expect(await client.request({ type: 'auth', token: fresh })).toEqual(ok)
    expect(await client.request({ type: 'auth', token: userToken({ sub: bob }) })).toEqual(
      errorReply('authentication failed'),
    )
    expect(await client.request({ type: 'auth', token: 'nonsense' })).toEqual(
      errorReply('authentication failed'),
    )
    await app.sql('delete from item')
    await app.request('POST', '/api/collections/item', { token, body: { id: 1 } })
    await client.next('event')
  })

  test('keeps the stream open when it is replaced, and policies see the new one', async () => {
    await app.sql(`
      create table secret (id int primary key);
      alter table secret enable row level security;
      create policy strong on secret using (current_setting('basalt.aal', true) = 'aal2')`)
    const strong = userToken({ sub: alice, aal: 'aal2' })
    const old = userToken({ sub: alice }, 60)
    await using client = await open({ token: old }, other)
    expect(await client.request({ type: 'subscribe', tables: ['secret', 'item'] })).toEqual(ok)
    await app.request('POST', '/api/collections/secret', { token: strong, body: { id: 1 } })
    await app.request('POST', '/api/collections/item', { token, body: { id: 11 } })
    await client.next('event')
    await client.request({ type: 'auth', token: strong })
    await app.request('POST', '/api/collections/secret', { token: strong, body: { id: 2 } })
    const events = await client.next('event', 2)
    expect(events.map(({ table, record }) => [table, record.id])).toEqual([
      ['item', 11],
      ['secret', 2],
    ])
    await using doomed = await open({ token: old }, other)
    await doomed.next('connected')
    aheadMs = 60_000
    try {
      expect((await doomed.ended()).code).toBe(4401)
      expect(client.closed).toBeUndefined()
    } finally {
      aheadMs = 0
    }
  })
})

describe('realtime › WebSocket limits', () => {
  test('count the streams of one user over all nodes and transports', async () => {
    await waitFor('earlier streams to end', async () => {
      const { connections } = (await admin('GET', 'stats')).json
      return connections.total === 0
    })
    const clients = [await open(), await open({ token }, other), await open()]
    for (const client of clients) await client.next('connected')
    await using late = await open({ token }, other)
    expect(await late.ended()).toEqual({ code: 4008, reason: 'connection limit exceeded' })
    await using later = await open({})
    expect(await later.request({ type: 'auth', token })).toEqual(errorReply('connection limit exceeded'))
    expect((await later.ended()).code).toBe(4008)
    await using stranger = await open({ token: userToken({ sub: bob }) })
    await stranger.next('connected')
    for (const client of clients) await client[Symbol.asyncDispose]()
    const readmitted = await waitFor('a free slot', async () => {
      const client = await open()
      await waitFor('a message or a close', () => client.messages.length > 0 || client.closed !== undefined)
      return client.closed === undefined ? client : undefined
    })
    await readmitted[Symbol.asyncDispose]()
  })

  test('count connections without a token by address, and not against users', async () => {
    const strangers = await Promise.all(Array.from({ length: 100 }, () => open({})))
    await using late = await open({})
    expect(await late.ended()).toEqual({ code: 4008, reason: 'connection limit exceeded' })
    await using user = await open()
    await user.next('connected')
    expect(await strangers[0]?.request({ type: 'auth', token })).toEqual(ok)
    await using next = await open({})
    await next.next('connected')
    for (const stranger of strangers) await stranger[Symbol.asyncDispose]()
  })
})

describe('realtime › WebSocket end', () => {
  test('follows the end of the session', async () => {
    await using accounts = await createAccountsApp()
    const { token: signedIn, refreshToken } = await accounts.register()
    await using client = await openWebSocket(accounts.app.url, { token: signedIn })
    await client.next('connected')
    await accounts.post('logout', { refreshToken })
    expect(await client.ended()).toEqual({
      code: 4401,
      reason: 'the token has expired or its session has ended',
    })
  })

  test('follows a disconnect by an administrator, on any node', async () => {
    await using client = await open()
    await using another = await open({ token }, other)
    for (const { messages } of [client, another]) await waitFor('connected', () => messages.length > 0)
    for (const { messages } of [client, another]) {
      const response = await admin('POST', `connections/${messages[0].client_id}/disconnect`)
      expect(response.status).toBe(204)
    }
    const expected = { code: 4000, reason: 'disconnected by an administrator' }
    expect([await client.ended(), await another.ended()]).toEqual([expected, expected])
  })

  test('follows the stop of the server, authenticated or not, and new connections get 503', async () => {
    await using node = await createTestApp({ config, database: app.database })
    await using client = await open({ token }, node)
    await using stranger = await open({}, node)
    await client.next('connected')
    const draining = node.app.drain()
    const refusal: HandshakeRefused = await open({ token }, node).then(
      () => expect.unreachable(),
      (error) => error,
    )
    expect([refusal.status, refusal.headers['retry-after']]).toEqual([503, '1'])
    expect(JSON.parse(refusal.body).error).toBe('shutting_down')
    const expected = { code: 1001, reason: 'server is shutting down' }
    expect([await client.ended(), await stranger.ended()]).toEqual([expected, expected])
    await draining
  })

  test('follows a client that does not read, with a reason', async () => {
    await using client = await open()
    await client.request({ type: 'subscribe', tables: ['item'] })
    const before = (await admin('GET', 'stats')).json.counters.dropped_messages
    client.socket.pause()
    const name = 'x'.repeat(500_000)
    await app.sql('delete from item')
    for (let id = 1; id <= 30; id += 1) {
      await app.request('POST', '/api/collections/item', { token, body: { id, name } })
    }
    await waitFor('the stream to end', async () => {
      const { counters } = (await admin('GET', 'stats')).json
      return counters.dropped_messages > before
    })
    client.socket.resume()
    expect([1013, 1006]).toContain((await client.ended()).code)
    if (client.closed?.code === 1013) {
      expect(client.messages.at(-1)).toEqual({ type: 'error', message: 'the client reads too slowly' })
    }
  })

  test('removes the connection after the client disconnects', async () => {
    const client = await open({ token: userToken({ sub: randomUUID() }) })
    const [{ client_id: id }] = await client.next('connected')
    await client[Symbol.asyncDispose]()
    await waitFor('the connection to be removed', async () => {
      const { items } = (await admin('GET', 'connections')).json
      return !items.some((item: { id: string }) => item.id === id)
    })
  })
})

test('realtime › WebSocket ping › is sent at the configured interval, and pongs keep the connection open', async () => {
  await using client = await open({ token }, other)
  await waitFor('three pings', () => client.pings >= 3)
  expect(client.closed).toBeUndefined()
})

test('realtime › WebSocket without auth › admits every client', async () => {
  await using openApp = await createTestApp({
    config: { 'auth.enabled': 'false' },
    setup: 'create table item (id int primary key)',
  })
  await using client = await openWebSocket(openApp.url, { query: '?token=nonsense' })
  await client.next('connected')
  expect(await client.request({ type: 'auth' })).toEqual(ok)
  expect(await client.request({ type: 'subscribe', tables: ['item'] })).toEqual(ok)
  await openApp.request('POST', '/api/collections/item', { body: { id: 1 } })
  expect(await client.next('event')).toEqual([eventOf(created('item', { id: 1 }))])
})

test('realtime › WebSocket token › never appears in the log', async () => {
  expect(app.log.join()).not.toContain(token)
  expect(app.log.filter((line) => line.includes('"level":50'))).toEqual([])
})
