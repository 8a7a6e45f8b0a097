import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import type { ChangeLog } from '../../../../database/change-log.ts'
import { statement } from '../../../../database/connection/message.ts'
import { render, sql } from '../../../../database/sql.ts'
import { changedRows } from './recorded-changes.ts'

let app: TestApp
const token = userToken({ sub: alice })

/** Tables and actions that have a listener: `item create`. */
const interests = new Set<string>()

let commits = 0

/** Change log that writes the captured changes into a table, and whether the caller's role was left for it. */
const changes: ChangeLog = {
  hasTriggers: false,
  doubt: () => undefined,
  committed() {
    commits += 1
  },
  capture({ collection }, action, form) {
    if (!interests.has(`${collection} ${action}`)) return undefined
    const { text, values } = render(sql`
      insert into captured.change (is_login, caller, collection, action, rows)
      select current_user = session_user, current_setting('basalt.user_id', true), ${collection}, ${action},
        json_agg(${
          action === 'update'
            ? sql`json_build_object('record', c.record, 'oldRecord', c."oldRecord")`
            : sql`json_build_object('record', c.record)`
        })
      from ${changedRows(action, form)}`)
    // Only the two texts are bound.
    return { call: { statement: statement(text), values: values as string[] }, takesChanges: true }
  },
}

const tables = `
create schema captured;
grant usage on schema captured to public;
create table captured.change (
  id int generated always as identity, is_login bool, caller text, collection text, action text, rows json
);
grant insert on captured.change to public;
create table item (id bigint primary key, name text unique, price numeric, secret text default 'hush');
create table place (room text, number int, label text, primary key (room, number));
create table mine (
  id int primary key,
  owner_id uuid not null default nullif(current_setting('basalt.user_id', true), '')::uuid,
  body text
);
alter table mine enable row level security;
create policy own on mine using (owner_id = nullif(current_setting('basalt.user_id', true), '')::uuid);
create table letters (id int primary key, o text, s text, w text, t text, record text, old_record text);
create table forebear (id int primary key, name text);
create table heir () inherits (forebear);
create table hole (id int primary key);
create function swallow() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger swallow before insert or update or delete on hole for each row execute function swallow();
create table late (id int primary key, role text);
create function tell_role() returns trigger language plpgsql as $$
begin update late set role = current_user where id = new.id; return null; end $$;
create constraint trigger tell_role after insert on late deferrable initially deferred
  for each row execute function tell_role();
`

beforeAll(async () => {
  app = await createTestApp({ setup: tables, changes })
})
beforeEach(async () => {
  interests.clear()
  for (const table of ['item', 'place', 'mine', 'letters', 'forebear', 'hole', 'late']) {
    for (const action of ['create', 'update', 'delete']) interests.add(`${table} ${action}`)
  }
  await app.sql(`
    alter table hole disable trigger swallow;
    truncate item, place, mine, letters, forebear, hole, late, captured.change restart identity;
    alter table captured.change drop constraint if exists full_up;
    insert into item values (1, 'one', 1.50), (2, 'two', null);
    insert into place values ('north', 1, 'N1');
    insert into mine values (1, '${alice}', 'hers'), (2, '${bob}', 'his');
    insert into hole values (1);
    alter table hole enable trigger swallow`)
})
afterAll(() => app[Symbol.asyncDispose]())

function send(method: string, path: string, body?: unknown, as = token) {
  return app.request(method, `/api/${path}`, { token: as, ...(body === undefined ? {} : { body }) })
}

async function capturedChanges() {
  return await app.sql('select is_login, caller, collection, action, rows from captured.change order by id')
}

/** Returns a captured write by Alice. */
function by(collection: string, action: string, ...rows: readonly unknown[]) {
  return { is_login: true, caller: alice, collection, action, rows }
}

const one = { id: 1, name: 'one', price: 1.5, secret: 'hush' }
const two = { id: 2, name: 'two', price: null, secret: 'hush' }

describe('change log › a change with a consumer', () => {
  test('captures the new record as the login role', async () => {
    const response = await send('POST', 'collections/item', { id: 3, name: 'three' })
    const three = { id: 3, name: 'three', price: null, secret: 'hush' }
    expect([response.status, response.json]).toEqual([201, three])
    expect(await capturedChanges()).toEqual([by('item', 'create', { record: three })])
  })

  test('captures the record before an update', async () => {
    const response = await send('PATCH', 'collections/item/1', { name: 'first' })
    expect([response.status, response.json]).toEqual([200, { ...one, name: 'first' }])
    expect(await capturedChanges()).toEqual([
      by('item', 'update', { record: { ...one, name: 'first' }, oldRecord: one }),
    ])
  })

  test('captures both keys when the key changes', async () => {
    expect((await send('PATCH', 'collections/place/north,1', { number: 7 })).status).toBe(200)
    expect(await capturedChanges()).toEqual([
      by('place', 'update', {
        record: { room: 'north', number: 7, label: 'N1' },
        oldRecord: { room: 'north', number: 1, label: 'N1' },
      }),
    ])
  })

  test('captures the deleted record', async () => {
    const response = await send('DELETE', 'collections/item/1')
    expect([response.status, response.text]).toEqual([204, ''])
    expect(await capturedChanges()).toEqual([by('item', 'delete', { record: one })])
  })

  test('keeps every digit', async () => {
    const long = '123456789012345678901234567890.5'
    await send('POST', 'collections/item', `{"id":9007199254740993,"price":${long}}`)
    await send('PATCH', 'collections/item/9007199254740993', `{"price":0.10}`)
    const texts = await app.sql('select rows::text as text from captured.change order by id')
    const record = (price: string) => `{"id":9007199254740993,"name":null,"price":${price},"secret":"hush"}`
    expect(texts).toEqual([
      { text: `[{"record" : ${record(long)}}]` },
      { text: `[{"record" : ${record('0.10')}, "oldRecord" : ${record(long)}}]` },
    ])
  })

  test('accepts columns of any name', async () => {
    const letters = { id: 1, o: 'o', s: 's', w: 'w', t: 't', record: 'record', old_record: 'old' }
    expect((await send('POST', 'collections/letters', letters)).json).toEqual(letters)
    const changed = { ...letters, w: 'changed' }
    expect((await send('PATCH', 'collections/letters/1', { w: 'changed' })).json).toEqual(changed)
    expect((await send('DELETE', 'collections/letters/1')).status).toBe(204)
    expect(await capturedChanges()).toEqual([
      by('letters', 'create', { record: letters }),
      by('letters', 'update', { record: changed, oldRecord: letters }),
      by('letters', 'delete', { record: changed }),
    ])
  })

  test('captures changes of inheriting tables', async () => {
    await app.sql("insert into forebear values (1, 'one'); insert into heir values (1, 'one')")
    expect((await send('PATCH', 'collections/forebear/1', { name: 'x' })).json).toEqual({ id: 1, name: 'x' })
    expect((await send('DELETE', 'collections/forebear/1')).status).toBe(204)
    const record = { id: 1, name: 'x' }
    const update = { record, oldRecord: { id: 1, name: 'one' } }
    expect(await capturedChanges()).toEqual([
      by('forebear', 'update', update, update),
      by('forebear', 'delete', { record }, { record }),
    ])
  })

  test('has no caller when the administrator made it', async () => {
    const admin = await app.adminToken()
    await send('PATCH', 'collections/mine/2', { body: 'seen' }, admin)
    const record = { id: 2, owner_id: bob, body: 'his' }
    expect(await capturedChanges()).toEqual([
      {
        ...by('mine', 'update', { record: { ...record, body: 'seen' }, oldRecord: record }),
        caller: expect.toSatisfy((id) => id === null || id === ''),
      },
    ])
  })

  test('keeps the order of concurrent changes', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `name ${index}`)
    const answers = await Promise.all(names.map((name) => send('PATCH', 'collections/item/1', { name })))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    const updates = (await capturedChanges()).flatMap(({ rows }) => rows)
    const before = updates.map(({ oldRecord }) => oldRecord.name)
    const after = updates.map(({ record }) => record.name)
    expect(before).toEqual(['one', ...after.slice(0, -1)])
    expect(after.toSorted()).toEqual(names.toSorted())
    expect(await app.sql('select name from item where id = 1')).toEqual([{ name: after.at(-1) }])
  })
})

describe('change log › a batch', () => {
  test('captures each change after its operation, and continues as the caller', async () => {
    const response = await send('POST', 'batch', {
      operations: [
        { table: 'item', method: 'create', body: { id: 3 } },
        { table: 'item', method: 'create', body: { id: 4 } },
        { table: 'item', method: 'update', id: 3, body: { price: 7 } },
        { table: 'mine', method: 'create', body: { id: 3 } },
        { table: 'mine', method: 'update', id: 1, body: { body: 'new' } },
        { table: 'item', method: 'delete', id: 2 },
      ],
    })
    expect(response.json.map(({ status }: { status: number }) => status)).toEqual([
      201, 201, 200, 201, 200, 204,
    ])
    const made = (id: number) => ({ id, name: null, price: null, secret: 'hush' })
    expect(await capturedChanges()).toEqual([
      by('item', 'create', { record: made(3) }, { record: made(4) }),
      by('item', 'update', { record: { ...made(3), price: 7 }, oldRecord: made(3) }),
      by('mine', 'create', { record: { id: 3, owner_id: alice, body: null } }),
      by('mine', 'update', {
        record: { id: 1, owner_id: alice, body: 'new' },
        oldRecord: { id: 1, owner_id: alice, body: 'hers' },
      }),
      by('item', 'delete', { record: two }),
    ])
  })

  test('fails whole when an operation names a hidden record after a captured change', async () => {
    const response = await send('POST', 'batch', {
      operations: [
        { table: 'item', method: 'update', id: 1, body: { name: 'x' } },
        { table: 'mine', method: 'delete', id: 2 },
      ],
    })
    expect(envelope(response)).toEqual({
      code: 404,
      message: 'record not found: 2',
      error: 'record_not_found',
      operation: { index: 1, method: 'delete' },
    })
    expect(await capturedChanges()).toEqual([])
    expect(await app.sql('select name from item where id = 1')).toEqual([{ name: 'one' }])
  })

  test('captures each of a thousand operations once', async () => {
    const operations = Array.from({ length: 1000 }, (_, index) =>
      index < 500
        ? { method: 'create', body: { id: index + 10 } }
        : { method: 'update', id: index - 490, body: { price: index } },
    )
    expect((await send('POST', 'collections/item/batch', { operations })).status).toBe(200)
    const counts = await app.sql(
      'select action, sum(json_array_length(rows))::int as changes from captured.change group by action order by action',
    )
    expect(counts).toEqual([
      { action: 'create', changes: 500 },
      { action: 'update', changes: 500 },
    ])
  })
})

describe('change log without a captured change', () => {
  test.each([
    ['an unknown record', 'PATCH', 'collections/item/99', { name: 'x' }, 404],
    ['the delete of an unknown record', 'DELETE', 'collections/item/99', undefined, 404],
    ["another's record", 'PATCH', 'collections/mine/2', { body: 'x' }, 404],
    ["the delete of another's record", 'DELETE', 'collections/mine/2', undefined, 404],
    ['a constraint', 'PATCH', 'collections/item/1', { name: 'two' }, 409],
    ['a policy', 'POST', 'collections/mine', { id: 5, owner_id: bob }, 403],
    ['a wrong value', 'POST', 'collections/item', { id: 'x' }, 400],
    ['a trigger that discards an insert', 'POST', 'collections/hole', { id: 2 }, 409],
    ['a trigger that discards an update', 'PATCH', 'collections/hole/1', { id: 2 }, 409],
    ['a trigger that discards a delete', 'DELETE', 'collections/hole/1', undefined, 409],
    ['a read', 'GET', 'collections/item/1', undefined, 200],
    ['a list', 'GET', 'collections/item', undefined, 200],
  ])('records nothing of %s', async (_what, method, path, body, status) => {
    expect((await send(method, path, body)).status).toBe(status)
    expect(await capturedChanges()).toEqual([])
  })

  test('records nothing of a batch whose last operation fails', async () => {
    const response = await send('POST', 'collections/item/batch', {
      operations: [
        { method: 'create', body: { id: 3 } },
        { method: 'create', body: { id: 4 } },
        { method: 'update', id: 3, body: { name: 'x' } },
        { method: 'delete', id: 1 },
        { method: 'create', body: { id: 3 } },
      ],
    })
    expect(response.status).toBe(409)
    expect(await capturedChanges()).toEqual([])
  })

  test('records nothing of actions without a consumer', async () => {
    interests.clear()
    interests.add('item update')
    await send('POST', 'collections/item', { id: 3 })
    await send('DELETE', 'collections/item/2')
    await send('POST', 'collections/item/batch', {
      operations: [
        { method: 'create', body: { id: 4 } },
        { method: 'update', id: 4, body: { name: 'four' } },
        { method: 'delete', id: 3 },
      ],
    })
    expect((await capturedChanges()).map(({ action }) => action)).toEqual(['update'])
  })
})

test('change log › announces a captured write once, after its commit', async () => {
  const announced = async (work: () => Promise<unknown>) => {
    commits = 0
    await work()
    return commits
  }
  const operations = [
    { method: 'create', body: { id: 3 } },
    { method: 'update', id: 1, body: { name: 'x' } },
  ]
  expect(await announced(() => send('PATCH', 'collections/item/1', { name: 'y' }))).toBe(1)
  expect(await announced(() => send('POST', 'collections/item/batch', { operations }))).toBe(1)
  expect(await announced(() => send('POST', 'collections/item', { id: 1 }))).toBe(0)
  interests.clear()
  expect(await announced(() => send('PATCH', 'collections/item/1', { name: 'z' }))).toBe(0)
})

test('change log › a change that cannot be captured fails, and is no fault of the caller', async () => {
  await app.sql("alter table captured.change add constraint full_up check (action = 'nothing')")
  for (const [method, path, body] of [
    ['POST', 'collections/item', { id: 3 }],
    ['PATCH', 'collections/item/1', { name: 'x' }],
    ['DELETE', 'collections/item/1', undefined],
    ['POST', 'collections/item/batch', { operations: [{ method: 'delete', id: 1 }] }],
    [
      'POST',
      'collections/item/batch',
      {
        operations: [
          { method: 'create', body: { id: 8 } },
          { method: 'create', body: { id: 9 } },
        ],
      },
    ],
  ] as const) {
    const response = await send(method, path, body)
    expect(envelope(response)).toEqual({ code: 500, message: 'internal error', error: 'internal_error' })
  }
  expect(await app.sql('select id::int from item order by id')).toEqual([{ id: 1 }, { id: 2 }])
})

test('change log › deferred triggers still run as the caller', async () => {
  await send('POST', 'collections/late', { id: 1 })
  await send('POST', 'collections/late/batch', {
    operations: [
      { method: 'create', body: { id: 2 } },
      { method: 'create', body: { id: 3 } },
    ],
  })
  expect(await app.sql('select id, role from late order by id')).toEqual(
    [1, 2, 3].map((id) => ({ id, role: 'basalt_authenticated' })),
  )
  expect(await capturedChanges()).toHaveLength(3)
})
