import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anyUnits } from '../../../../../test/any-text.ts'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, type TestResponse, userToken } from '../../../../../test/test-app.ts'

/**
 * Sends hostile parameters for a table with rows to compare them with. Every response must be one of the API: no server
 * fault, and no statement that has run into its timeout.
 */

const tableOf = (vector: string) => `
  create table item (
    id int primary key, title text, price numeric, "odd,""col" text, tags text[], extra jsonb, during int4range,
    at timestamptz, flag boolean, owner uuid, ${vector} other_id int references item
  );
  insert into item (id, title, price, tags, extra, during, at, flag, other_id)
  select n, repeat('aaa bbb ', n), n / 3.0, array['a', n::text], jsonb_build_object('k', n), int4range(n, n + 5), now(),
    n % 2 = 0, nullif(n, 1) from generate_series(1, 30) n;
  alter table item enable row level security;
  create policy visible on item using (id < 25);
  create function found(term text, n int default 1, list int[] default '{}', doc jsonb default '{}')
    returns setof item language sql stable as 'select * from item where title ilike term';`

let app: TestApp
let vectors: TestApp
let database: ExtensionDatabase
const token = userToken({ sub: alice })

beforeAll(async () => {
  const config = {
    'database.statement_timeout_ms': '10000',
    'rate_limit.api': '1000000',
    'api.max_exports': '50',
  }
  app = await createTestApp({ setup: `create extension pg_trgm; ${tableOf('')}`, config })
  database = await createExtensionDatabase('vector')
  vectors = await createTestApp({
    database,
    config: { ...config, ...database.config },
    setup: `create extension vector; ${tableOf('spot vector(3), half halfvec(3), sparse sparsevec(3), loose vector,')}`,
  })
}, extensionSetupMs)
afterAll(async () => {
  expect([...faultsOf(app), ...faultsOf(vectors)]).toEqual([])
  await vectors[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

/** Encodes a text. Lone surrogates are sent as the three bytes that UTF-8 would have for them. */
function encode(text: string): string {
  return [...text]
    .map((character) => {
      if (character.isWellFormed()) return encodeURIComponent(character)
      const unit = character.charCodeAt(0)
      const bytes = [0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)]
      return bytes.map((byte) => `%${byte.toString(16)}`).join('')
    })
    .join('')
}

const words = fc.constantFrom(
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1',
    'true',
    'title',
    '-title',
    'price,title',
    '"odd,""col"',
    'id',
    'other',
    'none',
    '*',
    ',',
  ],
  ...[
    '9'.repeat(400),
    '1e309',
    '-0',
    'NaN',
    'Infinity',
    '0x10',
    '9007199254740993',
    '2147483648',
    '1.5',
    '１',
  ],
  ...[
    'a'.repeat(10_000),
    'ab '.repeat(3333),
    '"'.repeat(10_000),
    '('.repeat(3000),
    '-'.repeat(999),
    '%a'.repeat(400),
  ],
  ...[
    'a:* & !b | (c <-> d)',
    '"a" -"b" or -c',
    "'",
    '\\',
    '\0',
    'a\0b',
    '\ud800',
    '\udfff\ud800',
    '\u202e',
    '😀',
  ],
  ...[
    '(a+)+$',
    '(.*)*'.repeat(50),
    '[[:alpha:]',
    '$1',
    "'; drop table item; --",
    '{}',
    '[]',
    '{"type":"Point"}',
  ],
  ...[
    '[NaN]',
    '[1,2]',
    '[1,2,3]',
    '[1e39,0,0]',
    '[null,1,2]',
    `[${'1,'.repeat(3000)}1]`,
    '{1:1}/3',
    '{4:1}/3',
    '{1:NaN}/3',
  ],
  ...[
    '__proto__',
    'constructor',
    'count',
    'sum(title)',
    'sum(price)',
    'count_distinct(extra)',
    'max("odd,""col")',
    'count(,',
  ],
  ...[
    'at.distance(1,1)',
    'title.distance(NaN,1)',
    'item',
    'other.other.other',
    'other.item',
    'eyJ9',
    'e30',
    'bnVsbA',
  ],
)
const literal = fc.oneof(
  words.map((text) => `'${text.slice(0, 300).replaceAll("'", "''")}'`),
  fc.constantFrom(
    '1',
    '-1e400',
    'null',
    'true',
    "('a', 'b')",
    '()',
    "'[1,2'",
    "'{a'",
    "'%a%b%c%'",
    `${'9'.repeat(300)}`,
  ),
)
const filter = fc
  .tuple(
    fc.constantFrom(
      'title',
      'price',
      'tags',
      'extra',
      "extra->'k'",
      "extra->>'k'",
      'during',
      'at',
      'flag',
      'owner',
    ),
    fc.constantFrom(
      '=',
      '!=',
      '>',
      '~',
      '!~*',
      'IN',
      'CONTAINS',
      'OVERLAPS',
      'MATCHES',
      'ADJACENT',
      'IS',
      'BETWEEN',
      '->',
    ),
    literal,
  )
  .chain((parts) => {
    const one = parts.join(' ')
    return fc.constantFrom(
      one,
      `NOT (${one})`,
      `other.${one}`,
      `${'('.repeat(500)}${one}`,
      `${one} AND ${one} OR ${one}`,
    )
  })
const value = fc.oneof({ weight: 5, arbitrary: words }, anyUnits({ maxLength: 30 }), filter)

const rows = ['filter', 'filter', 'filter', 'search', 'search', 'fuzzy', 'typo_threshold', 'near', 'bbox']
const lists = [
  ...rows,
  ...['sort', 'fields', 'expand', 'page', 'perPage', 'cursor', 'skipTotal', 'total', 'highlight', 'facets'],
  ...['disjunctiveFacets', 'nearest', 'semantic_query', 'semantic', 'vector_column', 'distance'],
]
const aggregates = [...rows, 'aggregate', 'group', 'groupSort', 'groupLimit']

/** Generates a query string of some of the parameters, each with a valid or an invalid value. */
function queryOf(names: readonly string[], base: string): fc.Arbitrary<string> {
  const good = new Map(
    Object.entries({
      search: 'aaa',
      fuzzy: 'true',
      highlight: 'true',
      facets: 'title,price',
      sort: '-price',
      cursor: '',
      aggregate: 'count,sum(price)',
      group: 'flag',
      fields: 'id,title',
      expand: 'other',
      semantic: 'true',
      vector_column: 'spot',
      distance: 'l2',
      nearest: '[1,2,3]',
    }),
  )
  const name = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...names) },
    fc.constantFrom('_x', 'serch', '', '__proto__'),
  )
  const parameter = name.chain((each) => {
    const fitting = each.startsWith('filter') ? filter : fc.constant(good.get(each) ?? '1')
    const any = fc
      .oneof(value, { weight: 2, arbitrary: fitting })
      .map((text) => `${encode(each)}=${encode(text)}`)
    return fc.oneof(
      { weight: 12, arbitrary: any },
      fc.constantFrom(`${each}`, `${each}=%zz%`, `${each}=%ff%00`),
    )
  })
  return fc
    .array(parameter, { maxLength: 4 })
    .map((parts) => [base, ...parts].filter((part) => part !== '').join('&'))
}

/** Accepts 501, the status of a hybrid search without an embedding provider. */
const isOfClient = (status: number) => status < 500 || status === 501

function expectAnswer(response: TestResponse, what: string): void {
  const { status, text, headers } = response
  expect(status, `${what.slice(0, 2000)}: ${text.slice(0, 500)}`).toSatisfy(isOfClient)
  if (status < 300) {
    if (headers.get('content-type')?.includes('/json') === true) expect(() => JSON.parse(text)).not.toThrow()
    return
  }
  const { code, message, error, doc_url: url } = response.json
  expect([code, typeof message, typeof error], what).toEqual([status, 'string', 'string'])
  expect(url).toMatch(new RegExp(`/docs/errors/${error}$`))
  expect(message.length).toBeLessThan(25_000)
  expect(text).not.toMatch(/select |item t |\.ts:|pg_temp|node_modules/)
}

/** Options of a run. A request that hangs fails it before the time limit of the test does, so that its seed is printed. */
const runs = { numRuns: 70, interruptAfterTimeLimit: 100_000, markInterruptAsFailure: true }

async function fuzz(query: fc.Arbitrary<string>, path: string, node = app): Promise<void> {
  await fc.assert(
    fc.asyncProperty(query, async (text) => {
      const url = `${path}?${text}`
      expectAnswer(await node.request('GET', url, { token }), url)
    }),
    runs,
  )
}

test.each([
  ['list', lists, '', '/api/collections/item'],
  ['record', ['fields', 'expand', 'fields', 'expand', 'filter'], '', '/api/collections/item/1'],
  ['aggregate', aggregates, 'aggregate=count', '/api/collections/item'],
  ['facet search', [...rows, 'q', 'maxFacetHits'], '', '/api/collections/item/facets/title/search'],
  ['export as CSV', [...rows, 'sort', 'fields', 'spreadsheet'], '', '/api/collections/item/export.csv'],
  ['export as NDJSON', [...rows, 'sort', 'fields'], '', '/api/collections/item/export.ndjson'],
  [
    'function',
    ['filter', 'filter', 'sort', 'fields', 'page', 'perPage', 'total', 'cursor', 'term', 'n', 'list', 'doc'],
    '',
    '/api/rpc/found',
  ],
])('hostile parameters › %s never cause a fault', async (_what, names, base, path) => {
  await fuzz(queryOf(names, base), path)
})

test('hostile parameters › vectors never cause a fault', async () => {
  const names = ['nearest', 'nearest', 'vector_column', 'distance', 'filter', 'semantic', 'search', 'page']
  await fuzz(queryOf(names, ''), '/api/collections/item', vectors)
})

test('hostile parameters › writes never cause a fault', async () => {
  const body = fc.oneof(
    fc.json({ maxDepth: 2 }),
    words,
    fc.constantFrom('[{"id":1}]', '{"id":"x"}', '[{"id":1e400}]', 'id\n"'),
  )
  const request = fc.constantFrom(
    ...([
      ['POST', 'item/import', ['mode', 'on_conflict', 'dryRun'], 'dryRun=true'],
      ['POST', 'item', ['onConflict', 'onConflictAction', 'fields', 'expand'], 'onConflict=id'],
      ['PATCH', 'item', ['filter', 'expect', 'return', 'fields'], 'expect=77'],
      ['DELETE', 'item', ['filter', 'expect', 'return', 'expand'], 'expect=77'],
      ['POST', '../rpc/found', lists, ''],
    ] as const),
  )
  const types = fc.constantFrom(
    ...Array<string>(9).fill('application/json'),
    'text/csv',
    'application/x-ndjson',
    'text/plain',
    'x',
  )
  const whole = request.chain(([method, path, names, base]) =>
    fc.record({
      method: fc.constant(method),
      path: fc.constant(path),
      query: queryOf(names, base),
      body,
      type: types,
    }),
  )
  await fc.assert(
    fc.asyncProperty(whole, async ({ method, path, query, body: sent, type }) => {
      const url = path.startsWith('../') ? `/api/${path.slice(3)}` : `/api/collections/${path}`
      const options = { token, body: sent, headers: { 'content-type': type } }
      expectAnswer(await app.request(method, `${url}?${query}`, options), `${method} ${url}?${query} ${sent}`)
    }),
    { ...runs, numRuns: 120 },
  )
})
