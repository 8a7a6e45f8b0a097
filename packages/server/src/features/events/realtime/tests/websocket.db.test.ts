import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import {
  openWebSocket,
  type WebSocketClient,
  type WebSocketClientOptions,
} from '../../../../../test/websocket-client.ts'
import { created, deleted, errorReply, eventOf, gapMessage, okReply, updated } from './messages.ts'

let app: TestApp
const token = userToken({ sub: alice })
const bobToken = userToken({ sub: bob })

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create table item (id bigint primary key, name text, price numeric);
      create table other (id int primary key);
      create table note (id int primary key, owner text not null, body text);
      alter table note enable row level security;
      create policy own on note using (owner = current_setting('basalt.user_id', true));
      create view item_names as select name from item`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() => app.sql('delete from item; delete from note; delete from other'))

function open(options: WebSocketClientOptions = { token }): Promise<WebSocketClient> {
  return openWebSocket(app.url, options)
}

async function write(method: string, path: string, body?: unknown): Promise<void> {
  const response = await app.request(method, `/api/collections/${path}`, { token, body })
  if (response.status >= 400) throw new Error(response.text)
}

const ok = (more = {}) => expect.objectContaining({ ...okReply, ...more })
const objectContaining = (members: object) => expect.objectContaining(members)

/** Returns the changes up to a last one, as action, table and id. */
async function until(client: WebSocketClient, table = 'item', id = 999) {
  await write('POST', table, { id, ...(table === 'note' ? { owner: alice } : {}) })
  await waitFor('the last change', () => client.ofType('event').some(({ record }) => record.id === id))
  return client
    .ofType('event')
    .map(({ action, table: name, record }) => [action, name, record.id])
    .filter(([, , last]) => last !== id)
}

describe('realtime › WebSocket', () => {
  test('sends changes of the tables to which it subscribes', async () => {
    await using client = await open()
    expect(await client.next('connected')).toEqual([
      { type: 'connected', client_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    ])
    const reply = await client.request({ type: 'subscribe', tables: ['item'] })
    expect(reply).toEqual({ ...okReply, id: expect.stringMatching(/./) })
    await write('POST', 'item', { id: 1, name: 'a', price: 2.5 })
    await write('PATCH', 'item/1', { price: 3 })
    await write('DELETE', 'item/1')
    expect(await client.next('event', 3)).toEqual([
      eventOf(created('item', { id: 1, name: 'a', price: 2.5 })),
      eventOf(updated('item', { id: 1, name: 'a', price: 3 })),
      eventOf(deleted('item', { id: '1' })),
    ])
    expect(new Set(client.messages.map(({ type }) => type))).toEqual(new Set(['connected', 'reply', 'event']))
  })

  test('is subscribed once the reply is sent: no change comes before it, and every later change comes', async () => {
    await using client = await open()
    let isWriting = true
    const writing = (async () => {
      for (let id = 1; isWriting; id += 1) await write('POST', 'item', { id })
    })()
    await client.request({ type: 'subscribe', tables: ['item'] })
    const afterwards = 100_000
    await write('POST', 'item', { id: afterwards })
    isWriting = false
    await writing
    await waitFor('the change after the reply', () =>
      client.ofType('event').some(({ record }) => record.id === afterwards),
    )
    const [first] = client.messages.filter(({ type }) => type !== 'connected')
    expect(first.type).toBe('reply')
  })

  test('repeats a ref of text or number in the reply, and replies without one', async () => {
    await using client = await open()
    for (const ref of ['a', 7, undefined, { a: 1 }]) client.send({ type: 'unsubscribe', ref })
    const replies = await client.next('reply', 4)
    expect(replies).toEqual([
      { type: 'reply', ref: 'a', status: 'error', message: 'tables parameter is required' },
      { type: 'reply', ref: 7, status: 'error', message: 'tables parameter is required' },
      { type: 'reply', status: 'error', message: 'tables parameter is required' },
      { type: 'reply', status: 'error', message: 'tables parameter is required' },
    ])
  })
})

describe('realtime › subscribe and unsubscribe', () => {
  test('add tables by array or text, and remove them', async () => {
    await using client = await open()
    expect(await client.request({ type: 'subscribe', tables: ['item'] })).toEqual(ok())
    expect(await client.request({ type: 'subscribe', tables: 'other, note' })).toEqual(ok())
    await write('POST', 'item', { id: 1 })
    await write('POST', 'other', { id: 2 })
    await client.next('event', 2)
    expect(await client.request({ type: 'unsubscribe', tables: ['item', 'nothing'] })).toEqual(ok())
    await write('POST', 'item', { id: 3 })
    expect(await until(client, 'other')).toEqual([
      ['create', 'item', 1],
      ['create', 'other', 2],
    ])
  })

  test('apply the filter of the latest subscription', async () => {
    await using client = await open()
    await client.request({ type: 'subscribe', tables: ['item'], filter: 'name=eq.a' })
    await client.request({ type: 'subscribe', tables: ['other'], filter: 'id=gt.10' })
    await write('POST', 'item', { id: 1, name: 'a' })
    await write('POST', 'item', { id: 2, name: 'b' })
    await write('POST', 'other', { id: 3 })
    await write('POST', 'other', { id: 11 })
    await client.next('event', 2)
    await client.request({ type: 'subscribe', tables: ['item'], filter: 'name=eq.b' })
    await write('POST', 'item', { id: 4, name: 'a' })
    await write('POST', 'item', { id: 5, name: 'b' })
    await client.next('event', 3)
    await client.request({ type: 'subscribe', tables: ['item'] })
    expect(await until(client)).toEqual([
      ['create', 'item', 1],
      ['create', 'other', 11],
      ['create', 'item', 5],
    ])
  })

  const manyTables = Array.from({ length: 101 }, (_, n) => `t${n}`).join()
  test.each([
    [{ tables: ['nothing'] }, 'unknown table: nothing'],
    [{ tables: ['item', 'item_names'] }, 'unknown table: item_names'],
    [{ tables: ['basalt.users'] }, 'unknown table: basalt.users'],
    [{}, 'tables parameter is required'],
    [{ tables: 5 }, 'tables parameter is required'],
    [{ tables: [5] }, 'tables parameter is required'],
    [{ tables: null }, 'tables parameter is required'],
    [{ tables: [] }, 'at least one valid table is required'],
    [{ tables: ' , ' }, 'at least one valid table is required'],
    [{ tables: ['item'], filter: 'name' }, 'invalid filter: expected column=operator.value at position 0'],
    [{ tables: ['item'], filter: 'nothing=eq.1' }, 'invalid filter: unknown column: nothing'],
    [{ tables: ['item'], filter: 'id=eq.a' }, 'invalid filter: the value for id is not of type bigint'],
    [{ tables: ['item'], filter: { id: 1 } }, 'invalid filter: expected a text'],
    [{ tables: manyTables }, 'tables: at most 100 may be listened to'],
  ])('reject %o with “%s” and change nothing', async (members, message) => {
    await using client = await open()
    await client.request({ type: 'subscribe', tables: ['other'] })
    expect(await client.request({ type: 'subscribe', ...members })).toEqual(errorReply(message))
    await write('POST', 'item', { id: 1 })
    expect(await until(client, 'other')).toEqual([])
  })

  test('send only rows that policies show', async () => {
    await using mine = await open()
    await using theirs = await open({ token: bobToken })
    for (const client of [mine, theirs]) await client.request({ type: 'subscribe', tables: ['note', 'item'] })
    await write('POST', 'note', { id: 1, owner: alice, body: 'a' })
    await app.sql(`insert into note values (2, '${bob}', 'b')`)
    await write('DELETE', 'note/1')
    expect(await until(mine)).toEqual([
      ['create', 'note', 1],
      ['delete', 'note', '1'],
    ])
    expect(await until(theirs, 'item', 998)).toEqual([
      ['create', 'note', 2],
      ['create', 'item', 999],
    ])
  })
})

describe('realtime › last_event_id', () => {
  test('resumes each table, while the other tables stay subscribed', async () => {
    const before = await open()
    await before.request({ type: 'subscribe', tables: ['item', 'other'] })
    await write('POST', 'item', { id: 1 })
    const [last] = await before.next('event')
    await before[Symbol.asyncDispose]()
    await write('POST', 'item', { id: 2 })
    await write('POST', 'other', { id: 3 })
    await using client = await open()
    const item = { type: 'subscribe', tables: ['item'], last_event_id: last.id }
    expect(await client.request(item)).toEqual(ok({ id: last.id }))
    const other = { type: 'subscribe', tables: ['other'], last_event_id: last.id }
    // While it continues with other tables, the stream as a whole has no position to resume from.
    expect(await client.request(other)).toEqual(okReply)
    await write('POST', 'other', { id: 4 })
    // The last change is in a table that does not wait for the other one to catch up.
    await client.next('event', 3)
    expect(await until(client)).toEqual([
      ['create', 'item', 2],
      ['create', 'other', 3],
      ['create', 'other', 4],
    ])
    expect(client.ofType('system')).toEqual([])
  })

  test('resumes from the reply to a subscription, before any event', async () => {
    const before = await open()
    const { id } = await before.request({ type: 'subscribe', tables: ['item'] })
    await before[Symbol.asyncDispose]()
    await write('POST', 'item', { id: 1 })
    await using client = await open()
    await client.request({ type: 'subscribe', tables: ['item'], last_event_id: id })
    expect(await until(client)).toEqual([['create', 'item', 1]])
  })

  test.each(['1:1:', 'nonsense', 7])(
    'leads to a gap for a position that the log does not hold (%j)',
    async (last) => {
      await using client = await open()
      const reply = await client.request({ type: 'subscribe', tables: ['item'], last_event_id: last })
      expect(await client.next('system')).toEqual([gapMessage(reply.id)])
      expect(await until(client)).toEqual([])
    },
  )
})

describe('realtime › invalid message', () => {
  const deep = `${'['.repeat(1000)}${']'.repeat(1000)}`
  test.each([
    ['{', objectContaining({ message: expect.stringMatching(/^invalid JSON: ./) })],
    ['', objectContaining({ message: expect.stringMatching(/^invalid JSON: ./) })],
    ['[]', { type: 'error', message: 'invalid JSON: expected an object' }],
    ['null', { type: 'error', message: 'invalid JSON: expected an object' }],
    ['"auth"', { type: 'error', message: 'invalid JSON: expected an object' }],
    [
      new TextEncoder().encode('{"type":"auth"}'),
      { type: 'error', message: 'invalid JSON: expected a text message' },
    ],
    [`{"type":"subscribe","tables":${deep}}`, { type: 'error', message: 'invalid JSON: nested too deeply' }],
    ['{}', { type: 'error', message: 'missing message type' }],
    ['{"type":5}', { type: 'error', message: 'missing message type' }],
    ['{"type":""}', { type: 'error', message: 'missing message type' }],
    ['{"type":"dance"}', { type: 'error', message: 'unknown message type: dance' }],
    ['{"type":"constructor"}', { type: 'error', message: 'unknown message type: constructor' }],
    ['{"__proto__":{"type":"auth"}}', { type: 'error', message: 'missing message type' }],
    [`{"type":"${'x'.repeat(500)}"}`, { type: 'error', message: `unknown message type: ${'x'.repeat(100)}` }],
  ])('%# gets an error, and the connection stays open', async (text, expected) => {
    for (const options of [{ token }, {}]) {
      await using client = await open(options)
      client.send(text)
      expect(await client.next('error')).toEqual([expected])
      expect((await client.request({ type: 'unsubscribe' })).status).toBe('error')
      expect(client.closed).toBeUndefined()
    }
  })

  test('is rejected beyond 4096 bytes', async () => {
    await using client = await open()
    const tables = ['x'.repeat(5000)]
    expect(await client.request({ type: 'subscribe', tables })).toEqual(
      errorReply('message exceeds 4096 bytes'),
    )
    client.send(JSON.stringify({ type: 'subscribe', tables: ['x'.repeat(600_000)] }))
    expect(await client.ended()).toEqual({
      code: 1009,
      reason: expect.stringMatching(/^message exceeds \d+ bytes$/),
    })
  })

  test('closes the connection beyond 4096 bytes before authentication', async () => {
    await using client = await open({})
    client.send(JSON.stringify({ type: 'auth', token: 'x'.repeat(5000) }))
    expect(await client.ended()).toEqual({ code: 1009, reason: 'message too big' })
  })

  test('closes the connection if it is not UTF-8', async () => {
    await using client = await open()
    client.socket.send(new Uint8Array([0x7b, 0xff, 0xfe]), { binary: false })
    expect(await client.ended()).toEqual({ code: 1007, reason: 'text is not valid UTF-8' })
  })

  test('causes no internal error', async () => {
    expect(app.log.filter((line) => line.includes('"level":50'))).toEqual([])
  })
})

test('realtime › messages are handled in order, however many arrive at once', async () => {
  await using client = await open()
  const count = 3000
  for (let index = 0; index < count; index += 1) {
    const type = index % 2 === 0 ? 'subscribe' : 'unsubscribe'
    client.send({ type, tables: ['item'], ref: index })
  }
  const replies = await client.next('reply', count)
  expect(replies.map(({ ref }) => ref)).toEqual(Array.from({ length: count }, (_, index) => index))
  expect(replies.every(({ status }) => status === 'ok')).toBe(true)
})
