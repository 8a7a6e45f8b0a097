import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'
import { created, deleted, errorReply, eventOf, okReply, updated } from './messages.ts'

/** Tables that are granted to `basalt_anonymous`. Streams without a token receive the rows that its policies show. */
const setup = `
  create table post (id int primary key, title text, draft text, is_published bool not null default true);
  alter table post enable row level security;
  create policy published on post for select to basalt_anonymous using (is_published);
  create policy everything on post to basalt_authenticated using (true);
  grant select (id, title, is_published) on post to basalt_anonymous;
  create table score (id int primary key, points int);
  grant select on score to basalt_anonymous;
  create table closed (id int primary key);
  create table granted_later (id int primary key);
  create view titles as select title from post;
  grant select on titles to basalt_anonymous`

const config = { 'realtime.max_anonymous_connections_per_address': '3' }
const token = userToken({ sub: alice })
const required = { code: 401, message: 'authentication required', error: 'authentication_required' }

let app: TestApp
let other: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup, config })
  other = await createTestApp({ database: app.database, config })
})
beforeEach(() => app.sql('delete from post; delete from score'))
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

async function write(method: string, path: string, body?: unknown): Promise<void> {
  const response = await other.request(method, `/api/collections/${path}`, { token, body })
  if (response.status >= 400) throw new Error(response.text)
}

/** Waits until no earlier stream is counted. */
function untilClosed() {
  return waitFor('closed streams to be removed', async () => {
    const [row] = await app.sql('select count(*)::int as count from basalt.realtime_connections')
    return row?.count === 0
  })
}

describe('realtime › GET /api/realtime without a token', () => {
  test('sends the rows that the anonymous role may read, with the columns granted to it', async () => {
    await using stream = await openEventStream(app.url, 'tables=post,score&filter=id=gt.0')
    expect(stream.status).toBe(200)
    await write('POST', 'post', { id: 1, title: 'secret', draft: 'x', is_published: false })
    await write('POST', 'post', { id: 2, title: 'shown', draft: 'x' })
    await write('PATCH', 'post/1', { is_published: true })
    await write('PATCH', 'post/2', { is_published: false })
    await write('PATCH', 'post/2', { title: 'unseen' })
    await write('DELETE', 'post/2')
    await write('DELETE', 'post/1')
    await write('POST', 'score', { id: 1, points: 5 })
    expect(await stream.next(5)).toEqual([
      created('post', { id: 2, title: 'shown', is_published: true }),
      updated('post', { id: 1, title: 'secret', is_published: true }),
      deleted('post', { id: '2' }),
      deleted('post', { id: '1' }),
      created('score', { id: 1, points: 5 }),
    ])
    expect(stream.text).not.toContain('draft')
  })

  test('resumes on another node', async () => {
    const first = await openEventStream(app.url, 'tables=score')
    await write('POST', 'score', { id: 1, points: 1 })
    await first.next(1)
    await first[Symbol.asyncDispose]()
    await write('POST', 'score', { id: 2, points: 2 })
    await using second = await openEventStream(other.url, 'tables=score', { lastEventId: first.lastEventId })
    expect((await second.next(1)).map(({ record }) => record.id)).toEqual([2])
  })

  test.each([
    ['a table that is not granted', 'tables=closed'],
    ['one of several', 'tables=score,closed'],
    ['no such table', 'tables=nothing'],
    ['no table', ''],
    ['an empty list', 'tables=,'],
    ['two lists', 'tables=score&tables=post'],
    ['an empty token', 'tables=score&token='],
  ])('returns 401 for %s', async (_, query) => {
    const response = await app.request('GET', `/api/realtime?${query}`)
    expect(envelope(response)).toEqual(required)
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
  })

  test('returns 401 for an invalid token', async () => {
    for (const query of ['tables=score&token=nonsense', 'tables=score']) {
      const headers = query.includes('token') ? {} : { authorization: 'Bearer nonsense' }
      const response = await app.request('GET', `/api/realtime?${query}`, { headers })
      expect(envelope(response)).toEqual({
        code: 401,
        message: 'invalid or expired token',
        error: 'invalid_token',
      })
    }
  })

  test('reports an unreadable column as unknown, and a view as no table', async () => {
    expect(envelope(await app.request('GET', '/api/realtime?tables=post&filter=draft=eq.x'))).toMatchObject({
      code: 400,
      message: 'invalid filter: unknown column: draft',
    })
    expect(envelope(await app.request('GET', '/api/realtime?tables=titles'))).toMatchObject({
      code: 400,
      message: 'unknown table: titles',
    })
  })

  test('is admitted after the grant, and sends nothing after its revocation', async () => {
    await app.sql('grant select on granted_later to basalt_anonymous')
    await using stream = await openEventStream(app.url, 'tables=granted_later,score')
    await write('POST', 'granted_later', { id: 1 })
    await stream.next(1)
    await app.sql('revoke select on granted_later from basalt_anonymous')
    await write('POST', 'granted_later', { id: 2 })
    await write('POST', 'score', { id: 9 })
    await waitFor('the last change', () => stream.messages.some(({ table }) => table === 'score'))
    expect(stream.messages.map(({ table, record }) => [table, record.id])).toEqual([
      ['granted_later', 1],
      ['score', 9],
    ])
  })

  test('counts the streams of an address over all nodes, and not with those of users', async () => {
    await untilClosed()
    const streams = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        openEventStream((index % 2 === 0 ? app : other).url, 'tables=score'),
      ),
    )
    const refused = streams.filter(({ refusal }) => refusal === 'connection_limit_exceeded')
    expect([streams.length, refused.length]).toEqual([10, 7])
    const response = await other.request('GET', '/api/realtime?tables=score')
    expect(envelope(response)).toEqual({
      code: 429,
      message: 'connection limit exceeded',
      error: 'connection_limit_exceeded',
    })
    expect(response.headers.get('retry-after')).toBe('5')
    await using ofAlice = await openEventStream(app.url, 'tables=score', { token })
    expect(ofAlice.status).toBe(200)
    for (const stream of streams) await stream[Symbol.asyncDispose]()
  })
})

describe('realtime › GET /api/realtime/ws without a token', () => {
  test('subscribes to public tables only, and to no channel', async () => {
    await using client = await openWebSocket(app.url)
    await client.next('connected')
    const refused = errorReply('authentication required')
    expect(await client.request({ type: 'subscribe', tables: ['score', 'closed'] })).toEqual(refused)
    expect(await client.request({ type: 'channel_subscribe', channel: 'lobby' })).toEqual(refused)
    expect(await client.request({ type: 'subscribe', tables: ['post'] })).toMatchObject(okReply)
    await write('POST', 'post', { id: 1, title: 'a', is_published: false })
    await write('POST', 'post', { id: 2, title: 'b' })
    expect(await client.next('event')).toEqual([
      eventOf(created('post', { id: 2, title: 'b', is_published: true })),
    ])
    for (const message of [
      { type: 'channel_subscribe', channel: 'lobby' },
      { type: 'broadcast', channel: 'lobby', event: 'e', payload: {} },
      { type: 'presence_track', channel: 'lobby', presence: {} },
    ]) {
      expect(await client.request(message), message.type).toEqual(refused)
    }
    expect(await client.request({ type: 'subscribe', tables: 'closed' })).toEqual(
      errorReply('unknown table: closed'),
    )
    expect(await client.request({ type: 'auth', token })).toEqual(
      errorReply('the WebSocket has subscribed without a token; open another one to sign in'),
    )
    expect(await client.request({ type: 'unsubscribe', tables: ['post'] })).toMatchObject(okReply)
  })

  test('counts with the streams of its address, and may sign in before it subscribes', async () => {
    await untilClosed()
    const streams = await Promise.all(
      Array.from({ length: 3 }, () => openEventStream(app.url, 'tables=score')),
    )
    await using client = await openWebSocket(other.url)
    expect(await client.request({ type: 'subscribe', tables: 'score' })).toEqual(
      errorReply('connection limit exceeded'),
    )
    expect(await client.ended()).toEqual({ code: 4008, reason: 'connection limit exceeded' })
    await using signedIn = await openWebSocket(other.url)
    expect(await signedIn.request({ type: 'auth', token })).toMatchObject(okReply)
    expect(await signedIn.request({ type: 'subscribe', tables: 'closed' })).toMatchObject(okReply)
    for (const stream of streams) await stream[Symbol.asyncDispose]()
  })
})
