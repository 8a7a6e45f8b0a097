import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type RequestOptions,
  type TestApp,
  userToken,
} from '../../../../../test/test-app.ts'

/** Lists whose parameters are in the body of a POST. */

const setup = `
  create table album (album_id int primary key, title text not null);
  insert into album values (1, 'Mingus Ah Um'), (2, 'Blue Train');
  create table track (
    track_id int primary key, title text not null, album_id int references album, owner uuid, "a,b" int,
    genre text, serial bigint
  );
  insert into track select n, 'Blue number ' || n, 1 + n % 2,
    case when n <= 6 then '${alice}'::uuid else '${bob}'::uuid end, n, case when n % 2 = 0 then 'Jazz' else 'Soul' end,
    9007199254740990 + n
  from generate_series(1, 8) n;
  alter table track enable row level security;
  create policy own on track using (owner = basalt.user_id());
  create table closed (id int primary key);
  grant select on album to basalt_anonymous`

const distanceFormat = 'distance sort must use format: column.distance(lng,lat)'
const nearFormat = 'near must use format: near=column,lng,lat,distance'
const thresholdFormat = 'typo_threshold must be a number between 0 and 1'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup, config: { 'server.cors_allowed_origins': 'https://shop.example' } })
  await app.sql('insert into basalt.users (id, email) values ($1, $2)', [alice, 'alice@example.com'])
})
afterAll(() => app[Symbol.asyncDispose]())

function query(table: string, body: unknown, options: RequestOptions = { token }) {
  return app.request('POST', `/api/collections/${table}/query`, { ...options, body })
}

describe('POST /collections/:table/query', () => {
  test('returns the same as with the parameters in the URL', async () => {
    const body = {
      filter: "genre IN ('Jazz', 'Soul') AND serial > 9007199254740991",
      search: 'blue -"number 2"',
      highlight: true,
      fields: ['track_id', 'a,b', 'album_id'],
      expand: ['album'],
      facets: ['genre'],
      sort: ['-genre', 'track_id'],
      perPage: 2,
      page: 1,
    }
    const url = new URLSearchParams({
      ...{ filter: body.filter, search: body.search, highlight: 'true', fields: 'track_id,"a,b",album_id' },
      ...{ expand: 'album', facets: 'genre', sort: '-genre,track_id', perPage: '2', page: '1' },
    })
    const listed = await app.request('GET', `/api/collections/track?${url}`, { token })
    const answer = await query('track', body)
    expect([answer.status, answer.text]).toEqual([200, listed.text])
    expect(answer.json).toMatchObject({
      totalItems: 4,
      items: [{ track_id: 3, 'a,b': 3 }, { track_id: 5 }],
      facets: {
        genre: [
          { value: 'Jazz', count: 2 },
          { value: 'Soul', count: 2 },
        ],
      },
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  test('treats an empty body as no parameters', async () => {
    const answer = await app.request('POST', '/api/collections/album/query', { token })
    expect([answer.status, answer.json.totalItems]).toEqual([200, 2])
  })

  test('continues by cursor to the end', async () => {
    const seen: number[] = []
    let cursor: string | undefined = ''
    while (cursor !== undefined) {
      const { status, json, text } = await query('track', { cursor, sort: ['-serial'], perPage: 4 })
      expect(status, text).toBe(200)
      seen.push(...json.items.map((item: { track_id: number }) => item.track_id))
      cursor = json.nextCursor
    }
    expect(seen).toEqual([6, 5, 4, 3, 2, 1])
  })

  test('computes aggregates', async () => {
    const answer = await query('track', { aggregate: ['count', 'max(serial)'], group: ['genre'] })
    expect(answer.text.replaceAll(' ', '')).toBe(
      '{"results":[{"genre":"Jazz","count":3,"max_serial":9007199254740996},' +
        '{"genre":"Soul","count":3,"max_serial":9007199254740995}]}',
    )
    expect(answer.headers.get('x-query-duration-ms')).toMatch(/^\d+$/)
  })

  test.each([
    ['{"filter": "nothing = 1"}', 'invalid filter: unknown column: nothing', 'unknown_filter_column'],
    ['{"fields": ["nothing"]}', 'unknown column "nothing" in fields', 'unknown_column'],
    ['{"limit": 3}', 'unknown parameter "limit"; did you mean perPage?', 'unknown_parameter'],
    ['{"page": 1.5}', 'page: expected an integer', 'invalid_parameter'],
    [
      '{"search": "\\u0000"}',
      'search: PostgreSQL text cannot hold the character U+0000',
      'invalid_parameter',
    ],
    [
      '{"fields": {"a": 1}}',
      'fields: expected a string, a number, a boolean or an array',
      'invalid_parameter',
    ],
    ['{"nearest": [1, 2]}', 'table "track" has no vector columns', 'no_vector_columns'],
    ['{"filter": ', 'invalid JSON body', 'invalid_json'],
  ])('rejects %s', async (body, message, error) => {
    const answer = await app.request('POST', '/api/collections/track/query', {
      token,
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect(envelope(answer)).toMatchObject({ code: 400, message, error })
  })

  // Each of them would keep the server busy for minutes if it were parsed with backtracking.
  test.each([
    [{ sort: `${' '.repeat(8000)}x` }, 'unknown column "x" in sort', 'unknown_column'],
    [{ sort: `+${' '.repeat(400_000)}x` }, 'unknown column "x" in sort', 'unknown_column'],
    [{ sort: `a,${'.distance('.repeat(80_000)}` }, distanceFormat, 'invalid_parameter'],
    [{ sort: `a.distance(${'1'.repeat(400_000)}x,1)` }, distanceFormat, 'invalid_parameter'],
    [{ near: ' '.repeat(8000) }, nearFormat, 'invalid_parameter'],
    [{ near: `a,${'1'.repeat(400_000)}x,2,3` }, nearFormat, 'invalid_parameter'],
    [
      { search: 'a', fuzzy: true, typo_threshold: `${'1'.repeat(400_000)}x` },
      thresholdFormat,
      'invalid_parameter',
    ],
  ])('rejects long values in linear time: %#', async (body, message, error) => {
    const answer = await query('track', body)
    expect(envelope(answer)).toEqual({ code: 400, message, error })
  })

  test('rejects parameters in the URL, other content types and unknown collections', async () => {
    const path = '/api/collections/track/query'
    expect(envelope(await app.request('POST', `${path}?perPage=3`, { token, body: {} }))).toMatchObject({
      code: 400,
      error: 'unknown_parameter',
    })
    const form = { token, headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'page=1' }
    expect((await app.request('POST', path, form)).status).toBe(415)
    expect(envelope(await query('nothing', {}))).toMatchObject({
      code: 404,
      message: 'collection not found: nothing',
    })
    expect((await app.request('PUT', path, { token, body: {} })).status).toBe(405)
  })

  test('is a read for a read-only key, on its tables', async () => {
    const key = {
      token: (await createApiKey(app, { userId: alice, scope: 'readonly', allowedTables: ['track'] })).key,
    }
    expect((await query('track', { perPage: 1 }, key)).json.totalItems).toBe(6)
    expect(envelope(await query('album', {}, key))).toMatchObject({
      code: 403,
      message: 'api key does not have access to table: album',
    })
    expect((await query('track', { expand: ['album'] }, key)).status).toBe(403)
  })

  test('reads what is granted to requests without a token', async () => {
    expect((await query('album', { filter: 'album_id = 2' }, {})).json.items).toEqual([
      { album_id: 2, title: 'Blue Train' },
    ])
    for (const table of ['track', 'closed', 'nothing']) {
      const answer = await query(table, { filter: 'nonsense' }, {})
      expect(envelope(answer)).toMatchObject({
        code: 401,
        message: 'missing or invalid authorization header',
      })
    }
  })

  test('may be sent by pages of an allowed origin', async () => {
    const preflight = await app.request('OPTIONS', '/api/collections/album/query', {
      headers: {
        origin: 'https://shop.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://shop.example')
    const answer = await query('album', {}, { headers: { origin: 'https://shop.example' } })
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example')
  })
})
