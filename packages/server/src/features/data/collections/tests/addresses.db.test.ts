import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

const setup = `
  create table "a,b" (id int primary key, v text);
  insert into "a,b" values (1, 'x');
  create table child (id int primary key, p int references "a,b");
  insert into child values (1, 1);
  create table named (name text primary key, n int);
  insert into named values ('', 1), ('.', 2), ('..', 3), ('a', 4);
  create table person (id int primary key);
  create table visit (id int, day date, person_id int references person, primary key (id, day)) partition by range (day);
  create table visit_2026 partition of visit for values from ('2026-01-01') to ('2027-01-01') partition by range (id);
  create table visit_2026_low partition of visit_2026 for values from (0) to (10);
  create schema hidden;
  create table hidden.whole (id int primary key) partition by range (id);
  create table lone partition of hidden.whole for values from (0) to (10);
  insert into person values (1);
  insert into visit values (1, '2026-05-01', 1);`

const token = userToken({ sub: alice })
let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup })
})
afterAll(() => app[Symbol.asyncDispose]())

function send(method: string, path: string, body?: unknown, as: TestApp = app) {
  return as.request(method, `/api/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

describe('addresses › a table whose name has a comma', () => {
  test('is reached by its encoded name, in paths, batches and expand', async () => {
    expect((await send('GET', 'collections/a%2Cb')).json.items).toEqual([{ id: 1, v: 'x' }])
    expect((await send('GET', 'collections/a%2Cb/1')).json).toEqual({ id: 1, v: 'x' })
    const batch = await send('POST', 'batch', {
      operations: [{ table: 'a,b', method: 'update', id: 1, body: { v: 'y' } }],
    })
    expect(batch.status).toBe(200)
    const expand = encodeURIComponent('"a,b"')
    expect((await send('GET', `collections/child/1?expand=${expand}`)).json.expand).toEqual({
      'a,b': { id: 1, v: 'y' },
    })
  })

  test('is streamed when its name is quoted', async () => {
    const tables = encodeURIComponent('"a,b", child')
    await using stream = await openEventStream(app.url, `tables=${tables}`, { token })
    await send('PATCH', 'collections/a%2Cb/1', { v: 'z' })
    expect(await stream.next(1)).toEqual([{ action: 'update', table: 'a,b', record: { id: 1, v: 'z' } }])
    const split = await send('GET', 'realtime?tables=a,b')
    expect([split.status, split.json.message]).toEqual([400, 'unknown table: a'])
  })
})

describe('addresses › a record whose key no path can hold', () => {
  test.each(['', '.', '..'])('is read and written by a filter: %j', async (name) => {
    const filter = `name = '${name}'`
    const found = await send('POST', 'collections/named/query', { filter })
    expect(found.json.items).toEqual([{ name, n: expect.any(Number) }])
    const query = `filter=${encodeURIComponent(filter)}&expect=1`
    const changed = await send('PATCH', `collections/named?${query}`, { n: 7 })
    expect([changed.status, changed.json]).toEqual([200, { updated: 1 }])
  })
})

describe('addresses › a partition', () => {
  test.each(['visit_2026', 'visit_2026_low'])('is served only through its table: %s', async (name) => {
    for (const [method, path, body] of [
      ['GET', `collections/${name}`, undefined],
      ['GET', `collections/${name}/1,2026-05-01`, undefined],
      ['POST', `collections/${name}`, { id: 2, day: '2026-05-01' }],
      ['POST', `collections/${name}/batch`, { operations: [{ method: 'create', body: { id: 2 } }] }],
      ['GET', `collections/${name}/export.csv`, undefined],
      ['POST', `collections/${name}/import`, []],
    ] as const) {
      const refused = await send(method, path, body)
      expect([path, refused.status, envelope(refused)]).toEqual([
        path,
        404,
        {
          code: 404,
          message: `collection not found: ${name} is a partition; ask for visit`,
          error: 'collection_not_found',
        },
      ])
    }
    const stream = await send('GET', `realtime?tables=${name}`)
    expect([stream.status, stream.json.message]).toEqual([
      400,
      `unknown table: ${name}, a partition of visit`,
    ])
  })

  test('is not listed, and no relation leads to it', async () => {
    const schema = (await send('GET', 'schema')).json.tables
    expect(Object.keys(schema).filter((name) => /visit|lone/.test(name))).toEqual([
      'public.lone',
      'public.visit',
    ])
    const visits = await send('GET', 'collections/person/1?expand=visit')
    expect(visits.json.expand.visit).toEqual([{ id: 1, day: '2026-05-01', person_id: 1 }])
    expect((await send('GET', 'collections/person/1?expand=visit_2026')).status).toBe(400)
    // Its table is in no exposed schema, so nothing else serves it.
    expect((await send('GET', 'collections/lone')).status).toBe(200)
  })

  test('is a collection of its own with database.expose_partitions', async () => {
    const config = { 'database.expose_partitions': 'true' }
    await using exposed = await createTestApp({ database: app.database, config })
    for (const name of ['visit_2026', 'visit_2026_low']) {
      expect((await send('GET', `collections/${name}`, undefined, exposed)).json.totalItems).toBe(1)
    }
  })

  test('becomes a collection when it is detached', async () => {
    await app.sql(
      `create table visit_2027 partition of visit for values from ('2027-01-01') to ('2028-01-01')`,
    )
    expect((await send('GET', 'collections/visit_2027')).status).toBe(404)
    await app.sql('alter table visit detach partition visit_2027')
    await app.app.catalog.refresh()
    expect((await send('GET', 'collections/visit_2027')).json.totalItems).toBe(0)
  })
})
