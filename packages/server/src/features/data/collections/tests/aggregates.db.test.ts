import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type RequestOptions,
  type TestApp,
  userToken,
} from '../../../../../test/test-app.ts'

const setup = `
  create type size as enum ('small', 'large');
  create table sale (
    id int primary key,
    shop text,
    size size,
    amount numeric(30, 2),
    units bigint,
    pieces int,
    weight double precision,
    paid boolean,
    at timestamptz,
    took interval,
    ref uuid,
    tags text[],
    extra jsonb,
    raw json,
    spot point,
    "a ""b" int
  );
  insert into sale values
    (1, 'north', 'large', 9007199254740993.01, 9223372036854775807, 1, 0.5, true, '2026-01-02 03:04:05.5+00', 'PT1H',
      '00000000-0000-4000-8000-000000000002', '{b}', '{"b": 1}', '{}', null, 3),
    (2, 'north', 'small', 0.02, 9223372036854775807, 2, 1.25, false, '2026-01-02 05:04:05+02', 'PT30M',
      '00000000-0000-4000-8000-000000000001', '{a,c}', '{"a": 1}', null, null, 4),
    (3, 'south', 'small', 10, 1, 4, null, null, null, null, null, null, null, null, null, null),
    (4, 'south', null, null, 2, 4, 'NaN', true, 'infinity', null, null, null, null, null, null, null),
    (5, null, 'small', 1.5, null, null, 2, true, null, null, null, null, null, null, null, null);
  create table diary (id int primary key, owner_id uuid not null, topic text not null, words int, mass float8 default 1e308);
  insert into diary values (1, '${alice}', 'work', 3), (2, '${alice}', 'play', 4), (3, '${bob}', 'bribes', 100);
  alter table diary enable row level security;
  create policy own on diary using (owner_id = basalt.user_id());
  create table clash (count int, distinct_x int, x int);
  create table day_of (n int primary key, label text);
  insert into day_of select n, 'day ' || n from generate_series(1, 30) n;`

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup, config: { 'api.max_groups': '20' } })
})
afterAll(() => app[Symbol.asyncDispose]())

function get(table: string, parameters: Readonly<Record<string, string>>, by: string = token) {
  return app.request('GET', `/api/collections/${table}?${new URLSearchParams(parameters)}`, { token: by })
}

/** Returns the body without the blanks around its punctuation. */
async function text(parameters: Readonly<Record<string, string>>, table = 'sale'): Promise<string> {
  const response = await get(table, parameters)
  expect(response.status, response.text).toBe(200)
  return response.text.replaceAll(/(?<=[\]}\w"]) ?([:,])\s*(?=[[{\w"-])/g, '$1')
}

async function results(parameters: Readonly<Record<string, string>>, table = 'sale') {
  return JSON.parse(await text(parameters, table)).results
}

async function expectError(
  parameters: Readonly<Record<string, string>>,
  message: string,
  error = 'invalid_aggregate',
  table = 'sale',
) {
  expect(envelope(await get(table, parameters))).toEqual({ code: 400, error, message })
}

describe('GET /collections/:table?aggregate', () => {
  test('returns one result over all rows, and the duration in the database', async () => {
    const response = await get('sale', { aggregate: 'count,count(amount),count_distinct(shop),sum(pieces)' })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('x-query-duration-ms')).toMatch(/^\d+$/)
    expect(response.json).toEqual({
      results: [{ count: 5, count_amount: 4, count_distinct_shop: 2, sum_pieces: 11 }],
    })
  })

  test.each([
    ['sum(units)', '{"sum_units":18446744073709551617}'],
    ['sum(amount)', '{"sum_amount":9007199254741004.53}'],
    ['avg(pieces)', '{"avg_pieces":2.7500000000000000}'],
    ['avg(units)', '{"avg_units":4611686018427387904}'],
    ['sum(weight)', '{"sum_weight":"NaN"}'],
    ['sum(took),avg(took)', '{"sum_took":"PT1H30M","avg_took":"PT45M"}'],
    ['min(amount),max(amount)', '{"min_amount":0.02,"max_amount":9007199254740993.01}'],
    ['min(shop),max(shop)', '{"min_shop":"north","max_shop":"south"}'],
    ['min(size),max(size)', '{"min_size":"small","max_size":"large"}'],
    ['min(paid),max(paid)', '{"min_paid":false,"max_paid":true}'],
    ['min(at),max(at)', '{"min_at":"2026-01-02T03:04:05+00:00","max_at":"infinity"}'],
    [
      'min(ref),max(ref)',
      '{"min_ref":"00000000-0000-4000-8000-000000000001","max_ref":"00000000-0000-4000-8000-000000000002"}',
    ],
    ['min(tags),max(tags)', '{"min_tags":["a","c"],"max_tags":["b"]}'],
    ['min(extra),max(extra)', '{"min_extra":{"a":1},"max_extra":{"b":1}}'],
    ['min(took),max(took)', '{"min_took":"PT30M","max_took":"PT1H"}'],
    ['count_distinct(tags)', '{"count_distinct_tags":2}'],
    ['count(raw),count(spot)', '{"count_raw":1,"count_spot":0}'],
    [' count , sum( "a ""b" ) ', '{"count":5,"sum_a \\"b":7}'],
    ['count(*),count,count()', '{"count":5}'],
  ])('computes %s as exactly as PostgreSQL', async (aggregate, expected) => {
    expect(await text({ aggregate })).toBe(`{"results":[${expected}]}`)
  })

  test('accepts as many results as a statement can have, and no more', async () => {
    const columns = ['id', 'amount', 'units', 'pieces', 'weight', 'took']
    const terms = columns.flatMap((column) =>
      ['count', 'count_distinct', 'sum', 'avg', 'min', 'max'].map((name) => `${name}(${column})`),
    )
    const forty = [...terms, 'count', 'count(at)', 'min(at)', 'max(at)'].join()
    const group = 'shop,size,paid,at,took,ref,tags,extra,pieces,units'
    const [first] = await results({ aggregate: forty, group })
    expect(Object.keys(first)).toHaveLength(50)
    await expectError(
      { aggregate: `${forty},count(ref)` },
      'invalid aggregate: expected at most 40 functions',
    )
  })

  test('counts 0 and has no values when no row matches', async () => {
    expect(await results({ aggregate: 'count,sum(amount),min(ref),max(paid)', filter: 'id < 0' })).toEqual([
      { count: 0, sum_amount: null, min_ref: null, max_paid: null },
    ])
    expect(await results({ aggregate: 'count', group: 'shop', filter: 'id < 0' })).toEqual([])
  })

  test('reads the filtered rows that the policies show the caller', async () => {
    const query = { aggregate: 'count,sum(words),max(topic)' }
    expect(await results(query, 'diary')).toEqual([{ count: 2, sum_words: 7, max_topic: 'work' }])
    expect(await results({ ...query, filter: "topic != 'work'" }, 'diary')).toEqual([
      { count: 1, sum_words: 4, max_topic: 'play' },
    ])
    const asAdmin = await get('diary', query, await app.adminToken())
    expect(asAdmin.json.results).toEqual([{ count: 3, sum_words: 107, max_topic: 'work' }])
  })

  test('returns no body for HEAD', async () => {
    const response = await app.request('HEAD', '/api/collections/sale?aggregate=count', { token })
    expect([response.status, response.text]).toEqual([200, ''])
  })
})

describe('GET /collections/:table?aggregate&group', () => {
  test('returns columns beside the results, in order of their values, NULL last', async () => {
    expect(await text({ aggregate: 'count,sum(amount)', group: 'shop' })).toBe(
      '{"results":[{"shop":"north","count":2,"sum_amount":9007199254740993.03},' +
        '{"shop":"south","count":2,"sum_amount":10.00},{"shop":null,"count":1,"sum_amount":1.50}]}',
    )
  })

  test('groups by several columns, formatted as records format them', async () => {
    expect(await results({ aggregate: 'count', group: 'paid, size ,at,paid', filter: 'id < 5' })).toEqual([
      { paid: false, size: 'small', at: '2026-01-02T03:04:05+00:00', count: 1 },
      { paid: true, size: 'large', at: '2026-01-02T03:04:05.5+00:00', count: 1 },
      { paid: true, size: null, at: 'infinity', count: 1 },
      { paid: null, size: 'small', at: null, count: 1 },
    ])
    expect(await results({ aggregate: 'count', group: 'tags', filter: 'tags != null' })).toEqual([
      { tags: ['a', 'c'], count: 1 },
      { tags: ['b'], count: 1 },
    ])
  })

  test.each([
    ['-count', ['north', 'south', null]],
    ['count', [null, 'north', 'south']],
    ['-shop', [null, 'south', 'north']],
    ['count,-shop', [null, 'south', 'north']],
    ['-max_pieces', [null, 'south', 'north']],
    ['min_at', ['north', 'south', null]],
  ])('sorts groups by %s', async (groupSort, expected) => {
    const query = { aggregate: 'count,max(pieces),min(at)', group: 'shop', groupSort }
    expect((await results(query)).map(({ shop }: { shop: string }) => shop)).toEqual(expected)
  })

  test('limits groups, and reports it', async () => {
    const query = { aggregate: 'count', group: 'shop', groupSort: '-shop' }
    expect(await text({ ...query, groupLimit: '2' })).toBe(
      '{"results":[{"shop":null,"count":1},{"shop":"south","count":2}],"exhaustive":false}',
    )
    expect(await text({ ...query, groupLimit: '3' })).not.toContain('exhaustive')
  })

  test('never exceeds the configured number of groups', async () => {
    for (const limit of [{}, { groupLimit: '25' }]) {
      const body = JSON.parse(
        await text({ aggregate: 'min(n)', group: 'label', groupSort: 'min_n', ...limit }, 'day_of'),
      )
      expect(body).toEqual({
        results: Array.from({ length: 20 }, (_, index) => ({ label: `day ${index + 1}`, min_n: index + 1 })),
        exhaustive: false,
      })
    }
  })
})

describe('aggregates with arbitrary parameters', () => {
  test('are computed or rejected, never a fault', async () => {
    const text = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.constantFrom(
        'count',
        'sum(units)',
        'min(tags),max(at)',
        'shop',
        'size,paid',
        '-count',
        'id',
        '3',
        '"',
        '%',
        '\0',
      ),
    )
    const query = fc.dictionary(
      fc.constantFrom(
        ...['aggregate', 'group', 'groupSort', 'groupLimit', 'facets', 'disjunctiveFacets'],
        ...['filter', 'search', 'q', 'maxFacetHits', 'fields', 'sort', 'spreadsheet'],
      ),
      text,
      { maxKeys: 4 },
    )
    const path = fc.constantFrom('sale', 'sale/facets/shop/search', 'sale/export.csv', 'sale/export.ndjson')
    await fc.assert(
      fc.asyncProperty(path, query, async (table, parameters) => {
        const { status, text: body } = await get(table, parameters)
        expect([200, 400], body).toContain(status)
      }),
      { numRuns: 150 },
    )
    expect(faultsOf(app)).toEqual([])
  })
})

describe('GET /collections/:table?aggregate rejects', () => {
  const invalid = 'invalid aggregate: '

  test.each([
    ['median(amount)', `${invalid}unknown aggregate function: "median"`],
    ['Sum(amount)', `${invalid}unknown aggregate function: "Sum"`],
    ['sum', `${invalid}sum requires a column: sum(column)`],
    ['sum()', `${invalid}sum requires a column: sum(column)`],
    ['count_distinct', `${invalid}count_distinct requires a column: count_distinct(column)`],
    ['sum(shop)', `${invalid}sum requires a numeric column, but "shop" has type "text"`],
    ['avg(at)', `${invalid}avg requires a numeric column, but "at" has type "timestamp with time zone"`],
    ['min(raw)', `${invalid}min requires a column with an order, but "raw" has type "json"`],
    [
      'count_distinct(spot)',
      `${invalid}count_distinct requires a column with an order, but "spot" has type "point"`,
    ],
    ['bbox(spot)', `${invalid}bbox requires a spatial column, but "spot" has type "point"`],
    ['centroid(id)', `${invalid}centroid requires a spatial column, but "id" has type "integer"`],
    ['x'.repeat(1001), `${invalid}expected at most 1000 characters`],
    ...[
      '',
      ' ',
      ',',
      'count,',
      'count(',
      'count)',
      'count(a',
      'sum(a b',
      'sum(a)b',
      'sum("a)',
      'sum(a))',
      '(a)',
    ].map((text): [string, string] => [
      text,
      `${invalid}expected functions such as count or sum(column), separated by commas, at position ${text === 'count,' ? 6 : 0}`,
    ]),
  ])('%s', async (aggregate, message) => {
    await expectError({ aggregate }, message)
  })

  test('sums that their type cannot hold, of the visible rows', async () => {
    const response = await get('diary', { aggregate: 'sum(mass)' })
    expect(envelope(response)).toMatchObject({
      code: 400,
      message: `${invalid}a sum is out of range: value out of range: overflow`,
    })
    expect((await get('diary', { aggregate: 'max(mass)' })).json).toEqual({ results: [{ max_mass: 1e308 }] })
  })

  test('unknown columns by name', async () => {
    const of = 'invalid aggregate: unknown column'
    await expectError(
      { aggregate: 'sum(nope)' },
      `${of} "nope" in aggregate parameter`,
      'unknown_aggregate_column',
    )
    await expectError(
      { aggregate: 'sum(a b)' },
      `${of} "a b" in aggregate parameter`,
      'unknown_aggregate_column',
    )
    await expectError(
      { aggregate: 'count', group: 'shop,nope' },
      'invalid group: unknown column "nope" in group parameter',
      'unknown_group_column',
    )
  })

  test.each([
    ['group', 'shop', 'group parameter requires aggregate parameter'],
    ['groupSort', 'count', 'groupSort parameter requires aggregate parameter'],
    ['groupLimit', '3', 'groupLimit parameter requires aggregate parameter'],
  ])('%s alone', async (name, value, message) => {
    await expectError({ [name]: value, filter: 'nope' }, message, 'invalid_parameter')
  })

  test.each(['page', 'perPage', 'sort', 'fields', 'expand', 'cursor', 'skipTotal', 'total'])(
    'aggregate with %s',
    async (name) => {
      const message = `aggregate cannot be combined with ${name}`
      await expectError({ aggregate: 'count', [name]: '1' }, message, 'invalid_parameter')
    },
  )

  test.each(['facets', 'disjunctiveFacets'])('aggregate with %s', async (name) => {
    const message = `unsupported parameter "${name}"`
    await expectError({ aggregate: 'count', [name]: 'shop' }, message, 'unsupported_parameter')
  })

  test.each(['groupSort', 'groupLimit'])('%s without a group', async (name) => {
    const message = `${name} parameter requires group parameter`
    await expectError({ aggregate: 'count', [name]: '1' }, message, 'invalid_parameter')
  })

  test.each([
    [{ groupLimit: '0' }, 'groupLimit: expected an integer from 1'],
    [{ groupLimit: '-1' }, 'groupLimit: expected an integer from 1'],
    [{ groupLimit: '1.5' }, 'groupLimit: expected an integer from 1'],
    [{ groupLimit: '9'.repeat(30) }, 'groupLimit: expected an integer from 1'],
    [{ groupSort: 'amount' }, 'groupSort: unknown key "amount"; expected shop, count'],
    [{ groupSort: 'count,' }, 'groupSort: expected a name after the last comma'],
    [{ group: 'shop,' }, 'group: expected a name after the last comma'],
  ])('%j', async (parameters, message) => {
    await expectError({ aggregate: 'count', group: 'shop', ...parameters }, message, 'invalid_parameter')
  })

  test('groups by columns without an order', async () => {
    const unsupported = (name: string, type: string) =>
      `invalid group: unsupported group column "${name}" with type "${type}"`
    await expectError({ aggregate: 'count', group: 'raw' }, unsupported('raw', 'json'), 'invalid_group')
    await expectError({ aggregate: 'count', group: 'spot' }, unsupported('spot', 'point'), 'invalid_group')
    const columns = Array.from({ length: 11 }, (_, index) => `c${index}`).join()
    await expectError(
      { aggregate: 'count', group: columns },
      'invalid group: expected at most 10 columns',
      'invalid_group',
    )
  })

  test('two values of the same name', async () => {
    const twice = (name: string) => `invalid aggregate: two values of a result would be named "${name}"`
    await expectError({ aggregate: 'count', group: 'count' }, twice('count'), 'invalid_aggregate', 'clash')
    await expectError(
      { aggregate: 'count(distinct_x),count_distinct(x)' },
      twice('count_distinct_x'),
      'invalid_aggregate',
      'clash',
    )
  })

  test('aggregates that are disabled by configuration', async () => {
    await using closed = await createTestApp({
      database: app.database,
      config: { 'api.aggregate_enabled': 'false' },
    })
    const response = await closed.request('GET', '/api/collections/sale?aggregate=count', { token })
    expect(envelope(response)).toEqual({
      code: 403,
      error: 'aggregate_disabled',
      message: 'aggregate queries are disabled',
    })
    expect((await closed.request('GET', '/api/collections/sale', { token })).status).toBe(200)
  })
})

describe('POST /collections/:table/aggregate', () => {
  const path = '/api/collections/sale/aggregate'
  const post = (body: unknown, options: RequestOptions = { token }, table = 'sale') =>
    app.request('POST', `/api/collections/${table}/aggregate`, { ...options, body })

  test('returns the same as the parameters of a list, and the duration in the database', async () => {
    const parameters = {
      ...{ aggregate: 'count,sum(pieces)', group: 'shop', groupSort: '-count', groupLimit: '2' },
      filter: 'pieces > 0',
    }
    const listed = await get('sale', parameters)
    const body = {
      aggregate: ['count', 'sum(pieces)'],
      ...{ group: ['shop'], groupSort: ['-count'], groupLimit: 2, filter: 'pieces > 0' },
    }
    for (const each of [body, parameters]) {
      const answer = await post(each)
      expect([answer.status, answer.text]).toEqual([200, listed.text])
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(answer.headers.get('x-query-duration-ms')).toMatch(/^\d+$/)
    }
  })

  test('accepts column names as they are, whatever they hold', async () => {
    const answer = await post({ aggregate: ['sum("a ""b")'], group: ['a "b'], filter: 'id < 3' })
    expect(answer.json).toEqual({
      results: [
        { 'a "b': 3, 'sum_a "b': 3 },
        { 'a "b': 4, 'sum_a "b': 4 },
      ],
    })
  })

  test.each([
    ['', 'invalid_aggregate', 'invalid aggregate: expected functions such as count or sum(column)'],
    ['{}', 'invalid_aggregate', 'invalid aggregate: expected functions such as count or sum(column)'],
    ['{"aggregate": ["median(pieces)"]}', 'invalid_aggregate', /unknown aggregate function: "median"/],
    ['{"aggregate": ["sum(shop)"]}', 'invalid_aggregate', /requires a numeric column/],
    ['{"aggregate": ["sum(nothing)"]}', 'unknown_aggregate_column', /nothing/],
    ['{"aggregate": "count", "group": "nothing"}', 'unknown_group_column', /nothing/],
    ['{"aggregate": "count", "groupLimit": 3}', 'invalid_parameter', /groupLimit parameter requires group/],
    ['{"aggregate": "count", "group": "shop", "groupLimit": 0}', 'invalid_parameter', /groupLimit/],
    ['{"aggregate": "count", "filter": "nothing = 1"}', 'unknown_filter_column', /nothing/],
    ['{"aggregate": "count", "page": 2}', 'invalid_parameter', /cannot be combined with page/],
    ['{"aggregate": "count", "facets": ["shop"]}', 'unsupported_parameter', /facets/],
    ['{"aggregate": "count", "limit": 2}', 'unknown_parameter', /limit/],
    ['{"aggregate": {"a": 1}}', 'invalid_parameter', /^aggregate: expected/],
    ['{"aggregate": null}', 'invalid_parameter', /^aggregate: expected/],
    ['[1]', 'invalid_parameter', /expected an object/],
    ['{"aggregate": ', 'invalid_json', 'invalid JSON body'],
  ])('rejects %s', async (body, error, message) => {
    const answer = await app.request('POST', path, {
      token,
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect(envelope(answer)).toMatchObject({ code: 400, error })
    expect(answer.json.message).toMatch(message)
  })

  test('rejects parameters in the URL, other content types and unknown collections', async () => {
    const inUrl = await app.request('POST', `${path}?aggregate=count`, {
      token,
      body: { aggregate: 'count' },
    })
    expect(envelope(inUrl)).toMatchObject({ code: 400, error: 'unknown_parameter' })
    const form = {
      token,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'aggregate=count',
    }
    expect((await app.request('POST', path, form)).status).toBe(415)
    expect((await post({ aggregate: 'count' }, { token }, 'nothing')).status).toBe(404)
    expect((await app.request('PUT', path, { token, body: {} })).status).toBe(405)
  })

  test('counts the rows that the policies show each kind of token', async () => {
    await app.sql('insert into basalt.users (id, email) values ($1, $2) on conflict do nothing', [
      alice,
      'alice@example.com',
    ])
    const count = async (by: string) =>
      (await post({ aggregate: 'count' }, { token: by }, 'diary')).json.results
    const { key } = await createApiKey(app, { userId: alice, scope: 'readonly', allowedTables: ['diary'] })
    expect(await count(token)).toEqual([{ count: 2 }])
    expect(await count(userToken({ sub: bob }))).toEqual([{ count: 1 }])
    expect(await count(key)).toEqual([{ count: 2 }])
    expect(await count(await app.adminToken())).toEqual([{ count: 3 }])
    expect(envelope(await post({ aggregate: 'count' }, { token: key }))).toMatchObject({
      code: 403,
      message: 'api key does not have access to table: sale',
    })
    for (const table of ['diary', 'nothing']) {
      expect((await post({ aggregate: 'nonsense' }, {}, table)).status).toBe(401)
    }
    await app.sql('grant select on day_of to basalt_anonymous')
    expect((await post({ aggregate: 'count' }, {}, 'day_of')).json).toEqual({ results: [{ count: 30 }] })
  })

  test('is a read, which an idempotency key does not affect', async () => {
    const options = { token, headers: { 'idempotency-key': 'twice' } }
    const first = await post({ aggregate: 'count' }, options)
    const again = await post({ aggregate: 'max(pieces)' }, options)
    expect([first.json, again.json]).toEqual([{ results: [{ count: 5 }] }, { results: [{ max_pieces: 4 }] }])
    expect(again.headers.get('idempotency-replayed')).toBeNull()
    const wrong = await post(
      { aggregate: 'count' },
      { token, headers: { 'idempotency-key': 'x'.repeat(256) } },
    )
    expect(wrong.status).toBe(400)
  })

  test('returns 403 when aggregates are disabled', async () => {
    await using off = await createTestApp({ setup, config: { 'api.aggregate_enabled': 'false' } })
    const answer = await off.request('POST', path, { token, body: { aggregate: 'count' } })
    expect(envelope(answer)).toMatchObject({ code: 403, error: 'aggregate_disabled' })
  })
})
