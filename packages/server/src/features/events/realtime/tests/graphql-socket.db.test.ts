import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAccountsApp } from '../../../../../test/accounts.ts'
import { createApiKey, createApplication } from '../../../../../test/api-keys.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { openGraphqlSocket, type RawSocketOptions } from '../../../../../test/graphql-streams.ts'
import { createMfaApp, pendingToken, totpUser } from '../../../../../test/second-factors.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import {
  type HandshakeRefused,
  openWebSocket,
  type WebSocketClient,
} from '../../../../../test/websocket-client.ts'

let app: TestApp
const token = userToken({ sub: alice })
const table = 'create table item (id int primary key, name text)'
const changes = 'subscription { item { id name } }'

beforeAll(async () => {
  app = await createTestApp({
    setup: `${table};
      insert into basalt.users (id, email, password_hash) values ('${alice}', 'alice@example.com', null)`,
    config: { 'server.cors_allowed_origins': 'https://app.example.com' },
  })
})
beforeEach(() => app.sql('truncate item'))
afterAll(() => app[Symbol.asyncDispose]())

const open = (options: RawSocketOptions = {}, node = app) =>
  openGraphqlSocket(node.url, { init: { token }, ...options })

function subscribe(client: WebSocketClient, id: string, query = changes, more: object = {}): void {
  client.send({ type: 'subscribe', id, payload: { query, extensions: { ready: true }, ...more } })
}

/** Waits until the subscription is in force. */
async function inForce(client: WebSocketClient, id: string): Promise<void> {
  await waitFor(`the subscription ${id} to be in force`, () =>
    client.messages.find((message) => message.id === id && message.payload?.extensions?.ready === true),
  )
}

const insert = (id: number, name = 'a') =>
  app.request('POST', '/api/collections/item', { token, body: { id, name } })

describe('GET /api/graphql › WebSocket handshake', () => {
  test('selects the subprotocol, and closes with 4406 without it', async () => {
    await using client = await open()
    expect(client.socket.protocol).toBe('graphql-transport-ws')
    await using none = await openWebSocket(app.url, { path: '/api/graphql' })
    expect(await none.ended()).toEqual({ code: 4406, reason: 'Subprotocol not acceptable' })
  })

  test.each([
    ['a configured origin', 'https://app.example.com', 101],
    ['another origin', 'https://evil.example.com', 403],
    ['the origin of a file', 'null', 403],
  ])('checks the origin: %s', async (_what, origin, status) => {
    const attempt = open({ headers: { origin } })
    if (status === 101) {
      await using client = await attempt
      expect(client.ofType('connection_ack')).toHaveLength(1)
      return
    }
    const refusal: HandshakeRefused = await attempt.then(
      () => expect.unreachable(),
      (error) => error,
    )
    expect([refusal.status, JSON.parse(refusal.body)]).toEqual([
      status,
      { data: null, errors: [{ message: 'origin not allowed', extensions: { code: 'origin_not_allowed' } }] },
    ])
  })

  test('returns 404 while GraphQL is disabled', async () => {
    await using disabled = await createTestApp({
      database: app.database,
      config: { 'graphql.enabled': 'false' },
    })
    const refusal: HandshakeRefused = await open({}, disabled).then(
      () => expect.unreachable(),
      (error) => error,
    )
    expect(refusal.status).toBe(404)
  })

  test('accepts only pages of this machine while auth is off, without a token', async () => {
    await using server = await createTestApp({
      database: app.database,
      config: { 'auth.enabled': 'false' },
    })
    const refusal: HandshakeRefused = await open(
      { init: {}, headers: { origin: 'https://anywhere.example' } },
      server,
    ).then(
      () => expect.unreachable(),
      (error) => error,
    )
    expect(refusal.status).toBe(403)
    await using client = await open({ init: {}, headers: { origin: server.url } }, server)
    subscribe(client, 'a', '{ __typename }')
    expect((await client.next('next'))[0].payload).toEqual({ data: { __typename: 'Query' } })
  })
})

describe('GraphQL WebSocket › connection_init', () => {
  test.each<readonly [string, RawSocketOptions]>([
    ['as token', { init: { token } }],
    ['as Authorization', { init: { Authorization: `Bearer ${token}` } }],
    ['in the handshake', { init: {}, token }],
    ['as a parameter', { init: {}, query: `?token=${token}` }],
  ])('accepts the token %s', async (_where, options) => {
    await using client = await open(options)
    expect(client.messages).toEqual([{ type: 'connection_ack' }])
  })

  test.each<readonly [string, object, string]>([
    ['no token', {}, 'missing token'],
    ['another text', { token: 'nonsense' }, 'invalid or expired token'],
    ['a number', { token: 7 }, 'invalid or expired token'],
    ['an expired token', { token: userToken({ sub: alice }, -1) }, 'invalid or expired token'],
  ])('closes with 4401 for %s', async (_what, init, reason) => {
    await using client = await open({ init })
    expect(await client.ended()).toEqual({ code: 4401, reason })
    expect(client.messages).toEqual([])
  })

  test('closes with 4403 while the second factor is due', async () => {
    await using accounts = await createMfaApp({ setup: table })
    const user = await totpUser(accounts)
    const pending = await pendingToken(accounts, user.user.email)
    await using client = await open({ init: { token: pending } }, accounts.app)
    expect(await client.ended()).toEqual({ code: 4403, reason: 'MFA verification required' })
  })

  test('closes with 4429 for a second one', async () => {
    await using client = await open()
    client.send({ type: 'connection_init' })
    expect(await client.ended()).toEqual({ code: 4429, reason: 'Too many initialisation requests' })
  })

  test('closes with 4401 for an operation before it', async () => {
    await using client = await open({ init: false })
    subscribe(client, 'a')
    expect(await client.ended()).toEqual({ code: 4401, reason: 'Unauthorized' })
  })

  test('closes with 1009 for a long message before the acknowledgement', async () => {
    await using client = await open({ init: { token: 'x'.repeat(20_000) } })
    expect(await client.ended()).toEqual({
      code: 1009,
      reason: 'message exceeds 16384 bytes before connection_ack',
    })
  })
})

describe('GraphQL WebSocket › messages', () => {
  test.each<readonly [string, string | Uint8Array, string]>([
    ['text that is no JSON', '{', 'expected a JSON object'],
    ['an array', '[]', 'expected a JSON object'],
    ['a deeply nested text', '['.repeat(100_000), 'nested too deeply'],
    ['bytes', new Uint8Array([123, 125]), 'expected a text message'],
    ['no type', '{}', 'type: expected a string'],
    ['an unknown type', '{"type":"start"}', 'unknown type: start'],
    ['a long type', `{"type":"${'é'.repeat(200)}"}`, `unknown type: ${'é'.repeat(54)}`],
    [
      'no id',
      '{"type":"subscribe","payload":{"query":"{a}"}}',
      'id: expected a string of 1 to 200 characters',
    ],
    ['no payload', '{"type":"subscribe","id":"a"}', 'payload: expected an object'],
    ['no document', '{"type":"subscribe","id":"a","payload":{}}', 'query: expected a string'],
    [
      'variables of another type',
      '{"type":"subscribe","id":"a","payload":{"query":"{a}","variables":[]}}',
      'variables: expected an object',
    ],
  ])('are closed with 4400 for %s', async (_what, message, reason) => {
    await using client = await open()
    client.send(message)
    expect(await client.ended()).toEqual({ code: 4400, reason })
  })

  test('are closed with 4409 for an id in use, which is free after complete', async () => {
    await using client = await open()
    subscribe(client, 'a')
    await inForce(client, 'a')
    client.send({ type: 'complete', id: 'a' })
    subscribe(client, 'a')
    await waitFor('two subscriptions', () => client.ofType('next').length === 2)
    subscribe(client, 'a')
    expect(await client.ended()).toEqual({ code: 4409, reason: 'Subscriber for a already exists' })
  })

  test('are closed with 1009 beyond the limit of bodies', async () => {
    await using client = await open()
    subscribe(client, 'a', `{ __typename } # ${'x'.repeat(5_000_000)}`)
    expect(await client.ended()).toEqual({ code: 1009, reason: 'message exceeds 1048576 bytes' })
  })

  test('respond to a ping with its payload', async () => {
    await using client = await open()
    client.send({ type: 'ping', payload: { n: 1 } })
    client.send({ type: 'pong' })
    expect(await client.next('pong')).toEqual([{ type: 'pong', payload: { n: 1 } }])
  })
})

describe('GraphQL WebSocket › limits', () => {
  test('allow 100 subscriptions, and another one after one has completed', async () => {
    await using client = await open()
    for (let sent = 0; sent < 1000; ) {
      for (const end = sent + 200; sent < end; sent += 1) subscribe(client, String(sent))
      await waitFor('the responses', () => client.messages.length > sent)
    }
    const errors = client.ofType('error')
    expect(errors).toHaveLength(900)
    expect(errors[0]).toEqual({
      id: expect.any(String),
      type: 'error',
      payload: [
        {
          message: 'at most 100 subscriptions may be open over one WebSocket',
          extensions: { code: 'too_many_subscriptions' },
        },
      ],
    })
    client.send({ type: 'complete', id: client.ofType('next')[0].id })
    subscribe(client, 'again')
    await inForce(client, 'again')
    await insert(1)
    await waitFor(
      'the change on every subscription',
      () => client.ofType('next').filter(({ payload }) => payload.data.item !== null).length === 100,
    )
  })

  test('run or reject each of many operations that are sent at once', async () => {
    await using client = await open()
    const count = 2000
    for (let id = 0; id < count; id += 1) subscribe(client, String(id), '{ __typename }')
    await waitFor(
      'the responses',
      () => client.ofType('next').length + client.ofType('error').length === count,
    )
    const messages = new Set(client.ofType('error').map(({ payload }) => payload[0].message))
    messages.delete('at most 250 operations may wait on one WebSocket')
    expect([...messages]).toEqual([])
    expect(client.closed).toBeUndefined()
  })

  test('reject operations of an app beyond its rate', async () => {
    const appId = await createApplication(app, {
      ownerUserId: alice,
      rateLimitRps: 3,
      rateLimitWindowSeconds: 3600,
    })
    const { key } = await createApiKey(app, { userId: alice, appId })
    await using client = await open({ init: { token: key } })
    for (const id of ['1', '2', '3']) {
      subscribe(client, id, '{ __typename }')
      await waitFor('the response', () => client.messages.find((message) => message.id === id))
    }
    expect(client.ofType('error')).toEqual([
      {
        id: '3',
        type: 'error',
        payload: [{ message: 'app rate limit exceeded', extensions: { code: 'app_rate_limit_exceeded' } }],
      },
    ])
  })

  test('include those of persisted documents, introspection and depth', async () => {
    await using server = await createTestApp({
      database: app.database,
      config: { 'graphql.persisted': 'only', 'graphql.introspection': 'disabled' },
    })
    await using client = await open({}, server)
    subscribe(client, 'a')
    expect(await client.next('error')).toMatchObject([
      { id: 'a', payload: [{ extensions: { code: 'document_not_allowed' } }] },
    ])
    await using closed = await createTestApp({
      database: app.database,
      config: { 'graphql.introspection': 'disabled', 'graphql.max_depth': '1' },
    })
    await using other = await open({}, closed)
    subscribe(other, 'a', '{ __schema { types { name } } }')
    subscribe(other, 'b')
    const errors = await other.next('error', 2)
    expect(Object.fromEntries(errors.map(({ id, payload }) => [id, payload[0].message]))).toEqual({
      a: 'introspection is disabled',
      b: 'query depth 2 exceeds maximum allowed depth of 1',
    })
  })
})

describe('GraphQL WebSocket › operations', () => {
  test('are logged as requests of their caller', async () => {
    await using client = await open({ init: { token: userToken({ sub: bob }) } })
    subscribe(client, 'a', '{ item { id } }')
    await client.next('complete')
    subscribe(client, 'b', '{ nothing }')
    await client.next('error')
    const admin = await app.adminToken()
    const logged = await waitFor('the operations in the log', async () => {
      const { json } = await app.request('GET', `/api/admin/analytics/requests?method=WS&user_id=${bob}`, {
        token: admin,
      })
      return json.items?.length >= 2 ? json.items : undefined
    })
    const entry = { method: 'WS', path: '/api/graphql', operation: 'graphql.run', user_id: bob }
    expect(logged).toMatchObject([
      { ...entry, status_code: 400 },
      { ...entry, status_code: 200 },
    ])
  })

  test('are listed with their tables', async () => {
    await using client = await open()
    subscribe(client, 'a')
    await inForce(client, 'a')
    const admin = await app.adminToken()
    const listed = await waitFor('the connection', async () => {
      const { json } = await app.request('GET', '/api/admin/realtime/connections', { token: admin })
      return json.items?.find(({ tables }: { tables: string[] }) => tables.includes('item'))
    })
    expect(listed).toMatchObject({ transport: 'ws', tables: ['item'] })
  })
})

describe('GraphQL WebSocket › end', () => {
  test('is 1001 when the server stops', async () => {
    const server = await createTestApp({ database: app.database })
    await using client = await open({}, server)
    await using silent = await open({ init: false }, server)
    subscribe(client, 'a')
    await inForce(client, 'a')
    await server[Symbol.asyncDispose]()
    const expected = { code: 1001, reason: 'server is shutting down; reconnect' }
    expect([await client.ended(), await silent.ended()]).toEqual([expected, expected])
  })

  test('is 4401 when the user is disabled or the session ends', async () => {
    await using accounts = await createAccountsApp({ setup: table })
    const [leaving, disabled] = [await accounts.register(), await accounts.register()]
    await using first = await open({ init: { token: leaving.token } }, accounts.app)
    await using second = await open({ init: { token: disabled.token } }, accounts.app)
    for (const client of [first, second]) {
      subscribe(client, 'a')
      await inForce(client, 'a')
    }
    await accounts.post('logout', { refreshToken: leaving.refreshToken })
    await accounts.app.request('POST', `/api/admin/users/${disabled.user.id}/disable`, {
      token: await accounts.app.adminToken(),
    })
    const expected = { code: 4401, reason: 'the token has expired or its session has ended' }
    expect([await first.ended(), await second.ended()]).toEqual([expected, expected])
  })

  test('is 1013 for a client that does not read', async () => {
    await using client = await open()
    subscribe(client, 'a')
    await inForce(client, 'a')
    client.socket.pause()
    const before = await dropped()
    const name = 'x'.repeat(500_000)
    // The server waits two seconds until a client confirms the end, so that it must be noticed at once.
    const isOpen = async () => (await app.sql('select from basalt.realtime_connections')).length > 0
    for (let id = 1; await isOpen(); id += 1) await insert(id, name)
    client.socket.resume()
    expect((await client.ended()).code).toBe(1013)
    await waitFor('the dropped message to be counted', async () => (await dropped()) > before)
  })
})

async function dropped(): Promise<number> {
  const { json } = await app.request('GET', '/api/admin/realtime/stats', { token: await app.adminToken() })
  return json.counters.dropped_messages
}
