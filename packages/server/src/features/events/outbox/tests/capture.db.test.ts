import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { basaltHere } from '../../../../../test/terminal.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { testSecret } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let app: TestApp
const odd = 'Odd %s "t"'
const token = userToken({ sub: alice })

const tables = `
create table open (id int primary key, name text);
create table hidden (id int primary key, name text, secret text default 'hush', derived text generated always as (upper(name)) stored);
revoke select on hidden from basalt_authenticated;
create table pair (room text, number int, label text, secret text default 'hush', primary key (room, number));
create table mine (
  id int primary key, owner_id uuid not null default nullif(current_setting('basalt.user_id', true), '')::uuid,
  body text, secret text default 'hush'
);
alter table mine enable row level security;
create policy own on mine using (owner_id = nullif(current_setting('basalt.user_id', true), '')::uuid);
create table keyless (name text);
create table bare (id int primary key, name text, secret text default 'hush');
comment on table bare is 'By the API alone. @events off';
create table parent (id int primary key);
create table child (id int primary key, parent_id int references parent on delete cascade);
create table "Odd %s ""t""" (" id%I" int primary key, "a'b" text, at timestamptz, data bytea, n int,
  next int generated always as (n + 1) stored);
create table tree (id int primary key, parent int references tree on delete cascade);
create table remade (id int primary key, name text);
create table part (id int, day date, note text, primary key (id, day)) partition by range (day);
create table part_2026 partition of part for values from ('2026-01-01') to ('2027-01-01');
create table part_2027 (note text, id int not null, day date not null);
alter table part attach partition part_2027 for values from ('2027-01-01') to ('2028-01-01');
create table echo (id int primary key, note text);
create function repeat_echo() returns trigger language plpgsql as $$
begin
  if new.id < 100 then insert into echo values (new.id + 100, 'echo'); end if;
  return null;
end $$;
create trigger repeat_echo after insert on echo for each row execute function repeat_echo();
create view shown as select * from open;
`

beforeAll(async () => {
  app = await createTestApp({ setup: tables, config: { 'webhooks.deliver': 'false' } })
  // At boot the schema was opened to callers. Now some columns are closed.
  await app.sql(`
    revoke select on hidden, pair, mine, bare from basalt_authenticated;
    grant select (id, name, derived) on hidden to basalt_authenticated;
    grant select (id, name) on bare to basalt_authenticated;
    grant select (room, number, label) on pair to basalt_authenticated;
    grant select (id, owner_id, body) on mine to basalt_authenticated`)
  await app.sql(`
    insert into basalt.webhooks (id, url, events, tables, enabled)
    values (gen_random_uuid(), 'http://127.0.0.1:9/', '{create,update,delete,truncate}', '{}', true)`)
  // The columns and the webhook are known on every node within one or two seconds.
  await waitFor('the columns to be closed', async () => {
    const { json } = await app.request('GET', '/api/collections/mine', { token })
    return json.code === undefined
  })
  for (const table of ['hidden', 'pair', 'mine', 'open', 'echo', 'tree', 'child', 'parent', 'keyless'])
    await waitForTriggers(table, 4)
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() =>
  app.sql(`
    truncate bare, open, hidden, pair, mine, keyless, parent, child, part, echo, tree, remade, "Odd %s ""t""";
    insert into hidden (id, name) values (1, 'one'), (2, 'two');
    insert into pair values ('north', 1, 'N1', 'x');
    insert into mine values (1, '${alice}', 'hers', 'x'), (2, '${bob}', 'his', 'y');
    truncate basalt.outbox`),
)

function send(method: string, path: string, body?: unknown) {
  return app.request(method, `/api/collections/${path}`, {
    token,
    ...(body === undefined ? {} : { body }),
  })
}

async function logged() {
  return await app.sql(`
    select action, table_name as table, record_key as key, old_record_key as "oldKey", record, old_record as "oldRecord"
    from basalt.outbox order by id`)
}

const event = (
  action: string,
  table: string,
  key: string | null,
  record: object,
  old: { record?: object | null; key?: string | null } = {},
) => ({ action, table, key, oldKey: old.key ?? null, record, oldRecord: old.record ?? null })

describe('outbox › API writes by a caller who may not read every column', () => {
  const one = { id: 1, name: 'one', secret: 'hush', derived: 'ONE' }

  test('are logged with the whole row, which the response leaves out', async () => {
    const created = await send('POST', 'hidden', { id: 3, name: 'three' })
    expect([created.status, created.json]).toEqual([201, { id: 3, name: 'three', derived: 'THREE' }])
    const updated = await send('PATCH', 'hidden/1', { name: 'uno', secret: 'new' })
    expect([updated.status, updated.json]).toEqual([200, { id: 1, name: 'uno', derived: 'UNO' }])
    expect((await send('DELETE', 'hidden/1')).status).toBe(204)
    const uno = { id: 1, name: 'uno', secret: 'new', derived: 'UNO' }
    expect(await logged()).toEqual([
      event('create', 'hidden', '[3]', { id: 3, name: 'three', secret: 'hush', derived: 'THREE' }),
      event('update', 'hidden', '[1]', uno, { record: one }),
      event('delete', 'hidden', '[1]', uno),
    ])
  })

  test('are logged with both keys and both whole rows when they change the key', async () => {
    expect((await send('PATCH', 'pair/north,1', { number: 2 })).status).toBe(200)
    expect(await logged()).toEqual([
      event(
        'update',
        'pair',
        '["north", 2]',
        { room: 'north', number: 2, label: 'N1', secret: 'x' },
        { key: '["north", 1]', record: { room: 'north', number: 1, label: 'N1', secret: 'x' } },
      ),
    ])
  })

  test('are logged in order in a batch', async () => {
    const operations = [
      { method: 'create', body: { id: 5, name: 'five' } },
      { method: 'create', body: { id: 4, name: 'four' } },
      { method: 'update', id: 2, body: { name: 'zwei' } },
      { method: 'delete', id: 5 },
    ]
    const response = await send('POST', 'hidden/batch', { operations })
    expect([response.status, response.json]).toEqual([
      200,
      [
        { index: 0, status: 201, body: { id: 5, name: 'five', derived: 'FIVE' } },
        { index: 1, status: 201, body: { id: 4, name: 'four', derived: 'FOUR' } },
        { index: 2, status: 200, body: { id: 2, name: 'zwei', derived: 'ZWEI' } },
        { index: 3, status: 204 },
      ],
    ])
    const five = { id: 5, name: 'five', secret: 'hush', derived: 'FIVE' }
    expect(await logged()).toEqual([
      event('create', 'hidden', '[5]', five),
      event('create', 'hidden', '[4]', { id: 4, name: 'four', secret: 'hush', derived: 'FOUR' }),
      event(
        'update',
        'hidden',
        '[2]',
        { id: 2, name: 'zwei', secret: 'hush', derived: 'ZWEI' },
        {
          record: { id: 2, name: 'two', secret: 'hush', derived: 'TWO' },
        },
      ),
      event('delete', 'hidden', '[5]', five),
    ])
  })

  test.each(['PATCH', 'DELETE'])('%s of another user’s row changes and logs nothing', async (method) => {
    const body = method === 'PATCH' ? { body: 'stolen' } : undefined
    const refused = { code: 404, message: 'record not found', error: 'record_not_found' }
    for (const id of [2, 3]) expect(envelope(await send(method, `mine/${id}`, body))).toEqual(refused)
    expect((await send(method, 'mine/1', body)).status).toBe(method === 'PATCH' ? 200 : 204)
    const record = { id: 1, owner_id: alice, body: 'hers', secret: 'x' }
    expect(await logged()).toEqual([
      method === 'PATCH'
        ? event('update', 'mine', '[1]', { ...record, body: 'stolen' }, { record })
        : event('delete', 'mine', '[1]', record),
    ])
  })

  test.each([
    ['PATCH', 'hidden/x', { name: 'x' }],
    ['DELETE', 'hidden/x', undefined],
    ['PATCH', 'pair/north,x', { label: 'x' }],
  ] as const)('%s %s returns 400 for a malformed value as without capture', async (method, path, body) => {
    expect((await send(method, path, body)).status).toBe(400)
    const operations = [
      { method: method === 'PATCH' ? 'update' : 'delete', id: path.split('/')[1], ...(body && { body }) },
    ]
    const batch = await send('POST', `${path.split('/')[0]}/batch`, { operations })
    expect([batch.status, batch.json.operation]).toEqual([400, { index: 0, method: operations[0]?.method }])
    expect(await logged()).toEqual([])
  })
})

test('outbox › API writes by a caller who may not read every column › are logged as partial without triggers', async () => {
  for (const [method, path, body] of [
    ['POST', 'bare', { id: 1, name: 'one' }],
    ['PATCH', 'bare/1', { name: 'uno' }],
    ['DELETE', 'bare/1', undefined],
  ] as const) {
    expect((await send(method, path, body)).status).toBeLessThan(300)
  }
  expect(await logged()).toEqual([
    event('create', 'bare', '[1]', { id: 1, name: 'one' }),
    event('update', 'bare', '[1]', { id: 1, name: 'uno' }, { record: { id: 1, name: 'one' } }),
    event('delete', 'bare', '[1]', { id: 1, name: 'uno' }),
  ])
  expect(await app.sql('select distinct is_partial from basalt.outbox')).toEqual([{ is_partial: true }])
})

test('outbox › logs a row without a primary key without a record key', async () => {
  expect((await send('POST', 'keyless', { name: 'x' })).status).toBe(201)
  expect(await logged()).toEqual([event('create', 'keyless', null, { name: 'x' })])
})

describe('outbox › changes past the API', () => {
  test('are events, for whole statements', async () => {
    await app.sql(`insert into open select n, 'n' || n from generate_series(1, 3) n`)
    await app.sql(`update open set id = id + 10, name = upper(name) where id < 3`)
    await app.sql('delete from open where id > 3')
    await app.sql('delete from open where id > 100')
    await app.sql(
      `insert into open values (3, 'x'), (4, 'y') on conflict (id) do update set name = excluded.name`,
    )
    await app.sql(`begin; insert into open values (5, 'x'); rollback`)
    expect(await logged()).toEqual([
      event('create', 'open', '[1]', { id: 1, name: 'n1' }),
      event('create', 'open', '[2]', { id: 2, name: 'n2' }),
      event('create', 'open', '[3]', { id: 3, name: 'n3' }),
      event('update', 'open', '[11]', { id: 11, name: 'N1' }, { key: '[1]', record: { id: 1, name: 'n1' } }),
      event('update', 'open', '[12]', { id: 12, name: 'N2' }, { key: '[2]', record: { id: 2, name: 'n2' } }),
      event('delete', 'open', '[11]', { id: 11, name: 'N1' }),
      event('delete', 'open', '[12]', { id: 12, name: 'N2' }),
      event('update', 'open', '[3]', { id: 3, name: 'x' }, { record: { id: 3, name: 'n3' } }),
      event('create', 'open', '[4]', { id: 4, name: 'y' }),
    ])
  })

  test('are events once each when triggers and foreign keys make them, on the same table and on others', async () => {
    await app.sql(`
      insert into parent values (1); insert into child values (1, 1), (2, 1);
      insert into tree values (1, null), (2, 1), (3, 2), (4, null); truncate basalt.outbox`)
    expect((await send('DELETE', 'parent/1')).status).toBe(204)
    expect((await send('DELETE', 'tree/1')).status).toBe(204)
    expect((await send('POST', 'echo', { id: 1, note: 'first' })).status).toBe(201)
    const all = await logged()
    expect(all.map(({ action, table, key }) => `${action} ${table} ${key}`).sort()).toEqual([
      'create echo [101]',
      'create echo [1]',
      'delete child [1]',
      'delete child [2]',
      'delete parent [1]',
      'delete tree [1]',
      'delete tree [2]',
      'delete tree [3]',
    ])
    const second = all.find(({ table, key }) => table === 'child' && key === '[2]')
    expect(second?.record).toEqual({ id: 2, parent_id: 1 })
  })

  test('are events for unusual names, types and session settings', async () => {
    await app.sql(`
      set timezone = 'Asia/Tokyo'; set bytea_output = 'escape';
      insert into "Odd %s ""t""" values (1, 'x', '2026-01-02T03:04:05Z', '\\x0aff', 1);
      update "Odd %s ""t""" set "a'b" = '%s';
      insert into keyless values ('k'); delete from keyless; reset all`)
    const record = { ' id%I': 1, at: '2026-01-02T03:04:05+00:00', data: '\\x0aff', n: 1, next: 2 }
    expect(await logged()).toEqual([
      event('create', odd, '[1]', { ...record, "a'b": 'x' }),
      event('update', odd, '[1]', { ...record, "a'b": '%s' }, { record: { ...record, "a'b": 'x' } }),
      event('create', 'keyless', null, { name: 'k' }),
      event('delete', 'keyless', null, { name: 'k' }),
    ])
  })

  test('are events of the parent table for partitions, also by their own names and for moves between them', async () => {
    await app.sql(`create table part_2028 partition of part for values from ('2028-01-01') to ('2029-01-01')`)
    await waitForTriggers('part_2028', 4)
    await app.sql(`
      insert into part values (1, '2026-05-06', 'a'), (2, '2026-05-06', 'b');
      update part set day = '2027-05-06' where id = 1;
      insert into part_2028 values (3, '2028-05-06', 'c');
      update part_2027 set note = 'A'`)
    const row = (id: number, day: string, note: string) => ({ id, day, note })
    expect(await logged()).toEqual([
      event('create', 'part', '[1, "2026-05-06"]', row(1, '2026-05-06', 'a')),
      event('create', 'part', '[2, "2026-05-06"]', row(2, '2026-05-06', 'b')),
      event('update', 'part', '[1, "2027-05-06"]', row(1, '2027-05-06', 'a'), {
        key: '[1, "2026-05-06"]',
        record: row(1, '2026-05-06', 'a'),
      }),
      event('create', 'part', '[3, "2028-05-06"]', row(3, '2028-05-06', 'c')),
      event('update', 'part', '[1, "2027-05-06"]', row(1, '2027-05-06', 'A'), {
        record: row(1, '2027-05-06', 'a'),
      }),
    ])
    await app.sql('truncate basalt.outbox; truncate part')
    await app.sql('truncate part_2027')
    expect(await logged()).toEqual([
      event('truncate', 'part', null, {}),
      event('truncate', 'part', null, { partition: 'part_2027' }),
    ])
    await app.sql('drop table part_2028')
  })

  test('are events when a role without access to the log makes them, and the role cannot forge one', async () => {
    const role = `event_writer_${randomUUID().slice(0, 8)}`
    await app.sql(`create role ${role}; grant insert on open to ${role};
      set role ${role}; insert into open values (1, 'x'); reset role`)
    expect(await logged()).toEqual([event('create', 'open', '[1]', { id: 1, name: 'x' })])
    const forge = app.sql(`
      create table mine_too (id int); alter table mine_too owner to ${role}; set local role ${role};
      create trigger forged after insert on mine_too referencing new table as new_rows
        for each statement execute function basalt.capture_inserts('open', '')`)
    await expect(forge).rejects.toMatchObject({ code: '42501' })
    await app.sql(`reset role; drop owned by ${role}; drop role ${role}`)
  })

  test('are logged with their key when the row is too large, and never fail', async () => {
    await app.sql(`
      insert into open values (1, repeat('x', 17000000)), (2, 'small'); update open set name = 'y' where id = 1`)
    expect(
      await app.sql('select record_key as key, record, is_partial from basalt.outbox order by id'),
    ).toEqual([
      { key: '[1]', record: { id: 1 }, is_partial: true },
      { key: '[2]', record: { id: 2, name: 'small' }, is_partial: null },
      { key: '[1]', record: { id: 1, name: 'y' }, is_partial: true },
    ])
  })

  test('are logged one by one for 100,000 rows in one statement', async () => {
    await app.sql(`insert into open select n, 'n' from generate_series(1, 100000) n`)
    await app.sql(`update open set name = 'm' where id <= 20000`)
    const counts = await app.sql(`
      select action, count(*)::int, count(distinct record_key)::int as keys from basalt.outbox group by 1 order by 1`)
    expect(counts).toEqual([
      { action: 'create', count: 100_000, keys: 100_000 },
      { action: 'update', count: 20_000, keys: 20_000 },
    ])
  })
})

/** Writes to one table in every way. Returns the expected log. */
async function writeAll(table: string): Promise<readonly string[]> {
  await send('POST', table, { id: 7, name: 'x' })
  await send('PATCH', `${table}/7`, { name: 'y' })
  await send('POST', `${table}/batch`, {
    operations: [
      { method: 'create', body: { id: 8, name: 'z' } },
      { method: 'create', body: { id: 9, name: 'z' } },
      { method: 'delete', id: 8 },
    ],
  })
  await send('DELETE', `${table}/7`)
  await send('POST', `${table}?onConflict=id`, { id: 5, name: 'v' })
  await send('POST', `${table}?onConflict=id`, { id: 5, name: 'w' })
  await send('PATCH', `${table}?filter=id=5&expect=1`, { name: 'x' })
  await send('DELETE', `${table}?filter=id=5&expect=1`)
  const rows = [
    { id: 21, name: 'i' },
    { id: 22, name: 'j' },
  ]
  await send('POST', `${table}/import`, rows)
  const done = 'create 7,update 7,create 8,create 9,delete 8,delete 7,create 5,update 5,update 5,delete 5'
  return `${done},create 21,create 22`.split(',').map((line) => line.replace(/(\d+)$/, `${table} [$1]`))
}

async function loggedLines(): Promise<string[]> {
  return (await logged()).map(({ action, table, key }) => `${action} ${table} ${key}`)
}

describe('outbox › API writes are logged once', () => {
  test.each(['open', 'hidden', 'bare'])('to %s, with or without triggers', async (table) => {
    await app.sql(`truncate ${table}; truncate basalt.outbox`)
    const expected = await writeAll(table)
    expect(await loggedLines()).toEqual(expected)
  })

  test('to a table whose triggers were dropped and are installed again', async () => {
    for (const operation of ['insert', 'update', 'delete', 'truncate']) {
      await app.sql(`drop trigger if exists basalt_capture_${operation} on open`)
    }
    const expected = await writeAll('open')
    expect(await loggedLines()).toEqual(expected)
    await waitForTriggers('open', 4)
  })

  test('to a table whose triggers are disabled', async () => {
    await app.sql('alter table open disable trigger user')
    const expected = await writeAll('open')
    expect(await loggedLines()).toEqual(expected)
    await app.sql('alter table open enable trigger user')
  })

  test('to a table that was dropped and created again', async () => {
    await waitForTriggers('remade', 4)
    await app.sql('drop table remade; create table remade (id int primary key, name text)')
    const expected = await writeAll('remade')
    expect(await loggedLines()).toEqual(expected)
    await waitForTriggers('remade', 4)
  })

  test('on two nodes while triggers are dropped and installed', async () => {
    const config = { 'webhooks.deliver': 'false' }
    await using other = await createTestApp({ database: app.database, config })
    const nodes = [app, other]
    const responses = await Promise.all(
      Array.from({ length: 120 }, async (_, index) => {
        if (index % 10 === 0) await app.sql('drop trigger if exists basalt_capture_insert on open')
        const body = { id: index, name: 'x' }
        return await (nodes[index % 2] ?? app).request('POST', '/api/collections/open', { token, body })
      }),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(120).fill(201))
    const keys = (await logged()).map(({ key }) => key)
    expect(keys.toSorted()).toEqual(Array.from({ length: 120 }, (_, index) => `[${index}]`).toSorted())
    await waitForTriggers('open', 4)
  })
})

describe('outbox › capture triggers', () => {
  test('block no writer while they wait for a lock; until then the API logs its own writes', async () => {
    const held = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    await app.sql('create table locked (id int primary key, name text)')
    const writing = app.app.database.system.transaction(async (transaction) => {
      await transaction.execute({ text: `insert into locked values (1, 'before')`, values: [] })
      began.resolve()
      await held.promise
    })
    await began.promise
    // Writers do not wait for the trigger change that waits for the first transaction.
    for (const id of [2, 3, 4]) {
      expect((await send('POST', 'locked', { id, name: 'x' })).status).toBe(201)
      await app.sql(`insert into locked values (${id + 10}, 'sql')`)
    }
    await waitForTriggers('locked', 0)
    held.resolve()
    await writing
    await waitForTriggers('locked', 4)
    expect(await loggedLines()).toEqual(['create locked [2]', 'create locked [3]', 'create locked [4]'])
    await app.sql(`insert into locked values (30, 'sql')`)
    await send('POST', 'locked', { id: 5, name: 'x' })
    expect((await loggedLines()).slice(3)).toEqual(['create locked [30]', 'create locked [5]'])
    await app.sql('drop table locked')
  })

  test('give way to DDL of the operator', async () => {
    const held = Promise.withResolvers<void>()
    const altering = app.app.database.system.transaction(async (transaction) => {
      await transaction.execute({ text: 'lock table echo in share row exclusive mode', values: [] })
      await held.promise
      await transaction.execute({ text: 'alter table echo add column more text', values: [] })
    })
    await app.sql(`update basalt.webhooks set tables = '{open}'`)
    await waitFor('an attempt', async () => {
      const [row] = await app.sql(
        `select count(*)::int from pg_locks where relation = 'echo'::regclass and not granted`,
      )
      return row?.count > 0
    })
    held.resolve()
    await altering
    await waitForTriggers('echo', 0)
    await app.sql(`update basalt.webhooks set tables = '{}'`)
    await waitForTriggers('echo', 4)
  })

  test('are installed on no table without a listener, with an opt-out or with a foreign partition', async () => {
    await app.sql(`
      create table apart (id int primary key);
      create foreign data wrapper nowhere; create server nowhere foreign data wrapper nowhere;
      create table far (id int) partition by range (id);
      create foreign table far_1 partition of far for values from (1) to (2) server nowhere`)
    await waitForTriggers('apart', 4)
    await waitFor('the log', () => app.log.some((line) => line.includes('a foreign table is a part of it')))
    await waitForTriggers('far', 0)
    const listed = await run('list')
    expect([listed.code, listed.stderr]).toEqual([0, ''])
    const all = ' +create, update, delete, truncate +'
    expect(listed.stdout).toMatch(new RegExp(`^apart${all}by any writer$`, 'm'))
    expect(listed.stdout).toMatch(
      new RegExp(`^bare${all}by the API alone: its comment holds @events off$`, 'm'),
    )
    expect(listed.stdout).toMatch(
      new RegExp(`^far${all}by the API alone: a foreign table is a part of it$`, 'm'),
    )
    await app.sql(`comment on table apart is '@events off'`)
    await waitForTriggers('apart', 0)
    await app.sql(`comment on table apart is null`)
    await waitForTriggers('apart', 4)
    await app.sql(`update basalt.webhooks set tables = '{open}', events = '{create}'`)
    await waitForTriggers('apart', 0)
    await waitForTriggers('open', 1)
    await app.sql(`update basalt.webhooks set tables = '{}', events = '{create,update,delete,truncate}'`)
    await waitForTriggers('open', 4)
    await app.sql('drop table apart, far; drop foreign data wrapper nowhere cascade')
  })

  test('log changes in their earlier version until they are replaced', async () => {
    for (const [operation, tables] of [
      ['insert', 'new table as new_rows'],
      ['update', 'new table as new_rows old table as old_rows'],
      ['delete', 'old table as old_rows'],
    ]) {
      await app.sql(`create or replace trigger basalt_capture_${operation} after ${operation} on open
        referencing ${tables} for each statement execute function basalt.capture_changes('open')`)
    }
    await send('POST', 'open', { id: 1, name: 'x' })
    expect(await loggedLines()).toEqual(['create open [1]'])
    await waitFor('the triggers', async () => {
      const rows = await app.sql(`
        select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
        where tgrelid = 'open'::regclass and p.proname = 'capture_changes'`)
      return rows.length === 0
    })
    await waitForTriggers('open', 4)
  })
})

describe('basalt events', () => {
  test.each(['capture', 'release'])('%s reports that there is nothing to do', async (name) => {
    expect(await run(name, 'open')).toEqual({
      code: 0,
      stdout:
        'open: nothing to do: changes are events, by any writer, while something listens; a comment on the table with @events off leaves out those past the API\n',
      stderr: '',
    })
  })

  test.each([
    ['capture', 'nothing', 'collection not found: nothing'],
    ['capture', 'shown', 'shown is a view: only changes of tables are events'],
    ['release', 'basalt.outbox', 'collection not found: basalt.outbox'],
  ])('%s %s fails with a message', async (name, table, message) => {
    expect(await run(name, table)).toEqual({ code: 1, stdout: '', stderr: `basalt: ${message}\n` })
  })
})

function run(...args: string[]) {
  return basaltHere(['events', ...args], {
    env: { BASALT_DATABASE_URL: app.database.url, BASALT_AUTH_JWT_SECRET: testSecret },
  })
}

/** Waits until the given number of triggers log changes of the table. */
async function waitForTriggers(table: string, count: number): Promise<void> {
  await waitFor(`${count} triggers on ${table}`, async () => {
    const [row] = await app.sql(
      `select count(*)::int from pg_trigger t join pg_proc p on p.oid = t.tgfoid
      where tgrelid = $1::regclass and p.proname like 'capture\\_%s'`,
      [table],
    )
    return row?.count === count
  })
}
