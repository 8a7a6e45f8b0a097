import { createHash } from 'node:crypto'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const setup = `
  create type mood as enum ('calm', 'wi,ld');
  create type pair as (a int, b text);
  create table item (
    id int primary key,
    name text,
    amount numeric(30, 2),
    units bigint,
    ratio double precision,
    ok boolean,
    at timestamptz,
    day date,
    took interval,
    ref uuid,
    bytes bytea,
    mood mood,
    tags text[],
    pair pair,
    extra jsonb,
    raw json,
    "odd, ""name""" int
  );
  insert into item values
    (1, 'plain', 9007199254740993.10, 9223372036854775807, 0.5, true, '2026-01-02 03:04:05.5+00', '2026-01-02', 'PT1H',
      '00000000-0000-4000-8000-000000000001', '\\x00ff', 'wi,ld', '{a,"b c",null}', '(1,x)', '{"k": [1, null]}',
      E'{"line":\\n 1}', 7),
    (2, E'two "quoted"\\r\\nlines, 🎵 \\\\.', 0, -1, 'NaN', false, 'infinity', null, null, null, '\\x', 'calm', '{}', null,
      'null', '"text"', null),
    (3, '', null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
    (4, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
  create table diary (id int primary key, owner_id uuid not null, topic text not null);
  insert into diary values (1, '${alice}', 'work'), (2, '${alice}', 'play'), (3, '${bob}', 'bribes');
  alter table diary enable row level security;
  create policy own on diary using (owner_id = basalt.user_id());
  create table sheet (id int primary key, "=cell" text, n int, at timestamptz);
  insert into sheet values (1, '=1+1', -1, '2026-01-02'), (2, '+x', 2, null), (3, '-y', 3, null), (4, '@z', 4, null),
    (5, E'\\tt', 5, null), (6, 'a=b', 6, null), (7, null, 7, null), (8, '', 8, null);
  create table fullwidth (id int primary key, "＝x" text);
  insert into fullwidth values (1, '＝1'), (2, '＋1'), (3, '－1'), (4, '＠a'), (5, E'\\n=1'), (6, E'\\r=1');
  create table empty_one (id int primary key, note text);
  create table small (n int primary key);
  insert into small select generate_series(1, 10);
  create schema shop;
  create table shop."Größe ""1""" (n int primary key);
  insert into shop."Größe ""1""" values (1);
  create view wide as select n, repeat(md5(n::text), 30) as text from generate_series(1, 30000) n;
  create view breaking as select n, 1 / (200000 - n) as part from generate_series(1, 300000) n;
  create view slow as select 1 as n from pg_sleep(3600);
  create table guarded (id int primary key);
  insert into guarded values (1);
  alter table guarded enable row level security;
  create policy broken on guarded using (1 / (id - 1) > 0);
  create view broken_later as select n, 1 / (n - 3) as share from generate_series(1, 5) n;`

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({
    setup,
    config: { 'database.schemas': 'public,shop', 'api.export_max_rows': '250000' },
  })
})
afterAll(() => app[Symbol.asyncDispose]())

function fetchList(path: string, parameters: Readonly<Record<string, string>> = {}, by = token) {
  return app.request('GET', `/api/collections/${path}?${new URLSearchParams(parameters)}`, { token: by })
}

async function text(path: string, parameters: Readonly<Record<string, string>> = {}, by = token) {
  const response = await fetchList(path, parameters, by)
  expect(response.status, response.text).toBe(200)
  return response.text
}

/** Returns the response as a stream that only the test reads. */
function open(path: string, from: TestApp = app, by = token): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${by}` }
    httpGet(`${from.url}/api/collections/${path}`, { headers, agent: false }, resolve).on('error', reject)
  })
}

/** Reads to the end; rejects when the connection is cut. */
async function readAll(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Returns the statements of exports that run in the database. */
async function running(): Promise<{ pid: number; wait_event: string | null }[]> {
  return await app.sql(`
    select pid, wait_event from pg_stat_activity
    where query like '%copy (%' and datname = current_database() and pid <> pg_backend_pid()`)
}

const untilNoneRuns = () => waitFor('the exports to end', async () => (await running()).length === 0)

describe('GET /collections/:table/export.csv', () => {
  test('returns a header and every value as records format it', async () => {
    const response = await fetchList('item/export.csv')
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="item.csv"',
      'cache-control': 'no-store',
      'transfer-encoding': 'chunked',
    })
    expect(response.text.split(/(?<=\n)(?=\d,|$)/)).toEqual([
      'id,name,amount,units,ratio,ok,at,day,took,ref,bytes,mood,tags,pair,extra,raw,"odd, ""name"""\n',
      '1,plain,9007199254740993.10,9223372036854775807,0.5,true,2026-01-02T03:04:05.5+00:00,2026-01-02,PT1H,' +
        '00000000-0000-4000-8000-000000000001,\\x00ff,"wi,ld","[""a"",""b c"",null]","{""a"":1,""b"":""x""}",' +
        '"{""k"": [1, null]}","{""line"":\n 1}",7\n',
      '2,"two ""quoted""\r\nlines, 🎵 \\.",0.00,-1,NaN,false,infinity,,,,\\x,calm,[],,null,"""text""",\n',
      '3,"",,,,,,,,,,,,,,,\n',
      '4,,,,,,,,,,,,,,,,\n',
    ])
  })

  test('returns the requested fields, filtered and sorted', async () => {
    expect(await text('item/export.csv', { fields: 'ok,id', filter: 'id < 4', sort: '-id' })).toBe(
      'ok,id\n,3\nfalse,2\ntrue,1\n',
    )
  })

  test('distinguishes an empty text from NULL, also alone in a line', async () => {
    expect(await text('item/export.csv', { fields: 'name', filter: 'id > 2' })).toBe('name\n""\n\n')
  })

  test('returns the header when no row matches', async () => {
    expect(await text('empty_one/export.csv')).toBe('id,note\n')
  })

  test('keeps formulas, unless for a spreadsheet', async () => {
    expect(await text('sheet/export.csv', { fields: '=cell,n' })).toBe(
      '=cell,n\n=1+1,-1\n+x,2\n-y,3\n@z,4\n\tt,5\na=b,6\n,7\n"",8\n',
    )
    expect(
      await text('sheet/export.csv', { fields: '=cell,n,at', spreadsheet: 'true', filter: 'id < 9' }),
    ).toBe(
      `'=cell,n,at\n'=1+1,-1,2026-01-02T00:00:00+00:00\n'+x,2,\n'-y,3,\n'@z,4,\n'\tt,5,\na=b,6,\n,7,\n"",8,\n`,
    )
    expect(await text('fullwidth/export.csv', { spreadsheet: 'true', sort: 'id' })).toBe(
      `id,'＝x\n1,'＝1\n2,'＋1\n3,'－1\n4,'＠a\n5,"'\n=1"\n6,"'\r=1"\n`,
    )
    const response = await fetch(`${app.url}/api/collections/sheet/export.csv?spreadsheet=true`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const [first, second, third] = new Uint8Array(await response.arrayBuffer())
    expect([first, second, third]).toEqual([0xef, 0xbb, 0xbf])
  })
})

/** Returns a record in its exported form; `extra` of the second one is a JSON null. */
function withJsonNull(record: { readonly id: number }) {
  return record.id === 2 ? { ...record, _jsonNull: ['extra'] } : record
}

describe('GET /collections/:table/export.json and .ndjson', () => {
  test('returns an array of the records in the format of a list', async () => {
    const response = await fetchList('item/export.json')
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': 'attachment; filename="item.json"',
    })
    const list = await text('item')
    expect(response.json).toEqual(JSON.parse(list).items.map(withJsonNull))
    expect(response.text).toContain('"amount":9007199254740993.10,"units":9223372036854775807')
  })

  test('returns one record per line as NDJSON', async () => {
    const response = await fetchList('item/export.ndjson')
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': 'attachment; filename="item.ndjson"',
    })
    const lines = response.text.split('\n')
    expect(lines.pop()).toBe('')
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      JSON.parse(await text('item')).items.map(withJsonNull),
    )
  })

  test('returns an empty array, or nothing, when no row matches', async () => {
    expect(await text('empty_one/export.json')).toBe('[]')
    expect(await text('empty_one/export.ndjson')).toBe('')
    expect(await text('small/export.json', { filter: 'n <= 2' })).toBe('[{"n":1}\n,{"n":2}\n]')
  })
})

describe('exports', () => {
  test('have the rows that the policies show the caller', async () => {
    expect(await text('diary/export.csv', { fields: 'topic' })).toBe('topic\nwork\nplay\n')
    const ofBob = await text('diary/export.ndjson', {}, userToken({ sub: bob }))
    expect(ofBob).toBe(`{"id":3,"owner_id":"${bob}","topic":"bribes"}\n`)
    expect(await text('diary/export.csv', { fields: 'id' }, await app.adminToken())).toBe('id\n1\n2\n3\n')
  })

  test('work on a view, and under any name', async () => {
    const name = encodeURIComponent('shop.Größe "1"')
    const response = await fetchList(`${name}/export.csv`)
    expect([response.status, response.text]).toEqual([200, 'n\n1\n'])
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="shop.Gr__e _1_.csv"; filename*=UTF-8''shop.Gr%C3%B6%C3%9Fe%20%221%22.csv`,
    )
    expect((await text('wide/export.csv', { fields: 'n', filter: 'n <= 3' })).split('\n')).toHaveLength(5)
  })

  test('return no body for HEAD, and read no rows', async () => {
    for (const name of ['wide/export.csv', 'wide/export.json']) {
      const response = await app.request('HEAD', `/api/collections/${name}`, { token })
      expect([response.status, response.text]).toEqual([200, ''])
      expect(response.headers.get('content-disposition')).toContain('attachment')
      expect(response.headers.get('content-length')).toBeNull()
    }
    await untilNoneRuns()
  })

  test('accept any text as a value', async () => {
    const hostile = `'; drop table item; -- \\' $1 E'\\\\`
    await app.sql('insert into item (id, name) values (50, $1)', [hostile])
    const literal = hostile.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
    for (const filter of [
      `name = '${literal}'`,
      `name in ('${literal}', 'x')`,
      'id = 50',
      'id in (50, 51)',
    ]) {
      expect(await text('item/export.csv', { fields: 'id', filter })).toBe('id\n50\n')
    }
    expect(
      await text('item/export.csv', { fields: 'id', filter: "name ~ 'plai%' and at > '2026-01-01'" }),
    ).toBe('id\n1\n')
    await app.sql('delete from item where id = 50')
  })

  test.each([
    [{ filter: "id = 'x'" }, 'invalid_value', 'invalid integer value "x" — expected a whole number, e.g. 42'],
    [
      { filter: "name = '\0'" },
      'invalid_filter',
      'invalid filter: string at position 7 has the character U+0000, which PostgreSQL text cannot hold',
    ],
    [
      { filter: "id in (1, 'x')" },
      'invalid_value',
      'invalid integer value "x" — expected a whole number, e.g. 42',
    ],
    [{ filter: 'nope = 1' }, 'unknown_filter_column', 'invalid filter: unknown column: nope'],
    [{ sort: 'nope' }, 'unknown_column', 'unknown column "nope" in sort'],
    [{ sort: 'raw' }, 'invalid_parameter', 'sort: json of column "raw" has no order'],
    [{ fields: 'id,nope' }, 'unknown_column', 'unknown column "nope" in fields'],
    [{ spreadsheet: 'yes' }, 'invalid_parameter', 'spreadsheet parameter must be a boolean'],
    [{ page: '2' }, 'unknown_parameter', 'unknown parameter "page"'],
    [{ field: 'id' }, 'unknown_parameter', 'unknown parameter "field"; did you mean fields?'],
    [{ expand: 'x' }, 'unknown_parameter', 'unknown parameter "expand"'],
  ])('reject %j before they begin', async (parameters, error, message) => {
    const response = await fetchList('item/export.csv', parameters)
    expect(envelope(response)).toMatchObject({ code: 400, error, message })
    expect(response.headers.get('content-disposition')).toBeNull()
    const listed = 'filter' in parameters ? envelope(await fetchList('item', parameters)) : undefined
    if (listed !== undefined) expect(envelope(response)).toEqual(listed)
  })

  test.each(["id = 'x'", "id in (1, 'x')", "owner_id = 'x'", "id between 'x' and 3"])(
    'blame a value and not the policies for %s',
    async (filter) => {
      const response = await fetchList('diary/export.json', { filter })
      expect(envelope(response)).toMatchObject({ code: 400, error: 'invalid_value' })
      expect(envelope(response)).toEqual(envelope(await fetchList('diary', { filter })))
    },
  )

  test('reject unknown names and columns that must not be read', async () => {
    expect(envelope(await fetchList('nope/export.csv'))).toEqual({
      code: 404,
      error: 'collection_not_found',
      message: 'collection not found: nope',
    })
    expect(envelope(await fetchList('item/export.json', { spreadsheet: 'true' }))).toMatchObject({
      code: 400,
      message: 'unknown parameter "spreadsheet"',
    })
    await app.sql('create table closed (id int primary key); revoke all on closed from basalt_authenticated')
    expect(envelope(await fetchList('closed/export.csv'))).toEqual({
      code: 403,
      error: 'insufficient_permissions',
      message: 'insufficient permissions',
    })
  })

  test('blame a view after its first rows, as long as nothing is sent', async () => {
    const response = await fetchList('broken_later/export.csv')
    expect(envelope(response)).toMatchObject({ code: 500, error: 'database_definition_error' })
    await untilNoneRuns()
    expect(faultsOf(app).at(-1)).toContain('failed on "broken_later"')
  })

  test('blame a policy without a file', async () => {
    const before = faultsOf(app)
    const response = await fetchList('guarded/export.csv')
    expect(envelope(response)).toMatchObject({ code: 500, error: 'database_definition_error' })
    await untilNoneRuns()
    expect(faultsOf(app)).toHaveLength(before.length + 1)
  })

  test('work for a program that may read the table', async () => {
    await app.sql('insert into basalt.users (id) values ($1)', [alice])
    const { key } = await createApiKey(app, { userId: alice, scope: 'readonly', allowedTables: ['small'] })
    expect((await fetchList('small/export.csv', {}, key)).status).toBe(200)
    for (const path of ['item/export.csv', 'nope/export.json']) {
      expect(envelope(await fetchList(path, {}, key))).toMatchObject({
        code: 403,
        error: 'insufficient_scope',
      })
    }
  })

  test('end at the limit, and report it in a trailer', async () => {
    const response = await open('breaking/export.csv?fields=n')
    expect(response.headers.trailer).toBe('x-export-truncated')
    const lines = (await readAll(response)).toString().split('\n')
    expect([lines.length, lines.at(-2)]).toEqual([250_002, '250000'])
    expect(response.trailers['x-export-truncated']).toBe('true')

    const whole = await open('small/export.json')
    expect(JSON.parse((await readAll(whole)).toString())).toHaveLength(10)
    expect(whole.trailers['x-export-truncated']).toBe('false')
  })
})

describe('exports that fail', () => {
  test.each(['csv', 'json', 'ndjson'])('are cut, never a shorter file: %s', async (format) => {
    const response = await open(`breaking/export.${format}`)
    expect(response.statusCode).toBe(200)
    await expect(readAll(response)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await untilNoneRuns()
    const [line = '{}'] = app.log.filter((each) => each.includes('export cut')).splice(-1)
    expect(JSON.parse(line)).toMatchObject({
      collection: 'breaking',
      msg: 'export cut',
      err: { message: expect.stringContaining('division by zero') },
    })
  })

  test('are cut when their backend is terminated', async () => {
    const response = await open('wide/export.csv')
    const [{ pid } = { pid: 0 }] = await waitFor('the client to be waited for', async () => {
      const found = await running()
      return found[0]?.wait_event === 'ClientWrite' ? found : undefined
    })
    await app.sql('select pg_terminate_backend($1::int)', [pid])
    await expect(readAll(response)).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('end their statement when the client disconnects', async () => {
    for (const path of ['wide/export.csv', 'wide/export.json']) {
      const response = await open(path)
      await waitFor('the export to run', async () => (await running()).length > 0)
      response.destroy()
      await untilNoneRuns()
    }
  })

  test('end their statement when the client disconnects before the first row', async () => {
    const leaving = new AbortController()
    const request = fetch(`${app.url}/api/collections/slow/export.csv`, {
      headers: { authorization: `Bearer ${token}` },
      signal: leaving.signal,
    })
    await waitFor('the export to run', async () => (await running()).length > 0)
    leaving.abort()
    await expect(request).rejects.toThrow('aborted')
    await untilNoneRuns()
  })

  test('time out without a row', async () => {
    await using hasty = await createTestApp({
      database: app.database,
      config: { 'database.schemas': 'public,shop', 'database.statement_timeout_ms': '500' },
    })
    const response = await hasty.request('GET', '/api/collections/slow/export.csv', { token })
    expect(envelope(response)).toEqual({
      code: 504,
      error: 'statement_timeout',
      message: 'the database took too long',
    })
    await untilNoneRuns()
  })

  test('are cut after their time limit', async () => {
    await using brief = await createTestApp({
      database: app.database,
      config: { 'database.schemas': 'public,shop', 'api.export_timeout': '1' },
    })
    const response = await open('wide/export.csv', brief)
    await waitFor('the statement to end', async () => (await running()).length === 0)
    await expect(readAll(response)).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('are cut by a stopping server, which releases everything', async () => {
    const stopping = await createTestApp({
      database: app.database,
      config: { 'database.schemas': 'public,shop', 'server.shutdown_timeout': '1' },
    })
    const response = await open('wide/export.csv', stopping)
    await stopping.app.close()
    await expect(readAll(response)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await untilNoneRuns()
  })
})

describe('export slots', () => {
  test("are free for a client's next export as soon as it has one", async () => {
    for (let count = 0; count < 10; count += 1) expect(await text('small/export.json')).toContain('{"n":10}')
  })
})

describe('exports to a slow client', () => {
  test('slow the statement down, and deliver every byte', async () => {
    const response = await open('wide/export.ndjson')
    await waitFor('the statement to wait for the client', async () => {
      const [first] = await running()
      return first?.wait_event === 'ClientWrite'
    })
    // The pool serves only other requests.
    expect((await fetchList('small')).json.totalItems).toBe(10)
    const [expected] = await app.sql<{ hash: string }>(`
      select encode(sha256(convert_to(string_agg(row_to_json(w)::text || E'\\n', '' order by n), 'utf8')), 'hex') as hash
      from wide w`)
    const hash = createHash('sha256')
      .update(await readAll(response))
      .digest('hex')
    expect(hash).toBe(expected?.hash)
    expect(response.trailers['x-export-truncated']).toBe('false')
    await untilNoneRuns()
  })

  test('occupy at most half of the slots per caller, and at most all slots together', async () => {
    const ofAlice = await Promise.all([open('wide/export.csv'), open('wide/export.csv')])
    const third = await fetchList('small/export.csv')
    expect(envelope(third)).toEqual({
      code: 429,
      error: 'export_limit',
      message: 'too many exports at once by this caller',
    })
    expect(third.headers.get('retry-after')).toBe('5')
    const byBob = userToken({ sub: bob })
    const ofBob = await Promise.all([
      open('wide/export.csv', app, byBob),
      open('wide/export.csv', app, byBob),
    ])
    for (const by of [token, byBob, await app.adminToken()]) {
      const refused = await fetchList('small/export.csv', {}, by)
      expect(envelope(refused)).toEqual({
        code: 503,
        error: 'exports_busy',
        message: 'too many exports at once',
      })
      expect(refused.headers.get('retry-after')).toBe('5')
    }
    for (const response of [...ofAlice, ...ofBob]) response.destroy()
    await waitFor('a slot', async () => (await fetchList('small/export.csv')).status === 200)
    await untilNoneRuns()
  })

  test('return files or a reason for ten concurrent requests, and release every slot', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => fetchList('small/export.csv')))
    for (const { status, text: body } of answers) {
      if (status === 200) expect(body.split('\n')).toHaveLength(12)
      else expect([429, 503]).toContain(status)
    }
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2)
    await waitFor('a slot', async () => (await fetchList('small/export.csv')).status === 200)
  })
})
