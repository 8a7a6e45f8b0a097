import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket, type WebSocketClient } from '../../../../../test/websocket-client.ts'
import { okReply } from './messages.ts'

let app: TestApp
let other: TestApp
const token = userToken({ sub: alice })
const bobToken = userToken({ sub: bob })
const config = { 'realtime.presence_leave_timeout_seconds': '1' }

beforeAll(async () => {
  app = await createTestApp({ config })
  other = await createTestApp({ config, database: app.database })
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

let count = 0
function newChannel(): string {
  count += 1
  return `room ${count}`
}

async function member(channel: string, node = app, of = token): Promise<WebSocketClient> {
  const client = await openWebSocket(node.url, { token: of })
  expect(await client.request({ type: 'channel_subscribe', channel })).toEqual(okReply)
  await client.next('presence')
  return client
}

async function track(client: WebSocketClient, channel: string, presence: object): Promise<void> {
  expect(await client.request({ type: 'presence_track', channel, presence })).toEqual(okReply)
}

const idOf = (client: WebSocketClient): string => client.messages[0].client_id

/** Replays all presence messages that a client has received. */
function stateOf(client: WebSocketClient, channel: string): Record<string, unknown> {
  const state = new Map<string, unknown>()
  for (const message of client.ofType('presence')) {
    if (message.channel !== channel) continue
    if (message.presence_action === 'sync') {
      state.clear()
      for (const [id, presence] of Object.entries(message.presences)) state.set(id, presence)
    } else if (message.presence_action === 'leave') state.delete(message.presence_conn_id)
    else state.set(message.presence_conn_id, message.presence)
  }
  return Object.fromEntries([...state].sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function storedState(channel: string): Promise<Record<string, unknown>> {
  const rows = await app.sql<{ connection_id: string; presence: unknown }>(
    'select connection_id, presence from basalt.realtime_presence where channel = $1 order by connection_id::text',
    [channel],
  )
  return Object.fromEntries(rows.map(({ connection_id: id, presence }) => [id, presence]))
}

/** Lists the presence actions of one connection that a client has received. */
const about = (client: WebSocketClient, id: string) =>
  client
    .ofType('presence')
    .filter((message) => message.presence_conn_id === id)
    .map(({ presence_action: action }) => action)

/** Waits until everything that was written before has been delivered. */
async function delivered(clients: readonly WebSocketClient[], channel: string): Promise<void> {
  const [first] = clients
  const event = randomUUID()
  await first?.request({ type: 'broadcast', channel, event, payload: 1, self: true })
  for (const client of clients) {
    await waitFor('the marker', () => client.ofType('broadcast').some((message) => message.event === event))
  }
}

/** Inserts a node that died a while ago, with one presence. */
async function insertDeadNode(channel: string): Promise<string> {
  const [node, id] = [randomUUID(), randomUUID()]
  await app.sql(`insert into basalt.realtime_nodes (id, seen_at) values ($1, now())`, [node])
  await app.sql(
    `insert into basalt.realtime_presence (channel, connection_id, node, presence) values ($1, $2, $3, '{"a":1}')`,
    [channel, id, node],
  )
  return id
}

describe('realtime › presence', () => {
  test('sends join, update and leave to every member on every node', async () => {
    const channel = newChannel()
    await using visible = await member(channel)
    await using here = await member(channel, app, bobToken)
    await using there = await member(channel, other, bobToken)
    const id = idOf(visible)
    const message = { type: 'presence', channel, presence_conn_id: id }
    await track(visible, channel, { name: 'a' })
    for (const client of [visible, here, there]) {
      expect((await client.next('presence', 2))[1]).toEqual({
        ...message,
        presence_action: 'join',
        presence: { name: 'a' },
      })
    }
    expect(await visible.request({ type: 'presence_track', channel, state: { name: 'b' } })).toEqual(okReply)
    for (const client of [visible, here, there]) {
      expect((await client.next('presence', 3))[2]).toEqual({
        ...message,
        presence_action: 'update',
        presence: { name: 'b' },
      })
    }
    await using late = await member(channel, other)
    const sync = { type: 'presence', channel, presence_action: 'sync', presences: { [id]: { name: 'b' } } }
    expect(late.ofType('presence')).toEqual([sync])
    expect(await late.request({ type: 'presence_sync', channel })).toEqual(okReply)
    expect((await late.next('presence', 2))[1]).toEqual(sync)
    expect(await visible.request({ type: 'presence_untrack', channel })).toEqual(okReply)
    expect(await visible.request({ type: 'presence_untrack', channel })).toEqual(okReply)
    for (const client of [visible, here, there, late]) {
      await waitFor('the leave', () => about(client, id).includes('leave'))
      expect(about(client, id).filter((action) => action === 'leave')).toHaveLength(1)
      expect(stateOf(client, channel)).toEqual({})
    }
  })

  test('remains for a while when its connection ends during an update', async () => {
    const channel = newChannel()
    await using node = await createTestApp()
    await using client = await member(channel, node)
    const id = idOf(client)
    await track(client, channel, { name: 'a' })
    const holder = new pg.Client({ connectionString: node.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from basalt.realtime_presence where connection_id = $1 for update', [id])
    client.send({ type: 'presence_track', channel, presence: { name: 'b' } })
    const waiting = () =>
      node.sql("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
    await expect.poll(waiting).toHaveLength(1)
    await client[Symbol.asyncDispose]()
    // These are the update, and the statement that marks the connection as ended.
    await expect.poll(waiting).toHaveLength(2)
    await holder.query('commit')
    await holder.end()
    await node.app.close()
    expect(
      await node.sql(
        'select presence, left_at is not null as has_left from basalt.realtime_presence where connection_id = $1',
        [id],
      ),
    ).toEqual([{ presence: { name: 'b' }, has_left: true }])
  })

  test('is empty without a payload', async () => {
    const channel = newChannel()
    await using client = await member(channel)
    expect(await client.request({ type: 'presence_track', channel })).toEqual(okReply)
    expect((await client.next('presence', 2))[1].presence).toEqual({})
  })

  test('ends with the unsubscribe from its channel', async () => {
    const channel = newChannel()
    await using visible = await member(channel)
    await using there = await member(channel, other)
    await track(visible, channel, {})
    await visible.request({ type: 'channel_unsubscribe', channel })
    await waitFor('the leave', () => about(there, idOf(visible)).includes('leave'))
    expect(await storedState(channel)).toEqual({})
  })

  test('remains for the leave timeout after its connection, and leaves once for every member', async () => {
    const channel = newChannel()
    await using here = await member(channel)
    await using there = await member(channel, other)
    const leaving = await member(channel, other)
    const id = idOf(leaving)
    await track(leaving, channel, { name: 'a' })
    await waitFor('the join', () => about(here, id).includes('join'))
    await leaving[Symbol.asyncDispose]()
    await waitFor('the disconnect to be recorded', async () => {
      const rows = await app.sql(
        'select from basalt.realtime_presence where channel = $1 and left_at is not null',
        [channel],
      )
      return rows.length === 1
    })
    await using late = await member(channel)
    for (const client of [here, there, late]) {
      await waitFor('the leave', () => about(client, id).includes('leave'))
    }
    await delivered([here, there, late], channel)
    expect([here, there].map((client) => about(client, id))).toEqual([
      ['join', 'leave'],
      ['join', 'leave'],
    ])
    expect(await storedState(channel)).toEqual({})
  })

  test('leaves a stopping node like a closed connection', async () => {
    const channel = newChannel()
    const node = await createTestApp({ config, database: app.database })
    await using here = await member(channel)
    await using visible = await member(channel, node)
    await track(visible, channel, {})
    await waitFor('the join', () => about(here, idOf(visible)).includes('join'))
    await node[Symbol.asyncDispose]()
    await waitFor('the leave', () => about(here, idOf(visible)).includes('leave'))
  })

  test('leaves a crashed node once for every member', async () => {
    const channel = newChannel()
    const id = await insertDeadNode(channel)
    await using here = await member(channel)
    await using there = await member(channel, other)
    expect(stateOf(here, channel)).toEqual({ [id]: { a: 1 } })
    await app.sql(
      `update basalt.realtime_nodes set seen_at = now() - interval '11 seconds'
       where id = (select node from basalt.realtime_presence where connection_id = $1)`,
      [id],
    )
    for (const client of [here, there]) await waitFor('the leave', () => about(client, id).includes('leave'))
    await delivered([here, there], channel)
    expect([here, there].map((client) => about(client, id))).toEqual([['leave'], ['leave']])
  })

  test('is restored when other nodes removed it too early', async () => {
    const channel = newChannel()
    await using visible = await member(channel)
    await using there = await member(channel, other)
    await track(visible, channel, { name: 'a' })
    const id = idOf(visible)
    await waitFor('the join', () => about(there, id).includes('join'))
    await app.sql(
      `with leaving as (delete from basalt.realtime_presence where channel = $1 returning *)
       insert into basalt.realtime_messages (kind, node, channel, connection_id, payload)
       select 'leave', node, channel, connection_id, presence from leaving`,
      [channel],
    )
    await waitFor('the presence to be restored', () => about(there, id).join() === 'join,leave,join')
    expect(stateOf(there, channel)).toEqual({ [id]: { name: 'a' } })
    expect(await storedState(channel)).toEqual({ [id]: { name: 'a' } })
  })

  test('is removed if it has no connection', async () => {
    const channel = newChannel()
    await using visible = await member(channel)
    await track(visible, channel, {})
    const ghost = randomUUID()
    await app.sql(
      `insert into basalt.realtime_presence (channel, connection_id, node, presence)
       select channel, $2, node, '{}' from basalt.realtime_presence where channel = $1`,
      [channel, ghost],
    )
    await waitFor('the leave', () => about(visible, ghost).includes('leave'))
    expect(Object.keys(await storedState(channel))).toEqual([idOf(visible)])
  })
})

test('realtime › presence › every member receives the current state after a crash that lost messages and presences', async () => {
  const channel = newChannel()
  await using visible = await member(channel)
  await using there = await member(channel, other)
  await track(visible, channel, { name: 'a' })
  const ghost = await insertDeadNode(channel)
  await there.request({ type: 'presence_sync', channel })
  await waitFor('both', () => Object.keys(stateOf(there, channel)).length === 2)
  // The reads of both nodes break, and the tables are empty afterwards. A node whose connections all wait for the lock
  // has no such read: after five seconds that of one node is enough.
  await app.sql(`
    begin;
    lock table basalt.realtime_messages in access exclusive mode;
    do $$ begin
      while (
        select count(*) < case when clock_timestamp() < now() + interval '5 seconds' then 2 else 1 end
        from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%snapshot%realtime_messages%'
      ) loop
        perform pg_sleep(0.01);
        perform pg_stat_clear_snapshot();
      end loop;
      perform pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock';
    end $$;
    truncate basalt.realtime_messages, basalt.realtime_presence;
    commit`)
  const current = { [idOf(visible)]: { name: 'a' } }
  for (const client of [visible, there]) {
    await waitFor(`the current state instead of ${ghost}`, () =>
      JSON.stringify(stateOf(client, channel)) === JSON.stringify(current) ? true : undefined,
    )
  }
  expect(await storedState(channel)).toEqual(current)
})

test('realtime › presence › members that subscribe during changes end with the same state as the others', async () => {
  const channel = newChannel()
  await using first = await member(channel)
  const clients = await Promise.all(
    Array.from({ length: 6 }, (_, n) => member(channel, n % 2 === 0 ? app : other)),
  )
  const late: WebSocketClient[] = []
  await Promise.all([
    ...clients.map(async (client, n) => {
      for (let step = 0; step < 25; step += 1) {
        const type = (step * 7 + n) % 3 === 0 ? 'presence_untrack' : 'presence_track'
        await client.request({ type, channel, presence: { n, step } })
      }
    }),
    (async () => {
      for (let n = 0; n < 10; n += 1) late.push(await member(channel, n % 2 === 0 ? other : app))
    })(),
  ])
  await Promise.all(clients.filter((_, n) => n % 2 === 1).map((client) => client[Symbol.asyncDispose]()))
  const stored = await waitFor('the last to leave', async () => {
    const state = await storedState(channel)
    const ids = new Set(clients.filter((_, n) => n % 2 === 0).map(idOf))
    return Object.keys(state).every((id) => ids.has(id)) ? state : undefined
  })
  for (const client of [first, ...late]) {
    await waitFor('the same state', () =>
      JSON.stringify(stateOf(client, channel)) === JSON.stringify(stored) ? true : undefined,
    )
  }
  for (const client of [...clients, ...late]) await client[Symbol.asyncDispose]()
})
