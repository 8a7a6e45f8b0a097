import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionEngine,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let database: ExtensionDatabase
let app: TestApp
const token = userToken({ sub: alice })
const hiddenRows = 2000

beforeAll(async () => {
  database = await createExtensionDatabase('vector')
  app = await createTestApp({
    database,
    config: database.config,
    setup: `
      create schema extensions;
      create extension vector schema extensions;
      set local search_path = public, extensions;
      create table topic (topic_id int primary key, name text not null);
      insert into topic values (1, 'food'), (2, 'travel');
      create table note (
        id int primary key, topic_id int references topic, title text, embedding vector(3)
      );
      insert into note values
        (1, 1, 'one', '[1,0,0]'), (2, 2, 'two', '[0,1,0]'), (3, 1, 'three', '[0.9,0.1,0]'), (4, 1, 'none', null),
        (5, 2, 'zeros', '[0,0,0]'), (6, 2, 'far', '[-3,0,0]');
      create table kinds (
        id int primary key, half halfvec(2), sparse sparsevec(5), loose vector, several vector[], note text
      );
      insert into kinds values
        (1, '[1,0]', '{1:1}/5', '[1,0]'), (2, '[0,1]', '{2:3}/5', '[1,2,3]'), (3, null, '{}/5', null);
      create domain meaning as vector(2);
      create table several (id int primary key, a meaning, b meaning);
      insert into several values (1, '[1,0]', '[0,1]'), (2, '[0,1]', '[1,0]');
      create table plain (id int primary key, "embedding" text);
      create table clash (id int primary key, _distance int, embedding vector(2));
      create table secret (id int primary key, title text, embedding vector(2), other vector(2));
      insert into secret values (1, 'mine', '[1,0]', '[1,0]');
      create view keyless as select title, embedding from note;
      create table busy (id int primary key, owner uuid not null, embedding vector(3));
      insert into busy
        select n, case when n % 100 = 0 then '${alice}'::uuid else '${bob}'::uuid end,
          array[cos(n * 0.001), sin(n * 0.001), n % 7 * 0.01]::vector
        from generate_series(1, ${hiddenRows}) n;
      create index on busy using hnsw (embedding vector_cosine_ops);
      alter table busy enable row level security;
      -- As in a table so large that the planner takes the index, with a pgvector that does not continue beyond its first
      -- candidates: for new connections, and for the only one of PGlite.
      do $$ declare name text; begin
        foreach name in array array['hnsw.max_scan_tuples = 1', 'enable_seqscan = off', 'enable_sort = off'] loop
          execute format('alter database %I set ', current_database()) || name;
          execute 'set ' || name;
        end loop;
      end $$;
      create policy own on busy using (owner = basalt_caller());
      `.replace('basalt_caller()', "nullif(current_setting('basalt.user_id', true), '')::uuid"),
  })
  await database.sql(`
    grant usage on schema extensions to basalt_authenticated;
    revoke select on secret from basalt_authenticated;
    grant select (id, title, other) on secret to basalt_authenticated`)
}, extensionSetupMs)
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

type Query = Readonly<Record<string, string>>

function list(table: string, query: Query, options: { token?: string } = { token }) {
  return app.request('GET', `/api/collections/${table}?${new URLSearchParams(query)}`, options)
}

async function idsOf(table: string, query: Query, options?: { token?: string }) {
  const { status, text, json } = await list(table, query, options)
  expect(status, text).toBe(200)
  return json.items.map(({ id }: { id: number }) => id)
}

describe(`GET /collections/:table?nearest on ${extensionEngine}`, () => {
  test('returns the records by distance, without those that have none', async () => {
    const { status, json } = await list('note', { nearest: '[2,0,0]', fields: 'id,title' })
    expect(status).toBe(200)
    expect(json).toEqual({
      page: 1,
      perPage: 20,
      totalItems: 4,
      totalPages: 1,
      items: [
        { id: 1, title: 'one', _distance: 0 },
        { id: 3, title: 'three', _distance: expect.closeTo(0.0061, 4) },
        { id: 2, title: 'two', _distance: 1 },
        { id: 6, title: 'far', _distance: 2 },
      ],
    })
  })

  test('accepts a vector of 1,536 full digits in the body of a POST', async () => {
    const { status, json } = await app.request('POST', '/api/collections/note/query', {
      token,
      body: { nearest: [2, 0.1 + 0.2, 1e-9], fields: ['id'], perPage: 2, filter: 'topic_id = 1' },
    })
    expect(status).toBe(200)
    expect(json).toEqual({
      ...{ page: 1, perPage: 2, totalItems: 2, totalPages: 1 },
      items: [
        { id: 3, _distance: expect.closeTo(0.0007, 4) },
        { id: 1, _distance: expect.closeTo(0.0111, 4) },
      ],
    })
    const long = Array.from({ length: 1536 }, (_, index) => Math.sin(index + 1))
    const answer = await app.request('POST', '/api/collections/note/query', {
      token,
      body: { nearest: long },
    })
    expect(envelope(answer)).toMatchObject({
      ...{
        code: 400,
        message: 'dimension mismatch: query vector has 1536 dimensions, column "embedding" expects 3',
      },
    })
  })

  test('returns all columns, and expands relations', async () => {
    const { json } = await list('note', { nearest: '[0,1,0]', perPage: '1', expand: 'topic' })
    expect(json).toEqual({
      page: 1,
      perPage: 1,
      totalItems: 1,
      totalPages: 1,
      items: [
        {
          id: 2,
          topic_id: 2,
          title: 'two',
          embedding: [0, 1, 0],
          expand: { topic: { topic_id: 2, name: 'travel' } },
          _distance: 0,
        },
      ],
    })
  })

  test.each([
    ['l2', [3, 1, 5, 2, 6], 0.1],
    ['inner_product', [1, 3, 2, 5, 6], -1],
  ])('compares by %s', async (distance, ids, first) => {
    const { json } = await list('note', { nearest: distance === 'l2' ? '[0.9,0,0]' : '[1,0,0]', distance })
    expect(json.items.map(({ id }: { id: number }) => id)).toEqual(ids)
    expect(json.items[0]._distance).toBeCloseTo(first)
  })

  test('applies the filter, and ignores page, sort, cursor and totals', async () => {
    const query = { nearest: '[1,0,0]', filter: "topic_id = 1 AND title != 'one'" }
    expect(await idsOf('note', query)).toEqual([3])
    expect(await idsOf('note', { ...query, page: '9', sort: '-title', skipTotal: 'true' })).toEqual([3])
    expect(await idsOf('note', { ...query, cursor: '' })).toEqual([3])
  })

  test.each([
    ['halfvec', { nearest: '[1,0]', vector_column: 'half' }, [1, 2]],
    ['sparsevec', { nearest: '[0,1,0,0,0]', vector_column: 'sparse', distance: 'l2' }, [3, 1, 2]],
    ['sparsevec', { nearest: '{2:3}/5', vector_column: 'sparse' }, [2, 1]],
    ['a vector of any length', { nearest: '[1,0]', vector_column: 'loose' }, [1]],
  ])('accepts %s', async (_, query, ids) => {
    expect(await idsOf('kinds', query)).toEqual(ids)
  })

  test('accepts a domain over a vector, and the named column', async () => {
    expect(await idsOf('several', { nearest: '[1,0]', vector_column: 'b' })).toEqual([2, 1])
  })

  test('works on a view without a key', async () => {
    const { json } = await list('keyless', { nearest: '[0,1,0]', fields: 'title', perPage: '1' })
    expect(json.items).toEqual([{ title: 'two', _distance: 0 }])
  })

  const array = 'invalid nearest parameter: expected JSON array of numbers'
  test.each([
    ['note', { nearest: '' }, array],
    ['note', { nearest: 'abc' }, array],
    ['note', { nearest: '[1,2' }, array],
    ['note', { nearest: '5' }, array],
    ['note', { nearest: 'null' }, array],
    ['note', { nearest: '{"1":2}' }, array],
    ['note', { nearest: '[1,"2",3]' }, array],
    ['note', { nearest: '[[1,2,3]]' }, array],
    ['note', { nearest: '[NaN,1,1]' }, array],
    ['note', { nearest: '[Infinity,1,1]' }, array],
    ['note', { nearest: '[1e999,1,1]' }, array],
    ['note', { nearest: '[1e39,1,1]' }, array],
    ['note', { nearest: '[null,1,1]' }, array],
    ['note', { nearest: '[1,1,01]' }, array],
    ['note', { nearest: '[1,1,.5]' }, array],
    ['note', { nearest: '[1,1,1.]' }, array],
    ['note', { nearest: '[1,1,1,]' }, array],
    ['note', { nearest: '[1,1,1],' }, array],
    ['note', { nearest: `[1,1,1${'0'.repeat(39)}]` }, array],
    ['note', { nearest: '{1:1}/3' }, array],
    ['note', { nearest: '[]' }, 'nearest vector must not be empty'],
    [
      'note',
      { nearest: '[0,0,0]' },
      'nearest vector must not be all zeros with cosine distance, which compares directions',
    ],
    [
      'note',
      { nearest: '[0, -0.0, 0e5]' },
      'nearest vector must not be all zeros with cosine distance, which compares directions',
    ],
    [
      'note',
      { nearest: '[1,2]' },
      'dimension mismatch: query vector has 2 dimensions, column "embedding" expects 3',
    ],
    [
      'kinds',
      { nearest: '{1:1}/4', vector_column: 'sparse' },
      'dimension mismatch: query vector has 4 dimensions, column "sparse" expects 5',
    ],
    [
      'note',
      { nearest: '[1,2,3]', distance: 'manhattan' },
      'unsupported distance metric "manhattan"; valid: cosine, l2, inner_product',
    ],
    ['note', { nearest: '[1,2,3]', vector_column: 'nope' }, 'column "nope" not found in table "note"'],
    [
      'note',
      { nearest: '[1,2,3]', vector_column: 'title' },
      'column "title" is not a vector column (type: text)',
    ],
    [
      'kinds',
      { nearest: '[1,2,3]', vector_column: 'several' },
      'column "several" is not a vector column (type: extensions.vector[])',
    ],
    ['plain', { nearest: '[1]' }, 'table "plain" has no vector columns'],
    [
      'several',
      { nearest: '[1,2]' },
      'table "several" has multiple vector columns (a, b); specify vector_column explicitly',
    ],
    [
      'clash',
      { nearest: '[1,2]' },
      'nearest cannot be used on table "clash" because it has a "_distance" column',
    ],
    [
      'note',
      { nearest: '[1,2,3]', semantic_query: 'a' },
      "cannot use both 'nearest' and 'semantic_query' parameters",
    ],
    [
      'note',
      { nearest: '[1,2,3]', semantic: 'true' },
      'cannot combine semantic=true with nearest or semantic_query',
    ],
    [
      'note',
      { semantic_query: 'a', semantic: 'true', search: 'a' },
      'cannot combine semantic=true with nearest or semantic_query',
    ],
    ['note', { semantic: 'perhaps', search: 'a' }, 'semantic parameter must be a boolean'],
    ['note', { semantic_query: ' ' }, 'semantic_query must not be empty'],
    [
      'note',
      { semantic_query: 'ä'.repeat(1300) + 'b'.repeat(6000) },
      'semantic_query too long: at most 8000 bytes',
    ],
    ['note', { semantic_query: 'a' }, 'semantic search is not configured — no embedding provider available'],
    ['note', { distance: 'l2' }, 'distance requires nearest, semantic_query or semantic=true'],
    [
      'note',
      { vector_column: 'embedding' },
      'vector_column requires nearest, semantic_query or semantic=true',
    ],
    ['note', { nearest: '[1,2,3]', facets: 'title' }, 'unsupported parameter "facets"'],
    ['note', { nearest: '[1,2,3]', fuzzy: 'false' }, 'unsupported parameter "fuzzy"'],
    ['note', { nearest: '[1,2,3]', typo_threshold: '0.2' }, 'unsupported parameter "typo_threshold"'],
    ['note', { nearest: '[1,2,3]', highlight: 'true' }, 'unsupported parameter "highlight"'],
    ['note', { nearest: '[1,2,3]', search: 'a' }, 'unsupported parameter "search"'],
    ['note', { nearest: '[1,2,3]', filter: 'nope = 1' }, 'invalid filter: unknown column: nope'],
    ['note', { nearest: '[1,2,3]', fields: 'nope' }, 'unknown column "nope" in fields'],
  ])('returns 400 on %s: %j', async (table, query, message) => {
    const response = await list(table, query)
    expect(response.status, response.text).toBe(400)
    expect(response.json.message).toBe(message)
  })

  test('explains the fault in the envelope of every error', async () => {
    expect(envelope(await list('note', { nearest: '[1,2]' }))).toEqual({
      code: 400,
      error: 'dimension_mismatch',
      message: 'dimension mismatch: query vector has 2 dimensions, column "embedding" expects 3',
    })
  })

  test('returns a plain list while the search is empty', async () => {
    const query = { semantic: 'true', search: ' ', vector_column: 'embedding', distance: 'l2', fields: 'id' }
    const { json } = await list('topic', { ...query, fields: 'topic_id' })
    expect(json.items).toEqual([{ topic_id: 1 }, { topic_id: 2 }])
  })

  test('discloses no distance of a column that the caller may not read', async () => {
    const hidden = await list('secret', { nearest: '[1,0]', vector_column: 'embedding' })
    expect(envelope(hidden)).toEqual({
      code: 403,
      error: 'insufficient_permissions',
      message: 'insufficient permissions',
    })
    // The only readable vector column is used.
    const { json } = await list('secret', { nearest: '[1,0]' })
    expect(json.items).toEqual([{ id: 1, title: 'mine', other: [1, 0], _distance: 0 }])
    const admin = await app.adminToken()
    expect(await idsOf('secret', { nearest: '[1,0]', vector_column: 'embedding' }, { token: admin })).toEqual(
      [1],
    )
  })

  test('requires a token', async () => {
    expect((await list('note', { nearest: '[1,0,0]' }, {})).status).toBe(401)
  })

  test.each([20, 5])('fills a page of %i where a policy hides 99 of 100 records', async (perPage) => {
    const vector = { nearest: '[1,0,0]', fields: 'id', perPage: String(perPage) }
    const { json } = await list('busy', vector)
    const found = json.items.map(({ id }: { id: number }) => id)
    // The expected rows, read without the index.
    const exact = await database.sql<{ id: number }>(`
      select id from busy where owner = '${alice}'
      order by (embedding operator(extensions.<=>) '[1,0,0]') + 0, id limit ${perPage}`)
    expect(found.toSorted()).toEqual(exact.map(({ id }) => id).toSorted())
    expect(json.totalItems).toBe(perPage)
    expect(json.items.map((item: { _distance: number }) => item._distance)).toEqual(
      json.items
        .map((item: { _distance: number }) => item._distance)
        .toSorted((a: number, b: number) => a - b),
    )
  })

  test('returns all rows that match a filter, even if they are less than a page', async () => {
    expect(await idsOf('busy', { nearest: '[1,0,0]', filter: 'id > 1900' })).toEqual([2000])
    const admin = await app.adminToken()
    const query = { nearest: '[1,0,0]', filter: 'id > 1985', fields: 'id', perPage: '500' }
    expect((await idsOf('busy', query, { token: admin })).toSorted()).toEqual(
      Array.from({ length: 15 }, (_, index) => 1986 + index),
    )
  })

  test('finds more rows than an index scans by default', async () => {
    const admin = await app.adminToken()
    const query = { nearest: '[1,0,0]', fields: 'id', perPage: '500' }
    const ids = await idsOf('busy', query, { token: admin })
    expect(new Set(ids).size).toBe(500)
  })

  test('returns 404 for an unknown collection', async () => {
    expect((await list('nope', { nearest: '[1]' })).status).toBe(404)
  })
})
