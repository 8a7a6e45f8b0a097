import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'

let app: TestApp

const session = '5e551000-0000-4000-8000-000000000001'
const guest = 'c0c00000-0000-4000-8000-000000000003'
/** Expression of the user id in a policy. */
const me = "nullif(current_setting('basalt.user_id', true), '')::uuid"

const tokens = {
  noToken: undefined,
  alice: userToken({ sub: alice, email: 'alice@example.com' }),
  aliceAal2: userToken({ sub: alice, email: 'alice@example.com', aal: 'aal2' }),
  bob: userToken({ sub: bob, email: 'bob@example.com' }),
  guest: userToken({ sub: guest, is_anonymous: true }),
}
type CallerName = keyof typeof tokens | 'admin'

const policies = `
create table doc (
  id int primary key,
  owner_id uuid not null default ${me},
  body text,
  is_shared bool not null default false,
  code text unique,
  check (body <> 'forbidden')
);
alter table doc enable row level security;
create policy see on doc for select using (owner_id = ${me} or is_shared);
create policy put on doc for insert
  with check (owner_id = ${me} and current_setting('basalt.is_anonymous', true) = 'false');
create policy change on doc for update using (owner_id = ${me}) with check (owner_id = ${me});
create policy remove on doc for delete using (owner_id = ${me} and current_setting('basalt.aal', true) = 'aal2');
create table comment (id int primary key, doc_id int references doc on delete cascade);

create view claims as
select current_user::text as role,
  current_setting('basalt.user_id', true) as user_id,
  current_setting('basalt.user_email', true) as user_email,
  current_setting('basalt.email_verified', true) as email_verified,
  current_setting('basalt.aal', true) as aal,
  current_setting('basalt.is_anonymous', true) as is_anonymous,
  current_setting('basalt.session_id', true) as session_id;

create table by_claim (id int primary key, claim text, value text);
alter table by_claim enable row level security;
create policy claimed on by_claim using (current_setting('basalt.' || claim, true) = value);
`

const contents = `
truncate doc, comment;
insert into doc (id, owner_id, body, is_shared, code) values
  (1, '${alice}', 'hers', false, 'a'), (2, '${bob}', 'his', false, 'b'), (3, '${bob}', 'shared', true, 'c'),
  (4, '${guest}', 'guest', false, 'd');
insert into comment select id, id from doc;
`

beforeAll(async () => {
  app = await createTestApp({ setup: policies })
})
beforeEach(() => app.sql(contents))
afterAll(() => app[Symbol.asyncDispose]())

async function as(caller: CallerName, method: string, path: string, body?: unknown): Promise<TestResponse> {
  const token = caller === 'admin' ? await app.adminToken() : tokens[caller]
  return app.request(method, `/api/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

function docs() {
  return app.sql('select id, owner_id, body, is_shared, code from doc order by id')
}

const refusals: Readonly<Record<number, object>> = {
  401: {
    code: 401,
    message: 'missing or invalid authorization header',
    error: 'missing_authorization',
  },
  403: {
    code: 403,
    message: 'insufficient permissions',
    error: 'insufficient_permissions',
    data: { hint: 'the record must pass a policy for the write, and one that lets the caller read it back' },
  },
  404: { code: 404, message: 'record not found', error: 'record_not_found' },
}
const denied = { code: 403, message: 'insufficient permissions', error: 'insufficient_permissions' }

const doc1 = { id: 1, owner_id: alice, body: 'hers', is_shared: false, code: 'a' }
const doc2 = { id: 2, owner_id: bob, body: 'his', is_shared: false, code: 'b' }
const doc3 = { id: 3, owner_id: bob, body: 'shared', is_shared: true, code: 'c' }
const doc4 = { id: 4, owner_id: guest, body: 'guest', is_shared: false, code: 'd' }
const made = { id: 9, owner_id: alice, body: 'new', is_shared: false, code: null }

const missing = (index: number, method: string) => ({
  code: 404,
  message: 'record not found: 1',
  error: 'record_not_found',
  operation: { index, method },
})
const changedAndDeleted = [
  { index: 0, status: 200, body: { ...doc1, body: 'changed' } },
  { index: 1, status: 204 },
]
const bothMade = [
  { index: 0, status: 201, body: made },
  { index: 1, status: 201, body: { ...made, id: 10 } },
]

const page = (...items: readonly object[]) => ({
  page: 1,
  perPage: 20,
  totalItems: items.length,
  totalPages: 1,
  items,
})

interface Case {
  readonly what: string
  readonly request: readonly [method: string, path: string, body?: unknown]
  /** Status, or status and body, by caller. */
  readonly answers: Readonly<Record<CallerName, number | readonly [status: number, body: unknown]>>
  /** Records afterwards, for callers who succeed. */
  readonly after?: readonly object[]
}

const matrix: readonly Case[] = [
  {
    what: 'list and count',
    request: ['GET', 'collections/doc'],
    answers: {
      noToken: 401,
      alice: [200, page(doc1, doc3)],
      aliceAal2: [200, page(doc1, doc3)],
      bob: [200, page(doc2, doc3)],
      guest: [200, page(doc3, doc4)],
      admin: [200, page(doc1, doc2, doc3, doc4)],
    },
  },
  {
    what: 'count rows beyond the page',
    request: ['GET', 'collections/doc?perPage=1&fields=id&sort=-id'],
    answers: {
      noToken: 401,
      alice: [200, { page: 1, perPage: 1, totalItems: 2, totalPages: 2, items: [{ id: 3 }] }],
      aliceAal2: [200, { page: 1, perPage: 1, totalItems: 2, totalPages: 2, items: [{ id: 3 }] }],
      bob: [200, { page: 1, perPage: 1, totalItems: 2, totalPages: 2, items: [{ id: 3 }] }],
      guest: [200, { page: 1, perPage: 1, totalItems: 2, totalPages: 2, items: [{ id: 4 }] }],
      admin: [200, { page: 1, perPage: 1, totalItems: 4, totalPages: 4, items: [{ id: 4 }] }],
    },
  },
  {
    what: 'filter for a private row',
    request: ['GET', `collections/doc?filter=${encodeURIComponent("body = 'hers' OR id = 1")}`],
    answers: {
      noToken: 401,
      alice: [200, page(doc1)],
      aliceAal2: [200, page(doc1)],
      bob: [200, { ...page(), totalPages: 0 }],
      guest: [200, { ...page(), totalPages: 0 }],
      admin: [200, page(doc1)],
    },
  },
  {
    what: 'get',
    request: ['GET', 'collections/doc/1'],
    answers: {
      noToken: 401,
      alice: [200, doc1],
      aliceAal2: [200, doc1],
      bob: 404,
      guest: 404,
      admin: [200, doc1],
    },
  },
  {
    what: 'get a shared row',
    request: ['GET', 'collections/doc/3'],
    answers: {
      noToken: 401,
      alice: [200, doc3],
      aliceAal2: [200, doc3],
      bob: [200, doc3],
      guest: [200, doc3],
      admin: [200, doc3],
    },
  },
  {
    what: 'expand',
    request: ['GET', 'collections/comment?expand=doc&filter=id%3C3'],
    answers: {
      noToken: 401,
      alice: [200, page({ id: 1, doc_id: 1, expand: { doc: doc1 } }, { id: 2, doc_id: 2, expand: {} })],
      aliceAal2: [200, page({ id: 1, doc_id: 1, expand: { doc: doc1 } }, { id: 2, doc_id: 2, expand: {} })],
      bob: [200, page({ id: 1, doc_id: 1, expand: {} }, { id: 2, doc_id: 2, expand: { doc: doc2 } })],
      guest: [200, page({ id: 1, doc_id: 1, expand: {} }, { id: 2, doc_id: 2, expand: {} })],
      admin: [
        200,
        page({ id: 1, doc_id: 1, expand: { doc: doc1 } }, { id: 2, doc_id: 2, expand: { doc: doc2 } }),
      ],
    },
  },
  {
    what: 'create with an owner',
    request: ['POST', 'collections/doc', { id: 9, body: 'new', owner_id: alice }],
    answers: {
      noToken: 401,
      alice: [201, made],
      aliceAal2: [201, made],
      bob: 403,
      guest: 403,
      admin: [201, made],
    },
    after: [doc1, doc2, doc3, doc4, made],
  },
  {
    what: 'update',
    request: ['PATCH', 'collections/doc/1', { body: 'changed' }],
    answers: {
      noToken: 401,
      alice: [200, { ...doc1, body: 'changed' }],
      aliceAal2: [200, { ...doc1, body: 'changed' }],
      bob: 404,
      guest: 404,
      admin: [200, { ...doc1, body: 'changed' }],
    },
    after: [{ ...doc1, body: 'changed' }, doc2, doc3, doc4],
  },
  {
    what: 'update a row that is only shared',
    request: ['PATCH', 'collections/doc/3', { body: 'changed' }],
    answers: {
      noToken: 401,
      alice: 404,
      aliceAal2: 404,
      bob: [200, { ...doc3, body: 'changed' }],
      guest: 404,
      admin: [200, { ...doc3, body: 'changed' }],
    },
    after: [doc1, doc2, { ...doc3, body: 'changed' }, doc4],
  },
  {
    what: 'change the owner',
    request: ['PATCH', 'collections/doc/1', { owner_id: bob }],
    answers: {
      noToken: 401,
      alice: 403,
      aliceAal2: 403,
      bob: 404,
      guest: 404,
      admin: [200, { ...doc1, owner_id: bob }],
    },
    after: [{ ...doc1, owner_id: bob }, doc2, doc3, doc4],
  },
  {
    what: 'delete',
    request: ['DELETE', 'collections/doc/1'],
    answers: { noToken: 401, alice: 404, aliceAal2: [204, ''], bob: 404, guest: 404, admin: [204, ''] },
    after: [doc2, doc3, doc4],
  },
  {
    what: 'update and delete in a batch',
    request: [
      'POST',
      'collections/doc/batch',
      {
        operations: [
          { method: 'update', id: 1, body: { body: 'changed' } },
          { method: 'delete', id: 1 },
        ],
      },
    ],
    answers: {
      noToken: 401,
      alice: [404, missing(1, 'delete')],
      aliceAal2: [200, changedAndDeleted],
      bob: [404, missing(0, 'update')],
      guest: [404, missing(0, 'update')],
      admin: [200, changedAndDeleted],
    },
    after: [doc2, doc3, doc4],
  },
  {
    what: 'create in a batch',
    request: [
      'POST',
      'collections/doc/batch',
      {
        operations: [
          { method: 'create', body: { id: 9, body: 'new', owner_id: alice } },
          { method: 'create', body: { id: 10, body: 'new', owner_id: alice } },
        ],
      },
    ],
    answers: {
      noToken: 401,
      alice: [200, bothMade],
      aliceAal2: [200, bothMade],
      bob: [403, { ...refusals[403], operation: { index: 0, method: 'create' } }],
      guest: [403, { ...refusals[403], operation: { index: 0, method: 'create' } }],
      admin: [200, bothMade],
    },
    after: [doc1, doc2, doc3, doc4, made, { ...made, id: 10 }],
  },
]

function read(response: TestResponse): unknown {
  if (response.text === '') return ''
  return response.status < 300 ? response.json : envelope(response)
}

describe('row-level security by caller', () => {
  const callers: readonly CallerName[] = ['noToken', 'alice', 'aliceAal2', 'bob', 'guest', 'admin']

  test.each(matrix.flatMap((row) => callers.map((caller) => [row.what, caller, row] as const)))(
    '%s: %s',
    async (_what, caller, { request, answers, after }) => {
      const before = await docs()
      const answer = answers[caller]
      const [status, body] = typeof answer === 'number' ? [answer, refusals[answer]] : answer
      const response = await as(caller, ...request)
      expect(response.status, response.text).toBe(status)
      expect(read(response)).toEqual(body)
      expect(await docs()).toEqual(status < 300 && after !== undefined ? after : before)
    },
  )
})

describe('claims of the caller in policies', () => {
  async function claimsOf(token: string) {
    const response = await app.request('GET', '/api/collections/claims', { token })
    expect(response.status, response.text).toBe(200)
    return response.json.items
  }

  test('are those of the token', async () => {
    expect(
      await claimsOf(userToken({ sub: alice, email: 'a@example.com', aal: 'aal2', sid: session })),
    ).toEqual([
      {
        role: 'basalt_authenticated',
        user_id: alice,
        user_email: 'a@example.com',
        email_verified: 'false',
        aal: 'aal2',
        is_anonymous: 'false',
        session_id: session,
      },
    ])
    expect(await claimsOf(tokens.guest)).toEqual([
      {
        role: 'basalt_authenticated',
        user_id: guest,
        user_email: '',
        email_verified: 'false',
        aal: 'aal1',
        is_anonymous: 'true',
        session_id: '',
      },
    ])
  })

  test.each([
    ['user_id', alice, { sub: alice }],
    ['user_email', 'a@example.com', { sub: bob, email: 'a@example.com' }],
    ['email_verified', 'true', { sub: bob, email_verified: true }],
    ['aal', 'aal2', { sub: bob, aal: 'aal2' }],
    ['is_anonymous', 'true', { sub: bob, is_anonymous: true }],
    ['session_id', session, { sub: bob, sid: session }],
  ] as const)('decide by basalt.%s', async (claim, value, claims) => {
    await app.sql('truncate by_claim')
    await app.sql('insert into by_claim values (1, $1, $2), (2, $1, $3)', [claim, value, `${value} not`])
    const list = async (token: string) =>
      (await app.request('GET', '/api/collections/by_claim?fields=id', { token })).json.items
    expect(await list(userToken(claims))).toEqual([{ id: 1 }])
    expect(
      await list(userToken({ sub: randomUUID(), email: 'else@example.com', sid: randomUUID() })),
    ).toEqual([])
  })

  test('are returned by the functions of the schema basalt, with their types', async () => {
    await app.sql(`
      create or replace view answers as select basalt.user_id() as user_id, basalt.user_email() as user_email,
        basalt.email_verified() as email_verified, basalt.aal() as aal, basalt.is_anonymous() as is_anonymous,
        basalt.session_id() as session_id, basalt.claims() as claims,
        pg_typeof(basalt.user_id())::text || ' ' || pg_typeof(basalt.email_verified()) || ' ' ||
        pg_typeof(basalt.session_id()) as types;
      grant select on answers to basalt_authenticated`)
    const answers = async (token: string) => {
      await expect
        .poll(async () => (await app.request('GET', '/api/collections/answers', { token })).status)
        .toBe(200)
      return (await app.request('GET', '/api/collections/answers', { token })).json.items
    }
    const types = 'uuid boolean uuid'
    const whole = {
      sub: alice,
      email: 'a@example.com',
      email_verified: true,
      aal: 'aal2',
      sid: session,
    } as const
    expect(await answers(userToken(whole))).toEqual([
      {
        user_id: alice,
        user_email: 'a@example.com',
        email_verified: true,
        aal: 'aal2',
        is_anonymous: false,
        session_id: session,
        claims: { ...whole, is_anonymous: false },
        types,
      },
    ])
    expect(await answers(tokens.guest)).toMatchObject([
      {
        user_id: guest,
        user_email: null,
        email_verified: false,
        is_anonymous: true,
        session_id: null,
        types,
      },
    ])
    const noCaller = {
      user_id: null,
      user_email: null,
      email_verified: null,
      aal: null,
      is_anonymous: null,
      session_id: null,
      claims: null,
      types,
    }
    expect(await answers(await app.adminToken())).toEqual([noCaller])
    // On a connection that served a caller, the setting is '' rather than null.
    expect(await answers(await app.adminToken())).toEqual([noCaller])
  })

  test('decide by the functions without a call for each row', async () => {
    await app.sql(`
      create table if not exists indexed (id int primary key, owner_id uuid not null, address text);
      create index if not exists indexed_owner on indexed (owner_id);
      insert into indexed select i, gen_random_uuid() from generate_series(1, 2000) i on conflict do nothing;
      alter table indexed enable row level security;
      drop policy if exists own on indexed;
      create policy own on indexed using (owner_id = basalt.user_id());
      drop policy if exists addressed on indexed;
      create policy addressed on indexed as restrictive using (address = (select basalt.user_email()));
      grant select on indexed to basalt_authenticated;
      create or replace function plan_of(statement text) returns table (line text) language plpgsql as $$
        begin for line in execute 'explain (costs off) ' || statement loop return next; end loop; end $$;
      analyze indexed`)
    const body = { statement: 'select id from indexed' }
    const { json } = await app.request('POST', '/api/rpc/plan_of', { token: tokens.alice, body })
    const plan = json.map(({ line }: { line: string }) => line.trim())
    // The function is inlined to an expression that an index supports. In a subquery it is called once, before the
    // rows.
    expect(plan).toContain(
      "Index Cond: (owner_id = (NULLIF(current_setting('basalt.user_id'::text, true), ''::text))::uuid)",
    )
    expect(plan.some((line: string) => line.startsWith('InitPlan 1'))).toBe(true)
  })

  test('decide by the functions, which callers may use in their own functions too', async () => {
    await app.sql(`
      create table if not exists memo (id int primary key, owner_id uuid default basalt.user_id(), address text);
      create or replace function mine(uuid) returns bool language plpgsql stable as
        'begin return $1 = basalt.user_id(); end';
      alter table memo enable row level security;
      drop policy if exists own on memo;
      drop policy if exists addressed on memo;
      create policy own on memo using (mine(owner_id));
      create policy addressed on memo for select
        using (basalt.email_verified() and address = basalt.user_email());
      grant all on memo to basalt_authenticated`)
    const ids = async (token: string) => {
      const response = await app.request('GET', '/api/collections/memo?fields=id', { token })
      expect(response.status, response.text).toBe(200)
      return response.json.items.map(({ id }: { id: number }) => id)
    }
    const address = 'a@example.com'
    const token = userToken({ sub: alice, email: address })
    await expect
      .poll(async () => (await app.request('GET', '/api/collections/memo', { token })).status)
      .toBe(200)
    const made = await app.request('POST', '/api/collections/memo', { token, body: { id: 1 } })
    expect(made.json).toMatchObject({ id: 1, owner_id: alice })
    await app.sql(`insert into memo values (2, '${bob}', '${address}')`)
    expect(await ids(token)).toEqual([1])
    expect(await ids(userToken({ sub: alice, email: address, email_verified: true }))).toEqual([1, 2])
    expect(await ids(userToken({ sub: guest, email: address }))).toEqual([])
  })

  test.each([
    String.raw`o'x"\;--@example.com`,
    "'; set role postgres; --@example.com",
    '$1 %s {0} \\x27',
    'Ünïcödé 😀 \u202e \ufeff ﷽@example.com',
    ' \t\r\n',
    "E'\\u0027'",
    'x'.repeat(1024),
  ])('are used verbatim: %j', async (email) => {
    expect(await claimsOf(userToken({ sub: alice, email }))).toMatchObject([
      { role: 'basalt_authenticated', user_id: alice, user_email: email },
    ])
    await app.sql('truncate by_claim')
    await app.sql("insert into by_claim values (1, 'user_email', $1), (2, 'user_email', $2)", [
      email,
      `${email}.`,
    ])
    const response = await app.request('GET', '/api/collections/by_claim', {
      token: userToken({ sub: alice, email }),
    })
    expect(response.json.items).toEqual([{ id: 1, claim: 'user_email', value: email }])
  })

  test.each(['a\0b', 'x'.repeat(1025)])('cannot be a value that no setting can hold: %j', async (email) => {
    const response = await app.request('GET', '/api/collections/claims', {
      token: userToken({ sub: alice, email }),
    })
    expect(envelope(response)).toEqual({
      code: 401,
      message: 'invalid or expired token',
      error: 'invalid_token',
    })
  })

  test('are empty for the administrator', async () => {
    const { role, ...claims } = (await as('admin', 'GET', 'collections/claims')).json.items[0]
    expect(role).toBe('basalt_administrator')
    for (const value of Object.values(claims)) expect([null, '']).toContain(value)
  })
})

describe('errors under row-level security', () => {
  test('disclose nothing of hidden records', async () => {
    const taken = await as('alice', 'POST', 'collections/doc', { id: 9, code: 'b' })
    expect(envelope(taken)).toEqual({
      code: 409,
      message: 'unique constraint violation',
      error: 'unique_violation',
      data: {
        doc_code_key: {
          code: 'unique_violation',
          message: 'duplicate key value violates unique constraint "doc_code_key"',
        },
      },
    })
    const forbidden = await as('alice', 'PATCH', 'collections/doc/1', { body: 'forbidden' })
    expect(envelope(forbidden)).toEqual({
      code: 400,
      message: 'check constraint violation',
      error: 'check_violation',
      data: {
        doc_body_check: {
          code: 'check_violation',
          message: 'new row for relation "doc" violates check constraint "doc_body_check"',
        },
      },
    })
  })
})

describe('policies', () => {
  async function ids(caller: CallerName, path: string): Promise<number[]> {
    const response = await as(caller, 'GET', `collections/${path}`)
    expect(response.status, response.text).toBe(200)
    expect(response.json.totalItems).toBe(response.json.items.length)
    return response.json.items.map(({ id }: { id: number }) => id)
  }

  test('restrict by restrictive ones what permissive ones allow', async () => {
    await app.sql(`
      create table narrow (id int primary key, owner_id uuid, open bool);
      alter table narrow enable row level security;
      create policy wide on narrow using (true);
      create policy open_only on narrow as restrictive using (open) with check (owner_id = ${me});
      insert into narrow values (1, '${alice}', true), (2, '${alice}', false), (3, '${bob}', true)`)
    expect(await ids('alice', 'narrow')).toEqual([1, 3])
    expect(await ids('admin', 'narrow')).toEqual([1, 2, 3])
    expect((await as('alice', 'PATCH', 'collections/narrow/2', { open: true })).status).toBe(404)
    expect((await as('alice', 'PATCH', 'collections/narrow/3', { open: true })).status).toBe(403)
    expect((await as('alice', 'PATCH', 'collections/narrow/1', { open: true })).status).toBe(200)
  })

  test('allow nothing when there are none', async () => {
    await app.sql(`
      create table shut (id int primary key);
      alter table shut enable row level security;
      insert into shut values (1)`)
    expect(await ids('alice', 'shut')).toEqual([])
    expect(await ids('admin', 'shut')).toEqual([1])
    expect(envelope(await as('alice', 'POST', 'collections/shut', { id: 2 }))).toEqual(refusals[403])
    expect((await as('alice', 'DELETE', 'collections/shut/1')).status).toBe(404)
  })

  test('for another role do not help', async () => {
    await app.sql(`
      create table elsewhere (id int primary key);
      alter table elsewhere enable row level security;
      create policy pg on elsewhere to pg_monitor using (true);
      insert into elsewhere values (1)`)
    expect(await ids('alice', 'elsewhere')).toEqual([])
  })

  test('may call functions that read hidden tables', async () => {
    await app.sql(`
      create table team (id int primary key, user_id uuid);
      revoke all on team from basalt_authenticated;
      create function is_member() returns bool language sql stable security definer
        begin atomic select exists (select from team where user_id = ${me}); end;
      create table plan (id int primary key);
      alter table plan enable row level security;
      create policy members on plan using (is_member());
      insert into team values (1, '${alice}');
      insert into plan values (1), (2)`)
    expect(await ids('alice', 'plan')).toEqual([1, 2])
    expect(await ids('bob', 'plan')).toEqual([])
    expect((await as('bob', 'POST', 'collections/plan', { id: 3 })).status).toBe(403)
    expect((await as('alice', 'POST', 'collections/plan', { id: 3 })).status).toBe(201)
    expect(envelope(await as('alice', 'GET', 'collections/team'))).toEqual(denied)
  })

  test('hold through a batch when they read the table again', async () => {
    await app.sql(`
      create table ticket (id int primary key, owner_id uuid default ${me});
      alter table ticket enable row level security;
      create policy see on ticket for select using (owner_id = ${me});
      create policy at_most_two on ticket for insert
        with check ((select count(*) from ticket t where t.owner_id = ${me}) < 2)`)
    const create = (...ids: readonly number[]) =>
      as('alice', 'POST', 'collections/ticket/batch', {
        operations: ids.map((id) => ({ method: 'create', body: { id } })),
      })
    expect(envelope(await create(1, 2, 3, 4))).toEqual({
      ...refusals[403],
      operation: { index: 2, method: 'create' },
    })
    expect(await ids('alice', 'ticket')).toEqual([])
    expect((await create(1, 2)).status).toBe(200)
    expect((await create(3)).status).toBe(403)
  })

  test('do not let a record be read back when they are for writing alone', async () => {
    await app.sql(`
      create table drop_box (id int primary key, body text);
      alter table drop_box enable row level security;
      create policy put on drop_box for insert with check (true);
      create policy change on drop_box for update using (true)`)
    expect(envelope(await as('alice', 'POST', 'collections/drop_box', { id: 1 }))).toEqual(refusals[403])
    const batched = await as('alice', 'POST', 'collections/drop_box/batch', {
      operations: [{ method: 'create', body: { id: 1 } }],
    })
    expect(envelope(batched)).toEqual({ ...refusals[403], operation: { index: 0, method: 'create' } })
    expect(await app.sql('select * from drop_box')).toEqual([])
    await app.sql('insert into drop_box values (1)')
    expect((await as('alice', 'PATCH', 'collections/drop_box/1', { body: 'x' })).status).toBe(404)
  })

  test('are faults of the definition when they fail', async () => {
    await app.sql(`
      create table fraction (id int primary key);
      alter table fraction enable row level security;
      create policy whole on fraction using (1 / id > 0);
      insert into fraction values (0)`)
    expect(envelope(await as('alice', 'GET', 'collections/fraction'))).toMatchObject({
      code: 500,
      error: 'database_definition_error',
      data: { sqlState: '22012', relation: 'fraction' },
    })
  })
})

describe('views under row-level security', () => {
  test('return the rows of their owner, or of the caller with security_invoker', async () => {
    await app.sql(`
      create view all_docs as select id, owner_id from doc;
      create view own_docs with (security_invoker) as select id, owner_id from doc`)
    const seen = async (caller: CallerName, view: string) =>
      (await as(caller, 'GET', `collections/${view}?sort=id`)).json.items.map(({ id }: { id: number }) => id)
    expect(await seen('alice', 'all_docs')).toEqual([1, 2, 3, 4])
    expect(await seen('alice', 'own_docs')).toEqual([1, 3])
    expect(await seen('bob', 'own_docs')).toEqual([2, 3])
    expect(await seen('admin', 'own_docs')).toEqual([1, 2, 3, 4])
  })
})

describe('grants', () => {
  beforeAll(async () => {
    await app.sql(`
      create table staff (id int primary key, name text, salary int, notes text default 'none');
      create table ledger (id int primary key);
      create table reading (id int primary key, body text);
      create table badge (id int primary key, staff_id int references staff);
      insert into staff values (1, 'Ada', 10), (2, 'Ben', 20);
      insert into ledger values (1);
      insert into reading values (1, 'x');
      insert into badge values (1, 1)`)
    // Granted when the tables were created.
    await app.sql(`
      revoke all on staff, ledger, reading from basalt_authenticated;
      grant select (id, name), insert (id, name, salary), update (name) on staff to basalt_authenticated;
      grant select on reading to basalt_authenticated`)
    await app.app.catalog.refresh()
  })

  const refused403 = {
    ...denied,
    data: { hint: expect.stringMatching(/^the role of the caller lacks a privilege/) },
  }

  test.each<readonly [string, string, string, unknown, object]>([
    ['a hidden column in fields', 'GET', 'staff?fields=id,salary', undefined, denied],
    ['a hidden column in the filter', 'GET', 'staff?filter=salary%3D10', undefined, denied],
    ['a hidden column in the sort', 'GET', 'staff?sort=salary', undefined, denied],
    ['a hidden column in the fields of a record', 'GET', 'staff/1?fields=salary', undefined, denied],
    ['an update of a column that may only be read', 'PATCH', 'staff/1', { id: 5 }, refused403],
    ['an update of a hidden column', 'PATCH', 'staff/1', { salary: 5 }, refused403],
    ['an update of both kinds', 'PATCH', 'staff/1', { name: 'x', salary: 5 }, refused403],
    ['a create with a column that may not be written', 'POST', 'staff', { id: 3, notes: 'x' }, refused403],
    ['a delete', 'DELETE', 'staff/1', undefined, denied],
    ['a list of a table without rights', 'GET', 'ledger', undefined, denied],
    ['an estimate of a table without rights', 'GET', 'ledger?total=estimated', undefined, denied],
    ['a page by cursor of a table without rights', 'GET', 'ledger?cursor=', undefined, denied],
    ['a record of a table without rights', 'GET', 'ledger/1', undefined, denied],
    ['an update of a table without rights', 'PATCH', 'ledger/1', { id: 2 }, refused403],
    ['a create in a table without rights', 'POST', 'ledger', { id: 2 }, refused403],
    ['a delete in a table without rights', 'DELETE', 'ledger/1', undefined, denied],
    ['a create where only reading is granted', 'POST', 'reading', { id: 2 }, refused403],
    ['an update where only reading is granted', 'PATCH', 'reading/1', { body: 'y' }, refused403],
    ['a delete where only reading is granted', 'DELETE', 'reading/1', undefined, denied],
  ])('reject %s', async (_what, method, path, body, expected) => {
    const response = await as('alice', method, `collections/${path}`, body)
    expect(envelope(response)).toEqual(expected)
    expect(response.status).toBe(403)
  })

  test('reject the same in a batch, and name the operation', async () => {
    const operations = [
      { method: 'update', id: 1, body: { name: 'changed' } },
      { method: 'update', id: 1, body: { salary: 1 } },
    ]
    expect(envelope(await as('alice', 'POST', 'collections/staff/batch', { operations }))).toEqual({
      ...refused403,
      operation: { index: 1, method: 'update' },
    })
    expect(await app.sql('select name, salary from staff where id = 1')).toEqual([
      { name: 'Ada', salary: 10 },
    ])
  })

  test('allow the columns that they name', async () => {
    expect((await as('alice', 'GET', 'collections/staff')).json).toEqual(
      page({ id: 1, name: 'Ada' }, { id: 2, name: 'Ben' }),
    )
    expect((await as('alice', 'GET', 'collections/badge/1?expand=staff')).json).toEqual({
      id: 1,
      staff_id: 1,
      expand: { staff: { id: 1, name: 'Ada' } },
    })
    const created = await as('alice', 'POST', 'collections/staff', { id: 3, name: 'Cid', salary: 30 })
    expect([created.status, created.json]).toEqual([201, { id: 3, name: 'Cid' }])
    const changed = await as('alice', 'PATCH', 'collections/staff/3', { name: 'Sid' })
    expect([changed.status, changed.json]).toEqual([200, { id: 3, name: 'Sid' }])
    expect(await app.sql('delete from staff where id = 3 returning *')).toEqual([
      { id: 3, name: 'Sid', salary: 30, notes: 'none' },
    ])
  })

  test('appear in the schema document for callers, but not for the administrator', async () => {
    const { tables } = (await as('alice', 'GET', 'schema')).json
    expect(Object.keys(tables)).not.toContain('public.ledger')
    expect(tables['public.staff'].columns.map(({ name }: { name: string }) => name)).toEqual(['id', 'name'])
    expect(tables['public.doc']).not.toHaveProperty('rlsPolicies')
    const whole = (await as('admin', 'GET', 'schema')).json.tables
    expect(Object.keys(whole)).toContain('public.ledger')
    expect(whole['public.staff'].columns).toHaveLength(4)
    expect(whole['public.doc'].rlsPolicies.map(({ name }: { name: string }) => name).toSorted()).toEqual([
      'change',
      'put',
      'remove',
      'see',
    ])
  })

  test('stay revoked when the server restarts', async () => {
    await using again = await createTestApp({ database: app.database })
    const response = await again.request('GET', '/api/collections/ledger', { token: tokens.alice })
    expect(envelope(response)).toEqual(denied)
    expect((await again.request('GET', '/api/collections/reading', { token: tokens.alice })).status).toBe(200)
  })

  test('never cover the tables of the server itself', async () => {
    await app.sql('create view peek with (security_invoker) as select key from basalt.settings')
    expect(envelope(await as('alice', 'GET', 'collections/peek'))).toEqual(denied)
    expect((await as('alice', 'GET', 'collections/basalt.settings')).status).toBe(404)
    // Callers read and write files of users under policies (see the guide to files).
    expect(
      await app.sql(`select relname as open, relrowsecurity as "hasPolicies" from pg_class
        where relnamespace = 'basalt'::regnamespace and relkind in ('r', 'v', 'S')
          and has_table_privilege('basalt_authenticated', oid, 'select, insert, update, delete, truncate')`),
    ).toEqual([{ open: 'objects', hasPolicies: true }])
  })

  test('take effect at once when they are revoked while the server runs', async () => {
    await app.sql('create table moody (id int primary key); insert into moody values (1)')
    expect((await as('alice', 'GET', 'collections/moody/1')).status).toBe(200)
    await app.sql('revoke select on moody from basalt_authenticated')
    expect(envelope(await as('alice', 'GET', 'collections/moody/1'))).toEqual(denied)
    await app.sql(
      'grant select on moody to basalt_authenticated; alter table moody enable row level security',
    )
    expect((await as('alice', 'GET', 'collections/moody/1')).status).toBe(404)
  })
})

test('row-level security › each of many concurrent callers reads its own rows, on shared connections', async () => {
  await using shared = await createTestApp({
    config: { 'database.max_conns': '4' },
    setup: `${policies}
      create table note (
        id bigint generated by default as identity primary key,
        owner_id uuid not null default ${me},
        body text not null unique
      );
      alter table note enable row level security;
      create policy own on note using (owner_id = ${me})`,
  })
  const users = Array.from({ length: 25 }, (_, index) => {
    const sub = randomUUID()
    return {
      sub,
      token: userToken({ sub, email: `user${index}@example.com`, aal: index % 2 === 0 ? 'aal1' : 'aal2' }),
    }
  })
  await shared.sql(
    `insert into note (owner_id, body)
    select u::uuid, u || n from unnest($1::text[]) u, generate_series(1, 3) n`,
    [users.map(({ sub }) => sub)],
  )
  const admin = await shared.adminToken()
  const send = (token: string, method: string, path: string, body?: unknown) =>
    shared.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })

  /** Requests of a user, in an order of its own; every response must be about that user. */
  const actions: readonly ((user: (typeof users)[number], round: number) => Promise<void>)[] = [
    async ({ sub, token }) => {
      const [claims] = (await send(token, 'GET', 'claims')).json.items
      expect(claims).toMatchObject({ role: 'basalt_authenticated', user_id: sub })
    },
    async ({ sub, token }) => {
      const { items, totalItems } = (await send(token, 'GET', 'note?perPage=500')).json
      expect(items.length).toBe(totalItems)
      expect(items.length).toBeGreaterThanOrEqual(3)
      expect(new Set(items.map((item: { owner_id: string }) => item.owner_id))).toEqual(new Set([sub]))
    },
    async ({ token }) => {
      expect((await send(token, 'GET', `note?filter=${encodeURIComponent("id = 'x'")}`)).status).toBe(400)
    },
    async ({ sub, token }, round) => {
      const body = `${sub} round ${round}`
      expect((await send(token, 'POST', 'note', { body })).json).toMatchObject({ owner_id: sub, body })
      expect((await send(token, 'POST', 'note', { body })).status).toBe(409)
    },
    async ({ token }) => {
      const other = await send(admin, 'GET', 'note?perPage=1&fields=id,owner_id')
      expect(other.json.totalItems).toBeGreaterThanOrEqual(75)
      const [claims] = (await send(admin, 'GET', 'claims')).json.items
      expect([null, '']).toContain(claims.user_id)
      expect((await send(token, 'POST', 'note', { body: 'x', owner_id: alice })).status).toBe(403)
    },
    async ({ sub, token }) => {
      const { json } = await send(token, 'POST', 'note/batch', {
        operations: [1, 2].map(() => ({ method: 'create', body: { body: randomUUID() } })),
      })
      expect(json.map(({ body }: { body: { owner_id: string } }) => body.owner_id)).toEqual([sub, sub])
    },
  ]
  const rounds = 3
  await Promise.all(
    users.flatMap((user, index) =>
      Array.from({ length: rounds }, async (_, round) => {
        for (const step of actions.keys())
          await actions[(step + index + round) % actions.length]?.(user, round)
      }),
    ),
  )
  const [counted] = await shared.sql(
    'select count(*)::int as count, count(distinct owner_id)::int as owners from note',
  )
  expect(counted).toEqual({ count: users.length * (3 + rounds * 3), owners: users.length })
})

test('row-level security › administrators read every row where policies apply to the login role', async () => {
  const role = `login_${randomUUID().replaceAll('-', '')}`
  const cluster = inject('clusterUrl')
  const superuser = new pg.Client({ connectionString: `${cluster}/postgres` })
  await superuser.connect()
  const database = await createTestDatabase()
  try {
    await database.sql(`
      create role ${role} login password 'secret';
      grant basalt_authenticated to ${role};
      alter schema public owner to ${role};
      alter schema basalt owner to ${role};
      do $$ declare t record; begin
        for t in
          select oid::regclass as name from pg_class
          where relnamespace = 'basalt'::regnamespace and relkind in ('r', 'p', 'v')
        loop
          execute format('alter table %s owner to ${role}', t.name);
        end loop;
        for t in
          select oid::regprocedure as name from pg_proc where pronamespace = 'basalt'::regnamespace
        loop
          execute format('alter routine %s owner to ${role}', t.name);
        end loop;
      end $$;
      set role ${role};
      create table doc (id int primary key, owner_id uuid);
      alter table doc enable row level security;
      create policy own on doc using (owner_id = ${me});
      create table forced (id int primary key, owner_id uuid);
      alter table forced enable row level security, force row level security;
      create policy own on forced using (owner_id = ${me});
      grant select, insert, update, delete on doc, forced to basalt_authenticated;
      insert into doc values (1, '${alice}'), (2, '${bob}');
      reset role;
      insert into forced values (1, '${alice}'), (2, '${bob}')`)
    const url = new URL(database.url)
    url.username = role
    url.password = 'secret'
    await using plain = await createTestApp({ config: { 'database.url': url.href }, database })
    const send = (token: string | undefined, method: string, path: string, body?: unknown) =>
      plain.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
    const admin = await plain.adminToken()
    const idsOf = async (token: string | undefined, path: string) =>
      (await send(token, 'GET', path)).json.items.map(({ id }: { id: number }) => id)
    expect(await idsOf(tokens.alice, 'doc')).toEqual([1])
    expect(await idsOf(tokens.alice, 'forced')).toEqual([1])
    expect(await idsOf(admin, 'doc')).toEqual([1, 2])
    // Its policies apply to the login role, and not to the role of administrators.
    expect(await idsOf(admin, 'forced')).toEqual([1, 2])
    expect((await send(admin, 'PATCH', 'forced/1', { owner_id: bob })).status).toBe(200)
  } finally {
    await database[Symbol.asyncDispose]()
    await superuser.query(`drop role if exists ${role}`)
    await superuser.end()
  }
})

test('row-level security › every caller reads everything while auth is off', async () => {
  await using open = await createTestApp({ setup: policies + contents, config: { 'auth.enabled': 'false' } })
  const response = await open.request('GET', '/api/collections/doc')
  expect(response.json).toEqual(page(doc1, doc2, doc3, doc4))
  const claims = await open.request('GET', '/api/collections/claims')
  expect(claims.json.items[0].role).toBe('basalt_administrator')
})
