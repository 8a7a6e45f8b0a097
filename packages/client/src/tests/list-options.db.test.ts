import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  countLetters,
  type EmbeddingProvider,
  embeddings,
  startEmbeddingProvider,
} from '../../../server/test/embedding-provider.ts'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionSetupMs,
} from '../../../server/test/extension-database.ts'
import { faultsOf } from '../../../server/test/faults.ts'
import { alice } from '../../../server/test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../server/test/test-app.ts'
import { type Client, createClient, type FacetCount, gt, oneOf } from '../index.ts'
import { createNetwork } from './harness.ts'
import { typed } from './typed.ts'

interface Song {
  id: number
  title: string
  mood: 'calm' | 'loud' | null
  seconds: number | string
  'odd, (name)': number
}

interface Shop {
  id: number
  name: string
  spot: { type: string } | null
}

interface Note {
  id: number
  title: string
  meaning: number[] | null
}

interface ReadOnly<Row> {
  Row: Row
  Insert: never
  Update: never
  Key: [number]
  Relations: Record<never, never>
}

interface Database {
  tables: { song: ReadOnly<Song>; shop: ReadOnly<Shop>; note: ReadOnly<Note> }
  enums: Record<never, never>
  procedures: Record<never, never>
}

const token = userToken({ sub: alice })
const network = createNetwork()
const clientOf = (app: TestApp) => createClient<Database>({ url: app.url, auth: token, fetch: network.fetch })

describe('list', () => {
  let app: TestApp
  let client: Client<Database>

  beforeAll(async () => {
    app = await createTestApp({
      setup: `
        create extension pg_trgm;
        create type mood as enum ('calm', 'loud');
        create table song (id int primary key, title text not null, mood mood, seconds numeric not null, "odd, (name)" int not null);
        insert into song values
          (1, 'River <of> rain', 'calm', 200, 1), (2, 'Loud thunder', 'loud', 90.5, 1), (3, 'Quiet river', 'calm', 300, 2),
          (4, 'Nothing', null, 12345678901234567.89, 3)`,
    })
    client = clientOf(app)
  })
  afterAll(async () => {
    expect(faultsOf(app)).toEqual([])
    await app[Symbol.asyncDispose]()
  })

  test('marks the matches of a search, and tolerates typos', async () => {
    const songs = client.from('song')
    const { items } = await songs.list({ search: 'rain', highlight: true, fields: ['id'] })
    expect(items).toEqual([
      {
        id: 1,
        _highlight: 'River &lt;of&gt; <b>rain</b>',
        _highlightResult: { title: { value: 'River &lt;of&gt; <b>rain</b>', matchLevel: 'full' } },
      },
    ])
    typed<'full' | 'none' | undefined>()(items[0]?._highlightResult?.title?.matchLevel)
    // @ts-expect-error nothing is marked
    expect((await songs.first({ search: 'rain' }))?._highlight).toBeUndefined()

    const idsOf = async (search: string, typoThreshold?: number) =>
      (await songs.list({ search, fuzzy: true, typoThreshold })).items.map(({ id }) => id).sort()
    expect(await idsOf('rivr')).toEqual([3])
    expect(await idsOf('rivr', 0.1)).toEqual([1, 3])
    expect(await songs.count({ search: 'rivr', fuzzy: true, typoThreshold: 1 })).toBe(0)
    // A search field is blank at first.
    expect(await idsOf(' ', 0.5)).toEqual([1, 2, 3, 4])
    expect(await songs.list({ search: '', highlight: true, fields: ['id'], perPage: 1 })).toMatchObject({
      items: [{ id: 1 }],
    })
  })

  test('counts the values of facets, typed by their columns', async () => {
    const songs = client.from('song')
    const page = await songs.list({ facets: ['mood', 'seconds'], filter: { id: gt(1) }, perPage: 1 })
    typed<FacetCount<'calm' | 'loud' | null>[]>()(page.facets.mood)
    expect(page).toEqual({
      page: 1,
      perPage: 1,
      totalItems: 3,
      totalPages: 3,
      items: [expect.objectContaining({ id: 2 })],
      facets: {
        mood: [
          { value: 'calm', count: 1 },
          { value: 'loud', count: 1 },
          { value: null, count: 1 },
        ],
        seconds: [
          { value: 90.5, count: 1 },
          { value: 300, count: 1 },
          { value: '12345678901234567.89', count: 1 },
        ],
      },
      facetStats: { seconds: { min: 90.5, max: '12345678901234567.89' } },
    })
    const filter = { mood: 'calm' } as const
    const query = { filter, facets: ['mood'], cursor: '', fields: ['id'] } as const
    const own = await songs.list(query)
    expect([own.items, own.facets]).toEqual([[{ id: 1 }, { id: 3 }], { mood: [{ value: 'calm', count: 2 }] }])
    const { facets } = await songs.list({ ...query, disjunctiveFacets: ['mood'] })
    expect(facets.mood.map(({ count }) => count)).toEqual([2, 1, 1])
    // @ts-expect-error no facets were asked for
    expect((await songs.list({ filter })).facets).toBeUndefined()
    // @ts-expect-error there is no such column
    await expect(songs.list({ facets: ['nothing'] })).rejects.toMatchObject({ error: 'unknown_column' })
    // @ts-expect-error a text
    await expect(songs.list({ facets: 'mood' })).rejects.toThrow("facets is a list, as in { facets: ['a'] }")
  })

  test('computes figures of groups, typed by function and column', async () => {
    const songs = client.from('song')
    const grouped = await songs.aggregate({
      aggregate: ['count', 'sum(seconds)', 'max(title)', 'count_distinct(odd, (name))'],
      group: ['mood'],
      groupSort: ['-count', 'mood'],
      groupLimit: 2,
      filter: { id: oneOf([1, 2, 3, 4]) },
    })
    const [first] = grouped.results
    typed<'calm' | 'loud' | null | undefined>()(first?.mood)
    typed<number | string | null | undefined>()(first?.sum_seconds)
    typed<string | null | undefined>()(first?.max_title)
    typed<number | undefined>()(first?.['count_distinct_odd, (name)'])
    expect(grouped).toEqual({
      results: [
        {
          mood: 'calm',
          count: 2,
          sum_seconds: 500,
          max_title: 'River <of> rain',
          'count_distinct_odd, (name)': 2,
        },
        {
          mood: 'loud',
          count: 1,
          sum_seconds: 90.5,
          max_title: 'Loud thunder',
          'count_distinct_odd, (name)': 1,
        },
      ],
      exhaustive: false,
    })
    const whole = await songs.aggregate({ aggregate: ['count', 'avg(seconds)'], search: 'river' })
    typed<number | string | null | undefined>()(whole.results[0]?.avg_seconds)
    expect(whole).toEqual({ results: [{ count: 2, avg_seconds: 250 }] })
    // @ts-expect-error there is no such function
    const unknown = songs.aggregate({ aggregate: ['median(seconds)'] })
    await expect(unknown).rejects.toMatchObject({ error: 'invalid_aggregate' })
    // @ts-expect-error a text
    await expect(songs.aggregate({ aggregate: 'count' })).rejects.toThrow(
      "aggregate is a list, as in { aggregate: ['a'] }",
    )
  })

  test('sends a query that is too long for a URL in a body', async () => {
    network.requests.length = 0
    const songs = client.from('song')
    const filter = { id: oneOf(Array.from({ length: 1200 }, (_, index) => index + 2)) }
    const { items, nextCursor } = await songs.list({ filter, sort: ['-id'], perPage: 2, cursor: '' })
    expect(items.map(({ id }) => id)).toEqual([4, 3])
    const rest = await songs.list({ filter, sort: ['-id'], perPage: 2, cursor: nextCursor ?? '' })
    expect(rest.items.map(({ id }) => id)).toEqual([2])
    expect(await songs.list({ filter, perPage: 1, total: 'none' })).toMatchObject({ totalItems: -1 })
    expect(await songs.count({ filter })).toBe(3)
    expect(await songs.aggregate({ filter, aggregate: ['count'] })).toEqual({ results: [{ count: 3 }] })
    expect(network.requests).toEqual(Array.from({ length: 5 }, () => 'POST /api/collections/song/query'))
  })
})

describe('list of a map', () => {
  let database: ExtensionDatabase
  let app: TestApp

  beforeAll(async () => {
    database = await createExtensionDatabase('postgis')
    app = await createTestApp({
      database,
      config: database.config,
      setup: `
        create table shop (id int primary key, name text not null, spot "Ext 1".geography(Point, 4326));
        insert into shop values (1, 'zero', 'POINT(0 0)'), (2, 'north', 'POINT(0 1)'), (3, 'east', 'POINT(3 0)'), (4, 'nowhere', null)`,
    })
    await app.sql('grant usage on schema "Ext 1" to basalt_authenticated')
  }, extensionSetupMs)
  afterAll(async () => {
    expect(faultsOf(app)).toEqual([])
    await app[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  test('begins with the nearest record, and finds records in an area', async () => {
    const shops = clientOf(app).from('shop')
    const nearest = { column: 'spot', lng: 0, lat: 1 } as const
    const { items } = await shops.list({ nearest, sort: ['-name'], fields: ['id'] })
    typed<number | null | undefined>()(items[0]?._distance)
    expect(items).toEqual([
      { id: 2, _distance: 0 },
      { id: 1, _distance: expect.closeTo(110_574, 0) },
      { id: 3, _distance: expect.closeTo(351_764, -3) },
      { id: 4, _distance: null },
    ])
    const idsOf = async (query: Parameters<typeof shops.count>[0] & object) => {
      const found: number[] = []
      for await (const { id } of shops.each(query)) found.push(id)
      expect(await shops.count(query)).toBe(found.length)
      return found
    }
    const geometry = {
      type: 'Polygon',
      coordinates: [
        [
          [2, -1],
          [4, -1],
          [4, 1],
          [2, -1],
        ],
      ],
    }
    expect(await idsOf({ near: { ...nearest, distance: 120_000 } })).toEqual([1, 2])
    expect(await idsOf({ within: { column: 'spot', geometry } })).toEqual([3])
    expect(await idsOf({ intersects: { column: 'spot', geometry } })).toEqual([3])
    const bbox = { minLng: -1, minLat: -1, maxLng: 1, maxLat: 0.5 }
    expect(await idsOf({ bbox: { column: 'spot', ...bbox } })).toEqual([1])
    // @ts-expect-error there is no such column
    await expect(shops.list({ nearest: { ...nearest, column: 'x' } })).rejects.toMatchObject({ status: 400 })
  })
})

describe('list by meaning', () => {
  let provider: EmbeddingProvider
  let database: ExtensionDatabase
  let app: TestApp

  beforeAll(async () => {
    provider = await startEmbeddingProvider()
    provider.answer = embeddings(countLetters)
    database = await createExtensionDatabase('vector')
    const openai = { api_key: 'sk', base_url: provider.url, default_model: 'letters' }
    app = await createTestApp({
      database,
      config: { ...database.config, 'ai.providers': JSON.stringify({ openai }) },
      setup: `
        create extension vector;
        create table note (id int primary key, title text not null, meaning vector(3));
        insert into note values (1, 'apple pie', '[1,0,0]'), (2, 'banana split', '[0,1,0]'), (3, 'apple banana', '[1,1,0]')`,
    })
  }, extensionSetupMs)
  afterAll(async () => {
    expect(faultsOf(app)).toEqual([])
    await app[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
    await provider[Symbol.asyncDispose]()
  })

  test('begins with the records nearest to a vector or a text', async () => {
    const notes = clientOf(app).from('note')
    const nearest = { vector: [0, 2, 0], column: 'meaning', metric: 'l2' } as const
    const byVector = await notes.list({ nearest, fields: ['id'], perPage: 2 })
    typed<number | null | undefined>()(byVector.items[0]?._distance)
    expect(byVector.items).toEqual([
      { id: 2, _distance: 1 },
      { id: 3, _distance: expect.closeTo(Math.SQRT2) },
    ])
    const byText = await notes.list({ semantic: { text: 'aaa' }, fields: ['id'] })
    typed<number | null | undefined>()(byText.items[0]?._distance)
    expect(byText.items.map(({ id }) => id)).toEqual([1, 3, 2])
    expect(await notes.first({ nearest: { vector: [0, 1, 0] }, fields: ['id'] })).toEqual({
      id: 2,
      _distance: 0,
    })
  })

  test('fuses a search by words and by meaning', async () => {
    const notes = clientOf(app).from('note')
    const { items } = await notes.list({ search: 'apple', semantic: true, fields: ['id'] })
    typed<number | undefined>()(items[0]?._hybrid_score)
    expect(items).toMatchObject([{ id: 1 }, { id: 3 }, { id: 2 }])
    expect(items[2]).toEqual({
      id: 2,
      _hybrid_score: expect.any(Number),
      _vector_distance: expect.any(Number),
    })
    const target = { column: 'meaning', metric: 'l2' } as const
    const byTarget = await notes.list({ search: 'apple', semantic: target, fields: ['id'] })
    expect(byTarget.items).toHaveLength(3)
    // A search field is blank at first.
    expect((await notes.list({ search: '', semantic: true, fields: ['id'] })).items).toEqual([
      { id: 1 },
      { id: 2 },
      { id: 3 },
    ])
  })
})
