import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { eventsOf, recordedChanges, recording, recordingTables } from './recorded-changes.ts'

/** `POST ?onConflict=` creates a record, or updates or returns the one with its key. */

const setup = `
${recordingTables}
create table item (
  id int primary key, sku text, name text, price numeric default 1, region text, code text,
  unique (sku), unique (region, code)
);
create unique index part on item (name) where price > 5;
create table deferred (id int primary key, sku text unique deferrable);
create table keyless (name text);
create table parted (id int, kind text, name text, primary key (id, kind)) partition by list (kind);
create table parted_a partition of parted for values in ('a');
create table parted_b partition of parted for values in ('b');
create table owned (id int primary key, owner uuid default basalt.user_id(), body text);
alter table owned enable row level security;
create policy own on owned using (owner = basalt.user_id());
create table counted (id int primary key, n int default 0);
create table part_seen (id int primary key, shown text, hidden text default 'h');
revoke all on part_seen from basalt_authenticated;
grant select (id, shown), insert (id, shown), update (id, shown) on part_seen to basalt_authenticated;
create table hole (id int primary key);
create function swallow() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger swallow before insert on hole for each row execute function swallow();
create table lowered (id int primary key, sku text unique);
create function lower_sku() returns trigger language plpgsql as $$ begin new.sku := lower(new.sku); return new; end $$;
create trigger lower_sku before insert on lowered for each row execute function lower_sku();
create table artist (id int primary key, name text);
create table album (id int primary key, title text, artist_id int references artist);
insert into artist values (1, 'Ann');
`

let app: TestApp
let second: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup, changes: recording })
  second = await createTestApp({ database: app.database, changes: recording })
})
beforeEach(async () => {
  recordedChanges.clear()
  await app.sql(`
    truncate item, parted, owned, counted, part_seen, album, deferred, captured.change;
    insert into item values (1, 'a', 'one', 1.50, 'eu', 'x'), (2, 'b', 'two', 2, 'us', 'x');
    insert into owned values (1, '${alice}', 'hers'), (2, '${bob}', 'his');
    insert into part_seen values (1, 'one', 'secret')`)
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

function post(path: string, body: unknown, on = app) {
  return on.request('POST', `/api/collections/${path}`, { token, body })
}

const one = { id: 1, sku: 'a', name: 'one', price: 1.5, region: 'eu', code: 'x' }

describe.each([
  ['without a listener', []],
  ['with listeners', ['item', 'parted', 'owned', 'album']],
])('upsert %s', (_what, captured) => {
  beforeEach(() => {
    for (const table of captured)
      for (const action of ['create', 'update']) recordedChanges.add(`${table} ${action}`)
  })

  test('creates a record whose key is new', async () => {
    const response = await post('item?onConflict=sku', { id: 3, sku: 'c' })
    expect([response.status, response.json]).toEqual([
      201,
      { id: 3, sku: 'c', name: null, price: 1, region: null, code: null },
    ])
    const record = response.json
    expect(await eventsOf(app)).toEqual(
      captured.length === 0 ? [] : [{ table: 'item', action: 'create', rows: [{ record }] }],
    )
  })

  test('updates the record that has the key, and no other column', async () => {
    const response = await post('item?onConflict=sku', { id: 1, sku: 'a', name: 'uno' })
    const record = { ...one, name: 'uno' }
    expect([response.status, response.json]).toEqual([200, record])
    expect(await eventsOf(app)).toEqual(
      captured.length === 0 ? [] : [{ table: 'item', action: 'update', rows: [{ record, oldRecord: one }] }],
    )
  })

  test.each([
    ['the primary key', 'id', { id: 1, name: 'uno' }, { ...one, name: 'uno' }],
    [
      'several columns in any order',
      'code,region',
      { id: 9, region: 'eu', code: 'x', sku: 'z' },
      { ...one, id: 9, sku: 'z' },
    ],
    ['a key and nothing else', 'id', { id: 1 }, one],
  ])('finds the record by %s', async (_key, columns, body, record) => {
    const response = await post(`item?onConflict=${columns}`, body)
    expect([response.status, response.json]).toEqual([200, record])
  })

  test('keeps the record that has the key with onConflictAction=ignore', async () => {
    const ignored = await post('item?onConflict=sku&onConflictAction=ignore', {
      id: 7,
      sku: 'a',
      name: 'uno',
    })
    expect([ignored.status, ignored.json]).toEqual([200, one])
    expect(await eventsOf(app)).toEqual([])
    const created = await post('item?onConflict=sku&onConflictAction=ignore', {
      id: 7,
      sku: 'z',
      name: 'uno',
    })
    const record = { id: 7, sku: 'z', name: 'uno', price: 1, region: null, code: null }
    expect([created.status, created.json]).toEqual([201, record])
    expect(await eventsOf(app)).toEqual(
      captured.length === 0 ? [] : [{ table: 'item', action: 'create', rows: [{ record }] }],
    )
  })

  test('works on a partitioned table', async () => {
    const created = await post('parted?onConflict=id,kind', { id: 1, kind: 'b', name: 'x' })
    expect([created.status, created.json]).toEqual([201, { id: 1, kind: 'b', name: 'x' }])
    const updated = await post('parted?onConflict=id,kind', { id: 1, kind: 'b', name: 'y' })
    expect([updated.status, updated.json]).toEqual([200, { id: 1, kind: 'b', name: 'y' }])
    expect((await eventsOf(app)).map(({ action }) => action)).toEqual(
      captured.length === 0 ? [] : ['create', 'update'],
    )
  })

  test('returns fields and related records', async () => {
    for (const status of [201, 200]) {
      const response = await post('album?onConflict=id&fields=title&expand=artist', {
        id: 1,
        title: 'A',
        artist_id: 1,
      })
      expect([response.status, response.json]).toEqual([
        status,
        { title: 'A', expand: { artist: { id: 1, name: 'Ann' } } },
      ])
    }
    const record = { id: 1, title: 'A', artist_id: 1 }
    expect(await eventsOf(app)).toEqual(
      captured.length === 0
        ? []
        : [
            { table: 'album', action: 'create', rows: [{ record }] },
            { table: 'album', action: 'update', rows: [{ record, oldRecord: record }] },
          ],
    )
  })

  test('obeys the policies for both', async () => {
    expect((await post('owned?onConflict=id', { id: 1, body: 'new' })).json).toEqual({
      id: 1,
      owner: alice,
      body: 'new',
    })
    const refused = await post('owned?onConflict=id', { id: 2, body: 'taken' })
    expect([refused.status, refused.json.error]).toEqual([403, 'insufficient_permissions'])
    expect(await app.sql('select body from owned where id = 2')).toEqual([{ body: 'his' }])
    const hidden = await post('owned?onConflict=id&onConflictAction=ignore', { id: 2, body: 'taken' })
    expect(envelope(hidden)).toEqual({
      code: 409,
      error: 'conflict_hidden',
      message: 'another record has the same key, and the caller may not read it',
    })
  })

  test('creates once for twenty concurrent requests on two nodes, and updates in the others', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        post(
          'item?onConflict=sku',
          { id: 5, sku: 'race', name: `n${index}` },
          index % 2 === 0 ? app : second,
        ),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201])
    expect(await app.sql("select count(*)::int from item where sku = 'race'")).toEqual([{ count: 1 }])
    if (captured.length === 0) return
    const events = await eventsOf(app)
    expect(events.map(({ action }) => action).sort()).toEqual(['create', ...Array(19).fill('update')])
    // Each update has the name that the one before it wrote.
    const names = events.map(({ rows }) => rows[0].record.name)
    expect(events.slice(1).map(({ rows }) => rows[0].oldRecord.name)).toEqual(names.slice(0, -1))
  })

  test('creates once for twenty concurrent requests that ignore, and returns the record in the others', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const path = 'item?onConflict=sku&onConflictAction=ignore&fields=name'
        return post(path, { id: 5, sku: 'race', name: `n${index}` }, index % 2 === 0 ? app : second)
      }),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201])
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
  })

  test('in a batch creates, updates and ignores, each after the operations before it', async () => {
    const record = { id: 3, sku: 'c', name: 'three', price: 1, region: null, code: null }
    const operations = [
      { method: 'create', body: { id: 3, sku: 'c', name: 'three' }, onConflict: 'sku' },
      { method: 'create', body: { id: 3, sku: 'c', name: 'tres' }, onConflict: ['sku'] },
      { method: 'create', body: { id: 9, region: 'eu', code: 'x', name: 'uno' }, on_conflict: 'code,region' },
      { method: 'create', body: { id: 9, name: 'x' }, onConflict: 'id', onConflictAction: 'ignore' },
      { method: 'create', body: { id: 8, name: 'x' }, onConflict: 'id', onConflictAction: 'ignore' },
      { method: 'create', body: { id: 10, name: 'plain' } },
      { method: 'delete', id: 10 },
    ]
    const { status, json } = await post('item/batch', { operations })
    expect([status, json]).toEqual([
      200,
      [
        { index: 0, status: 201, body: record },
        { index: 1, status: 200, body: { ...record, name: 'tres' } },
        { index: 2, status: 200, body: { ...one, id: 9, name: 'uno' } },
        { index: 3, status: 200, body: { ...one, id: 9, name: 'uno' } },
        { index: 4, status: 201, body: { ...record, id: 8, sku: null, name: 'x' } },
        { index: 5, status: 201, body: { ...record, id: 10, sku: null, name: 'plain' } },
        { index: 6, status: 204 },
      ],
    ])
    expect((await eventsOf(app)).map(({ action }) => action)).toEqual(
      captured.length === 0 ? [] : ['create', 'update', 'update', 'create', 'create'],
    )
  })

  test('in a failing batch leaves nothing', async () => {
    const good = { method: 'create', body: { id: 3, sku: 'c' }, onConflict: 'sku' }
    const hidden = { method: 'create', table: 'owned', body: { id: 2, body: 'x' }, onConflict: 'id' }
    for (const [operation, status, error] of [
      [hidden, 403, 'insufficient_permissions'],
      [{ ...hidden, onConflictAction: 'ignore' }, 409, 'conflict_hidden'],
      [{ ...hidden, table: 'hole' }, 409, 'row_discarded'],
      [{ ...hidden, table: 'hole', onConflictAction: 'ignore' }, 409, 'conflict_hidden'],
      [{ ...good, table: 'item', body: { id: 1, sku: 'new' } }, 409, 'unique_violation'],
    ] as const) {
      const body = operation.table === 'hole' ? { id: 2 } : operation.body
      const response = await app.request('POST', '/api/batch', {
        token,
        body: {
          operations: [
            { ...good, table: 'item' },
            { ...operation, body },
          ],
        },
      })
      expect(envelope(response), JSON.stringify(operation)).toMatchObject({
        ...{ code: status, error },
        operation: { index: 1, method: 'create' },
      })
    }
    expect(await app.sql('select sku from item order by id')).toEqual([{ sku: 'a' }, { sku: 'b' }])
    expect(await eventsOf(app)).toEqual([])
  })

  test('in twenty concurrent batches on two nodes creates once', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const onConflictAction = index % 3 === 0 ? 'ignore' : 'update'
        const body = { id: 5, sku: 'race', name: `n${index}` }
        const operations = [{ method: 'create', body, onConflict: 'sku', onConflictAction }]
        return post('item/batch', { operations }, index % 2 === 0 ? app : second)
      }),
    )
    const statuses = responses.map(({ json }) => json[0]?.status)
    expect(statuses.sort()).toEqual([...Array(19).fill(200), 201])
  })
})

describe('POST /collections/:table?onConflict', () => {
  test('captures the columns that the caller may read', async () => {
    for (const action of ['create', 'update']) recordedChanges.add(`part_seen ${action}`)
    const updated = await post('part_seen?onConflict=id', { id: 1, shown: 'uno' })
    expect([updated.status, updated.json]).toEqual([200, { id: 1, shown: 'uno' }])
    const created = await post('part_seen?onConflict=id', { id: 2, shown: 'two' })
    expect([created.status, created.json]).toEqual([201, { id: 2, shown: 'two' }])
    expect(await eventsOf(app)).toEqual([
      {
        table: 'part_seen',
        action: 'update',
        rows: [
          {
            record: { id: 1, shown: 'uno' },
            oldRecord: { id: 1, shown: 'one' },
          },
        ],
      },
      { table: 'part_seen', action: 'create', rows: [{ record: { id: 2, shown: 'two' } }] },
    ])
  })

  test('returns the key as a trigger changed it when it ignores, alone and in a batch', async () => {
    const body = { id: 4, sku: 'LOUD' }
    const record = { id: 4, sku: 'loud' }
    const created = await post('lowered?onConflict=sku&onConflictAction=ignore', body)
    expect([created.status, created.json]).toEqual([201, record])
    await app.sql('truncate lowered')
    const operation = { method: 'create', body, onConflict: 'sku', onConflictAction: 'ignore' }
    const { json } = await post('lowered/batch', { operations: [operation] })
    expect(json).toEqual([{ index: 0, status: 201, body: record }])
  })

  test('accepts its key as on_conflict, too', async () => {
    expect((await post('item?on_conflict=sku', { id: 1, sku: 'a', name: 'uno' })).status).toBe(200)
    expect(envelope(await post('item?on_conflict=sku&onConflict=sku', { sku: 'a' }))).toMatchObject({
      ...{ code: 400, message: 'cannot use both onConflict and on_conflict' },
    })
  })

  test('is delivered to subscribers of one of its actions', async () => {
    recordedChanges.add('item update')
    await post('item?onConflict=sku', { id: 3, sku: 'c' })
    expect((await eventsOf(app)).flatMap(({ rows }) => rows ?? [])).toEqual([])
    await post('item?onConflict=sku', { id: 3, sku: 'c', name: 'x' })
    expect((await eventsOf(app)).at(-1)).toMatchObject({
      action: 'update',
      rows: [{ record: { name: 'x' } }],
    })
  })

  test('rejects a row that a trigger discards', async () => {
    const response = await post('hole?onConflict=id', { id: 1 })
    expect(envelope(response)).toMatchObject({ code: 409, error: 'row_discarded' })
  })

  test('still obeys other constraints', async () => {
    const response = await post('item?onConflict=sku', { id: 1, sku: 'new' })
    expect(envelope(response)).toMatchObject({ code: 409, error: 'unique_violation' })
  })

  const keys = 'onConflict: expected the columns of a unique key: id or region,code or sku'

  test.each([
    ['a column without a key', 'item?onConflict=price', keys],
    ['a part of a key', 'item?onConflict=region', keys],
    ['a key and more', 'item?onConflict=id,sku', keys],
    ['a partial index', 'item?onConflict=name', keys],
    ['an unknown column', 'item?onConflict=nothing', keys],
    ['no column', 'item?onConflict=', keys],
    ['a deferrable key', 'deferred?onConflict=sku', 'onConflict: expected the columns of a unique key: id'],
    ['a table without keys', 'keyless?onConflict=name', 'onConflict: "keyless" has no unique key'],
    [
      'a body without the key',
      'item?onConflict=region,code',
      'onConflict: expected a value for "region" in the request body',
    ],
    [
      'another action',
      'item?onConflict=id&onConflictAction=replace',
      'onConflictAction: expected update or ignore',
    ],
    [
      'an action without a key',
      'item?onConflictAction=ignore',
      'onConflictAction: expected onConflict beside it',
    ],
    ['a name that is not closed', 'item?onConflict=%22id', expect.stringContaining('onConflict')],
  ])('rejects %s', async (_what, path, message) => {
    const response = await post(path, path.startsWith('keyless') ? { name: 'z' } : { id: 9, sku: 'z' })
    expect(envelope(response)).toEqual({ code: 400, error: 'invalid_parameter', message })
    expect(await app.sql('select 1 from item where id = 9')).toEqual([])
  })

  test.each([
    [{ onConflict: 'price' }, keys],
    [{ onConflict: [] }, keys],
    [{ onConflict: 'region,code' }, 'onConflict: expected a value for "region" in the request body'],
    [{ onConflict: 5 }, 'onConflict: expected the names of columns'],
    [{ onConflict: ['id', null] }, 'onConflict: expected the names of columns'],
    [{ onConflict: 'id', on_conflict: 'id' }, 'cannot use both onConflict and on_conflict'],
    [{ onConflict: 'id', onConflictAction: 'replace' }, 'onConflictAction: expected update or ignore'],
    [{ onConflict: 'id', onConflictAction: true }, 'onConflictAction: expected update or ignore'],
    [{ onConflictAction: 'ignore' }, 'onConflictAction: expected onConflict beside it'],
    [{ method: 'update', id: 1, onConflict: 'id' }, 'onConflict: expected only with create'],
    [{ method: 'delete', id: 1, onConflict: 'id' }, 'onConflict: expected only with create'],
  ])('rejects %j in a batch', async (members, message) => {
    const first = { method: 'create', body: { id: 9, sku: 'z' } }
    const { status, json } = await post('item/batch', { operations: [first, { ...first, ...members }] })
    expect([status, json.message]).toEqual([400, `operation[1]: ${message}`])
    expect(json.operation).toEqual({
      index: 1,
      method: 'create',
      ...('method' in members ? { method: members.method } : {}),
    })
    expect(await app.sql('select 1 from item where id = 9')).toEqual([])
  })

  test('POST /collections/:table › rejects unknown parameters with the nearest name', async () => {
    for (const [method, path, message] of [
      ['POST', 'item?onConflit=id', 'unknown parameter "onConflit"; did you mean onConflict?'],
      ['PATCH', 'item/1?field=id', 'unknown parameter "field"; did you mean fields?'],
      ['DELETE', 'item/1?fields=id', 'unknown parameter "fields"'],
      ['POST', 'item/batch?fields=id', 'unknown parameter "fields"'],
    ] as const) {
      const response = await app.request(method, `/api/collections/${path}`, { token, body: { name: 'x' } })
      expect([response.status, response.json.message]).toEqual([400, message])
    }
    expect((await post('item?_=1', { id: 3 })).status).toBe(201)
  })
})

describe('POST and PATCH /collections/:table', () => {
  test.each([
    ['POST', 'album?fields=title,id', { id: 1, title: 'A', artist_id: 1 }, 201, { title: 'A', id: 1 }],
    [
      'POST',
      'album?expand=artist',
      { id: 1, title: 'A', artist_id: 1 },
      201,
      { id: 1, title: 'A', artist_id: 1, expand: { artist: { id: 1, name: 'Ann' } } },
    ],
  ])('%s %s returns the requested fields', async (method, path, body, status, expected) => {
    for (const isCaptured of [false, true]) {
      await app.sql('truncate album')
      if (isCaptured) recordedChanges.add('album create')
      const response = await app.request(method, `/api/collections/${path}`, { token, body })
      expect([response.status, response.json]).toEqual([status, expected])
    }
    expect(await eventsOf(app)).toEqual([{ table: 'album', action: 'create', rows: [{ record: body }] }])
  })

  test('PATCH returns the requested fields, with the record as written', async () => {
    for (const isCaptured of [false, true]) {
      await app.sql(`truncate album; insert into album values (1, 'A', null)`)
      if (isCaptured) recordedChanges.add('album update')
      const path = '/api/collections/album/1?fields=artist_id&expand=artist'
      const response = await app.request('PATCH', path, { token, body: { artist_id: 1 } })
      expect([response.status, response.json]).toEqual([
        200,
        { artist_id: 1, expand: { artist: { id: 1, name: 'Ann' } } },
      ])
    }
    expect(await eventsOf(app)).toEqual([
      {
        table: 'album',
        action: 'update',
        rows: [
          { record: { id: 1, title: 'A', artist_id: 1 }, oldRecord: { id: 1, title: 'A', artist_id: null } },
        ],
      },
    ])
  })

  test('reject an unknown field or relation before anything is written', async () => {
    for (const query of ['fields=nothing', 'expand=nothing']) {
      const response = await post(`album?${query}`, { id: 1 })
      expect([response.status, response.json.message]).toEqual([400, expect.stringContaining('"nothing"')])
    }
    expect(await app.sql('select 1 from album')).toEqual([])
  })
})
