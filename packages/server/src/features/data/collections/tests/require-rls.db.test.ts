import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

const setup = `
  create table bare (id int primary key, note text);
  insert into bare values (1, 'x');
  create table safe (id int primary key, bare_id int references bare);
  insert into safe values (1, 1);
  alter table safe enable row level security;
  create policy everybody on safe using (true);
  create table bare_parts (id int primary key) partition by range (id);
  create view owners_view as select id from safe;
  create view invokers_view with (security_invoker) as select id from safe;
  create view invokers_view_of_bare with (security_invoker = on) as select id from bare;
  create view nested_view with (security_invoker = true) as select id from invokers_view_of_bare;
  create materialized view kept as select id from safe;
  create schema hidden;
  grant usage on schema hidden to basalt_authenticated;
  create table hidden.thing (id int primary key);
  grant select on hidden.thing to basalt_authenticated;
  create view of_hidden with (security_invoker) as select id from hidden.thing;`

const token = userToken({ sub: alice })
let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup, config: { 'database.require_rls': 'true' } })
})
afterAll(() => app[Symbol.asyncDispose]())

function send(method: string, path: string, body?: unknown, as = token) {
  return app.request(method, `/api/${path}`, { token: as, ...(body === undefined ? {} : { body }) })
}

function refusal(collection: string, remedy: string) {
  return {
    code: 403,
    message: `"${collection}" is not protected by row-level security: ${remedy}`,
    error: 'rls_required',
  }
}

const create = { operations: [{ method: 'create', body: { id: 2 } }] }
const createAcross = { operations: [{ table: 'bare', method: 'create', body: { id: 2 } }] }

describe('database.require_rls', () => {
  test.each([
    ['GET', 'collections/bare', undefined],
    ['GET', 'collections/bare?search=x', undefined],
    ['GET', 'collections/bare?aggregate=count', undefined],
    ['GET', 'collections/bare?facets=note', undefined],
    ['GET', 'collections/bare/facets/note/search?q=x', undefined],
    ['POST', 'collections/bare/query', {}],
    ['GET', 'collections/bare/export.csv', undefined],
    ['GET', 'collections/bare/export.json', undefined],
    ['GET', 'collections/bare/export.ndjson', undefined],
    ['POST', 'collections/bare/import', [{ id: 2 }]],
    ['GET', "collections/safe?filter=bare.note='x'", undefined],
    ['GET', 'collections/bare/1', undefined],
    ['POST', 'collections/bare', { id: 2 }],
    ['PATCH', 'collections/bare/1', { note: 'y' }],
    ['DELETE', 'collections/bare/1', undefined],
    ['POST', 'collections/bare/batch', create],
    ['POST', 'batch', createAcross],
    ['GET', 'realtime?tables=bare', undefined],
  ])('returns 403 rls_required with the statement that fixes it: %s %s', async (method, path, body) => {
    const response = await send(method, path, body)
    const { error, message } = refusal('bare', 'alter table "public"."bare" enable row level security')
    expect([response.status, envelope(response)]).toMatchObject([
      403,
      { error, message: expect.stringContaining(message) },
    ])
    expect(await app.sql('select * from bare')).toEqual([{ id: 1, note: 'x' }])
  })

  test.each([
    ['bare_parts', 'alter table "public"."bare_parts" enable row level security'],
    ['owners_view', 'alter view "public"."owners_view" set (security_invoker = true)'],
    ['invokers_view_of_bare', 'alter table "public"."bare" enable row level security'],
    ['nested_view', 'alter table "public"."bare" enable row level security'],
    ['of_hidden', 'alter table "hidden"."thing" enable row level security'],
    ['kept', 'a materialized view cannot have it; revoke all on "public"."kept" from basalt_authenticated'],
  ])('returns 403 for %s', async (collection, remedy) => {
    const response = await send('GET', `collections/${collection}`)
    expect([response.status, envelope(response)]).toEqual([403, refusal(collection, remedy)])
  })

  test('returns 403 when an expanded relation has no row-level security', async () => {
    const response = await send('GET', 'collections/safe?expand=bare')
    expect([response.status, response.json.error]).toEqual([403, 'rls_required'])
  })

  test('serves tables with row-level security, and views with the privileges of their reader', async () => {
    for (const collection of ['safe', 'invokers_view']) {
      expect((await send('GET', `collections/${collection}`)).json.totalItems).toBe(1)
    }
  })

  test('does not apply to administrators, nor to the schema', async () => {
    const admin = await app.adminToken()
    for (const collection of ['bare', 'owners_view', 'kept']) {
      expect((await send('GET', `collections/${collection}`, undefined, admin)).status).toBe(200)
    }
    expect((await send('GET', 'schema')).text).toContain('"bare"')
  })

  test('serves a table as soon as it is secured, on either schema', async () => {
    await app.sql('create table mended (id int primary key)')
    expect((await send('GET', 'collections/mended')).status).toBe(403)
    await app.sql('alter table mended enable row level security')
    expect((await send('GET', 'collections/mended')).status).toBe(200)
    await app.sql('alter table hidden.thing enable row level security')
    expect((await send('GET', 'collections/of_hidden')).status).toBe(200)
    await app.sql('alter table hidden.thing disable row level security')
    await app.app.catalog.refresh()
    expect((await send('GET', 'collections/of_hidden')).status).toBe(403)
  })

  test('keeps the events of a table from open streams once it has none', async () => {
    await app.sql(`
      create table watched (id int primary key);
      alter table watched enable row level security;
      create policy everybody on watched using (true)`)
    const admin = await app.adminToken()
    await using stream = await openEventStream(app.url, 'tables=watched,safe', { token })
    await send('POST', 'collections/watched', { id: 1 }, admin)
    await stream.next(1)
    await app.sql('alter table watched disable row level security')
    await send('POST', 'collections/watched', { id: 2 }, admin)
    await send('POST', 'collections/safe', { id: 2 }, admin)
    const safe = { action: 'create', table: 'safe', record: { id: 2, bare_id: null } }
    expect(await stream.next(2)).toEqual([{ action: 'create', table: 'watched', record: { id: 1 } }, safe])
    await app.sql('delete from safe where id = 2')
  })

  test.each([
    ['true beside an external database', {}, 403],
    ['false while auth.enabled is', { 'auth.enabled': 'false' }, 200],
  ])('is %s by default', async (_name, others, status) => {
    const config = { 'database.require_rls': 'auto', ...others }
    await using other = await createTestApp({ database: app.database, config })
    const response = await other.request('GET', '/api/collections/bare', status === 403 ? { token } : {})
    expect(response.status).toBe(status)
  })

  test('prevents a start without auth', async () => {
    const config = { 'database.require_rls': 'true', 'auth.enabled': 'false' }
    await expect(createTestApp({ database: app.database, config })).rejects.toThrow(
      /contradicts auth.enabled/,
    )
  })
})
