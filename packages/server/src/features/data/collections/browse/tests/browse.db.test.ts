import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../../../../test/faults.ts'
import { alice } from '../../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../../test/test-config.ts'

/** Endpoints of the dashboard grid. */

const setup = `
create table author (id bigint generated always as identity primary key, name text not null unique);
create table receipt (id bigint generated always as identity primary key, note text);
  create table book (
  id int primary key,
  title text,
  price numeric,
  doc jsonb,
  cover bytea,
  author_id bigint references author on delete cascade,
  born timestamptz
);
create index book_title on book (title);
alter table book enable row level security;
create policy own on book for select using (title = basalt.user_email());
create table pair (a text, b int, n int, primary key (a, b));
create table "Odd ""name"" ü" ("select" int primary key, "A B" text, "quote""d" text);
create table heap (n int, word text);
create view titles as select title from book;
create table wide (${Array.from({ length: 1500 }, (_, index) => `c${index} text`).join()}, id int primary key);
insert into basalt.users (id, email) values ('${alice}', 'alice@example.com');
`

let app: TestApp
let second: TestApp
let token: string

beforeAll(async () => {
  app = await createTestApp({ setup })
  second = await createTestApp({ database: app.database })
  token = await app.adminToken()
})
beforeEach(async () => {
  await app.sql(`
    truncate author, book, pair, heap, wide, "Odd ""name"" ü" restart identity;
    insert into author (name) values ('Ada'), ('Bob');
    insert into book (id, title, price, author_id)
      select n, case when n % 3 = 0 then null else 'title ' || n % 5 end, n + 0.10, 1 + n % 2
      from generate_series(1, 25) n;
    insert into pair values ('x,y', 1, 1), ('x', 2, 2);
    insert into heap select n, 'w' || n from generate_series(1, 12) n;
    insert into "Odd ""name"" ü" values (1, 'a', '<b>'), (2, null, '=1+1')`)
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

function read(path: string, query: Readonly<Record<string, string>> = {}) {
  return app.request('GET', `/api/admin/tables/${path}?${new URLSearchParams(query)}`, { token })
}

async function page(table: string, query: Readonly<Record<string, string>> = {}) {
  const { status, json } = await read(`${encodeURIComponent(table)}/rows`, query)
  expect([status, json.message]).toEqual([200, undefined])
  return json
}

function change(table: string, operations: readonly object[], on = app) {
  return on.request('POST', `/api/admin/tables/${encodeURIComponent(table)}/changes`, {
    token,
    body: { operations },
  })
}

const tagOf = async (id: number) => (await page('book', { id: String(id) })).rows[0].etag

describe('GET /admin/tables/:table', () => {
  test('describes the columns, key, relations and sorted columns', async () => {
    const { status, json } = await read('book')
    expect(status).toBe(200)
    expect({
      ...json,
      columns: json.columns.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`),
    }).toEqual({
      table: 'book',
      schema: 'public',
      name: 'book',
      kind: 'table',
      rlsEnabled: true,
      policies: 1,
      isWritable: true,
      primaryKey: ['id'],
      columns: [
        'id integer',
        'title text',
        'price numeric',
        'doc jsonb',
        'cover bytea',
        'author_id bigint',
        'born timestamp with time zone',
      ],
      relations: [
        {
          name: 'author',
          kind: 'many-to-one',
          table: 'author',
          pairs: [{ from: 'author_id', to: 'id' }],
          constraint: 'book_author_id_fkey',
        },
      ],
      label: 'title',
      people: [],
      sorted: ['id', 'title'],
      cascades: [],
      isAudited: false,
      isCaptured: true,
    })
    expect((await read('titles')).json).toMatchObject({
      kind: 'view',
      isWritable: false,
      primaryKey: [],
      isCaptured: false,
    })
  })

  test('names the foreign keys that delete rows with it, and says if its rows are audited', async () => {
    await app.sql(`
      create table club (id int primary key);
      create table club_member (club int references club on delete cascade, guest int references club);
      create trigger audited after insert on club for each row execute function basalt.audit_row()`)
    await app.app.catalog.refresh()
    expect((await read('club')).json).toMatchObject({
      cascades: ['club_member_club_fkey'],
      isAudited: true,
    })
    expect((await read('club_member')).json).toMatchObject({ cascades: [], isAudited: false })
    await app.sql('drop table club_member, club')
  })

  test('names the column that labels a row, and the columns with users', async () => {
    await app.sql(`
      create table visit (
        id int primary key,
        place text,
        code text,
        guest uuid references basalt.users,
        host uuid default basalt.user_id(),
        booked_by uuid
      );
      comment on column visit.place is 'Address of the visit. @label'`)
    await app.app.catalog.refresh()
    const described = async () => {
      const { label, people } = (await read('visit')).json
      return [label, people]
    }
    expect(await described()).toEqual(['place', ['guest', 'host']])
    await app.sql('comment on column visit.place is null')
    await app.app.catalog.refresh()
    expect(await described()).toEqual(['code', ['guest', 'host']])
    await app.sql('alter table visit drop column place, drop column code')
    await app.app.catalog.refresh()
    expect(await described()).toEqual(['id', ['guest', 'host']])
    await app.sql('alter table visit drop column id')
    await app.app.catalog.refresh()
    expect(await described()).toEqual([null, ['guest', 'host']])
    await app.sql('drop table visit')
  })

  test('describes the kind of a text by the comment, and ignores tags of other types', async () => {
    await app.sql(`
      create table tagged (id int primary key, tint text, picture text, size int, other text);
      comment on column tagged.tint is 'Of the cover. @color';
      comment on column tagged.picture is '@file covers';
      comment on column tagged.size is '@color';
      comment on column tagged.other is '@file'`)
    await app.app.catalog.refresh()
    const { columns } = (await read('tagged')).json
    const kinds = columns.map(({ name, format, bucket }: Record<string, unknown>) => ({
      name,
      format,
      bucket,
    }))
    expect(kinds).toEqual([
      { name: 'id' },
      { name: 'tint', format: 'color' },
      { name: 'picture', format: 'file', bucket: 'covers' },
      { name: 'size' },
      { name: 'other' },
    ])
    await app.sql('drop table tagged')
  })

  test('reports whether plain SQL changes are captured', async () => {
    const isCaptured = async () => (await read(encodeURIComponent('Odd "name" ü'))).json.isCaptured
    expect(await isCaptured()).toBe(true)
    await app.sql(`comment on table "Odd ""name"" ü" is 'Ours. @events off'`)
    await app.app.catalog.refresh()
    expect(await isCaptured()).toBe(false)
    await app.sql(`comment on table "Odd ""name"" ü" is null`)
    await app.app.catalog.refresh()
    expect(await isCaptured()).toBe(true)
  })

  test('returns 404 for an unknown or dropped table', async () => {
    expect(envelope(await read('nothing'))).toMatchObject({ error: 'collection_not_found' })
    await app.sql('create table short_lived (id int primary key)')
    expect((await read('short_lived/rows')).status).toBe(200)
    await app.sql('drop table short_lived')
    expect(envelope(await read('short_lived/rows')).message).toBe('collection not found: short_lived')
  })

  test.each(['', '/rows', '/count', '/cell?id=1&column=id'])(
    'rejects callers other than administrators: %s',
    async (path) => {
      for (const wrong of [undefined, userToken({ sub: alice }), 'x']) {
        const { status } = await app.request('GET', `/api/admin/tables/book${path}`, { token: wrong })
        expect(status).toBe(401)
      }
    },
  )
})

describe('GET /admin/tables/:table/rows', () => {
  test('returns texts with the key and the entity tag of each row', async () => {
    const { rows, ...rest } = await page('book', { limit: '1', columns: 'title,price,doc' })
    expect(rest).toEqual({
      columns: ['title', 'price', 'doc'],
      width: 512,
      paging: 'keyset',
      before: null,
      after: expect.any(String),
    })
    expect(rows).toEqual([
      { key: ['1'], etag: expect.stringMatching(/^"[0-9a-f]+"$/), cells: ['title 1', '1.10', null] },
    ])
  })

  test.each(['', 'title', '-title', 'price', '-title,price'])(
    'pages forwards and back through the whole list sorted by "%s"',
    async (sort) => {
      const keys = (rows: readonly { key: readonly string[] }[]) => rows.map(({ key }) => key[0])
      const whole = keys((await page('book', { sort })).rows)
      const forwards: (string | undefined)[] = []
      let current = await page('book', { sort, limit: '4' })
      forwards.push(...keys(current.rows))
      while (current.after !== null) {
        current = await page('book', { sort, limit: '4', after: current.after })
        forwards.push(...keys(current.rows))
      }
      expect(forwards).toEqual(whole)
      const backwards: (string | undefined)[] = keys(current.rows)
      while (current.before !== null) {
        current = await page('book', { sort, limit: '4', before: current.before })
        backwards.unshift(...keys(current.rows))
      }
      expect(backwards).toEqual(whole)
      expect(whole).toHaveLength(25)
    },
  )

  test('starts at a value, ascending and descending, with rows before it', async () => {
    const up = await page('book', { sort: 'price', from: '20', limit: '2' })
    expect(up.rows.map(({ key }: { key: string[] }) => key[0])).toEqual(['20', '21'])
    const before = await page('book', { sort: 'price', before: up.before, limit: '2' })
    expect(before.rows.map(({ key }: { key: string[] }) => key[0])).toEqual(['18', '19'])
    const down = await page('book', { sort: '-price', from: '20', limit: '2' })
    expect(down.rows.map(({ key }: { key: string[] }) => key[0])).toEqual(['19', '18'])
  })

  test('reads rows without a primary key in stored order, and counts those of a view', async () => {
    for (const [table, paging, count] of [
      ['heap', 'file', 12],
      ['titles', 'offset', 25],
    ] as const) {
      let current = await page(table, { limit: '5' })
      expect([current.paging, current.rows[0].key]).toEqual([paging, null])
      let seen = current.rows.length
      while (current.after !== null) {
        current = await page(table, { limit: '5', after: current.after })
        seen += current.rows.length
      }
      expect([table, seen]).toEqual([table, count])
    }
    expect((await page('heap', { sort: '-n', limit: '1' })).rows[0].cells).toEqual(['12', 'w12'])
  })

  test('returns the single row of an id', async () => {
    expect((await page('pair', { id: 'x%2Cy,1' })).rows).toMatchObject([{ key: ['x,y', '1'] }])
    expect((await page('book', { id: '404' })).rows).toEqual([])
  })

  test('reads rows with odd names', async () => {
    const { columns, rows } = await page('Odd "name" ü', { sort: '-"A B"', filter: `"quote""d" != 'x'` })
    expect(columns).toEqual(['select', 'A B', 'quote"d'])
    expect(rows.map(({ cells }: { cells: unknown }) => cells)).toEqual([
      ['2', null, '=1+1'],
      ['1', 'a', '<b>'],
    ])
  })

  test('cuts long values, with their sizes, and returns the whole value on demand', async () => {
    const long = 'ü'.repeat(3000)
    await app.sql(
      `update book set title = $1, doc = jsonb_build_object('a', repeat('x', 200000)), cover = decode(repeat('ab', 5000), 'hex')
        where id = 1`,
      [long],
    )
    const [row] = (await page('book', { id: '1', columns: 'id,title,doc,cover' })).rows
    expect(row.cells[1]).toBe('ü'.repeat(513))
    expect(row.cells[3]).toBe(`\\x${'ab'.repeat(32)}`)
    expect(row.sizes).toEqual({ 1: 6000, 2: expect.any(Number), 3: 5000 })
    expect(row.cells[2].length).toBeLessThanOrEqual(513)
    expect((await read('book/cell', { id: '1', column: 'title' })).json).toEqual({ value: long })
    expect((await read('book/cell', { id: '1', column: 'doc' })).json.value).toHaveLength(200_009)
    expect((await read('book/cell', { id: '1', column: 'cover' })).json.value).toBe(`\\x${'ab'.repeat(5000)}`)
    expect((await read('book/cell', { id: '2', column: 'doc' })).json).toEqual({ value: null })
  })

  test('keeps rows of 1,500 columns within a megabyte', async () => {
    const names = Array.from({ length: 1500 }, (_, index) => `c${index}`)
    await app.sql(
      `insert into wide (id, ${names.join()}) select n, ${names.map(() => "repeat('x', 4)").join()} from generate_series(1, 40) n`,
    )
    const response = await read('wide/rows')
    expect(response.json.rows.length).toBeGreaterThan(10)
    expect(response.text.length).toBeLessThan(1_200_000)
  })

  test('returns the rows that a user may read, without tags, when viewed as one', async () => {
    await app.sql(`update book set title = 'alice@example.com' where id in (3, 7)`)
    const { rows } = await page('book', { as: alice, columns: 'id' })
    expect(rows).toEqual([
      { key: ['3'], etag: null, cells: ['3'] },
      { key: ['7'], etag: null, cells: ['7'] },
    ])
    expect((await read('book/count', { as: alice })).json).toMatchObject({ count: 2 })
  })

  test('records a view as a user once for a session, a user and a table', async () => {
    const recorded = () =>
      app.sql(
        `select actor, action, target, detail, address from basalt.audit where action = 'tables.view_as' order by id`,
      )
    const before = (await recorded()).length
    const signIn = async () =>
      (await app.request('POST', '/api/admin/auth', { body: { password: testAdminPassword } })).json.token
    const [first, another] = [await signIn(), await signIn()]
    const fetchGrid = (path: string, on = app, bearer = first) =>
      on.request('GET', `/api/admin/tables/${path}`, { token: bearer })
    const [bob] = await app.sql(
      `insert into basalt.users (email) values ('bob@example.com') on conflict (email) do update set email = excluded.email returning id`,
    )
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        fetchGrid(
          `book/rows?as=${index % 3 ? alice : alice.toUpperCase()}&limit=1`,
          index % 2 ? second : app,
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    await fetchGrid(`book/count?as=${alice}`)
    await fetchGrid(`pair/count?as=${alice}`)
    await fetchGrid(`pair/rows?as=${bob?.id}`, second)
    // Neither a rejected read nor the administrator's own is recorded.
    expect((await fetchGrid(`nothing/rows?as=${alice}`)).status).toBe(404)
    await fetchGrid('wide/rows')
    const entry = (target: string, id: unknown) => ({
      ...{ actor: 'admin', action: 'tables.view_as', target, address: '127.0.0.1' },
      detail: { as: `user ${id}` },
    })
    expect((await recorded()).slice(before)).toEqual([
      entry('book', alice),
      entry('pair', alice),
      entry('pair', bob?.id),
    ])
    await fetchGrid(`book/rows?as=${alice}`, app, another)
    expect((await recorded()).slice(before + 3)).toEqual([entry('book', alice)])
    const kept = () => app.sql('select from basalt.views_as')
    const held = (await kept()).length
    await app.request('POST', '/api/admin/auth/logout', { token: first })
    expect(await kept()).toHaveLength(held - 3)
  })

  test('rejects rows that cost more than allowed, before reading them', async () => {
    const refused = await read('book/rows', { sort: 'price', maxCost: '1' })
    expect([refused.status, envelope(refused)]).toMatchObject([
      409,
      { error: 'costly_query', data: { cost: expect.any(Number), maxCost: 1 } },
    ])
    expect((await page('book', { sort: 'price', maxCost: '1000000' })).rows).toHaveLength(25)
  })

  test.each([
    [{ nonsense: '1' }, 'unknown parameter "nonsense"'],
    [{ columns: 'nope' }, 'unknown column "nope" in columns'],
    [{ sort: 'doc,nope' }, 'unknown column "nope" in sort'],
    [{ after: 'x', id: '1' }, 'after and id parameters are mutually exclusive'],
    [{ after: 'x' }, 'invalid cursor'],
    [{ as: 'alice' }, 'as: expected the id of a user'],
    [{ as: '00000000-0000-0000-0000-00000000dead' }, 'as: user not found'],
    [{ limit: 'many' }, 'limit: expected an integer'],
    [{ maxCost: '-1' }, 'maxCost: expected a number from 0'],
    [{ filter: 'nope = 1' }, 'invalid filter'],
    [{ sort: 'price', from: 'cheap' }, 'invalid'],
  ])('rejects %j', async (query, message) => {
    const response = await read('book/rows', query)
    expect(response.status).toBe(400)
    expect(envelope(response).message).toContain(message)
  })

  test('rejects positions that a view or a table without a key does not have', async () => {
    const { after } = await page('heap', { limit: '2' })
    expect(envelope(await read('heap/rows', { before: after })).message).toBe(
      'before: expected a table with a primary key, or a sort',
    )
    expect(envelope(await read('titles/rows', { from: 'a' })).message).toBe(
      'from: expected rows that are sorted by a column',
    )
    expect(envelope(await read('heap/rows', { id: '1' })).message).toBe('table has no primary key')
    expect(envelope(await read('titles/rows', { after })).message).toContain('invalid cursor')
  })
})

describe('GET /admin/tables/:table/count', () => {
  test("stops at its limit, and returns the planner's estimate beside it", async () => {
    expect((await read('book/count', { most: '10' })).json).toEqual({
      count: 10,
      isBounded: true,
      estimate: expect.any(Number),
    })
    expect((await read('book/count', { most: '100', filter: 'id <= 3' })).json).toMatchObject({
      count: 3,
      isBounded: false,
    })
    expect((await read('book/count')).json).toMatchObject({ count: 25, isBounded: false })
  })
})

describe('GET /admin/tables/:table/cell', () => {
  test.each([
    [{ column: 'title' }, 400, 'id: expected the id of a row'],
    [{ id: '1' }, 400, 'column: expected the name of a column'],
    [{ id: '1', column: 'nope' }, 400, 'unknown column "nope" in column'],
    [{ id: '404', column: 'title' }, 404, 'record not found: 404'],
    [{ id: 'x', column: 'title' }, 400, 'invalid'],
  ])('rejects %j with %i', async (query, status, message) => {
    const response = await read('book/cell', query)
    expect([response.status, envelope(response).message]).toEqual([status, expect.stringContaining(message)])
  })
})

describe('POST /admin/tables/:table/changes', () => {
  test('writes changes together, each to the row that was read', async () => {
    const response = await change('book', [
      { method: 'update', id: '1', ifMatch: await tagOf(1), body: { title: 'new', doc: { n: 1.1 } } },
      { method: 'delete', id: '2', ifMatch: await tagOf(2) },
      { method: 'create', body: { id: 100, title: null } },
    ])
    expect([response.status, response.json.map(({ status }: { status: number }) => status)]).toEqual([
      200,
      [200, 204, 201],
    ])
    expect(response.json.map(({ before }: { before?: object }) => before)).toMatchObject([
      { id: 1, title: 'title 1', price: 1.1 },
      { id: 2, title: 'title 2' },
      undefined,
    ])
    // They are the conditions of the next changes.
    const [updated, deleted, created] = response.json
    expect([updated.etag, created.etag]).toEqual([await tagOf(1), await tagOf(100)])
    expect(deleted.etag).toBeUndefined()
    expect(await app.sql('select id, title from book where id in (1, 2, 100) order by id')).toEqual([
      { id: 1, title: 'new' },
      { id: 100, title: null },
    ])
  })

  test('creates rows with values of identity columns that PostgreSQL always generates, alone and together', async () => {
    const bodies = [7, 8, 9].map((id) => ({ id, note: `note ${id}` }))
    const creates = bodies.map((body) => ({ method: 'create', body }))
    expect((await change('receipt', creates.slice(0, 1))).status).toBe(200)
    expect((await change('receipt', creates.slice(1))).status).toBe(200)
    expect(await app.sql('select id::int, note from receipt order by id')).toEqual(bodies)
    const plain = await app.request('POST', '/api/collections/receipt', {
      token,
      body: { id: 10, note: 'x' },
    })
    expect(plain.status).toBe(400)
  })

  test('rejects all changes when one row has changed, and names it', async () => {
    const ifMatch = await tagOf(2)
    await app.sql('update book set price = 1 where id = 2')
    const response = await change('book', [
      { method: 'update', id: '1', ifMatch: await tagOf(1), body: { title: 'lost' } },
      { method: 'update', id: '2', ifMatch, body: { title: 'mine' } },
    ])
    expect([response.status, envelope(response)]).toMatchObject([
      412,
      {
        error: 'precondition_failed',
        message: 'the record has changed since it was read; nothing was written',
        operation: { index: 1, method: 'update' },
      },
    ])
    expect(await app.sql(`select count(*)::int as n from book where title in ('lost', 'mine')`)).toEqual([
      { n: 0 },
    ])
  })

  test('rejects changes to a deleted row', async () => {
    const ifMatch = await tagOf(2)
    await app.sql('delete from book where id = 2')
    const response = await change('book', [{ method: 'delete', id: '2', ifMatch }])
    expect(envelope(response)).toEqual({
      ...{ code: 404, error: 'record_not_found', message: 'record not found: 2' },
      operation: { index: 0, method: 'delete' },
    })
  })

  test('has no tag of a row of a megabyte in a page, and one if it is read alone', async () => {
    const [small] = (await page('book', { columns: 'id', limit: '1' })).rows
    await app.sql(
      `update book set cover = (select string_agg(uuid_send(gen_random_uuid()), null) from generate_series(1, 65537)) where id = 1`,
    )
    const [large, next] = (await page('book', { columns: 'id', limit: '2' })).rows
    expect([large.etag, next.etag]).toEqual([null, await tagOf(2)])
    const ifMatch = await tagOf(1)
    expect(ifMatch).not.toBe(small.etag)
    const changed = await change('book', [{ method: 'update', id: '1', ifMatch, body: { cover: null } }])
    expect([changed.status, changed.json[0].etag]).toEqual([200, await tagOf(1)])
  })

  test('has the record before each change of the same row', async () => {
    const { json } = await change('book', [
      { method: 'update', id: '1', body: { title: 'one' } },
      { method: 'update', id: '1', body: { title: 'two' } },
      { method: 'delete', id: '1' },
    ])
    const titles = json.map(({ before }: { before: { title: string } }) => before.title)
    expect(titles).toEqual(['title 1', 'one', 'two'])
  })

  test('writes one of ten concurrent changes with the same tag', async () => {
    const ifMatch = await tagOf(5)
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const body = { title: `by ${index}` }
        const on = index % 2 === 0 ? app : second
        return (await change('book', [{ method: 'update', id: '5', ifMatch, body }], on)).status
      }),
    )
    expect(statuses.sort()).toEqual([200, ...Array(9).fill(412)])
  })

  test('writes rows with composite keys and odd names', async () => {
    const { rows } = await page('pair', { id: 'x%2Cy,1' })
    const written = await change('pair', [
      { method: 'update', id: 'x%2Cy,1', ifMatch: rows[0].etag, body: { n: 7 } },
    ])
    expect(written.json[0].body).toEqual({ a: 'x,y', b: 1, n: 7 })
    const odd = await change('Odd "name" ü', [{ method: 'update', id: '1', body: { 'quote"d': "'); --" } }])
    expect(odd.json[0].body['quote"d']).toBe("'); --")
  })

  test.each([
    [
      [{ method: 'create', ifMatch: '"1"', body: { id: 1 } }],
      'operation[0]: ifMatch: expected with update, delete, or onConflict',
    ],
    [[{ method: 'delete', id: '1', version: '5' }], 'operation[0]: unknown member "version"'],
    [[], 'operations array is empty'],
  ])('rejects the malformed change %j', async (operations, message) => {
    const response = await change('book', operations)
    expect([response.status, envelope(response).message]).toEqual([400, message])
  })

  test('rejects changes to views, and to a column that was dropped meanwhile', async () => {
    expect((await change('titles', [{ method: 'create', body: { title: 'x' } }])).status).toBe(405)
    await app.sql('alter table pair rename column n to m')
    const response = await change('pair', [{ method: 'update', id: 'x,2', body: { n: 1 } }])
    await app.sql('alter table pair rename column m to n')
    expect([response.status, envelope(response).message]).toEqual([
      400,
      'operation[0]: unknown column "n" in request body',
    ])
  })

  test('rejects callers other than administrators', async () => {
    const response = await app.request('POST', '/api/admin/tables/book/changes', {
      token: userToken({ sub: alice }),
      body: { operations: [{ method: 'delete', id: '1' }] },
    })
    expect(response.status).toBe(401)
  })
})
