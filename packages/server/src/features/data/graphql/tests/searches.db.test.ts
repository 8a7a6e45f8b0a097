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
        insert into book values (1, 'Solaris'), (2, 'Solar winds'), (3, 'The Dispossessed'), (4, 'Sun and solaris')`,
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
