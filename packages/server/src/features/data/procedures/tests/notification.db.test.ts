import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { type EventStreamClient, openEventStream } from '../../../../../test/event-stream.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, type TestResponse, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const setup = `
  create table item (
    id int primary key, name text, secret text default 'kept', owner_id uuid not null default basalt.user_id()
  );
  alter table item enable row level security;
  create policy own on item using (owner_id = basalt.user_id());
  grant all on item to basalt_authenticated;
  create table fixed (id int primary key, name text);
  insert into fixed values (1, 'fixed');
  revoke insert, update, delete on fixed from basalt_authenticated;
  create table keyless (id int);
  create view items as select * from item;
  create function add_items(p_first int, p_count int default 1) returns setof item language sql as
    $$ insert into item (id, name) select i, 'n' || i from generate_series(p_first, p_first + p_count - 1) i returning * $$;
  create function add_one(p_id int) returns item language sql as
    $$ insert into item (id, name) values (p_id, 'one') returning * $$;
  create function rename(p_id int) returns table (id int) language sql as
    $$ update item set name = 'renamed' where id = p_id returning id $$;
  create function remove(p_id int) returns setof item language sql as 'delete from item where id = p_id returning *';
  create function pretend(p_rows jsonb) returns setof item language sql stable security definer set search_path = public
    as 'select * from jsonb_populate_recordset(null::item, p_rows)';
  create function all_fixed() returns setof fixed language sql stable as 'select * from fixed';
  create function nameless() returns table (name text) language sql stable as 'select name from item';
  create function scalar() returns setof int language sql stable as 'select id from item';
  create function nothing() returns void language sql as 'select 1';
  create function add_and_fail(p_id int) returns item language plpgsql as $$
    begin insert into item (id) values (p_id); raise exception 'no'; end $$;
  insert into item values (900, 'his', 'his', '${bob}'), (901, 'hers', 'kept', '${alice}')`

const token = userToken({ sub: alice })
let app: TestApp
let hers: EventStreamClient
let his: EventStreamClient

beforeAll(async () => {
  // In the other mode triggers log the writes of functions.
  app = await createTestApp({ setup, config: { 'events.capture': 'off' } })
  hers = await openEventStream(app.url, 'tables=item,fixed', { token })
  his = await openEventStream(app.url, 'tables=item,fixed', { token: userToken({ sub: bob }) })
})
afterAll(async () => {
  await hers[Symbol.asyncDispose]()
  await his[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})
beforeEach(() => app.sql('delete from basalt.outbox'))

function call(
  name: string,
  body: unknown,
  table?: string,
  action?: string,
  as = token,
): Promise<TestResponse> {
  const headers = { ...(table && { 'x-notify-table': table }), ...(action && { 'x-notify-action': action }) }
  return app.request('POST', `/api/rpc/${name}`, { token: as, body, headers })
}

function logged() {
  return app.sql(
    'select action, table_name as table, record_key as key, record, old_record from basalt.outbox order by id',
  )
}

const item = (id: number, name: string) => ({ id, name, secret: 'kept', owner_id: alice })

describe('POST /rpc/:function with X-Notify-Table', () => {
  test('announces each row of a set as an event of its own, to subscribers that may read it', async () => {
    const { status } = await call('add_items', { p_first: 1, p_count: 2 }, 'item', 'create')
    expect(status).toBe(200)
    expect(await logged()).toEqual([
      { action: 'create', table: 'item', key: '[1]', record: item(1, 'n1'), old_record: null },
      { action: 'create', table: 'item', key: '[2]', record: item(2, 'n2'), old_record: null },
    ])
    await waitFor('the events', () => hers.messages.length === 2)
    expect(hers.messages).toEqual([
      { action: 'create', table: 'item', record: item(1, 'n1') },
      { action: 'create', table: 'item', record: item(2, 'n2') },
    ])
    expect(his.messages).toEqual([])
  })

  test('announces a single row, an update by its key and a delete', async () => {
    await call('add_one', { p_id: 10 }, 'item', 'create')
    expect(await logged()).toMatchObject([{ action: 'create', key: '[10]', record: item(10, 'one') }])
    await app.sql('delete from basalt.outbox')
    expect((await call('rename', { p_id: 10 }, 'item', 'update')).json).toEqual([{ id: 10 }])
    expect(await logged()).toEqual([
      { action: 'update', table: 'item', key: '[10]', record: item(10, 'renamed'), old_record: null },
    ])
    await app.sql('delete from basalt.outbox')
    await call('remove', { p_id: 10 }, 'item', 'delete', await app.adminToken())
    expect(await logged()).toMatchObject([{ action: 'delete', key: '[10]', record: item(10, 'renamed') }])
  })

  test('announces only the rows of the page', async () => {
    const headers = { 'x-notify-table': 'item', 'x-notify-action': 'create' }
    const path = '/api/rpc/add_items?sort=-id&perPage=1'
    await app.request('POST', path, { token, headers, body: { p_first: 20, p_count: 3 } })
    expect(await logged()).toMatchObject([{ key: '[22]' }])
  })

  test('announces the rows of the table, not those that the function returns', async () => {
    const rows = [
      { id: 901, name: 'forged', owner_id: bob },
      { id: 900, name: 'forged', owner_id: alice },
      { id: 777, name: 'forged', owner_id: bob },
    ]
    for (const action of ['create', 'update']) {
      expect((await call('pretend', { p_rows: rows }, 'item', action)).json).toHaveLength(3)
      expect(await logged()).toMatchObject([{ action, key: '[901]', record: item(901, 'hers') }])
      await app.sql('delete from basalt.outbox')
    }
    // Policies may hide an existing row from the caller.
    for (const as of [token, await app.adminToken()]) {
      await call('pretend', { p_rows: rows.slice(0, 2) }, 'item', 'delete', as)
      expect(await logged()).toEqual([])
    }
  })

  test.each([
    ['no table', 'add_items', undefined, 'create'],
    ['no action', 'add_items', 'item', undefined],
    ['an unknown action', 'add_items', 'item', 'upsert'],
    ['an action of Object', 'add_items', 'item', 'constructor'],
    ['an unknown table', 'add_items', 'no_such', 'create'],
    ['a system table', 'add_items', 'basalt.users', 'create'],
    ['a view', 'add_items', 'items', 'create'],
    ['a table without a key', 'add_items', 'keyless', 'create'],
    ['a table that the caller may not write', 'all_fixed', 'fixed', 'update'],
    ['rows without the key', 'nameless', 'item', 'update'],
    ['a set of scalars', 'scalar', 'item', 'update'],
    ['nothing returned', 'nothing', 'item', 'update'],
  ])('ignores %s', async (_what, name, table, action) => {
    const body = name === 'add_items' ? { p_first: 500 } : {}
    expect((await call(name, body, table, action)).status).toBeLessThan(300)
    expect(await logged()).toEqual([])
    await app.sql('delete from item where id = 500')
  })

  test('ignores a table without a grant for the action, for programs and callers alike', async () => {
    await app.sql('insert into basalt.users (id) values ($1)', [alice])
    const { key } = await createApiKey(app, { userId: alice, allowedTables: ['rpc:add_one'] })
    expect((await call('add_one', { p_id: 600 }, 'item', 'create', key)).status).toBe(200)
    expect(await logged()).toEqual([])
    const admin = await app.adminToken()
    await call('all_fixed', {}, 'fixed', 'update', admin)
    expect(await logged()).toMatchObject([{ table: 'fixed', record: { id: 1, name: 'fixed' } }])
  })

  test('announces nothing of a call that fails', async () => {
    expect((await call('add_and_fail', { p_id: 700 }, 'item', 'create')).status).toBe(400)
    expect(await logged()).toEqual([])
  })

  test('announces only what triggers have logged, where they log the table', async () => {
    await using captured = await createTestApp({ setup })
    await using stream = await openEventStream(captured.url, 'tables=item', { token })
    for (const [name, body] of [
      ['pretend', { p_rows: [item(901, 'forged')] }],
      ['add_items', { p_first: 800, p_count: 2 }],
    ] as const) {
      const headers = { 'x-notify-table': 'item', 'x-notify-action': 'create' }
      expect((await captured.request('POST', `/api/rpc/${name}`, { token, body, headers })).status).toBe(200)
    }
    expect((await stream.next(2)).map(({ record }) => record.id)).toEqual([800, 801])
    expect(await captured.sql('select record_key from basalt.outbox order by id')).toEqual([
      { record_key: '[800]' },
      { record_key: '[801]' },
    ])
  })
})
