import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../test/test-app.ts'

/** Database with every way in which a statement can fail, as a client sees it. */

const setup = `
  create table fault (id int primary key, code text);
  create function raise_code() returns trigger language plpgsql as $$
    begin raise exception 'said the trigger' using errcode = new.code; end $$;
  create trigger raise_code before insert on fault for each row execute function raise_code();

  create table unpaid (id int primary key);
  create function refuse() returns trigger language plpgsql as $$
    begin
      raise exception 'pay first' using errcode = 'PT402', hint = 'see the plans', detail = 'none is left';
    end $$;
  create trigger refuse before insert on unpaid for each row execute function refuse();

  create sequence attempts;
  create sequence unused;
  create table unlucky (id int primary key, failures int);
  create function collide() returns trigger language plpgsql security definer as $$
    begin
      if nextval('attempts') <= new.failures then
        raise exception 'collided' using errcode = '40001';
      end if;
      return new;
    end $$;
  create trigger collide before insert on unlucky for each row execute function collide();

  create type with_json as (a int, j json);
  create type address as (street text, number int);
  create domain even as int check (value % 2 = 0);
  create table parent (id int primary key);
  create table thing (
    id int primary key default 1,
    name varchar(5) unique,
    small smallint check (small > 0),
    amount numeric(4, 1),
    real float4,
    day date,
    moment timestamptz,
    clock time,
    span interval,
    key uuid,
    flag boolean,
    doc jsonb,
    raw json,
    bytes bytea,
    ip inet,
    tags int[],
    range int4range,
    home address,
    odd with_json,
    half even,
    kind regtype,
    relation regclass,
    mood bit(3),
    total int generated always as (small * 2) stored,
    serial int generated always as identity,
    required text not null default 'x',
    parent_id int references parent,
    body text,
    exclude using gist (int4range(small::int, small::int + 1) with &&) where (small is not null)
  );
  create index on thing (body);
  insert into parent values (1);
  insert into thing (id, name, small, parent_id) values (100, 'taken', 7, 1);

  create view broken as select 1 / (select 0) as nothing;
  create view slow as select pg_sleep(30)::text as done;
  create materialized view unfilled as select 1 as one with no data;

  create table faulty (id int primary key, what text);
  create function fail() returns trigger language plpgsql as $$
    declare row record;
    begin
      case new.what
        when 'column' then perform secret_column from pg_class;
        when 'table' then perform 1 from secret_table;
        when 'function' then perform secret_function(1);
        when 'operator' then perform json '1' = json '1';
        when 'state' then perform currval('unused');
        when 'syntax' then execute 'secret syntax';
        when 'read-only' then
          set transaction read only;
          insert into parent values (9);
        when 'strict' then select id into strict row from parent where id = 77;
        when 'depth' then perform depth(1);
      end case;
      return new;
    end $$;
  create function depth(n int) returns int language plpgsql as $$ begin return depth(n + 1); end $$;
  create trigger fail before insert on faulty for each row execute function fail();

  create table ours (id int primary key, owner text);
  alter table ours enable row level security;
  create policy own on ours using (owner = 'me') with check (owner = 'me');
  create table closed (id int primary key);
  revoke all on closed from basalt_authenticated;`

const token = userToken({ sub: alice })
let app: TestApp

beforeAll(async () => {
  // The server is not in development, so errors carry no text of PostgreSQL.
  app = await createTestApp({ setup, config: { 'server.public_base_url': 'https://api.example.com' } })
})
afterAll(() => app[Symbol.asyncDispose]())

function send(method: string, path: string, body?: unknown) {
  return app.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

/** Returns the envelope, and checks that it discloses nothing. */
function bodyOf(response: TestResponse): Record<string, unknown> {
  expect(response.text).not.toMatch(
    /json_to_record|returning|plpgsql|pg_catalog|set_config|\$1|\bat .*\.ts|secret/i,
  )
  const body = envelope(response)
  expect(response.status).toBe(body.code)
  return body
}

function constraint(name: string, code: string, message: unknown) {
  return { [name]: { code, message } }
}

const definitionError = (sqlState: string, relation: string) => ({
  code: 500,
  message: `a definition of the database failed on "${relation}" (SQLSTATE ${sqlState})`,
  error: 'database_definition_error',
  data: { sqlState, relation },
})
const invalidValue = (message: string) => ({ code: 400, message, error: 'invalid_value' })
const privilegeHint =
  'the role of the caller lacks a privilege (grant) on the table, on a column of it, or on what its defaults, triggers and policies use'
const hint = 'the record must pass a policy for the write, and one that lets the caller read it back'

describe('SQLSTATE of Postgres or of a function', () => {
  const said = 'said the trigger'
  const unavailable = [503, 'database_unavailable', 'the database is unavailable', '1'] as const
  const busy = [503, 'database_busy', 'the database is busy', '1'] as const
  const full = [503, 'database_full', 'the database is out of space', '5'] as const
  const conflict = [409, 'conflict', 'the change conflicts with a concurrent one'] as const
  const complex = [400, 'request_too_complex', 'the request is too complex'] as const
  const invalid = [400, 'invalid_value', `invalid value: ${said}`] as const
  const raised = [400, 'raised', said] as const
  const violation = [400, 'integrity_violation', 'constraint violation'] as const

  test.each([
    ['08000', ...unavailable],
    ['08006', ...unavailable],
    ['0A000', 400, 'unsupported_operation', said],
    ['21000', ...raised],
    ['22000', ...invalid],
    ['22001', ...invalid],
    ['22003', ...invalid],
    ['22007', ...invalid],
    ['22008', ...invalid],
    ['22012', ...invalid],
    ['22021', ...invalid],
    ['22023', ...invalid],
    ['2202E', ...invalid],
    ['22P02', ...invalid],
    ['22P05', ...invalid],
    ['25006', 503, 'read_only_database', 'the database is read-only', '5'],
    ['3F000', ...raised],
    ['40001', ...conflict],
    ['40P01', ...conflict],
    ['42601', ...raised],
    ['42602', ...raised],
    ['42704', ...raised],
    ['42725', ...raised],
    ['42P01', ...raised],
    ['42P02', ...raised],
    ['42501', 403, 'insufficient_permissions', 'insufficient permissions'],
    ['42883', 400, 'unsupported_operation', said],
    ['428C9', 400, 'read_only_column', said],
    ['44000', 400, 'check_violation', 'check constraint violation'],
    ['53000', ...full],
    ['53100', ...full],
    ['53200', ...busy],
    ['53300', ...busy],
    ['53400', ...full],
    ['54000', 400, 'value_too_large', 'a value is too large for its type or for an index of its column'],
    ['54001', ...complex],
    ['54011', ...complex],
    ['54023', ...complex],
    ['55000', 503, 'not_ready', said],
    ['55P03', ...conflict],
    ['57014', 504, 'statement_timeout', 'the database took too long'],
    ['57P01', ...unavailable],
    ['57P02', ...unavailable],
    ['57P03', ...unavailable],
    ['57P04', ...unavailable],
    ['57P05', ...unavailable],
    ['58000', ...unavailable],
    ['58030', ...unavailable],
    ['P0001', ...raised],
    ['P0002', ...raised],
    ['P0003', ...raised],
    ['P0004', ...raised],
    ['XX000', ...raised],
    ['XY123', ...raised],
    ['PT404', 404, 'raised', said],
    ['PT302', ...raised],
  ])('%s returns %i %s', async (code, status, error, message, retryAfter?: string) => {
    const response = await send('POST', 'fault', { id: 1, code })
    const isSaid = status >= 500 || message.includes(said)
    expect(bodyOf(response)).toEqual({
      code: status,
      message,
      error,
      ...(isSaid ? {} : { data: { message: said } }),
    })
    expect(response.headers.get('retry-after')).toBe(retryAfter ?? null)
  })

  test.each([
    ['23000', ...violation, 'integrity_constraint_violation'],
    ['23001', 400, 'restrict_violation', 'the record is still referred to', 'restrict_violation'],
    ['23503', 400, 'foreign_key_violation', 'foreign key violation', 'foreign_key_violation'],
    ['23505', 409, 'unique_violation', 'unique constraint violation', 'unique_violation'],
    ['23514', 400, 'check_violation', 'check constraint violation', 'check_violation'],
    ['23P01', 400, 'exclusion_violation', 'exclusion constraint violation', 'exclusion_violation'],
  ])('%s returns %i %s with data', async (code, status, error, message, slug) => {
    const response = await send('POST', 'fault', { id: 1, code })
    expect(bodyOf(response)).toEqual({
      code: status,
      message,
      error,
      data: { ...constraint('constraint', slug, said), message: said },
    })
  })

  test('keeps the hint and the detail of RAISE', async () => {
    expect(bodyOf(await send('POST', 'unpaid', { id: 1 }))).toEqual({
      code: 402,
      message: 'pay first',
      error: 'raised',
      data: { hint: 'see the plans', detail: 'none is left' },
    })
  })
})

describe('value that does not fit', () => {
  test.each([
    ['name', 'abcdef', 'invalid value: value too long for type character varying(5)'],
    ['small', 70_000, 'invalid value: value "70000" is out of range for type smallint'],
    ['small', 'x', 'invalid smallint value "x" — expected a whole number, e.g. 42'],
    ['small', 1.5, 'invalid smallint value "1.5" — expected a whole number, e.g. 42'],
    ['small', '', 'invalid smallint value "" — expected a whole number, e.g. 42'],
    ['small', true, 'invalid smallint value "true" — expected a whole number, e.g. 42'],
    ['amount', 1000, 'invalid value: numeric field overflow'],
    ['amount', 'x', 'invalid numeric value "x" — expected a number, e.g. 3.14'],
    ['amount', '1e200000', 'invalid value: value overflows numeric format'],
    ['real', '1e400', 'invalid value: "1e400" is out of range for type real'],
    ['real', 'x', 'invalid real value "x" — expected a number, e.g. 3.14'],
    ['day', '2026-02-30', 'invalid value: date/time field value out of range: "2026-02-30"'],
    ['day', 'someday', 'invalid date value "someday"'],
    ['day', '', 'invalid date value ""'],
    ['day', 20_260_230, 'invalid value: date/time field value out of range: "20260230"'],
    [
      'moment',
      '2026-01-01T25:00:00Z',
      'invalid value: date/time field value out of range: "2026-01-01T25:00:00Z"',
    ],
    [
      'moment',
      '2026-01-01T00:00:00+99',
      'invalid value: time zone displacement out of range: "2026-01-01T00:00:00+99"',
    ],
    ['moment', '2026-01-01 Europe/Nowhere', 'invalid value: time zone "europe/nowhere" not recognized'],
    ['moment', '300000-01-01', 'invalid value: timestamp out of range: "300000-01-01"'],
    ['clock', '25:00', 'invalid value: date/time field value out of range: "25:00"'],
    ['span', '1 lightyear', 'invalid interval value "1 lightyear"'],
    [
      'span',
      '99999999999999 years',
      'invalid value: interval field value out of range: "99999999999999 years"',
    ],
    ['key', 'x', 'invalid uuid value "x" — expected format: 550e8400-e29b-41d4-a716-446655440000'],
    ['flag', 'maybe', 'invalid boolean value "maybe" — expected true or false'],
    ['flag', 2, 'invalid boolean value "2" — expected true or false'],
    ['bytes', '\\xf', 'bytes: expected bytes in hexadecimal, e.g. "\\\\x48656c6c6f"'],
    ['bytes', '\\xzz', 'bytes: expected bytes in hexadecimal, e.g. "\\\\x48656c6c6f"'],
    ['ip', '300.0.0.1', 'invalid inet value "300.0.0.1"'],
    ['tags', '{1', 'invalid value: malformed array literal: "{1"'],
    ['tags', [1, 'x'], 'invalid integer value "x" — expected a whole number, e.g. 42'],
    ['tags', [[1, 2], [3]], 'invalid value: malformed JSON array'],
    ['tags', { a: 1 }, 'invalid value: expected JSON array'],
    ['tags', 5, 'invalid value: expected JSON array'],
    ['range', '[2,1)', 'invalid value: range lower bound must be less than or equal to range upper bound'],
    ['range', '[a,b)', 'invalid integer value "a" — expected a whole number, e.g. 42'],
    ['range', 'x', 'invalid value: malformed range literal: "x"'],
    ['home', '(a', 'invalid value: malformed record literal: "(a"'],
    ['home', { number: 'x' }, 'invalid integer value "x" — expected a whole number, e.g. 42'],
    ['home', [1], 'invalid value: expected a JSON object, not an array'],
    ['home', 5, 'invalid value: expected a JSON object, not a scalar'],
    ['mood', '1111', 'invalid value: bit string length 4 does not match type bit(3)'],
    ['mood', '12', 'invalid value: "2" is not a valid binary digit'],
    ['kind', 'nope', 'invalid value: type "nope" does not exist'],
    ['kind', 'in(', 'invalid value: syntax error at or near "in"'],
    ['relation', 'nope', 'invalid value: relation "nope" does not exist'],
    ['relation', '"', 'invalid value: invalid name syntax'],
    ['relation', 'a.b.c.d', 'invalid value: improper relation name (too many dotted names): a.b.c.d'],
  ])('is described for %s: %j', async (column, value, message) => {
    expect(bodyOf(await send('POST', 'thing', { [column]: value }))).toMatchObject(invalidValue(message))
    expect(bodyOf(await send('PATCH', 'thing/100', { [column]: value }))).toMatchObject(invalidValue(message))
  })

  test.each([
    ['{"doc":{"a":"\\u0000"}}', 'invalid value: text cannot hold the character U+0000'],
    ['{"raw":{"a":"\\u0000"}}', 'invalid value: text cannot hold the character U+0000'],
    ['{"body":"\\u0000"}', 'invalid value: text cannot hold the character U+0000'],
    ['{"doc":"\\ud800"}', 'invalid value: text cannot hold half of a surrogate pair'],
    ['{"body":"a\\udc00"}', 'invalid value: text cannot hold half of a surrogate pair'],
    ['{"doc":1e200000}', 'invalid value: value overflows numeric format'],
    ['{"real":1e400}', 'invalid value: "1e400" is out of range for type real'],
  ])('is described for %s', async (body, message) => {
    expect(bodyOf(await send('POST', 'thing', body))).toMatchObject(invalidValue(message))
  })

  test('is shortened when it is long', async () => {
    const { message } = bodyOf(await send('POST', 'thing', { small: '😀'.repeat(50_000) }))
    expect(message).toBe(
      `invalid smallint value "${'😀'.repeat(249)}\ufffd… — expected a whole number, e.g. 42`,
    )
    const { message: other } = bodyOf(await send('POST', 'thing', { tags: `{${'9'.repeat(50_000)}` }))
    expect(other).toBe(`invalid value: malformed array literal: "{${'9'.repeat(473)}…`)
  })

  test('is reported as too large for an index or a type', async () => {
    const noise = Array.from({ length: 4000 }, (_, index) => Math.sin(index).toString(36)).join('')
    expect(bodyOf(await send('POST', 'thing', { body: noise }))).toEqual({
      code: 400,
      message: 'a value is too large for its type or for an index of its column',
      error: 'value_too_large',
    })
  })

  test('is described in a list or an id, too', async () => {
    const message = 'invalid integer value "x" — expected a whole number, e.g. 42'
    for (const path of ['thing/x', 'thing?filter=id=%27x%27', 'thing?filter=id+in+(1,%27x%27)']) {
      expect(bodyOf(await send('GET', path))).toEqual(invalidValue(message))
    }
    expect(bodyOf(await send('GET', 'thing?filter=id=99999999999'))).toEqual(
      invalidValue('invalid value: value "99999999999" is out of range for type integer'),
    )
    expect(bodyOf(await send('GET', "thing?filter=relation='nope'"))).toEqual(
      invalidValue('invalid value: relation "nope" does not exist'),
    )
  })
})

describe('rule of the table', () => {
  test.each([
    [
      'unique',
      { name: 'taken' },
      409,
      'unique_violation',
      'unique constraint violation',
      constraint('thing_name_key', 'unique_violation', 'Key (name)=(taken) already exists.'),
    ],
    [
      'foreign key',
      { parent_id: 5 },
      400,
      'foreign_key_violation',
      'foreign key violation',
      constraint(
        'thing_parent_id_fkey',
        'foreign_key_violation',
        'Key (parent_id)=(5) is not present in table "parent".',
      ),
    ],
    [
      'not null',
      { required: null },
      400,
      'not_null_violation',
      'missing required value',
      constraint(
        'required',
        'not_null_violation',
        'null value in column "required" of relation "thing" violates not-null constraint',
      ),
    ],
    [
      'check',
      { small: -1 },
      400,
      'check_violation',
      'check constraint violation',
      constraint('thing_small_check', 'check_violation', expect.stringContaining('Failing row contains')),
    ],
    [
      'check of a domain',
      { half: 3 },
      400,
      'check_violation',
      'check constraint violation',
      constraint(
        'even_check',
        'check_violation',
        'value for domain even violates check constraint "even_check"',
      ),
    ],
    [
      'exclusion',
      { small: 7 },
      400,
      'exclusion_violation',
      'exclusion constraint violation',
      constraint(
        'thing_int4range_excl',
        'exclusion_violation',
        'Key (int4range(small::integer, small::integer + 1))=([7,8)) conflicts with existing key (int4range(small::integer, small::integer + 1))=([7,8)).',
      ),
    ],
  ])('is reported by its name: %s', async (_what, body, code, error, message, data) => {
    expect(bodyOf(await send('POST', 'thing', body))).toEqual({ code, message, error, data })
    expect(await app.sql('select id from thing')).toEqual([{ id: 100 }])
  })

  test('is reported when others refer to the record', async () => {
    expect(bodyOf(await send('DELETE', 'parent/1'))).toEqual({
      code: 400,
      message: 'foreign key violation',
      error: 'foreign_key_violation',
      data: constraint(
        'thing_parent_id_fkey',
        'foreign_key_violation',
        'Key (id)=(1) is still referenced from table "thing".',
      ),
    })
  })

  test('discloses no value of a row that the caller may not see', async () => {
    await app.sql("insert into ours values (1, 'somebody else')")
    const body = bodyOf(await send('POST', 'ours', { id: 1, owner: 'me' }))
    expect(body).toEqual({
      code: 409,
      message: 'unique constraint violation',
      error: 'unique_violation',
      data: constraint(
        'ours_pkey',
        'unique_violation',
        'duplicate key value violates unique constraint "ours_pkey"',
      ),
    })
  })

  test.each([
    ['of the row', 'POST', 'ours', { id: 2, owner: 'you' }, { hint }],
    ['of the table', 'POST', 'closed', { id: 1 }, { hint: privilegeHint }],
    ['to read', 'GET', 'closed', undefined, undefined],
    ['to delete', 'DELETE', 'closed/1', undefined, undefined],
  ])('returns 403 for the missing right %s', async (_what, method, path, body, data) => {
    expect(bodyOf(await send(method, path, body))).toEqual({
      code: 403,
      message: 'insufficient permissions',
      error: 'insufficient_permissions',
      ...(data === undefined ? {} : { data }),
    })
  })

  test('names a column that cannot be written', async () => {
    expect(bodyOf(await send('POST', 'thing', { serial: 5 }))).toEqual({
      code: 400,
      message: 'cannot insert a non-DEFAULT value into column "serial"',
      error: 'read_only_column',
    })
  })
})

describe('request that the database cannot fulfil', () => {
  test.each([
    ['thing?sort=odd', 'could not identify an ordering operator for type with_json'],
    ['thing?sort=odd&cursor=', 'could not identify an ordering operator for type with_json'],
    ["thing?filter=odd='(1,2)'", 'could not identify an equality operator for type json'],
  ])('returns 400: %s', async (path, message) => {
    await app.sql("update thing set odd = '(1,2)' where id = 100")
    await app.sql("insert into thing (id, name, odd) values (101, 'other', '(1,3)') on conflict do nothing")
    try {
      expect(bodyOf(await send('GET', path))).toEqual({ code: 400, message, error: 'unsupported_operation' })
    } finally {
      await app.sql('delete from thing where id = 101')
    }
  })

  test('returns a definition fault for a view that divides by zero', async () => {
    expect(bodyOf(await send('GET', 'broken'))).toEqual(definitionError('22012', 'broken'))
  })

  test('returns 503 while a materialized view is not filled', async () => {
    expect(bodyOf(await send('GET', 'unfilled'))).toEqual({
      code: 503,
      message: 'materialized view "unfilled" has not been populated',
      error: 'not_ready',
    })
  })

  test('returns 504 when it takes too long, and the connection continues to serve', async () => {
    await using hurried = await createTestApp({
      database: app.database,
      config: { 'database.statement_timeout_ms': '1000' },
    })
    const responses = await Promise.all(
      [1, 2, 3].map(() => hurried.request('GET', '/api/collections/slow', { token })),
    )
    for (const response of responses) {
      expect(bodyOf(response)).toEqual({
        code: 504,
        message: 'the database took too long',
        error: 'statement_timeout',
      })
    }
    expect((await hurried.request('GET', '/api/collections/parent', { token })).json.totalItems).toBe(1)
  })
})

describe('collision', () => {
  async function collide(
    id: number,
    failures: number,
  ): Promise<{ response: TestResponse; attempts: number }> {
    await app.sql("select setval('attempts', 1, false)")
    const response = await send('POST', 'unlucky', { id, failures })
    const [row] = await app.sql<{ attempts: number }>('select last_value::int as attempts from attempts')
    return { response, attempts: row?.attempts ?? 0 }
  }

  test('is retried, and succeeds once', async () => {
    const { response, attempts } = await collide(1, 3)
    expect([response.status, response.json, attempts]).toEqual([201, { id: 1, failures: 3 }, 4])
    expect(await app.sql('select id from unlucky')).toEqual([{ id: 1 }])
  })

  test('returns 409 after four attempts', async () => {
    const { response, attempts } = await collide(2, 100)
    expect(bodyOf(response)).toEqual({
      code: 409,
      message: 'the change conflicts with a concurrent one',
      error: 'conflict',
      data: { message: 'collided' },
    })
    expect(attempts).toBe(4)
    expect(await app.sql('select id from unlucky where id = 2')).toEqual([])
  })
})

describe('trigger', () => {
  test.each([
    ['column', '42703'],
    ['table', '42P01'],
    ['function', '42883'],
    ['operator', '42883'],
    ['state', '55000'],
    ['syntax', '42601'],
    ['strict', 'P0002'],
    ['depth', '54001'],
  ])('with a fault of its own (%s) returns 500 with %s and logs the rest', async (what, sqlState) => {
    expect(bodyOf(await send('POST', 'faulty', { id: 1, what }))).toEqual(definitionError(sqlState, 'faulty'))
    const logged = app.log
      .map((line) => JSON.parse(line))
      .filter(({ kind }) => kind === 'database_definition_error')
    expect(logged.at(-1)).toMatchObject({
      msg: definitionError(sqlState, 'faulty').message,
      detail: expect.stringContaining('PL/pgSQL function'),
    })
  })

  test('returns 503 when it writes in a read-only transaction', async () => {
    const response = await send('POST', 'faulty', { id: 1, what: 'read-only' })
    expect(bodyOf(response)).toEqual({
      code: 503,
      message: 'the database is read-only',
      error: 'read_only_database',
    })
    expect(response.headers.get('retry-after')).toBe('5')
  })
})
