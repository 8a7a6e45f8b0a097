import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionEngine,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

const token = userToken({ sub: alice })

/** Sends the same search by both languages. */
async function search(
  app: TestApp,
  table: string,
  args: string,
  parameters: Readonly<Record<string, string>>,
) {
  const graphql = await runGraphql(app, `{ found: ${table}(${args}) { id } }`, { token })
  const query = new URLSearchParams({ ...parameters, fields: 'id' })
  const rest = await app.request('GET', `/api/collections/${table}?${query}`, { token })
  return { graphql, rest: rest.json }
}

describe('POST /api/graphql › search', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await createTestApp({
      setup: `
        create extension pg_trgm;
        create table book (id int primary key, title text);
        insert into book values (1, 'Solaris'), (2, 'Solar winds'), (3, 'The Dispossessed'), (4, 'Sun and solaris');
        create table page (id int primary key, body text, secret text);
        insert into page values (1, '<i>Sun</i>', 'moon');
        revoke select on page from basalt_authenticated;
        grant select (id, body) on page to basalt_authenticated;
        create table marked (id int primary key, body text, "_highlightResult" text);
        insert into marked values (1, 'sun', 'mine')`,
    })
  })
  afterAll(() => app[Symbol.asyncDispose]())

  test.each<readonly [args: string, parameters: Readonly<Record<string, string>>]>([
    ['search: "solaris"', { search: 'solaris' }],
    ['search: "solaris -sun"', { search: 'solaris -sun' }],
    ['search: "solris", fuzzy: true', { search: 'solris', fuzzy: 'true' }],
    [
      'search: "solris", fuzzy: true, typo_threshold: 0.6',
      { search: 'solris', fuzzy: 'true', typo_threshold: '0.6' },
    ],
  ])('%s has the records of the REST list', async (args, parameters) => {
    const { graphql, rest } = await search(app, 'book', args, parameters)
    expect(rest.items.length).toBeLessThan(4)
    expect(graphql).toEqual({ status: 200, data: { found: rest.items } })
  })

  test.each<readonly [args: string, parameters: Readonly<Record<string, string>>]>([
    ['search: "x", typo_threshold: 0.5', { search: 'x', typo_threshold: '0.5' }],
    ['search: "x", fuzzy: true, typo_threshold: 2', { search: 'x', fuzzy: 'true', typo_threshold: '2' }],
    ['fuzzy: true', { fuzzy: 'true' }],
  ])('%s has the error of the REST list', async (args, parameters) => {
    const { graphql, rest } = await search(app, 'book', args, parameters)
    expect(graphql).toMatchObject({
      status: 200,
      data: null,
      errors: [{ path: ['found'], message: rest.message, extensions: { code: rest.error } }],
    })
  })

  test.each<readonly [args: string, parameters: Readonly<Record<string, string>>]>([
    ['search: "solaris"', { search: 'solaris' }],
    ['search: "solris", fuzzy: true', { search: 'solris', fuzzy: 'true' }],
    ['search: "sun", order_by: {id: DESC}, offset: 0', { search: 'sun', sort: '-id' }],
  ])('%s has the highlights of the REST list', async (args, parameters) => {
    const document = `{ book(${args}) { id text: _highlight _highlightResult again: _highlight } }`
    const { data } = await runGraphql(app, document, { token })
    const query = new URLSearchParams({ ...parameters, highlight: 'true', fields: 'id' })
    const { json } = await app.request('GET', `/api/collections/book?${query}`, { token })
    expect(json.items.length).toBeGreaterThan(0)
    expect(data).toEqual({
      book: json.items.map(({ _highlight: text, ...item }: { _highlight: string }) => ({
        ...{ text, again: text, ...item },
      })),
    })
  })

  test('highlights the columns that the caller may read alone, as safe HTML', async () => {
    const document = '{ page(search: "sun") { _highlight _highlightResult } }'
    expect((await runGraphql(app, document, { token })).data).toEqual({
      page: [
        {
          _highlight: '&lt;i&gt;<b>Sun</b>&lt;/i&gt;',
          _highlightResult: { body: { value: '&lt;i&gt;<b>Sun</b>&lt;/i&gt;', matchLevel: 'full' } },
        },
      ],
    })
    const hidden = await runGraphql(app, '{ page(search: "moon") { _highlight } }', { token })
    expect(hidden.data).toEqual({ page: [] })
  })

  test('has no highlights without search, by key, and on a table with a column of their name', async () => {
    const document = '{ book(limit: 1) { _highlight } book_by_pk(id: 1) { _highlight _highlightResult } }'
    expect((await runGraphql(app, document, { token })).data).toEqual({
      book: [{ _highlight: null }],
      book_by_pk: { _highlight: null, _highlightResult: null },
    })
    const own = await runGraphql(app, '{ marked(search: "sun") { _highlightResult } }', { token })
    expect(own.data).toEqual({ marked: [{ _highlightResult: 'mine' }] })
    const none = await runGraphql(app, '{ marked(search: "sun") { _highlight } }', { token })
    expect(none.errors?.[0]?.message).toContain('Cannot query field "_highlight" on type "marked".')
  })
})

describe(`POST /api/graphql › places (${extensionEngine})`, () => {
  let database: ExtensionDatabase
  let app: TestApp
  beforeAll(async () => {
    database = await createExtensionDatabase('postgis')
    app = await createTestApp({
      database,
      config: database.config,
      setup: `
        set local search_path = public, "Ext 1";
        create table spot (id int primary key, "at point" geography(Point, 4326), area geometry(Polygon, 4326));
        insert into spot
        select n, st_point(n, n)::geography, st_makeenvelope(n, n, n + 1.5, n + 1.5, 4326) from generate_series(0, 5) n;`,
    })
    await app.sql('grant usage on schema "Ext 1" to basalt_authenticated')
  }, extensionSetupMs)
  afterAll(async () => {
    await app[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  const polygon = '{"type":"Polygon","coordinates":[[[0.5,0.5],[4.2,0.5],[4.2,4.2],[0.5,4.2],[0.5,0.5]]]}'
  const literal = polygon.replaceAll(/"(\w+)":/g, '$1: ')

  test.each<readonly [args: string, parameters: Readonly<Record<string, string>>]>([
    [
      'order_by_distance: {column: "at_point", longitude: 3.2, latitude: 3}, order_by: {id: DESC}',
      { sort: '"at point".distance(3.2,3),-id' },
    ],
    [
      'order_by_distance: {column: "area", longitude: 2, latitude: 1}, limit: 2, offset: 1',
      { sort: 'area.distance(2,1)', perPage: '1', page: '2' },
    ],
    [
      'near: {column: "at_point", longitude: 1, latitude: 1, distance: 200000}, order_by_distance: {column: "at_point", longitude: 2, latitude: 2}',
      { near: '"at point",1,1,200000', sort: '"at point".distance(2,2)' },
    ],
  ])('%s has the order and the distances of the REST list', async (args, parameters) => {
    const document = `{ spot(${args}) { id _distance } }`
    const { data } = await runGraphql(app, document, { token })
    const query = new URLSearchParams({ ...parameters, fields: 'id' })
    const { json } = await app.request('GET', `/api/collections/spot?${query}`, { token })
    const count = json.items.length
    expect(count).toBeGreaterThan(0)
    expect((data as { spot: unknown[] }).spot.slice(0, count)).toEqual(json.items)
  })

  test.each<readonly [args: string, message: string]>([
    ['{column: "none", longitude: 1, latitude: 1}', 'unknown column "none" in sort'],
    ['{column: "id", longitude: 1, latitude: 1}', 'column "id" is not a spatial column'],
    [
      '{column: "area", longitude: "NaN", latitude: 1}',
      'distance sort must use format: column.distance(lng,lat)',
    ],
    [
      '{column: "a\\".distance(1,1),\\"id", longitude: 1, latitude: 1}',
      'unknown column "a".distance(1,1),"id" in sort',
    ],
    [
      '{column: "area", longitude: 500, latitude: 1}',
      'distance sort requires valid WGS84 coordinates: expected a longitude from -180 to 180 and a latitude from -90 to 90',
    ],
  ])('order_by_distance: %s is refused', async (point, message) => {
    const { errors } = await runGraphql(app, `{ spot(order_by_distance: ${point}) { id } }`, { token })
    expect(errors?.map((each) => each.message)).toEqual([message])
  })

  test('order_by_distance is refused with distinct_on', async () => {
    const document =
      '{ spot(order_by_distance: {column: "area", longitude: 1, latitude: 1}, distinct_on: [id]) { id } }'
    const { errors } = await runGraphql(app, document, { token })
    expect(errors?.[0]?.message).toBe('order_by_distance: cannot be combined with distinct_on')
  })

  test.each<readonly [args: string, parameters: Readonly<Record<string, string>>, count: number]>([
    [
      'near: {column: "at_point", longitude: 1, latitude: 1, distance: 200000}',
      { near: '"at point",1,1,200000' },
      3,
    ],
    [`within: {column: "area", geojson: ${literal}}`, { within: `area,${polygon}` }, 2],
    [`intersects: {column: "area", geojson: ${literal}}`, { intersects: `area,${polygon}` }, 5],
    [
      'bbox: {column: "area", minLng: 3.9, minLat: 3.9, maxLng: 4.2, maxLat: 4.2}',
      { bbox: 'area,3.9,3.9,4.2,4.2' },
      2,
    ],
  ])('%s has the records of the REST list', async (args, parameters, count) => {
    const { graphql, rest } = await search(app, 'spot', args, parameters)
    expect(rest.items).toHaveLength(count)
    expect(graphql).toEqual({ status: 200, data: { found: rest.items } })
  })
})
