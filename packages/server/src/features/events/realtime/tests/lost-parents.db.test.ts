import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type EventStreamClient, openEventStream } from '../../../../../test/event-stream.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'
import { deleted } from './messages.ts'

let app: TestApp
let other: TestApp
/** Stream that keeps the triggers on the tables. Without it the first stream of a table may start with a gap. */
let listening: EventStreamClient
const aliceToken = userToken({ sub: alice })
const bobToken = userToken({ sub: bob })

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create table list (id int primary key, owner uuid not null);
      create table item (id int primary key, list_id int references list on delete cascade, body text);
      create table note (id int primary key, item_id int references item on delete cascade);
      create table member (doc_id int, user_id uuid, primary key (doc_id, user_id));
      create table doc (id int primary key, title text);
      create table own (id int primary key, owner uuid not null, title text);
      create table wrapped (id int primary key, owner uuid not null);
      create function me() returns uuid language sql stable
        as $$select nullif(current_setting('basalt.user_id', true), '')::uuid$$;
      alter table list enable row level security;
      alter table item enable row level security;
      alter table note enable row level security;
      alter table doc enable row level security;
      alter table own enable row level security;
      alter table wrapped enable row level security;
      create policy own on list using (owner = nullif(current_setting('basalt.user_id', true), '')::uuid);
      create policy parent on item using (exists (select from list where list.id = item.list_id));
      create policy parent on note using (exists (select from item where item.id = note.item_id));
      create policy members on doc using (exists (select from member where doc_id = doc.id and user_id = me()));
      create policy own on own using (owner = nullif(current_setting('basalt.user_id', true), '')::uuid);
      create policy own on wrapped using (owner = (select me()))`,
  })
  other = await createTestApp({ database: app.database })
  listening = await open('tables=list,item,note,member,doc,own,wrapped')
  await waitFor('triggers on every table', async () => {
    const [found] = await app.sql(
      `select count(distinct tgrelid)::int as tables from pg_trigger where tgname like 'basalt_capture_%'`,
    )
    return found?.tables === 7
  })
})
afterAll(async () => {
  await listening[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})
beforeEach(() =>
  app.sql(`
    truncate list, item, note, member, doc, own, wrapped;
    insert into list values (1, '${alice}'), (2, '${alice}'), (3, '${bob}');
    insert into item values (10, 1, 'a'), (11, 1, 'b'), (20, 2, 'c'), (30, 3, 'd');
    insert into note values (100, 10), (300, 30);
    insert into doc values (1, 'hers'), (2, 'his');
    insert into member values (1, '${alice}'), (2, '${bob}');
    insert into own values (1, '${alice}', 'hers'), (2, '${bob}', 'his'), (999, '${alice}', 'last');
    insert into wrapped values (1, '${alice}'), (2, '${bob}')`),
)

function open(query: string, token = aliceToken, lastEventId?: string, node = app) {
  return openEventStream(node.url, query, { token, lastEventId })
}

/** Returns everything sent until a change that every subscriber receives. */
async function untilMarker(stream: EventStreamClient) {
  await app.sql(`update own set title = 'marker' where id = 999`)
  await waitFor('the marker', () => stream.messages.some(({ record }) => record.title === 'marker'))
  return {
    messages: stream.messages.filter(({ record }) => record.title !== 'marker'),
    gaps: stream.events.filter(({ name }) => name === 'gap').length,
  }
}

describe('realtime › rows deleted together with the row that made them visible', () => {
  test('reach subscribers who could see them, and no others, after a cascade', async () => {
    await using hers = await open('tables=item,own')
    await using his = await open('tables=item', bobToken)
    await app.sql('delete from list where id = 1')
    const { messages, gaps } = await untilMarker(hers)
    expect(messages).toEqual([deleted('item', { id: '10' }), deleted('item', { id: '11' })])
    expect(gaps).toBe(0)
    await app.sql('delete from list where id = 3')
    expect(await his.next(1)).toEqual([deleted('item', { id: '30' })])
    expect(his.text).not.toContain('gap')
  })

  test('reach a WebSocket on another node after a cascade through the data API', async () => {
    await using socket = await openWebSocket(other.url, { token: aliceToken })
    await socket.request({ type: 'subscribe', tables: ['item'] })
    const response = await app.request('DELETE', '/api/collections/list/1', { token: aliceToken })
    expect(response.status).toBe(204)
    const events = await socket.next('event', 2)
    expect(events.map(({ action, record }) => [action, record.id])).toEqual([
      ['delete', '10'],
      ['delete', '11'],
    ])
  })

  test('reach subscribers who could see them after a cascade over two levels', async () => {
    await using stream = await open('tables=list,item,note')
    await app.sql('delete from list where id in (1, 3)')
    const messages = await stream.next(4)
    expect(messages).toHaveLength(4)
    expect(messages).toEqual(
      expect.arrayContaining([
        deleted('list', { id: '1' }),
        deleted('item', { id: '10' }),
        deleted('item', { id: '11' }),
        deleted('note', { id: '100' }),
      ]),
    )
  })

  test('are visible by a membership that the same transaction deletes', async () => {
    await using hers = await open('tables=doc,own')
    await app.sql('begin; delete from member; delete from doc; commit')
    const { messages, gaps } = await untilMarker(hers)
    expect([messages, gaps]).toEqual([[deleted('doc', { id: '1' })], 0])
  })

  test('are visible by a parent that a later transaction deletes', async () => {
    await using hers = await open('tables=item,own')
    await app.sql('delete from item where id = 10')
    await app.sql('delete from list where id = 1')
    const { messages, gaps } = await untilMarker(hers)
    expect([messages, gaps]).toEqual([[deleted('item', { id: '10' }), deleted('item', { id: '11' })], 0])
  })

  test('are deletes when they become hidden while their old parent is deleted', async () => {
    await using hers = await open('tables=item,own')
    await app.sql('begin; update item set list_id = 3 where id = 20; delete from list where id = 2; commit')
    const { messages, gaps } = await untilMarker(hers)
    expect([messages, gaps]).toEqual([[deleted('item', { id: '20' })], 0])
  })

  test('are deleted however soon after their create was sent', async () => {
    await using hers = await open('tables=item,own')
    for (let id = 50; id < 65; id += 1) {
      const before = hers.messages.length
      await app.sql(
        `insert into list values (${id}, '${alice}'); insert into item values (${id}, ${id}, 'x')`,
      )
      await hers.next(before + 1)
      await app.sql(`delete from list where id = ${id}`)
      const [last] = (await hers.next(before + 2)).slice(-1)
      expect(last).toEqual(deleted('item', { id: String(id) }))
    }
    expect(hers.text).not.toContain('gap')
  })

  test('are exact from the first moment of a new stream', async () => {
    await using first = await open('tables=own')
    for (let id = 70; id < 80; id += 1) {
      await app.sql(
        `insert into list values (${id}, '${alice}'); insert into item values (${id}, ${id}, 'x')`,
      )
      await using stream = await open('tables=item')
      await app.sql(`delete from list where id = ${id}`)
      expect(await stream.next(1)).toEqual([deleted('item', { id: String(id) })])
      expect(stream.text).not.toContain('gap')
    }
    expect(first.messages).toEqual([])
  })
})

describe('realtime › rows that a subscriber never could see', () => {
  test.each(['own', 'wrapped'])('are deleted from %s without an event or a gap', async (table) => {
    await using hers = await open(`tables=${table},own`)
    await app.sql(`delete from ${table} where owner = '${bob}'`)
    const { messages, gaps } = await untilMarker(hers)
    expect([messages, gaps]).toEqual([[], 0])
  })

  test('are deleted with their parents without an event or a gap', async () => {
    await using hers = await open('tables=list,item,note,doc,own')
    for (let id = 500; id < 520; id += 1) {
      await app.sql(`insert into list values (${id}, '${bob}'); insert into item values (${id}, ${id}, 'x')`)
      await app.sql(`update item set body = 'y' where id = ${id}`)
      await app.sql(`delete from list where id = ${id}`)
    }
    await app.sql('delete from list where id = 3; delete from doc where id = 2')
    const { messages, gaps } = await untilMarker(hers)
    expect([messages, gaps]).toEqual([[], 0])
    expect(hers.text).not.toMatch(/\b30\b|\b5\d\d\b/)
  })
})

describe('realtime › a client that reconnects', () => {
  test('receives one gap without a key for deletes that can no longer be decided', async () => {
    await using before = await open('tables=item,own')
    await before[Symbol.asyncDispose]()
    await app.sql('delete from list where id = 1')
    for (const id of [10, 11, 12])
      await app.sql(`insert into item values (${id}, 2, 'x'); delete from item where id = ${id}`)
    await app.sql('delete from list where id = 3')
    await using resumed = await open('tables=item,own', aliceToken, before.lastEventId, other)
    // The gap ends the catch-up, of which the marker may still be a part.
    await resumed.named('gap')
    const { gaps } = await untilMarker(resumed)
    expect(gaps).toBe(1)
    expect(resumed.text).not.toMatch(/"30"/)
  })

  test('receives no gap if the policies read only the row', async () => {
    await using before = await open('tables=own,wrapped')
    await before[Symbol.asyncDispose]()
    await app.sql(`delete from own where id < 3; delete from wrapped`)
    await using resumed = await open('tables=own,wrapped', aliceToken, before.lastEventId, other)
    const { messages, gaps } = await untilMarker(resumed)
    expect([messages, gaps]).toEqual([[deleted('own', { id: '1' }), deleted('wrapped', { id: '1' })], 0])
  })

  test('receives the gap at the next reconnect if it disconnects before the gap', async () => {
    await using before = await open('tables=item,own')
    await before[Symbol.asyncDispose]()
    await app.sql(`update own set title = 'first' where id = 999`)
    await app.sql('delete from list where id = 1')
    await using resumed = await open('tables=item,own', aliceToken, before.lastEventId)
    const gap = await resumed.named('gap')
    const sent = resumed.events.slice(0, resumed.events.indexOf(gap))
    // The id of the last event before the gap leads to the gap again.
    const lastId = sent.at(-1)?.id
    await using again = await open('tables=item,own', aliceToken, lastId)
    await again.named('gap')
  })
})

describe('realtime › while snapshots cannot be held', () => {
  test('every delete is sent or announced by a gap', async () => {
    await using hers = await open('tables=item,own')
    await using his = await open('tables=item,own', bobToken)
    for (let id = 600; id < 608; id += 1) {
      await app.sql(
        `insert into list values (${id}, '${alice}'); insert into item values (${id}, ${id}, 'x')`,
      )
      const isKnown = () => hers.messages.some(({ record }) => String(record.id) === String(id))
      await waitFor('the item', isKnown)
      const before = hers.events.length
      const cut = app.sql(`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and state like 'idle in transaction%'`)
      await Promise.all([cut, app.sql(`delete from list where id = ${id}`)])
      await waitFor('the delete or a gap', () =>
        hers.events
          .slice(before)
          .some(
            ({ name, data }) => name === 'gap' || (data.action === 'delete' && data.record.id === String(id)),
          ),
      )
    }
    expect(his.text).not.toMatch(/"6\d\d"/)
  })
})
