import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { basaltHere } from '../../../../../test/terminal.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { testSecret } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { captureTable } from '../index.ts'

let app: TestApp
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
create table parent (id int primary key);
create table child (id int primary key, parent_id int references parent on delete cascade);
create table "Odd %s ""t""" (" id%I" int primary key, "a'b" text, at timestamptz, data bytea);
create table part (id int, day date, note text, primary key (id, day)) partition by range (day);
create table part_2026 partition of part for values from ('2026-01-01') to ('2027-01-01');
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
  // The schema was opened to callers at the start; some columns are closed now.
  await app.sql(`
    revoke select on hidden, pair, mine, bare from basalt_authenticated;
    grant select (id, name, derived) on hidden to basalt_authenticated;
    grant select (id, name) on bare to basalt_authenticated;
    grant select (room, number, label) on pair to basalt_authenticated;
    grant select (id, owner_id, body) on mine to basalt_authenticated`)
  await app.sql(`
    insert into basalt.webhooks (id, url, events, tables, enabled)
    values (gen_random_uuid(), 'http://127.0.0.1:9/', '{create,update,delete}', '{}', true)`)
  for (const table of ['hidden', 'pair', 'mine']) {
    const relation = app.app.catalog.current.relations.get(table)
    if (relation === undefined) throw new Error(`no table ${table}`)
    await app.app.database.system.transaction((transaction) => captureTable(transaction, relation))
  }
  // Both the columns and the webhook are known everywhere within a second or two.
  await waitFor('the columns to be closed', async () => {
    const { json } = await app.request('GET', '/api/collections/mine', { token })
    return json.code === undefined
  })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() =>
  app.sql(`
    truncate bare, open, hidden, pair, mine, keyless, parent, child, part, echo, "Odd %s ""t""";
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

describe('a change by a caller who may not read every column', () => {
  const one = { id: 1, name: 'one', secret: 'hush', derived: 'ONE' }

  test('is logged with the whole row, and answered without', async () => {
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

  test('of the key is logged with both keys and both whole rows', async () => {
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

  test('in a batch is logged in order', async () => {
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

  test.each(['PATCH', 'DELETE'])('%s of a row that is not theirs touches nothing', async (method) => {
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
  ] as const)('%s %s has a fault of the request as ever', async (method, path, body) => {
    expect((await send(method, path, body)).status).toBe(400)
    const operations = [
      { method: method === 'PATCH' ? 'update' : 'delete', id: path.split('/')[1], ...(body && { body }) },
    ]
    const batch = await send('POST', `${path.split('/')[0]}/batch`, { operations })
    expect([batch.status, batch.json.operation]).toEqual([400, { index: 0, method: operations[0]?.method }])
    expect(await logged()).toEqual([])
  })
})

test('a change by a caller who may not read every column is logged as partial where there are no triggers', async () => {
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

test('a table without a key is logged without one', async () => {
  expect((await send('POST', 'keyless', { name: 'x' })).status).toBe(201)
  expect(await logged()).toEqual([event('create', 'keyless', null, { name: 'x' })])
})

describe('basalt events', () => {
  const run = (...args: string[]) =>
    basaltHere(['events', ...args], {
      env: { BASALT_DATABASE_URL: app.database.url, BASALT_AUTH_JWT_SECRET: testSecret },
    })

  async function capture(...names: string[]): Promise<void> {
    for (const name of names) {
      const done = `${name}: changes by plain SQL are events now\n`
      expect(await run('capture', name)).toEqual({ code: 0, stdout: done, stderr: '' })
    }
  }

  test('capture makes what SQL does events, whole statements at once', async () => {
    await capture('open')
    await app.sql(`insert into open select n, 'n' || n from generate_series(1, 3) n`)
    await app.sql(`update open set id = id + 10, name = upper(name) where id < 3`)
    await app.sql('delete from open where id > 3')
    await app.sql('delete from open where id > 100')
    expect(await logged()).toEqual([
      event('create', 'open', '[1]', { id: 1, name: 'n1' }),
      event('create', 'open', '[2]', { id: 2, name: 'n2' }),
      event('create', 'open', '[3]', { id: 3, name: 'n3' }),
      event('update', 'open', '[11]', { id: 11, name: 'N1' }, { key: '[1]', record: { id: 1, name: 'n1' } }),
      event('update', 'open', '[12]', { id: 12, name: 'N2' }, { key: '[2]', record: { id: 2, name: 'n2' } }),
      event('delete', 'open', '[11]', { id: 11, name: 'N1' }),
      event('delete', 'open', '[12]', { id: 12, name: 'N2' }),
    ])
  })

  test('capture leaves what the data API does once', async () => {
    await capture('open', 'hidden')
    for (const table of ['open', 'hidden']) {
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
    }
    const all = await logged()
    expect(all.map(({ action, table, key }) => `${action} ${table} ${key}`)).toEqual(
      ['open', 'hidden'].flatMap((table) => [
        `create ${table} [7]`,
        `update ${table} [7]`,
        `create ${table} [8]`,
        `create ${table} [9]`,
        `delete ${table} [8]`,
        `delete ${table} [7]`,
        `create ${table} [5]`,
        `update ${table} [5]`,
        `update ${table} [5]`,
        `delete ${table} [5]`,
      ]),
    )
  })

  test('capture sees what triggers and foreign keys do behind a write of the data API', async () => {
    await capture('parent', 'child', 'echo')
    await app.sql(
      'insert into parent values (1); insert into child values (1, 1), (2, 1); truncate basalt.outbox',
    )
    expect((await send('DELETE', 'parent/1')).status).toBe(204)
    expect((await send('POST', 'echo', { id: 1, note: 'first' })).status).toBe(201)
    const all = await logged()
    expect(all.map(({ action, table, key }) => `${action} ${table} ${key}`).sort()).toEqual([
      'create echo [101]',
      'create echo [1]',
      'delete child [1]',
      'delete child [2]',
      'delete parent [1]',
    ])
  })

  test('capture works for names, types and partitions of any kind', async () => {
    const odd = 'Odd %s "t"'
    await capture(odd, 'part', 'keyless')
    await app.sql(`
      set timezone = 'Asia/Tokyo'; set bytea_output = 'escape';
      insert into "Odd %s ""t""" values (1, 'x', '2026-01-02T03:04:05Z', '\\x0aff');
      insert into part values (1, '2026-05-06', 'a');
      update part set note = 'b';
      insert into keyless values ('k'); delete from keyless; reset all`)
    expect(await logged()).toEqual([
      event('create', odd, '[1]', {
        ' id%I': 1,
        "a'b": 'x',
        at: '2026-01-02T03:04:05+00:00',
        data: '\\x0aff',
      }),
      event('create', 'part', '[1, "2026-05-06"]', { id: 1, day: '2026-05-06', note: 'a' }),
      event(
        'update',
        'part',
        '[1, "2026-05-06"]',
        { id: 1, day: '2026-05-06', note: 'b' },
        { record: { id: 1, day: '2026-05-06', note: 'a' } },
      ),
      event('create', 'keyless', null, { name: 'k' }),
      event('delete', 'keyless', null, { name: 'k' }),
    ])
  })

  test('capture logs nothing without a consumer, and nothing that is rolled back', async () => {
    await capture('open')
    await app.sql(`begin; insert into open values (1, 'x'); rollback`)
    await app.sql(`update basalt.webhooks set events = '{delete}', tables = '{hidden}'`)
    await app.sql(`insert into open values (2, 'x'); delete from open`)
    await app.sql(`update basalt.webhooks set events = '{create,update,delete}', tables = '{}'`)
    expect(await logged()).toEqual([])
  })

  test('release ends it; both may be said twice', async () => {
    await capture('open', 'open')
    const done = 'open: changes by plain SQL are no events\n'
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await run('release', 'open')).toEqual({ code: 0, stdout: done, stderr: '' })
    }
    await app.sql(`insert into open values (1, 'x')`)
    expect(await logged()).toEqual([])
  })

  test.each([
    ['capture', 'nothing', 'collection not found: nothing'],
    ['capture', 'shown', 'shown is a view: only changes of tables are events'],
    ['release', 'basalt.outbox', 'collection not found: basalt.outbox'],
  ])('%s %s is refused', async (name, table, message) => {
    expect(await run(name, table)).toEqual({ code: 1, stdout: '', stderr: `basalt: ${message}\n` })
  })
})
