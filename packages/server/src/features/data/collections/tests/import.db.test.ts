import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
/** Second node on the same database, with small limits. */
let small: TestApp
const token = userToken({ sub: alice })

const tables = `
create type mood as enum ('calm', 'loud');
create table track (
  id int primary key,
  name varchar(10) not null,
  price numeric(20, 2) not null default 0.99,
  rating int check (rating between 1 and 5),
  added_on date default '2026-01-02',
  tags text[],
  doc jsonb,
  mood mood,
  raw bytea,
  label text,
  upper_name text generated always as (upper(name)) stored
);
create table numbered (id bigint generated always as identity primary key, name text unique);
create table loose (name text);
create table mine (
  id int primary key,
  owner_id uuid not null default nullif(current_setting('basalt.user_id', true), '')::uuid,
  body text
);
alter table mine enable row level security;
create policy own on mine
  using (owner_id = nullif(current_setting('basalt.user_id', true), '')::uuid)
  with check (owner_id = nullif(current_setting('basalt.user_id', true), '')::uuid);
create table quota (id int primary key, owner_id text default current_setting('basalt.user_id', true));
alter table quota enable row level security;
create policy readers on quota for select using (true);
create function quota_count() returns bigint language sql stable security definer as 'select count(*) from quota';
create policy three_rows on quota for insert with check (quota_count() < 3);
create table parted (id int, day date, note text, primary key (id, day)) partition by range (day);
create table parted_2026 partition of parted for values from ('2026-01-01') to ('2027-01-01');
create table closed (id int primary key);
create table readable (id int primary key, name text);
create table deferred_key (id int primary key deferrable);
create table blanks (" id " int primary key, name text, "name " text, " " text);
create table nested (id int primary key);
create function count_savepoints() returns trigger language plpgsql security definer as $$
begin
  if new.id % 2 = 1 then
    raise exception '%', (select count(*) from pg_backend_memory_contexts where name = 'CurTransactionContext');
  end if;
  return new;
end $$;
create trigger count_savepoints before insert on nested for each row execute function count_savepoints();
create view track_names as select id, name from track;
create table node (id int primary key, parent_id int references node deferrable initially deferred);
create table guarded (id int primary key, name text);
create function guard() returns trigger language plpgsql as $$
begin
  if new.name = 'bad' then raise exception 'no % here', new.name; end if;
  if new.name = 'broken' then perform 1 / 0; end if;
  if new.name = 'late' then raise exception 'no % here', new.name using errcode = 'PT422'; end if;
  if new.name = 'denied' then raise exception 'no % here', new.name using errcode = '42501'; end if;
  if new.name = 'dropped' then return null; end if;
  return new;
end $$;
create trigger guard before insert or update on guarded for each row execute function guard();
`

beforeAll(async () => {
  app = await createTestApp({ setup: tables })
  small = await createTestApp({
    database: app.database,
    config: {
      ...{ 'api.import_max_size_mb': '1', 'api.import_max_rows': '3', 'api.import_max_refused': '1' },
      'server.body_limit': '1024',
    },
  })
  await app.sql(`
    revoke all on closed from basalt_authenticated;
    revoke insert, update, delete on readable from basalt_authenticated`)
})
beforeEach(() =>
  app.sql('truncate track, numbered, loose, mine, quota, parted, readable, node, guarded restart identity'),
)
afterAll(async () => {
  await small[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

const csv = { 'content-type': 'text/csv' }
const ndjson = { 'content-type': 'application/x-ndjson; charset=utf-8' }

function post(path: string, body: unknown, headers: Record<string, string> = {}, as = token, node = app) {
  return node.request('POST', `/api/collections/${path}`, { token: as, body, headers })
}

async function imported(path: string, body: unknown, headers: Record<string, string> = {}, as = token) {
  const response = await post(path, body, headers, as)
  if (response.status !== 200) throw new Error(`${response.status} ${response.text}`)
  return response.json
}

const rowsOf = async (table: string) =>
  (await app.sql<{ r: unknown }>(`select to_jsonb(t) as r from ${table} t order by 1`)).map(({ r }) => r)

const all = (count: number) => ({ processed: count, inserted: count, updated: 0, skipped: 0, failed: 0 })

describe('import › CSV', () => {
  test('converts values as a create does, and applies defaults of absent columns', async () => {
    const text = [
      '\ufeffid,name,price,tags,doc,mood,raw,label',
      '1,"a, ""b""",12345678901234567.89,"{x,""y z""}","{""n"": 12345678901234567890, ""s"": ""\\n""}",calm,\\x4869,"two',
      'lines"',
      '2,b,1,"[""p"",null]",,,,',
      '',
      '3,c,1,,"null","loud",,""',
    ].join('\r\n')
    expect(await imported('track/import', text, csv)).toEqual(all(3))
    expect(await rowsOf('track')).toEqual([
      {
        id: 1,
        name: 'a, "b"',
        price: expect.anything(),
        rating: null,
        added_on: '2026-01-02',
        tags: ['x', 'y z'],
        doc: { n: expect.anything(), s: '\n' },
        mood: 'calm',
        raw: '\\x4869',
        label: 'two\r\nlines',
        upper_name: 'A, "B"',
      },
      expect.objectContaining({ id: 2, tags: ['p', null], doc: null, mood: null, raw: null, label: null }),
      expect.objectContaining({ id: 3, tags: null, doc: null, mood: 'loud', label: '' }),
    ])
    expect(await app.sql('select price::text, doc::text from track where id = 1')).toEqual([
      { price: '12345678901234567.89', doc: '{"n": 12345678901234567890, "s": "\\n"}' },
    ])
  })

  test('finds columns with blanks around their names', async () => {
    expect(await imported('blanks/import', ' id , name,name , \n1,a,b,c\n', csv)).toEqual(all(1))
    expect(await app.sql('select * from blanks')).toEqual([{ ' id ': 1, name: 'a', 'name ': 'b', ' ': 'c' }])
  })

  test('ignores generated columns and names that come with records but are no columns', async () => {
    expect(await imported('track/import', 'id,upper_name,_distance,expand,name\n1,x,2,3,n\n', csv)).toEqual(
      all(1),
    )
    expect(await rowsOf('track')).toEqual([expect.objectContaining({ id: 1, name: 'n', upper_name: 'N' })])
  })

  test.each([
    ['id,nmae\n1,x', 'CSV header: unknown column "nmae"; did you mean name?'],
    ['id;name\n1;x', 'CSV header: unknown column "id;name"; fields are separated by commas'],
    ['id\tname\n1\tx', 'CSV header: unknown column "id\tname"; fields are separated by commas'],
    ['id,name,id\n1,x,2', 'CSV header: column "id" is named twice'],
    ['id,,name\n1,2,3', 'CSV header: field 2 has no name'],
    ['upper_name\nx', 'CSV header: no column that can be written'],
    ['i"d\n1', 'CSV header: a quote in a field that does not begin with one'],
    ['\n\n', 'CSV header: expected the names of columns'],
  ])('rejects the header of %j', async (text, message) => {
    const response = await post('track/import?mode=partial', text, csv)
    expect([response.status, envelope(response)]).toEqual([
      400,
      { code: 400, message, error: 'import_header' },
    ])
    expect(await rowsOf('track')).toEqual([])
  })

  test('imports nothing from a header alone', async () => {
    expect(await imported('track/import', 'id,name', csv)).toEqual(all(0))
  })

  test('reports every bad row by its number in partial mode, and imports the others', async () => {
    const text = `id,name,rating,tags,doc,mood,label
1,one,1,,,,
x,two,1,,,,
3,three,9,,,,
4,,1,,,,
5,five,1,"{",,,
6,six,1,,{,,
7,seven,1,,,sad,
8,eight
9,ni"ne,1,,,,
10,far too long,1,,,,
1,again,1,,,,
12,twelve,5,,,loud,
13,thirteen,1,,,,"open
`
    expect(await imported('track/import?mode=partial', text, csv)).toEqual({
      processed: 13,
      inserted: 2,
      updated: 0,
      skipped: 0,
      failed: 11,
      errors: [
        {
          row: 2,
          message: 'id: invalid integer value "x" — expected a whole number, e.g. 42',
        },
        { row: 3, message: expect.stringMatching(/^check constraint violation \(track_rating_check: .*\)$/) },
        { row: 4, message: expect.stringMatching(/^missing required value \(name: .*\)$/) },
        { row: 5, message: 'tags: invalid value: malformed array literal: "{"' },
        { row: 6, message: 'doc: expected valid JSON' },
        { row: 7, message: 'mood: invalid value: invalid input value for enum mood: "sad"' },
        { row: 8, message: 'expected 7 fields, got 2' },
        { row: 9, message: 'a quote in a field that does not begin with one' },
        { row: 10, message: 'name: invalid value: value too long for type character varying(10)' },
        { row: 11, message: 'unique constraint violation (track_pkey: Key (id)=(1) already exists.)' },
        { row: 13, message: 'a quoted field that is not closed' },
      ],
    })
    expect((await rowsOf('track')).map((row) => (row as { id: number }).id)).toEqual([1, 12])
  })

  test('returns 409 with the faults in full mode, and changes nothing', async () => {
    const response = await post('track/import', 'id,name,rating\n1,a,1\n2,b,7\nx,c,1\n4,d\n', csv)
    expect([response.status, envelope(response)]).toEqual([
      409,
      {
        code: 409,
        message: '3 rows were refused and nothing was imported',
        error: 'import_failed',
        processed: 4,
        inserted: 0,
        updated: 0,
        skipped: 0,
        failed: 3,
        errors: [
          { row: 2, message: expect.stringContaining('track_rating_check') },
          { row: 3, message: expect.stringContaining('id: invalid integer value "x"') },
          { row: 4, message: 'expected 3 fields, got 2' },
        ],
      },
    ])
    expect(await rowsOf('track')).toEqual([])
  })

  test('lists every rejected row, the first thousand with their column', async () => {
    const text = `id,name\n${Array.from({ length: 1600 }, (_, index) => (index % 3 === 0 ? `${index},ok` : 'x,no')).join('\n')}`
    const result = await imported('track/import?mode=partial', text, csv)
    expect(result).toMatchObject({ processed: 1600, inserted: 534, failed: 1066 })
    const reason = 'invalid integer value "x" — expected a whole number, e.g. 42'
    expect(result.errors).toEqual(
      Array.from({ length: 1600 }, (_, index) => index + 1)
        .filter((row) => row % 3 !== 1)
        .map((row, index) => ({
          row,
          message: index < 1000 ? `id: ${reason}` : 'invalid value (SQLSTATE 22P02)',
        })),
    )
    expect(await app.sql('select count(*)::int as n from track')).toEqual([{ n: 534 }])
  })

  test('counts all rejected rows and lists the first ten thousand', async () => {
    const text = `id,name\n${'1\n'.repeat(10_002)}2,ok\n`
    const result = await imported('track/import?mode=partial', text, csv)
    expect(result).toMatchObject({ processed: 10_003, inserted: 1, failed: 10_002 })
    expect(result.errors).toHaveLength(10_000)
    expect(result.errors.at(-1)).toEqual({ row: 10_000, message: 'expected 2 fields, got 1' })
  })
})

describe('import › JSON', () => {
  test('keeps digits, and accepts rows with different columns', async () => {
    const rows = `[{"id": 1, "name": "a", "price": 12345678901234567.89},
      {"id": 2, "name": "b", "label": null, "expand": {}, "_x": 1}, {"name": "c", "id": 3, "doc": "text", "tags": ["\\\\", "\\t"]}]`
    expect(await imported('track/import', rows)).toEqual(all(3))
    expect(await app.sql('select id, price::text, doc, tags from track order by id')).toEqual([
      { id: 1, price: '12345678901234567.89', doc: null, tags: null },
      { id: 2, price: '0.99', doc: null, tags: null },
      { id: 3, price: '0.99', doc: 'text', tags: ['\\', '\t'] },
    ])
  })

  test('accepts an object per line as NDJSON', async () => {
    const lines = '{"id":1,"name":"a"}\r\n\n{"id":2\n[]\n{"id":3,"name":"c"}'
    expect(await imported('track/import?mode=partial', lines, ndjson)).toEqual({
      ...{ processed: 4, inserted: 2, updated: 0, skipped: 0, failed: 2 },
      errors: [
        { row: 2, message: 'invalid JSON' },
        { row: 3, message: 'expected an object' },
      ],
    })
  })

  test('reports invalid rows by their number', async () => {
    const rows = [
      1,
      null,
      {},
      { id: 4, nmae: 'x' },
      { id: 5, name: { a: 1 } },
      { id: 6, name: 'ok' },
      { id: 7, name: '\u0000' },
      { id: 8, name: '\ud83d' },
    ]
    expect(await imported('track/import?mode=partial', rows)).toEqual({
      ...{ processed: 8, inserted: 1, updated: 0, skipped: 0, failed: 7 },
      errors: [
        { row: 1, message: 'expected an object' },
        { row: 2, message: 'expected an object' },
        { row: 3, message: 'no column that can be written' },
        { row: 4, message: 'unknown column "nmae"; did you mean name?' },
        { row: 5, message: 'name: expected a text, not an object' },
        { row: 7, message: 'invalid value: text cannot hold the character U+0000' },
        { row: 8, message: 'invalid value: text cannot hold half of a surrogate pair' },
      ],
    })
  })

  test.each([
    '{}',
    '[{"id":1,"name":"a"}',
    '[{"id":1,"name":"a"},]',
    '[{"id":1 "name":2}]',
    '[1] x',
    '"a"',
    '[1]]',
    '[',
  ])('rejects the body %s as a whole', async (body) => {
    const response = await post('track/import?mode=partial', body)
    expect([response.status, envelope(response)]).toEqual([
      400,
      { code: 400, message: 'invalid JSON body: expected an array of objects', error: 'body_not_array' },
    ])
    expect(await rowsOf('track')).toEqual([])
  })

  test('imports nothing from an empty array', async () => {
    expect(await imported('track/import', ' [ ] ')).toEqual(all(0))
  })
})

describe('import › conflicts', () => {
  const rows = [
    { id: 1, name: 'new 1' },
    { id: 2, name: 'new 2' },
    { id: 2, name: 'newer 2' },
  ]
  beforeEach(() => app.sql(`insert into track (id, name, rating) values (1, 'old 1', 5)`))
  const names = () => app.sql('select id, name, rating from track order by id')

  test('without on_conflict are rejected', async () => {
    expect(await imported('track/import?mode=partial', rows)).toMatchObject({ inserted: 1, failed: 2 })
    expect(await names()).toEqual([
      { id: 1, name: 'old 1', rating: 5 },
      { id: 2, name: 'new 2', rating: null },
    ])
  })

  test('with skip keep the existing record', async () => {
    expect(await imported('track/import?on_conflict=skip', rows)).toEqual({
      ...all(3),
      inserted: 1,
      skipped: 2,
    })
    expect(await names()).toEqual([
      { id: 1, name: 'old 1', rating: 5 },
      { id: 2, name: 'new 2', rating: null },
    ])
  })

  test('with update change the given columns; the last row of a key wins', async () => {
    expect(await imported('track/import?on_conflict=update', rows)).toEqual({
      ...all(3),
      inserted: 1,
      updated: 2,
    })
    expect(await names()).toEqual([
      { id: 1, name: 'new 1', rating: 5 },
      { id: 2, name: 'newer 2', rating: null },
    ])
  })

  test('with update keep the order of rows with different columns', async () => {
    const mixed = [
      { id: 2, name: 'a' },
      { id: 2, name: 'b', rating: 1 },
      { id: 2, name: 'c' },
    ]
    expect(await imported('track/import?on_conflict=update', mixed)).toEqual({
      ...all(3),
      inserted: 1,
      updated: 2,
    })
    expect(await names()).toContainEqual({ id: 2, name: 'c', rating: 1 })
  })

  test('are those of the primary key; others are rejected', async () => {
    await app.sql(`insert into numbered (name) values ('a')`)
    const result = await imported('numbered/import?mode=partial&on_conflict=skip', [
      { id: 7, name: 'a' },
      { id: 1, name: 'b' },
    ])
    expect(result).toMatchObject({ inserted: 0, skipped: 1, failed: 1, errors: [{ row: 1 }] })
  })

  test('work on partitioned tables and composite keys', async () => {
    const text = 'day,id,note\n2026-01-01,1,a\n2026-01-01,2,b\n2025-01-01,1,c\n'
    expect(await imported('parted/import?mode=partial&on_conflict=update', text, csv)).toMatchObject({
      inserted: 2,
      failed: 1,
    })
    expect(
      await imported('parted/import?on_conflict=update', text.replaceAll('2025', '2026'), csv),
    ).toMatchObject({ updated: 3 })
  })

  test('accept values for identity columns, as COPY does', async () => {
    expect(await imported('numbered/import', 'id,name\n5,a\n6,b\n', csv)).toEqual(all(2))
    expect(await imported('numbered/import?on_conflict=update', 'id,name\n5,c\n', csv)).toEqual({
      ...all(1),
      inserted: 0,
      updated: 1,
    })
    expect(await imported('numbered/import', [{ name: 'd' }])).toEqual(all(1))
    expect(await app.sql('select id::int, name from numbered order by id')).toEqual([
      { id: 1, name: 'd' },
      { id: 5, name: 'c' },
      { id: 6, name: 'b' },
    ])
  })

  test('leave each key once for twenty concurrent imports on two nodes', async () => {
    const text = `id,name\n${Array.from({ length: 300 }, (_, id) => `${id + 10},n`).join('\n')}`
    const reversed = `id,name\n${Array.from({ length: 300 }, (_, id) => `${309 - id},m`).join('\n')}`
    const big = await createTestApp({ database: app.database })
    try {
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          post(
            'track/import?on_conflict=update',
            index % 2 === 0 ? text : reversed,
            csv,
            token,
            index % 3 === 0 ? big : app,
          ),
        ),
      )
      expect([...new Set(results.map(({ status }) => status))]).toEqual([200])
      const sum = (key: string) => results.reduce((total, { json }) => total + json[key], 0)
      expect([sum('inserted'), sum('updated')]).toEqual([300, 5700])
      expect(await app.sql('select count(*)::int as n from track')).toEqual([{ n: 301 }])
    } finally {
      await big[Symbol.asyncDispose]()
    }
  })
})

describe('import › dry run', () => {
  test('returns what would happen, and changes nothing', async () => {
    await app.sql(`insert into track (id, name) values (1, 'old')`)
    const text = 'id,name\n1,a\n2,b\nx,c\n'
    expect(await imported('track/import?mode=partial&on_conflict=update&dryRun=true', text, csv)).toEqual({
      ...{ processed: 3, inserted: 1, updated: 1, skipped: 0, failed: 1, dryRun: true },
      errors: [{ row: 3, message: expect.stringContaining('id: ') }],
    })
    expect((await post('track/import?dryRun=true', text, csv)).status).toBe(409)
    expect(await app.sql('select id, name from track')).toEqual([{ id: 1, name: 'old' }])
  })
})

describe('import › row-level security', () => {
  test('rejects rows that a policy rejects, one by one', async () => {
    const text = `id,owner_id,body\n1,${alice},a\n2,${bob},b\n`
    expect(await imported('mine/import?mode=partial', text, csv)).toEqual({
      ...{ processed: 2, inserted: 1, updated: 0, skipped: 0, failed: 1 },
      errors: [{ row: 2, message: 'insufficient permissions' }],
    })
    expect(await rowsOf('mine')).toEqual([{ id: 1, owner_id: alice, body: 'a' }])
  })

  test('neither discloses nor changes a hidden record through a conflict', async () => {
    await app.sql(`insert into mine values (1, '${bob}', 'hers')`)
    const rows = [
      { id: 1, body: 'x' },
      { id: 2, body: 'y' },
    ]
    const updating = await imported('mine/import?mode=partial&on_conflict=update', rows)
    expect(updating).toEqual({
      ...{ processed: 2, inserted: 1, updated: 0, skipped: 0, failed: 1 },
      errors: [{ row: 1, message: 'insufficient permissions' }],
    })
    expect(await imported('mine/import?on_conflict=skip', rows)).toEqual({
      ...all(2),
      inserted: 0,
      skipped: 2,
    })
    expect(await imported('mine/import?mode=partial', rows.slice(0, 1))).toMatchObject({
      errors: [{ row: 1, message: expect.stringMatching(/^unique constraint violation/) }],
    })
    expect(await rowsOf('mine')).toEqual([
      { id: 1, owner_id: bob, body: 'hers' },
      { id: 2, owner_id: alice, body: 'y' },
    ])
  })

  test('does not let rows of one import past a policy that counts them', async () => {
    const result = await imported(
      'quota/import?mode=partial',
      [1, 2, 3, 4, 5].map((id) => ({ id })),
    )
    expect(result).toMatchObject({ inserted: 3, failed: 2 })
    expect(await app.sql('select count(*)::int as n from quota')).toEqual([{ n: 3 }])
  })

  test('does not apply to administrators', async () => {
    const text = `id,owner_id\n1,${alice}\n2,${bob}\n`
    expect(await imported('mine/import', text, csv, await app.adminToken())).toEqual(all(2))
  })

  test.each(['closed', 'readable'])(
    'returns 403 for the table %s, which callers may not write',
    async (table) => {
      const response = await post(`${table}/import?mode=partial`, [{ id: 1 }])
      expect([response.status, envelope(response)]).toEqual([
        403,
        { code: 403, message: 'insufficient permissions', error: 'insufficient_permissions' },
      ])
    },
  )
})

describe('import › triggers and constraints', () => {
  test('counts at most 1,000 rejected rows when nothing is kept', async () => {
    const rows = Array.from({ length: 1500 }, (_, index) => `${index},${bob}`).join('\n')
    for (const query of ['', '?dryRun=true']) {
      const response = await post(`mine/import${query}`, `id,owner_id\n${rows}`, csv)
      expect([response.status, response.json.failed, response.json.errors.length]).toEqual([409, 1000, 1000])
      expect(envelope(response).message).toBe('1000 rows were refused and nothing was imported')
    }
  })

  test('ends in partial mode beyond api.import_max_refused', async () => {
    const rows = (owners: readonly string[]) =>
      `id,owner_id\n${owners.map((owner, id) => `${id},${owner}`).join('\n')}`
    const send = (owners: readonly string[]) =>
      post('mine/import?mode=partial', rows(owners), csv, token, small)
    expect((await send([alice, bob])).json).toMatchObject({ inserted: 1, failed: 1 })
    await app.sql('truncate mine')
    expect(envelope(await send([alice, bob, bob]))).toEqual({
      code: 409,
      message: 'more than 1 rows were refused and nothing was imported',
      error: 'too_many_rows_refused',
    })
    expect(await app.sql('select from mine')).toEqual([])
  })

  test('releases the savepoint of a rejected row', async () => {
    const rows = Array.from({ length: 200 }, (_, index) => `${index + 1}`).join('\n')
    for (const query of ['mode=partial&dryRun=true', 'mode=partial']) {
      const { failed, inserted, errors } = await imported(`nested/import?${query}`, `id\n${rows}\n`, csv)
      expect({ failed, inserted }).toEqual({ failed: 100, inserted: 100 })
      const counts = errors.map(({ message }: { message: string }) => Number(message))
      expect(counts.length).toBe(100)
      expect(Math.max(...counts)).toBeLessThan(10)
    }
  })

  test('names the rows that a trigger rejects, and counts dropped rows as skipped', async () => {
    const rows = ['fine', 'bad', 'dropped', 'late', 'denied'].map((name, id) => ({ id, name }))
    expect(await imported('guarded/import?mode=partial', rows)).toEqual({
      ...{ processed: 5, inserted: 1, updated: 0, skipped: 1, failed: 3 },
      errors: [
        { row: 2, message: 'no bad here' },
        { row: 4, message: 'no late here' },
        { row: 5, message: 'insufficient permissions' },
      ],
    })
  })

  test('returns 500 when a trigger is broken, and changes nothing', async () => {
    const response = await post('guarded/import?mode=partial', [
      { id: 1, name: 'fine' },
      { id: 2, name: 'broken' },
    ])
    expect([response.status, response.json.error]).toEqual([500, 'database_definition_error'])
    expect(await rowsOf('guarded')).toEqual([])
  })

  test('checks deferred constraints for all rows together', async () => {
    expect(await imported('node/import', 'id,parent_id\n1,2\n2,\n', csv)).toEqual(all(2))
  })

  test('names the rows that break a deferred foreign key', async () => {
    const rows = 'id,parent_id\n4,99\n3,\n6,5\n5,4\n7,3\n'
    const faults = (...at: number[]) =>
      at.map((row) => ({
        row,
        message: 'foreign key violation (node_parent_id_fkey: the row referred to is not present)',
      }))
    for (const query of ['', '?dryRun=true']) {
      const refused = await post(`node/import${query}`, rows, csv)
      expect([refused.status, refused.json]).toMatchObject([
        409,
        { error: 'import_failed', processed: 5, inserted: 0, failed: 1, errors: faults(1) },
      ])
    }
    expect(await rowsOf('node')).toEqual([])
    const response = await post('node/import?mode=partial', rows, csv)
    expect([response.status, response.json]).toEqual([
      200,
      { processed: 5, inserted: 2, updated: 0, skipped: 0, failed: 3, errors: faults(1, 3, 4) },
    ])
    expect(await rowsOf('node')).toEqual([
      { id: 3, parent_id: null },
      { id: 7, parent_id: 3 },
    ])
  })

  test('returns the failure of a deferred constraint that no row is to blame for', async () => {
    await app.sql(`
      create function never() returns trigger language plpgsql as $$
      begin raise exception 'never' using errcode = '23503'; end $$;
      create constraint trigger never after insert on node deferrable initially deferred for each row execute function never()`)
    try {
      const response = await post('node/import?mode=partial', 'id,parent_id\n3,\n', csv)
      expect([response.status, response.json.error]).toEqual([400, 'foreign_key_violation'])
    } finally {
      await app.sql('drop function never cascade')
    }
  })
})

describe('import › rejects', () => {
  test.each([
    ['nothing/import', [], 404, 'collection_not_found', 'collection not found: nothing'],
    ['track_names/import', [], 405, 'write_not_allowed', 'write operations not allowed on view'],
    ['loose/import?on_conflict=skip', [], 400, 'no_primary_key', 'table has no primary key'],
    [
      'deferred_key/import?on_conflict=update',
      [],
      400,
      'invalid_parameter',
      'on_conflict: the primary key of "deferred_key" is deferrable or allows no overlaps',
    ],
    ['track/import?mode=half', [], 400, 'invalid_parameter', 'mode: expected "full" or "partial"'],
    ['track/import?on_conflict=', [], 400, 'invalid_parameter', 'on_conflict: expected "skip" or "update"'],
    ['track/import?dryRun=1', [], 400, 'invalid_parameter', 'dryRun: expected "true" or "false"'],
    [
      'track/import?onconflict=skip',
      [],
      400,
      'unknown_parameter',
      'unknown parameter "onconflict"; did you mean on_conflict?',
    ],
    [
      'track/import?mode=full&mode=full',
      [],
      400,
      'invalid_parameter',
      'parameter "mode" is given more than once',
    ],
    ['track/import', '', 400, 'empty_body', 'empty request body'],
  ])('%s', async (path, body, status, error, message) => {
    const response = await post(path, body)
    expect([response.status, envelope(response)]).toEqual([status, { code: status, message, error }])
  })

  test('no table without a primary key when nothing depends on it', async () => {
    expect(await imported('loose/import', 'name\na\na\n', csv)).toEqual(all(2))
  })

  test('other content types and encodings', async () => {
    const type = await post('track/import', 'x', { 'content-type': 'application/xml' })
    expect([type.status, envelope(type)]).toEqual([
      415,
      {
        code: 415,
        message: 'the content type must be text/csv, application/json or application/x-ndjson',
        error: 'import_media_type',
      },
    ])
    const coding = await post('track/import', 'x', { ...csv, 'content-encoding': 'gzip' })
    expect([coding.status, coding.json.error]).toEqual([415, 'unsupported_content_encoding'])
    const bytes = await fetch(`${app.url}/api/collections/track/import`, {
      method: 'POST',
      headers: { ...csv, authorization: `Bearer ${token}` },
      body: Buffer.from([0x69, 0x64, 0x0a, 0xff, 0xfe]),
    })
    expect([bytes.status, await bytes.json()]).toMatchObject([
      400,
      { message: 'the body is not valid UTF-8' },
    ])
  })

  test('more rows or bytes than configured, and a row that is too long', async () => {
    const many = await post('track/import', 'id,name\n1,a\n2,b\n3,c\n4,d\n', csv, token, small)
    expect([many.status, envelope(many)]).toEqual([
      400,
      { code: 400, message: 'import row limit exceeded (max 3)', error: 'import_row_limit' },
    ])
    const large = await post('track/import', `id,name\n1,"${'x'.repeat(1_100_000)}"`, csv, token, small)
    expect([large.status, envelope(large)]).toEqual([
      413,
      { code: 413, message: 'request body too large', error: 'import_too_large' },
    ])
    const wide = await post(
      'track/import?mode=partial',
      `id,name\n1,"${'x'.repeat(2000)}"\n2,b\n`,
      csv,
      token,
      small,
    )
    expect(wide.json).toEqual({
      ...{ processed: 2, inserted: 1, updated: 0, skipped: 0, failed: 1 },
      errors: [{ row: 1, message: 'more than 1024 characters' }],
    })
  })

  test('more column sets than it would send statements', async () => {
    const names = ['price', 'rating', 'added_on', 'tags', 'doc', 'mood', 'raw', 'label']
    const rows = Array.from({ length: 201 }, (_, bits) => ({
      id: bits,
      name: 'n',
      ...Object.fromEntries(names.filter((_name, index) => bits & (1 << index)).map((name) => [name, null])),
    }))
    const response = await post('track/import', rows)
    expect([response.status, response.json.message]).toEqual([
      400,
      'the rows have more than 200 different sets of columns',
    ])
  })
})

test('import › releases every connection and logs no fault', async () => {
  await expect
    .poll(() =>
      app.sql(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
      ),
    )
    .toEqual([{ n: 0 }])
  // The broken trigger above is a fault of the operator.
  expect(faultsOf(app).filter((line) => !line.includes('guarded'))).toEqual([])
})
