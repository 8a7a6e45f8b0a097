import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import {
  openEventClient,
  openSocketClient,
  type StreamClient,
  type StreamClientOptions,
} from '../../../../../test/graphql-streams.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const setup = `
  create type mood as enum ('very good', 'bad');
  create table note (id bigint primary key, owner_id uuid not null default basalt.user_id(), body text,
    price numeric, mood mood, data json, secret text);
  create table news (id int primary key, title text, draft text);
  create table vault (id int primary key, code text);
  create table changing (id int primary key, a text, b text);
  create table vanishing (id int primary key);
  create table part (a int, b int, label text, primary key (a, b));
  create view titles as select id, title from news;
  alter table note enable row level security;
  alter table news enable row level security;
  create policy own on note using (owner_id = basalt.user_id());
  create policy everyone on news for select using (true);
  grant select (id, title) on news to basalt_anonymous;
  revoke all on vault from basalt_authenticated;
  revoke select on note from basalt_authenticated;
  grant select (id, owner_id, body, price, mood, data) on note to basalt_authenticated;
  insert into basalt.users (id, email, password_hash) values ('${alice}', 'alice@example.com', null);
`

let app: TestApp
let other: TestApp
const token = userToken({ sub: alice })
const his = userToken({ sub: bob })

beforeAll(async () => {
  app = await createTestApp({ setup })
  other = await createTestApp({ database: app.database })
})
beforeEach(() => app.sql('truncate note, news, part'))
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

const write = (path: string, body: unknown, node = app, method = 'POST', as = token) =>
  node.request(method, `/api/collections/${path}`, { token: as, body })

const clients: readonly (readonly [string, (app: TestApp, options?: StreamClientOptions) => StreamClient])[] =
  [
    ['graphql-ws', openSocketClient],
    ['graphql-sse', openEventClient],
  ]

describe.each(clients)('subscription › %s', (_name, open) => {
  test('receives each change, with the selected fields under their aliases', async () => {
    await using client = open(app, { token })
    const notes = client.run(
      `subscription Notes($body: String!, $withPrice: Boolean!) {
        changed: note(where: {body: {_eq: $body}, _and: [{id: {_gt: 0}}]}) {
          __typename kind: _action ...Text price @include(if: $withPrice) mood @skip(if: false)
        }
      }
      fragment Text on NoteEvent { id text: body ... on NoteEvent { data } }`,
      { variables: { body: 'a', withPrice: true } },
    )
    await notes.ready()
    await write('note', {
      id: '9007199254740993',
      body: 'a',
      price: '1.10',
      mood: 'very good',
      data: { n: 1 },
    })
    await write('note', { id: 2, body: 'b' })
    await write('note/9007199254740993', { body: 'c' }, app, 'PATCH')
    await write('note/9007199254740993', { body: 'a' }, app, 'PATCH')
    await write('note/9007199254740993', undefined, app, 'DELETE')
    const id = '9007199254740993'
    const whole = {
      ...{ __typename: 'NoteEvent', id, price: '1.10', mood: 'very_good', data: { n: 1 } },
    }
    const key = { text: null, price: null, mood: null, data: null }
    const result = (changed: object, action: string) => ({
      data: { changed },
      extensions: { action, id: expect.any(String) },
    })
    expect(await notes.next(4)).toEqual([
      result({ ...whole, kind: 'create', text: 'a' }, 'create'),
      result({ ...whole, kind: 'update', text: 'c' }, 'update'),
      result({ ...whole, kind: 'update', text: 'a' }, 'update'),
      result({ ...whole, kind: 'delete', ...key }, 'delete'),
    ])
    expect(notes.end).toBeUndefined()
  })

  test('receives only rows that the policies permit, from every node', async () => {
    await using mine = open(app, { token })
    await using theirs = open(app, { token: his })
    const query = 'subscription { note { id body } }'
    const [hers, bobs] = [mine.run(query), theirs.run(query)]
    await Promise.all([hers.ready(), bobs.ready()])
    await write('note', { id: 1, body: 'of alice' }, other)
    await write('note', { id: 2, body: 'of bob' }, other, 'POST', his)
    await runGraphql(other, 'mutation { insert_note(objects: [{id: "3"}]) { affected_rows } }', { token })
    expect((await hers.next(2)).map(({ data }) => data)).toEqual([
      { note: { id: '1', body: 'of alice' } },
      { note: { id: '3', body: null } },
    ])
    expect((await bobs.next(1)).map(({ data }) => data)).toEqual([{ note: { id: '2', body: 'of bob' } }])
    expect(bobs.results).toHaveLength(1)
  })

  test('resumes after the id of a result, on another node', async () => {
    const query = 'subscription { part { a b label } }'
    let lastEventId: string
    {
      await using client = open(app, { token })
      const parts = client.run(query)
      await parts.ready()
      await write('part', { a: 1, b: 1 })
      const [first] = await parts.next()
      lastEventId = first.extensions.id
    }
    await write('part', { a: 1, b: 2, label: 'missed' })
    await using client = open(other, { token })
    const resumed = client.run(query, { extensions: { lastEventId } })
    await write('part/1,2', undefined, app, 'DELETE')
    expect((await resumed.next(2)).map(({ data }) => data)).toEqual([
      { part: { a: 1, b: 2, label: 'missed' } },
      { part: { a: 1, b: 2, label: null } },
    ])
    const foreign = client.run(query, { extensions: { lastEventId: 'nonsense' } })
    expect((await foreign.next())[0]).toEqual({
      data: { part: null },
      extensions: { gap: true, id: expect.any(String) },
    })
  })

  test('receives public changes without a token', async () => {
    await using client = open(app)
    const news = client.run('subscription { news { id title } }')
    const hidden = client.run('subscription { news { draft } }')
    expect(await hidden.ended()).toBeDefined()
    await news.ready()
    await write('news', { id: 1, title: 'open', draft: 'x' }, app, 'POST', await app.adminToken())
    expect((await news.next())[0].data).toEqual({ news: { id: 1, title: 'open' } })
  })

  test('receives every row as an administrator', async () => {
    await using client = open(app, { token: await app.adminToken() })
    const notes = client.run('subscription { note { id secret } }')
    await notes.ready()
    await write('note', { id: 7, body: 'x' })
    expect((await notes.next())[0].data).toEqual({ note: { id: '7', secret: null } })
  })

  test('ends when its API key is revoked, and has the tables of the key alone', async () => {
    const { key, apiKey } = await createApiKey(app, {
      userId: alice,
      scope: 'readonly',
      allowedTables: ['note'],
    })
    await using client = open(app, { token: key })
    const notes = client.run('subscription { note { id } }')
    await notes.ready()
    await write('note', { id: 1 })
    await notes.next()
    const foreign = client.run('subscription { part { a } }')
    expect(await foreign.ended()).toBeDefined()
    await app.request('DELETE', `/api/admin/api-keys/${apiKey.id}`, { token: await app.adminToken() })
    await notes.ended()
    await write('note', { id: 2 })
    expect(notes.results.filter(({ data }) => data !== undefined)).toHaveLength(1)
  })

  test('continues while the table changes in other columns, and ends when its own are dropped', async () => {
    await app.sql('drop table changing; create table changing (id int primary key, a text, b text)')
    await using client = open(app, { token })
    const changes = client.run('subscription { changing(where: {b: {_neq: "x"}}) { id a } }')
    await changes.ready()
    await app.sql('alter table changing add column c text')
    // Changes during that of the table may become a gap.
    let id = 0
    const change = await waitFor('a change', async () => {
      id += 1
      await write('changing', { id, a: 'a', b: 'b', c: 'c' })
      return changes.results.find(({ extensions }) => extensions?.action === 'create')
    })
    expect(change.data).toEqual({ changing: { id: expect.any(Number), a: 'a' } })
    await app.sql('alter table changing drop column b')
    const end = await changes.ended()
    const failed = Array.isArray(end) ? end : changes.results.at(-1).errors
    expect(failed).toEqual([
      {
        message: 'the table has changed, or may no longer be read; subscribe again',
        extensions: { code: 'schema_changed' },
      },
    ])
  })

  test('ends when its table is dropped', async () => {
    await app.sql('drop table if exists vanishing; create table vanishing (id int primary key)')
    await using client = open(app, { token })
    const rows = client.run('subscription { vanishing { id } }')
    await rows.ready()
    await app.sql('drop table vanishing')
    const end = await rows.ended()
    const [failed] = Array.isArray(end) ? end : rows.results.at(-1).errors
    expect(failed.extensions).toEqual({ code: 'schema_changed' })
  })

  test.each<readonly [string, string, string]>([
    [
      'two tables',
      'subscription { note { id } part { a } }',
      'Anonymous Subscription must select only one top level field.',
    ],
    [
      'the name of the type alone',
      'subscription { __typename }',
      'Anonymous Subscription must not select an introspection top level field.',
    ],
    [
      'a table of other roles',
      'subscription { vault { id } }',
      'Cannot query field "vault" on type "Subscription". Did you mean "part"?',
    ],
    [
      'a column of other roles',
      'subscription { note { secret } }',
      'Cannot query field "secret" on type "NoteEvent".',
    ],
    ['a view', 'subscription { titles { id } }', 'Cannot query field "titles" on type "Subscription".'],
    [
      'a condition that changes cannot be tested by',
      'subscription { note(where: {_or: [{id: {_eq: "1"}}]}) { id } }',
      'where: a subscription cannot have _or; expected _eq, _neq, _gt, _gte, _lt, _lte, _in and _and',
    ],
    [
      'a pattern',
      'subscription { note(where: {body: {_like: "a%"}}) { id } }',
      'where: a subscription cannot have _like (body); expected _eq, _neq, _gt, _gte, _lt, _lte, _in and _and',
    ],
    [
      'a missing variable',
      'subscription ($id: BigInt!) { note(where: {id: {_eq: $id}}) { id } }',
      'Variable "$id" of required type "BigInt!" was not provided.',
    ],
  ])('is refused for %s', async (_what, query, message) => {
    await using client = open(app, { token })
    const refused = client.run(query)
    const end = await refused.ended()
    const [first] = Array.isArray(end) ? end : (refused.results.at(-1)?.errors ?? [])
    expect(first?.message).toBe(message)
  })
})

describe('subscription › graphql-ws', () => {
  test('runs queries and mutations as over HTTP', async () => {
    await using client = openSocketClient(app, { token })
    const run = async (query: string, variables = {}) => {
      const operation = client.run(query, { variables })
      return [await operation.ended(), ...operation.results]
    }
    expect(
      await run('mutation ($id: BigInt!) { insert_note(objects: [{id: $id}]) { returning { id } } }', {
        id: '9007199254740993',
      }),
    ).toEqual(['complete', { data: { insert_note: { returning: [{ id: '9007199254740993' }] } } }])
    expect(await run('{ note { id } __typename }')).toEqual([
      'complete',
      { data: { note: [{ id: '9007199254740993' }], __typename: 'Query' } },
    ])
    expect(
      await run('mutation { insert_note(objects: [{id: "9007199254740993"}]) { affected_rows } }'),
    ).toEqual([
      'complete',
      {
        data: null,
        errors: [expect.objectContaining({ path: ['insert_note'], message: expect.any(String) })],
      },
    ])
    expect(await run('{ nothing }')).toEqual([
      [
        {
          message: 'Cannot query field "nothing" on type "Query".',
          locations: [{ line: 1, column: 3 }],
          extensions: { code: 'invalid_graphql_document' },
        },
      ],
    ])
  })

  test('lets a key for reading change nothing', async () => {
    const { key } = await createApiKey(app, { userId: alice, scope: 'readonly', allowedTables: ['note'] })
    await using client = openSocketClient(app, { token: key })
    const refused = client.run('mutation { insert_note(objects: [{id: "1"}]) { affected_rows } }')
    await refused.ended()
    expect(refused.results).toEqual([
      { data: null, errors: [expect.objectContaining({ extensions: { code: 'insufficient_scope' } })] },
    ])
    expect(await app.sql('select from note')).toHaveLength(0)
  })
})
