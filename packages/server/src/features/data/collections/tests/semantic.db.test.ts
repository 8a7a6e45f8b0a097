import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import {
  countLetters,
  type EmbeddingProvider,
  embeddings,
  startEmbeddingProvider,
  status,
} from '../../../../../test/embedding-provider.ts'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionEngine,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let provider: EmbeddingProvider
let database: ExtensionDatabase
let app: TestApp
/** Node that is configured with other dimensions than the columns have. */
let wrong: TestApp
let plain: TestApp
const key = 'sk-very-secret'
const token = userToken({ sub: alice })

function providers() {
  return JSON.stringify({ openai: { api_key: key, base_url: provider.url, default_model: 'letters' } })
}

beforeAll(async () => {
  provider = await startEmbeddingProvider()
  database = await createExtensionDatabase('vector')
  const config = { ...database.config, 'ai.providers': providers(), 'ai.max_retries': '0' }
  app = await createTestApp({
    database,
    config: { ...config, 'ai.timeout': '1', 'ai.breaker.failure_threshold': '1000' },
    setup: `
      create schema extensions;
      create extension vector schema extensions;
      set local search_path = public, extensions;
      create table topic (topic_id int primary key, name text not null);
      insert into topic values (1, 'food');
      create table note (
        id int primary key, topic_id int references topic, owner uuid, title text, embedding vector(3)
      );
      insert into note values
        (1, 1, '${alice}', 'apple pie', '[1,0,0]'), (2, null, '${alice}', 'banana split', '[0,1,0]'),
        (3, 1, '${alice}', 'apple banana', '[1,1,0]'), (4, null, '${alice}', 'cherry', '[0,0,1]'),
        (5, 1, '${alice}', 'apple without vector', null), (6, null, '${bob}', 'apple of bob', '[1,0,0]');
      alter table note enable row level security;
      create policy own on note using (owner = nullif(current_setting('basalt.user_id', true), '')::uuid);
      create table other (id int primary key, title text, embedding vector(2));
      create table untitled (id int primary key, embedding vector(3));
      create view unkeyed as select title, embedding from note;
      create table clash (id int primary key, title text, _fts_rank int, embedding vector(3));
      create table spot (id int primary key, place text, ordinal text, record text, k0 text, embedding vector(3));
      insert into spot values (1, 'apple tree', 'first', 'r', 'k', '[1,0,0]');
      create table loose (id int primary key, title text, embedding vector);
      insert into loose values (1, 'a', '[1,0,0]'), (2, 'b', '[0,1]'), (3, 'c', '[0,1,0]');`,
  })
  await database.sql('grant usage on schema extensions to basalt_authenticated')
  wrong = await createTestApp({
    database,
    config: { ...config, 'ai.embedding_dimensions': '{"openai:letters": 1536}' },
  })
  plain = await createTestApp({
    config: { 'ai.providers': providers() },
    setup: 'create table note (id int primary key, title text)',
  })
}, extensionSetupMs)
afterEach(() => {
  provider.answer = embeddings(countLetters)
  provider.requests.length = 0
})
afterAll(async () => {
  await plain[Symbol.asyncDispose]()
  await wrong[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

type Query = Readonly<Record<string, string>>

function list(table: string, query: Query, node = app) {
  return node.request('GET', `/api/collections/${table}?${new URLSearchParams(query)}`, { token })
}

/** Returns a text that no test has used yet, so that its vector is not cached. */
let texts = 0
function freshText(letters: string): string {
  texts += 1
  return `${letters} ${texts}`
}

describe(`GET /collections/:table?semantic_query on ${extensionEngine}`, () => {
  test('returns the records nearest to the meaning of a text', async () => {
    const query = { semantic_query: ' aaab ', fields: 'id', filter: 'topic_id = 1' }
    const { status: code, json, text } = await list('note', query)
    expect(code, text).toBe(200)
    expect(json).toEqual({
      page: 1,
      perPage: 20,
      totalItems: 2,
      totalPages: 1,
      items: [
        { id: 1, _distance: expect.closeTo(1 - 3 / Math.sqrt(10), 5) },
        { id: 3, _distance: expect.closeTo(1 - 4 / Math.sqrt(20), 5) },
      ],
    })
    expect(provider.texts).toEqual(['aaab'])
    // The vector of a text is cached from then on, for all callers.
    await list('note', { ...query, perPage: '1' })
    expect(provider.texts).toEqual(['aaab'])
  })

  test('leaves out vectors of other dimensions where the column accepts any', async () => {
    const { json, text } = await list('loose', { semantic_query: 'a', fields: 'id' })
    expect(json.items, text).toEqual([
      { id: 1, _distance: 0 },
      { id: 3, _distance: 1 },
    ])
  })

  test('finds nothing near a vector of zeros', async () => {
    const { json } = await list('note', { semantic_query: 'xyz' })
    expect(json).toEqual({ page: 1, perPage: 20, totalItems: 0, totalPages: 1, items: [] })
  })

  test('sends the provider no request that cannot succeed', async () => {
    const query = { semantic_query: freshText('a') }
    expect((await list('topic', query)).json.message).toBe('table "topic" has no vector columns')
    expect((await list('nope', query)).status).toBe(404)
    expect((await app.request('GET', '/api/collections/note?semantic_query=a')).status).toBe(401)
    expect(provider.requests).toEqual([])
  })

  test('names the dimensions that do not fit', async () => {
    const mismatch = await list('other', { semantic_query: freshText('a') })
    expect([mismatch.status, mismatch.json.message]).toEqual([
      500,
      'embedding dimension mismatch: the model has 3 dimensions, column "embedding" expects 2',
    ])
    const misconfigured = await list('note', { semantic_query: freshText('a') }, wrong)
    expect([misconfigured.status, misconfigured.json.message]).toEqual([
      500,
      'semantic search misconfiguration: ai.embedding_dimensions says 1536, column "embedding" has 3',
    ])
  })

  test.each([
    [429, { 'retry-after': '9' }, 429, 'embedding provider rate limited, retry later', '9'],
    [401, {}, 502, 'embedding provider authentication failed', null],
    [500, {}, 502, 'embedding provider error: status 500', null],
    [200, {}, 502, 'embedding provider error: the answer is not one of an embeddings endpoint', null],
  ])("passes on the provider's status %i", async (code, headers, expected, message, wait) => {
    provider.answer = status(code, headers as Record<string, string>, `"${key}"`)
    const response = await list('note', { semantic_query: freshText('a') })
    expect([response.status, response.json.message, response.headers.get('retry-after')]).toEqual([
      expected,
      message,
      wait,
    ])
    expect(response.text + app.log.join()).not.toContain(key)
  })

  test('returns 504 when the provider times out', async () => {
    provider.answer = () => undefined
    expect(envelope(await list('note', { semantic_query: freshText('a') }))).toEqual({
      code: 504,
      error: 'embedding_timeout',
      message: 'embedding provider timed out',
    })
  })

  test('ends the request to the provider when the client disconnects', async () => {
    provider.answer = () => undefined
    const client = new AbortController()
    const query = new URLSearchParams({ semantic_query: freshText('a') })
    const request = fetch(`${app.url}/api/collections/note?${query}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: client.signal,
    })
    await waitFor('the request to the provider', () => provider.requests.length === 1)
    client.abort()
    await expect(request).rejects.toThrow()
    await waitFor('the request to end', () => provider.requests[0]?.isCanceled === true)
  })

  test('calls the provider once for ten concurrent clients', async () => {
    const query = { semantic_query: freshText('aab'), fields: 'id', perPage: '1' }
    const answers = await Promise.all(Array.from({ length: 10 }, () => list('note', query)))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(provider.requests).toHaveLength(1)
  })

  test('requires pgvector, and so does hybrid search', async () => {
    const semantic = await list('note', { semantic_query: 'a' }, plain)
    expect([semantic.status, semantic.json.message]).toEqual([
      400,
      'semantic search requires the pgvector extension',
    ])
    const hybrid = await list('note', { search: 'a', semantic: 'true' }, plain)
    expect([hybrid.status, hybrid.json.message]).toEqual([
      400,
      'hybrid search requires the pgvector extension',
    ])
  })
})

describe(`GET /collections/:table?semantic=true on ${extensionEngine}`, () => {
  /** Words: 3, 1 and 5 in the order of their ranks; meaning "aaaple": 1, 3, then the rest. */
  const query = { search: 'apple', semantic: 'true' }

  test('fuses the matches by words and by meaning', async () => {
    const { status: code, json, text } = await list('note', { ...query, fields: 'id', expand: 'topic' })
    expect(code, text).toBe(200)
    const { items, ...page } = json
    expect(page).toEqual({ page: 1, perPage: 20, totalItems: 5, totalPages: 1 })
    const byId = new Map<number, Record<string, number>>(items.map((item: { id: number }) => [item.id, item]))
    expect([...byId.keys()].toSorted()).toEqual([1, 2, 3, 4, 5])
    // Both legs found these, the others one alone.
    expect(items.slice(0, 2).map(({ id }: { id: number }) => id)).toEqual([1, 3])
    expect(byId.get(1)).toEqual({
      id: 1,
      expand: { topic: { topic_id: 1, name: 'food' } },
      _hybrid_score: expect.any(Number),
      _fts_rank: expect.any(Number),
      _vector_distance: expect.closeTo(0, 5),
    })
    expect(byId.get(5)).toEqual({
      id: 5,
      expand: { topic: { topic_id: 1, name: 'food' } },
      _hybrid_score: expect.closeTo(1 / 63, 5),
      _fts_rank: expect.any(Number),
    })
    expect(byId.get(2)).toEqual({
      id: 2,
      expand: {},
      _hybrid_score: expect.any(Number),
      _vector_distance: expect.closeTo(1, 5),
    })
    const scores = items.map((item: { _hybrid_score: number }) => item._hybrid_score)
    expect(scores).toEqual(scores.toSorted((one: number, two: number) => two - one))
  })

  test('returns columns of any name', async () => {
    const { status: code, json, text } = await list('spot', { search: 'apple', semantic: 'true' })
    expect(code, text).toBe(200)
    expect(json.items).toEqual([
      expect.objectContaining({ id: 1, place: 'apple tree', ordinal: 'first', record: 'r', k0: 'k' }),
    ])
  })

  test('pages, filters, and leaves out rows that a policy hides', async () => {
    const whole = (await list('note', { ...query, fields: 'id' })).json.items
    const first = (await list('note', { ...query, fields: 'id', perPage: '2' })).json
    expect(first).toEqual({
      page: 1,
      perPage: 2,
      totalItems: 5,
      totalPages: 3,
      items: whole.slice(0, 2),
    })
    const third = (await list('note', { ...query, fields: 'id', perPage: '2', page: '3' })).json
    expect(third.items).toEqual(whole.slice(4))
    const filtered = (await list('note', { ...query, fields: 'id', filter: 'id > 2', skipTotal: 'true' }))
      .json
    expect(filtered).toMatchObject({ totalItems: -1, totalPages: -1 })
    expect(filtered.items.map(({ id }: { id: number }) => id).toSorted()).toEqual([3, 4, 5])
    const bobs = await app.request(
      'GET',
      `/api/collections/note?${new URLSearchParams({ ...query, fields: 'id' })}`,
      { token: userToken({ sub: bob }) },
    )
    expect(bobs.json.items.map(({ id }: { id: number }) => id)).toEqual([6])
    expect(bobs.json.totalItems).toBe(1)
  })

  test.each([
    [{ ...query, fuzzy: 'true' }, 'unsupported parameter "fuzzy"'],
    [{ ...query, highlight: 'true' }, 'unsupported parameter "highlight"'],
    [{ ...query, facets: 'id' }, 'unsupported parameter "facets"'],
    [{ ...query, typo_threshold: '0.3' }, 'unsupported parameter "typo_threshold"'],
    [{ ...query, cursor: '' }, 'unsupported parameter "cursor"'],
    [{ ...query, search: 'x'.repeat(1001) }, 'search term too long'],
    [{ ...query, nearest: '[1,0,0]' }, 'cannot combine semantic=true with nearest or semantic_query'],
    [{ ...query, distance: 'x' }, 'unsupported distance metric "x"; valid: cosine, l2, inner_product'],
  ])('returns 400 for %j', async (wrongQuery, message) => {
    const response = await list('note', wrongQuery)
    expect([response.status, response.json.message]).toEqual([400, message])
  })

  test.each([
    ['unkeyed', 'semantic: "unkeyed" has no readable key that could tell its rows apart'],
    ['clash', 'semantic cannot be used on table "clash" because it has a "_fts_rank" column'],
    ['untitled', 'search not supported: table "untitled" has no text columns to search'],
    ['topic', 'table "topic" has no vector columns'],
  ])('returns 400 on %s', async (table, message) => {
    const response = await list(table, query)
    expect([response.status, response.json.message]).toEqual([400, message])
  })

  test('returns 501 without a provider', async () => {
    await using bare = await createTestApp({ setup: 'create table note (id int primary key, title text)' })
    expect(envelope(await list('note', query, bare))).toEqual({
      code: 501,
      error: 'hybrid_not_configured',
      message: 'hybrid search is not configured — no embedding provider available',
    })
  })
})

test('search by meaning › counts provider calls by user, with any credential', async () => {
  const config = { ...database.config, 'ai.providers': providers(), 'ai.queries_per_hour': '2' }
  await using limited = await createTestApp({ database, config })
  await database.sql(`insert into basalt.users (id) values ('${alice}') on conflict do nothing`)
  await database.sql(`delete from basalt.attempts where key like 'ai.queries:%'`)
  const { key: apiKey } = await createApiKey(limited, { userId: alice, scope: 'readonly' })
  const sendRequest = async (bearer: string, text: string) => {
    const query = new URLSearchParams({ semantic_query: text })
    const answer = await limited.request('GET', `/api/collections/note?${query}`, { token: bearer })
    return answer.status === 200 ? 200 : [answer.status, answer.json.error]
  }
  const refused = [429, 'embedding_limit_reached']
  expect([await sendRequest(token, 'abc'), await sendRequest(apiKey, 'abd')]).toEqual([200, 200])
  expect([await sendRequest(token, 'abe'), await sendRequest(apiKey, 'abe')]).toEqual([refused, refused])
  expect(await sendRequest(token, 'abd')).toBe(200)
  expect(await sendRequest(userToken({ sub: bob }), 'abf')).toBe(200)
  expect(await sendRequest(await limited.adminToken(), 'abg')).toBe(200)
  expect(provider.requests).toHaveLength(4)
})
