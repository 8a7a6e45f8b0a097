import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { type AccountsApp, createAccountsApp, type SignedIn } from '../../../../../test/accounts.ts'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { type EventStreamClient, openEventStream } from '../../../../../test/event-stream.ts'
import { openGraphqlSocket } from '../../../../../test/graphql-streams.ts'
import { createClient, obtainTokens, postForm, type TestClient } from '../../../../../test/oauth.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket, type WebSocketClient } from '../../../../../test/websocket-client.ts'
import { created } from './messages.ts'

/* The same caller on every transport: streams of tables, and subscriptions of GraphQL. */

let accounts: AccountsApp
/** Node that makes the changes. */
let app: TestApp
/** Node that has the streams. */
let other: TestApp
/** Milliseconds by which the clock of the node with the streams is ahead. */
let aheadMs = 0
let client: TestClient
let user: SignedIn
let admin: string

const tables = `
  create table item (id int primary key, name text);
  create table part (id int primary key)`
const config = { 'auth.oauth_provider.enabled': 'true' }
/** Table of the streams. */
let table = 'item'
const documentOf = () => `subscription { ${table} { id name } }`
const extensions = encodeURIComponent('{"ready":true}')

beforeAll(async () => {
  accounts = await createAccountsApp({ setup: tables, config })
  app = accounts.app
  const clock = { now: () => new Date(Date.now() + aheadMs) }
  // The streams of a test hold three connections, and the statements that list them need others.
  const connections = { 'database.max_conns': '20' }
  other = await createTestApp({ database: app.database, config: { ...config, ...connections }, clock })
  admin = await app.adminToken()
  const { user: owner } = await accounts.register()
  const { json } = await app.request('POST', '/api/admin/apps', {
    token: admin,
    body: { name: 'app', ownerUserId: owner.id },
  })
  client = await createClient(app, { appId: json.id })
})
beforeEach(async () => {
  table = 'item'
  await app.sql('delete from item')
  user = await accounts.register()
})
afterAll(async () => {
  await other?.[Symbol.asyncDispose]()
  await accounts?.[Symbol.asyncDispose]()
})

/** Streams of one caller that have the changes of the table. */
interface OpenStreams extends AsyncDisposable {
  readonly events: EventStreamClient
  readonly socket: WebSocketClient
  readonly graphqlEvents: EventStreamClient
  readonly graphqlSocket: WebSocketClient
}

const graphqlPath = '/api/graphql'
const openGraphqlEvents = (token: string, document = documentOf()) =>
  openEventStream(other.url, `query=${encodeURIComponent(document)}&extensions=${extensions}`, {
    token,
    path: graphqlPath,
  })

function subscribe(socket: WebSocketClient, id: string, document = documentOf()): void {
  socket.send({ type: 'subscribe', id, payload: { query: document, extensions: { ready: true } } })
}

/** Waits for messages about an operation. */
const about = (socket: WebSocketClient, id: string, count = 1) =>
  waitFor(`messages about ${id}`, () => {
    const found = socket.messages.filter((message) => message.id === id)
    return found.length >= count ? found : undefined
  })

async function openStreams(token: string, path = '/api/realtime'): Promise<OpenStreams> {
  const events = await openEventStream(other.url, `tables=${table}`, { token, path })
  const socket = await openWebSocket(other.url, { token })
  await socket.request({ type: 'subscribe', tables: [table] })
  const graphqlEvents = await openGraphqlEvents(token)
  const graphqlSocket = await openGraphqlSocket(other.url, { init: { token } })
  subscribe(graphqlSocket, 'a')
  await about(graphqlSocket, 'a')
  return {
    ...{ events, socket, graphqlEvents, graphqlSocket },
    async [Symbol.asyncDispose]() {
      for (const each of [events, socket, graphqlEvents, graphqlSocket]) await each[Symbol.asyncDispose]()
    },
  }
}

const write = async (id: number, name = 'a') => {
  const response = await app.request('POST', `/api/collections/${table}`, {
    token: admin,
    body: { id, name },
  })
  if (response.status !== 201) throw new Error(response.text)
}

const result = (row: object, action: string) => ({
  data: { [table]: row },
  extensions: { action, id: expect.any(String) },
})
const ready = () => ({ data: { [table]: null }, extensions: { ready: true, id: expect.any(String) } })
const first = { id: 1, name: 'a' }
const message = 'the token has expired or its session has ended'
const closed = { code: 4401, reason: message }

/** Waits for the first change on each stream. */
async function receiveFirst({ events, socket, graphqlEvents, graphqlSocket }: OpenStreams): Promise<void> {
  await write(1)
  await events.next(1)
  await socket.next('event')
  await waitFor('the change', () => graphqlEvents.events[1])
  await about(graphqlSocket, 'a', 2)
}

/** Asserts everything that the streams have sent: the first change, and the end with its reason. */
async function expectEnds({ events, socket, graphqlEvents, graphqlSocket }: OpenStreams): Promise<void> {
  await events.ended()
  await graphqlEvents.ended()
  expect([await socket.ended(), await graphqlSocket.ended()]).toEqual([closed, closed])
  expect(events.events.slice(1).map(({ name, data }) => [name, data])).toEqual([
    ['message', created(table, first)],
    ['close', { reason: 'session_ended', message }],
  ])
  expect(graphqlEvents.events.map(({ name, data }) => [name, data])).toEqual([
    ['next', ready()],
    ['next', result(first, 'create')],
    ['next', { errors: [{ message, extensions: { code: 'session_ended' } }] }],
    ['complete', undefined],
  ])
  expect(socket.ofType('event').map(({ record }) => record)).toEqual([first])
  expect(graphqlSocket.messages).toEqual([
    { type: 'connection_ack' },
    { id: 'a', type: 'next', payload: ready() },
    { id: 'a', type: 'next', payload: result(first, 'create') },
  ])
}

/** Asserts that no transport accepts the token any more. */
async function expectRefused(token: string): Promise<void> {
  const refusal = { code: 401, message: 'invalid or expired token', error: 'invalid_token' }
  const list = await other.request('GET', `/api/realtime?tables=${table}`, { token })
  const headers = { accept: 'text/event-stream' }
  const path = `${graphqlPath}?query=${encodeURIComponent(documentOf())}`
  const subscription = await other.request('GET', path, { token, headers })
  expect([envelope(list), envelope(subscription)]).toEqual([refusal, refusal])
  await using socket = await openGraphqlSocket(other.url, { init: { token } })
  expect(await socket.ended()).toEqual({ code: 4401, reason: 'invalid or expired token' })
}

const keyOf = async (more: object = {}) =>
  await createApiKey(app, { userId: user.user.id, scope: 'readonly', ...more })
const tokensOf = async (more: object = {}) => await obtainTokens(app, user.token, client, more)
const administer = async (method: string, path: string) => {
  const response = await app.request(method, `/api/admin/${path}`, { token: admin })
  if (response.status >= 300) throw new Error(response.text)
}

interface Access {
  readonly token: string
  readonly end: () => Promise<unknown>
}

describe('streams and subscriptions › end with the access of their caller', () => {
  test.each<readonly [string, () => Promise<Access>]>([
    [
      'the access token expires',
      async () => ({
        token: userToken({ sub: user.user.id }),
        end: async () => {
          aheadMs = 3600_000
        },
      }),
    ],
    [
      'the session is revoked from another one',
      async () => {
        const { json } = await accounts.post('login', {
          email: user.user.email,
          password: 'tangerine-harbour-42',
        })
        return {
          token: user.token,
          end: () =>
            app.request('DELETE', '/api/auth/sessions?all_except_current=true', { token: json.token }),
        }
      },
    ],
    [
      'the user signs out',
      async () => ({
        token: user.token,
        end: () => accounts.post('logout', { refreshToken: user.refreshToken }),
      }),
    ],
    [
      'the user is disabled',
      async () => ({ token: user.token, end: () => administer('POST', `users/${user.user.id}/disable`) }),
    ],
    [
      'the user is deleted',
      async () => ({ token: user.token, end: () => administer('DELETE', `users/${user.user.id}`) }),
    ],
    [
      'the user of an API key is disabled',
      async () => ({
        token: (await keyOf()).key,
        end: () => administer('POST', `users/${user.user.id}/disable`),
      }),
    ],
    [
      'the API key is deleted',
      async () => {
        const { key, apiKey } = await keyOf({ allowedTables: ['item'] })
        return { token: key, end: () => administer('DELETE', `api-keys/${apiKey.id}`) }
      },
    ],
    [
      'the user revokes the grant of an OAuth token',
      async () => {
        const { access_token: token } = await tokensOf({ allowed_tables: ['item'] })
        const grants = await app.request('GET', '/api/auth/grants', { token: user.token })
        const path = `/api/auth/grants/${grants.json[0].id}`
        return { token, end: () => app.request('DELETE', path, { token: user.token }) }
      },
    ],
    [
      'the client revokes its OAuth token',
      async () => {
        const { access_token: token } = await tokensOf({ scope: 'readonly' })
        return { token, end: () => postForm(app, '/api/auth/revoke', { token }) }
      },
    ],
    [
      'the user of an OAuth token is disabled',
      async () => {
        const { access_token: token } = await tokensOf()
        return { token, end: () => administer('POST', `users/${user.user.id}/disable`) }
      },
    ],
  ])('when %s', async (_cause, grant) => {
    const { token, end } = await grant()
    await using streams = await openStreams(token)
    await receiveFirst(streams)
    try {
      await end()
      await expectEnds(streams)
      await write(2)
      await expectRefused(token)
    } finally {
      aheadMs = 0
    }
  })

  test.each<readonly [string, () => Promise<Access>]>([
    [
      'the tables of its API key are narrowed',
      async () => {
        const { key, apiKey } = await keyOf({ allowedTables: ['item', 'part'] })
        const narrow = `update basalt.api_keys set allowed_tables = '{part}' where id = '${apiKey.id}'`
        return { token: key, end: () => app.sql(narrow) }
      },
    ],
    [
      'an API key for all tables is narrowed',
      async () => {
        const { key, apiKey } = await keyOf()
        const narrow = `update basalt.api_keys set allowed_tables = '{part}' where id = '${apiKey.id}'`
        return { token: key, end: () => app.sql(narrow) }
      },
    ],
    [
      'a later consent has fewer tables',
      async () => {
        const { access_token: token } = await tokensOf({ allowed_tables: ['item', 'part'] })
        return { token, end: () => tokensOf({ allowed_tables: ['part'] }) }
      },
    ],
  ])('when %s, and the token opens no others of the table', async (_cause, grant) => {
    const { token, end } = await grant()
    await using streams = await openStreams(token)
    await receiveFirst(streams)
    await end()
    await expectEnds(streams)
    await expectTableRefused(token)
  })

  test('when the token expires before they have begun', async () => {
    table = `t_${randomUUID().replaceAll('-', '')}`
    await app.sql(`create table ${table} (id int primary key, name text)`)
    const token = userToken({ sub: user.user.id })
    await using graphqlSocket = await openGraphqlSocket(other.url, { init: { token } })
    await other.app.catalog.refresh()
    await using lock = await openTransaction(app.database)
    // A lock of the whole table would also hold the statements that list the streams.
    await lock.sql('insert into basalt.realtime_tables (table_name, wanted_until) values ($1, now())', [
      table,
    ])
    subscribe(graphqlSocket, 'a')
    const events = other.request('GET', `/api/realtime?tables=${table}`, { token })
    const path = `${graphqlPath}?query=${encodeURIComponent(documentOf())}`
    const graphqlEvents = other.request('GET', path, { token, headers: { accept: 'text/event-stream' } })
    await waitFor('the streams to be listed', async () => {
      const streams = 'select from basalt.realtime_connections where user_id = $1'
      return (await app.sql(streams, [user.user.id])).length === 3
    })
    aheadMs = 3600_000
    try {
      expect(await graphqlSocket.ended()).toEqual(closed)
      await lock.commit()
      const refusal = { code: 401, message: 'invalid or expired token', error: 'invalid_token' }
      expect([envelope(await events), envelope(await graphqlEvents)]).toEqual([refusal, refusal])
      expect(graphqlSocket.messages).toEqual([{ type: 'connection_ack' }])
    } finally {
      aheadMs = 0
    }
  })

  test('when the session of the administrator ends', async () => {
    const login = await app.request('POST', '/api/admin/auth', { body: { password: testAdminPassword } })
    const token: string = login.json.token
    await using graphqlEvents = await openGraphqlEvents(token)
    await using graphqlSocket = await openGraphqlSocket(other.url, { init: { token } })
    subscribe(graphqlSocket, 'a')
    await about(graphqlSocket, 'a')
    await app.request('POST', '/api/admin/auth/logout', { token })
    await graphqlEvents.ended()
    expect(graphqlEvents.events.map(({ data }) => data)).toEqual([
      ready(),
      { errors: [{ message, extensions: { code: 'session_ended' } }] },
      undefined,
    ])
    expect(await graphqlSocket.ended()).toEqual(closed)
  })
})

/** Asserts that no transport has the table for the token, which is valid for another one. */
async function expectTableRefused(token: string): Promise<void> {
  const list = await other.request('GET', `/api/realtime?tables=${table}`, { token })
  expect(envelope(list)).toMatchObject({ code: 403, error: 'insufficient_scope' })
  const errors = [
    {
      message: expect.stringContaining('Cannot query field "item" on type "Subscription".'),
      locations: [{ line: 1, column: 16 }],
      extensions: { code: 'invalid_graphql_document' },
    },
  ]
  await using events = await openGraphqlEvents(token)
  await events.ended()
  expect(events.events.map(({ name, data }) => [name, data])).toEqual([
    ['next', { errors }],
    ['complete', undefined],
  ])
  await using socket = await openGraphqlSocket(other.url, { init: { token } })
  subscribe(socket, 'refused')
  expect(await about(socket, 'refused')).toEqual([{ id: 'refused', type: 'error', payload: errors }])
  subscribe(socket, 'part', 'subscription { part { id } }')
  expect(await about(socket, 'part')).toEqual([
    {
      id: 'part',
      type: 'next',
      payload: { data: { part: null }, extensions: { ready: true, id: expect.any(String) } },
    },
  ])
  expect(socket.closed).toBeUndefined()
}

test('subscriptions › of an OAuth token have its tables alone', async () => {
  const { access_token } = await tokensOf({ scope: 'readonly', allowed_tables: ['part'] })
  await expectTableRefused(access_token)
})

describe('streams and subscriptions › after DDL', () => {
  const changed = {
    message: 'the table has changed, or may no longer be read; subscribe again',
    extensions: { code: 'schema_changed' },
  }

  beforeEach(async () => {
    table = `t_${randomUUID().replaceAll('-', '')}`
    await app.sql(`create table ${table} (id int primary key, name text)`)
  })

  /** Creates records until the condition holds. Events of transactions before a change was noticed are a gap. */
  async function writeUntil(what: string, condition: () => boolean, name?: string): Promise<void> {
    let id = 100
    await waitFor(what, async () => {
      id += 1
      await write(id, name)
      return condition()
    })
  }

  test('receive a gap and no hidden row when a policy is added', async () => {
    await using streams = await openStreams(user.token)
    await receiveFirst(streams)
    const { events, socket, graphqlEvents, graphqlSocket } = streams
    await app.sql(`alter table ${table} enable row level security;
      create policy shown on ${table} using (name = 'shown')`)
    await write(2, 'hidden')
    const hasShown = (texts: readonly string[]) => texts.every((text) => text.includes('"shown"'))
    const textsOf = () => [
      ...[events, graphqlEvents].map(({ text }) => text),
      ...[socket, graphqlSocket].map(({ messages }) => JSON.stringify(messages)),
    ]
    await writeUntil('a visible row on every stream', () => hasShown(textsOf()), 'shown')
    for (const text of textsOf()) expect(text).not.toContain('hidden')
    const gap = { data: { [table]: null }, extensions: expect.objectContaining({ gap: true }) }
    expect(graphqlEvents.events.map(({ data }) => data)).toContainEqual(gap)
    expect(graphqlSocket.messages).toContainEqual({ id: 'a', type: 'next', payload: gap })
    expect([events, graphqlEvents].map(({ hasEnded }) => hasEnded)).toEqual([false, false])
    expect([socket, graphqlSocket].map((each) => each.closed)).toEqual([undefined, undefined])
  })

  test('receive a delete of a row that an update hides', async () => {
    await app.sql(
      `alter table ${table} enable row level security; create policy shown on ${table} using (name = 'a')`,
    )
    await using streams = await openStreams(user.token)
    await receiveFirst(streams)
    await app.request('PATCH', `/api/collections/${table}/1`, { token: admin, body: { name: 'hidden' } })
    await write(3)
    const { events, socket, graphqlEvents, graphqlSocket } = streams
    const third = { id: 3, name: 'a' }
    await events.next(3)
    await socket.next('event', 3)
    await waitFor('the changes', () => graphqlEvents.events[3])
    const frames = await about(graphqlSocket, 'a', 4)
    const bodies = [
      created(table, first),
      { action: 'delete', table, record: { id: '1' } },
      created(table, third),
    ]
    expect(events.messages).toEqual(bodies)
    expect(socket.ofType('event')).toMatchObject(bodies)
    const results = [
      ready(),
      result(first, 'create'),
      result({ id: 1, name: null }, 'delete'),
      result(third, 'create'),
    ]
    expect(graphqlEvents.events.map(({ data }) => data)).toEqual(results)
    expect(frames.map(({ payload }) => payload)).toEqual(results)
  })

  test.each([
    ['is dropped', 'drop table T'],
    ['is renamed', 'alter table T rename to old_T'],
    ['may no longer be read', 'revoke select on T from basalt_authenticated'],
    ['loses a column that is read', 'alter table T drop column name'],
    ['has a column that is read renamed', 'alter table T rename column name to title'],
    [
      'has a column that may no longer be read',
      `revoke select on T from basalt_authenticated;
      grant select (id) on T to basalt_authenticated`,
    ],
  ])('receive a gap, and schema_changed as subscriptions, when the table %s', async (_what, change) => {
    await using streams = await openStreams(user.token)
    await receiveFirst(streams)
    const { events, socket, graphqlEvents, graphqlSocket } = streams
    subscribe(graphqlSocket, 'part', 'subscription { part { id } }')
    await about(graphqlSocket, 'part')
    await app.sql(change.replaceAll('T', table))
    await events.named('gap')
    await socket.next('system')
    await graphqlEvents.ended()
    expect(graphqlEvents.events.slice(-2).map(({ name, data }) => [name, data])).toEqual([
      ['next', { errors: [changed] }],
      ['complete', undefined],
    ])
    const isError = ({ id, type }: { id?: string; type: string }) => id === 'a' && type === 'error'
    const end = await waitFor('the end of the subscription', () => graphqlSocket.messages.find(isError))
    expect(end).toEqual({ id: 'a', type: 'error', payload: [changed] })
    expect([events.hasEnded, socket.closed, graphqlSocket.closed]).toEqual([false, undefined, undefined])
    await app.request('POST', '/api/collections/part', {
      token: admin,
      body: { id: Math.floor(Math.random() * 1e9) },
    })
    expect((await about(graphqlSocket, 'part', 2))[1].payload.extensions.action).toBe('create')
    expect(events.messages).toEqual([created(table, first)])
  })

  test('continue under the policies of a table that replaces theirs', async () => {
    await using streams = await openStreams(user.token)
    await receiveFirst(streams)
    const { events, graphqlEvents, graphqlSocket } = streams
    await app.sql(`alter table ${table} rename to old_${table};
      create table ${table} (id int primary key, name text, secret text);
      alter table ${table} enable row level security;
      create policy shown on ${table} using (name = 'shown')`)
    await write(200, 'hidden')
    const textsOf = () => [events.text, graphqlEvents.text, JSON.stringify(graphqlSocket.messages)]
    await writeUntil(
      'a visible row on every stream',
      () => textsOf().every((text) => text.includes('"shown"')),
      'shown',
    )
    for (const text of textsOf()) expect(text).not.toContain('hidden')
  })
})
