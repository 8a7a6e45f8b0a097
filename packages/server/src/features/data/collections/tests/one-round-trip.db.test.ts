import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob, library } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  createTestDatabase,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { createWireProxy, type Traffic, type WireProxy } from '../../../../../test/wire-proxy.ts'
import type { ChangeLog } from '../../../../database/change-log.ts'
import { statement } from '../../../../database/connection/message.ts'

let database: TestDatabase
let proxy: WireProxy
let app: TestApp
const token = userToken({ sub: alice })

/** True if every change has a listener. */
let isCaptured = false
const changes: ChangeLog = {
  hasTriggers: false,
  capture: () =>
    isCaptured
      ? { call: { statement: statement('select 1 as captured'), values: [] }, takesChanges: true }
      : undefined,
  doubt: () => undefined,
  committed: () => undefined,
}

const owned = `
create table note (
  id int primary key,
  owner_id uuid not null default nullif(current_setting('basalt.user_id', true), '')::uuid,
  body text
);
alter table note enable row level security;
create policy own on note using (owner_id = nullif(current_setting('basalt.user_id', true), '')::uuid);
insert into note values (1, '${alice}', 'hers'), (2, '${bob}', 'his');
`

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(library + owned)
  const url = new URL(database.url)
  proxy = await createWireProxy(Number(url.port))
  url.port = String(proxy.port)
  app = await createTestApp({ database, changes, config: { 'database.url': url.href } })
  // Connecting takes a round trip of its own.
  await app.request('GET', '/api/collections/author', { token })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await proxy[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

type Request = readonly [status: number, method: string, path: string, body?: unknown]

/** Returns what a request sends to PostgreSQL; the request must end as given. */
async function trafficOf(
  status: number,
  method: string,
  path: string,
  body?: unknown,
  as = token,
  headers: Readonly<Record<string, string>> = {},
): Promise<Traffic> {
  // An error response is sent before its connection is free again.
  await waitFor('free connections', () => app.app.database.user.stats.busy === 0)
  proxy.takeTraffic()
  const response = await app.request(method, `/api/${path}`, {
    token: as,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  expect(response.status, response.text).toBe(status)
  return proxy.takeTraffic()
}

const once = { turns: 1, syncs: 1 }

const operations = [
  { method: 'create', body: { id: 50, body: 'a' } },
  { method: 'create', body: { id: 51, body: 'b' } },
  { method: 'create', body: { id: 52, body: 'c' } },
  { method: 'update', id: 50, body: { body: 'd' } },
  { method: 'update', id: 51, body: { id: 61 } },
  { method: 'delete', id: 50 },
  { method: 'delete', id: 61 },
  { method: 'delete', id: 52 },
]

describe('one round trip and one transaction', () => {
  /** Executed: the caller's context, and the statements. */
  test.each<readonly [what: string, executes: number, request: Request]>([
    ['a list without total', 2, [200, 'GET', 'collections/book?skipTotal=true']],
    ['a list with total', 2, [200, 'GET', 'collections/book']],
    ['an estimated total', 3, [200, 'GET', 'collections/book?total=estimated']],
    ['a page by cursor', 2, [200, 'GET', 'collections/book?cursor=&perPage=2']],
    [
      'facets',
      2,
      [
        200,
        'GET',
        'collections/book?facets=author_id,pages,title&disjunctiveFacets=pages&filter=pages%3D341',
      ],
    ],
    ['facets by cursor', 2, [200, 'GET', 'collections/book?facets=author_id&cursor=']],
    ['a search of facet values', 2, [200, 'GET', 'collections/book/facets/title/search?q=the']],
    ['an aggregate', 2, [200, 'GET', 'collections/book?aggregate=count,sum(price)&group=author_id']],
    ['an empty list', 2, [200, 'GET', 'collections/book?filter=pages%3E9999']],
    [
      'a list with everything',
      2,
      [
        200,
        'GET',
        `collections/book?expand=author.book,editor,placement.shelf&filter=${encodeURIComponent("pages > 100 AND title != 'x'")}&sort=-pages,title&fields=title&perPage=3`,
      ],
    ],
    ['a list under policies', 2, [200, 'GET', 'collections/note']],
    ['a record', 2, [200, 'GET', 'collections/book/1']],
    ['a record with relations', 2, [200, 'GET', 'collections/book/1?expand=author.book,editor']],
    ['a missing record', 2, [404, 'GET', 'collections/note/2']],
    ['a create', 2, [201, 'POST', 'collections/note', { id: 10, body: 'x' }]],
    ['an update', 2, [200, 'PATCH', 'collections/note/10', { body: 'y' }]],
    ['an update of nothing', 2, [404, 'PATCH', 'collections/note/2', { body: 'y' }]],
    ['a delete', 2, [204, 'DELETE', 'collections/note/10']],
    // The check whether the creates may be merged, the creates, and five more.
    ['a batch', 8, [200, 'POST', 'collections/note/batch', { operations }]],
    [
      'a batch across tables',
      4,
      [
        200,
        'POST',
        'batch',
        {
          operations: [
            { table: 'shelf', method: 'create', body: { room: 'x', number: 1 } },
            { table: 'note', method: 'create', body: { id: 11 } },
            { table: 'shelf', method: 'delete', id: 'x,1' },
          ],
        },
      ],
    ],
    ['a rejected create', 2, [409, 'POST', 'collections/note', { id: 1 }]],
  ])('for %s', async (_what, executes, request) => {
    const traffic = await trafficOf(...request)
    expect(traffic).toMatchObject(once)
    expect(traffic.executes).toBe(executes)
  })

  test('for the administrator', async () => {
    const admin = await app.adminToken()
    // Opens a connection of the administrators' login.
    await trafficOf(200, 'GET', 'collections/note', undefined, admin)
    expect(await trafficOf(200, 'GET', 'collections/note', undefined, admin)).toMatchObject({
      ...once,
      executes: 2,
    })
    expect(await trafficOf(200, 'PATCH', 'collections/note/2', { body: 'z' }, admin)).toMatchObject({
      ...once,
      executes: 2,
    })
  })

  test('and one more for a write with an Idempotency-Key, which stores its response', async () => {
    const write = (key: string) =>
      trafficOf(200, 'PATCH', 'collections/note/1', { body: 'k' }, token, { 'idempotency-key': key })
    await write('one')
    // Begin, context, login role, key, caller's role, write; login role, response, caller's role, commit.
    expect(await write('two')).toEqual({ turns: 2, syncs: 2, executes: 10, parsed: [] })
  })

  test('and none for a request that is rejected before', async () => {
    const none: Traffic = { turns: 0, syncs: 0, executes: 0, parsed: [] }
    expect(await trafficOf(400, 'GET', 'collections/book?page=x')).toEqual(none)
    expect(await trafficOf(400, 'POST', 'collections/note', '{')).toEqual(none)
    expect(await trafficOf(400, 'POST', 'collections/note/batch', { operations: [] })).toEqual(none)
    expect(await trafficOf(401, 'GET', 'collections/note', undefined, 'x.y.z')).toEqual(none)
  })
})

describe('statement parsing › is skipped for a shape that was seen before', () => {
  const filter = (text: string) => `collections/book?filter=${encodeURIComponent(text)}`

  test.each<
    readonly [string, number, readonly [string, string, unknown?], readonly [string, string, unknown?]]
  >([
    ['the same list', 200, ['GET', 'collections/author'], ['GET', 'collections/author']],
    [
      'other values in a filter',
      200,
      ['GET', filter("title = 'a' AND pages > 1")],
      ['GET', filter("title = 'b' AND pages > 9")],
    ],
    ['more values in a list', 200, ['GET', filter('pages IN (1)')], ['GET', filter('pages IN (1, 2, 3, 4)')]],
    [
      'another page',
      200,
      ['GET', 'collections/book?page=2&perPage=2'],
      ['GET', 'collections/book?page=3&perPage=2'],
    ],
    ['another record', 200, ['GET', 'collections/book/1'], ['GET', 'collections/book/2']],
    [
      'another record, expanded',
      200,
      ['GET', 'collections/book/1?expand=author'],
      ['GET', 'collections/book/2?expand=author'],
    ],
    [
      'a create with its members in another order',
      201,
      ['POST', 'collections/shelf', { room: 'r', number: 1 }],
      ['POST', 'collections/shelf', { number: 2, room: 'r' }],
    ],
    [
      'an update of the same columns',
      200,
      ['PATCH', 'collections/book/1', { pages: 5, isbn: 'q' }],
      ['PATCH', 'collections/book/2', { isbn: 'w', pages: 6 }],
    ],
    ['another delete', 204, ['DELETE', 'collections/shelf/r,1'], ['DELETE', 'collections/shelf/r,2']],
    [
      'a batch of another size',
      200,
      [
        'POST',
        'collections/shelf/batch',
        { operations: [1, 2].map((number) => ({ method: 'create', body: { room: 's', number } })) },
      ],
      [
        'POST',
        'collections/shelf/batch',
        { operations: [3, 4, 5, 6].map((number) => ({ method: 'create', body: { room: 's', number } })) },
      ],
    ],
  ])('for %s', async (_what, status, first, second) => {
    expect(await trafficOf(status, ...first)).toMatchObject(once)
    expect(await trafficOf(status, ...second)).toMatchObject({ ...once, parsed: [] })
  })

  test('for another caller', async () => {
    await trafficOf(200, 'GET', 'collections/note')
    const other = userToken({ sub: bob, email: 'bob@example.com', aal: 'aal2' })
    expect(await trafficOf(200, 'GET', 'collections/note', undefined, other)).toMatchObject({
      ...once,
      parsed: [],
    })
  })

  test('after an error', async () => {
    await trafficOf(200, 'GET', filter('pages = 1'))
    await trafficOf(400, 'GET', filter("pages = 'x'"))
    expect(await trafficOf(200, 'GET', filter('pages = 2'))).toMatchObject({ ...once, parsed: [] })
  })
})

describe('change capture', () => {
  test('costs a write nothing without a listener, and no round trip with one', async () => {
    const write = () => trafficOf(200, 'PATCH', 'collections/note/1', { body: 'w' })
    const batch = () => trafficOf(200, 'POST', 'collections/note/batch', { operations })
    await write()
    expect(await write()).toEqual({ ...once, executes: 2, parsed: [] })
    isCaptured = true
    try {
      await write()
      // Context, write, the login role, capture, the caller's role.
      expect(await write()).toEqual({ ...once, executes: 5, parsed: [] })
      expect(await batch()).toMatchObject({ ...once, executes: 2 + 6 * 4 })
      expect(await trafficOf(200, 'GET', 'collections/note')).toMatchObject({ ...once, executes: 2 })
    } finally {
      isCaptured = false
    }
    expect(await write()).toEqual({ ...once, executes: 2, parsed: [] })
  })
})
