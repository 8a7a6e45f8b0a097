import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import type { Clock } from '../../../../lib/clock.ts'

/** Faults of the operator's definitions, beside client values that look alike. */

const setup = `
  -- Policies that read each other.
  create table team (id int primary key);
  create table member (team_id int, user_id text);
  alter table team enable row level security;
  alter table member enable row level security;
  create policy see on team using (exists (select from member m where m.team_id = team.id));
  create policy see on member using (exists (select from team t where t.id = member.team_id));

  -- A user's id is no number.
  create table cast_in_policy (id int primary key, n int, s varchar(3), d numeric(4, 1), owner int);
  insert into cast_in_policy values (1, 1, 'a', 1, 1);
  alter table cast_in_policy enable row level security;
  create policy own on cast_in_policy for select using (owner = current_setting('basalt.user_id')::int);
  create policy add on cast_in_policy for insert with check (owner = current_setting('basalt.user_id')::int);
  create policy edit on cast_in_policy for update using (true);

  create table open_to_all (id int primary key, n int, s varchar(3), d numeric(4, 1), doc jsonb);
  insert into open_to_all values (1, 1, 'abc', 1);
  alter table open_to_all enable row level security;
  create policy everybody on open_to_all using (true);

  -- A function that calls one that has gone.
  create function helper() returns boolean language sql as 'select true';
  create function is_member() returns boolean language plpgsql as 'begin return helper(); end';
  drop function helper;
  create table missing_function (id int primary key, n int);
  insert into missing_function values (1, 1);
  alter table missing_function enable row level security;
  create policy see on missing_function using (is_member());

  create table several (id int primary key);
  insert into several values (1);
  alter table several enable row level security;
  create policy see on several using (id = (select n from generate_series(1, 2) n));

  create table computed (id int primary key, amount text, value numeric generated always as (amount::numeric) stored);
  alter table computed enable row level security;
  create policy everybody on computed using (true);

  create function cast_it() returns trigger language plpgsql as $$
    begin new.n := new.s::int; return new; end $$;
  create table cast_in_trigger (id int primary key, n int, s text);
  create trigger cast_it before insert on cast_in_trigger for each row execute function cast_it();
  create function change_itself() returns trigger language plpgsql as $$
    begin update change_itself set n = n + 1 where id = old.id; return new; end $$;
  create table change_itself (id int primary key, n int);
  insert into change_itself values (1, 1);
  create trigger change_itself before update on change_itself for each row
    when (pg_trigger_depth() = 0) execute function change_itself();

  -- A foreign table of a table that the other database does not have.
  create extension postgres_fdw;
  do $$ begin
    execute format(
      'create server other foreign data wrapper postgres_fdw options (host %L, port %L, dbname %L)',
      split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
    execute format('create user mapping for public server other options (user %L, password_required %L)', current_user, 'false');
  end $$;
  create foreign table elsewhere (id int) server other options (table_name 'gone');
  -- Foreign tables of a server that callers have no mapping to, or one without the password they need.
  create server unmapped foreign data wrapper postgres_fdw;
  create foreign table without_mapping (id int) server unmapped;
  create server closed foreign data wrapper postgres_fdw;
  create user mapping for public server closed;
  create foreign table without_password (id int) server closed;

  create table parent (id int primary key references cast_in_policy);
  insert into parent values (1);`

const token = userToken({ sub: alice })
let now = Date.now()
const clock: Clock = { now: () => new Date(now) }
let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup, clock, config: { 'server.public_base_url': 'https://api.example.com' } })
})
afterAll(() => app[Symbol.asyncDispose]())

function send(method: string, path: string, body?: unknown, as = token) {
  return app.request(method, `/api/collections/${path}`, {
    token: as,
    ...(body === undefined ? {} : { body }),
  })
}

function definitionError(sqlState: string, relation: string) {
  return {
    code: 500,
    message: `a definition of the database failed on "${relation}" (SQLSTATE ${sqlState})`,
    error: 'database_definition_error',
    data: { sqlState, relation },
  }
}

describe('collections › definition faults', () => {
  test.each([
    ['policies that read each other, in a list', 'GET', 'team', undefined, '42P17', 'team'],
    ['policies that read each other, in a record', 'GET', 'team/1', undefined, '42P17', 'team'],
    ['policies that read each other, in a create', 'POST', 'team', { id: 1 }, '42P17', 'team'],
    ['policies that read each other, in a delete', 'DELETE', 'team/1', undefined, '42P17', 'team'],
    ['a cast in a policy, in a list', 'GET', 'cast_in_policy', undefined, '22P02', 'cast_in_policy'],
    [
      'a cast in a policy, in a filter',
      'GET',
      'cast_in_policy?filter=n=1',
      undefined,
      '22P02',
      'cast_in_policy',
    ],
    ['a cast in a policy, in a record', 'GET', 'cast_in_policy/1', undefined, '22P02', 'cast_in_policy'],
    [
      'a cast in a policy, of what is expanded',
      'GET',
      'parent?expand=cast_in_policy',
      undefined,
      '22P02',
      'parent',
    ],
    [
      'a cast in a policy, in a create',
      'POST',
      'cast_in_policy',
      { id: 2, n: 5, s: 'a', d: 1.5 },
      '22P02',
      'cast_in_policy',
    ],
    ['a cast in a policy, in an update', 'PATCH', 'cast_in_policy/1', { n: 2 }, '22P02', 'cast_in_policy'],
    ['a function that is missing', 'GET', 'missing_function', undefined, '42883', 'missing_function'],
    ['a subquery with several rows', 'GET', 'several', undefined, '21000', 'several'],
    ['a cast in a trigger', 'POST', 'cast_in_trigger', { id: 1, s: 'abc' }, '22P02', 'cast_in_trigger'],
    ['a foreign table of no table', 'GET', 'elsewhere', undefined, '42P01', 'elsewhere'],
    [
      'a foreign table without a user mapping',
      'GET',
      'without_mapping',
      undefined,
      '42704',
      'without_mapping',
    ],
    ['a foreign table without a password', 'GET', 'without_password', undefined, '2F003', 'without_password'],
    ['a trigger that changes its row', 'PATCH', 'change_itself/1', { n: 5 }, '27000', 'change_itself'],
    [
      'a trigger that changes its row, by a filter',
      'PATCH',
      'change_itself?filter=id=1&expect=1',
      { n: 5 },
      '27000',
      'change_itself',
    ],
  ])('return 500 database_definition_error for %s', async (_what, method, path, body, sqlState, relation) => {
    const response = await send(method, path, body)
    expect([response.status, envelope(response)]).toEqual([500, definitionError(sqlState, relation)])
  })

  test('return 500 with the operation of a batch', async () => {
    const operations = [
      { table: 'open_to_all', method: 'create', body: { id: 5 } },
      { table: 'cast_in_policy', method: 'create', body: { id: 6, n: 1 } },
      { table: 'cast_in_policy', method: 'create', body: { id: 7, n: 1 } },
    ]
    const response = await app.request('POST', '/api/batch', { token, body: { operations } })
    const { error, message, data } = definitionError('22P02', 'cast_in_policy')
    expect([response.status, envelope(response)]).toMatchObject([
      500,
      { error, message: expect.stringContaining(message), data, operation: { index: 1, method: 'create' } },
    ])
    expect(await app.sql('select id from open_to_all where id = 5')).toEqual([])
  })

  test.each([
    ['GET', 'cast_in_policy?filter=n=%27x%27', undefined],
    ['GET', 'cast_in_policy/x', undefined],
    ['GET', 'open_to_all?filter=s~%27a%5C%5C%27', undefined],
    ['POST', 'cast_in_policy', { id: 3, n: 'x' }],
    ['POST', 'cast_in_policy', { id: 3, n: 3_000_000_000 }],
    ['POST', 'open_to_all', { id: 3, s: 'abcd' }],
    ['POST', 'open_to_all', { id: 3, d: 12_345.6 }],
    ['POST', 'open_to_all', '{"id":3,"doc":{"a":"\\u0000"}}'],
    ['PATCH', 'open_to_all/1', { n: 'x' }],
    ['PATCH', 'open_to_all/x', { n: 1 }],
    ['DELETE', 'open_to_all/x', undefined],
    ['POST', 'open_to_all/batch', { operations: [{ method: 'create', body: { id: 3, n: 'x' } }] }],
    ['POST', 'computed', { id: 1, amount: 'x' }],
  ])('do not include a client value that does not fit: %s %s %j is 400', async (method, path, body) => {
    const response = await send(method, path, body)
    expect([response.status, response.json.error]).toEqual([400, 'invalid_value'])
  })

  test("carry PostgreSQL's text for administrators", async () => {
    const admin = await app.adminToken()
    const response = await send('POST', 'cast_in_trigger', { id: 1, s: 'abc' }, admin)
    expect(envelope(response)).toMatchObject({
      ...definitionError('22P02', 'cast_in_trigger'),
      data: {
        message: 'invalid input syntax for type integer: "abc"',
        where: expect.stringContaining('PL/pgSQL function cast_it()'),
      },
    })
  })

  test('are logged in one line, once a minute', async () => {
    now += 60_000
    const logged = () =>
      app.log
        .map((line) => JSON.parse(line))
        .filter(({ msg }) => msg === definitionError('42P17', 'team').message)
    const before = logged().length
    await Promise.all(Array.from({ length: 10 }, () => send('GET', 'team')))
    expect(logged().slice(before)).toEqual([
      expect.objectContaining({ detail: 'infinite recursion detected in policy for relation "team"' }),
    ])
    expect(logged().at(-1)).not.toHaveProperty('err')
    now += 59_000
    await send('GET', 'team')
    expect(logged()).toHaveLength(before + 1)
    now += 1000
    await send('GET', 'team')
    expect(logged()).toHaveLength(before + 2)
  })

  test('disappear when policies query through a security definer function', async () => {
    await app.sql(`
      create table club (id int primary key);
      create table club_member (club_id int references club, user_id text);
      create function clubs_of_caller() returns setof int language sql stable security definer set search_path = '' as $$
        select club_id from public.club_member where user_id = current_setting('basalt.user_id', true)
      $$;
      alter table club enable row level security;
      alter table club_member enable row level security;
      create policy see on club using (id in (select clubs_of_caller()));
      create policy see on club_member using (club_id in (select clubs_of_caller()));
      insert into club values (1), (2);
      insert into club_member values (1, '${alice}'), (1, 'eve'), (2, 'eve')`)
    expect((await send('GET', 'club')).json.items).toEqual([{ id: 1 }])
    expect((await send('GET', 'club_member')).json.totalItems).toBe(2)
  })
})
