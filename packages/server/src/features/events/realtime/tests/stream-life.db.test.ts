import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { createAccountsApp } from '../../../../../test/accounts.ts'
import { type EventStreamClient, openEventStream } from '../../../../../test/event-stream.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { created, deleted, idsOf, namesOf, updated } from './messages.ts'

let app: TestApp
let other: TestApp
const token = userToken({ sub: alice })
const config = {
  'realtime.max_connections_per_user': '3',
  'realtime.heartbeat_interval_seconds': '1',
  'server.body_limit': '8388608',
}

beforeAll(async () => {
  app = await createTestApp({
    config,
    setup: `
      create table item (id bigint primary key, name text);
      create table later (id int primary key);
      create table quiet (id int primary key);
      create table closed (id int primary key, secret text);
      alter table closed enable row level security;
      revoke all on closed from basalt_authenticated`,
  })
  other = await createTestApp({ config, database: app.database })
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await app.sql('delete from item')
  await waitFor('earlier streams to end', async () => (await stats()).connections.total === 0)
})

function open(query = 'tables=item', lastEventId?: string, node = app): Promise<EventStreamClient> {
  return openEventStream(node.url, query, { token, lastEventId })
}

async function create(id: number, node = app): Promise<void> {
  const response = await node.request('POST', '/api/collections/item', { token, body: { id } })
  if (response.status !== 201) throw new Error(response.text)
}

async function stats() {
  return (await app.request('GET', '/api/admin/realtime/stats', { token: await app.adminToken() })).json
}

describe('realtime › GET /api/realtime › Last-Event-ID', () => {
  test('resumes after any event, on any node', async () => {
    await using stream = await open()
    const operations = Array.from({ length: 5 }, (_, id) => ({ method: 'create', body: { id } }))
    await app.request('POST', '/api/collections/item/batch', { token, body: { operations } })
    await stream.next(5)
    await stream[Symbol.asyncDispose]()
    for (const id of [5, 6]) await create(id, id === 5 ? app : other)
    const positions = [stream.events[0], ...stream.events.slice(1)].map((event) => event?.id)
    for (const [index, id] of positions.entries()) {
      const node = index % 2 === 0 ? app : other
      await using resumed = await open('tables=item', id, node)
      await resumed.next(7 - index)
      expect(idsOf(resumed)).toEqual([0, 1, 2, 3, 4, 5, 6].slice(index))
      expect(namesOf(resumed)).not.toContain('gap')
    }
  })

  test('may be sent as a parameter', async () => {
    await using stream = await open()
    await create(1)
    await using resumed = await open(`tables=item&lastEventId=${encodeURIComponent(stream.lastEventId)}`)
    await resumed.next(1)
    expect(idsOf(resumed)).toEqual([1])
  })

  test('resumes during many writes without missing or repeating an event', async () => {
    await using first = await open()
    const position = first.lastEventId
    await first[Symbol.asyncDispose]()
    // With these streams the nodes keep reading, and another stream attaches meanwhile.
    await using _here = await openEventStream(app.url, 'tables=item', { token: userToken({ sub: bob }) })
    await using _there = await openEventStream(other.url, 'tables=item', { token: userToken({ sub: bob }) })
    let isOver = false
    const count = 400
    const writing = (async () => {
      for (let id = 0; id < count; id += 1) await create(id, id % 2 === 0 ? app : other)
      isOver = true
    })()
    let at = position
    const received: number[] = []
    while (!isOver || received.length < count) {
      await using stream = await open('tables=item', at, received.length % 2 === 0 ? other : app)
      await waitFor(
        'some events',
        () => stream.messages.length > 20 || (isOver && stream.messages.length > 0),
      )
      received.push(...idsOf(stream))
      at = stream.lastEventId
    }
    await writing
    expect(received.length).toBe(count)
    expect(new Set(received).size).toBe(count)
  })

  test('leads to a gap for an invalid position or one of another cluster', async () => {
    for (const position of ['x', '5', '9:5:', '5:9:7,6', '1:2:~3', `999999999:999999999:`, '0:0:']) {
      await using stream = await open('tables=item', position)
      const { id, data } = await stream.named('gap')
      expect(data).toEqual({ message: 'events before this one may be missing; read the tables again' })
      await create(Math.floor(Math.random() * 1e9))
      await stream.next(1)
      expect(id).toBe(stream.events[0]?.id)
    }
  })

  test('leads to a gap when the log no longer holds the missed events', async () => {
    await using stream = await open()
    await stream[Symbol.asyncDispose]()
    await create(1)
    await app.sql(`update basalt.outbox set happened_at = now() - interval '30 hours'`)
    const { pruneOutbox } = await import('../../outbox/index.ts')
    await waitFor('the log to be empty', async () => {
      await pruneOutbox(app.app.database.system, 24)
      return (await app.sql('select from basalt.outbox')).length === 0
    })
    await using resumed = await open('tables=item', stream.lastEventId)
    await resumed.named('gap')
    expect(idsOf(resumed)).toEqual([])
  })

  test('leads to a gap when one of the tables had no subscriber', async () => {
    await using stream = await open('tables=item')
    await using both = await open('tables=item,later', stream.lastEventId)
    await both.named('gap')
  })

  test('leads to a gap when the table had no subscriber for a time', async () => {
    await using stream = await open()
    await stream[Symbol.asyncDispose]()
    await app.sql(`update basalt.realtime_tables set wanted_until = now() - interval '1 minute'`)
    await using fresh = await createTestApp({ config, database: app.database })
    await using resumed = await open('tables=item', stream.lastEventId, fresh)
    await resumed.named('gap')
  })
})

describe('realtime › several nodes', () => {
  test('send events that are written on any of them', async () => {
    await using here = await open('tables=item', undefined, app)
    await using there = await open('tables=item', undefined, other)
    await create(1, app)
    await create(2, other)
    await Promise.all([here.next(2), there.next(2)])
    expect(idsOf(here)).toEqual([1, 2])
    expect(idsOf(there)).toEqual([1, 2])
  })

  test.each([
    ['a temporary limit', 'tables=item', token, { status: 200, refusal: 'connection_limit_exceeded' }],
    ['an unknown table', 'tables=nothing', token, { status: 400, refusal: undefined }],
    ['an invalid token', 'tables=item', 'x', { status: 401, refusal: undefined }],
  ])(
    'refuse an EventSource by a status only for permanent reasons: %s',
    async (_case, query, by, expected) => {
      const streams = await Promise.all([open(), open(), open()])
      await using refused = await openEventStream(other.url, query, { token: by })
      expect({ status: refused.status, refusal: refused.refusal }).toEqual(expected)
      if (refused.refusal !== undefined) expect(refused.events[0]?.data.retryMs).toBeGreaterThanOrEqual(5000)
      for (const stream of streams) await stream[Symbol.asyncDispose]()
    },
  )

  test('count the streams of a user together', async () => {
    const streams = await Promise.all([open(), open('tables=item', undefined, other), open()])
    for (const node of [app, other]) {
      const response = await node.request('GET', '/api/realtime?tables=item', { token })
      expect(response.status).toBe(429)
      expect(response.headers.get('retry-after')).toBe('5')
      expect(envelope(response)).toEqual({
        code: 429,
        message: 'connection limit exceeded',
        error: 'connection_limit_exceeded',
      })
    }
    await using ofBob = await openEventStream(app.url, 'tables=item', { token: userToken({ sub: bob }) })
    expect(ofBob.refusal).toBeUndefined()
    await streams[1]?.[Symbol.asyncDispose]()
    await using next = await waitFor('a free slot', async () => {
      const stream = await openEventStream(app.url, 'tables=item', { token })
      return stream.refusal === undefined ? stream : undefined
    })
    expect(next.events[0]?.name).toBe('connected')
    for (const stream of streams) await stream[Symbol.asyncDispose]()
  })

  test('admit no more streams than the limit when many are opened at once', async () => {
    const nodes = [app, other]
    const streams = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        openEventStream((nodes[n % 2] ?? app).url, 'tables=item', { token }),
      ),
    )
    const refused = streams.filter(({ refusal }) => refusal === 'connection_limit_exceeded')
    expect([streams.length, refused.length]).toEqual([12, 9])
    for (const stream of streams) await stream[Symbol.asyncDispose]()
  })

  test('do not count the streams of a crashed node', async () => {
    await app.sql(`
      insert into basalt.realtime_nodes (id, seen_at) values ('${randomUUID()}', now() - interval '11 seconds');
      insert into basalt.realtime_connections (id, node, transport, user_id, address)
      select gen_random_uuid(), id, 'sse', '${alice}', '::1'
      from basalt.realtime_nodes, generate_series(1, 3) where seen_at < now() - interval '10 seconds'`)
    await using stream = await open()
    expect(stream.refusal).toBeUndefined()
    expect((await stats()).connections.total).toBe(1)
  })
})

describe('realtime › stream', () => {
  test('sends comments with its position as heartbeats', async () => {
    await using stream = await open('tables=quiet')
    const before = stream.lastEventId
    await create(1)
    await waitFor('a heartbeat', () => stream.comments >= 1)
    await waitFor('a position beyond events of other tables', () => stream.lastEventId !== before)
    await using resumed = await open('tables=quiet', stream.lastEventId)
    expect(namesOf(resumed)).toEqual(['connected'])
  })

  test('ends with its token', async () => {
    await using stream = await openEventStream(app.url, 'tables=item', {
      token: userToken({ sub: alice }, 2),
    })
    const { data } = await stream.named('close')
    expect(data).toEqual({
      reason: 'session_ended',
      message: 'the token has expired or its session has ended',
    })
    await stream.ended()
  })

  test('returns 401 when the token expires before the stream starts', async () => {
    await app.sql('create table slow_to_begin (id int primary key)')
    await using lock = await openTransaction(app.database)
    await lock.sql('lock table basalt.realtime_tables')
    const path = '/api/realtime?tables=slow_to_begin'
    const response = app.request('GET', path, { token: userToken({ sub: alice }, 1) })
    const sentAt = Date.now()
    await waitFor('the token to expire', () => Date.now() > sentAt + 1000)
    await lock.commit()
    expect(envelope(await response)).toEqual({
      code: 401,
      message: 'invalid or expired token',
      error: 'invalid_token',
    })
  })

  test('ends with its session, on every node', async () => {
    await using accounts = await createAccountsApp({ setup: 'create table item (id int primary key)' })
    await using second = await accounts.secondNode()
    const me = await accounts.register()
    const streams = await Promise.all(
      [accounts.app, second].map((node) => openEventStream(node.url, 'tables=item', { token: me.token })),
    )
    const others = await accounts.register()
    await using untouched = await openEventStream(second.url, 'tables=item', { token: others.token })
    await accounts.post('logout', { refreshToken: me.refreshToken })
    for (const stream of streams) {
      expect((await stream.named('close')).data.reason).toBe('session_ended')
      await stream.ended()
    }
    expect(untouched.hasEnded).toBe(false)
  })

  test('sends nothing once its token is invalid', async () => {
    let aheadMs = 0
    await using clocked = await createTestApp({
      clock: { now: () => new Date(Date.now() + aheadMs) },
      setup: 'create table item (id int primary key); grant select on item to basalt_anonymous',
    })
    const admin = await clocked.adminToken()
    await using open = await openEventStream(clocked.url, 'tables=item')
    for (const id of [1, 2, 3, 4]) {
      aheadMs = 0
      await using stream = await openEventStream(clocked.url, 'tables=item', { token })
      aheadMs = 3600_000
      await clocked.request('POST', '/api/collections/item', { token: admin, body: { id } })
      await open.next(id)
      expect((await stream.named('close')).data.reason).toBe('session_ended')
      expect(stream.messages).toEqual([])
    }
  })

  test('ends when the client does not read, and resumes at its position', async () => {
    await using stream = await open()
    stream.pause()
    const name = 'x'.repeat(100_000)
    let id = 0
    await waitFor('the stream to end', async () => {
      id += 1
      await app.request('POST', '/api/collections/item', { token, body: { id, name } })
      return (await stats()).connections.total === 0
    })
    stream.resume()
    await stream.ended()
    const received = idsOf(stream)
    expect(received.length).toBeLessThan(id)
    await using resumed = await open('tables=item', stream.lastEventId)
    await resumed.next(id - received.length)
    expect([...received, ...idsOf(resumed)]).toEqual(Array.from({ length: id }, (_, index) => index + 1))
  })

  test('sends records that are larger than the client buffer', async () => {
    await using stream = await open()
    const name = 'x'.repeat(3_000_000)
    for (const id of [1, 2, 3]) {
      await app.request('POST', '/api/collections/item', { token, body: { id, name } })
      await stream.next(id)
    }
    await using resumed = await open('tables=item', stream.events[0]?.id)
    await resumed.next(3)
    expect(idsOf(resumed)).toEqual([1, 2, 3])
    expect(resumed.messages[2].record.name.length).toBe(name.length)
  })

  test('ends when its node stops, which admits no more streams', async () => {
    const stopping = await createTestApp({ config, database: app.database })
    await using stream = await open('tables=item', undefined, stopping)
    const stopped = stopping.app.drain()
    const response = await stopping.request('GET', '/api/realtime?tables=item', { token })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(envelope(response)).toEqual({
      code: 503,
      message: 'server is shutting down',
      error: 'shutting_down',
    })
    await using refused = await open('tables=item', undefined, stopping)
    const { headers, text, events } = refused
    expect([headers['content-type'], headers['retry-after']]).toEqual([
      'text/event-stream; charset=utf-8',
      '1',
    ])
    const retryMs = events[0]?.data.retryMs
    expect(retryMs).toBeGreaterThanOrEqual(1000)
    expect(text).toBe(
      `retry: ${retryMs}\nevent: close\ndata: {"reason":"shutting_down","message":"server is shutting down","retryMs":${retryMs}}\n\n`,
    )
    const { data } = await stream.named('close')
    expect(data).toEqual({
      reason: 'server_shutdown',
      message: 'the server is shutting down; reconnect',
      retryMs: expect.any(Number),
    })
    expect(stream.text).toContain(`\nretry: ${data.retryMs}\nevent: close\n`)
    await stream.ended()
    await stopped
    await stopping[Symbol.asyncDispose]()
    expect((await stats()).connections.total).toBe(0)
  })

  test('starts with a gap for the first stream of a table that other nodes have to log', async () => {
    await using node = await createTestApp({
      config: { 'events.capture': 'off' },
      setup: 'create table slow (id int primary key)',
    })
    await using _second = await createTestApp({
      config: { 'events.capture': 'off' },
      database: node.database,
    })
    await using first = await openEventStream(node.url, 'tables=slow', { token })
    await first.named('gap')
    expect(namesOf(first)).toEqual(['connected', 'gap'])
    await using second = await openEventStream(node.url, 'tables=slow', { token })
    await node.request('POST', '/api/collections/slow', { token, body: { id: 1 } })
    await Promise.all([first.next(1), second.next(1)])
    expect(namesOf(second)).toEqual(['connected', 'message'])
  })

  test('starts without a gap, and with API writes meanwhile, for a table that only its node has to log', async () => {
    await using node = await createTestApp({ setup: 'create table contended (id int primary key)' })
    const locked = Promise.withResolvers<void>()
    const done = Promise.withResolvers<void>()
    const writing = node.app.database.system.transaction(async (transaction) => {
      await transaction.execute({ text: 'lock table contended in row exclusive mode', values: [] })
      locked.resolve()
      await done.promise
    })
    await locked.promise
    await using stream = await openEventStream(node.url, 'tables=contended', { token })
    await node.request('POST', '/api/collections/contended', { token, body: { id: 1 } })
    await stream.next(1)
    expect(namesOf(stream)).toEqual(['connected', 'message'])
    done.resolve()
    await writing
    // Writes past the API are unknown until the triggers are installed.
    await stream.named('gap')
    await node.sql('insert into contended values (2)')
    await waitFor('the write past the API', () => namesOf(stream).at(-1) === 'message')
  })

  test('starts without a gap for a table that a trigger logs', async () => {
    await app.sql('create table logged (id int primary key)')
    await using stream = await open('tables=logged')
    await app.sql('insert into logged values (1)')
    await stream.next(1)
    expect(namesOf(stream)).toEqual(['connected', 'message'])
  })

  test('is removed when its client closes it', async () => {
    const stream = await open()
    await waitFor('the stream to be listed', async () => (await stats()).connections.total === 1)
    await stream[Symbol.asyncDispose]()
    await waitFor('the stream to be removed', async () => (await stats()).connections.total === 0)
  })
})

describe('realtime › administration', () => {
  const send = async (method: string, path: string) =>
    app.request(method, `/api/admin/realtime/${path}`, { token: await app.adminToken() })

  test('lists the streams of every node', async () => {
    await using here = await open('tables=item,later')
    await using there = await open('tables=item', undefined, other)
    const listed = await waitFor('both streams', async () => {
      const { json } = await send('GET', 'connections')
      const tables = json.items.flatMap((item: { tables: string[] }) => item.tables)
      return tables.length === 3 ? json : undefined
    })
    const common = {
      transport: 'sse',
      userId: alice,
      address: '127.0.0.1',
      node: expect.stringMatching(/^[0-9a-f-]{36}$/),
      channels: [],
      connectedAt: expect.stringMatching(/Z$/),
    }
    expect(listed).toEqual({
      items: [
        { ...common, id: here.events[0]?.data.clientId, tables: ['item', 'later'] },
        { ...common, id: there.events[0]?.data.clientId, tables: ['item'] },
      ],
      count: 2,
    })
    expect(await stats()).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      timestamp: expect.stringMatching(/Z$/),
      connections: { sse: 2, ws: 0, total: 2 },
      subscriptions: { tables: { item: 2, later: 1 }, channels: { broadcast: {}, presence: {} } },
      counters: { dropped_messages: expect.any(Number), heartbeat_failures: 0 },
    })
    expect((await send('GET', 'subscriptions')).json).toEqual({
      items: [
        { kind: 'table', name: 'item', connections: 2 },
        { kind: 'table', name: 'later', connections: 1 },
      ],
      count: 2,
    })
  })

  test('disconnects a stream on any node', async () => {
    for (const node of [app, other]) {
      await using stream = await open('tables=item', undefined, node)
      const id = stream.events[0]?.data.clientId
      expect((await send('POST', `connections/${id}/disconnect`)).status).toBe(204)
      expect((await stream.named('close')).data).toEqual({
        reason: 'disconnected',
        message: 'disconnected by an administrator',
      })
      await waitFor('the connection to be unknown', async () => {
        return (await send('POST', `connections/${id}/disconnect`)).status === 404
      })
    }
    const [audit] = await app.sql(`
      select actor, action from basalt.audit where action = 'realtime.disconnect' limit 1`)
    expect(audit).toEqual({ actor: 'admin', action: 'realtime.disconnect' })
  })

  test('returns 404 for an unknown id', async () => {
    for (const id of ['x', randomUUID()]) {
      const response = await send('POST', `connections/${id}/disconnect`)
      expect([response.status, envelope(response)]).toEqual([
        404,
        { code: 404, message: 'connection not found', error: 'connection_not_found' },
      ])
    }
  })
})

describe('realtime › GET /api/admin/realtime/stream', () => {
  const subscribe = (admin: string, query = 'tables=closed', node = app, lastEventId?: string) =>
    openEventStream(node.url, query, { token: admin, path: '/api/admin/realtime/stream', lastEventId })
  const write = async (method: string, path: string, body?: object, node = other) => {
    const response = await node.request(method, `/api/collections/${path}`, {
      token: await app.adminToken(),
      body,
    })
    expect(response.status).toBeLessThan(300)
  }
  beforeEach(() => app.sql('delete from closed'))

  test('sends every column of rows that no policy shows, from every node, and resumes on any', async () => {
    const admin = await app.adminToken()
    await using stream = await subscribe(admin)
    await write('POST', 'closed', { id: 1, secret: 'a' })
    await stream.next(1)
    await stream[Symbol.asyncDispose]()
    await write('PATCH', 'closed/1', { secret: 'b' }, app)
    await write('DELETE', 'closed/1')
    await using resumed = await subscribe(admin, 'tables=closed', other, stream.lastEventId)
    await resumed.next(2)
    expect([...stream.messages, ...resumed.messages]).toEqual([
      created('closed', { id: 1, secret: 'a' }),
      updated('closed', { id: 1, secret: 'b' }),
      deleted('closed', { id: '1' }),
    ])
    expect(namesOf(resumed)).toEqual(['connected', 'message', 'message'])
  })

  test('applies a filter, and does not count against the limit of users', async () => {
    const admin = await app.adminToken()
    const streams = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        subscribe(admin, 'tables=closed&filter=id=gt.1', n % 2 === 0 ? app : other),
      ),
    )
    await write('POST', 'closed', { id: 1 })
    await write('POST', 'closed', { id: 2 })
    for (const stream of streams) {
      await stream.next(1)
      expect(idsOf(stream)).toEqual([2])
      await stream[Symbol.asyncDispose]()
    }
  })

  test.each([
    ['the session is ended on another node', (admin: string) => logOut(admin)],
    // Replacing the password deletes all sessions like this.
    [
      'its row is deleted',
      () =>
        app.sql(
          'delete from basalt.admin_sessions where expires_at = (select max(expires_at) from basalt.admin_sessions)',
        ),
    ],
  ])('ends when %s', async (_what, end) => {
    const login = await other.request('POST', '/api/admin/auth', { body: { password: testAdminPassword } })
    const admin: string = login.json.token
    await using stream = await subscribe(admin)
    await end(admin)
    expect((await stream.named('close')).data.reason).toBe('session_ended')
    await stream.ended()
    const response = await app.request('GET', '/api/admin/realtime/stream?tables=closed', { token: admin })
    expect(envelope(response)).toEqual({
      code: 401,
      message: 'admin authentication required',
      error: 'admin_required',
    })
  })
  const logOut = (admin: string) => other.request('POST', '/api/admin/auth/logout', { token: admin })

  test.each([
    ['', 'tables parameter is required', 'tables_required'],
    ['?tables=,', 'at least one valid table is required', 'no_valid_table'],
    ['?tables=missing', 'unknown table: missing', 'unknown_table'],
    [
      '?tables=closed&filter=x',
      'invalid filter: expected column=operator.value at position 0',
      'invalid_stream_filter',
    ],
  ])('returns 400 for %s', async (query, message, error) => {
    const response = await app.request('GET', `/api/admin/realtime/stream${query}`, {
      token: await app.adminToken(),
    })
    expect(envelope(response)).toMatchObject({ code: 400, message, error })
  })
})

test('realtime › node record › is written again after it was lost', async () => {
  await using stream = await open()
  await app.sql('delete from basalt.realtime_nodes')
  await waitFor('the stream to be listed again', async () => (await stats()).connections.total === 1)
  await create(1)
  await stream.next(1)
})
