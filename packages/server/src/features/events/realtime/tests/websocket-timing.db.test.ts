import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { openGraphqlSocket } from '../../../../../test/graphql-streams.ts'
import { createTestNotifications } from '../../../../../test/notifications.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { testConfig } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'
import type { RequestLimiter } from '../../../../http/access/authentication.ts'
import { type TokenVerifier, unattributed } from '../../../../http/access/identity.ts'
import { createOrigins } from '../../../../http/access/origins.ts'
import { Metrics } from '../../../../http/observation/metrics.ts'
import { createHttpServer } from '../../../../http/server.ts'
import { systemClock } from '../../../../lib/clock.ts'
import type { GraphqlOperations } from '../../../data/graphql/index.ts'
import { Interests } from '../../outbox/index.ts'
import { realtime } from '../index.ts'
import type { WebSocketTiming } from '../websocket/websocket-timing.ts'
import { errorReply, okReply } from './messages.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup: 'create table item (id int primary key)' })
})
afterAll(() => app[Symbol.asyncDispose]())

/** Verifier that accepts every token as the name of its user. */
const anyToken: TokenVerifier = {
  recognizes: () => true,
  verify: (token) => ({
    identity: {
      kind: 'user',
      ...unattributed,
      userId: token,
      email: '',
      sessionId: undefined,
      aal: 'aal1',
      amr: [],
      isAnonymous: false,
      issuedAt: undefined,
      scope: {
        kind: 'caller',
        userId: token,
        email: '',
        isEmailVerified: false,
        aal: 'aal1',
        isAnonymous: false,
        sessionId: '',
      },
    },
  }),
}

/** Operations whose results fill the buffers of a connection. */
const largeResults: GraphqlOperations = {
  run: async () => JSON.stringify({ text: 'x'.repeat(700_000) }),
  admitsAnonymous: () => false,
}

const noLimit: RequestLimiter = { admit: () => undefined }

/** Starts a node with shorter WebSocket timeouts than the contract’s. */
async function startNode(timing: Partial<WebSocketTiming>) {
  const config = testConfig({ 'realtime.heartbeat_interval_seconds': '1' })
  const log = pino({ level: 'silent' })
  const { database, catalog } = app.app
  const notifications = createTestNotifications(database.system)
  const interests = new Interests(notifications)
  const metrics = new Metrics()
  const publicBaseUrl = () => 'http://localhost'
  const origins = createOrigins({ allowed: ['*'], publicBaseUrl, isLocalOnly: false })
  const http = await createHttpServer({
    config,
    authentication: { isRequired: true, verifiers: [anyToken], limiter: noLimit },
    origins,
    metrics,
    log,
    publicBaseUrl,
    version: '0',
  })
  const feature = realtime({
    config: config.realtime,
    database,
    catalog,
    interests,
    triggers: { install: async () => false },
    queue: { define: () => undefined },
    notifications,
    verifiers: [anyToken],
    limiter: noLimit,
    isAuthRequired: true,
    isDevelopment: false,
    origins,
    version: '0',
    metrics,
    clock: systemClock,
    log,
    messageLimitBytes: 1024,
    timing,
  })
  feature.routes?.(http)
  const routeConfig = { guard: 'public', operation: 'graphql.query', upgrade: true } as const
  http.get('/api/graphql', { config: routeConfig, exposeHeadRoute: false }, async (request, reply) => {
    feature.graphqlStreams.openSocket(request, reply, largeResults)
    return reply
  })
  await http.ready()
  await notifications.start()
  await feature.start?.()
  await http.listen({ host: '127.0.0.1', port: 0 })
  return {
    url: http.listeningOrigin,
    async [Symbol.asyncDispose]() {
      feature.drain?.()
      http.server.closeAllConnections()
      await http.close()
      await feature.stop?.()
      await notifications.stop()
    },
  }
}

async function counters() {
  const { json } = await app.request('GET', '/api/admin/realtime/stats', { token: await app.adminToken() })
  return json.counters
}

const heartbeatFailures = async (): Promise<number> => (await counters()).heartbeat_failures

test('realtime › WebSocket › closes when the client does not authenticate in time', async () => {
  await using node = await startNode({ authenticationMs: 1000 })
  await using silent = await openWebSocket(node.url)
  await using wrong = await openWebSocket(node.url)
  await using known = await openWebSocket(node.url)
  expect(await known.request({ type: 'auth', token: 'alice' })).toEqual(okReply)
  await wrong.request({ type: 'auth' })
  const expected = { code: 4401, reason: 'auth timeout' }
  expect([await silent.ended(), await wrong.ended()]).toEqual([expected, expected])
  expect(await known.request({ type: 'subscribe', tables: ['item'] })).toMatchObject(okReply)
})

test('realtime › WebSocket › closes and counts a client that does not respond to a ping', async () => {
  await using node = await startNode({ pongMs: 100 })
  const before = await heartbeatFailures()
  await using dead = await openWebSocket(node.url, { token: 'alice', autoPong: false })
  await using alive = await openWebSocket(node.url, { token: 'alice' })
  expect((await dead.ended()).code).toBe(1006)
  await waitFor('the failure to be counted', async () => (await heartbeatFailures()) > before)
  await waitFor('two more pings', () => alive.pings >= 3)
  expect(alive.closed).toBeUndefined()
})

test('realtime › WebSocket › stays open while its messages wait to be handled', async () => {
  await using node = await startNode({ pongMs: 100 })
  await using pending = await openWebSocket(node.url, { token: 'alice' })
  await using blocker = await openTransaction(app.database)
  await blocker.sql('lock table basalt.realtime_tables in access exclusive mode')
  // These are more messages than the server reads ahead, so it reads no pongs either.
  const count = 300
  for (let ref = 0; ref < count; ref += 1) {
    const type = ref % 2 === 0 ? 'subscribe' : 'unsubscribe'
    pending.send({ type, tables: ['item'], ref })
  }
  // This client is opened and pinged later, and does not respond.
  await using dead = await openWebSocket(node.url, { token: 'bob', autoPong: false })
  expect((await dead.ended()).code).toBe(1006)
  expect(pending.closed).toBeUndefined()
  await blocker.commit()
  const replies = await pending.next('reply', count)
  expect(replies.map(({ ref }) => ref)).toEqual(Array.from({ length: count }, (_, index) => index))
})

test('realtime › WebSocket › closes when the client has no subscription', async () => {
  await using node = await startNode({ idleMs: 1000 })
  await using idle = await openWebSocket(node.url, { token: 'alice' })
  await using onTable = await openWebSocket(node.url, { token: 'alice' })
  await using onChannel = await openWebSocket(node.url, { token: 'alice' })
  await onTable.request({ type: 'subscribe', tables: ['item'] })
  await onChannel.request({ type: 'channel_subscribe', channel: 'a' })
  expect(await idle.ended()).toEqual({ code: 1001, reason: 'nothing subscribed to' })
  await using another = await openWebSocket(node.url, { token: 'alice' })
  await another.ended()
  expect([onTable.closed, onChannel.closed]).toEqual([undefined, undefined])
  await onTable.request({ type: 'unsubscribe', tables: ['item'] })
  await onChannel.request({ type: 'channel_unsubscribe', channel: 'a' })
  expect([(await onTable.ended()).code, (await onChannel.ended()).code]).toEqual([1001, 1001])
})

test('realtime › channel access › evaluates policies again at an interval', async () => {
  await using node = await startNode({ accessMs: 200 })
  await app.sql(`
    create table member (channel text, user_id text);
    insert into member values ('a', 'alice'), ('a', 'bob');
    create policy p on basalt.realtime_channels using (exists (
      select from member m
      where m.channel = realtime_channels.channel and m.user_id = current_setting('basalt.user_id', true)
    ));
    alter table basalt.realtime_channels enable row level security`)
  await using alice = await openWebSocket(node.url, { token: 'alice' })
  await using bob = await openWebSocket(node.url, { token: 'bob' })
  const broadcast = { type: 'broadcast', channel: 'a', event: 'e', payload: 1 }
  for (const client of [alice, bob]) {
    expect(await client.request({ type: 'channel_subscribe', channel: 'a' })).toEqual(okReply)
    expect(await client.request(broadcast)).toEqual(okReply)
  }
  await app.sql(`delete from member where user_id = 'bob'`)
  expect((await bob.next('system'))[0].channel).toBe('a')
  expect(await bob.request(broadcast)).toEqual(errorReply('not subscribed to channel'))
  expect(await alice.request(broadcast)).toEqual(okReply)
  await app.sql('alter policy p on basalt.realtime_channels using (true) with check (false)')
  await waitFor('sending to be denied', async () => {
    const { message } = await alice.request(broadcast)
    return message === 'channel access denied'
  })
  expect(await bob.request({ type: 'channel_subscribe', channel: 'a' })).toEqual(okReply)
  expect(alice.ofType('system')).toEqual([])
})

test('GraphQL WebSocket › closes when the client does not initialize it in time', async () => {
  await using node = await startNode({ authenticationMs: 500 })
  await using silent = await openGraphqlSocket(node.url, { init: false })
  await using known = await openGraphqlSocket(node.url, { init: { token: 'alice' } })
  expect(await silent.ended()).toEqual({ code: 4408, reason: 'Connection initialisation timeout' })
  known.send({ type: 'ping' })
  await known.next('pong')
})

test('GraphQL WebSocket › sends pings of the protocol and of WebSockets', async () => {
  await using node = await startNode({ graphqlPingMs: 100 })
  await using client = await openGraphqlSocket(node.url, { init: { token: 'alice' } })
  expect(await client.next('ping', 2)).toContainEqual({ type: 'ping' })
  await waitFor('pings of WebSockets', () => client.pings >= 2)
  expect(client.closed).toBeUndefined()
})

test('GraphQL WebSocket › sends many large results, and closes when the client does not read them', async () => {
  await using node = await startNode({ readMs: 2000 })
  await using client = await openGraphqlSocket(node.url, { init: { token: 'alice' } })
  const send = (from: number, to: number) => {
    for (let id = from; id < to; id += 1)
      client.send({ type: 'subscribe', id: `${id}`, payload: { query: '{ __typename }' } })
  }
  send(0, 40)
  expect(await client.next('complete', 40)).toHaveLength(40)
  const { dropped_messages: before } = await counters()
  client.socket.pause()
  send(40, 80)
  await waitFor('the client to be dropped', async () => (await counters()).dropped_messages > before)
  client.socket.resume()
  await client.ended()
  expect(client.ofType('complete').length).toBeLessThan(80)
})
