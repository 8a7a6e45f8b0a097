import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'

/** Values of every kind of facet, few of each, and rows that only their owner may read. */
const setup = `
  create type mood as enum ('calm', 'wild', 'none');
  create domain grade as int check (value between 1 and 6);
  create table song (
    id int primary key,
    title text not null,
    genre text,
    mood mood,
    year int,
    plays bigint not null,
    price numeric(20, 2),
    ratio double precision,
    grade grade,
    is_live boolean,
    label uuid,
    released timestamptz,
    day date,
    length interval,
    tags text[],
    extra jsonb,
    raw json,
    spot point,
    secret text
  );
  insert into song values
    (1, 'One', 'Rock', 'wild', 1990, 9007199254740993, 1.10, 0.5, 1, true,
      '00000000-0000-4000-8000-000000000001', '2026-01-02 03:04:05+00', '2026-01-02', 'PT3M', '{a}', '{}', '{}'),
    (2, 'Two', 'Rock', 'calm', 1990, 5, 1.1, 'NaN', 2, false,
      '00000000-0000-4000-8000-000000000001', '2026-01-02 04:04:05+01', '2026-01-02', 'PT180S', null, null, null),
    (3, 'Three', 'Jazz', 'calm', 2001, 5, 99999999999999999.99, null, 2, null,
      '00000000-0000-4000-8000-000000000002', 'infinity', null, null, null, null, null),
    (4, 'Four', null, null, null, 7, null, null, null, true, null, null, null, null, null, null, null),
    (5, 'Five', 'jazz', 'none', 2001, 5, 3, 2, 6, true, null, null, null, null, null, null, null);
  create table diary (
    id int primary key,
    owner_id uuid not null,
    topic text not null
  );
  insert into diary values (1, '${alice}', 'work'), (2, '${alice}', 'play'), (3, '${bob}', 'bribes'),
    (4, '${bob}', 'work');
  alter table diary enable row level security;
  create policy own on diary using (owner_id = basalt.user_id());
  create table many (id int primary key, part int not null, song_id int references song);
  insert into many (id, part) select n, n from generate_series(1, 12) n;
  insert into many (id, part) values (100, 7);
  create table odd ("select" int, "a ""b" text, "set" int, "count" text, value int);
  insert into odd values (1, 'x', 2, 'y', 3), (1, 'x', 2, 'z', 3);`

/** Columns that only some callers may read; a grant on columns replaces the grant on the table. */
const grants = `
  revoke select on song from basalt_authenticated;
  grant select (id, title, genre, mood, year, plays, price, ratio, grade, is_live, label, released, day, length, tags,
    extra, raw, spot) on song to basalt_authenticated;
  create table later (id int primary key);`

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup, config: { 'api.max_facet_buckets': '10' } })
  await app.sql(grants)
  // A name that the catalog does not know makes it read the catalog again, grants included.
  await app.request('GET', '/api/collections/later', { token })
})
afterAll(() => app[Symbol.asyncDispose]())

function get(path: string, parameters: Readonly<Record<string, string>>, by: string = token) {
  return app.request('GET', `/api/collections/${path}?${new URLSearchParams(parameters)}`, { token: by })
}

async function list(table: string, parameters: Readonly<Record<string, string>>): Promise<TestResponse> {
  const response = await get(table, parameters)
  expect(response.status, response.text).toBe(200)
  return response
}

async function facetsOf(parameters: Readonly<Record<string, string>>, table = 'song') {
  return (await list(table, parameters)).json.facets
}

async function expectError(
  path: string,
  parameters: Readonly<Record<string, string>>,
  [status, error, message]: readonly [number, string, string],
) {
  expect(envelope(await get(path, parameters))).toEqual({ code: status, error, message })
}

describe('GET /collections/:table?facets', () => {
  test('counts every value, most frequent first, then by value, NULL last', async () => {
    const response = await list('song', { facets: 'genre,mood', fields: 'id', perPage: '1' })
    expect(response.json).toEqual({
      page: 1,
      perPage: 1,
      totalItems: 5,
      totalPages: 5,
      items: [{ id: 1 }],
      facets: {
        genre: [
          { value: 'Rock', count: 2 },
          ...(await textOrder(['Jazz', 'jazz'])).map((value) => ({ value, count: 1 })),
          { value: null, count: 1 },
        ],
        mood: [
          { value: 'calm', count: 2 },
          { value: 'wild', count: 1 },
          { value: 'none', count: 1 },
          { value: null, count: 1 },
        ],
      },
    })
  })

  /** Returns the values in database order, which depends on the collation. */
  async function textOrder(values: readonly string[]): Promise<string[]> {
    const rows = await app.sql<{ value: string }>('select value from unnest($1::text[]) value order by 1', [
      values,
    ])
    return rows.map(({ value }) => value)
  }

  test.each([
    ['year', '[{"value":1990,"count":2},{"value":2001,"count":2},{"value":null,"count":1}]'],
    ['plays', '[{"value":5,"count":3},{"value":7,"count":1},{"value":9007199254740993,"count":1}]'],
    [
      'price',
      '[{"value":1.10,"count":2},{"value":3.00,"count":1},{"value":99999999999999999.99,"count":1},{"value":null,"count":1}]',
    ],
    [
      'ratio',
      '[{"value":null,"count":2},{"value":0.5,"count":1},{"value":2,"count":1},{"value":"NaN","count":1}]',
    ],
    ['grade', '[{"value":2,"count":2},{"value":1,"count":1},{"value":6,"count":1},{"value":null,"count":1}]'],
    ['is_live', '[{"value":true,"count":3},{"value":false,"count":1},{"value":null,"count":1}]'],
    [
      'label',
      '[{"value":"00000000-0000-4000-8000-000000000001","count":2},{"value":null,"count":2},{"value":"00000000-0000-4000-8000-000000000002","count":1}]',
    ],
    [
      'released',
      '[{"value":"2026-01-02T03:04:05+00:00","count":2},{"value":null,"count":2},{"value":"infinity","count":1}]',
    ],
    ['day', '[{"value":null,"count":3},{"value":"2026-01-02","count":2}]'],
    ['length', '[{"value":null,"count":3},{"value":"PT3M","count":2}]'],
  ])('returns values of %s as records have them, digit by digit', async (column, expected) => {
    const { text } = await list('song', { facets: column, skipTotal: 'true', perPage: '1' })
    const [, buckets] = /"facets":\{"\w+":(\[.*?\])\}/s.exec(text) ?? []
    expect(buckets?.replaceAll(/\s*\n\s*/g, '')).toBe(expected)
  })

  test('counts the filtered rows, whatever page is returned', async () => {
    const query = { facets: 'genre', filter: 'year > 1980', perPage: '2' }
    const expected = [
      { value: 'Rock', count: 2 },
      { value: 'Jazz', count: 1 },
      { value: 'jazz', count: 1 },
    ]
    for (const page of ['1', '2', '9']) {
      expect((await facetsOf({ ...query, page })).genre).toEqual(expect.arrayContaining(expected))
    }
    const first = await list('song', { ...query, cursor: '' })
    expect(first.json).toMatchObject({ perPage: 2, facets: { genre: expect.arrayContaining(expected) } })
    const next = await list('song', { ...query, cursor: first.json.nextCursor })
    expect(next.json).toEqual({
      perPage: 2,
      items: [expect.anything(), expect.anything()],
      facets: { genre: expect.arrayContaining(expected) },
    })
  })

  test.each([{ skipTotal: 'true' }, { total: 'estimated' }, {}])(
    'can be combined with totals: %j',
    async (totals) => {
      const { totalItems } = (await list('song', totals)).json
      const response = await list('song', { ...totals, facets: 'is_live,year' })
      expect(response.json.totalItems).toBe(totalItems)
      expect(Object.keys(response.json.facets)).toEqual(['is_live', 'year'])
    },
  )

  test('returns empty facets when no row matches', async () => {
    const { facets, facetStats } = (await list('song', { facets: 'genre,year', filter: 'id < 0' })).json
    expect({ facets, facetStats }).toEqual({ facets: { genre: [], year: [] }, facetStats: undefined })
  })

  test('returns no facets unless requested', async () => {
    for (const query of [{}, { facets: '' }, { disjunctiveFacets: 'genre' }]) {
      expect(await facetsOf(query)).toBeUndefined()
    }
  })

  test('keeps the requested order, each facet once, under odd names too', async () => {
    expect(await facetsOf({ facets: 'value,"a ""b",set,select,count,set' }, 'odd')).toEqual({
      value: [{ value: 3, count: 2 }],
      'a "b': [{ value: 'x', count: 2 }],
      set: [{ value: 2, count: 2 }],
      select: [{ value: 1, count: 2 }],
      count: [
        { value: 'y', count: 1 },
        { value: 'z', count: 1 },
      ],
    })
  })

  test('counts the rows that the policies show the caller', async () => {
    const { json } = await list('diary', { facets: 'topic' })
    expect(json).toMatchObject({
      totalItems: 2,
      facets: {
        topic: [
          { value: 'play', count: 1 },
          { value: 'work', count: 1 },
        ],
      },
    })
    const asAdmin = await get('diary', { facets: 'topic' }, await app.adminToken())
    expect(asAdmin.json.facets.topic).toEqual([
      { value: 'work', count: 2 },
      { value: 'bribes', count: 1 },
      { value: 'play', count: 1 },
    ])
  })

  test('returns the most frequent values beyond the limit, and reports that there are more', async () => {
    const { json } = await list('many', { facets: 'part,id', filter: 'id < 12 or id = 100' })
    expect(json.facets.part).toEqual([
      { value: 7, count: 2 },
      ...[1, 2, 3, 4, 5, 6, 8, 9, 10].map((value) => ({ value, count: 1 })),
    ])
    expect(json.facetsExhaustive).toEqual({ part: false, id: false })
    expect(json.facetStats).toEqual({ part: { min: 1, max: 11 }, id: { min: 1, max: 100 } })
    expect((await list('many', { facets: 'part', filter: 'id <= 10' })).json.facetsExhaustive).toBeUndefined()
  })
})

describe('facet statistics', () => {
  test('have the smallest and the greatest value of numeric facets', async () => {
    const { text } = await list('song', { facets: 'genre,year,plays,price,grade,day' })
    expect(text).toContain(
      '"facetStats":{"year":{"min":1990,"max":2001},"plays":{"min":5,"max":9007199254740993},' +
        '"price":{"min":1.10,"max":99999999999999999.99},"grade":{"min":1,"max":6}}',
    )
  })

  test('leave out a column without values', async () => {
    const { json } = await list('song', { facets: 'year,plays', filter: 'id = 4' })
    expect(json.facetStats).toEqual({ plays: { min: 7, max: 7 } })
  })
})

describe('disjunctive facets', () => {
  const years = [
    { value: 1990, count: 2 },
    { value: 2001, count: 2 },
    { value: null, count: 1 },
  ]

  test.each([
    ['year = 1990', years],
    ['year in (1990, 1)', years],
    ['year = null', years],
    [
      'plays = 5 and year = 1990',
      [
        { value: 2001, count: 2 },
        { value: 1990, count: 1 },
      ],
    ],
    [
      'plays = 5 and (year = 2001 and year in (2001))',
      [
        { value: 2001, count: 2 },
        { value: 1990, count: 1 },
      ],
    ],
    ['year > 1990', [{ value: 2001, count: 2 }]],
    [
      'year != null and year = 1990',
      [
        { value: 1990, count: 2 },
        { value: 2001, count: 2 },
      ],
    ],
    [
      'year = 1990 or year = 2001',
      [
        { value: 1990, count: 2 },
        { value: 2001, count: 2 },
      ],
    ],
    [
      '(year = 1990 or plays = 7) and year = 1990',
      [
        { value: 1990, count: 2 },
        { value: null, count: 1 },
      ],
    ],
  ])('ignore the conditions on their own values: %s', async (filter, expected) => {
    const facets = await facetsOf({ facets: 'year,plays', disjunctiveFacets: 'year', filter })
    expect(facets.year).toEqual(expected)
    const plain = await facetsOf({ facets: 'plays', filter })
    expect(facets.plays).toEqual(plain.plays)
  })

  test('each ignore only their own conditions', async () => {
    const filter = 'year = 2001 and is_live = true'
    const query = { facets: 'is_live,year,genre', disjunctiveFacets: 'year,is_live', filter }
    const { json } = await list('song', query)
    expect(json.items.map(({ id }: { id: number }) => id)).toEqual([5])
    expect(json.facets).toEqual({
      is_live: [
        { value: true, count: 1 },
        { value: null, count: 1 },
      ],
      year: [
        { value: 1990, count: 1 },
        { value: 2001, count: 1 },
        { value: null, count: 1 },
      ],
      genre: [{ value: 'jazz', count: 1 }],
    })
    expect(json.facetStats).toEqual({ year: { min: 1990, max: 2001 } })
  })
})

describe('search with facets, aggregates and exports', () => {
  test('narrows all of them to the matches', async () => {
    const search = { search: 'rock' }
    const { json } = await list('song', { ...search, facets: 'year,genre', fields: 'id' })
    expect(json.items.map(({ id }: { id: number }) => id).toSorted()).toEqual([1, 2])
    expect(json.facets).toEqual({
      year: [{ value: 1990, count: 2 }],
      genre: [{ value: 'Rock', count: 2 }],
    })
    const { facets } = (
      await list('song', {
        ...search,
        facets: 'plays',
        disjunctiveFacets: 'plays',
        filter: 'plays = 5',
        cursor: '',
      })
    ).json
    expect(facets.plays.map(({ count }: { count: number }) => count)).toEqual([1, 1])
    expect((await list('song', { ...search, aggregate: 'count,max(id)' })).json).toEqual({
      results: [{ count: 2, max_id: 2 }],
    })
    expect((await list('song/facets/genre/search', search)).json.facetHits).toEqual([
      { value: 'Rock', highlighted: 'Rock', count: 2 },
    ])
    expect((await list('song/export.csv', { ...search, fields: 'id', sort: '-id' })).text).toBe('id\n2\n1\n')
    const ranked = await list('song/export.csv', { search: 'two or rock', fields: 'id' })
    expect(ranked.text).toBe('id\n2\n1\n')
  })

  test('is not highlighted outside lists', async () => {
    const query = { search: 'rock', highlight: 'true' }
    await expectError('song', { ...query, aggregate: 'count' }, [
      400,
      'unsupported_parameter',
      'unsupported parameter "highlight"',
    ])
    for (const path of ['song/export.csv', 'song/facets/genre/search']) {
      await expectError(path, query, [400, 'unknown_parameter', 'unknown parameter "highlight"'])
    }
    await expectError('song/export.csv', { search: ' ', fuzzy: 'true' }, [
      400,
      'invalid_parameter',
      'fuzzy parameter requires non-empty search',
    ])
  })
})

describe('GET /collections/:table?facets rejects', () => {
  test.each([
    ['facets', 'nope', 'unknown column "nope" in facets parameter', 'unknown_column'],
    ['facets', 'genre,Year', 'unknown column "Year" in facets parameter', 'unknown_column'],
    ['disjunctiveFacets', 'nope', 'unknown column "nope" in disjunctiveFacets parameter', 'unknown_column'],
    ['facets', 'tags', 'unsupported facet column "tags" with type "text[]"', 'unsupported_facet'],
    ['facets', 'extra', 'unsupported facet column "extra" with type "jsonb"', 'unsupported_facet'],
    ['facets', 'raw', 'unsupported facet column "raw" with type "json"', 'unsupported_facet'],
    ['facets', 'spot', 'unsupported facet column "spot" with type "point"', 'unsupported_facet'],
    ['facets', 'genre,', 'facets: expected a name after the last comma', 'invalid_parameter'],
    ['facets', '"', 'facets: expected comma-separated names, at position 0', 'invalid_parameter'],
    ['facets', names(21), 'facets: expected at most 20 columns', 'invalid_parameter'],
  ])('%s=%s', async (parameter, value, message, error) => {
    await expectError('song', { [parameter]: value }, [400, error, message])
  })

  function names(count: number): string {
    return Array.from({ length: count }, (_, index) => `c${index}`).join()
  }

  test('columns that the caller may not read', async () => {
    const refusal = [403, 'insufficient_permissions', 'insufficient permissions'] as const
    await expectError('song', { fields: 'secret' }, refusal)
    await expectError('song', { facets: 'secret' }, refusal)
    await expectError('song', { facets: 'genre,secret', disjunctiveFacets: 'secret' }, refusal)
    await expectError('song/facets/secret/search', {}, refusal)
    await expectError('song', { aggregate: 'min(secret)' }, refusal)
    await expectError('song', { aggregate: 'count', group: 'secret' }, refusal)
  })

  test('no column that was just added', async () => {
    await app.sql('alter table many add column colour text')
    expect(await facetsOf({ facets: 'colour' }, 'many')).toEqual({ colour: [{ value: null, count: 13 }] })
    await app.sql('alter table many drop column colour')
    await expectError('many', { facets: 'colour' }, [
      400,
      'unknown_column',
      'unknown column "colour" in facets parameter',
    ])
  })
})

describe('GET /collections/:table/facets/:column', () => {
  const hits = async (parameters: Readonly<Record<string, string>>, path = 'song/facets/genre/search') =>
    (await list(path, parameters)).json

  test('returns values with the prefix in any case, most frequent first', async () => {
    expect(await hits({ q: 'JA' })).toEqual({
      facetHits: expect.arrayContaining([
        { value: 'Jazz', highlighted: '<mark>Ja</mark>zz', count: 1 },
        { value: 'jazz', highlighted: '<mark>ja</mark>zz', count: 1 },
      ]),
      exhaustiveFacetsCount: true,
    })
    expect(await hits({ q: 'rock' })).toEqual({
      facetHits: [{ value: 'Rock', highlighted: '<mark>Rock</mark>', count: 2 }],
      exhaustiveFacetsCount: true,
    })
    expect(await hits({ q: 'azz' })).toEqual({ facetHits: [], exhaustiveFacetsCount: true })
  })

  test('returns every value but NULL for an empty prefix, and reports when there are more', async () => {
    expect((await hits({})).facetHits).toHaveLength(3)
    expect(await hits({ maxFacetHits: '1' })).toEqual({
      facetHits: [{ value: 'Rock', highlighted: 'Rock', count: 2 }],
      exhaustiveFacetsCount: false,
    })
    expect((await hits({ maxFacetHits: '3' })).exhaustiveFacetsCount).toBe(true)
  })

  test('counts the filtered rows that the policies show', async () => {
    expect((await hits({ q: 'r', filter: 'year = 1990 and plays = 5' })).facetHits).toEqual([
      { value: 'Rock', highlighted: '<mark>R</mark>ock', count: 1 },
    ])
    expect((await hits({}, 'diary/facets/topic/search')).facetHits).toEqual([
      { value: 'play', highlighted: 'play', count: 1 },
      { value: 'work', highlighted: 'work', count: 1 },
    ])
  })

  test('matches the prefix literally and escapes the markup of values', async () => {
    const values = ['<b>&"bold"</b>', '100% _x', 'a\\b', '😀 face', `O'Neil`]
    await app.sql(
      `insert into song (id, title, genre, plays) select 1000 + n, 't', v, 0
      from unnest($1::text[]) with ordinality x (v, n)`,
      [values],
    )
    const highlighted = async (q: string) =>
      (await hits({ q })).facetHits.map((hit: { highlighted: string }) => hit.highlighted)
    expect(await highlighted('<B>')).toEqual(['<mark>&lt;b&gt;</mark>&amp;&quot;bold&quot;&lt;/b&gt;'])
    expect(await highlighted('100%')).toEqual(['<mark>100%</mark> _x'])
    expect(await highlighted('1%')).toEqual([])
    expect(await highlighted('100% _')).toEqual(['<mark>100% _</mark>x'])
    expect(await highlighted('____')).toEqual([])
    expect(await highlighted('a\\')).toEqual(['<mark>a\\</mark>b'])
    expect(await highlighted('😀')).toEqual(['<mark>😀</mark> face'])
    expect(await highlighted("o'")).toEqual(['<mark>O&#39;</mark>Neil'])
    await app.sql('delete from song where id >= 1000')
  })

  test.each([
    [{ maxFacetHits: '0' }, 'maxFacetHits must be greater than 0'],
    [{ maxFacetHits: '-3' }, 'maxFacetHits must be greater than 0'],
    [{ maxFacetHits: '101' }, 'maxFacetHits must be less than or equal to 100'],
    [{ maxFacetHits: 'x' }, 'maxFacetHits: expected an integer'],
    [{ q: 'x'.repeat(1001) }, 'facet prefix too long'],
  ])('rejects %j', async (parameters, message) => {
    await expectError('song/facets/genre/search', parameters, [400, 'invalid_parameter', message])
  })

  test('rejects columns that cannot be searched', async () => {
    await expectError('song/facets/nope/search', {}, [
      400,
      'unknown_column',
      'unknown column "nope" in facets parameter',
    ])
    for (const [column, type] of [
      ['year', 'integer'],
      ['mood', 'mood'],
      ['tags', 'text[]'],
    ]) {
      const message = `facet value search requires a text column, but "${column}" has type "${type}"`
      await expectError(`song/facets/${column}/search`, {}, [400, 'unsupported_facet_search', message])
    }
    await expectError('nope/facets/genre/search', {}, [
      404,
      'collection_not_found',
      'collection not found: nope',
    ])
    await expectError('song/facets/genre/search', { Q: 'x' }, [
      400,
      'unknown_parameter',
      'unknown parameter "Q"; did you mean q?',
    ])
    expect(envelope(await get('song/facets/genre/search', { filter: 'x = 1' }))).toMatchObject({
      code: 400,
      message: 'invalid filter: unknown column: x',
    })
  })
})

describe('facets for a program', () => {
  test('are counted on the tables that it may read', async () => {
    await app.sql('insert into basalt.users (id) values ($1)', [alice])
    const { key } = await createApiKey(app, { userId: alice, scope: 'readonly', allowedTables: ['many'] })
    const sendRequest = async (path: string) =>
      (await app.request('GET', `/api/collections/${path}`, { token: key })).status
    expect(await sendRequest('many?facets=part')).toBe(200)
    // A column of a table that it may not read, through a relation.
    const related = encodeURIComponent("song.title = 'One'")
    for (const path of ['many?facets=part&', 'many?aggregate=count&', 'many/export.csv?']) {
      expect(await sendRequest(`${path}filter=${related}`)).toBe(403)
    }
    expect(await sendRequest('many?aggregate=count')).toBe(200)
    expect(await sendRequest('song?facets=genre')).toBe(403)
    expect(await sendRequest('song?aggregate=count')).toBe(403)
    expect(await sendRequest('song/facets/genre/search')).toBe(403)
    expect(await sendRequest('nope/facets/genre/search')).toBe(403)
  })
})
