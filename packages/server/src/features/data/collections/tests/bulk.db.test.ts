import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { eventsOf, recordedChanges, recording, recordingTables } from './recorded-changes.ts'

/** `PATCH` and `DELETE` of all records that match a filter. */

const setup = `
${recordingTables}
create table list (id int primary key, name text);
create table task (id int primary key, title text, done boolean default false, n int, list_id int references list, owner uuid);
alter table task enable row level security;
create policy own on task using (owner = basalt.user_id());
create policy peek on task for select using (n = 100);
create table plain (id int primary key, n int);
create table keyless (name text, n int);
create table badge (code text not null unique, note text, hidden text);
revoke all on badge from basalt_authenticated;
grant select (code, note), update (note) on badge to basalt_authenticated;
create table ticket (id int primary key, seat text, note text, doc json);
revoke all on ticket from basalt_authenticated;
grant select (seat, note, doc), update (note) on ticket to basalt_authenticated;
create table part_seen (id int primary key, shown text, hidden text);
revoke all on part_seen from basalt_authenticated;
grant select (id, shown), insert (id, shown), update (id, shown), delete on part_seen to basalt_authenticated;
create view peeking as select * from task;
insert into list values (1, 'home'), (2, 'work');
`

let app: TestApp
let second: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  const config = { 'api.bulk_max_rows': '5' }
  app = await createTestApp({ setup, changes: recording, config })
  second = await createTestApp({ database: app.database, changes: recording, config })
})
beforeEach(async () => {
  recordedChanges.clear()
  await app.sql(`
    truncate task, plain, keyless, badge, ticket, part_seen, captured.change;
    insert into task values
      (1, 'a', false, 1, 1, '${alice}'), (2, 'b', true, 2, 1, '${alice}'), (3, 'c', true, 3, 2, '${alice}'),
      (4, 'd', true, 4, 2, '${bob}'), (5, 'e', true, 100, 2, '${bob}');
    insert into plain select n, n from generate_series(1, 7) n;
    insert into keyless values ('a', 1), ('a', 1), ('b', 2);
    insert into badge values ('a', 'one', 'h1'), ('b', 'two', 'h2');
    insert into ticket values (1, 'a', 'one', '{"b": 1,"a":2}'), (2, 'a', 'one', '{"b": 1,"a":2}'), (3, 'a', 'two', null), (4, 'b', 'two', null);
    insert into part_seen values (1, 'one', 'h1'), (2, 'two', 'h2'), (3, 'three', 'h3')`)
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

function send(
  method: 'PATCH' | 'DELETE',
  table: string,
  query: Readonly<Record<string, string>>,
  body?: unknown,
  on = app,
) {
  const path = `/api/collections/${table}?${new URLSearchParams(query)}`
  return on.request(method, path, { token, ...(body === undefined ? {} : { body }) })
}

const task = (id: number, title: string, done: boolean, listId: number, n = id) => ({
  ...{ id, title, done, n, list_id: listId, owner: alice },
})

describe.each([
  ['without a listener', false],
  ['with listeners', true],
])('write by filter %s', (_what, isCaptured) => {
  beforeEach(() => {
    if (!isCaptured) return
    for (const table of ['task', 'plain', 'keyless', 'badge', 'ticket', 'part_seen']) {
      for (const action of ['update', 'delete']) recordedChanges.add(`${table} ${action}`)
    }
  })

  test('changes the matching records that the caller may change', async () => {
    const response = await send('PATCH', 'task', { filter: 'done = true', expect: '2' }, { title: 'x' })
    expect([response.status, response.json]).toEqual([200, { updated: 2 }])
    const titles = await app.sql('select title from task order by id')
    expect(titles.map(({ title }) => title)).toEqual(['a', 'x', 'x', 'd', 'e'])
    const events = await eventsOf(app)
    expect(events).toEqual(
      isCaptured
        ? [
            {
              table: 'task',
              action: 'update',
              rows: [
                { record: task(2, 'x', true, 1), oldRecord: task(2, 'b', true, 1) },
                { record: task(3, 'x', true, 2), oldRecord: task(3, 'c', true, 2) },
              ],
            },
          ]
        : [],
    )
  })

  test('deletes the matching records', async () => {
    const response = await send('DELETE', 'task', { filter: "list.name = 'work' OR n = 100", expect: '1' })
    expect([response.status, response.json]).toEqual([200, { deleted: 1 }])
    expect(await app.sql('select id from task order by id')).toEqual([
      { id: 1 },
      { id: 2 },
      { id: 4 },
      { id: 5 },
    ])
    expect(await eventsOf(app)).toEqual(
      isCaptured ? [{ table: 'task', action: 'delete', rows: [{ record: task(3, 'c', true, 2) }] }] : [],
    )
  })

  test('returns the records if requested', async () => {
    const updated = await send(
      'PATCH',
      'task',
      { filter: 'id < 3', expect: '2', return: 'records', fields: 'id,done', expand: 'list' },
      { done: true, list_id: 2 },
    )
    const list = { id: 2, name: 'work' }
    expect(updated.json).toEqual({
      updated: 2,
      items: [
        { id: 1, done: true, expand: { list } },
        { id: 2, done: true, expand: { list } },
      ],
    })
    const deleted = await send('DELETE', 'task', { filter: 'id = 3', expect: '1', return: 'records' })
    expect(deleted.json).toEqual({ deleted: 1, items: [task(3, 'c', true, 2)] })
    const none = await send('DELETE', 'task', { filter: 'id = 3', expect: '0', return: 'records' })
    expect(none.json).toEqual({ deleted: 0, items: [] })
    expect((await eventsOf(app)).flatMap(({ rows }) => rows)).toHaveLength(isCaptured ? 3 : 0)
  })

  test.each([
    ['PATCH', 'done = true', '3', 2],
    ['PATCH', 'done = true', '1', 2],
    ['DELETE', 'done = true', '5', 2],
    ['DELETE', 'n = 100', '1', 0],
    ['PATCH', 'n = 100', '1', 0],
    ['DELETE', 'id > 0', '0', 3],
  ] as const)(
    '%s %s with expect=%s changes nothing, and returns the number of matches',
    async (method, filter, count, found) => {
      const response = await send(
        method,
        'task',
        { filter, expect: count },
        method === 'PATCH' ? { title: 'x' } : undefined,
      )
      expect(envelope(response)).toEqual({
        code: 409,
        error: 'unexpected_count',
        message: `expected ${count} ${count === '1' ? 'record' : 'records'}, but the filter finds ${found}; nothing was changed`,
        data: { expected: Number(count), found },
      })
      expect(await app.sql("select count(*)::int from task where title <> 'x'")).toEqual([{ count: 5 }])
      expect(await eventsOf(app)).toEqual([])
    },
  )

  test('stops at the limit', async () => {
    for (const method of ['PATCH', 'DELETE'] as const) {
      const query = { filter: 'id > 0', expect: '5' }
      const response = await send(method, 'plain', query, method === 'PATCH' ? { n: 0 } : undefined)
      expect(envelope(response)).toEqual({
        code: 409,
        error: 'unexpected_count',
        message: 'expected 5 records, but the filter finds more than 5; nothing was changed',
        data: { expected: 5 },
      })
    }
    expect(await app.sql('select sum(n)::int from plain')).toEqual([{ sum: 28 }])
    const query = { filter: 'id > 2', expect: '5' }
    expect((await send('PATCH', 'plain', query, { n: 0 })).json).toEqual({ updated: 5 })
  })

  test('works without a primary key', async () => {
    expect((await send('PATCH', 'keyless', { filter: "name = 'a'", expect: '2' }, { n: 9 })).json).toEqual({
      updated: 2,
    })
    expect((await send('DELETE', 'keyless', { filter: 'n = 9', expect: '2' })).json).toEqual({ deleted: 2 })
    expect(await app.sql('select name from keyless')).toEqual([{ name: 'b' }])
    expect((await eventsOf(app)).map(({ action, rows }) => [action, rows.length])).toEqual(
      isCaptured
        ? [
            ['update', 2],
            ['delete', 2],
          ]
        : [],
    )
  })

  test('finds rows of a table without a primary key by another key', async () => {
    const query = { filter: "code = 'b'", expect: '1' }
    const response = await send('PATCH', 'badge', query, { note: 'x' })
    expect([response.status, response.json]).toEqual([200, { updated: 1 }])
    expect((await eventsOf(app)).map(({ rows }) => rows)).toEqual(
      isCaptured
        ? [
            [
              {
                record: { code: 'b', note: 'x' },
                oldRecord: { code: 'b', note: 'two' },
              },
            ],
          ]
        : [],
    )
  })

  test('changes rows of which the caller may read no key', async () => {
    const response = await send('PATCH', 'ticket', { filter: "seat = 'a'", expect: '3' }, { note: 'x' })
    expect([response.status, response.json]).toEqual([200, { updated: 3 }])
    const change = (note: string, doc: unknown) => ({
      record: { seat: 'a', note: 'x', doc },
      oldRecord: { seat: 'a', note, doc },
    })
    const one = change('one', { b: 1, a: 2 })
    expect((await eventsOf(app)).flatMap(({ rows }) => rows)).toEqual(
      isCaptured ? expect.arrayContaining([one, one, change('two', null)]) : [],
    )
    const notes = await app.sql('select note from ticket order by id')
    expect(notes.map(({ note }) => note)).toEqual(['x', 'x', 'x', 'two'])
  })

  test('captures the columns that the caller may read', async () => {
    const updated = await send(
      'PATCH',
      'part_seen',
      { filter: 'id < 3', expect: '2', return: 'records' },
      { shown: 'x' },
    )
    expect(updated.json).toEqual({
      updated: 2,
      items: [
        { id: 1, shown: 'x' },
        { id: 2, shown: 'x' },
      ],
    })
    const deleted = await send('DELETE', 'part_seen', { filter: 'id > 2', expect: '1' })
    expect(deleted.json).toEqual({ deleted: 1 })
    expect(await eventsOf(app)).toEqual(
      isCaptured
        ? [
            {
              table: 'part_seen',
              action: 'update',
              rows: [
                {
                  record: { id: 1, shown: 'x' },
                  oldRecord: { id: 1, shown: 'one' },
                },
                {
                  record: { id: 2, shown: 'x' },
                  oldRecord: { id: 2, shown: 'two' },
                },
              ],
            },
            {
              table: 'part_seen',
              action: 'delete',
              rows: [{ record: { id: 3, shown: 'three' } }],
            },
          ]
        : [],
    )
  })

  test('deletes the records once for ten concurrent requests on two nodes', async () => {
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        send(
          'DELETE',
          'plain',
          { filter: 'id <= 3', expect: '3' },
          undefined,
          index % 2 === 0 ? app : second,
        ),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    expect(await app.sql('select count(*)::int from plain')).toEqual([{ count: 4 }])
    expect(await eventsOf(app)).toHaveLength(isCaptured ? 1 : 0)
  })

  test('lets one of ten concurrent requests acquire the records', async () => {
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        const on = index % 2 === 0 ? app : second
        return send('PATCH', 'plain', { filter: 'n < 100 AND id <= 3', expect: '3' }, { n: 100 + index }, on)
      }),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    const winner = responses.findIndex(({ status }) => status === 200)
    expect(await app.sql('select distinct n from plain where id <= 3')).toEqual([{ n: 100 + winner }])
  })
})

describe('PATCH and DELETE /collections/:table', () => {
  const noFilter = 'filter: expected a filter that finds the records to write'
  const noCount = 'expect: expected the number of records that the filter finds, at most 5'

  test.each([
    [{ expect: '1' }, noFilter],
    [{ filter: ' ', expect: '1' }, noFilter],
    [{ filter: 'id = 1' }, noCount],
    [{ filter: 'id = 1', expect: '' }, noCount],
    [{ filter: 'id = 1', expect: '-1' }, noCount],
    [{ filter: 'id = 1', expect: '1.0' }, noCount],
    [{ filter: 'id = 1', expect: 'all' }, noCount],
    [{ filter: 'id = 1', expect: '6' }, noCount],
    [{ filter: 'id = 1', expect: '99999999999999999999' }, noCount],
    [{ filter: 'id = 1', expect: '1', return: 'all' }, 'return: expected count or records'],
    [{ filter: 'id = 1', expect: '1', fields: 'id' }, 'fields: expected return=records beside it'],
    [{ filter: 'id = 1', expect: '1', expand: 'list' }, 'expand: expected return=records beside it'],
  ])('rejects %j', async (query, message) => {
    for (const method of ['PATCH', 'DELETE'] as const) {
      const response = await send(method, 'task', query as Record<string, string>, { title: 'x' })
      expect(envelope(response)).toEqual({ code: 400, error: 'invalid_parameter', message })
    }
  })

  test.each([
    [{ filter: 'id =', expect: '1' }, 400, 'invalid filter: unexpected end of filter expression'],
    [
      { filter: "id = 'x'", expect: '1' },
      400,
      'invalid integer value "x" — expected a whole number, e.g. 42',
    ],
    [{ filter: 'id = 1', expect: '1', sort: 'id' }, 400, 'unknown parameter "sort"'],
    [{ filter: 'id = 1', expect: '1', perPage: '1' }, 400, 'unknown parameter "perPage"'],
    [{ filter: 'id = 1', expect: '1', return: 'records', fields: 'x' }, 400, 'unknown column "x" in fields'],
  ])('rejects %j with %i', async (query, status, message) => {
    for (const method of ['PATCH', 'DELETE'] as const) {
      const response = await send(method, 'task', query as Record<string, string>, { title: 'x' })
      expect([response.status, response.json.message]).toEqual([status, message])
    }
  })

  test.each([
    [{ nothing: 1 }, 400, 'unknown column "nothing" in request body'],
    [{}, 400, 'no recognized columns in request body'],
    [{ n: 'x' }, 400, 'invalid integer value "x" — expected a whole number, e.g. 42'],
    [[], 400, 'invalid JSON body: expected an object'],
  ])('rejects the body %j', async (body, status, message) => {
    const response = await send('PATCH', 'task', { filter: 'id = 1', expect: '1' }, body)
    expect([response.status, response.json.message]).toEqual([status, message])
  })

  test('changes nothing when a constraint fails', async () => {
    const response = await send('PATCH', 'plain', { filter: 'id <= 2', expect: '2' }, { id: 1 })
    expect([response.status, response.json.error]).toEqual([409, 'unique_violation'])
    expect(await app.sql('select count(*)::int from plain')).toEqual([{ count: 7 }])
  })

  test('rejects handing records to another user', async () => {
    const response = await send('PATCH', 'task', { filter: 'id = 1', expect: '1' }, { owner: bob })
    expect([response.status, response.json.error]).toEqual([403, 'insufficient_permissions'])
  })

  test('rejects views and unknown collections', async () => {
    for (const [table, status] of [
      ['peeking', 405],
      ['nothing', 404],
    ] as const) {
      for (const method of ['PATCH', 'DELETE'] as const) {
        const response = await send(method, table, { filter: 'id = 1', expect: '1' }, { n: 1 })
        expect(response.status).toBe(status)
      }
    }
  })

  test('restricts a program to its tables and scope', async () => {
    const { json: registered } = await app.request('POST', '/api/auth/register', {
      body: { email: 'program@example.com', password: 'tangerine-harbour-42' },
    })
    const userId = registered.user.id
    const { key: narrow } = await createApiKey(app, { userId, allowedTables: ['task'] })
    const { key: reading } = await createApiKey(app, { userId, scope: 'readonly' })
    const attempts = [
      [narrow, 'plain', 'id = 1'],
      [narrow, 'task', "list.name = 'work'"],
      [reading, 'plain', 'id = 1'],
    ] as const
    for (const [key, table, filter] of attempts) {
      for (const method of ['PATCH', 'DELETE'] as const) {
        const path = `/api/collections/${table}?expect=0&filter=${encodeURIComponent(filter)}`
        const response = await app.request(method, path, { token: key, body: { n: 1 } })
        expect([response.status, response.json.error]).toEqual([403, 'insufficient_scope'])
      }
    }
  })
})
