import { createHash } from 'node:crypto'
import { gql } from '@apollo/client'
import { parse } from 'graphql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../server/test/faults.ts'
import { alice, bob } from '../../../server/test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../server/test/test-app.ts'
import { type Client, createClient, isBasaltError, type TypedGraphqlDocument } from '../index.ts'
import { createNetwork, type Network, readFixture } from './harness.ts'
import { typed } from './typed.ts'

let app: TestApp
let client: Client
let network: Network
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: await readFixture(), config: { 'graphql.persisted': 'allow' } })
})
beforeEach(async () => {
  network = createNetwork()
  client = createClient({ url: app.url, auth: token, fetch: network.fetch })
  await app.sql(`
    truncate artist, album, task, "constructor", pair restart identity cascade;
    insert into album (title, price) values ('one', 12345678901234567.89);
    insert into task (title, album_id, owner) values ('write', 1, '${alice}'), ('hidden', 1, '${bob}')`)
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

const tasks = 'query Tasks($title: String) { task(where: {title: {_eq: $title}}) { title album { price } } }'
const found = { task: [{ title: 'write', album: { price: '12345678901234567.89' } }] }
const addTask =
  'mutation Add($title: String!) { insert_task(objects: [{title: $title}]) { affected_rows returning { title } } }'
const titles = () => app.sql('select title from task order by id')

describe('graphql › documents', () => {
  test.each([
    ['a text', tasks],
    ['a syntax tree with its source', parse(tasks)],
    ['a syntax tree without its source', parse(tasks, { noLocation: true })],
    ['a text of graphql-codegen', Object.assign(new String(tasks), { __meta__: {} })],
  ])('accept %s', async (_, document) => {
    expect(await client.graphql(document as string, { title: 'write' })).toEqual(found)
  })

  test('send a fragment once that several documents of gql share', async () => {
    const fragment = gql('fragment Part on task { title }')
    const document = gql`
      query {
        a: task { ...Part }
        b: task { ...Part }
      }
      ${fragment}
      ${fragment}
    `
    expect(await client.graphql(document)).toEqual({ a: [{ title: 'write' }], b: [{ title: 'write' }] })
  })

  test('run the operation of the option', async () => {
    const both = 'query A { a: __typename } query B { b: __typename }'
    expect(await client.graphql(both, {}, { operationName: 'B' })).toEqual({ b: 'Query' })
  })

  test('are rejected with a TypeError if they are none, and nothing is sent', async () => {
    for (const value of [undefined, null, {}, 1, { kind: 'Document' }]) {
      // @ts-expect-error not a document
      await expect(client.graphql(value)).rejects.toThrow(
        new TypeError('document is a text, or a document that gql or graphql-codegen made'),
      )
    }
    expect(network.requests).toEqual([])
  })

  test('have the types of their result and variables', async () => {
    type Typed<Result, Variables> = TypedGraphqlDocument<Result, Variables>
    const optional = tasks as Typed<{ task: { title: string }[] }, { title?: string | null }>
    typed<{ task: { title: string }[] }>()(await client.graphql(optional))
    typed<{ task: { title: string }[] }>()(await client.graphql(optional, { title: 'write' }))
    const without = '{ __typename }' as Typed<{ __typename: string }, { [key: string]: never }>
    typed<{ __typename: string }>()(await client.graphql(without))
    const required = addTask as Typed<{ insert_task: object }, { title: string }>
    await client.graphql(required, { title: 'typed' }, { idempotencyKey: 'k' })
    // @ts-expect-error a variable is missing
    await expect(client.graphql(required)).rejects.toThrow('Variable "$title" of required type "String!"')
    // @ts-expect-error a variable has another type
    await expect(client.graphql(required, { title: 1 })).rejects.toThrow(
      'Variable "$title" got invalid value',
    )
    // @ts-expect-error there is no such variable
    await client.graphql(optional, { name: 'x' })
    typed<{ [field: string]: unknown }>()(await client.graphql<{ [field: string]: unknown }>(tasks))
  })
})

describe('graphql › persisted documents', () => {
  const hash = `sha256:${createHash('sha256').update(tasks).digest('hex')}`
  const bodies: unknown[] = []
  const list = async () => {
    const response = await app.request('POST', '/api/admin/graphql/documents', {
      token: await app.adminToken(),
      body: { [hash]: tasks },
    })
    expect(response.status).toBe(200)
  }
  const observed = (url: string) =>
    createClient({
      url,
      auth: token,
      fetch: async (input, init) => {
        bodies.push(JSON.parse(String(init?.body)))
        return await fetch(input, init)
      },
    })

  beforeEach(async () => {
    bodies.length = 0
    await app.sql('truncate basalt.graphql_documents')
  })

  test('are sent by their hash alone', async () => {
    await list()
    const text = Object.assign(new String(tasks), { __meta__: { hash } }) as unknown as string
    const bare = { __meta__: { hash } } as unknown as string
    for (const document of [text, bare]) {
      expect(await observed(app.url).graphql(document, { title: 'write' })).toEqual(found)
    }
    const sent = { documentId: hash, variables: { title: 'write' } }
    expect(bodies).toEqual([sent, sent])
  })

  test.each(['allow', 'off'])(
    'are sent by their text if the server does not list them: %s',
    async (persisted) => {
      await using other = await createTestApp({
        database: app.database,
        config: { 'graphql.persisted': persisted },
      })
      const document = Object.assign(parse(tasks), { __meta__: { hash: hash.replace(/.$/, '0') } })
      expect(await observed(other.url).graphql(document, { title: 'write' })).toEqual(found)
      expect(bodies).toHaveLength(2)
      const error = persisted === 'off' ? 'persisted_query_not_supported' : 'persisted_query_not_found'
      const bare = { __meta__: { hash: hash.replace(/.$/, '0') } } as unknown as string
      await expect(observed(other.url).graphql(bare)).rejects.toMatchObject({ error })
    },
  )
})

describe('graphql › errors', () => {
  test('reject with the first error and all of them', async () => {
    const error = await client
      .graphql(`mutation { a: insert_task(objects: [{title: "new"}]) { affected_rows }
        b: insert_task(objects: [{title: "write"}]) { affected_rows } }`)
      .catch((thrown) => thrown)
    expect(isBasaltError(error, 'unique_violation')).toBe(true)
    expect(error).toMatchObject({
      status: 200,
      path: ['b'],
      data: { task_title_key: { code: 'unique_violation' } },
      requestId: expect.stringMatching(/./),
    })
    expect(error.errors).toEqual([
      {
        message: error.message,
        path: ['b'],
        locations: [{ line: 2, column: 9 }],
        extensions: expect.objectContaining({ code: 'unique_violation', data: error.data }),
      },
    ])
    expect(await titles()).toEqual([{ title: 'write' }, { title: 'hidden' }])
    const invalid = await client.graphql('{ nothing nowhere }').catch((thrown) => thrown)
    expect(invalid).toMatchObject({ error: 'invalid_graphql_document', path: undefined })
    expect(invalid.errors).toHaveLength(2)
  })

  test('reject with the error of a response that is not 200', async () => {
    await expect(client.graphql(tasks, [])).rejects.toMatchObject({
      error: 'invalid_graphql_request',
      status: 400,
      message: 'variables: expected an object',
      errors: [expect.anything()],
    })
    const anonymous = createClient({ url: app.url })
    await expect(anonymous.graphql(tasks)).rejects.toMatchObject({ status: 401, errors: undefined })
  })

  test.each([
    ['no data', '{}'],
    ['data of null', '{"data":null}'],
    ['errors of another form', '{"data":null,"errors":["x"]}'],
    ['no object', 'null'],
  ])('reject a response with %s', async (_, body) => {
    network.answer('/api/graphql', new Response(body))
    await expect(client.graphql(tasks)).rejects.toMatchObject({ error: 'invalid_response' })
  })
})

describe('graphql › retries', () => {
  test.each([
    ['before it was sent', 'loseRequest' as const],
    ['after it was done', 'loseAnswer' as const],
  ])('repeat a mutation after its connection broke %s, and it is applied once', async (_, lose) => {
    network[lose]()
    expect(await client.graphql(addTask, { title: 'once' })).toEqual({
      insert_task: { affected_rows: 1, returning: [{ title: 'once' }] },
    })
    expect(network.requests).toEqual(['POST /api/graphql', 'POST /api/graphql'])
    expect(network.keys[0]).toBe(network.keys[1])
    expect(await titles()).toEqual([{ title: 'write' }, { title: 'hidden' }, { title: 'once' }])
  })

  test('send the idempotency key of the option', async () => {
    const add = () => client.graphql(addTask, { title: 'once' }, { idempotencyKey: 'order-1' })
    expect(await add()).toEqual(await add())
    expect(network.keys).toEqual(['order-1', 'order-1'])
  })

  test('wait while another request has the same key', async () => {
    const errors = [{ message: 'in use', extensions: { code: 'idempotency_key_in_use' } }]
    network.answer('/api/graphql', new Response(JSON.stringify({ data: null, errors })))
    expect(await client.graphql(tasks, { title: 'write' })).toEqual(found)
    expect(network.requests).toHaveLength(2)
  })

  test('wait for a short Retry-After of a rate limit', async () => {
    const errors = [{ message: 'too many requests', extensions: { code: 'too_many_requests' } }]
    const refuse = (after: string) =>
      new Response(JSON.stringify({ data: null, errors }), { status: 429, headers: { 'retry-after': after } })
    network.answer('/api/graphql', refuse('0.01'), refuse('31'))
    await expect(client.graphql(tasks)).rejects.toMatchObject({
      error: 'too_many_requests',
      retryAfterSeconds: 31,
    })
    expect(network.requests).toHaveLength(2)
  })

  test('renew a rejected token once, and reject with the abort reason of the signal', async () => {
    const auth = { token: () => 'expired', renew: async () => token }
    const renewing = createClient({ url: app.url, auth, fetch: network.fetch })
    expect(await renewing.graphql(tasks, { title: 'write' })).toEqual(found)
    expect(network.requests).toHaveLength(2)
    const reason = new Error('left')
    await expect(client.graphql(tasks, {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })
})
