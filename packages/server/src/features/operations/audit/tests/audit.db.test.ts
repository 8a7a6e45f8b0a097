import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const tables = `${notes}
create table part (day date, "line ""no""" int, amount numeric, primary key (day, "line ""no""")) partition by range (day);
create table part_2026 partition of part for values from ('2026-01-01') to ('2027-01-01');
create table quiet (id int primary key);
create table pair (changed int, "row" text, primary key (changed, "row"));
grant all on pair to basalt_authenticated;
create materialized view note_count as select count(*) from note;
create schema shop;
create table shop.sale (id int primary key, note_id int references note on delete cascade);
`
const config = { 'audit.tables': 'note,part,pair,shop.sale', 'database.schemas': 'public,shop' }

describe('audit › rows', () => {
  let app: TestApp
  let admin: string
  const token = userToken({ sub: alice })

  beforeAll(async () => {
    app = await createTestApp({ setup: tables, config })
    admin = await app.adminToken()
  })
  afterAll(() => app[Symbol.asyncDispose]())

  const list = async (query: string) =>
    (await app.request('GET', `/api/admin/audit?${query}`, { token: admin })).json

  test('records old and new values, user, address and request of a create, an update and a delete', async () => {
    const send = (method: string, path: string, body?: object, id = 'x') =>
      app.request(method, `/api/collections/note${path}`, {
        token,
        body,
        headers: { 'x-request-id': `request-${id}` },
      })
    const { id } = (await send('POST', '', { body: 'one' }, 'create')).json
    await send('PATCH', `/${id}`, { body: 'two' }, 'update')
    await send('DELETE', `/${id}`, undefined, 'delete')
    const { items, count, limit, offset } = await list(`table=note&record_id=${id}`)
    expect({ count, limit, offset }).toEqual({ count: 3, limit: 100, offset: 0 })
    const row = (body: string) => ({ id, owner_id: alice, body })
    const common = {
      id: expect.any(String),
      timestamp: expect.any(String),
      actor: 'user',
      target: null,
      detail: {},
      user_id: alice,
      api_key_id: null,
      app_id: '00000000-0000-0000-0000-000000000000',
      table_name: 'note',
      record_id: String(id),
      ip_address: '127.0.0.1',
    }
    expect(items).toEqual([
      {
        ...common,
        action: 'rows.delete',
        operation: 'DELETE',
        old_values: row('two'),
        new_values: null,
        request_id: 'request-delete',
        administrator: null,
      },
      {
        ...common,
        action: 'rows.update',
        operation: 'UPDATE',
        old_values: row('one'),
        new_values: row('two'),
        request_id: 'request-update',
        administrator: null,
      },
      {
        ...common,
        action: 'rows.insert',
        operation: 'INSERT',
        old_values: null,
        new_values: row('one'),
        request_id: 'request-create',
        administrator: null,
      },
    ])
  })

  test('records no failed write, and a batch with its one request', async () => {
    const body = (operations: object[]) => ({
      token,
      body: { operations },
      headers: { 'x-request-id': 'request-batch' },
    })
    const create = (text: string | null) => ({ method: 'create', body: { body: text } })
    const path = '/api/collections/note/batch'
    expect((await app.request('POST', path, body([create('a'), create(null)]))).status).toBe(400)
    expect((await list('request_id=request-batch')).count).toBe(0)
    expect((await app.request('POST', path, body([create('a'), create('b')]))).status).toBe(200)
    expect((await list('request_id=request-batch')).count).toBe(2)
  })

  test('records administrators, plain SQL, cascades and truncation, but no other tables', async () => {
    const { id } = (
      await app.request('POST', '/api/collections/note', { token: admin, body: { body: 'x', owner_id: bob } })
    ).json
    expect((await list(`table=note&record_id=${id}`)).items[0]).toMatchObject({
      actor: 'admin',
      user_id: null,
    })
    await app.sql('insert into shop.sale values (7, $1)', [id])
    await app.sql('delete from note where id = $1', [id])
    const sale = (await list('table=shop.sale')).items
    expect(sale.map(({ operation, actor }: Record<string, string>) => [operation, actor])).toEqual([
      ['DELETE', 'sql'],
      ['INSERT', 'sql'],
    ])
    await app.sql(`insert into part values ('2026-02-03', 4, 1.50)`)
    await app.sql('insert into quiet values (1)')
    expect((await list('table=part')).items[0]).toMatchObject({
      record_id: '2026-02-03,4',
      new_values: { day: '2026-02-03', 'line "no"': 4, amount: 1.5 },
    })
    expect((await list('table=quiet')).count).toBe(0)
    await app.sql('truncate shop.sale')
    expect((await list('table=shop.sale')).items[0]).toMatchObject({ operation: 'TRUNCATE', record_id: null })
  })

  test('records each row of a statement, with its key of several columns', async () => {
    await app.sql(`insert into pair values (1, 'a'), (2, 'b')`)
    await app.sql(`update pair set "row" = case "row" when 'a' then 'c' else 'd' end`)
    await app.sql('delete from pair')
    await app.sql('delete from pair')
    const { items } = await list('table=pair')
    const records = items.map(({ operation, record_id, old_values, new_values }: Record<string, string>) => [
      operation,
      record_id,
      old_values,
      new_values,
    ])
    const row = (changed: number, text: string) => ({ changed, row: text })
    expect(records.toReversed()).toEqual([
      ['INSERT', '1,a', null, row(1, 'a')],
      ['INSERT', '2,b', null, row(2, 'b')],
      ['UPDATE', '1,c', row(1, 'a'), row(1, 'c')],
      ['UPDATE', '2,d', row(2, 'b'), row(2, 'd')],
      ['DELETE', '1,c', row(1, 'c'), null],
      ['DELETE', '2,d', row(2, 'd'), null],
    ])
  })

  test('records existing records of an upsert as updates and the others as creates', async () => {
    await app.sql(`insert into pair values (7, 'a')`)
    await app.sql(
      `insert into pair values (7, 'a'), (8, 'b') on conflict (changed, "row") do update set changed = 9`,
    )
    await app.sql(`insert into pair values (8, 'b') on conflict do nothing`)
    const recorded = ['7,a', '9,a', '8,b'].map(async (id) => (await list(`table=pair&record_id=${id}`)).items)
    const operations = (await Promise.all(recorded)).map((items) =>
      items.map(({ operation }: { operation: string }) => operation),
    )
    expect(operations).toEqual([['INSERT'], ['UPDATE'], ['INSERT']])
  })

  test('records creates of a batch, which become one statement, in their order', async () => {
    const operations = Array.from({ length: 20 }, (_, n) => ({ method: 'create', body: { body: `b${n}` } }))
    const headers = { 'x-request-id': 'request-merged' }
    const path = '/api/collections/note/batch'
    expect((await app.request('POST', path, { token, body: { operations }, headers })).status).toBe(200)
    const [made] = await app.sql(
      `select count(*)::int as rows, count(distinct cmin::text)::int as statements from note where body ~ '^b\\d+$'`,
    )
    expect(made).toEqual({ rows: 20, statements: 1 })
    const { items } = await list('request_id=request-merged')
    const recorded = items.map(({ new_values }: { new_values: { body: string } }) => new_values.body)
    expect(recorded.toReversed()).toEqual(operations.map(({ body }) => body.body))
  })

  test('records the key and the app of a write with an API key', async () => {
    const shop = '5b0b0000-0000-4000-8000-000000000001'
    await app.sql(`insert into basalt.apps (id, name) values ($1, 'shop')`, [shop])
    await app.sql('insert into basalt.users (id) values ($1)', [bob])
    const made = await app.request('POST', '/api/admin/api-keys', {
      token: admin,
      body: { userId: bob, name: 'writer', scope: 'readwrite', appId: shop },
    })
    const { key, apiKey } = made.json
    expect(
      (await app.request('POST', '/api/collections/note', { token: key, body: { body: 'k' } })).status,
    ).toBe(201)
    const { items } = await list(`api_key_id=${apiKey.id}&app_id=${shop}`)
    expect(items).toHaveLength(1)
    expect(items[0]).toMatchObject({ user_id: bob, api_key_id: apiKey.id, app_id: shop, operation: 'INSERT' })
  })

  test('is append-only and closed to callers', async () => {
    const attempt = (statement: string) =>
      app
        .sql(`begin; set local role basalt_authenticated; ${statement}; commit`)
        .finally(() => app.sql('rollback'))
    for (const statement of [
      'select from basalt.audit',
      `insert into basalt.audit (actor, action) values ('x', 'x')`,
      `update basalt.audit set actor = 'x'`,
      'delete from basalt.audit',
      'truncate basalt.audit',
    ])
      await expect(attempt(statement)).rejects.toThrow(/permission denied/)
  })

  test('returns the newest first, whatever the digits of their ids', async () => {
    await app.sql(
      `insert into note (owner_id, body) select '${alice}', 'row ' || n from generate_series(1, 12) n`,
    )
    const { items } = await list('action=rows.insert&actor=sql&table=note&limit=12')
    expect(items.map(({ new_values }: { new_values: { body: string } }) => new_values.body)).toEqual(
      Array.from({ length: 12 }, (_, index) => `row ${12 - index}`),
    )
    const ids: number[] = (await list('limit=500')).items.map(({ id }: { id: string }) => Number(id))
    expect(ids).toEqual(ids.toSorted((one, other) => other - one))
  })

  test('filters by user, operation, actor and time, in pages', async () => {
    expect((await list(`user_id=${bob}&operation=DELETE`)).count).toBe(0)
    const inserts = await list(`user_id=${alice}&operation=INSERT`)
    expect(inserts.items.every(({ operation }: { operation: string }) => operation === 'INSERT')).toBe(true)
    expect((await list(`user_id=${alice.toUpperCase()}&operation=INSERT`)).items).toEqual(inserts.items)
    const [newest, second] = inserts.items
    expect((await list(`user_id=${alice}&operation=INSERT&limit=1&offset=1`)).items).toEqual([second])
    expect(
      (await list(`user_id=${alice}&from=${encodeURIComponent(newest.timestamp)}`)).count,
    ).toBeGreaterThan(0)
    expect((await list('to=2020-01-01')).count).toBe(0)
    expect((await list('actor=admin&action=admin.sign_in')).items[0]).toMatchObject({
      actor: 'admin',
      table_name: null,
      operation: null,
    })
  })

  test("records address and request of an administrator's action, whatever its object", async () => {
    const account = { email: 'ann@example.com', password: 'tangerine-harbour-42' }
    const { user } = (await app.request('POST', '/api/auth/register', { body: account })).json
    const acts: [method: string, path: string, body?: object][] = [
      ['POST', '/apps', { name: 'shop', ownerUserId: user.id }],
      ['POST', '/api-keys', { name: 'nightly', userId: user.id }],
      ['PATCH', '/auth-settings', {}],
      ['PUT', '/usage/00000000-0000-0000-0000-000000000000/plan', { plan: 'default' }],
      ['POST', '/jobs', { type: 'job_retention' }],
      ['POST', '/schedules', { name: 'x', jobType: 'job_retention', cronExpr: '0 0 * * *' }],
      ['PUT', '/email/templates/shop.hello', { subjectTemplate: 'x', htmlTemplate: 'x' }],
      ['POST', '/matviews', { viewName: 'note_count' }],
      ['POST', `/users/${user.id}/disable`],
      ['DELETE', `/users/${user.id}/factors`],
    ]
    const send = (method: string, path: string, id: string, body?: object) =>
      app.request(method, path, { token: admin, body, headers: { 'x-request-id': id } })
    for (const [index, [method, path, body]] of acts.entries()) {
      const response = await send(method, `/api/admin${path}`, `admin-act-${index}`, body)
      expect([path, response.status]).toEqual([path, expect.toSatisfy((status) => status < 300)])
      expect((await list(`request_id=admin-act-${index}`)).items).toEqual([
        expect.objectContaining({ actor: 'admin', ip_address: '127.0.0.1' }),
      ])
    }
    await send('POST', '/api/webhooks', 'act-webhooks', { url: 'http://127.0.0.1:9/' })
    expect((await list('request_id=act-webhooks')).items).toMatchObject([{ action: 'webhooks.create' }])
    const signIn = {
      body: { password: testAdminPassword },
      headers: { 'x-request-id': 'act-sign-in' },
    }
    const { token: other } = (await app.request('POST', '/api/admin/auth', signIn)).json
    const signOut = { token: other, headers: { 'x-request-id': 'act-sign-out' } }
    expect((await app.request('POST', '/api/admin/auth/logout', signOut)).status).toBeLessThan(300)
    expect((await list('request_id=act-sign-in')).items).toMatchObject([{ action: 'admin.sign_in' }])
    expect((await list('request_id=act-sign-out')).items).toMatchObject([{ action: 'admin.sign_out' }])
  })

  test.each([
    ['user_id=x', 'invalid user_id filter; must be a UUID'],
    ['operation=insert', 'invalid operation filter; must be one of: INSERT, UPDATE, DELETE'],
    ['limit=x', 'invalid limit'],
    ['offset=-1', 'invalid offset'],
    ['from=x', 'invalid from filter; expected RFC3339 or YYYY-MM-DD'],
    ['from=2026-02-31T00:00:00Z', 'invalid from filter; expected RFC3339 or YYYY-MM-DD'],
    ['from=2026-01-02&to=2026-01-01', 'to filter must be greater than or equal to from filter'],
  ])('returns 400 for %s', async (query, message) => {
    const response = await app.request('GET', `/api/admin/audit?${query}`, { token: admin })
    expect([response.status, response.json.message]).toEqual([400, message])
  })
})

describe('audit › tables', () => {
  test('audits a table that is created later, and follows a renamed key', async () => {
    await using app = await createTestApp({ config: { 'audit.tables': '*' } })
    await app.sql('create table late (id int primary key)')
    const args = async () =>
      (
        await app.sql<{ args: string }>(
          `select encode(tgargs, 'escape') as args from pg_trigger where tgname = 'basalt_audit_insert'`,
        )
      )[0]?.args
    await waitFor('the trigger', async () => (await args()) === 'late\\000id\\000')
    await app.sql('alter table late rename column id to number')
    await waitFor('the new key', async () => (await args()) === 'late\\000number\\000')
    await app.sql('insert into late values (5)')
    expect(await app.sql('select record_id from basalt.audit where table_name = $1', ['late'])).toEqual([
      { record_id: '5' },
    ])
  })

  test('records each row once in tables with partitions or inheritance children, whichever of them a statement names', async () => {
    const setup = `
      create table log (day int primary key) partition by range (day);
      create table a_log partition of log for values from (0) to (10);
      create table parent (id int primary key);
      create table child (primary key (id)) inherits (parent);
      create table later (day int primary key);`
    await using app = await createTestApp({ setup, config: { 'audit.tables': '*' } })
    await app.sql('insert into log values (1)')
    await app.sql('insert into a_log values (2)')
    await app.sql('delete from log where day = 2')
    await app.sql('insert into child values (3)')
    await app.sql('delete from parent')
    await app.sql('alter table log attach partition later for values from (10) to (20)')
    const own = async () =>
      await app.sql(
        `select from pg_trigger where tgrelid = 'later'::regclass and tgparentid = 0 and not tgisinternal`,
      )
    await waitFor('the triggers of the whole', async () => (await own()).length === 0)
    await app.sql('insert into log values (11)')
    await app.sql('insert into later values (12)')
    const rows = await app.sql(
      'select table_name, operation, record_id from basalt.audit where table_name is not null order by id',
    )
    expect(rows.map((row) => Object.values(row))).toEqual([
      ['log', 'INSERT', '1'],
      ['log', 'INSERT', '2'],
      ['log', 'DELETE', '2'],
      ['child', 'INSERT', '3'],
      ['child', 'DELETE', '3'],
      ['log', 'INSERT', '11'],
      ['log', 'INSERT', '12'],
    ])
  })

  test('releases a table that is no longer configured, on two nodes with concurrent starts', async () => {
    await using app = await createTestApp({ setup: notes, config: { 'audit.tables': 'note' } })
    const count = async () =>
      (await app.sql(`select count(*)::int as n from pg_trigger where tgname ~ '^basalt_audit'`))[0]?.n
    expect(await count()).toBe(4)
    const more = await Promise.all(
      [1, 2].map(() => createTestApp({ database: app.database, config: { 'audit.tables': '' } })),
    )
    expect(await count()).toBe(0)
    for (const each of more) await each[Symbol.asyncDispose]()
  })
})
