import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { type EmbeddingProvider, startEmbeddingProvider } from '../../../../../test/embedding-provider.ts'
import { openEventStream } from '../../../../../test/event-stream.ts'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionEngine,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'

/**
 * Every way to read, for every kind of caller, in two states of the database. The states differ only in data that
 * policies and column privileges hide: rows of `carol`, and the column `secret` of each table. A caller who may not
 * read them gets the same response in both, to the byte. An administrator does not, which shows that the request
 * reads hidden data.
 */

const carol = 'ca801000-0000-4000-8000-000000000003'

const setup = `
  create extension pg_trgm;
  create table dept (id int primary key, name text not null, budget int, owner uuid, secret text);
  create table doc (
    id int primary key, owner uuid default basalt.user_id(), dept_id int references dept, kind text,
    title text not null, amount int, tags text[], extra jsonb, during int4range, code text unique,
    secret text default 'quagga', secret_amount int default 777001, secret_tags text[] default '{quagga}',
    secret_extra jsonb default '{"k": "quagga"}', secret_raw json default '1'
  );
  create table plain (id int primary key, doc_id int references doc, note text);
  create table part_seen (id int primary key, shown int check (shown < 100), secret text default 'quagga');
  insert into part_seen values (1, 1);
  insert into dept (id, name, budget, owner, secret) values
    (1, 'wombats', 10, '${alice}', 'quagga'), (2, 'narwhals', 20, '${bob}', 'quagga'), (3, 'everyone', 30, null, 'quagga'),
    (4, 'zebrines', 666001, '${carol}', 'quagga');
  insert into doc (id, owner, dept_id, kind, title, amount, tags, extra, during, code) values
    (1, '${alice}', 1, 'note', 'wombat one', 11, '{a,x}', '{"k": "wombat"}', '[1,5)', 'wombat-1'),
    (2, '${alice}', 4, 'memo', 'wombat two', 12, '{b}', '{"k": 2}', '[2,6)', 'wombat-2'),
    (3, '${bob}', 2, 'note', 'narwhal one', 21, '{a,y}', '{"k": "narwhal"}', '[1,9)', 'narwhal-1'),
    (4, '${bob}', 4, 'memo', 'narwhal two', 22, '{c}', '{"k": 4}', null, 'narwhal-2'),
    (5, null, 3, 'note', 'public one', 31, '{a,z}', '{"k": "public"}', '[0,3)', 'public-1'),
    (6, null, 4, 'memo', 'public two', 32, '{d}', '{"k": 6}', '[7,8)', 'public-2');
  insert into plain values (1, 1, 'to one'), (2, 3, 'to three'), (3, 5, 'to five'), (4, 2, 'to two');
  alter table dept enable row level security;
  alter table doc enable row level security;
  create policy see on dept for select using (owner is null or owner = basalt.user_id());
  create policy see on doc for select using (owner is null or owner = basalt.user_id());
  create policy add on doc for insert with check (owner = basalt.user_id());
  create policy change on doc for update using (owner = basalt.user_id());
  create policy remove on doc for delete using (owner = basalt.user_id());
  create function docs() returns table (id int, title text, amount int)
    language sql stable as 'select id, title, amount from doc';
  create function doc_total() returns bigint language sql stable as 'select sum(amount) from doc';
  create function doc_secrets() returns setof text language sql stable as 'select secret from doc';
  create view doc_view with (security_invoker) as select id, title, amount from doc;
  create index on doc (amount);
  analyze;`

/** Grants of the start that are revoked after it. */
const grants = `
  revoke all on doc, dept from basalt_authenticated;
  grant select (id, owner, dept_id, kind, title, amount, tags, extra, during, code) on doc
    to basalt_authenticated, basalt_anonymous;
  grant insert, update, delete on doc to basalt_authenticated;
  grant select (id, name, budget, owner) on dept to basalt_authenticated, basalt_anonymous;
  revoke all on part_seen from basalt_authenticated;
  grant select (id, shown), insert, update (shown) on part_seen to basalt_authenticated;
  grant select on plain, doc_view to basalt_anonymous;
  grant execute on function docs(), doc_total(), doc_secrets() to basalt_anonymous;`

/** Rows of carol, who is none of the callers. */
const hiddenRows = `
  insert into doc (id, owner, dept_id, kind, title, amount, tags, extra, during, code)
  select 666000 + n, '${carol}', n % 4 + 1, case when n % 2 = 0 then 'note' else 'zebrine' end,
    'zebrine one wombat narwhal public ' || n, 666000 + n, '{a,zebrine}', '{"k": "zebrine"}', '[1,666666)', 'zebrine-' || n
  from generate_series(1, 40) n;
  insert into plain select 666000 + n, 666000 + n, null from generate_series(1, 3) n`

/** Statements that give the same database to all but administrators. */
const otherHidden = `
  delete from plain where id > 666000;
  delete from doc where owner = '${carol}';
  update dept set name = 'x', budget = 1, secret = 'y' where id = 4;
  update dept set secret = 'z';
  update doc set secret = 'other', secret_amount = 5, secret_tags = '{}', secret_extra = '[]';`

type Kind = 'alice' | 'bob' | 'anonymous' | 'key' | 'admin'

/** Patterns of the words in rows that a caller may not read. */
const foreign: Readonly<Record<Exclude<Kind, 'admin'>, RegExp>> = {
  alice: /zebrine|quagga|666\d\d\d|777\d\d\d|narwhal/i,
  key: /zebrine|quagga|666\d\d\d|777\d\d\d|narwhal/i,
  bob: /zebrine|quagga|666\d\d\d|777\d\d\d|wombat/i,
  anonymous: /zebrine|quagga|666\d\d\d|777\d\d\d|wombat|narwhal/i,
}
const callers = ['alice', 'bob', 'anonymous', 'key'] as const

/** Requests that read hidden rows with readable columns: of `doc` alone, and of related tables. */
const ofDoc = [
  'doc',
  'doc?skipTotal=true',
  'doc?perPage=1&page=2',
  'doc?cursor=&perPage=2&sort=-amount',
  'doc?cursor=&perPage=2&search=one',
  'doc?sort=title',
  'doc?sort=-amount,kind&fields=id,amount',
  'doc/666002',
  'doc/666002?fields=id',
  'doc?filter=amount > 40',
  'doc?filter=amount BETWEEN 1 AND 900000',
  "doc?filter=title ~* '%ZEB%'",
  "doc?filter=title !~* 'WOMBAT%'",
  "doc?filter=NOT kind = 'memo'",
  "doc?filter=tags CONTAINS 'a'",
  "doc?filter=tags OVERLAPS ('b', 'a')",
  "doc?filter=extra->>'k' = 'zebrine' OR id = 1",
  "doc?filter=extra->'k' != 6",
  "doc?filter=during OVERLAPS '[1,2)'",
  "doc?filter=title MATCHES 'one'",
  'doc?search=one',
  'doc?search="one wombat"',
  'doc?search=zebrine',
  'doc?search=one -public',
  'doc?search=one&highlight=true',
  'doc?search=zebrin&fuzzy=true&typo_threshold=0.1',
  'doc?search=on&fuzzy=true&highlight=true&typo_threshold=0.1',
  'doc?search=one&sort=-id',
  'doc?facets=kind,amount,code&perPage=1',
  "doc?facets=kind,amount&filter=kind = 'note'&perPage=1",
  "doc?facets=kind,amount&disjunctiveFacets=kind&filter=kind = 'note'&perPage=1",
  'doc?facets=kind&search=one&perPage=1',
  'doc/facets/kind/search',
  'doc/facets/kind/search?q=z',
  'doc/facets/title/search?search=one',
  'doc?aggregate=count,sum(amount),avg(amount),min(amount),max(amount),count_distinct(kind)',
  'doc?aggregate=max(title),count(code)',
  'doc?aggregate=count,max(id)&group=kind&groupSort=-count',
  'doc?aggregate=count&group=kind,dept_id&search=one',
  ...['csv', 'json', 'ndjson'].flatMap((format) => [
    `doc/export.${format}`,
    `doc/export.${format}?search=one&fields=id,title&sort=-amount`,
  ]),
] as const

const besideDoc = [
  "doc?filter=dept.name = 'zebrines'",
  'doc?filter=dept.budget > 0',
  'doc?filter=NOT dept.budget > 100',
  'doc?expand=dept',
  'doc?expand=dept.doc',
  'doc/6?expand=dept',
  'doc?aggregate=count&filter=dept.budget > 100',
  'doc?facets=kind&filter=dept.budget > 100',
  'doc/export.csv?filter=dept.budget > 100',
  'doc/facets/kind/search?filter=dept.budget > 100',
  'dept',
  'dept?expand=doc',
  'dept?filter=doc.amount > 100',
  "dept?filter=doc.title ~ 'zeb%'",
  'dept?aggregate=sum(budget),count',
  'dept?search=zebrines',
  'plain?filter=doc.amount > 100&fields=note',
  'plain?filter=doc.dept.budget > 100&fields=note',
  'doc_view',
  'doc_view?aggregate=sum(amount)',
  '../rpc/docs',
  '../rpc/docs?filter=amount > 40',
  '../rpc/docs?sort=-amount&perPage=2',
  '../rpc/doc_total',
] as const

/** Requests for the column in each position where one can be named; `plain` follows a key to it. */
const ofColumn = [
  'doc?fields=id,secret',
  'doc/1?fields=secret',
  "doc?filter=secret = 'quagga'",
  "doc?filter=secret ~ 'q%'",
  'doc?filter=secret IS NULL',
  "doc?filter=secret_tags CONTAINS 'quagga'",
  "doc?filter=secret_extra->>'k' = 'quagga'",
  "doc?filter=secret MATCHES 'quagga'",
  'doc?filter=secret_amount > 777000',
  'doc?filter=id = 1 OR secret_amount > 777000',
  'doc?sort=secret',
  'doc?cursor=&sort=secret_amount',
  'doc?facets=secret',
  'doc?facets=secret_amount',
  'doc?facets=kind,secret&disjunctiveFacets=secret',
  'doc/facets/secret/search?q=q',
  'doc?aggregate=min(secret)',
  'doc?aggregate=sum(secret_amount)',
  'doc?aggregate=count(secret)',
  'doc?aggregate=count&group=secret',
  'doc/export.csv?fields=secret',
  'doc/export.json?sort=secret',
  'doc/export.ndjson?filter=secret_amount > 5',
  "doc?filter=dept.secret = 'quagga'",
  'plain?filter=doc.secret_amount > 5',
  "plain?filter=doc.dept.secret ~ 'q%'",
  '../rpc/doc_secrets',
] as const

/**
 * Operators that do not apply to the type of a column, or to its value. On a hidden column the error would disclose
 * the type.
 */
const ofType = [
  'doc?sort=secret_raw',
  'doc?facets=secret_extra',
  'doc?facets=secret_tags',
  'doc?disjunctiveFacets=secret_tags&facets=kind',
  'doc/facets/secret_amount/search',
  'doc?aggregate=sum(secret)',
  'doc?aggregate=min(secret_raw)',
  'doc?aggregate=bbox(secret)',
  'doc?aggregate=count&group=secret_raw',
  "doc?filter=secret_amount ~ 'x'",
  "doc?filter=secret_amount = 'x'",
  'doc?filter=secret_raw > 1',
  "doc?filter=secret CONTAINS 'x'",
  "doc?filter=secret->'k' = 1",
  "doc?filter=secret_amount MATCHES 'x'",
  "doc?filter=dept.secret CONTAINS 'x'",
  'doc?nearest=[1,2]&vector_column=secret',
  'doc/export.csv?sort=secret_raw',
] as const

let app: TestApp
let keys: Readonly<Record<Kind, string | undefined>>
/** Responses by caller and path, in the first state and in the other one. */
const hidden = new Map<string, Observation>()
const without = new Map<string, Observation>()

/** Parts of a response that a caller can observe. */
interface Observation {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

const volatileHeaders = /^(date|x-request-id|x-query-duration-ms|x-ratelimit-.*|ratelimit.*)$/

function observe({ status, headers, text }: TestResponse): Observation {
  const kept = [...headers].filter(([name]) => !volatileHeaders.test(name))
  const isError = text.startsWith('{"code"')
  // The request id always differs.
  return {
    status,
    headers: Object.fromEntries(kept),
    text: isError ? text.replace(/"request_?id":"[^"]*"/i, '') : text,
  }
}

function urlOf(path: string): string {
  const [route = '', query] = path.split(/\?(.*)/s)
  const at = route.startsWith('../') ? `/api/${route.slice(3)}` : `/api/collections/${route}`
  if (query === undefined) return at
  const parameters = query.split('&').map((part) => {
    const [name = '', value = ''] = part.split(/=(.*)/s)
    return `${name}=${encodeURIComponent(value)}`
  })
  return `${at}?${parameters.join('&')}`
}

function read(kind: Kind, path: string, on = app): Promise<TestResponse> {
  return on.request('GET', urlOf(path), { token: kind === 'admin' ? admins.get(on) : keys[kind] })
}

/** Tokens of administrators, by the server that issued them. */
const admins = new Map<TestApp, string>()

async function readAll(
  into: Map<string, Observation>,
  kinds: readonly Kind[],
  paths: readonly string[],
  on = app,
): Promise<void> {
  admins.set(on, await on.adminToken())
  const readAs = async (kind: Kind) => {
    for (const path of paths) into.set(`${kind} ${path}`, observe(await read(kind, path, on)))
  }
  await Promise.all(kinds.map(readAs))
}

beforeAll(async () => {
  app = await createTestApp({ setup, config: { 'api.max_exports': '20' } })
  await app.sql(grants)
  await app.sql(hiddenRows)
  await app.sql(`insert into basalt.users (id, email) values ('${alice}', 'a@example.com')`)
  const { key } = await createApiKey(app, { userId: alice, allowedTables: ['doc'] })
  keys = {
    alice: userToken({ sub: alice }),
    bob: userToken({ sub: bob }),
    anonymous: undefined,
    key,
    admin: undefined,
  }
  // A name that the catalog does not know makes it read the catalog again, grants included.
  await app.request('GET', '/api/collections/none', { token: keys.alice })
  const all = [[...callers, 'admin'] as const, [...ofDoc, ...besideDoc, ...ofColumn]] as const
  await readAll(hidden, ...all)
  await app.sql(otherHidden)
  await readAll(without, ...all)
  await app.sql(hiddenRows)
}, 120_000)
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

const forbidden = { code: 403, message: 'insufficient permissions', error: 'insufficient_permissions' }

describe('hidden rows', () => {
  test.each([...ofDoc, ...besideDoc])('appear in no response: %s', (path) => {
    expect(hidden.get(`admin ${path}`)).not.toEqual(without.get(`admin ${path}`))
    const isBeside = (besideDoc as readonly string[]).includes(path)
    for (const kind of callers) {
      const answer = hidden.get(`${kind} ${path}`)
      expect(answer, `${kind}: ${answer?.text}`).toEqual(without.get(`${kind} ${path}`))
      const expected = isBeside && kind === 'key' ? 403 : path.startsWith('doc/666') ? 404 : 200
      expect(answer?.status, `${kind}: ${answer?.text}`).toBe(expected)
      expect(JSON.stringify(answer)).not.toMatch(foreign[kind])
    }
  })

  test('are returned to administrators', async () => {
    const { json } = await read('admin', 'doc?search=zebrine&perPage=1')
    expect(json).toMatchObject({ totalItems: 40, items: [{ secret: 'quagga', secret_amount: 777_001 }] })
  })
})

describe('hidden column', () => {
  test.each(ofColumn)('is rejected in every position: %s', (path) => {
    expect(hidden.get(`admin ${path}`)?.status, hidden.get(`admin ${path}`)?.text).toBe(200)
    for (const kind of callers) {
      const answer = hidden.get(`${kind} ${path}`)
      expect(answer, kind).toEqual(without.get(`${kind} ${path}`))
      expect(answer?.status, `${kind}: ${answer?.text}`).toBe(403)
      expect(JSON.stringify(answer)).not.toMatch(foreign[kind])
    }
  })

  test.each(ofType)('does not disclose its type: %s', async (path) => {
    expect((await read('admin', path)).status).toBe(400)
    for (const kind of ['alice', 'anonymous'] as const) {
      expect(envelope(await read(kind, path)), kind).toEqual(forbidden)
    }
  })
})

test('hidden rows › an estimated total comes from the statistics of the table, beside items without hidden rows', async () => {
  for (const kind of callers) {
    const { json, text } = await read(kind, 'doc?total=estimated')
    expect(text).not.toMatch(foreign[kind])
    expect(json.items).toEqual((await read(kind, 'doc')).json.items)
  }
})

/** Sends a request as alice that collides with rows of carol. */
async function write(method: string, path: string, body?: unknown, kind: Kind = 'alice') {
  const response = await app.request(method, urlOf(path), {
    token: keys[kind],
    ...(body === undefined ? {} : { body }),
  })
  expect(response.text).not.toMatch(/quagga|666002|777\d\d\d/)
  return response
}

/** Record of the caller with a value that a hidden row also has. */
const taken = { id: 666_001, title: 'mine' }
const takenCode = { id: 700, title: 'mine', code: 'zebrine-1' }

describe('writes that collide with a hidden row', () => {
  test.each([
    ['on_conflict=skip', { inserted: 1, updated: 0, skipped: 1, failed: 0 }],
    [
      'on_conflict=update&mode=partial',
      { inserted: 1, updated: 0, skipped: 0, failed: 1, errors: [{ row: 1, message: forbidden.message }] },
    ],
    [
      'mode=partial',
      { inserted: 1, updated: 0, skipped: 0, failed: 1, errors: [{ row: 1, message: expect.any(String) }] },
    ],
  ])('give only the existence of the key from an import with %s', async (query, counts) => {
    const response = await write('POST', `doc/import?dryRun=true&${query}`, [
      taken,
      { id: 701, title: 'new' },
    ])
    expect(response.json).toEqual({ processed: 2, dryRun: true, ...counts })
    expect(response.text).not.toMatch(foreign.alice)
  })

  test('give another existing unique value from an import without the row', async () => {
    for (const query of ['', '&on_conflict=skip', '&on_conflict=update']) {
      const { json } = await write('POST', `doc/import?mode=partial&dryRun=true${query}`, [takenCode])
      expect(json).toMatchObject({ processed: 1, inserted: 0, updated: 0, failed: 1 })
      expect(JSON.stringify(json)).not.toMatch(/zebrine/)
    }
  })

  test.each([
    ['doc', taken, 409, 'unique_violation'],
    ['doc', takenCode, 409, 'unique_violation'],
    ['doc?onConflict=id', taken, 403, 'insufficient_permissions'],
    ['doc?onConflict=id&onConflictAction=ignore', taken, 409, 'conflict_hidden'],
    ['doc?onConflict=code', takenCode, 403, 'insufficient_permissions'],
    ['doc?onConflict=code&onConflictAction=ignore', takenCode, 409, 'conflict_hidden'],
    ['doc?onConflict=code&fields=secret', takenCode, 403, 'insufficient_permissions'],
  ])("are rejected for a create at %s without the row's values: %j", async (path, body, status, error) => {
    const response = await write('POST', path, body)
    expect([response.status, response.json.error]).toEqual([status, error])
    expect(response.text).not.toMatch(/zebrine|carol|ca801000/)
  })

  test('count only changeable rows in a write by filter', async () => {
    for (const [method, body] of [
      ['PATCH', { kind: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      for (const [filter, found] of [
        ['amount > 0', 2],
        ['amount > 40', 0],
        ["dept.name = 'zebrines' OR dept.budget > 100", 0],
      ] as const) {
        const response = await write(method, `doc?filter=${filter}&expect=40`, body)
        expect(envelope(response)).toMatchObject({ error: 'unexpected_count', data: { expected: 40, found } })
      }
      const column = await write(method, "doc?filter=secret = 'quagga'&expect=2", body)
      expect(envelope(column)).toMatchObject(forbidden)
    }
    const shown = await write('PATCH', 'doc?filter=id = 1&expect=1&return=records&fields=secret', {
      kind: 'x',
    })
    expect(envelope(shown)).toMatchObject(forbidden)
  })

  test.each(['alice', 'bob', 'key'] as const)('find no record in a write of one record: %s', async (kind) => {
    const none = { code: 404, message: 'record not found', error: 'record_not_found' }
    expect(envelope(await write('PATCH', 'doc/666001', { kind: 'x' }, kind))).toEqual(none)
    expect(envelope(await write('DELETE', 'doc/666001', undefined, kind))).toEqual(none)
    const operations = [{ method: 'update', id: 666_001, body: { kind: 'x' } }]
    expect((await write('POST', 'doc/batch', { operations }, kind)).status).toBe(404)
  })

  test('return no hidden column, of a record or of a constraint', async () => {
    const created = await write('POST', 'doc', { id: 800, title: 'wombat three' })
    expect(Object.keys(created.json)).toEqual(
      'id,owner,dept_id,kind,title,amount,tags,extra,during,code'.split(','),
    )
    expect((await write('PATCH', 'doc/800', { kind: 'x' })).status).toBe(200)
    expect((await write('POST', 'doc?onConflict=id', { id: 800, title: 'again' })).status).toBe(200)
    expect((await write('DELETE', 'doc?filter=id = 800&expect=1&return=records')).status).toBe(200)
    expect(envelope(await write('PATCH', 'part_seen/1', { shown: 100 }))).toMatchObject({
      error: 'check_violation',
    })
    expect((await write('PATCH', 'part_seen/1', { shown: 2 })).json).toEqual({ id: 1, shown: 2 })
  })
})

test('hidden rows › realtime delivers nothing of hidden rows and columns', async () => {
  await using stream = await openEventStream(app.url, 'tables=doc', { token: keys.alice })
  const admin = { token: await app.adminToken() }
  const path = '/api/collections/doc'
  for (const [method, at, body] of [
    ['POST', '', { id: 667_000, owner: carol, title: 'zebrine' }],
    ['PATCH', '/667000', { title: 'zebrine changed' }],
    ['DELETE', '/667000', undefined],
    ['POST', '', { id: 900, owner: alice, title: 'wombat seen' }],
  ] as const) {
    const response = await app.request(method, path + at, {
      ...admin,
      ...(body === undefined ? {} : { body }),
    })
    expect(response.status, response.text).toBeLessThan(300)
  }
  const [event] = await stream.next(1)
  expect(event).toMatchObject({ action: 'create', record: { id: 900, title: 'wombat seen' } })
  expect(stream.text).not.toMatch(/zebrine|quagga|667000|secret/)
  await app.request('DELETE', `${path}/900`, admin)
})

describe('program with access to one table', () => {
  const operations = [{ table: 'dept', method: 'create', body: { id: 9, name: 'n' } }]
  test.each([
    ...['dept', 'dept/1', 'dept?aggregate=count', 'dept/export.csv', 'dept/facets/name/search', 'plain'],
    ...['doc_view', '../rpc/docs', '../rpc/doc_total', 'none', '../realtime?tables=dept'],
    ...['../realtime?tables=doc,dept'],
  ])('reaches no other table by reading %s', async (path) => {
    const { status, text } = await read('key', path)
    expect(status, text).toBe(403)
    expect(text).not.toMatch(foreign.key)
  })

  test.each([
    ['POST', 'dept', { id: 9, name: 'n' }],
    ['PATCH', 'dept/1', { name: 'n' }],
    ['DELETE', 'dept/1', undefined],
    ['PATCH', 'dept?filter=id = 1&expect=1', { name: 'n' }],
    ['DELETE', 'dept?filter=id = 1&expect=1', undefined],
    ['DELETE', 'doc?filter=dept.id = 1&expect=1', undefined],
    ['PATCH', 'doc/1?expand=dept', { kind: 'note' }],
    ['POST', 'dept/import', [{ id: 9, name: 'n' }]],
    ['POST', 'dept/batch', { operations }],
    ['POST', '../batch', { operations }],
    ['POST', '../rpc/docs', {}],
  ])('reaches no other table by %s %s', async (method, path, body) => {
    expect((await write(method, path, body, 'key')).status).toBe(403)
  })

  test('sees no other table in the schema', async () => {
    const { json } = await read('key', '../schema')
    expect(Object.keys(json.tables)).toEqual(['public.doc'])
    expect(JSON.stringify(json)).not.toMatch(/secret|dept_name|budget/)
  })
})

/** Rows of extension types, and a column of the type that may not be read, as `doc` has them. */
const extensionSetups = {
  postgis: `
    create table spot (id int primary key, owner uuid, name text, at "Ext 1".geometry(Point, 4326),
      earth "Ext 1".geography(Point, 4326), secret "Ext 1".geometry(Point, 4326));
    insert into spot select n, (array['${alice}', '${bob}', null]::uuid[])[n],
      (array['wombat', 'narwhal', 'public'])[n], p, p::"Ext 1".geography, p
    from (select n, "Ext 1".st_setsrid("Ext 1".st_makepoint(n, n), 4326) as p from generate_series(1, 3) n) s;
    create index on spot using gist (at);
    create index on spot using gist (earth);`,
  vector: `
    create schema ext;
    create extension vector schema ext;
    set local search_path = public, ext;
    create table spot (id int primary key, owner uuid, name text, at vector(3), secret vector(3), other vector(2));
    insert into spot select n, (array['${alice}', '${bob}', null]::uuid[])[n],
      (array['wombat', 'narwhal', 'public'])[n], array[n, 1, 0]::vector, '[7,7,7]', '[7,7]'
    from generate_series(1, 3) n;
    create table closed (id int primary key, a vector(2), b vector(2));
    create index on spot using hnsw (at vector_cosine_ops);`,
}
const hiddenSpots = {
  postgis: `insert into spot select 666000 + n, '${carol}', 'zebrine', p, p::"Ext 1".geography, p
    from (select n, "Ext 1".st_setsrid("Ext 1".st_makepoint(n * 0.1, 2), 4326) as p from generate_series(1, 40) n) s`,
  vector: `insert into spot select 666000 + n, '${carol}', 'zebrine', array[1, n * 0.01, 0]::ext.vector, '[1,1,1]', '[1,1]'
    from generate_series(1, 60) n`,
}
const square = JSON.stringify({
  type: 'Polygon',
  coordinates: [
    [
      [0, 0],
      [9, 0],
      [9, 9],
      [0, 9],
      [0, 0],
    ].map(([x, y]) => [x, y]),
  ],
})
const spotPaths = {
  postgis: [
    ...['near=at,1,1,100', 'near=earth,1,1,9000000', `within=at,${square}`, `intersects=earth,${square}`],
    ...['bbox=at,0,0,9,9', 'sort=at.distance(1,1)', 'cursor=&perPage=1&sort=at.distance(1,1)'],
    ...['aggregate=bbox(at),centroid(at),count', 'facets=name&bbox=at,0,0,9,9&perPage=1'],
    'aggregate=count&near=at,1,1,100',
  ].map((query) => `spot?${query}`),
  vector: [
    ...['nearest=[1,0.1,0]', 'nearest=[1,0.1,0]&perPage=1', 'nearest=[1,0.1,0]&filter=id > 1'],
    ...['nearest=[1,0.1,0]&distance=l2', 'semantic_query=ab', 'search=public&semantic=true'],
  ].map((query) => `spot?${query}&vector_column=at`),
}
const spotRefusals = {
  postgis: [
    ...[
      'near=secret,1,1,100',
      `within=secret,${square}`,
      `intersects=secret,{"type":"Point","coordinates":[900,1]}`,
    ],
    ...['bbox=secret,0,0,9,9', 'sort=secret.distance(1,1)', 'aggregate=bbox(secret)', 'fields=secret'],
  ].map((query) => `spot?${query}`),
  vector: [
    ...['spot?nearest=[1,0.1,0]&vector_column=secret', 'spot?nearest=[1,0.1]&vector_column=secret'],
    ...['spot?nearest=[1,0.1,0]&fields=secret', 'spot?semantic_query=ab&vector_column=other'],
    ...['spot?search=public&semantic=true&vector_column=secret', 'closed?nearest=[1,2]'],
  ],
}

describe.each(['postgis', 'vector'] as const)(`hidden rows of %s on ${extensionEngine}`, (extension) => {
  const kinds = ['alice', 'bob', 'anonymous'] as const
  const before = new Map<string, Observation>()
  const after = new Map<string, Observation>()
  let database: ExtensionDatabase
  let provider: EmbeddingProvider
  let node: TestApp

  beforeAll(async () => {
    database = await createExtensionDatabase(extension)
    provider = await startEmbeddingProvider()
    const openai = { api_key: 'k', base_url: provider.url, default_model: 'letters' }
    node = await createTestApp({
      database,
      config: { ...database.config, 'ai.providers': JSON.stringify({ openai }), 'api.max_exports': '20' },
      setup: `${extensionSetups[extension]}
        alter table spot enable row level security;`,
    })
    await database.sql(`
      create policy see on spot for select using (owner is null or owner = basalt.user_id());
      grant usage on schema ${extension === 'postgis' ? '"Ext 1"' : 'ext'} to basalt_authenticated, basalt_anonymous;
      revoke all on spot from basalt_authenticated;
      grant select (id, owner, name, at${extension === 'postgis' ? ', earth' : ''}) on spot
        to basalt_authenticated, basalt_anonymous;
      ${extension === 'postgis' ? '' : 'revoke all on closed from basalt_authenticated; grant select (id) on closed to basalt_authenticated, basalt_anonymous'}`)
    await node.request('GET', '/api/collections/none', { token: keys.alice })
    const readEach = async (into: Map<string, Observation>) => {
      await readAll(into, [...kinds, 'admin'], spotPaths[extension], node)
      await readAll(into, kinds, spotRefusals[extension], node)
    }
    await database.sql(hiddenSpots[extension])
    await readEach(before)
    await database.sql("delete from spot where name = 'zebrine'; update spot set secret = null")
    await readEach(after)
  }, extensionSetupMs)
  afterAll(async () => {
    expect(faultsOf(node)).toEqual([])
    await node[Symbol.asyncDispose]()
    await provider[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  test.each(spotPaths[extension])('appear in no response: %s', (path) => {
    expect(before.get(`admin ${path}`)).not.toEqual(after.get(`admin ${path}`))
    for (const kind of kinds) {
      const answer = before.get(`${kind} ${path}`)
      expect(answer, `${kind}: ${answer?.text}`).toEqual(after.get(`${kind} ${path}`))
      expect(answer?.status, `${kind}: ${answer?.text}`).toBe(200)
      expect(JSON.stringify(answer)).not.toMatch(foreign[kind])
    }
  })

  test.each(spotRefusals[extension])('have a column that is rejected: %s', (path) => {
    for (const kind of kinds) {
      const answer = before.get(`${kind} ${path}`)
      expect(answer, kind).toEqual(after.get(`${kind} ${path}`))
      expect(JSON.parse(answer?.text ?? ''), kind).toMatchObject(forbidden)
    }
  })
})
