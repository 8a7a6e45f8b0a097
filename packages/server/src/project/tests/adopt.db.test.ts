import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTerminal } from '../../../test/terminal.ts'
import {
  createTestApp,
  createTestDatabase,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { main } from '../../main.ts'

/** Tables of TPC-C, as far as they matter: every key is composite, `history` has none. */
const warehouse = `
create table warehouse (w_id int primary key, w_name varchar(10));
create table district (d_w_id int references warehouse, d_id int, d_name varchar(10), primary key (d_w_id, d_id));
create table customer (
  c_w_id int, c_d_id int, c_id int, c_last varchar(16), c_data varchar(500),
  primary key (c_w_id, c_d_id, c_id), foreign key (c_w_id, c_d_id) references district
);
create table history (
  h_c_id int, h_c_d_id int, h_c_w_id int, h_amount numeric(6, 2),
  foreign key (h_c_w_id, h_c_d_id, h_c_id) references customer
);
create table orders (
  o_w_id int, o_d_id int, o_id int, o_c_id int,
  primary key (o_w_id, o_d_id, o_id), foreign key (o_w_id, o_d_id, o_c_id) references customer
);
create index on orders (o_w_id, o_d_id, o_c_id);
create table new_order (
  no_w_id int, no_d_id int, no_o_id int,
  primary key (no_w_id, no_d_id, no_o_id), foreign key (no_w_id, no_d_id, no_o_id) references orders
);
create table item (i_id int primary key, i_name varchar(24));
create table stock (s_w_id int references warehouse, s_i_id int references item, primary key (s_w_id, s_i_id));
create table order_line (
  ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_supply_w_id int, ol_i_id int,
  primary key (ol_w_id, ol_d_id, ol_o_id, ol_number),
  foreign key (ol_w_id, ol_d_id, ol_o_id) references orders,
  foreign key (ol_supply_w_id, ol_i_id) references stock
);
insert into warehouse values (1, 'one');
insert into district values (1, 1, 'north'), (1, 2, 'south');
insert into customer values
  (1, 1, 7, 'BAR', 'Ada@example.com'), (1, 2, 7, 'OUGHT', 'bob@example.com'), (1, 2, 8, 'ABLE', null);
insert into history values (7, 1, 1, 10), (7, 2, 1, 20), (7, 2, 1, 30), (8, 2, 1, 40);
insert into orders values (1, 1, 1, 7), (1, 2, 1, 7), (1, 2, 2, 8);
insert into new_order values (1, 1, 1), (1, 2, 2);
insert into item values (1, 'bolt');
insert into stock values (1, 1);
insert into order_line values (1, 1, 1, 1, 1, 1), (1, 1, 1, 2, 1, 1), (1, 2, 1, 1, 1, 1), (1, 2, 2, 1, 1, 1);
`

/** Tables of Lobsters, a link aggregator, as far as they matter: it has `users` of its own. */
const lobsters = `
create table users (
  id bigserial primary key, username varchar(50) unique, email varchar(100), session_token varchar(75), created_at timestamp
);
create table domains (id bigserial primary key, domain varchar(255));
create table stories (
  id bigserial primary key, user_id bigint not null references users, domain_id bigint references domains,
  title varchar(150) not null, upvotes int not null default 1
);
create index on stories (user_id);
create table comments (
  id bigserial primary key, story_id bigint not null references stories, user_id bigint not null references users, comment text
);
create index on comments (user_id);
create table messages (
  id bigserial primary key, author_user_id bigint references users, recipient_user_id bigint not null references users, body text
);
create index on messages (author_user_id);
create index on messages (recipient_user_id);
create table tags (id bigserial primary key, tag varchar(25) not null);
create table taggings (
  id bigserial primary key, story_id bigint not null references stories, tag_id bigint not null references tags
);
create index on taggings (story_id);
insert into users (username, email, session_token) values ('ada', 'Ada@example.com', 's1'), ('bob', 'bob@example.com', 's2'),
  ('twin1', 'twin@example.com', 's3'), ('twin2', 'Twin@example.com', 's4');
insert into domains (domain) values ('example.com');
insert into stories (user_id, domain_id, title) values (1, 1, 'by ada'), (2, 1, 'by bob'), (2, null, 'by bob, too'), (3, null, 'of a twin');
insert into comments (story_id, user_id, comment) values (2, 1, 'ada on bob'), (1, 2, 'bob on ada');
insert into messages (author_user_id, recipient_user_id, body) values (1, 2, 'to bob'), (2, 1, 'to ada'), (3, 4, 'to the twin');
insert into tags (tag) values ('rust');
insert into taggings (story_id, tag_id) values (1, 1), (2, 1), (3, 1);
`

let database: TestDatabase
let app: TestApp
let directory: string

beforeAll(async () => {
  database = await createTestDatabase()
  directory = mkdtempSync(join(tmpdir(), 'basalt-adopt-'))
  app = await createTestApp({ database })
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await database.sql(`drop schema public cascade; create schema public;
    truncate basalt.project_migrations, basalt.project_schema, basalt.opened_schemas`)
  rmSync(join(directory, 'migrations'), { recursive: true, force: true })
})

interface RunOptions {
  readonly url?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Flags without a baseline, for which clusters of tests have no program, and for a loaded machine. */
const commonFlags = ['--pg-dump', '/nonexistent/pg_dump', '--trial-timeout', '300']

async function adopt(args: readonly string[], { url = database.url, env = {} }: RunOptions = {}) {
  const terminal = createTerminal(['adopt', ...commonFlags, ...args], {
    directory,
    env: { BASALT_DATABASE_URL: url, BASALT_AUTH_JWT_SECRET: testSecret, ...env },
  })
  await main(terminal)
  return { code: Number(terminal.exitCode ?? 0), ...terminal.output }
}

// biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
async function json(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await adopt([...args, '--json'])
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

const token = (email: string, isVerified = true) =>
  userToken({ sub: randomUUID(), email, email_verified: isVerified })

/** Lists rows as the caller; a status other than 200 instead. */
async function list(collection: string, as: string | undefined) {
  const { status, json: page } = await app.request(
    'GET',
    `/api/collections/${encodeURIComponent(collection)}?perPage=100`,
    {
      token: as,
    },
  )
  return status === 200 ? page.items : status
}

/** Waits until the server knows the schema of the collection. */
async function untilServed(collection: string, as: string, rows: number) {
  await waitFor(`${rows} rows of ${collection}`, async () => {
    const found = await list(collection, as)
    return Array.isArray(found) && found.length === rows
  })
}

const refused = (message: string, code = 1) => ({ code, stdout: '', stderr: `basalt: ${message}\n` })

/** Returns the objects of the schema, with privileges and policies, but not of Basalt. */
async function fingerprint() {
  return await database.sql(`
    select c.oid::regclass::text as object, c.relrowsecurity as rls, c.relacl::text as acl from pg_class c
    where c.relnamespace = 'public'::regnamespace
    union all select polname, null, pg_get_expr(polqual, polrelid) from pg_policy
      where polrelid <> 'basalt.objects'::regclass
    union all select oid::regprocedure::text, null, proacl::text from pg_proc where pronamespace = 'public'::regnamespace
    order by 1, 2, 3`)
}

describe('basalt adopt › composite keys', () => {
  const flags = ['--people', 'customer', '--match', 'email=c_data']

  test('proposes a policy for each table that leads to people, tries it and changes nothing', async () => {
    await database.sql(warehouse)
    const before = await fingerprint()
    const { tables, trial, applied, sql } = await json(...flags)
    expect(applied).toBeNull()
    expect(
      Object.fromEntries(
        tables.map(({ table, access, by }: Record<string, string>) => [table, [access, by]]),
      ),
    ).toEqual({
      customer: ['own', 'c_w_id, c_d_id, c_id'],
      district: ['closed', null],
      history: ['own', 'h_c_w_id+h_c_d_id+h_c_id → customer'],
      item: ['closed', null],
      new_order: ['own', 'no_w_id+no_d_id+no_o_id → orders, o_w_id+o_d_id+o_c_id → customer'],
      order_line: ['own', 'ol_w_id+ol_d_id+ol_o_id → orders, o_w_id+o_d_id+o_c_id → customer'],
      orders: ['own', 'o_w_id+o_d_id+o_c_id → customer'],
      stock: ['closed', null],
      warehouse: ['closed', null],
    })
    expect(trial).toEqual({
      callers: ['ada@example.com', 'bob@example.com'],
      tables: [
        { collection: 'customer', all: 3, callers: [1, 1], withoutToken: null },
        { collection: 'district', all: 2, callers: [null, null], withoutToken: null },
        { collection: 'history', all: 4, callers: [1, 2], withoutToken: null },
        { collection: 'item', all: 1, callers: [null, null], withoutToken: null },
        { collection: 'new_order', all: 2, callers: [1, 0], withoutToken: null },
        { collection: 'order_line', all: 4, callers: [2, 1], withoutToken: null },
        { collection: 'orders', all: 3, callers: [1, 1], withoutToken: null },
        { collection: 'stock', all: 1, callers: [null, null], withoutToken: null },
        { collection: 'warehouse', all: 1, callers: [null, null], withoutToken: null },
      ],
    })
    // Row-level security, then policies, then grants.
    const order = ['create function', 'enable row level security', 'create policy', 'grant select on table']
    expect(order.map((words) => sql.indexOf(words))).toEqual(
      order.map((words) => sql.indexOf(words)).toSorted((one, other) => one - other),
    )
    expect(await fingerprint()).toEqual(before)
    expect(existsSync(join(directory, 'migrations'))).toBe(false)
  })

  test('applies the proposal with --yes, and callers read and write their own rows', async () => {
    await database.sql(warehouse)
    const { applied } = await json(...flags, '--write', 'orders,order_line', '--yes')
    expect(applied).toEqual({ migration: expect.stringMatching(/\d{14}_adopt\.sql$/), baseline: null })
    const [ada, bob, unproven] = [
      token('ada@example.com'),
      token('bob@example.com'),
      token('ada@example.com', false),
    ]
    await untilServed('order_line', ada, 2)
    expect(await list('customer', ada)).toEqual([
      { c_w_id: 1, c_d_id: 1, c_id: 7, c_last: 'BAR', c_data: 'Ada@example.com' },
    ])
    expect(await list('history', bob)).toHaveLength(2)
    expect(await list('orders', unproven)).toEqual([])
    expect(await list('item', ada)).toBe(403)
    expect(await list('orders', undefined)).toBe(401)
    const create = (as: string, body: object) =>
      app.request('POST', '/api/collections/orders', { token: as, body })
    expect((await create(bob, { o_w_id: 1, o_d_id: 2, o_id: 3, o_c_id: 7 })).status).toBe(201)
    expect((await create(bob, { o_w_id: 1, o_d_id: 1, o_id: 4, o_c_id: 7 })).status).toBe(403)
    const line = { ol_w_id: 1, ol_d_id: 2, ol_o_id: 3, ol_number: 1, ol_supply_w_id: 1, ol_i_id: 1 }
    const addLine = (as: string) =>
      app.request('POST', '/api/collections/order_line', { token: as, body: line })
    expect((await addLine(ada)).status).toBe(403)
    expect((await addLine(bob)).status).toBe(201)
    expect((await app.request('DELETE', '/api/collections/orders/1,1,1', { token: bob })).status).toBe(404)
    expect(
      (await app.request('PATCH', '/api/collections/customer/1,2,7', { token: bob, body: { c_last: 'X' } }))
        .status,
    ).toBe(403)
  })

  test('is undone by one command, and done again by another', async () => {
    await database.sql(warehouse)
    const { stderr } = await adopt([...flags, '--yes'])
    expect(stderr).toContain('pg_dump is not installed')
    const shown = await adopt(['--undo'])
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toMatch(/drop function "public"."current_person"\(\);\n\nNothing is changed/)
    const undone = await json('--undo', '--yes')
    expect(undone.applied).toEqual({ migration: expect.stringMatching(/_undo_adopt\.sql$/) })
    const left = await database.sql(`
      select relname from pg_class where relnamespace = 'public'::regnamespace
        and (relrowsecurity or has_table_privilege('basalt_authenticated', oid, 'select')) and relkind = 'r'
      union all select proname from pg_proc where pronamespace = 'public'::regnamespace`)
    expect(left).toEqual([])
    expect(await adopt(['--undo', '--yes'])).toEqual(
      refused('basalt adopt has done nothing that could be undone'),
    )
    // Who people are is known from the first time.
    expect((await json('--yes')).applied.migration).toMatch(/_adopt\.sql$/)
    const names = readdirSync(join(directory, 'migrations')).map((name) => name.replace(/^\d+_/, ''))
    expect(names).toEqual(['adopt.sql', 'undo_adopt.sql', 'adopt.sql'])
    expect((await json()).applied).toBeNull()
    expect((await adopt([])).stdout).toContain('Nothing is to be done.')
  })
})

describe('basalt adopt › a table users of its own', () => {
  const flags = ['--people', 'users', '--match', 'email=email']

  test('follows several keys and several steps, and an address of two people finds neither', async () => {
    await database.sql(lobsters)
    const { tables } = await json(
      ...flags,
      '--signed-in',
      'tags',
      '--public',
      'domains',
      '--write',
      'users,comments',
      '--yes',
    )
    expect(
      Object.fromEntries(
        tables.map(({ table, access, by }: Record<string, string>) => [table, [access, by]]),
      ),
    ).toEqual({
      comments: ['own', 'user_id → users'],
      domains: ['public', null],
      messages: ['own', 'author_user_id → users or recipient_user_id → users'],
      stories: ['own', 'user_id → users'],
      taggings: ['own', 'story_id → stories, user_id → users'],
      tags: ['signed-in', null],
      users: ['own', 'id'],
    })
    const [ada, bob, twin] = [token('ada@example.com'), token('bob@example.com'), token('twin@example.com')]
    await untilServed('messages', ada, 2)
    const bodies = async (as: string) =>
      (await list('messages', as)).map(({ body }: { body: string }) => body)
    expect(await bodies(bob)).toEqual(['to bob', 'to ada'])
    expect(await list('taggings', bob)).toHaveLength(2)
    expect(await list('stories', twin)).toEqual([])
    expect(await list('tags', twin)).toEqual([{ id: 1, tag: 'rust' }])
    expect(await list('domains', undefined)).toEqual([{ id: 1, domain: 'example.com' }])
    expect(await list('tags', undefined)).toBe(401)
    // Callers change what is theirs, and not by what they are found.
    const patch = (id: number, body: object) =>
      app.request('PATCH', `/api/collections/users/${id}`, { token: ada, body })
    expect((await patch(1, { username: 'ada2' })).status).toBe(200)
    expect((await patch(1, { email: 'bob@example.com' })).status).toBe(403)
    expect((await patch(2, { username: 'mine' })).status).toBe(404)
    const created = await app.request('POST', '/api/collections/comments', {
      token: ada,
      body: { story_id: 2, user_id: 1, comment: 'new' },
    })
    expect(created.status).toBe(201)
  })

  test('finds callers by their id, in a uuid or a text', async () => {
    const [first, second] = [randomUUID(), randomUUID()]
    await database.sql(`
      create table users (id uuid primary key, name text);
      create table profile (id int primary key, account text unique, user_id uuid references users);
      insert into users values ('${first}', 'ada'), ('${second}', 'bob');
      insert into profile values (1, '${first}', '${first}'), (2, '${second}', '${second}')`)
    const { trial } = await json('--people', 'users', '--match', 'id=id')
    expect(trial.tables).toEqual([
      { collection: 'profile', all: 2, callers: [1, 1], withoutToken: null },
      { collection: 'users', all: 2, callers: [1, 1], withoutToken: null },
    ])
    const byText = await json('--people', 'profile', '--match', 'claim:sub=account', '--leave', 'users')
    expect(byText.trial.tables).toEqual([
      { collection: 'profile', all: 2, callers: [1, 1], withoutToken: null },
    ])
  })

  test('uses a function and policies that exist, keeps them, and shows them', async () => {
    await database.sql(lobsters)
    await database.sql(`
      create function current_person() returns bigint language sql stable security definer set search_path = ''
        as $$ select id from public.users where lower(email) = basalt.user_email() and basalt.email_verified() and id < 3 $$;
      alter table stories enable row level security;
      create policy mine on stories for select using (user_id = (select current_person()))`)
    const { stdout } = await adopt(flags)
    expect(stdout).toContain('A caller is public.current_person(), which exists already')
    expect(stdout).toMatch(/^stories +kept: 1 policy$/m)
    expect(stdout).toMatch(/^ {2}stories: "mine" for select to public using \(user_id = /m)
    expect(stdout).not.toMatch(/create function|"stories" enable/)
    expect(stdout).toMatch(/^taggings +3 +1 +2 +-$/m)
    await adopt([...flags, '--yes'])
    await json('--undo', '--yes')
    expect(
      await database.sql('select polname from pg_policy where polrelid = $1::regclass', ['stories']),
    ).toEqual([{ polname: 'mine' }])
    await database.sql(
      'create or replace function current_person() returns bigint language sql stable as $$ select 1::bigint $$',
    )
    expect((await adopt(flags)).stderr).toMatch(
      /^basalt: the function public.current_person\(\) exists, and does not identify a person: /,
    )
  })
})

describe('basalt adopt › unusual schemas', () => {
  const odd = `
    create schema "Sales";
    create table "Sales"."Cust""omer" ("Id" int primary key, "E-Mail" text, "Full" text generated always as (upper("E-Mail")) stored);
    create table "Sales"."order" ("select" int primary key, "Cust""Id" int references "Sales"."Cust""omer");
    create table "Sales".p1 (id int primary key, "order" int references "Sales"."order");
    create table "Sales".event (at date not null, customer int references "Sales"."Cust""omer") partition by range (at);
    create table "Sales".event_2026 partition of "Sales".event for values from ('2026-01-01') to ('2027-01-01');
    create view "Sales".report as select * from "Sales"."order";
    create view "Sales".mine with (security_invoker) as select * from "Sales"."order";
    create materialized view "Sales".totals as select 1 as one;
    insert into "Sales"."Cust""omer" values (1, 'ada@example.com'), (2, 'bob@example.com');
    insert into "Sales"."order" values (10, 1), (20, 2), (30, 2);
    insert into "Sales".p1 values (100, 10), (200, 20);
    insert into "Sales".event values ('2026-05-01', 1), ('2026-06-01', 2);`
  const flags = ['--people', 'Sales.Cust"omer', '--match', 'email=E-Mail', '--database-schemas', 'Sales']
  afterAll(() => database.sql('drop schema if exists "Sales" cascade'))

  test('quotes names, follows partitioned tables, closes views and leaves out partitions', async () => {
    await database.sql(`drop schema if exists "Sales" cascade; ${odd}`)
    const { tables, partitions, trial } = await json(
      ...flags,
      '--write',
      'Sales.Cust"omer,Sales.event',
      '--yes',
    )
    expect(
      Object.fromEntries(tables.map(({ table, access }: Record<string, string>) => [table, access])),
    ).toEqual({
      'Sales.Cust"omer': 'own',
      'Sales.event': 'own',
      'Sales.mine': 'view',
      'Sales.order': 'own',
      'Sales.p1': 'own',
      'Sales.report': 'closed',
      'Sales.totals': 'closed',
    })
    expect(partitions).toEqual(['Sales.event_2026'])
    expect(trial.tables).toEqual([
      { collection: 'Sales.Cust"omer', all: 2, callers: [1, 1], withoutToken: null },
      { collection: 'Sales.event', all: 2, callers: [1, 1], withoutToken: null },
      { collection: 'Sales.mine', all: 3, callers: [1, 2], withoutToken: null },
      { collection: 'Sales.order', all: 3, callers: [1, 2], withoutToken: null },
      { collection: 'Sales.p1', all: 2, callers: [1, 1], withoutToken: null },
      { collection: 'Sales.report', all: 3, callers: [null, null], withoutToken: null },
      { collection: 'Sales.totals', all: 1, callers: [null, null], withoutToken: null },
    ])
    const grants = await database.sql(`
      select has_table_privilege('basalt_authenticated', '"Sales".event_2026', 'select') as partition,
        has_table_privilege('basalt_authenticated', '"Sales".event', 'insert') as event,
        has_any_column_privilege('basalt_authenticated', '"Sales"."Cust""omer"', 'update') as people`)
    // Every column of the people is the key, the address, or generated.
    expect(grants).toEqual([{ partition: false, event: true, people: false }])
    await json('--undo', '--yes', '--database-schemas', 'Sales')
    expect(
      await database.sql(
        'select from pg_class where relrowsecurity and relnamespace = \'"Sales"\'::regnamespace',
      ),
    ).toEqual([])
  })

  test('keeps the access of other roles, and refuses tables of other owners', async () => {
    const suffix = randomUUID().slice(0, 8)
    const [login, owner, reader] = [`adopt_${suffix}`, `Owner ${suffix}`, `reader_${suffix}`]
    const name = new URL(database.url).pathname.slice(1)
    const url = database.url.replace(/\/\/[^@]*@/, `//${login}@`)
    await database.sql(`create role ${login} login createrole; create role "${owner}"; create role ${reader};
      grant create on database ${name} to ${login}; grant basalt_authenticated, basalt_anonymous to ${login};
      grant usage, create on schema public to ${login}, "${owner}"; grant usage on schema public to ${reader}`)
    const tables = (...names: string[]) =>
      names.map((table) => `alter table ${table} owner to ${login};`).join(' ')
    try {
      await database.sql(lobsters)
      await database.sql(`${tables('users', 'domains', 'stories', 'comments', 'messages', 'taggings')}
        alter table tags owner to "${owner}"; alter table stories owner to "${owner}";
        grant select on users, comments to ${reader}; grant select on stories to ${login}`)
      await database.sql(`grant select, insert, update, delete on all tables in schema basalt to ${login}`)
      await database.sql(
        `grant execute on all functions in schema basalt to ${login}; grant usage on schema basalt to ${login}`,
      )
      const result = await adopt([...flags2, '--trial-timeout', '0'], { url })
      expect(result).toEqual(
        refused(
          `stories belongs to Owner ${suffix}, and only its owner may give it policies: have a superuser run grant "${owner}" to ${login}; ` +
            'or leave it out by --leave stories',
        ),
      )
      const left = await adopt([...flags2, '--trial-timeout', '0', '--leave', 'stories'], { url })
      expect(left.stderr).toBe('')
      expect(left.stdout).toContain(`- tags belongs to Owner ${suffix}, and is left as it is.`)
      expect(left.stdout).toContain(
        `- ${reader}: their access to comments, users stays as it is, by a policy of their own.`,
      )
      expect(left.stdout).toContain(
        `create policy "adopt_other_roles" on "public"."users" to "${reader}" using (true) with check (true);`,
      )
    } finally {
      await database.sql('drop schema public cascade; create schema public')
      await database.sql(
        `drop owned by ${login}, "${owner}", ${reader}; drop role ${login}, "${owner}", ${reader}`,
      )
    }
  })
  const flags2 = ['--people', 'users', '--match', 'email=email']
})

describe('basalt adopt › flags and prompts', () => {
  test.each([
    [['--people', 'user'], '--people: there is no table "user"; did you mean users?'],
    [[], 'name the table of people by --people, such as users, domains, stories, tags, comments'],
    [['--people', 'users'], 'say by --match how a caller is found in users, such as email=email'],
    [
      ['--people', 'users', '--match', 'mail=email'],
      '--match: expected id=COLUMN, email=COLUMN or claim:NAME=COLUMN, not "mail=email"',
    ],
    [
      ['--people', 'users', '--match', 'email=emial'],
      '--match: users has no column "emial"; did you mean email?',
    ],
    [['--people', 'users', '--match', 'id=id'], '--match: users.id is bigint, expected uuid or a text'],
    [
      ['--people', 'users', '--match', 'claim:email=email'],
      '--match: the claim "email" identifies no one; email=COLUMN compares the address once it is verified',
    ],
    [
      ['--people', 'users', '--match', 'email=email', '--write', 'tags'],
      '--write: tags has no foreign key that leads to people, so no row of it is a caller’s own',
    ],
    [
      ['--people', 'users', '--match', 'email=email', '--public', 'tags', '--signed-in', 'tags'],
      'tags: --signed-in and --public exclude each other',
    ],
    [
      ['--people', 'users', '--match', 'email=email', '--function', 'a b'],
      '--function: expected a name such as current_person, not "a b"',
    ],
    [['--trial-timeout', 'long'], '--trial-timeout: expected seconds from 0 to 3600, not "long"'],
  ])('%j is wrong usage', async (args, message) => {
    await database.sql(lobsters)
    expect(await adopt(args)).toEqual(refused(message, 2))
  })

  test('prompts at a terminal for people, the match and open tables, and changes nothing without yes', async () => {
    await database.sql(lobsters)
    const converse = async (answers: readonly string[]) => {
      const terminal = createTerminal(
        ['adopt', ...commonFlags],
        {
          directory,
          env: { BASALT_DATABASE_URL: database.url, BASALT_AUTH_JWT_SECRET: testSecret },
          input: '',
        },
        true,
      )
      const stdin = Object.assign(new PassThrough(), { isTTY: true })
      const running = main({ ...terminal, stdin: stdin as unknown as NodeJS.ReadStream })
      const questions = [
        'Which table is people?',
        'How is a caller found',
        'every signed-in caller read?',
        'even without a token? (',
        'Apply this',
      ]
      for (const [index, answer] of answers.entries()) {
        await waitFor(questions[index] ?? '', () => terminal.output.stdout.includes(questions[index] ?? ''))
        stdin.write(`${answer}\n`)
      }
      await running
      return terminal.output.stdout
    }
    const refusal = await converse(['', '1', 'tags', '', 'n'])
    expect(refusal).toMatch(/ {2}1 {2}users +4 tables lead to it/)
    expect(refusal).toMatch(/^tags +read all rows, signed in$/m)
    expect(refusal).toMatch(/Nothing is changed/)
    expect(await database.sql('select from pg_policy where polrelid = $1::regclass', ['users'])).toEqual([])
    expect(await converse(['users', 'email=email', '', 'tags', 'yes'])).toMatch(/applied .*_adopt\.sql/)
    expect(
      await database.sql('select polname from pg_policy where polrelid = $1::regclass', ['tags']),
    ).toEqual([{ polname: 'adopt_public' }])
  })

  test('waits for no lock of another session, and says so', async () => {
    await database.sql(lobsters)
    const other = new pg.Client({ connectionString: database.url })
    await other.connect()
    try {
      await other.query('begin; lock table stories in access exclusive mode')
      const { code, stderr } = await adopt([
        ...['--people', 'users', '--match', 'email=email'],
        ...['--project-lock-timeout-ms', '100'],
      ])
      expect([code, stderr]).toEqual([
        1,
        'basalt: the trial failed, and nothing is changed: waited for a lock of another session; try again\n',
      ])
    } finally {
      await other.end()
    }
  })

  test('leaves nothing after a crash between the preparation and the policies', async () => {
    const name = `adopt_${randomUUID().slice(0, 8)}`
    const url = database.url.replace(/[^/]*$/, name)
    await database.sql(`create database ${name} template template0`)
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    try {
      await other.query(lobsters)
      await other.query('begin; lock table taggings in access share mode')
      const running = adopt(
        [
          ...['--people', 'users', '--match', 'email=email', '--trial-timeout', '0', '--yes'],
          ...['--project-lock-timeout-ms', '300000'],
        ],
        { url },
      )
      await waitFor('the statement that enables row-level security to wait', async () => {
        const killed = await database.sql(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = $1 and wait_event_type = 'Lock' and query like 'alter table % enable row level security'`,
          [name],
        )
        return killed.length === 1
      })
      const { code, stderr } = await running
      expect([code, stderr]).toEqual([1, expect.stringMatching(/terminat/)])
      const { rows } = await other.query(`
        select relname from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') and relacl is not null
        union all select nspname from pg_namespace where nspname = 'basalt'
        union all select policy.polname from pg_policy policy`)
      expect(rows).toEqual([])
      await other.query('commit')
      // The same command then does all of it.
      const { stderr: none } = await adopt(
        ['--people', 'users', '--match', 'email=email', '--trial-timeout', '0', '--yes'],
        { url },
      )
      expect(none).toMatch(/pg_dump is not installed/)
      const { rows: secured } = await other.query(`
        select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relrowsecurity`)
      expect(secured).toHaveLength(7)
    } finally {
      await other.end()
      await database.sql(`drop database ${name} with (force)`)
    }
  })

  test('refuses while migrations are pending', async () => {
    await database.sql(lobsters)
    mkdirSync(join(directory, 'migrations'))
    writeFileSync(
      join(directory, 'migrations/20260101000000_todo.sql'),
      'create table todo (id int primary key)',
    )
    const { code, stderr } = await adopt(['--people', 'users', '--match', 'email=email', '--yes'])
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /basalt: migrations are pending: run basalt migrate up first, or remove the files \(20260101000000_todo.sql\)\n$/,
    )
    expect(readFileSync(join(directory, 'migrations/20260101000000_todo.sql'), 'utf8')).toContain('todo')
  })
})
