import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, envelope, type TestApp, type TestResponse } from '../../../../test/test-app.ts'
import { waitFor } from '../../../../test/wait-for.ts'
import { sortNaturally } from '../../../database/natural-order.ts'

let app: TestApp
/** Another server on the same database and the same folder. */
let other: TestApp
let config: Readonly<Record<string, string>>
let token: string
let folder: string

const fixture = `
  create table todo (
    id bigint generated always as identity primary key,
    owner_id uuid not null default basalt.user_id(),
    title text not null check (title <> '')
  );
  comment on column todo.title is 'What to do';
  alter table todo enable row level security;
  create policy own on todo using (owner_id = basalt.user_id());
  create index todo_owner on todo (owner_id) where title <> 'x';
  create table step (id int primary key, todo_id bigint references todo on delete cascade);
  create view open_todo with (security_invoker = true) as select id, title from todo;
  create type mood as enum ('good', 'bad');
  create table feeling (how mood);
  create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
  create trigger touch before update on todo for each row execute function touch();`

beforeAll(async () => {
  folder = join(mkdtempSync(join(tmpdir(), 'basalt-structure-')), 'migrations')
  // A concurrent index build waits for other transactions of the machine's tests.
  config = { 'project.migrations': folder, 'project.lock_timeout_ms': '60000' }
  app = await createTestApp({ config })
  other = await createTestApp({ config, database: app.database })
  token = await app.adminToken()
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  rmSync(join(folder, '..'), { recursive: true })
})
beforeEach(async () => {
  await app.sql(`drop schema public cascade; create schema public;
    grant usage on schema public to basalt_authenticated, basalt_anonymous;
    truncate basalt.project_migrations, basalt.project_schema;
    delete from basalt.audit where action = 'structure.apply'; ${fixture}`)
  rmSync(folder, { recursive: true, force: true })
})

/** Names of tables in the order of lists. */
const inOrder = [
  ...['2x', '10', '10x', 'Shop', 'shop', 'shop_01', 'shop_1', 'shop_2', 'shop_2_9', 'shop_2_10', 'shop_10'],
  ...['shop_99999999999999999999', 'shops'],
]

const path = '/api/admin/structure'
const get = (rest: string) => app.request('GET', `${path}/${rest}`, { token })
const plan = (body: unknown) => app.request('POST', `${path}/plan`, { token, body })
const planChange = (change: Record<string, unknown>) => plan({ change: { schema: 'public', ...change } })
const apply = (body: unknown, node = app) => node.request('POST', `${path}/apply`, { token, body })
const messages = (response: TestResponse): string[] =>
  response.json.warnings.map(({ kind, message }: { kind: string; message: string }) => `${kind}: ${message}`)

async function exists(relation: string): Promise<boolean> {
  const [row] = await app.sql('select to_regclass($1) is not null as found', [relation])
  return row?.found
}

describe('structure › relations', () => {
  test('lists tables and views by name with their guards, page by page', async () => {
    const first = await get('relations?limit=2')
    expect(first.status).toBe(200)
    const { next } = first.json
    const rest = await get(`relations?afterSchema=${next.schema}&afterName=${next.name}`)
    expect(rest.json.next).toBeNull()
    const items = [...first.json.items, ...rest.json.items]
    expect(items.map(({ name, kind }) => `${kind} ${name}`)).toEqual([
      'table feeling',
      'view open_todo',
      'table step',
      'table todo',
    ])
    expect(items[3]).toEqual({
      schema: 'public',
      name: 'todo',
      kind: 'table',
      comment: null,
      estimatedRows: null,
      bytes: expect.any(Number),
      isRlsEnabled: true,
      isRlsForced: false,
      policyCount: 1,
      options: [],
      hasPrimaryKey: true,
      isServed: true,
      callers: { authenticated: [], anonymous: [] },
    })
    await app.sql(
      'grant select, delete on step to basalt_authenticated; grant select (id) on todo to basalt_anonymous',
    )
    const named = (await get('relations?schema=public&q=O&limit=-1')).json
    expect(named).toMatchObject({
      items: [{ name: 'open_todo' }],
      next: { schema: 'public', name: 'open_todo' },
    })
    const found = (await get('relations?q=t')).json.items
    expect(
      found.map(({ name, callers }: { name: string; callers: object }) => ({ name, ...callers })),
    ).toEqual([
      { name: 'open_todo', authenticated: [], anonymous: [] },
      { name: 'step', authenticated: ['select', 'delete'], anonymous: [] },
      { name: 'todo', authenticated: [], anonymous: ['select'] },
    ])
    expect((await get('relations?schema=basalt')).json).toEqual({ items: [], next: null })
    expect((await get('relations?limit=x')).status).toBe(400)
  })

  test('lists names in natural order, and so does the diagram', async () => {
    const names = inOrder.map((name) => `create table "${name}" (id int);`)
    await app.sql(`drop schema public cascade; create schema public; ${names.toReversed().join(' ')}`)
    const listed: string[] = []
    for (let next = ''; ; ) {
      const { items, next: after } = (await get(`relations?limit=2${next}`)).json
      listed.push(...items.map(({ name }: { name: string }) => name))
      if (after === null) break
      next = `&afterSchema=${after.schema}&afterName=${after.name}`
    }
    expect(listed).toEqual(inOrder)
    const { tables } = (await get('diagram')).json
    expect(tables.map(({ name }: { name: string }) => name)).toEqual(inOrder)
    expect(sortNaturally(inOrder.toReversed(), (name) => name)).toEqual(inOrder)
  })

  test('draws tables and the foreign keys between them: of all schemas, of one, around a table', async () => {
    await app.sql(`
      create schema shop;
      create table shop.item (a int, "B c" int, primary key ("B c", a));
      create table shop.sale (id int primary key, item_a int, item_b int, day date not null,
        constraint of_item foreign key (item_b, item_a) references shop.item);
      create table sold (id int, sale int references shop.sale) partition by range (id);
      create table sold_low partition of sold for values from (0) to (10);`)
    const all = await get('diagram')
    expect(all.status).toBe(200)
    expect(all.json.count).toBe(6)
    expect(
      all.json.tables.map(({ schema, name }: { schema: string; name: string }) => `${schema}.${name}`),
    ).toEqual(['public.feeling', 'public.sold', 'public.step', 'public.todo', 'shop.item', 'shop.sale'])
    expect((await get('diagram?schema=shop')).json).toEqual({
      count: 2,
      tables: [
        {
          schema: 'shop',
          name: 'item',
          columns: [
            { name: 'a', type: 'integer', isKey: true },
            { name: 'B c', type: 'integer', isKey: true },
          ],
        },
        {
          schema: 'shop',
          name: 'sale',
          columns: [
            { name: 'id', type: 'integer', isKey: true },
            { name: 'item_a', type: 'integer', isKey: false },
            { name: 'item_b', type: 'integer', isKey: false },
            { name: 'day', type: 'date', isKey: false },
          ],
        },
      ],
      references: [
        {
          name: 'of_item',
          from: { schema: 'shop', name: 'sale', columns: ['item_b', 'item_a'] },
          to: { schema: 'shop', name: 'item', columns: ['B c', 'a'] },
        },
      ],
    })
    const near = async (query: string) => {
      const { json } = await get(`diagram?${query}`)
      return [json.tables.map(({ name }: { name: string }) => name), json.references.length]
    }
    expect(await near('aroundSchema=shop&aroundName=sale')).toEqual([['sold', 'item', 'sale'], 2])
    expect(await near('aroundName=todo')).toEqual([['step', 'todo'], 1])
    expect(await near('aroundName=open_todo')).toEqual([[], 0])
    await app.sql(
      `do $$ begin for n in 1..295 loop execute format('create table many_%s ()', n); end loop; end $$`,
    )
    expect((await get('diagram')).json).toEqual({ count: 301, tables: [], references: [] })
    expect((await get('diagram?schema=public')).json.tables).toHaveLength(299)
    await app.sql('drop schema shop cascade')
    expect((await app.request('GET', `${path}/diagram`)).status).toBe(401)
  })

  test('describes partitions under their table, and whether events follow writes of all kinds', async () => {
    await app.sql(`
      create table sold (at date) partition by range (at);
      create table sold_2026 partition of sold for values from ('2026-01-01') to ('2027-01-01');
      create table sold_rest partition of sold default;
      comment on table feeling is '@events off';
      create schema hidden; create table hidden.note (id int);`)
    const detailOf = async (name: string) => (await get(`relations/${name}`)).json
    await waitFor(
      'the catalog',
      async () => (await detailOf('public/feeling')).eventGap?.includes('@events') === true,
    )
    const partition = { schema: 'public', estimatedRows: null, bytes: 0 }
    expect(await detailOf('public/sold')).toMatchObject({
      partitionOf: null,
      partitions: [
        { ...partition, name: 'sold_2026', bound: "FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')" },
        { ...partition, name: 'sold_rest', bound: 'DEFAULT' },
      ],
      eventGap: null,
    })
    const gapOf = async (name: string) => (await detailOf(name)).eventGap
    expect((await detailOf('public/sold_rest')).partitionOf).toEqual({ schema: 'public', name: 'sold' })
    expect(
      await Promise.all(['public/sold_rest', 'public/feeling', 'hidden/note', 'public/todo'].map(gapOf)),
    ).toEqual([
      'it is a partition, whose changes are events of its table',
      'its comment holds @events off',
      'its schema is not served',
      null,
    ])
    await app.sql('drop schema hidden cascade')
  })

  test('describes one with its columns, constraints, indexes, policies, triggers and dependents', async () => {
    const { status, json } = await get('relations/public/todo')
    expect(status).toBe(200)
    expect(json).toMatchObject({
      kind: 'table',
      partitionKey: null,
      query: null,
      columns: [
        { name: 'id', type: 'bigint', isNullable: false, default: null, identity: 'always', generated: null },
        { name: 'owner_id', type: 'uuid', default: 'basalt.user_id()', comment: null },
        { name: 'title', type: 'text', comment: 'What to do' },
      ],
      constraints: [
        {
          name: 'todo_pkey',
          kind: 'primary key',
          definition: 'PRIMARY KEY (id)',
          columns: ['id'],
          isValidated: true,
        },
        {
          name: 'todo_title_check',
          kind: 'check',
          definition: "CHECK ((title <> ''::text))",
          references: null,
        },
      ],
      indexes: [
        { name: 'todo_pkey', isPrimary: true, constraint: 'todo_pkey', method: 'btree', isValid: true },
        {
          name: 'todo_owner',
          isUnique: false,
          constraint: null,
          condition: "(title <> 'x'::text)",
          scans: 0,
        },
      ],
      triggers: [{ name: 'touch', function: 'touch', isEnabled: true }],
      policies: [
        {
          name: 'own',
          command: 'all',
          isPermissive: true,
          roles: ['public'],
          using: '(owner_id = basalt.user_id())',
          check: null,
        },
      ],
      grants: [],
      dependents: [
        { kind: 'foreign key', name: 'step_todo_id_fkey of public.step' },
        { kind: 'view', name: 'public.open_todo' },
      ],
    })
    expect((await get('relations/public/step')).json.constraints[1]).toMatchObject({
      kind: 'foreign key',
      columns: ['todo_id'],
      references: { schema: 'public', name: 'todo', columns: ['id'] },
    })
    const [view] = await app.sql<{ query: string }>(
      "select trim(pg_get_viewdef('open_todo'::regclass)) as query",
    )
    expect((await get('relations/public/open_todo')).json.definition).toContain(
      `create view public.open_todo with (security_invoker=true) as\n${view?.query}`,
    )
  })

  test('has the definition of a table as SQL that recreates it', async () => {
    const { definition } = (await get('relations/public/todo')).json
    await app.sql('drop table todo cascade')
    await app.sql(definition)
    expect((await get('relations/public/todo')).json.definition).toBe(definition)
  })

  test('returns 404 for a missing table, and for tables of Basalt', async () => {
    const answer = { code: 404, error: 'relation_not_found' }
    expect(envelope(await get('relations/public/nope'))).toEqual({
      ...answer,
      message: 'relation not found: public.nope',
    })
    expect(envelope(await get('relations/basalt/users'))).toEqual({
      ...answer,
      message: 'relation not found: basalt.users',
    })
  })

  test('has types, functions, sequences and extensions, too', async () => {
    await app.sql(`
      create domain grade as int check (value > 0);
      create type pair as (a int, b text);
      create type nothing as enum ()`)
    const { status, json } = await get('objects')
    expect(status).toBe(200)
    expect(json).toMatchObject({
      schemas: [{ name: 'public', isServed: true }],
      enums: [
        { schema: 'public', name: 'mood', values: ['good', 'bad'], usedBy: ['feeling.how'], comment: null },
        { schema: 'public', name: 'nothing', values: [], usedBy: [], comment: null },
      ],
      domains: [
        { name: 'grade', type: 'integer', isNotNull: false, default: null, checks: ['CHECK ((VALUE > 0))'] },
      ],
      compositeTypes: [
        {
          name: 'pair',
          attributes: [
            { name: 'a', type: 'integer' },
            { name: 'b', type: 'text' },
          ],
        },
      ],
      functions: [
        { name: 'touch', arguments: '', returns: 'trigger', language: 'plpgsql', isSecurityDefiner: false },
      ],
      sequences: [{ name: 'todo_id_seq', type: 'bigint', lastValue: null, ownedBy: 'todo.id' }],
    })
    expect(json.columnTypes.slice(0, 4)).toEqual(['text', 'bigint', 'integer', 'boolean'])
    expect(json.columnTypes).toEqual(expect.arrayContaining(['mood', 'pair', 'interval']))
    expect(json.roles).toEqual(expect.arrayContaining(['basalt_anonymous', 'basalt_authenticated']))
  })
})

describe('structure › plan', () => {
  test('returns the SQL of a change and its effects, and changes nothing', async () => {
    const answer = await planChange({
      kind: 'create_table',
      name: 'note',
      columns: [{ name: 'id', type: 'uuid', isPrimaryKey: true }],
      template: { name: 'signed in' },
    })
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual({
      sql: expect.stringContaining('create table public.note ('),
      version: expect.stringMatching(/^[0-9a-f]{16}$/),
      isRehearsed: true,
      warnings: [],
      locks: [],
      rewritten: [],
      changes: expect.arrayContaining([
        { kind: 'column', name: 'public.note.id', change: 'added', after: 'uuid not null' },
      ]),
      access: [],
    })
    expect(await exists('note')).toBe(false)
  })

  test('warns of a table without policies, and of a view that bypasses policies', async () => {
    await app.sql('alter default privileges grant select on tables to basalt_authenticated')
    const columns = [{ name: 'id', type: 'int', isPrimaryKey: true }]
    expect(
      messages(await planChange({ kind: 'create_table', name: 'a', columns, hasRowLevelSecurity: false })),
    ).toEqual(['open: public.a is open to every signed-in caller: enable row-level security on it'])
    expect(messages(await plan({ sql: 'create view v as select * from todo' }))).toEqual([
      'open: public.v is open to every signed-in caller: make it with (security_invoker = true), so that the policies ' +
        'of its tables hold',
    ])
    expect(
      messages(await plan({ sql: 'create view v with (security_invoker = true) as select * from todo' })),
    ).toEqual([])
    expect(messages(await plan({ sql: 'create materialized view m as select 1' }))).toEqual([
      'open: public.m is open to every signed-in caller: revoke all on it from basalt_authenticated',
    ])
    await app.sql('alter default privileges revoke select on tables from basalt_authenticated')
  })

  test('warns of relation names with a new meaning, with the comment that keeps the old one', async () => {
    await app.sql(`
      create table person (id int primary key);
      create table book (id int primary key, writer int, author int references person)`)
    const found = messages(await plan({ sql: 'alter table book add foreign key (writer) references person' }))
    expect(found.filter((each: string) => each.startsWith('renames: '))).toEqual([
      'renames: person of book (expand, filters) follows writer from then on, not author, which is person_by_author then; to ' +
        `keep it, add to the migration: comment on constraint "book_author_fkey" on "public"."book" is e'@name person\\n@reverse_name book';`,
      'renames: book of person (expand, filters) follows book.writer from then on, not book.author, which is book_by_author then; ' +
        `to keep it, add to the migration: comment on constraint "book_author_fkey" on "public"."book" is e'@name person\\n@reverse_name book';`,
    ])
    await app.sql('drop table book, person')
  })

  test('warns that a table without policies is closed where row-level security is required', async () => {
    await using strict = await createTestApp({
      config: { 'database.require_rls': 'true' },
      setup: 'alter default privileges grant select on tables to basalt_authenticated',
    })
    const { json } = await strict.request('POST', '/api/admin/structure/plan', {
      token: await strict.adminToken(),
      body: { sql: 'create table a (id int primary key)' },
    })
    expect(json.warnings).toEqual([
      {
        kind: 'access',
        message:
          'public.a is closed to callers until policies guard its rows: enable row-level security on it',
      },
    ])
    await strict.sql('alter default privileges revoke select on tables from basalt_authenticated')
  })

  test('warns of rows that row-level security hides, or a policy admits', async () => {
    await app.sql('grant select on step to basalt_authenticated')
    expect(
      messages(await planChange({ kind: 'set_row_level_security', name: 'step', isEnabled: true })),
    ).toEqual([
      expect.stringMatching(
        /^blocks: line 1 blocks reads and writes of public.step \(\d+ ms in the rehearsal\)$/,
      ),
      'access: basalt_authenticated has other rows of table public.step: every row → no row',
    ])
    expect(
      messages(await planChange({ kind: 'apply_template', name: 'step', template: { name: 'public' } })),
    ).toEqual([
      expect.stringContaining('blocks: line 1 blocks reads and writes of public.step'),
      'access: basalt_anonymous may newly select table public.step: read (select: true)',
      'access: basalt_authenticated has other rows of table public.step: every row → read (select: true)',
    ])
  })

  test('warns of rewrites, and of dependents that a drop removes', async () => {
    expect(
      messages(await planChange({ kind: 'alter_column', name: 'step', column: 'id', type: 'bigint' })),
    ).toEqual([
      expect.stringMatching(/^rewrites: writes public.step anew \(\d+ bytes\)$/),
      expect.stringMatching(/^rewrites: writes public.step_pkey anew \(8.0 kB\)$/),
      expect.stringContaining('blocks: line 1 blocks reads and writes of public.step ('),
    ])
    const dropped = await planChange({
      kind: 'drop_relation',
      relationKind: 'table',
      name: 'todo',
      cascade: true,
    })
    expect(messages(dropped).filter((message) => message.startsWith('removes'))).toEqual([
      'removes: removes constraint public.step step_todo_id_fkey',
      'removes: removes sequence public.todo_id_seq',
      'removes: removes table public.todo',
      'removes: removes view public.open_todo',
    ])
    expect(await exists('open_todo')).toBe(true)
  })

  test('rejects a script that hides statements by a setting, and runs none of it', async () => {
    const hidden = `set standard_conforming_strings = off; select 'x\\''; commit; create table escaped (a int); --'`
    const planned = await plan({ sql: hidden })
    expect([planned.status, planned.json.isRehearsed]).toEqual([200, false])
    const applied = await apply({ sql: hidden, name: 'hidden' })
    expect([applied.status, applied.json.message]).toEqual([
      400,
      'line 1: cannot insert multiple commands into a prepared statement',
    ])
    expect(await exists('escaped')).toBe(false)
  })

  test('writes an audit entry for SQL of the caller, without its passwords', async () => {
    await app.sql("delete from basalt.audit where action = 'structure.plan'")
    await plan({ sql: "select 1; alter role basalt_authenticated password 'swordfish'" })
    await plan({ change: { kind: 'drop_table', schema: 'public', name: 'nothing' } })
    expect(await app.sql("select actor, detail from basalt.audit where action = 'structure.plan'")).toEqual([
      {
        actor: 'admin',
        detail: { query: "select 1; alter role basalt_authenticated password '[redacted]'" },
      },
    ])
  })

  test('rejects a script that removes objects of the server', async () => {
    // The server uses its own tables, and a script whose locks are not obtained is not rehearsed.
    const answer = await waitFor('the locks', async () => {
      const planned = await plan({ sql: 'drop schema basalt cascade' })
      return planned.json.isRehearsed !== false && planned
    })
    expect([answer.status, envelope(answer)]).toEqual([
      400,
      {
        code: 400,
        error: 'migration_refused',
        message: 'sql: the database does not work after it: schema "basalt" does not exist',
      },
    ])
  })

  test('rejects a statement that PostgreSQL rejects, with its message and the line', async () => {
    const refused = await plan({ sql: 'create table a (id int);\n\ninsert into a\nvalues (nope);' })
    expect(envelope(refused)).toEqual({
      code: 400,
      error: 'statement_refused',
      message: 'line 4: column "nope" does not exist',
      data: { line: 4, sqlstate: '42703', sql: 'create table a (id int);\n\ninsert into a\nvalues (nope);' },
    })
    expect(
      envelope(await planChange({ kind: 'drop_relation', relationKind: 'table', name: 'todo' })).message,
    ).toBe(
      'line 1: cannot drop table todo because other objects depend on it; constraint step_todo_id_fkey on table step ' +
        'depends on table todo view open_todo depends on table todo; Use DROP ... CASCADE to drop the dependent objects too.',
    )
  })

  test('does not rehearse scripts without a transaction, on a large table, or on one in use', async () => {
    const concurrent = await planChange({
      kind: 'create_index',
      name: 'todo',
      keys: ['title'],
      isConcurrent: true,
    })
    expect(concurrent.json).toEqual({
      sql: '-- basalt: no transaction\ncreate index concurrently on public.todo (title);\n',
      version: expect.any(String),
      isRehearsed: false,
      warnings: [
        {
          kind: 'not rehearsed',
          message: 'not tried beforehand: it runs outside of a transaction, where nothing can be undone',
        },
      ],
    })
    await app.sql("create table big as select repeat('x', 2000) as x from generate_series(1, 20000)")
    await app.sql('alter table big alter x set storage plain; update big set x = x')
    expect(
      messages(await planChange({ kind: 'alter_column', name: 'big', column: 'x', type: 'varchar' })),
    ).toEqual([
      expect.stringMatching(
        /^rewrites: may write all \d+\.\d MB of public.big anew, while reads and writes wait$/,
      ),
      expect.stringMatching(
        /^not rehearsed: not tried beforehand: its locks would be held for as long as the rows/,
      ),
    ])
    expect(messages(await planChange({ kind: 'create_index', name: 'big', keys: ['x'] }))).toEqual([
      expect.stringMatching(/^reads: may read all \d+\.\d MB of public.big, while writes wait$/),
      expect.stringContaining('not rehearsed'),
    ])
    const light = await planChange({ kind: 'set_row_level_security', name: 'big', isEnabled: true })
    expect(light.json.isRehearsed).toBe(true)
    await using reader = await app.app.database.aside.open().then((connection) => ({
      connection,
      [Symbol.asyncDispose]: () => connection.close(),
    }))
    await reader.connection.script('begin; select from todo limit 1')
    expect(messages(await planChange({ kind: 'rename_table', name: 'todo', to: 'task' }))).toEqual([
      'not rehearsed: not tried beforehand: a relation of it is in use, and its lock was not obtained within 100 ms',
    ])
    const unlimited = 'set statement_timeout = 0; select pg_sleep(2)'
    expect(messages(await plan({ sql: unlimited }))).toEqual([
      `not rehearsed: not tried to its end: it takes longer than a second, and holds its locks for as long`,
    ])
    expect(messages(await plan({ sql: 'select pg_sleep(2)' }))).toEqual([
      'not rehearsed: not tried to its end: it takes longer than a second, and holds its locks for as long',
    ])
  })

  test.each<[sql: string, why: string]>([
    ["copy (select 1) to program 'true'", 'line 1 (copy select) is not known to be undone as a whole'],
    [
      'create table a ();\ncreate extension dblink',
      'line 2 (create extension) is not known to be undone as a whole',
    ],
    ['notify todo', 'line 1 (notify todo) is not known to be undone as a whole'],
    [
      "do $$ begin perform setval('todo_id_seq', 77); end $$",
      'line 1 (do) is not known to be undone as a whole',
    ],
    ['call nothing()', 'line 1 (call nothing) is not known to be undone as a whole'],
    [
      "create function f() returns int language c as '/tmp/f', 'f'",
      'line 1 (create function) is not known to be undone as a whole',
    ],
    [
      "set standard_conforming_strings = off; select 'a\\'' || setval('todo_id_seq', 77) --'",
      'line 1 (set standard_conforming_strings) is not known to be undone as a whole',
    ],
    ["select setval('todo_id_seq', 77)", 'line 1 calls setval'],
    ['select "pg_advisory_lock" /* */ (77)', 'line 1 calls pg_advisory_lock'],
    ["select lo_export(lo_from_bytea(0, 'x'), '/tmp/basalt-trace')", 'line 1 calls lo_export'],
    ["select pg_catalog.query_to_xml('select 1', true, true, '')", 'line 1 calls query_to_xml'],
    ["create table a as\nselect nextval('todo_id_seq')", 'line 1 calls nextval'],
    ["alter table todo add number bigint default nextval('todo_id_seq')", 'line 1 calls nextval'],
    [
      "create table a (n int default nextval('todo_id_seq')); insert into a default values",
      'line 1 calls nextval',
    ],
    ['select title from note_of()', 'line 1 calls note_of'],
    ['select (t).note_of from todo t', 'line 1 calls note_of'],
    [
      "create or replace function abs(text) returns bigint language sql as $$ select setval('todo_id_seq', 77) $$;\nselect abs('1')",
      'line 2 may call functions that the script itself makes or renames',
    ],
    [
      "update todo set title = 'x'",
      'line 1 uses todo, with a trigger, rule, query, default or check that may call functions',
    ],
    [
      'with a as (delete from open_todo returning *) select from a',
      'line 1 uses open_todo, with a trigger, rule, query, default or check that may call functions',
    ],
    ['insert into numbered (a) values (1)', 'line 1 takes numbers from a sequence of numbered'],
  ])('does not rehearse a script that may have lasting effects: %s', async (sql, why) => {
    await app.sql(`create table numbered (id int generated always as identity, a int);
      create function note_of() returns table (title text) language sql stable as $$ select 'a' $$`)
    const answer = await plan({ sql })
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        sql,
        version: expect.any(String),
        isRehearsed: false,
        warnings: [
          {
            kind: 'not rehearsed',
            message: `not tried beforehand, as it could leave traces when it is undone: ${why}`,
          },
        ],
      },
    ])
    expect(await app.sql('select is_called from todo_id_seq')).toEqual([{ is_called: false }])
  })

  test('rehearses a script on rows without lasting effects', async () => {
    const { json } = await plan({
      sql: `alter table step add done bool default random() > 2;
        create table seen (id uuid default gen_random_uuid(), step int references step);
        insert into seen (step) select id from step where coalesce(length(left('a)', 1)), 0) in (1, 2);
        update step set done = exists (select from seen where step = step.id);
        delete from feeling where how = 'good'`,
    })
    expect(json).toMatchObject({
      isRehearsed: true,
      rewritten: [{ relation: 'public.step' }, { relation: 'public.step_pkey' }],
    })
    const trigger = await plan({
      sql: `create function g() returns trigger language plpgsql as $$ begin perform setval('x', 1); return new; end $$;
        create trigger g before insert on step for each row execute function g();
        create view f as select setval('todo_id_seq', 1)`,
    })
    expect(trigger.json.isRehearsed).toBe(true)
  })

  test('rehearses concurrent requests one at a time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => planChange({ kind: 'rename_table', name: 'todo', to: 'task' })),
    )
    expect(answers.map(({ json }) => json.isRehearsed)).toEqual(Array(5).fill(true))
  })

  test.each([
    [{}, 'body: expected either change or sql'],
    [{ sql: 'select 1', change: {} }, 'body: expected either change or sql'],
    [{ change: { kind: 'rename_table', schema: 'public', name: 'todo' } }, 'change.to: is required'],
    [{ sql: ' -- nothing' }, 'sql: expected a statement'],
    [{ sql: "select '\0'" }, 'sql: a text cannot have the character NUL'],
    [
      { sql: 'create table a ();\ncommit' },
      'sql:2: commit is not for a migration, which is one transaction by itself: remove it, or write "-- basalt: no ' +
        'transaction" above the first statement',
    ],
    [
      { sql: '-- basalt: no transaction\nvacuum todo; vacuum step' },
      'sql: without a transaction, expected a single statement',
    ],
  ])('returns 400 for %j', async (body, message) => {
    const answer = await plan(body)
    expect([answer.status, envelope(answer).message]).toEqual([400, message])
  })
})

describe('structure › apply', () => {
  const script = { sql: 'create table note (id int primary key);', name: 'Add note!' }

  test('stores the text in the database without a folder, and serves the table at once', async () => {
    const answer = await apply(script)
    expect(answer.status).toBe(200)
    const { name } = answer.json
    expect(answer.json).toEqual({ name, path: null, content: 'create table note (id int primary key);\n' })
    expect(name).toMatch(/^\d{14}_add_note\.sql$/)
    expect((await app.request('GET', '/api/collections/note', { token })).status).toBe(200)
    expect((await get('migrations')).json).toEqual({
      folder: null,
      applied: [{ name, appliedAt: expect.any(String) }],
      pending: [],
      obstacles: [],
      drift: 0,
    })
    expect((await get(`migrations/${name}`)).json).toEqual({ name, content: answer.json.content })
    expect(envelope(await get('migrations/nope'))).toMatchObject({
      code: 404,
      message: 'migration not found: nope',
    })
    expect(existsSync(folder)).toBe(false)
    const audit = await app.sql("select target, detail from basalt.audit where action = 'structure.apply'")
    expect(audit).toEqual([{ target: name, detail: { path: null } }])
  })

  test('writes a file that counts as applied with a folder', async () => {
    mkdirSync(folder)
    const { status, json } = await apply(script)
    expect({ status, json }).toEqual({
      status: 200,
      json: { name: json.name, path: `migrations/${json.name}`, content: expect.any(String) },
    })
    expect(readFileSync(join(folder, json.name), 'utf8')).toBe(json.content)
    const second = (await apply({ sql: 'alter table note add b int', name: 'more' })).json
    expect(second.name > json.name).toBe(true)
    expect((await get('migrations')).json).toMatchObject({ folder: 'migrations', pending: [], obstacles: [] })
  })

  test('leaves no effect of a script that fails half-way', async () => {
    mkdirSync(folder)
    const answer = await apply({ sql: 'create table a ();\ncreate table todo ();', name: 'twice' })
    expect(envelope(answer)).toEqual({
      code: 400,
      error: 'statement_refused',
      message: 'line 2: relation "todo" already exists',
      data: { line: 2, sqlstate: '42P07' },
    })
    expect(await exists('a')).toBe(false)
    expect(readdirSync(folder)).toEqual([])
    expect((await get('migrations')).json.applied).toEqual([])
    expect(await app.sql("select from basalt.audit where action = 'structure.apply'")).toEqual([])
  })

  test('builds an index concurrently, and drops the one that a failed build leaves', async () => {
    mkdirSync(folder)
    const { sql } = (
      await planChange({
        kind: 'create_index',
        name: 'step',
        keys: ['todo_id'],
        isUnique: true,
        isConcurrent: true,
      })
    ).json
    expect((await apply({ sql, name: 'index steps' })).status).toBe(200)
    expect(await exists('step_todo_id_idx')).toBe(true)
    await app.sql(
      "insert into todo (owner_id, title) values (gen_random_uuid(), 'a'), (gen_random_uuid(), 'a')",
    )
    const failing = await apply({
      sql: sql.replace('public.step (todo_id)', 'public.todo (title)'),
      name: 'unique titles',
    })
    expect([failing.status, envelope(failing).message]).toEqual([
      400,
      'line 2: could not create unique index "todo_title_idx"; Key (title)=(a) is duplicated.',
    ])
    expect(await exists('todo_title_idx')).toBe(false)
    expect(readdirSync(folder)).toHaveLength(1)
    expect((await get('migrations')).json).toMatchObject({ pending: [], obstacles: [] })
  })

  test('rejects a plan that another administrator has outdated', async () => {
    const { sql, version } = (
      await planChange({ kind: 'add_column', name: 'step', column: { name: 'b', type: 'int' } })
    ).json
    expect((await apply({ ...script, version }, other)).status).toBe(200)
    expect(envelope(await apply({ sql, name: 'add b', version }))).toEqual({
      code: 409,
      error: 'structure_changed',
      message: 'the structure has changed since this was planned; plan it again',
    })
    expect((await apply({ sql, name: 'add b' })).status).toBe(200)
  })

  test('applies one of ten equal requests at once on two nodes, and the others report why not', async () => {
    mkdirSync(folder)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => apply(script, index % 2 === 0 ? app : other)),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(400)])
    const [refused] = answers.filter(({ status }) => status === 400)
    expect(refused?.json.message).toBe('line 1: relation "note" already exists')
    expect(readdirSync(folder)).toHaveLength(1)
  })

  test('applies ten different requests at once on two nodes, one at a time', async () => {
    mkdirSync(folder)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        apply({ sql: `create table t${index} ()`, name: 'add t' }, index % 2 === 0 ? app : other),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(readdirSync(folder)).toHaveLength(10)
    expect((await get('migrations')).json).toMatchObject({ pending: [], obstacles: [] })
  })

  test('aborts on a table that is in use, without any effect', async () => {
    await using hasty = await createTestApp({
      config: { ...config, 'project.lock_timeout_ms': '100' },
      database: app.database,
    })
    const connection = await app.app.database.aside.open()
    try {
      await connection.script('begin; select from todo limit 1')
      expect(envelope(await apply({ sql: 'alter table todo add b int', name: 'add b' }, hasty))).toEqual({
        code: 409,
        error: 'structure_in_use',
        message: 'canceling statement due to lock timeout; nothing of it is done, try again',
      })
    } finally {
      await connection.close()
    }
    expect((await get('migrations')).json.applied).toEqual([])
  })

  test('rejects a script while migrations of the folder are pending or missing', async () => {
    mkdirSync(folder)
    const { name } = (await apply(script)).json
    const pending = `${Number(name.slice(0, 14)) + 1}_b.sql`
    writeFileSync(join(folder, pending), 'create table b ()')
    expect(envelope(await apply({ ...script, name: 'again' }))).toEqual({
      code: 409,
      error: 'migrations_in_the_way',
      message: `migrations are pending: run basalt migrate up first (${pending})`,
    })
    rmSync(join(folder, pending))
    rmSync(join(folder, name))
    expect(envelope(await apply({ ...script, name: 'again' })).message).toBe(
      `${name} was applied and is no file any more: basalt migrate pull restores it`,
    )
    writeFileSync(join(folder, 'notes.sql'), '')
    expect(envelope(await get('migrations')).error).toBe('migrations_in_the_way')
  })

  test.each([
    [{ sql: 'select 1', name: ' — ' }, '" — ": expected a name of letters and digits, such as add_todo'],
    [{ sql: '', name: 'a' }, 'sql: expected a statement'],
    [{ sql: 'commit', name: 'a' }, expect.stringContaining('commit is not for a migration')],
    [{ name: 'a' }, expect.stringContaining('sql')],
    [{ sql: 'select 1', name: 5 }, expect.stringContaining('name')],
  ])('returns 400 for %j', async (body, message) => {
    const answer = await apply(body)
    expect([answer.status, envelope(answer).message]).toEqual([400, message])
  })

  test('continues when the client disconnects', async () => {
    const controller = new AbortController()
    const sent = fetch(`${app.url}${path}/apply`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'select pg_sleep(0.5); create table late ()', name: 'late' }),
      signal: controller.signal,
    }).catch(() => undefined)
    await waitFor(
      'the statement',
      async () =>
        (
          await app.sql(
            "select from pg_stat_activity where query like '%pg_sleep(0.5)%' and pid <> pg_backend_pid()",
          )
        ).length > 0,
    )
    controller.abort()
    await sent
    await waitFor('the table', () => exists('late'))
    expect((await get('migrations')).json.applied).toHaveLength(1)
  })
})
