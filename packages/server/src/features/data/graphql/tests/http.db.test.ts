import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, library } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
let listing: TestApp
const token = userToken({ sub: alice })
const graphql = { accept: 'application/graphql-response+json' }
const solaris = '{ book_by_pk(book_id: 2) { title } }'
const found = { data: { book_by_pk: { title: 'Solaris' } } }

beforeAll(async () => {
  app = await createTestApp({ setup: library, config: { 'graphql.persisted': 'allow' } })
  listing = await createTestApp({ database: app.database, config: { 'graphql.persisted': 'only' } })
})
afterAll(async () => {
  await listing[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

const get = (parameters: Record<string, string>, headers = {}) =>
  app.request('GET', `/api/graphql?${new URLSearchParams(parameters)}`, { token, headers })

describe('POST /api/graphql › requests', () => {
  test.each<readonly [string, unknown, string]>([
    ['text that is no JSON', '{', 'invalid JSON body'],
    ['an array', [{ query: solaris }], 'invalid JSON body'],
    ['a document that is no string', { query: 1 }, 'query: expected a string'],
    ['variables that are no object', { query: solaris, variables: [] }, 'variables: expected an object'],
    ['no document', {}, 'Must provide query string.'],
  ])('responds with 400 to %s', async (_, body, message) => {
    const response = await app.request('POST', '/api/graphql', {
      token,
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect([response.status, response.json]).toEqual([
      400,
      { data: null, errors: [{ message, extensions: { code: 'invalid_graphql_request' } }] },
    ])
  })

  test('responds with 415 to a form, which a page of another site could send', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await app.request('POST', '/api/graphql', { token, headers, body: 'query={__typename}' })
    expect([response.status, response.json.errors[0].extensions.code]).toEqual([
      415,
      'unsupported_media_type',
    ])
  })

  test.each<readonly [string, object, string]>([
    ['a syntax error', { query: '{' }, 'Syntax Error: Expected Name, found <EOF>.'],
    ['no operation', { query: 'fragment F on book { title }' }, 'Must provide an operation.'],
    [
      'several operations without a name',
      { query: `query A ${solaris} query B ${solaris}` },
      'Must provide operation name if query contains multiple operations.',
    ],
    ['an unknown operation', { query: solaris, operationName: 'X' }, 'Unknown operation named "X".'],
    [
      'a missing variable',
      { query: 'query ($id: Int!) { book_by_pk(book_id: $id) { title } }' },
      'Variable "$id" of required type "Int!" was not provided.',
    ],
    [
      'a directive in the wrong place',
      { query: 'query @skip(if: true) { __typename }' },
      'Directive "@skip" may not be used on QUERY.',
    ],
    [
      'a subscription',
      { query: 'subscription { book { title } }' },
      'a subscription needs a WebSocket, or an event stream by `Accept: text/event-stream`',
    ],
  ])(
    'responds with 200 to %s, and with 400 if the client accepts the media type of GraphQL',
    async (_, body, message) => {
      const plain = await app.request('POST', '/api/graphql', { token, body })
      expect([plain.status, plain.json.data, plain.json.errors[0].message]).toEqual([200, null, message])
      const exact = await app.request('POST', '/api/graphql', { token, body, headers: graphql })
      expect([exact.status, 'data' in exact.json, exact.json.errors[0].message]).toEqual([
        400,
        false,
        message,
      ])
    },
  )

  test('runs the operation of the name', async () => {
    const query = 'query A { a: __typename } query B { b: __typename }'
    expect(await runGraphql(app, query, { token, operationName: 'B' })).toEqual({
      status: 200,
      data: { b: 'Query' },
    })
  })
})

describe('GET /api/graphql', () => {
  test('runs a query with variables', async () => {
    const query = 'query ($id: Int!) { book_by_pk(book_id: $id) { title } }'
    const response = await get({ query, variables: '{"id": 2}' })
    expect([response.status, response.json]).toEqual([200, found])
  })

  test('responds with 405 to a mutation, which is not run', async () => {
    const response = await get({ query: 'mutation { delete_author(where: {}) { affected_rows } }' })
    expect([response.status, response.headers.get('allow'), response.json]).toEqual([
      405,
      'POST',
      {
        data: null,
        errors: [{ message: 'a mutation requires POST', extensions: { code: 'mutation_by_get' } }],
      },
    ])
  })

  test('responds with 400 to variables that are no JSON object', async () => {
    const response = await get({ query: solaris, variables: '[1]' })
    expect([response.status, response.json.errors[0].message]).toEqual([
      400,
      'variables: expected a JSON object',
    ])
  })
})

describe('POST /api/graphql › limits', () => {
  const nested = (levels: number): string =>
    levels === 0 ? 'title' : `author { book { ${nested(levels - 1)} } }`
  const repeat = (count: number, each: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => each(n)).join(' ')

  test.each<readonly [string, string, string]>([
    ['depth', `{ book { ${nested(6)} } }`, 'query depth 14 exceeds maximum allowed depth of 12'],
    ['root fields', `{ ${repeat(10_000, () => '__typename')} }`, 'query has more than 2000 fields'],
    [
      'root fields by name',
      `{ ${repeat(21, (n) => `a${n}: __typename`)} }`,
      'query has 21 root fields; at most 20 are allowed',
    ],
    [
      'aliases',
      `{ book { ${repeat(51, (n) => `a${n}: title`)} } }`,
      'query has 51 aliases; at most 50 are allowed',
    ],
    [
      'cost',
      '{ author { book(limit: 100) { title } } }',
      'query cost 101000 exceeds maximum allowed cost of 50000 records',
    ],
    ['limit', '{ book(limit: 1001) { title } }', 'limit: expected an integer from 0 to 1000'],
    ['negative limit', '{ book(limit: -1) { title } }', 'limit: expected an integer from 0 to 1000'],
    [
      'a fragment that contains itself',
      '{ book { ...F } } fragment F on book { ...F }',
      'Cannot spread fragment "F" within itself.',
    ],
    ['an alias', `{ book { ${'a'.repeat(64)}: title } }`, 'alias: expected at most 63 characters'],
    [
      'tokens',
      `{ book { ${'title '.repeat(25_000)} } }`,
      'Syntax Error: Document contains more that 20000 tokens. Parsing aborted.',
    ],
  ])('names the limit on %s', async (_, query, message) => {
    const { status, data, errors } = await runGraphql(app, query, { token })
    expect([status, data, errors?.[0]?.message]).toEqual([200, null, message])
  })

  test('responds to doubling fragments at once', async () => {
    const fragments = repeat(40, (n) => `fragment F${n} on book { ...F${n + 1} ...F${n + 1} }`)
    const query = `{ book(limit: 1) { ...F0 } } ${fragments} fragment F40 on book { title }`
    expect((await runGraphql(app, query, { token })).status).toBe(200)
  })
})

describe('persisted documents', () => {
  const hash = createHash('sha256').update(solaris).digest('hex')
  const documents = '/api/admin/graphql/documents'

  test('are added by a manifest, and run by their hash on every node', async () => {
    const byHash = { token, body: { documentId: `sha256:${hash}` } }
    expect((await app.request('POST', '/api/graphql', byHash)).json).toEqual({
      data: null,
      errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'persisted_query_not_found' } }],
    })
    const admin = await app.adminToken()
    const added = await app.request('POST', documents, { token: admin, body: { [hash]: solaris } })
    expect([added.status, added.json]).toEqual([200, { added: 1, total: 1 }])
    const again = await app.request('POST', documents, {
      token: admin,
      body: {
        format: 'apollo-persisted-query-manifest',
        version: 1,
        operations: [{ id: hash, name: 'X', type: 'query', body: solaris }],
      },
    })
    expect(again.json).toEqual({ added: 0, total: 1 })
    for (const node of [app, listing]) {
      expect((await node.request('POST', '/api/graphql', byHash)).json).toEqual(found)
    }
    const extensions = JSON.stringify({ persistedQuery: { version: 1, sha256Hash: hash } })
    expect((await get({ extensions })).json).toEqual(found)
    const list = await app.request('GET', documents, { token: admin })
    expect(list.json).toEqual({ items: [{ hash, document: solaris, createdAt: expect.any(String) }] })
  })

  test.each([
    ['allow', 'PersistedQueryNotFound', 'persisted_query_not_found'],
    ['off', 'PersistedQueryNotSupported', 'persisted_query_not_supported'],
  ])('with `%s` › an unknown hash is a %s', async (persisted, message, code) => {
    await using other = await createTestApp({
      database: app.database,
      config: { 'graphql.persisted': persisted },
    })
    const body = { extensions: { persistedQuery: { version: 1, sha256Hash: hash.replace(/.$/, '0') } } }
    const errors = [{ message, extensions: { code } }]
    const plain = await other.request('POST', '/api/graphql', { token, body })
    expect([plain.status, plain.json]).toEqual([200, { data: null, errors }])
    const exact = await other.request('POST', '/api/graphql', { token, body, headers: graphql })
    expect([exact.status, exact.json]).toEqual([400, { errors }])
  })

  test('are the only ones that run with `only`', async () => {
    const other = await listing.request('POST', '/api/graphql', { token, body: { query: '{ __typename }' } })
    expect([other.status, other.json.errors[0].extensions.code]).toEqual([403, 'document_not_allowed'])
    expect((await listing.request('POST', '/api/graphql', { token, body: { query: solaris } })).json).toEqual(
      found,
    )
  })

  test('are refused under the hash of another text', async () => {
    const admin = await app.adminToken()
    const response = await app.request('POST', documents, {
      token: admin,
      body: { [hash]: '{ __typename }' },
    })
    expect([response.status, response.json.error]).toEqual([400, 'invalid_document_manifest'])
    const sent = await app.request('POST', '/api/graphql', {
      token,
      body: { query: '{ __typename }', extensions: { persistedQuery: { version: 1, sha256Hash: hash } } },
    })
    expect([sent.status, sent.json.errors[0].message]).toEqual([400, 'provided sha does not match query'])
  })

  test('are deleted, and rejected within a second', async () => {
    const admin = await app.adminToken()
    const remove = () => app.request('DELETE', `${documents}/${hash}`, { token: admin })
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 404])
    await expect
      .poll(
        async () =>
          (await listing.request('POST', '/api/graphql', { token, body: { query: solaris } })).status,
      )
      .toBe(403)
  })
})

describe('configuration › graphql', () => {
  test('introspection is refused as configured, and __typename never', async () => {
    const schema = '{ __schema { queryType { name } } }'
    for (const [value, code] of [
      ['admin', 'introspection_refused'],
      ['disabled', 'introspection_disabled'],
    ]) {
      await using other = await createTestApp({
        database: app.database,
        config: { 'graphql.introspection': value ?? '' },
      })
      expect(await runGraphql(other, schema, { token })).toMatchObject({
        status: 403,
        data: null,
        errors: [{ extensions: { code } }],
      })
      expect(
        await runGraphql(other, '{ __typename book(limit: 1) { __typename } }', { token }),
      ).toMatchObject({ status: 200, data: { __typename: 'Query' } })
      if (value === 'admin') {
        expect((await runGraphql(other, schema, { token: await other.adminToken() })).status).toBe(200)
      }
    }
  })

  test('enabled = false makes the endpoint a 404', async () => {
    await using other = await createTestApp({
      database: app.database,
      config: { 'graphql.enabled': 'false' },
    })
    expect((await other.request('POST', '/api/graphql', { token, body: { query: solaris } })).status).toBe(
      404,
    )
  })
})

describe('POST /api/graphql › definitions that change', () => {
  test('finds a table and a column that are created after the schema was built', async () => {
    expect((await runGraphql(app, '{ fresh { id } }', { token })).data).toBe(null)
    await app.sql('create table fresh (id int primary key); insert into fresh values (7)')
    expect(await runGraphql(app, '{ fresh { id } }', { token })).toEqual({
      status: 200,
      data: { fresh: [{ id: 7 }] },
    })
    await app.sql(`alter table fresh add label text default 'new'`)
    expect(await runGraphql(app, '{ fresh { label } }', { token })).toEqual({
      status: 200,
      data: { fresh: [{ label: 'new' }] },
    })
    await app.sql('alter table fresh drop label')
    expect(await runGraphql(app, '{ fresh { label } }', { token })).toMatchObject({ data: null })
  })

  test('finds the first table that a mutation can write', async () => {
    await using empty = await createTestApp()
    const insert = 'mutation { insert_fresh(objects: [{id: 7}]) { affected_rows } }'
    expect(await runGraphql(empty, insert, { token })).toEqual({
      status: 200,
      data: null,
      errors: [
        {
          message: 'Schema is not configured to execute mutation operation.',
          extensions: { code: 'invalid_graphql_document' },
        },
      ],
    })
    await empty.sql('create table fresh (id int primary key)')
    expect(await runGraphql(empty, insert, { token })).toEqual({
      status: 200,
      data: { insert_fresh: { affected_rows: 1 } },
    })
  })
})
