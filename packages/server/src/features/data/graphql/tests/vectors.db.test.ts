import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  countLetters,
  type EmbeddingProvider,
  embeddings,
  startEmbeddingProvider,
} from '../../../../../test/embedding-provider.ts'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionEngine,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

let provider: EmbeddingProvider
let database: ExtensionDatabase
let app: TestApp
const token = userToken({ sub: alice })
const run = (query: string, variables?: object) =>
  runGraphql(app, query, { token, ...(variables === undefined ? {} : { variables }) })

beforeAll(async () => {
  provider = await startEmbeddingProvider()
  database = await createExtensionDatabase('vector')
  const providers = { openai: { api_key: 'sk', base_url: provider.url, default_model: 'letters' } }
  app = await createTestApp({
    database,
    config: { ...database.config, 'ai.providers': JSON.stringify(providers), 'ai.max_retries': '0' },
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
        (5, 1, '${alice}', 'without vector', null), (6, null, '${bob}', 'apple of bob', '[1,0,0]');
      alter table note enable row level security;
      create policy own on note using (owner = nullif(current_setting('basalt.user_id', true), '')::uuid);
      create table several (id int primary key, a vector(2), "b c" vector(2));
      insert into several values (1, '[1,0]', '[0,1]'), (2, '[0,1]', '[1,0]');
      create table clash (id int primary key, _distance int, embedding vector(2));`,
  })
  await database.sql('grant usage on schema extensions to basalt_authenticated')
}, extensionSetupMs)
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

describe(`POST /api/graphql › nearest (${extensionEngine})`, () => {
  test.each<readonly [args: string, parameters: Readonly<Record<string, string>>]>([
    ['nearest: [1, 0.2, 0]', { nearest: '[1,0.2,0]' }],
    ['nearest: [1, 0.2, 0], limit: 2, distance: l2', { nearest: '[1,0.2,0]', perPage: '2', distance: 'l2' }],
    ['nearest: [1, 0, 0], distance: inner_product', { nearest: '[1,0,0]', distance: 'inner_product' }],
    [
      'nearest: [1, 0, 0], vector_column: "embedding", where: {topic: {name: {_eq: "food"}}}',
      { nearest: '[1,0,0]', vector_column: 'embedding', filter: "topic.name = 'food'" },
    ],
  ])('%s has the records of the REST list, with relations', async (args, parameters) => {
    const graphql = await run(`{ note(${args}) { id title topic { name } _distance } }`)
    const rest = await app.request(
      'GET',
      `/api/collections/note?${new URLSearchParams({ ...parameters, fields: 'id,title', expand: 'topic' })}`,
      { token },
    )
    expect(rest.json.items.length).toBeGreaterThan(0)
    expect(graphql).toEqual({
      status: 200,
      data: {
        note: rest.json.items.map(({ expand, ...item }: { expand: { topic?: { name: string } } }) => ({
          ...item,
          topic: expand.topic === undefined ? null : { name: expand.topic.name },
        })),
      },
    })
  })

  test('takes the vector from a variable, several in one document, and names columns as the schema does', async () => {
    expect(
      await run(
        `query ($v: [Float!]) {
          one: several(nearest: $v, vector_column: "a") { id far: _distance }
          two: several(nearest: $v, vector_column: "b_c", limit: 1) { id }
          plain: several(order_by: {id: DESC}) { id _distance }
          several_by_pk(id: 1) { _distance }
        }`,
        { v: [1, 0] },
      ),
    ).toEqual({
      status: 200,
      data: {
        one: [
          { id: 1, far: 0 },
          { id: 2, far: 1 },
        ],
        two: [{ id: 2 }],
        plain: [
          { id: 2, _distance: null },
          { id: 1, _distance: null },
        ],
        several_by_pk: { _distance: null },
      },
    })
  })

  test('finds records by the meaning of a text', async () => {
    provider.answer = embeddings(countLetters)
    const graphql = await run('{ note(semantic_query: "apple", limit: 3) { id _distance } topic { name } }')
    const rest = await app.request('GET', '/api/collections/note?semantic_query=apple&perPage=3&fields=id', {
      token,
    })
    expect(rest.json.items).toHaveLength(3)
    expect(graphql).toEqual({ status: 200, data: { note: rest.json.items, topic: [{ name: 'food' }] } })
  })

  test('fuses matches by words and by meaning', async () => {
    provider.answer = embeddings(countLetters)
    const fields = '_hybrid_score _fts_rank _vector_distance'
    const graphql = await run(`{
      note(search: "apple", semantic: true, where: {id: {_lt: 5}}) { id ${fields} topic { name } }
      second: note(search: "apple", semantic: true, where: {id: {_lt: 5}}, limit: 1, offset: 1) { id }
      blank: note(search: " ", semantic: true, order_by: {id: ASC}, limit: 1) { id ${fields} }
    }`)
    const rest = await app.request(
      'GET',
      '/api/collections/note?search=apple&semantic=true&fields=id&expand=topic&filter=id<5',
      { token },
    )
    const items = rest.json.items.map(({ expand, ...item }: { expand: { topic?: { name: string } } }) => ({
      ...{ _fts_rank: null, _vector_distance: null },
      ...item,
      topic: expand.topic === undefined ? null : { name: expand.topic.name },
    }))
    expect(items).toHaveLength(4)
    expect(graphql).toEqual({
      status: 200,
      data: {
        note: items,
        second: [{ id: items[1].id }],
        blank: [{ id: 1, _hybrid_score: null, _fts_rank: null, _vector_distance: null }],
      },
    })
  })

  test.each<readonly [query: string, code: string, message: string]>([
    ['note(search: "x", semantic: true, fuzzy: true) { id }', 'unsupported_parameter', ''],
    ['note(nearest: [1, 2]) { id }', 'dimension_mismatch', ''],
    ['note(nearest: []) { id }', 'invalid_parameter', 'nearest vector must not be empty'],
    ['several(nearest: [1, 2]) { id }', 'several_vector_columns', ''],
    ['several(nearest: [1, 2], vector_column: "id") { id }', 'not_vector_column', ''],
    ['several(nearest: [1, 2], vector_column: "x") { id }', 'vector_column_not_found', ''],
    ['clash(nearest: [1, 2]) { id }', 'invalid_parameter', ''],
    [
      'note(nearest: [1, 0, 0], semantic_query: "x") { id }',
      'invalid_parameter',
      "cannot use both 'nearest' and 'semantic_query' parameters",
    ],
    ['note(nearest: [1, 0, 0], search: "x") { id }', 'unsupported_parameter', ''],
    [
      'note(nearest: [1, 0, 0], order_by: {id: ASC}) { id }',
      'invalid_graphql_argument',
      'order_by: cannot be combined with nearest, semantic_query or semantic',
    ],
    ['note(vector_column: "embedding") { id }', 'invalid_parameter', ''],
  ])('refuses %s: %s', async (query, code, message) => {
    const [name = ''] = query.split('(')
    const response = await run(`{ ${query} }`)
    expect(response).toMatchObject({
      status: 200,
      data: null,
      errors: [{ path: [name], extensions: { code } }],
    })
    if (message !== '') expect(response.errors?.[0]?.message).toBe(message)
  })

  test('is no argument of a table without vectors', async () => {
    expect((await run('{ topic(nearest: [1]) { name } }')).errors?.[0]?.message).toMatch(
      /^Unknown argument "nearest"/,
    )
    expect((await run('{ topic { _distance } }')).errors).toHaveLength(1)
  })
})
