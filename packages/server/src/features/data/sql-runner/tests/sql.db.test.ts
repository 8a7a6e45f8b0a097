import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let database: TestDatabase
let app: TestApp
let second: TestApp
let token: string

const alice = '00000000-0000-4000-8000-00000000000a'
const any = expect.anything()

const schema = `
  create table note (id int primary key, owner uuid, body text);
  insert into note select n, case when n <= 3 then '${alice}'::uuid end, 'note ' || n from generate_series(1, 1200) n;
  alter table note enable row level security;
  create policy own on note for select to basalt_authenticated
    using (owner = nullif(current_setting('basalt.user_id', true), '')::uuid);
  create table child (id int primary key, note int references note deferrable initially deferred);
  create schema extra;
  create table extra.thing (id int, label text);
  create function extra.run(command text) returns text language plpgsql volatile as $$ begin execute command; return 'ran'; end $$;
  create function extra.run_as_owner(command text) returns text language plpgsql volatile security definer as
    $$ begin execute command; return 'ran'; end $$;
  create procedure extra.leave() language plpgsql as $$ begin commit; delete from public.note; end $$;
`

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(schema)
  app = await createTestApp({ database })
  second = await createTestApp({ database })
  token = await app.adminToken()
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const sendRequest = (method: string, path: string, body?: unknown, node = app) =>
  node.request(method, `/api/admin/sql${path}`, { token, body })

const run = (query: string, more: object = {}) => sendRequest('POST', '', { query, ...more })

async function stream(query: string, more: object = {}) {
  const headers = { accept: 'application/x-ndjson' }
  const { text } = await app.request('POST', '/api/admin/sql', { token, body: { query, ...more }, headers })
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

async function failure(query: string, more: object = {}) {
  const { status, json } = await run(query, more)
  return [status, json.error, json.message, json.data?.sqlState]
}

const countNotes = async () => (await app.sql('select count(*)::int as n from note'))[0]?.n

describe('POST /admin/sql', () => {
  test('returns the rows of the last statement without losing a digit', async () => {
    const { status, json, text } = await run(
      `select 1; select 7 as n, 12345678901234567890.10 as x, 'NaN'::float8 as y, true, null, '{"a":1.10}'::json, array[1]`,
    )
    expect([status, json]).toEqual([
      200,
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        columns: ['n', 'x', 'y', '?column?', '?column?', 'json', 'array'],
        types: ['integer', 'numeric', 'double precision', 'boolean', 'text', 'json', 'integer[]'],
        rows: [[7, any, 'NaN', true, null, { a: 1.1 }, [1]]],
        rowCount: 1,
        durationMs: expect.any(Number),
        command: 'SELECT 1',
        hasMore: false,
        statements: 2,
        notices: [],
      },
    ])
    expect(text).toContain('[7,12345678901234567890.10,"NaN",true,null,{"a":1.10},[1]]')
  })

  test('reports each statement as a line when it has finished', async () => {
    const events = await stream(
      "select id from note order by id;\n\ndo $$ begin raise warning 'look' using hint = 'here'; end $$; copy (select 1, 2) to stdout; select repeat('x', 20001); selec 1",
      { maxRows: 2 },
    )
    expect(events).toEqual([
      { type: 'start', id: any, role: 'basalt_reader', statements: 5 },
      {
        type: 'result',
        statement: 0,
        line: 1,
        command: null,
        columns: [{ name: 'id', type: 'integer', typeId: 23 }],
        rows: [['1'], ['2']],
        rowCount: 2,
        hasMore: true,
        cut: [],
        durationMs: any,
      },
      { type: 'notice', statement: 1, severity: 'WARNING', message: 'look', hint: 'here' },
      expect.objectContaining({ statement: 1, line: 3, command: 'DO', columns: [], rows: [], rowCount: 0 }),
      expect.objectContaining({ columns: [{ name: 'copy', type: 'text', typeId: 25 }], rows: [['1\t2']] }),
      expect.objectContaining({ cut: [[0, 0, 20_001]], rows: [['x'.repeat(20_000)]] }),
      {
        type: 'error',
        code: 400,
        message: 'syntax error at or near "selec"',
        error: 'sql_failed',
        data: { sqlState: '42601', statement: 4, offset: any, line: 3, column: any },
      },
    ])
  })

  test.each([[1199], [1200], [1201]])(
    'returns %s rows, and reports whether there are more',
    async (maxRows) => {
      const { json } = await run('select * from note', { maxRows })
      expect([json.rows.length, json.hasMore]).toEqual([Math.min(maxRows, 1200), maxRows < 1200])
    },
  )

  test('locates an error after characters beyond the BMP', async () => {
    const { json } = await run("select 1;\n select 'é😀',\n  x from note")
    expect(json).toMatchObject({
      message: 'column "x" does not exist',
      data: { sqlState: '42703', statement: 1, offset: 27, line: 3, column: 3 },
    })
  })

  test('accepts parameters, by position and with types', async () => {
    const parameters = [2, { value: '{1,2}', type: 'int8[]' }, null]
    const { json } = await run('select $1::int + 1 as a; select $2 as b, $3::text as c, $1::int as d', {
      parameters,
    })
    expect([json.types, json.rows]).toEqual([['bigint[]', 'text', 'integer'], [[[1, 2], null, 2]]])
  })

  test('keeps all or nothing of several statements in a transaction', async () => {
    const id = 5001
    expect(await failure(`insert into note values (${id}); select 1/0`, { mode: 'write' })).toEqual([
      400,
      'sql_failed',
      'division by zero',
      '22012',
    ])
    expect(await failure(`insert into child values (1, ${id})`, { mode: 'write' })).toEqual([
      400,
      'sql_failed',
      expect.stringContaining('violates foreign key constraint'),
      '23503',
    ])
    expect(
      (await run(`insert into note values (${id}); delete from note where id = ${id}`, { mode: 'write' }))
        .json,
    ).toMatchObject({ rowCount: 1, command: 'DELETE 1', statements: 2 })
    expect(await countNotes()).toBe(1200)
  })

  test('keeps separate statements before a failure, and undoes the open transaction', async () => {
    const each = { mode: 'write', transaction: 'each' }
    expect((await run('create index concurrently on note (body)', each)).status).toBe(200)
    expect(await failure('insert into note values (5002); select 1/0', each)).toContain('22012')
    expect(await countNotes()).toBe(1201)
    const events = await stream('begin; delete from note', each)
    expect(events.at(-1)).toEqual({ type: 'end', outcome: 'rolled back', durationMs: any })
    expect((await run('delete from note where id = 5002', each)).json.rowCount).toBe(1)
    expect(await failure('vacuum note', { mode: 'write' })).toContain('25001')
  })

  test('applies policies as a user or without a token', async () => {
    const asAlice = await run('select id from note order by id', { runAs: { kind: 'user', userId: alice } })
    expect(asAlice.json.rows).toEqual([[1], [2], [3]])
    const written = { mode: 'write', runAs: { kind: 'user', userId: alice } }
    expect(await failure('insert into note values (6000)', written)).toContain('42501')
    expect(await failure('select * from note', { runAs: { kind: 'anonymous' } })).toContain('42501')
    expect((await run('select count(*) from note')).json.rows).toEqual([[1200]])
  })

  test.each<[string, object, string]>([
    ['nothing', {}, 'query is required'],
    ['blanks', { query: ' \n' }, 'query is required'],
    ['a comment', { query: '-- no' }, 'query has no statement'],
    ['U+0000', { query: 'select \0' }, 'query must not contain the character U+0000'],
    [
      'a long query',
      { query: `select 1${' '.repeat(1_000_000)}` },
      'query must have at most 1000000 characters',
    ],
    ['many statements', { query: ';select 1'.repeat(1001) }, 'query has more than 1000 statements'],
    ['another mode', { query: 'select 1', mode: 'x' }, 'mode must be one of: read, write'],
    ['another transaction', { query: 'select 1', transaction: 'x' }, 'transaction must be one of: all, each'],
    [
      'reading each',
      { query: 'select 1', transaction: 'each' },
      'transaction must be all in a read-only run: set mode to write',
    ],
    ['no id', { query: 'select 1', id: 'x' }, 'id must be a UUID'],
    ['no rows', { query: 'select 1', maxRows: 0 }, 'maxRows must be a whole number from 1 to 10000'],
    [
      'no time',
      { query: 'select 1', timeoutSeconds: 601 },
      'timeoutSeconds must be a whole number from 1 to 600',
    ],
    [
      'another person',
      { query: 'select 1', runAs: { kind: 'x' } },
      'runAs.kind must be one of: administrator, user, anonymous',
    ],
    ['a person without id', { query: 'select 1', runAs: { kind: 'user' } }, 'runAs.userId must be a UUID'],
    [
      'few parameters',
      { query: 'select $2', parameters: [1] },
      'query has parameters up to $2, and parameters has 1',
    ],
    [
      'many parameters',
      { query: 'select 1', parameters: [1] },
      'query has no parameters, and parameters has 1',
    ],
    [
      'a list',
      { query: 'select $1', parameters: [[1]] },
      'parameters[0] must be a text, a number, true, false or null',
    ],
    [
      'an unknown type',
      { query: 'select $1', parameters: [{ value: '1', type: 'nope' }] },
      'parameters[0].type: no type "nope"',
    ],
    [
      'a malformed type',
      { query: 'select $1', parameters: [{ value: '1', type: '"' }] },
      'parameters[0].type: no type """',
    ],
    [
      'COMMIT',
      { query: 'select 1;\n/* a */ commit and chain' },
      'line 2: COMMIT is not allowed: a read-only run is one transaction',
    ],
    [
      'BEGIN',
      { query: 'begin', mode: 'write' },
      'line 1: BEGIN is not allowed: the run is one transaction; set transaction to each',
    ],
  ])('rejects %s', async (_what, body, message) => {
    const response = await sendRequest('POST', '', body)
    expect(envelope(response)).toEqual({
      code: 400,
      error: 'invalid_sql_request',
      message: expect.stringContaining(message),
    })
  })

  test('cuts the quotes in a notice or an error, in the history too', async () => {
    const long = `${'x'.repeat(8000)}… (100000 characters)`
    const noticed = await run("do $$ begin raise notice '%', repeat('x', 100000); end $$")
    expect(noticed.json.notices.map(({ message }: { message: string }) => message)).toEqual([long])
    const refused = await run("do $$ begin raise '%', repeat('x', 100000); end $$")
    expect([refused.status, refused.text.length < 10_000]).toEqual([400, true])
    const [listed] = (await sendRequest('GET', '/runs?limit=1')).json.items
    expect(listed).toMatchObject({ error: 'x'.repeat(300), isCut: true })
    expect((await sendRequest('GET', `/runs/${listed.id}`)).json.error).toBe(long)
  })

  test('rejects COPY FROM STDIN, which has no input', async () => {
    expect(await failure('copy note from stdin', { mode: 'write' })).toEqual([
      400,
      'sql_failed',
      'COPY FROM STDIN has no input here',
      '0A000',
    ])
  })

  test('requires an administrator', async () => {
    const asUser = await app.request('POST', '/api/admin/sql', {
      token: userToken({ sub: alice }),
      body: { query: 'select 1' },
    })
    expect(asUser.status).toBe(401)
  })
})

describe('POST /admin/sql in read-only mode', () => {
  const readOnly = expect.stringMatching(/^(25006|25001|42501|0A000|2D000|25P02|42883|42704|22023)$/)
  test.each([
    ['a write', 'delete from note'],
    ['a write after a comment', '/* ; */ -- select\n delete from note'],
    ['a write in a query', 'with gone as (delete from note returning *) select * from gone'],
    ['a transaction made to write', 'set transaction read write; delete from note'],
    [
      'a setting made to write',
      'set default_transaction_read_only = off; set transaction_read_only = off; delete from note',
    ],
    [
      'a setting made to write by a function',
      "select set_config('transaction_read_only', 'off', false); delete from note",
    ],
    ['dynamic SQL of a function', "select extra.run('delete from public.note')"],
    ['dynamic SQL of a function as its owner', "select extra.run_as_owner('delete from public.note')"],
    [
      'a function that sets it to write',
      "select extra.run_as_owner('set local transaction_read_only = off')",
    ],
    ['a block', "do $$ begin execute 'delete from note'; end $$"],
    ['a block that commits', 'do $$ begin commit; delete from public.note; end $$'],
    ['a procedure that commits', 'call extra.leave()'],
    ['another role', 'set role postgres'],
    ['another session user', 'set session authorization postgres'],
    ['another role by a function', "select extra.run('set role postgres')"],
    ['a program', "copy (select 1) to program 'true'"],
    ['a file that is written', "copy (select 1) to '/tmp/basalt-sql-test'"],
    ['a file that is read', "select pg_read_file('/etc/passwd')"],
    ['a folder', "select pg_ls_dir('/')"],
    ['a large object', 'select lo_create(0)'],
    ['a large object of a file', "select lo_import('/etc/passwd')"],
    ['a sequence', "create temp sequence s; select nextval('s')"],
    ['a table', 'create table public.t ()'],
    ['an extension', 'create extension dblink'],
    ['settings of the server', "alter system set work_mem = '1GB'"],
    ['password hashes', 'select password_hash from basalt.users'],
    ['secrets by the role of users', 'set role basalt_authenticated; select * from basalt.users'],
    ['the passwords of roles', 'select * from pg_authid'],
    ['explained writes', 'explain analyze delete from note'],
    ['another session', "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'"],
  ])('withstands %s', async (_what, query) => {
    const [status, error, , sqlState] = await failure(query)
    expect([status, error, sqlState]).toEqual([400, 'sql_failed', readOnly])
    expect(await countNotes()).toBe(1200)
  })

  test('withstands a reset role: the session is that of the reader', async () => {
    const { json } = await run('reset role; reset session authorization; select session_user, current_user')
    expect(json.rows).toEqual([['basalt_reader', 'basalt_reader']])
  })

  test('reads tables created after the reader, in every schema but basalt', async () => {
    await app.sql('create schema later; create table later.t (id serial); insert into later.t default values')
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        sendRequest('POST', '', { query: 'select * from later.t' }, n % 2 ? second : app),
      ),
    )
    expect(answers.map(({ json }) => json.rows)).toEqual(answers.map(() => [[1]]))
    await app.sql('drop schema later cascade')
  })
})

describe('cancel of an SQL run', () => {
  async function begin(query: string, more: object = {}) {
    const id = randomUUID()
    const ended = run(query, { id, ...more })
    await waitFor('the statement to run', async () => {
      const [row] = await app.sql(
        "select from pg_stat_activity where query like $1 and state = 'active' and pid <> pg_backend_pid()",
        [`%${query}%`],
      )
      return row !== undefined
    })
    return { id, ended }
  }

  test.each([
    ['its own node', () => app],
    ['another node', () => second],
  ])('stops a run by its id from %s', async (_what, node) => {
    const { id, ended } = await begin('select pg_sleep(60), 1')
    expect((await sendRequest('POST', `/runs/${id}/cancel`, undefined, node())).json).toEqual({ id })
    expect(envelope(await ended)).toEqual({
      code: 409,
      error: 'sql_run_canceled',
      message: 'the run was canceled',
    })
    const again = await sendRequest('POST', `/runs/${id}/cancel`, undefined, node())
    expect(envelope(again)).toEqual({
      code: 404,
      error: 'sql_run_not_found',
      message: 'no run with this id is in flight',
    })
    expect((await sendRequest('GET', '/runs?limit=1')).json.items).toMatchObject([{ id, status: 'canceled' }])
  })

  test('stops a run whose client disconnects, and undoes it', async () => {
    const controller = new AbortController()
    const body = JSON.stringify({
      query: 'insert into note values (7000); select pg_sleep(60), 2',
      mode: 'write',
    })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const requests = fetch(`${app.url}/api/admin/sql`, {
      method: 'POST',
      body,
      headers,
      signal: controller.signal,
    })
    const isRunning = async () =>
      (await app.sql("select from pg_stat_activity where query = 'select pg_sleep(60), 2'")).length > 0
    await waitFor('the statement to run', isRunning)
    controller.abort()
    await expect(requests).rejects.toThrow()
    await waitFor('the statement to end', async () => !(await isRunning()))
    await waitFor(
      'the end of the run',
      async () => (await sendRequest('GET', '/runs?limit=1')).json.items[0]?.status === 'canceled',
    )
    expect(await countNotes()).toBe(1200)
  })

  test('happens by itself when the time is over', async () => {
    expect(await failure('set statement_timeout = 0; select pg_sleep(60)', { timeoutSeconds: 1 })).toEqual([
      504,
      'sql_timeout',
      'the run took longer than 1 s',
      undefined,
    ])
  })

  test('is not needed for a second run with an id, nor for more runs than a node allows: both are rejected', async () => {
    const { id, ended } = await begin('select pg_sleep(60), 3')
    expect(envelope(await run('select 1', { id }))).toEqual({
      code: 409,
      error: 'sql_run_exists',
      message: 'there is a run with this id',
    })
    const others = Array.from({ length: 10 }, () => ({ id: randomUUID() }))
    const requests = others.map((each) => run('select pg_sleep(60), 4', each))
    const refused = (await Promise.race(requests)).json
    expect(refused).toMatchObject({
      code: 429,
      error: 'too_many_sql_runs',
      message: 'too many runs: this server runs 8 at once',
    })
    const inFlight = async () =>
      (await sendRequest('GET', '/runs?q=pg_sleep')).json.items.filter(
        (item: { status: string }) => item.status === 'running',
      )
    await waitFor('eight runs', async () => (await inFlight()).length === 8)
    for (const item of await inFlight()) await sendRequest('POST', `/runs/${item.id}/cancel`)
    const statuses = (await Promise.all([ended, ...requests])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([...Array(8).fill(409), 429, 429, 429])
  })
})

describe('POST /admin/sql/explain', () => {
  const explain = (query: string, more: object = {}) => sendRequest('POST', '/explain', { query, ...more })

  test('returns the plan, which has the policies for a user', async () => {
    const { status, json } = await explain('select * from note where id = $1', { parameters: [1] })
    expect([status, json]).toMatchObject([200, { plan: [{ Plan: { 'Node Type': 'Index Scan' } }] }])
    expect(json.plan[0]).not.toHaveProperty('Execution Time')
    const asAlice = await explain('select * from note', { runAs: { kind: 'user', userId: alice } })
    expect(asAlice.text).toContain('basalt.user_id')
  })

  test('runs the statement that it analyzes and undoes it', async () => {
    const { json } = await explain('delete from note', { analyze: true, mode: 'write' })
    expect(json.plan[0]).toMatchObject({ Plan: { 'Node Type': 'ModifyTable' }, 'Execution Time': any })
    expect(await countNotes()).toBe(1200)
    expect(envelope(await explain('delete from note', { analyze: true }))).toMatchObject({
      code: 400,
      message: 'cannot execute DELETE in a read-only transaction',
    })
  })

  test('rejects several statements, and locates errors in the statement', async () => {
    expect(envelope(await explain('select 1; select 2'))).toEqual({
      code: 400,
      error: 'invalid_sql_request',
      message: 'query must be one statement, and has 2',
    })
    const { json } = await explain('\nselect x')
    expect(json.data).toMatchObject({ line: 2, column: 8, offset: 8 })
  })
})

describe('SQL history', () => {
  test('has the statements without passwords, and so has the audit log', async () => {
    await run("create role sql_test password 's3cret'", { mode: 'write' })
    await run("alter role sql_test with encrypted password E's3cret'; drop role sql_test", { mode: 'write' })
    await run("create user mapping for public server nothing options (user 'u', password 's3cret')", {
      mode: 'write',
    })
    const { text, json } = await sendRequest('GET', '/runs?limit=3')
    expect(text).not.toContain('s3cret')
    expect(json.items.map(({ query, status }: { query: string; status: string }) => [query, status])).toEqual(
      [
        [
          "create user mapping for public server nothing options (user '[redacted]', password '[redacted]')",
          'failed',
        ],
        ["alter role sql_test with encrypted password '[redacted]'; drop role sql_test", 'succeeded'],
        ["create role sql_test password '[redacted]'", 'succeeded'],
      ],
    )
    const audit = await app.sql(
      "select detail, target, address from basalt.audit where action = 'sql.run' order by id desc limit 3",
    )
    expect(JSON.stringify(audit)).not.toContain('s3cret')
    expect(audit[0]).toEqual({
      target: json.items[0].id,
      address: '127.0.0.1',
      detail: { mode: 'write', runAs: 'administrator', transaction: 'all', query: any },
    })
    expect(app.log.join('')).not.toContain('s3cret')
  })

  test('is searched and read page by page', async () => {
    for (const n of [1, 2, 3]) await run(`select 'Needle ${n}'`)
    const first = (await sendRequest('GET', '/runs?q=needle&limit=2')).json
    expect(first.items.map(({ query }: { query: string }) => query)).toEqual([
      "select 'Needle 3'",
      "select 'Needle 2'",
    ])
    // The cursor is a moment, whether or not the run before it still exists.
    await app.sql('delete from basalt.sql_runs where id = $1', [first.items[1].id])
    const rest = (await sendRequest('GET', `/runs?q=needle&limit=2&cursor=${first.nextCursor}`)).json
    expect(rest).toEqual({
      items: [
        {
          id: any,
          query: "select 'Needle 1'",
          queryLength: 17,
          isCut: false,
          mode: 'read',
          runAs: 'administrator',
          status: 'succeeded',
          error: null,
          statements: 1,
          rowCount: 1,
          durationMs: any,
          startedAt: any,
        },
      ],
    })
    for (const cursor of ['x', '1_x', `99999999999999999_${randomUUID()}`, '%00'])
      expect((await sendRequest('GET', `/runs?cursor=${cursor}`)).json.message).toBe(
        'invalid cursor; expected nextCursor of the page before',
      )
  })

  test('lists the beginning of a long query and returns the whole by its id', async () => {
    const query = `select '${'😀'.repeat(40_000)}'`
    const { id } = (await run(query)).json
    const listed = (await sendRequest('GET', '/runs?limit=1')).json.items[0]
    expect(listed).toMatchObject({
      id,
      query: `select '${'😀'.repeat(292)}`,
      queryLength: 40_009,
      isCut: true,
    })
    const whole = await sendRequest('GET', `/runs/${id}`)
    expect([whole.status, whole.json]).toEqual([200, { ...listed, query, isCut: false }])
    for (const unknown of [randomUUID(), 'x'])
      expect(envelope(await sendRequest('GET', `/runs/${unknown}`))).toEqual({
        code: 404,
        error: 'sql_run_not_recorded',
        message: 'no run with this id is on record',
      })
  })

  test('keeps the last thousand runs, and calls a run interrupted when its server has died', async () => {
    const id = randomUUID()
    await app.sql(
      `insert into basalt.sql_runs (id, query, mode, run_as, statements, started_at)
      select gen_random_uuid(), 'old', 'read', 'administrator', 1, now() - interval '1 year' from generate_series(1, 1100)`,
    )
    await app.sql(
      `insert into basalt.sql_runs (id, query, mode, run_as, statements, backend_pid, backend_start)
      values ($1, 'dead', 'read', 'administrator', 1, 1, now())`,
      [id],
    )
    await run('select 1')
    expect((await app.sql('select count(*)::int as n from basalt.sql_runs'))[0]?.n).toBe(1000)
    expect((await sendRequest('GET', '/runs?q=dead')).json.items).toMatchObject([
      { id, status: 'interrupted' },
    ])
    expect((await sendRequest('POST', `/runs/${id}/cancel`)).status).toBe(404)
  })
})

describe('saved SQL queries', () => {
  const save = (body: object) => sendRequest('POST', '/saved', body)

  test('are saved, listed by name, changed, deleted and audited', async () => {
    const created = await save({ name: 'reports/b', query: 'select 2' })
    expect([created.status, created.json]).toEqual([
      201,
      { id: any, name: 'reports/b', query: 'select 2', version: 1, createdAt: any, updatedAt: any },
    ])
    const { id } = created.json
    const other = (await save({ name: 'reports/a', query: 'select 1' })).json
    const changed = await sendRequest('PUT', `/saved/${id}`, { query: 'select 3', version: 1 })
    expect([changed.status, changed.json]).toMatchObject([200, { query: 'select 3', version: 2 }])
    const cut = { queryLength: 8, isCut: false }
    expect((await sendRequest('GET', '/saved')).json).toEqual({
      items: [
        { ...other, ...cut },
        { ...changed.json, ...cut },
      ],
    })
    for (const each of [id, other.id])
      expect((await sendRequest('DELETE', `/saved/${each}`)).status).toBe(204)
    expect((await sendRequest('GET', '/saved')).json).toEqual({ items: [] })
    const audit = await app.sql('select action, detail from basalt.audit where target = $1 order by id', [id])
    expect(audit).toEqual(
      ['sql.save', 'sql.save', 'sql.forget'].map((action) => ({ action, detail: { name: 'reports/b' } })),
    )
  })

  test('are listed by the beginning of their text, by a part of their name, page by page, and read in full', async () => {
    const query = `select '${'x'.repeat(900_000)}'`
    const ids: string[] = []
    for (const name of ['page/a', 'page/b', 'page/c']) ids.push((await save({ name, query })).json.id)
    const first = await sendRequest('GET', '/saved?q=PAGE/&limit=2')
    expect(first.text.length).toBeLessThan(2000)
    expect(first.json).toMatchObject({
      items: [
        { name: 'page/a', query: query.slice(0, 300), queryLength: query.length, isCut: true },
        { name: 'page/b' },
      ],
      nextCursor: 'page/b',
    })
    const rest = await sendRequest(
      'GET',
      `/saved?q=page&limit=2&cursor=${encodeURIComponent(first.json.nextCursor)}`,
    )
    expect([rest.json.items.map(({ name }: { name: string }) => name), rest.json.nextCursor]).toEqual([
      ['page/c'],
      undefined,
    ])
    const { isCut: _, queryLength: __, ...listed } = first.json.items[0]
    expect((await sendRequest('GET', `/saved/${ids[0]}`)).json).toEqual({ ...listed, query })
    for (const unknown of [randomUUID(), 'x'])
      expect(envelope(await sendRequest('GET', `/saved/${unknown}`))).toEqual({
        code: 404,
        error: 'saved_query_not_found',
        message: 'saved query not found',
      })
    for (const limit of ['0', 'x'])
      expect((await sendRequest('GET', `/saved?limit=${limit}`)).json.error).toBe('invalid_list_parameter')
    for (const id of ids) await sendRequest('DELETE', `/saved/${id}`)
  })

  test('change once for ten concurrent changes on two nodes', async () => {
    const { id } = (await save({ name: 'race', query: 'select 0' })).json
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        sendRequest('PUT', `/saved/${id}`, { query: `select ${n}`, version: 1 }, n % 2 ? second : app),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const conflict = answers.find(({ status }) => status === 409)
    expect(conflict?.json).toMatchObject({
      error: 'saved_query_changed',
      message: 'the saved query has been changed',
      data: { current: { id, version: 2 } },
    })
    const names = await Promise.all(
      Array.from({ length: 4 }, () => save({ name: 'once', query: 'select 1' })),
    )
    expect(names.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409])
    const taken = await sendRequest('PUT', `/saved/${id}`, { name: 'once', version: 2 })
    expect(envelope(taken)).toEqual({
      code: 409,
      error: 'saved_query_name_taken',
      message: 'a query is saved as "once"',
    })
  })

  test.each<[string, object, string]>([
    ['no name', { query: 'select 1' }, 'name is required'],
    ['a long name', { name: 'x'.repeat(201), query: 'select 1' }, 'name must have at most 200 characters'],
    ['an empty folder', { name: 'a//b', query: 'select 1' }, 'name must be a path such as reports/sales'],
    ['no query', { name: 'a' }, 'query is required'],
  ])('are rejected with %s', async (_what, body, message) => {
    expect(envelope(await save(body))).toEqual({ code: 400, error: 'invalid_sql_request', message })
  })

  test('reject an empty change, one without a version, and one of an unknown query', async () => {
    const id = randomUUID()
    const put = async (body: object, of: string = id) =>
      (await sendRequest('PUT', `/saved/${of}`, body)).json.message
    expect(await put({ query: 'select 1' })).toBe('version is required')
    expect(await put({ version: 1 })).toBe('name or query is required')
    expect(await put({ query: 'select 1', version: 1 })).toBe('saved query not found')
    expect(await put({ query: 'select 1', version: 1 }, 'x')).toBe('saved query not found')
    expect((await sendRequest('DELETE', `/saved/${id}`)).json.message).toBe('saved query not found')
  })
})

describe('SQL tabs', () => {
  const put = (id: string, text: unknown) => sendRequest('PUT', `/tabs/${id}`, { text })
  const list = async () => (await sendRequest('GET', '/tabs')).json

  test('are stored by their ids, also several at once, changed and deleted', async () => {
    expect(await list()).toEqual({ items: [] })
    const stored = await Promise.all(
      Array.from({ length: 10 }, (_, index) => put(`b${index}`, `select ${index}`)),
    )
    expect(stored.map(({ status }) => status)).toEqual(Array(10).fill(204))
    expect((await put('a', "alter role x password 'open'; select 'é'")).status).toBe(204)
    expect((await put('b0', '')).status).toBe(204)
    for (const id of ['b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8', 'b9', 'missing'])
      expect((await sendRequest('DELETE', `/tabs/${id}`)).status).toBe(204)
    expect(await list()).toEqual({
      items: [
        { id: 'a', text: "alter role x password '[redacted]'; select 'é'" },
        { id: 'b0', text: '' },
      ],
    })
  })

  test('are limited in number and length, and reject other ids', async () => {
    const answers = await Promise.all(Array.from({ length: 25 }, (_, index) => put(`c${index}`, '')))
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(18)
    const refused = answers.find(({ status }) => status !== 204)
    expect([refused?.status, refused?.json]).toEqual([
      409,
      expect.objectContaining({
        error: 'too_many_sql_tabs',
        message: 'too many tabs: at most 20 are stored',
      }),
    ])
    expect((await put('a', 'x'.repeat(100_000))).status).toBe(204)
    for (const [id, text] of [
      ['a', 'x'.repeat(100_001)],
      ['a', 'a\u0000b'],
      ['a', 7],
      ['A', ''],
      ['a'.repeat(33), ''],
    ] as const) {
      const { status, json } = await put(id, text)
      expect([status, json.message]).toEqual([400, expect.stringMatching(/text|id/)])
    }
    expect((await sendRequest('DELETE', '/tabs/A')).status).toBe(400)
  })
})

describe('GET /admin/sql/schemas', () => {
  test('returns the names that an editor completes', async () => {
    expect((await sendRequest('GET', '/schemas')).json).toEqual({ items: ['public', 'extra'] })
    expect((await sendRequest('GET', '/schemas/extra')).json).toEqual({
      schema: 'extra',
      relations: [{ name: 'thing', kind: 'table', columns: ['id', 'label'] }],
      functions: ['leave', 'run', 'run_as_owner'],
    })
    expect((await sendRequest('GET', '/schemas/nope')).json).toEqual({
      schema: 'nope',
      relations: [],
      functions: [],
    })
  })
})
