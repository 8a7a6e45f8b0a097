import { afterAll, beforeAll, expect, test } from 'vitest'
import { inviteAdministrator } from '../../../../../test/administrators.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'

let app: TestApp
let token: string

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create schema shop;
      create table shop.item (
        id int generated always as identity primary key, name text, owner_id uuid default basalt.user_id()
      );
      alter table shop.item enable row level security;
      create policy none on shop.item using (false);
      create table note (id serial primary key, body text);
      insert into note (body) values ('one')`,
  })
  token = await inviteAdministrator(app, 'developer')
})
afterAll(async () => await app[Symbol.asyncDispose]())

function run(query: string, more: object = {}) {
  return app.request('POST', '/api/admin/sql', { token, body: { query, mode: 'write', ...more } })
}

test('developers write rows of all schemas of the operator, as basalt_developer', async () => {
  const who = await run('select session_user::text, current_user::text')
  expect([who.status, who.json.rows]).toEqual([200, [['basalt_developer', 'basalt_developer']]])
  const statements = [
    "insert into shop.item (name) values ('a'), ('b')",
    "update shop.item set name = 'c' where name = 'b'",
    "with old as (delete from shop.item where name = 'a' returning id) insert into note (body) select 'x' from old",
  ]
  for (const statement of statements) {
    const written = await run(statement)
    expect([statement, written.status, written.json.message]).toEqual([statement, 200, undefined])
  }
  expect(await app.sql('select name from shop.item')).toEqual([{ name: 'c' }])
  const [audited] = await app.sql(
    "select administrator from basalt.audit where action = 'sql.run' order by id desc limit 1",
  )
  expect(audited).toEqual({ administrator: 'developer@example.com' })
  // Tables that were created since are granted when the next run opens.
  await app.sql('create table later (id int)')
  expect((await run('insert into later values (1)')).status).toBe(200)
})

test('developers have no definitions, no other role and nothing of the schema basalt', async () => {
  const attempts = [
    'create table mine (id int)',
    'alter table note add column x int',
    'drop table note',
    'truncate note',
    "do $$ begin execute 'alter role current_user password ''x'''; end $$",
    "alter role basalt_developer password 'x'",
    'grant select on note to public',
    'set role basalt_administrator',
    'set session authorization basalt_administrator',
    'reset role',
    'copy note to stdout',
    "copy note from program 'true'",
    'call pg_catalog.pg_stat_reset()',
    'begin',
    'commit; create table mine (id int)',
    'listen x',
    "select set_config('role', 'basalt_administrator', true)",
    "select set_config('role', 'basalt_reader', true)",
    "select set_config('role', 'basalt_authenticated', true)",
    "select set_config('session_replication_role', 'replica', true)",
    'select * into mine from note',
    'explain analyze create table mine as select 1',
    'select password_hash from basalt.administrators',
    "update basalt.administrators set role = 'owner'",
    "insert into basalt.audit (actor, action) values ('admin', 'x')",
    'delete from basalt.audit',
    'update pg_catalog.pg_authid set rolsuper = true',
    'select rolpassword from pg_authid',
    "select pg_read_file('/etc/passwd')",
    "select lo_import('/etc/passwd')",
    "select query_to_xml('create table mine (id int)', true, true, '')",
    "select query_to_xml('select password_hash from basalt.administrators', true, true, '')",
    "with x as (select 1) update basalt.users set email = 'x'",
  ]
  const state = async () => [
    await app.sql('select role, email, password_hash from basalt.administrators order by email'),
    await app.sql(
      "select oid::int, relowner::int, relacl::text from pg_class where relnamespace = 'public'::regnamespace order by oid",
    ),
    await app.sql("select rolname, rolsuper, rolbypassrls from pg_roles where rolname ~ 'basalt' order by 1"),
  ]
  const before = await state()
  for (const query of attempts) {
    for (const transaction of ['all', 'each']) {
      const refused = await run(query, { transaction })
      expect([query, refused.status]).toEqual([query, 400])
    }
  }
  expect(await state()).toEqual(before)
  const misused = {
    'select * into mine from note': 'INTO',
    'select (1) insert into mine from note': 'INTO',
    'with a as (select 1) (select 2 as b into temp mine)': 'INTO',
    'explain analyze create table mine as select 1': 'CREATE',
    'explain (analyze, costs off) create table mine as select 1': 'CREATE',
    'EXPLAIN /* x */ (analyze) execute mine': 'EXECUTE',
  }
  for (const [query, word] of Object.entries(misused)) {
    const message = `line 1: ${word} is not allowed for your role`
    expect([query, (await run(query)).json.message]).toEqual([query, message])
  }
  const usual = [
    "with a as (select 'x' as body) insert into note (body) select body from a",
    'explain (select id from note)',
    'explain analyze verbose insert into note (body) select name from shop.item',
    'explain (analyze, buffers off) with a as (select 1) select * from a',
  ]
  for (const query of usual) expect([query, (await run(query)).status]).toEqual([query, 200])
  const planned = await app.request('POST', '/api/admin/sql/explain', {
    token,
    body: { query: 'delete from basalt.audit', mode: 'write', analyze: true },
  })
  expect(planned.status).toBe(400)
  const as = await run('select 1', { runAs: { kind: 'anonymous' } })
  expect([as.status, as.json.error]).toEqual([403, 'insufficient_role'])
})

test('developers have no tables of extensions', async () => {
  await app.sql(`
    create schema cron; create table cron.job (command text); create table cron.own (id int);
    create table part (id int); create sequence part_seq;
    alter extension plpgsql add schema cron; alter extension plpgsql add table cron.job;
    alter extension plpgsql add table part; alter extension plpgsql add sequence part_seq`)
  for (const query of [
    "insert into cron.job values ('alter role x superuser')",
    'select * from cron.own',
    'insert into part values (1)',
    "select nextval('part_seq')",
  ]) {
    const refused = await run(query)
    expect([query, refused.status, refused.json.message]).toEqual([
      query,
      400,
      expect.stringContaining('permission denied'),
    ])
  }
  expect((await run('select count(*) from note')).status).toBe(200)
})

test('developers cannot write while their role has more rights', async () => {
  await app.sql('grant basalt_administrator to basalt_developer')
  const refused = await run('select 1')
  expect([refused.status, refused.json.error]).toEqual([409, 'sql_write_unavailable'])
  await app.sql('revoke basalt_administrator from basalt_developer')
  expect((await run('select 1')).status).toBe(200)
})
