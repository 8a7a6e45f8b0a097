import { afterAll, beforeAll, expect, test } from 'vitest'
import { inviteAdministrator } from '../../../../test/administrators.ts'
import { createTestApp, type TestApp } from '../../../../test/test-app.ts'

let app: TestApp
const tokens = new Map<string, string>()

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create table item (id int primary key, name text);
      insert into item values (1, 'one');
      create function touch() returns trigger language plpgsql as 'begin return new; end';
      create trigger touch before update on item for each row execute function touch();
      create view items as select id from item`,
  })
  for (const role of ['owner', 'developer', 'support', 'viewer'])
    tokens.set(role, await inviteAdministrator(app, role))
})
afterAll(async () => await app[Symbol.asyncDispose]())

function send(path: 'plan' | 'apply', body: object, role = 'developer') {
  return app.request('POST', `/api/admin/structure/${path}`, { token: tokens.get(role) ?? '', body })
}

const at = { schema: 'public', name: 'item' }

test('developers change tables, columns, indexes, constraints and policies by their forms', async () => {
  const changes = [
    {
      kind: 'create_table',
      ...{ schema: 'public', name: 'task' },
      columns: [
        { name: 'id', type: 'bigint', identity: 'always', isPrimaryKey: true },
        { name: 'owner_id', type: 'uuid', default: 'basalt.user_id()', isNullable: false },
        {
          name: 'assignee',
          type: 'uuid',
          references: { schema: 'basalt', name: 'users', columns: ['id'], onDelete: 'set null' },
        },
      ],
      template: { name: 'owner', column: 'owner_id' },
    },
    { kind: 'add_column', ...at, column: { name: 'price', type: 'numeric(10,2)', default: '0 + 1' } },
    {
      kind: 'alter_column',
      ...at,
      column: 'name',
      type: 'varchar(50)',
      using: 'left(name, 50)',
      default: "''",
    },
    { kind: 'create_index', ...at, keys: ['lower(name)'], where: 'price > 0' },
    { kind: 'add_check', ...at, constraint: 'positive', check: 'price >= 0' },
    { kind: 'create_policy', ...at, policy: 'own', command: 'select', using: 'exists (select from task)' },
    { kind: 'set_row_level_security', ...at, isEnabled: true },
    { kind: 'drop_policy', ...at, policy: 'own' },
    { kind: 'create_enum', schema: 'public', name: 'mood', values: ['calm'] },
  ]
  for (const change of changes) {
    const planned = await send('plan', { change })
    expect([change.kind, planned.status, planned.json.message]).toEqual([change.kind, 200, undefined])
    const applied = await send('apply', { change, name: change.kind, version: planned.json.version })
    expect([change.kind, applied.status, applied.json.message]).toEqual([change.kind, 200, undefined])
  }
  expect(await app.sql('select price::int, name from item')).toEqual([{ price: 1, name: 'one' }])
  const [{ owners } = {}] = await app.sql(
    "select count(distinct relowner)::int as owners from pg_class where relname in ('item', 'task')",
  )
  expect(owners).toBe(1)
  const audit = await app.sql(
    `select administrator, action, count(*)::int, bool_or(detail->>'query' like 'create table%task%') as "hasQuery"
     from basalt.audit where action like 'structure.%' group by 1, 2 order by action`,
  )
  const by = { administrator: 'developer@example.com', count: changes.length }
  expect(audit).toEqual([
    { ...by, action: 'structure.apply', hasQuery: null },
    { ...by, action: 'structure.plan', hasQuery: true },
  ])
})

test('developers send no scripts, and change no functions, triggers, grants and views', async () => {
  const before = await app.sql('select md5(string_agg(c::text, $1 order by oid)) as state from pg_class c', [
    '',
  ])
  for (const change of [
    { kind: 'drop_trigger', ...at, trigger: 'touch' },
    { kind: 'set_trigger', ...at, trigger: 'touch', isEnabled: false },
    { kind: 'drop_function', schema: 'public', name: 'touch', arguments: '' },
    { kind: 'set_grants', ...at, role: 'basalt_anonymous', privileges: ['select'] },
    { kind: 'apply_template', ...at, template: { name: 'public' } },
    {
      kind: 'create_table',
      ...{ schema: 'public', name: 'open' },
      columns: [{ name: 'id', type: 'int', isPrimaryKey: true }],
      template: { name: 'public' },
    },
    { kind: 'drop_relation', schema: 'public', name: 'items', relationKind: 'view' },
    { kind: 'drop_relation', ...at, relationKind: 'table', cascade: true },
  ]) {
    for (const path of ['plan', 'apply'] as const) {
      const refused = await send(path, { change, name: 'x' })
      expect([change.kind, refused.status, refused.json.error]).toEqual([
        change.kind,
        403,
        'insufficient_role',
      ])
    }
  }
  for (const sql of ['select 1', 'create table other ()', 'alter role current_user superuser']) {
    expect((await send('plan', { sql })).json.error).toBe('insufficient_role')
    expect((await send('apply', { sql, name: 'x' })).json.error).toBe('insufficient_role')
  }
  const both = { sql: 'select 1', change: { kind: 'rename_table', ...at, to: 'x' }, name: 'x' }
  expect((await send('apply', both)).json.error).toBe('insufficient_role')
  expect((await send('apply', both, 'owner')).status).toBe(400)
  for (const role of ['support', 'viewer'])
    expect((await send('apply', { change: both.change, name: 'x' }, role)).status).toBe(403)
  expect(
    await app.sql('select md5(string_agg(c::text, $1 order by oid)) as state from pg_class c', ['']),
  ).toEqual(before)
})

test('developers cannot run SQL as the owner by an expression, a type or a name', async () => {
  const promote = "query_to_xml('update basalt.administrators set role = ''owner''', true, true, '')::text"
  const hash = '(select password_hash from basalt.administrators limit 1)'
  const column = { name: 'leak', type: 'text' }
  const changes = [
    { kind: 'add_column', ...at, column: { ...column, default: promote } },
    {
      kind: 'add_column',
      ...at,
      column: { ...column, default: "table_to_xml('basalt.users', true, true, '')" },
    },
    { kind: 'add_column', ...at, column: { ...column, type: `text default ${promote}` } },
    { kind: 'add_column', ...at, column: { ...column, type: 'text, owner to basalt_reader' } },
    { kind: 'add_column', ...at, column: { ...column, default: '1, owner to basalt_reader' } },
    { kind: 'alter_column', ...at, column: 'name', type: 'text', using: promote },
    { kind: 'alter_column', ...at, column: 'name', default: '1, disable trigger all' },
    { kind: 'add_check', ...at, check: `${promote} is not null` },
    { kind: 'add_check', ...at, check: 'true) not valid; drop table item; --' },
    { kind: 'create_index', ...at, keys: [`(${promote})`] },
    { kind: 'create_index', ...at, keys: ['name'], where: `${promote} is null` },
    { kind: 'create_policy', ...at, policy: 'p', using: `name = ${hash}` },
    { kind: 'create_policy', ...at, policy: 'p', using: `${promote} is null` },
    { kind: 'alter_policy', ...at, policy: 'p', check: "set_config('role', 'basalt_reader', true) is null" },
    { kind: 'rename_table', schema: 'basalt', name: 'users', to: 'x' },
    { kind: 'drop_relation', schema: 'basalt', name: 'administrators', relationKind: 'table' },
    { kind: 'set_row_level_security', schema: 'pg_catalog', name: 'pg_authid', isEnabled: false },
    {
      kind: 'add_foreign_key',
      ...at,
      columns: ['name'],
      references: { schema: 'basalt', name: 'admin_sessions', columns: ['token_hash'] },
    },
  ]
  const state = () => app.sql('select role, email from basalt.administrators order by email')
  const before = await state()
  for (const change of changes) {
    for (const path of ['plan', 'apply'] as const) {
      const refused = await send(path, { change, name: 'x' })
      expect([JSON.stringify(change), refused.status, refused.json.error]).toEqual([
        JSON.stringify(change),
        400,
        'invalid_structure_change',
      ])
    }
  }
  expect(await state()).toEqual(before)
})
