import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket, type WebSocketClient } from '../../../../../test/websocket-client.ts'
import { errorReply, okReply } from './messages.ts'

let app: TestApp
let other: TestApp
const token = userToken({ sub: alice })
const bobToken = userToken({ sub: bob })
const config = { 'realtime.broadcast_max_message_bytes': '20000' }

beforeAll(async () => {
  app = await createTestApp({ config })
  other = await createTestApp({ config, database: app.database })
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

let count = 0
/** Returns a name that no other test uses. */
function newChannel(): string {
  count += 1
  return `room ${count}`
}

async function open(node = app, of = token): Promise<WebSocketClient> {
  return await openWebSocket(node.url, { token: of })
}

async function member(channel: string, node = app, of = token): Promise<WebSocketClient> {
  const client = await open(node, of)
  expect(await client.request({ type: 'channel_subscribe', channel })).toEqual(okReply)
  return client
}

const payloads = (client: WebSocketClient) => client.ofType('broadcast').map(({ payload }) => payload)

describe('realtime › broadcast', () => {
  test('reaches each member on every node once, and the sender only with self', async () => {
    const channel = newChannel()
    await using sender = await member(channel)
    await using here = await member(channel, app, bobToken)
    await using there = await member(channel, other, bobToken)
    await using elsewhere = await member(newChannel(), other)
    const message = { type: 'broadcast', channel, event: 'move' }
    expect(await sender.request({ ...message, payload: { x: 1 } })).toEqual(okReply)
    expect(await sender.request({ ...message, payload: { x: 2 }, self: true })).toEqual(okReply)
    expect(await sender.request({ ...message, payload: { x: 3 }, self: 'yes' })).toEqual(okReply)
    expect(await here.next('broadcast', 3)).toEqual(
      [1, 2, 3].map((x) => ({ type: 'broadcast', channel, event: 'move', payload: { x } })),
    )
    expect(await there.next('broadcast', 3)).toEqual(here.ofType('broadcast'))
    expect(payloads(sender)).toEqual([{ x: 2 }])
    // A second delivery would have come before this one.
    await there.request({ ...message, payload: 'last', self: true })
    for (const client of [here, there]) {
      await waitFor('the last one', () => payloads(client).includes('last'))
      expect(payloads(client)).toHaveLength(4)
    }
    expect(elsewhere.ofType('broadcast')).toEqual([])
  })

  test('is not sent when the sender’s token has become invalid', async () => {
    let aheadMs = 0
    const clock = { now: () => new Date(Date.now() + aheadMs) }
    await using node = await createTestApp({ config, database: app.database, clock })
    const long = userToken({ sub: bob }, 7200)
    const channel = newChannel()
    await using receiver = await member(channel, node, long)
    await using lasting = await member(channel, node, long)
    const message = { type: 'broadcast', channel, event: 'move' }
    for (const round of [1, 2, 3, 4]) {
      aheadMs = 0
      await using sender = await member(channel, node)
      expect(await sender.request({ ...message, payload: round })).toEqual(okReply)
      aheadMs = 3600_000
      sender.send({ ...message, payload: 'late' })
      expect((await sender.ended()).code).toBe(4401)
    }
    expect(await lasting.request({ ...message, payload: 'last' })).toEqual(okReply)
    await waitFor('the last one', () => payloads(receiver).includes('last'))
    expect(payloads(receiver)).toEqual([1, 2, 3, 4, 'last'])
  })

  test.each([
    ['a large number', '12345678901234567890.10'],
    ['text', '"a\\u0000\\n ü 😀"'],
    ['nothing', 'null'],
    ['false', 'false'],
    ['an array', '[1, {"a": [ ]}]'],
    ['line breaks', '{"a":\n1\r\n}'],
    ['the same name twice', '{"a":1,"a":2}'],
  ])('carries %s as it was written', async (_what, payload) => {
    const channel = newChannel()
    await using sender = await member(channel)
    await using here = await member(channel)
    await using there = await member(channel, other)
    const raw = [here, there].map((client) => {
      const texts: string[] = []
      client.socket.on('message', (data) => texts.push(String(data)))
      return texts
    })
    sender.send(`{"type":"broadcast","channel":"${channel}","event":"e","payload": ${payload} }`)
    for (const client of [here, there]) await client.next('broadcast')
    for (const texts of raw) {
      expect(texts).toEqual([`{"type":"broadcast","channel":"${channel}","event":"e","payload":${payload}}`])
    }
  })

  test('arrives on every node in the order of its sender', async () => {
    const channel = newChannel()
    await using first = await member(channel)
    await using second = await member(channel, other)
    await using here = await member(channel)
    await using there = await member(channel, other)
    for (let n = 0; n < 100; n += 1) {
      first.send({ type: 'broadcast', channel, event: 'a', payload: n })
      second.send({ type: 'broadcast', channel, event: 'b', payload: n })
    }
    const expected = Array.from({ length: 100 }, (_, n) => n)
    for (const client of [here, there]) {
      const all = await client.next('broadcast', 200)
      for (const event of ['a', 'b']) {
        expect(all.filter((message) => message.event === event).map(({ payload }) => payload)).toEqual(
          expected,
        )
      }
    }
  })

  test('is confirmed once it is written', async () => {
    const channel = newChannel()
    await using sender = await member(channel)
    expect(await sender.request({ type: 'broadcast', channel, event: 'e', payload: 1 })).toEqual(okReply)
    const rows = await app.sql(
      'select kind, event, payload from basalt.realtime_messages where channel = $1',
      [channel],
    )
    expect(rows).toEqual([{ kind: 'broadcast', event: 'e', payload: 1 }])
  })

  test('returns an error if it cannot be written', async () => {
    const channel = newChannel()
    await using sender = await member(channel)
    await app.sql(`
      create function refuse() returns trigger language plpgsql as $$
      begin if new.event = 'refused' then raise exception using errcode = '53100'; end if; return new; end $$;
      create trigger refuse before insert on basalt.realtime_messages for each row execute function refuse()`)
    const broadcast = { type: 'broadcast', channel, payload: 1 }
    expect(await sender.request({ ...broadcast, event: 'refused' })).toEqual(
      errorReply('the database is out of space'),
    )
    expect(await sender.request({ ...broadcast, event: 'accepted' })).toEqual(okReply)
    await app.sql('drop function refuse cascade')
  })

  test('is limited per second and connection', async () => {
    const channel = newChannel()
    await using sender = await member(channel)
    await using another = await member(channel)
    for (let n = 0; n < 150; n += 1) {
      sender.send({ type: 'broadcast', channel, event: 'e', payload: n, ref: n })
    }
    const replies = await waitFor('150 replies', () => {
      const found = sender.ofType('reply').filter(({ ref }) => typeof ref === 'number')
      return found.length === 150 ? found : undefined
    })
    const errors = replies.filter(({ status }) => status === 'error')
    expect(new Set(errors.map(({ message }) => message))).toEqual(new Set(['broadcast rate limit exceeded']))
    expect(errors.length).toBeLessThanOrEqual(50)
    expect(errors.length).toBeGreaterThan(0)
    expect(await another.request({ type: 'broadcast', channel, event: 'e', payload: 1 })).toEqual(okReply)
    const again = await waitFor('the next second', async () => {
      const reply = await sender.request({ type: 'broadcast', channel, event: 'e', payload: 1 })
      return reply.status === 'ok' ? reply : undefined
    })
    expect(again).toEqual(okReply)
  })

  test('has a size limit', async () => {
    const channel = newChannel()
    await using sender = await member(channel)
    await using there = await member(channel, other)
    const broadcast = { type: 'broadcast', channel, event: 'e' }
    const largest = 'ü'.repeat(9999)
    expect(await sender.request({ ...broadcast, payload: largest })).toEqual(okReply)
    expect(await sender.request({ ...broadcast, payload: `${largest}x` })).toEqual(
      errorReply('broadcast payload exceeds 20000 bytes'),
    )
    expect(await sender.request({ ...broadcast, payload: 1, more: 'x'.repeat(5000) })).toEqual(
      errorReply('message exceeds 4096 bytes'),
    )
    expect((await there.next('broadcast'))[0].payload).toBe(largest)
    sender.send({ ...broadcast, payload: 'x'.repeat(5_000_000) })
    expect(await sender.ended()).toEqual({ code: 1009, reason: 'message exceeds 36384 bytes' })
  })
})

describe('realtime › channel requests', () => {
  const types = [
    'channel_subscribe',
    'channel_unsubscribe',
    'broadcast',
    'presence_track',
    'presence_untrack',
    'presence_sync',
  ]
  test.each(types)('%s › rejects a missing or invalid channel', async (type) => {
    await using client = await open()
    for (const channel of [undefined, '', 5, null, ['a']]) {
      expect(await client.request({ type, channel })).toEqual(errorReply('channel is required'))
    }
    expect(await client.request({ type, channel: 'x'.repeat(201) })).toEqual(
      errorReply('channel: at most 200 characters'),
    )
    for (const channel of ['a\0b', '\ud800']) {
      expect(await client.request({ type, channel })).toEqual(
        errorReply('channel: expected characters of Unicode other than NUL'),
      )
    }
    const expected = type.startsWith('channel') ? okReply : errorReply('not subscribed to channel')
    expect(await client.request({ type, channel: newChannel(), event: 'e' })).toEqual(expected)
  })

  test('broadcast and presence_track › reject missing or invalid fields', async () => {
    const channel = newChannel()
    await using client = await member(channel)
    expect(await client.request({ type: 'broadcast', channel, payload: 1 })).toEqual(
      errorReply('event is required'),
    )
    expect(await client.request({ type: 'broadcast', channel, event: 'a\0', payload: 1 })).toEqual(
      errorReply('event: expected characters of Unicode other than NUL'),
    )
    for (const presence of ['a', 5, [], null]) {
      expect(await client.request({ type: 'presence_track', channel, presence })).toEqual(
        errorReply('presence must be an object'),
      )
    }
    const large = { a: 'x'.repeat(4096) }
    expect(await client.request({ type: 'presence_track', channel, presence: large })).toEqual(
      errorReply('presence payload exceeds 4096 bytes'),
    )
    expect(client.ofType('presence')).toHaveLength(1)
    expect(app.log.filter((line) => line.includes('"level":50'))).toEqual([])
  })
})

describe('realtime › channel', () => {
  test('sends its presences at each subscription', async () => {
    const channel = newChannel()
    await using client = await member(channel)
    await client.request({ type: 'channel_subscribe', channel })
    await client.next('presence', 2)
    const sync = { type: 'presence', channel, presence_action: 'sync', presences: {} }
    const types = client.messages.map(({ type }) => type)
    expect(types).toEqual(['connected', 'reply', 'presence', 'reply', 'presence'])
    expect(client.ofType('presence')).toEqual([sync, sync])
  })

  test('sends nothing after an unsubscribe', async () => {
    const channel = newChannel()
    await using client = await member(channel)
    await using sender = await member(channel)
    await using there = await member(channel, other)
    expect(await client.request({ type: 'channel_unsubscribe', channel })).toEqual(okReply)
    expect(await client.request({ type: 'channel_unsubscribe', channel })).toEqual(okReply)
    for (const from of [sender, there]) {
      await from.request({ type: 'broadcast', channel, event: 'e', payload: 1 })
    }
    await sender.next('broadcast')
    await client.request({ type: 'channel_subscribe', channel })
    expect(client.ofType('broadcast')).toEqual([])
  })

  test('is limited to 100 per connection', async () => {
    await using client = await open()
    const names = Array.from({ length: 100 }, () => newChannel())
    for (const channel of names) client.send({ type: 'channel_subscribe', channel })
    await client.next('reply', 100)
    expect(await client.request({ type: 'channel_subscribe', channel: newChannel() })).toEqual(
      errorReply('at most 100 channels may be subscribed to'),
    )
    expect(await client.request({ type: 'channel_subscribe', channel: names[0] })).toEqual(okReply)
    expect(await client.request({ type: 'channel_unsubscribe', channel: names[0] })).toEqual(okReply)
    expect(await client.request({ type: 'channel_subscribe', channel: newChannel() })).toEqual(okReply)
  })

  test('is listed for administrators from every node', async () => {
    const channel = newChannel()
    await using here = await member(channel)
    await using there = await member(channel, other)
    for (const client of [here, there]) {
      await client.request({ type: 'presence_track', channel, presence: { a: 1 } })
    }
    const admin = async (path: string) =>
      (await app.request('GET', `/api/admin/realtime/${path}`, { token: await app.adminToken() })).json
    await waitFor('both members to be listed', async () => {
      const { channels } = (await admin('stats')).subscriptions
      return channels.broadcast[channel] === 2 && channels.presence[channel] === 2
    })
    const { items } = await admin('subscriptions')
    expect(items).toContainEqual({ kind: 'channel', name: channel, connections: 2 })
    const { client_id: id } = here.messages[0]
    expect((await admin('connections')).items).toContainEqual(
      expect.objectContaining({ id, channels: [channel] }),
    )
    await app.request('POST', `/api/admin/realtime/connections/${there.messages[0].client_id}/disconnect`, {
      token: await app.adminToken(),
    })
    expect((await there.ended()).code).toBe(4000)
  })
})

test('realtime › slow client › is disconnected and counted', async () => {
  const channel = newChannel()
  await using slow = await member(channel)
  await using sender = await member(channel)
  await using another = await member(channel, other)
  slow.socket.pause()
  const dropped = async () =>
    (await app.request('GET', '/api/admin/realtime/stats', { token: await app.adminToken() })).json.counters
      .dropped_messages
  const before = await dropped()
  await waitFor('the slow client to be disconnected', async () => {
    for (let n = 0; n < 20; n += 1) {
      sender.send({ type: 'broadcast', channel, event: 'e', payload: 'x'.repeat(19_000) })
    }
    await sender.request({ type: 'presence_sync', channel })
    return (await dropped()) > before
  })
  expect([sender.closed, another.closed]).toEqual([undefined, undefined])
  slow.socket.resume()
  expect([1013, 1006]).toContain((await slow.ended()).code)
})

test('realtime › channel messages › are removed after a minute', async () => {
  const channel = newChannel()
  await using client = await member(channel)
  await client.request({ type: 'broadcast', channel, event: 'e', payload: 1 })
  // All messages get older, because an id grows with age.
  await app.sql(`update basalt.realtime_messages set created_at = now() - interval '61 seconds'`)
  await waitFor('the message to be pruned', async () => {
    const rows = await app.sql('select from basalt.realtime_messages where channel = $1', [channel])
    return rows.length === 0
  })
})

test('realtime › channel messages › are removed as fast as connections may send them', async () => {
  await using client = await member(newChannel())
  // These are as many as the connections of one user may send in seven seconds: 100 connections with 100 messages a
  // second.
  await app.sql(`update basalt.realtime_messages set created_at = now() - interval '61 seconds'`)
  await app.sql(`
    insert into basalt.realtime_messages (kind, node, channel, connection_id, event, created_at)
    select 'broadcast', gen_random_uuid(), 'busy', gen_random_uuid(), 'e',
      now() - case when n <= 70000 then interval '61 seconds' else interval '0 seconds' end
    from generate_series(1, 75000) n`)
  const counted = async (where: string) => {
    const [row] = await app.sql(`
      select count(*)::int as count from basalt.realtime_messages where channel = 'busy' and ${where}`)
    return row?.count
  }
  await waitFor(
    'old messages to be pruned',
    async () => (await counted(`created_at < now() - interval '60 seconds'`)) === 0,
  )
  expect(await counted('true')).toBe(5000)
  expect(client.closed).toBeUndefined()
})
