import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

/**
 * One table for each expression that the operator may have got wrong. A policy evaluates it on a hidden row, whose
 * text is a secret. Beside it are faults of a request with the same SQLSTATE.
 */

const secret = 'hunter2'

/** SQLSTATE by expression on the hidden row. Its columns are `v`, a text, and `j`, a text that is no JSON. */
const policies: readonly [expression: string, sqlState: string][] = [
  [`pg_has_role(v, 'member')`, '42704'],
  [`has_table_privilege(v, 'fp_tables', 'select')`, '42704'],
  [`current_setting('request.jwt.claims') = v`, '42704'],
  [`current_setting(v) = ''`, '42704'],
  [`'x' @@ to_tsquery(v || ' &&')`, '42601'],
  [`v::regtype is not null`, '42704'],
  [`(v || '-')::regtype is not null`, '42601'],
  [`v::regclass is not null`, '42P01'],
  [`v::regproc is not null`, '42883'],
  [`v::regrole is not null`, '42704'],
  [`v::regnamespace is not null`, '3F000'],
  [`(v || '.a.b.c')::regclass is not null`, '42601'],
  [`nextval(v) > 0`, '42P01'],
  [`currval('never_called') > 0`, '55000'],
  [`lastval() > 0`, '55000'],
  [`1 / (length(v) - ${secret.length}) > 0`, '22012'],
  [`v::int = 1`, '22P02'],
  [`v::uuid is not null`, '22P02'],
  [`v::date is not null`, '22007'],
  [`('2020-13-41' || left(v, 0))::date is not null`, '22008'],
  [`v::jsonb is not null`, '22P02'],
  [`(v::json -> 'a') is not null`, '22P02'],
  [`j::jsonb ? v`, '22P02'],
  [`(v::int[])[1] = 1`, '22P02'],
  [`v::inet is not null`, '22P02'],
  [`v::bit(3) is not null`, '22P02'],
  [`v::interval is not null`, '22007'],
  [`v::mood is not null`, '22P02'],
  [`v::positive > 0`, '22P02'],
  [`(length(v) - 100)::positive > 0`, '23514'],
  [`'a' ~ ('(' || v)`, '2201B'],
  [`v || 'x' like v || '\\'`, '22025'],
  [`v like '%' escape v`, '22025'],
  [`substring(v from 1 for -1) = ''`, '22011'],
  [`(v || '=')::bytea = '' or decode(v, 'hex') = ''`, '22023'],
  [`convert_from(decode('ff', 'hex'), 'UTF8') = v`, '22021'],
  [`chr(0) = v`, '54000'],
  [`(length(v) * 1000000000) > 0`, '22003'],
  [`to_timestamp(v, 'YYYY-MM-DD') is not null`, '22007'],
  [`make_date(2020, 13, length(v)) is not null`, '22008'],
  [`v = (select n::text from generate_series(1, 2) n)`, '21000'],
  [`jsonb_path_exists('{}', v::jsonpath)`, '42601'],
  [`xmlparse(document v) is not null`, '2200M'],
  [`exists (select from closed where n = length(v))`, '42501'],
  [`calls_missing(v)`, '42883'],
  [`reads_closed(v)`, '42501'],
  [`asserts(v)`, 'P0004'],
  [`reads_strictly(v)`, 'P0002'],
  [`runs_text(v)`, '42601'],
  [`recurses(length(v))`, '54001'],
  [`inlined(v)`, '22P02'],
  [`inlined_name(v) is not null`, '42704'],
]

const faulty = `fp_${policies.findIndex(([expression]) => expression === 'v::int = 1')}`

const setup = `
  create sequence never_called;
  create type mood as enum ('sad', 'happy');
  create domain positive as int check (value > 0);
  create table closed (n int);
  revoke all on closed from basalt_authenticated;
  create function helper(text) returns boolean language sql as 'select true';
  create function calls_missing(v text) returns boolean language plpgsql as 'begin return helper(v); end';
  drop function helper(text);
  create function reads_closed(v text) returns boolean language plpgsql stable as
    'begin return exists (select from closed where n = length(v)); end';
  create function asserts(v text) returns boolean language plpgsql as
    'begin assert v = '''', v; return true; end';
  create function reads_strictly(v text) returns boolean language plpgsql as
    'declare r record; begin select 1 into strict r where v = ''''; return true; end';
  create function runs_text(v text) returns boolean language plpgsql as
    'begin execute v; return true; end';
  create function recurses(n int) returns boolean language plpgsql as 'begin return recurses(n + 1); end';
  create function inlined(v text) returns boolean language sql immutable as 'select v::int > 0';
  create function inlined_name(v text) returns regtype language sql stable as 'select v::regtype';
  ${policies
    .map(
      ([expression], index) => `
  create table fp_${index} (id int primary key default 1, v text, j text, n int, tag varchar(3));
  insert into fp_${index} values (1, '${secret}', '{${secret}', 1);
  alter table fp_${index} enable row level security;
  create policy see on fp_${index} using (${expression});
  create policy add on fp_${index} for insert with check (true);`,
    )
    .join('')}

  create table fp_tables (id int primary key, v text);
  create table fine (
    id int primary key, s text, n int, day date, k uuid, kind regtype, d numeric(4, 1), tag varchar(3), doc jsonb,
    t text collate "C", odd positive, half numeric generated always as (n / 2.0) stored,
    amount text, value numeric generated always as (amount::numeric) stored);
  insert into fine (id, s, n) values (1, 'abc', 1);
  alter table fine enable row level security;
  create policy everybody on fine using (true);

  create table default_setting (id int primary key, tenant text default current_setting('app.tenant'));
  create table default_sequence (id int primary key, n int default nextval(('gone_' || 'seq')::regclass));
  create table checked (id int primary key, v text, n int, constraint is_number check (v::int > 0 and 10 / n > 0));
  create table indexed (id int primary key, v text);
  create index on indexed ((1 / length(v)));
  create table searched_by_trigger (id int primary key, body text, found tsvector);
  create trigger found before insert on searched_by_trigger for each row
    execute function tsvector_update_trigger(found, 'pg_catalog.english', no_such_column);
  create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'pay first' using errcode = new.code, hint = 'see plans', detail = 'none left'; end $$;
  create table refused (id int primary key, code text);
  create trigger refuse before insert on refused for each row execute function refuse();
  create function wait_not() returns trigger language plpgsql as $$
    begin perform from fine where id = 1 for update nowait; return new; end $$;
  create table impatient (id int primary key);
  create trigger wait_not before insert on impatient for each row execute function wait_not();

  create view broken as select id, 100 / (n - 1) as n from fine;
  create table child (id int primary key, fp int references ${faulty});
  insert into child values (1, 1);

  create function divide(a int, b int) returns int language sql as 'select a / b';
  create function quotes() returns int language sql stable security definer as 'select v::int from ${faulty}';
  create function names() returns regtype language sql stable security definer as 'select v::regtype from ${faulty}';
  create function counts(n int) returns int language sql stable as 'select n';`

const token = userToken({ sub: alice })
let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup, config: { 'server.public_base_url': 'https://api.example.com' } })
})
afterAll(() => app[Symbol.asyncDispose]())

async function send(method: string, path: string, body?: unknown, as = token) {
  const response = await app.request(method, `/api/${path}`, {
    token: as,
    ...(body === undefined ? {} : { body }),
  })
  expect(response.text).not.toContain(secret)
  return response
}

function definitionError(sqlState: string, relation: string) {
  return {
    code: 500,
    message: `a definition of the database failed on "${relation}" (SQLSTATE ${sqlState})`,
    error: 'database_definition_error',
    data: { sqlState, relation },
  }
}

describe('fault origins › a policy that fails on a hidden row', () => {
  test.each(policies.map(([expression, sqlState], index) => ({ expression, sqlState, index })))(
    'returns 500 database_definition_error on every path: $expression',
    async ({ sqlState, index }) => {
      const table = `fp_${index}`
      const requests: [string, string, unknown?][] = [
        ['GET', table],
        ['GET', `${table}?filter=n=1%20and%20tag!~%27x%27`],
        ['GET', `${table}/1`],
        ['GET', `${table}?aggregate=count,sum(n)`],
        ['PATCH', `${table}/1`, { n: 2 }],
        ['DELETE', `${table}/1`],
      ]
      for (const [method, path, body] of requests) {
        const response = await send(method, `collections/${path}`, body)
        expect([method, path, envelope(response)]).toEqual([method, path, definitionError(sqlState, table)])
      }
    },
  )

  test('writes no value of the row to the log', () => {
    const logged = app.log.filter((line) => line.includes('database_definition_error'))
    expect(logged.length).toBeGreaterThan(policies.length / 2)
    expect(logged.filter((line) => line.includes(secret))).toEqual([])
  })
})

describe('fault origins › the other paths', () => {
  test.each([
    ['an export', 'GET', `collections/${faulty}/export.csv`, undefined, '22P02', faulty],
    ['a record that is expanded', 'GET', 'collections/child?expand=fp', undefined, '22P02', 'child'],
    ['a filter by a related record', 'GET', 'collections/child?filter=fp.n=1', undefined, '22P02', 'child'],
    ['values of a facet', 'GET', `collections/${faulty}?facets=tag`, undefined, '22P02', faulty],
    ['a query in a body', 'POST', `collections/${faulty}/query`, { filter: 'n = 1' }, '22P02', faulty],
    ['a create, which returns the row', 'POST', `collections/${faulty}`, { id: 2, v: 'x' }, '22P02', faulty],
    ['an upsert', 'POST', `collections/${faulty}?onConflict=id`, { id: 1, v: 'x', n: 1 }, '22P02', faulty],
    ['a write by filter', 'PATCH', `collections/${faulty}?filter=n=1&expect=1`, { n: 5 }, '22P02', faulty],
    ['a view', 'GET', 'collections/broken', undefined, '22012', 'broken'],
    ['a default', 'POST', 'collections/default_setting', { id: 1 }, '42704', 'default_setting'],
    [
      'a default of a sequence',
      'POST',
      'collections/default_sequence',
      { id: 1 },
      '42P01',
      'default_sequence',
    ],
    ['a check', 'POST', 'collections/checked', { id: 1, v: '1', n: 0 }, '22012', 'checked'],
    ['a check that casts', 'POST', 'collections/checked', { id: 1, v: 'x', n: 1 }, '22P02', 'checked'],
    ['an index', 'POST', 'collections/indexed', { id: 1, v: '' }, '22012', 'indexed'],
    [
      'a trigger of PostgreSQL itself',
      'POST',
      'collections/searched_by_trigger',
      { id: 1, body: 'x' },
      '42703',
      'searched_by_trigger',
    ],
    ['an import', 'POST', 'collections/checked/import', '[{"id":1,"v":"1","n":0}]', '22012', 'checked'],
    ['a name in a procedure', 'POST', 'rpc/names', {}, '42704', 'names'],
  ])('return 500 database_definition_error for %s', async (_what, method, path, body, sqlState, relation) => {
    expect(envelope(await send(method, path, body))).toEqual(definitionError(sqlState, relation))
  })

  test('name the operation of a batch', async () => {
    const operations = [1, 2, 3].map((id) => ({
      method: 'create',
      body: { id, v: '1', n: id === 2 ? 0 : 1 },
    }))
    expect(envelope(await send('POST', 'collections/checked/batch', { operations }))).toEqual({
      ...definitionError('22012', 'checked'),
      message: expect.stringContaining(definitionError('22012', 'checked').message),
      operation: { index: 1, method: 'create' },
    })
    expect(await app.sql('select id from checked')).toEqual([])
  })

  test('return 400 without quoting a value inside a procedure', async () => {
    expect(envelope(await send('POST', 'rpc/quotes', {}))).toEqual({
      code: 400,
      error: 'invalid_value',
      message: 'function "quotes" cannot work with these arguments (SQLSTATE 22P02)',
    })
    expect(envelope(await send('POST', 'rpc/divide', { a: 1, b: 0 }))).toMatchObject({
      code: 400,
      message: 'function "divide" cannot work with these arguments (SQLSTATE 22012)',
    })
    expect(envelope(await send('POST', 'rpc/counts', { n: 'x' }))).toMatchObject({
      code: 400,
      message: 'invalid integer value "x" — expected a whole number, e.g. 42',
    })
  })

  test('return 409 where a trigger does not wait for a lock', async () => {
    const holder = new pg.Client({ connectionString: app.database.url })
    await holder.connect()
    await holder.query('begin; select from fine where id = 1 for update')
    expect(envelope(await send('POST', 'collections/impatient', { id: 1 }))).toMatchObject({
      code: 409,
      error: 'conflict',
    })
    await holder.end()
  })

  test('return the status, hint and detail that a trigger raises', async () => {
    const data = { hint: 'see plans', detail: 'none left' }
    expect(envelope(await send('POST', 'collections/refused', { id: 1, code: 'PT402' }))).toEqual({
      ...{ code: 402, error: 'raised', message: 'pay first', data },
    })
    expect(envelope(await send('POST', 'collections/refused', { id: 1, code: '22012' }))).toEqual({
      ...{ code: 400, error: 'invalid_value', message: 'invalid value: pay first', data },
    })
  })
})

describe('fault origins › a fault of the request with the same SQLSTATE', () => {
  test.each([
    ['22P02', 'GET', 'fine?filter=n=%27x%27', undefined, undefined],
    ['22P02', 'GET', 'fine/x', undefined, undefined],
    ['22P02', 'POST', 'fine', { id: 3, n: 'x' }, 'n'],
    ['22P02', 'PATCH', 'fine/1', { k: 'x' }, 'k'],
    ['22P02', 'PATCH', 'fine?filter=id=1&expect=1', { k: 'x' }, 'k'],
    ['22P02', 'POST', 'fine?onConflict=id', { id: 1, n: 'x' }, 'n'],
    ['22007', 'POST', 'fine', { id: 3, day: 'someday' }, 'day'],
    ['22008', 'POST', 'fine', { id: 3, day: '2026-02-30' }, 'day'],
    ['22003', 'POST', 'fine', { id: 3, d: 12_345 }, 'd'],
    ['22001', 'POST', 'fine', { id: 3, tag: 'abcd' }, 'tag'],
    ['42704', 'POST', 'fine', { id: 3, kind: 'nope' }, 'kind'],
    ['42704', 'GET', 'fine?filter=kind=%27nope%27', undefined, undefined],
    ['22025', 'GET', 'fine?filter=s~%27a%5C%5C%27', undefined, undefined],
    ['22P05', 'POST', 'fine', '{"id":3,"doc":{"a":"\\u0000"}}', undefined],
    ['of a generated column', 'POST', 'fine', { id: 3, amount: 'x' }, undefined],
  ])('returns 400 invalid_value for %s: %s %s %j', async (_code, method, path, body, column) => {
    const response = await send(method, `collections/${path}`, body)
    const { status, json } = response
    expect([status, json.error, Object.keys(json.data ?? {})]).toEqual([
      400,
      'invalid_value',
      column === undefined ? [] : [column],
    ])
  })

  test('returns 400 with the constraint for a value that its domain rejects', async () => {
    expect(envelope(await send('POST', 'collections/fine', { id: 3, odd: -1 }))).toMatchObject({
      error: 'check_violation',
      data: { positive_check: { code: 'check_violation' } },
    })
  })

  test('is returned instead of a fault of the operator, whose text would be quoted', async () => {
    const response = await send('PATCH', `collections/${faulty}/1`, { n: 'mine' })
    expect(response.json.message).toBe('invalid integer value "mine" — expected a whole number, e.g. 42')
  })

  test('names the row and the column of an import', async () => {
    const rows = [{ id: 8 }, { id: 9, n: 'x' }, { id: 10, amount: 'y' }]
    expect(
      (await send('POST', 'collections/fine/import?mode=partial', JSON.stringify(rows))).json,
    ).toMatchObject({
      failed: 2,
      inserted: 1,
      errors: [
        { row: 2, message: 'n: invalid integer value "x" — expected a whole number, e.g. 42' },
        { row: 3, message: 'invalid numeric value "y" — expected a number, e.g. 3.14' },
      ],
    })
  })
})

describe('fault origins › administrators', () => {
  test("read PostgreSQL's message", async () => {
    const admin = await app.adminToken()
    const answer = await app.request('GET', '/api/collections/broken', { token: admin })
    expect(envelope(answer)).toMatchObject({
      error: 'database_definition_error',
      data: { sqlState: '22012', relation: 'broken', message: 'division by zero' },
    })
  })
})
