import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { basaltHere } from '../../../../../test/terminal.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { testSecret } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { Advice } from '../advice.ts'
import { adviseConnections } from '../health-rules.ts'

let app: TestApp
let admin: string

beforeAll(async () => {
  app = await createTestApp({})
  admin = await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

const path = '/api/admin/advisors'

async function list(): Promise<Advice[]> {
  const { status, json } = await app.request('GET', path, { token: admin })
  expect(status).toBe(200)
  return json.items
}

async function find(rule: string, object: string): Promise<Advice | undefined> {
  return (await list()).find((advice) => advice.rule === rule && advice.object === object)
}

test('GET /api/admin/advisors/security and …/performance › divide the advice between them', async () => {
  await app.sql(`
    create table divided (id int primary key);
    ${guarded('divided_policy', 'is_done = true or owner = (select basalt.user_id())')}`)
  const read = async (of: string) => {
    const { status, json } = await app.request('GET', `${path}/${of}`, { token: admin })
    expect(status).toBe(200)
    return json
  }
  const [whole, security, performance] = [await read(''), await read('security'), await read('performance')]
  const groupsOf = ({ items }: { readonly items: readonly Advice[] }) =>
    new Set(items.map(({ group }) => group))
  expect(groupsOf(security)).toEqual(new Set(['access']))
  expect(groupsOf(performance).has('access')).toBe(false)
  expect(groupsOf(performance).has('indexes')).toBe(true)
  const idsOf = ({ items }: { readonly items: readonly Advice[] }) => items.map(({ id }) => id)
  expect([...idsOf(security), ...idsOf(performance)].sort()).toEqual(idsOf(whole).sort())
  for (const key of ['error', 'warning', 'info', 'dismissed']) {
    expect(security.counts[key] + performance.counts[key], key).toBe(whole.counts[key])
  }
  expect(security.count + performance.count).toBe(whole.count)
  await app.sql('drop table divided, divided_policy')
})

/** Returns a table with policies that causes no other advice. */
const guarded = (name: string, using: string) => `
  create table ${name} (id int primary key, owner uuid, kind text, is_done bool);
  alter table ${name} enable row level security;
  create policy own on ${name} to basalt_authenticated using (${using})`

/** Setup, advice, and part of the statement. */
const cases: readonly (readonly [
  rule: string,
  object: string,
  setup: string,
  statement: string,
  severity: string,
])[] = [
  [
    'rls_disabled',
    'public.open1',
    'create table open1 (id int primary key)',
    'alter table "public"."open1" enable row level security;',
    'error',
  ],
  [
    'rls_disabled_public',
    'public.open2',
    'create table open2 (id int primary key); grant select on open2 to basalt_anonymous',
    'alter table "public"."open2" enable row level security;',
    'error',
  ],
  [
    'rls_without_policy',
    'public."Odd table"'.replaceAll('"', ''),
    'create table "Odd table" (id int primary key, owner text); alter table "Odd table" enable row level security',
    'create policy "own rows" on "public"."Odd table" for all to "basalt_authenticated" using ("owner" = basalt.user_id()::text);',
    'warning',
  ],
  [
    'rls_without_policy',
    'public.closed',
    'create table closed (id int primary key); alter table closed enable row level security',
    'create policy "no access" on "public"."closed" for all to "basalt_authenticated" using (false);',
    'warning',
  ],
  [
    'policy_calls_per_row',
    'policy "own" on public.called',
    `${guarded('called', "is_done or owner = basalt.user_id() or kind = 'two  spaces'")}`,
    `alter policy "own" on "public"."called" using ((is_done OR (owner = (select basalt.user_id())) OR (kind = 'two  spaces'::text)));`,
    'warning',
  ],
  [
    'policy_column_unindexed',
    'public.compared.owner',
    guarded('compared', 'is_done = true or owner = (select basalt.user_id()) or length(kind) > 3'),
    'create index on "public"."compared" ("owner");',
    'info',
  ],
  [
    'policy_in_subquery',
    'policy "of team" on public.listed',
    `create table team_member (team_id int, user_id uuid, primary key (user_id, team_id));
     create table listed (id int primary key, team_id int);
     create index on listed (team_id);
     alter table listed enable row level security;
     create policy "of team" on listed using (team_id in (select team_id from team_member where user_id = (select basalt.user_id()) and 'two\n lines' <> ''))`,
    'alter policy "of team" on "public"."listed" using (((team_id = ANY (ARRAY( SELECT team_member.team_id FROM team_member WHERE ((team_member.user_id = ( SELECT basalt.user_id() AS user_id)) AND (\'two\n lines\'::text <> \'\'::text)))))));',
    'info',
  ],
  [
    'policy_unindexable',
    'policy "of thing" on public.looked_at',
    `${guarded('thing', 'owner = basalt.user_id()')};
     create table looked_at (id int primary key, thing_id int, body text);
     create index on looked_at (thing_id);
     alter table looked_at enable row level security;
     create policy "of thing" on looked_at to basalt_authenticated
       using (exists (select from thing t where t.id = thing_id and t.kind <> 'two  spaces')) with check (body <> '')`,
    [
      `drop policy "of thing" on "public"."looked_at";`,
      `create policy "of thing" on "public"."looked_at" for select to "basalt_authenticated" using ((thing_id = ANY (ARRAY( SELECT t.id FROM thing t WHERE (true AND (t.kind <> 'two  spaces'::text))))));`,
      `create policy "of thing insert" on "public"."looked_at" for insert to "basalt_authenticated" with check ((body <> ''::text));`,
      `create policy "of thing update" on "public"."looked_at" for update to "basalt_authenticated" using ((EXISTS ( SELECT FROM thing t WHERE ((t.id = looked_at.thing_id) AND (t.kind <> 'two  spaces'::text))))) with check ((body <> ''::text));`,
      `create policy "of thing delete" on "public"."looked_at" for delete to "basalt_authenticated" using ((EXISTS ( SELECT FROM thing t WHERE ((t.id = looked_at.thing_id) AND (t.kind <> 'two  spaces'::text)))));`,
    ].join(' '),
    'info',
  ],
  [
    'foreign_key_unindexed',
    'public.child.child_parent_id_fkey',
    'create table parent (id int primary key); create table child (id int primary key, parent_id int references parent)',
    'create index on "public"."child" ("parent_id");',
    'info',
  ],
  [
    'no_primary_key',
    'public.keyless',
    'create table keyless (id text)',
    'alter table "public"."keyless" add column "row_id" bigint generated always as identity primary key;',
    'warning',
  ],
  [
    'duplicate_index',
    'public.twice_b_idx',
    'create table twice (a int primary key, b int); create index twice_b on twice (b); create index twice_b_idx on twice (b); create index twice_partial on twice (b) where b > 1; create index twice_down on twice (b desc)',
    'drop index "public"."twice_b_idx";',
    'warning',
  ],
  [
    'unused_index',
    'public.idle_b_idx',
    'create table idle (a int primary key, b int); insert into idle select n, n from generate_series(1, 60000) n; create index on idle (b)',
    'drop index "public"."idle_b_idx";',
    'info',
  ],
  [
    'definer_search_path',
    'public.definer(integer, text[])',
    `create function definer(a int, variadic b text[]) returns int language sql security definer as 'select 1'`,
    'alter function "public"."definer"(integer, text[]) set search_path = "public", pg_temp;',
    'error',
  ],
  [
    'function_of_public',
    'public.everyone()',
    `create function everyone() returns int language sql as 'select 1'`,
    'revoke execute on function "public"."everyone"() from public; grant execute on function "public"."everyone"() to "basalt_authenticated";',
    'warning',
  ],
  [
    'view_bypasses_policies',
    'public.outer_view',
    `${guarded('seen', 'false')}; create view inner_view as select * from seen; revoke all on inner_view from basalt_authenticated; create view outer_view as select id from inner_view`,
    'alter view "public"."outer_view" set (security_invoker = true);',
    'error',
  ],
  [
    'matview_bypasses_policies',
    'public.stored',
    `${guarded('kept', 'false')}; create materialized view stored as select * from kept`,
    'revoke select on "public"."stored" from "basalt_authenticated";',
    'error',
  ],
  [
    'extension_exposed',
    'public.pg_trgm',
    'create extension if not exists pg_trgm schema public; alter extension pg_trgm set schema public',
    'create schema if not exists extensions; grant usage on schema extensions to "basalt_authenticated"; alter extension "pg_trgm" set schema extensions;',
    'info',
  ],
  [
    'never_analyzed',
    'public.fresh',
    'create table fresh (a int primary key); alter table fresh set (autovacuum_enabled = false); insert into fresh select generate_series(1, 2000)',
    'analyze "public"."fresh";',
    'info',
  ],
  [
    'dead_rows',
    'public.churned',
    'create table churned (a int primary key); alter table churned set (autovacuum_enabled = false); insert into churned select generate_series(1, 30000); analyze churned; delete from churned where a > 15000',
    'vacuum (analyze) "public"."churned";',
    'warning',
  ],
]

describe('GET /admin/advisors', () => {
  test.each(cases)('resolves %s by its statement: %s', async (rule, object, setup, statement, severity) => {
    await app.sql(setup)
    // Otherwise statistics arrive when the session that created them has been idle for ten seconds.
    await app.sql('select pg_stat_force_next_flush()')
    await waitFor(`advice of ${rule}`, async () => (await find(rule, object)) !== undefined)
    const advice = await find(rule, object)
    expect(advice).toMatchObject({ severity, statement, command: null, dismissal: null })
    for (const each of statement.split(/(?<=;) /)) await app.sql(each)
    await waitFor(`${rule} to be mended`, async () => (await find(rule, object)) === undefined)
  })

  test('reports a policy whose only condition on a column is a function of other tables, without a statement', async () => {
    await app.sql(`
      create function may_see(thing int) returns bool language sql stable security definer set search_path = ''
        as 'select exists (select from pg_catalog.pg_class where oid = thing)';
      create table thing_list (id int primary key, thing_id int, is_open bool);
      create index on thing_list (thing_id);
      alter table thing_list enable row level security;
      create policy seen on thing_list using (is_open or may_see(thing_id))`)
    expect(await find('policy_unindexable', 'policy "seen" on public.thing_list')).toMatchObject({
      severity: 'info',
      statement: null,
      detail: expect.stringMatching(/may_see\(thing_id\).*list 270 \/ 25/),
    })
  })

  test.each([
    ['owner = basalt.user_id()'],
    ['owner = (select basalt.user_id())'],
    ['basalt.user_id() is not null'],
    ['is_done'],
    ["owner = basalt.user_id() and kind <> 'x'"],
    ['basalt.email_verified() and kind = basalt.user_email()'],
    ["basalt.aal() = 'aal2'"],
    ['owner = any (array(select owner from taught_list where user_id = basalt.user_id()))'],
    ['owner = any (array(select taught_owners()))'],
    ['owner = basalt.user_id() or owner = any (array(select taught_owners()))'],
  ])('reports nothing for a policy like those of the guides: %s', async (using) => {
    await app.sql(`
      drop table if exists taught; drop table if exists taught_list cascade;
      create table taught_list (owner uuid, user_id uuid, primary key (owner, user_id));
      create or replace function taught_owners() returns setof uuid language sql stable security definer
        set search_path = '' as 'select owner from public.taught_list where user_id = basalt.user_id()';
      ${guarded('taught', using)};
      create index on taught (owner); create index on taught (kind)`)
    const advice = (await list()).filter(({ object }) => /\btaught\b/.test(object))
    expect(advice.map(({ rule, object }) => [rule, object])).toEqual([])
  })

  test('reports no needed index', async () => {
    await app.sql(`
      create table needed (a int primary key, b int unique, c int, d int references needed);
      create index needed_d on needed (d, c); create unique index needed_c on needed (c); create index needed_c2 on needed (c, b)`)
    expect((await list()).filter(({ object }) => object.includes('needed')).map(({ rule }) => rule)).toEqual([
      'rls_disabled',
    ])
  })

  test('reports a filter for beginnings whose column has no index for it', async () => {
    await app.sql(`
      create table book (id int primary key, title text, code text collate "C", kind varchar(9));
      create index on book (title); create index on book (code);
      create table shelf_book (id int primary key, book_id int references book)`)
    const filter = (table: string, text: string) =>
      app.request('GET', `/api/collections/${table}?filter=${encodeURIComponent(text)}`, { token: admin })
    await filter('book', "title = 'x' or title ~ '%end' or title ~ 'same' or title ~* 'the %' or code ~ 'a%'")
    const found = async () =>
      (await list()).filter(({ rule }) => rule === 'prefix_filter_unindexed').map(({ object }) => object)
    expect(await found()).toEqual([])
    expect((await filter('shelf_book', "book.title ~ 'The %' and book.kind ~ 'a%'")).status).toBe(200)
    expect(await found()).toEqual(['public.book.kind', 'public.book.title'])
    const statements = ['kind', 'title'].map(async (column) => {
      const advice = await find('prefix_filter_unindexed', `public.book.${column}`)
      return [advice?.severity, advice?.statement]
    })
    expect(await Promise.all(statements)).toEqual([
      ['info', 'create index on "public"."book" ("kind" "varchar_pattern_ops");'],
      ['info', 'create index on "public"."book" ("title" "text_pattern_ops");'],
    ])
    for (const [, statement] of await Promise.all(statements)) await app.sql(statement ?? '')
    expect(await found()).toEqual([])
  })

  test('reports a database that sorts texts by code point, with statements for its columns', async () => {
    expect((await list()).filter(({ rule }) => rule === 'texts_sorted_by_code')).toEqual([])
    const url = new URL(app.database.url)
    const name = `${url.pathname.slice(1)}_codes`
    await app.sql(
      `create database ${name} template template0 locale_provider builtin builtin_locale 'C.UTF-8'`,
    )
    url.pathname = name
    await using coded = await createTestApp({ database: app.database, config: { 'database.url': url.href } })
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    await client.query(`
      create table city (code text primary key, name text, short varchar(9), motto text collate "und-x-icu", size int)`)
    const token = await coded.adminToken()
    const advice = async () =>
      (await coded.request('GET', path, { token })).json.items.filter(
        ({ rule }: Advice) => rule === 'texts_sorted_by_code',
      )
    const [found] = await advice()
    expect(found).toMatchObject({
      severity: 'info',
      object: `database ${name}`,
      statement:
        'alter table "public"."city" alter column "name" type text collate "und-x-icu"; ' +
        'alter table "public"."city" alter column "short" type varchar(9) collate "und-x-icu";',
    })
    await client.query(found.statement)
    expect(await advice()).toEqual([])
    await client.end()
  })

  test('reports a search without an index with the command that builds it', async () => {
    await app.sql('create table story (id int primary key, body text)')
    const response = await app.request('PUT', '/api/collections/story/search-settings', {
      token: admin,
      body: { attributes: [{ column: 'body', weight: 'high' }] },
    })
    expect([response.status, response.text]).toEqual([200, expect.any(String)])
    expect(await find('search_unindexed', 'story')).toMatchObject({
      severity: 'warning',
      statement: null,
      command: 'basalt search enable story',
    })
  })

  test('warns of connections from four fifths of the limit', () => {
    expect(adviseConnections(79, 100)).toEqual([])
    expect(adviseConnections(80, 100)).toMatchObject([
      { detail: '80 of 100 are in use.', statement: 'alter system set max_connections = 200;' },
    ])
  })

  test('returns each finding in full, the most severe first', async () => {
    await app.sql('create table shown (id int primary key)')
    const { json } = await app.request('GET', path, { token: admin })
    const advice = json.items.find(({ object }: Advice) => object === 'public.shown')
    expect(advice).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      rule: 'rls_disabled',
      group: 'access',
      severity: 'error',
      title: 'Open to every signed-in caller',
      object: 'public.shown',
      detail: null,
      explanation: expect.stringContaining('Without row-level security'),
      statement: 'alter table "public"."shown" enable row level security;',
      command: null,
      docs: '/docs/guides/advisors#rls_disabled',
      dismissal: null,
    })
    const order = json.items.map(({ severity }: Advice) => ['error', 'warning', 'info'].indexOf(severity))
    expect(order).toEqual(order.toSorted())
    const of = (severity: string) => json.items.filter((each: Advice) => each.severity === severity).length
    expect(json.counts).toEqual({
      error: of('error'),
      warning: of('warning'),
      info: of('info'),
      dismissed: 0,
    })
    expect(json.count).toBe(json.items.length)
  })
})

describe('dismissal of advice', () => {
  const dismiss = (id: string, body: object = {}) =>
    app.request('PUT', `${path}/${id}/dismissal`, { token: admin, body })

  test('is stored with its reason until it ends, and can be undone', async () => {
    await app.sql('create table meant (id int primary key)')
    const { id } = (await find('rls_disabled', 'public.meant')) ?? { id: '' }
    const until = new Date(Date.now() + 3_600_000).toISOString()
    const response = await dismiss(id, { reason: 'a public list', until })
    const dismissal = { reason: 'a public list', by: 'admin', at: expect.any(String), until }
    expect([response.status, response.json]).toEqual([
      200,
      { ...(await find('rls_disabled', 'public.meant')), dismissal },
    ])
    const { json } = await app.request('GET', path, { token: admin })
    expect(json.counts.dismissed).toBe(1)
    await app.sql(`update basalt.advice_dismissals set dismissed_until = now() - interval '1 s'`)
    expect((await find('rls_disabled', 'public.meant'))?.dismissal).toBe(null)
    expect((await dismiss(id)).json.dismissal).toEqual({
      reason: null,
      by: 'admin',
      at: expect.any(String),
      until: null,
    })
    const restored = await app.request('DELETE', `${path}/${id}/dismissal`, { token: admin })
    expect([restored.status, restored.text]).toEqual([204, ''])
    expect((await find('rls_disabled', 'public.meant'))?.dismissal).toBe(null)
    const again = await app.request('DELETE', `${path}/${id}/dismissal`, { token: admin })
    expect(envelope(again)).toEqual({ code: 404, message: 'advice not found', error: 'advice_not_found' })
    const about = { rule: 'rls_disabled', object: 'public.meant' }
    expect(
      await app.sql(
        `select action, target, detail from basalt.audit where action like 'advisors.%' order by id`,
      ),
    ).toEqual([
      { action: 'advisors.dismiss', target: id, detail: { ...about, reason: 'a public list', until } },
      { action: 'advisors.dismiss', target: id, detail: { ...about, reason: null, until: null } },
      { action: 'advisors.restore', target: id, detail: about },
    ])
  })

  test('is one for ten concurrent requests', async () => {
    await app.sql('create table raced (id int primary key)')
    const { id } = (await find('rls_disabled', 'public.raced')) ?? { id: '' }
    const answers = await Promise.all(Array.from({ length: 10 }, () => dismiss(id)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(await app.sql(`select from basalt.advice_dismissals where advice_id = '${id}'`)).toHaveLength(1)
  })

  test.each([
    [{ until: 'tomorrow' }, 'until: expected an RFC 3339 time'],
    [{ until: '2020-01-01T00:00:00Z' }, 'until: expected a time to come'],
    [{ reason: 'x'.repeat(501) }, 'reason: at most 500 characters, none of them NUL'],
  ])('is rejected with %j', async (body, message) => {
    expect(envelope(await dismiss('x', body))).toEqual({ code: 400, message, error: 'invalid_dismissal' })
  })

  test('requires existing advice and an administrator', async () => {
    expect(envelope(await dismiss('x'))).toMatchObject({ code: 404, message: 'advice not found' })
    const token = userToken({ sub: alice })
    expect((await app.request('GET', path, { token })).status).toBe(401)
  })
})

test('basalt advisors › prints the advice and exits with 1 on an error', async () => {
  await app.sql('create table printed (id int primary key)')
  const env = {
    BASALT_DATABASE_URL: app.database.url,
    BASALT_DATABASE_REQUIRE_RLS: 'false',
    BASALT_AUTH_JWT_SECRET: testSecret,
  }
  const whole = await basaltHere(['advisors'], { env })
  expect(whole.code).toBe(1)
  expect(whole.stdout).toContain('error  public.printed: Open to every signed-in caller\n')
  expect(whole.stdout).toContain('  alter table "public"."printed" enable row level security;\n')
  const json = JSON.parse((await basaltHere(['advisors', '--json'], { env })).stdout)
  expect(json.find(({ object }: Advice) => object === 'public.printed')).toEqual(
    await find('rls_disabled', 'public.printed'),
  )
  await app.sql(`${guarded('behind', 'true')}; create view past_policies as select id from behind`)
  // With database.require_rls the relations are closed, which is no finding.
  const closed = await basaltHere(['advisors'], { env: { ...env, BASALT_DATABASE_REQUIRE_RLS: 'true' } })
  expect(closed.stdout).not.toMatch(/^\w+ +public\.(printed|past_policies):/m)
  expect((await basaltHere(['advisors'], { env })).stdout).toMatch(/^error +public\.past_policies: A view/m)
})
