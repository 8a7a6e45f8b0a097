import { createHash } from 'node:crypto'
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { Client, cacheExchange, fetchExchange } from '@urql/core'
import { persistedExchange } from '@urql/exchange-persisted'
import { type DocumentNode, parse } from 'graphql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, library, restoreLibrary } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const headers = { authorization: `Bearer ${userToken({ sub: alice })}` }

beforeAll(async () => {
  app = await createTestApp({ setup: library, config: { 'graphql.persisted': 'allow' } })
})
beforeEach(() => app.sql(`${restoreLibrary}; truncate basalt.graphql_documents`))
afterAll(() => app[Symbol.asyncDispose]())

/** Result of an operation: its data, or the code of its error. */
type Outcome = { readonly data: unknown } | { readonly code: unknown }

interface Peer {
  query(document: DocumentNode, variables?: Record<string, unknown>): Promise<Outcome>
  mutate(document: DocumentNode, variables?: Record<string, unknown>): Promise<Outcome>
}

/** Request that a client sent. */
interface SentRequest {
  readonly method: string
  readonly query?: string
  readonly hash?: string
}

/** Returns a `fetch` that records GraphQL requests. */
function recordRequests(requests: SentRequest[]): typeof fetch {
  return async (input, init) => {
    const url = new URL(String(input))
    const sent = typeof init?.body === 'string' ? JSON.parse(init.body) : Object.fromEntries(url.searchParams)
    const { extensions, query } = sent
    const { persistedQuery } = typeof extensions === 'string' ? JSON.parse(extensions) : (extensions ?? {})
    requests.push({
      method: init?.method ?? 'GET',
      query: query || undefined,
      hash: persistedQuery?.sha256Hash,
    })
    return await fetch(input, init)
  }
}

function createUrql(url: string, requests: SentRequest[], isPersisted = false): Peer {
  const persisted = persistedExchange({ preferGetForPersistedQueries: true })
  const client = new Client({
    url: `${url}/api/graphql`,
    exchanges: [cacheExchange, ...(isPersisted ? [persisted] : []), fetchExchange],
    preferGetMethod: false,
    requestPolicy: 'network-only',
    fetch: recordRequests(requests),
    fetchOptions: { headers },
  })
  const read = ({
    data,
    error,
  }: {
    data?: unknown
    error?: { graphQLErrors: { extensions: object }[] } | undefined
  }) =>
    error === undefined
      ? { data }
      : { code: (error.graphQLErrors[0]?.extensions as { code?: unknown })?.code }
  return {
    query: async (document, variables = {}) => read(await client.query(document, variables).toPromise()),
    mutate: async (document, variables = {}) => read(await client.mutation(document, variables).toPromise()),
  }
}

function createApollo(url: string, requests: SentRequest[], isPersisted = false): Peer {
  const http = new HttpLink({ uri: `${url}/api/graphql`, headers, fetch: recordRequests(requests) })
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const client = new ApolloClient({
    link: isPersisted
      ? ApolloLink.from([new PersistedQueryLink({ sha256, useGETForHashedQueries: true }), http])
      : http,
    cache: new InMemoryCache(),
  })
  const options = { fetchPolicy: 'no-cache', errorPolicy: 'all' } as const
  const read = ({ data, error }: { data?: unknown; error?: unknown }) => {
    if (error === undefined) return { data }
    return { code: CombinedGraphQLErrors.is(error) ? error.errors[0]?.extensions?.code : String(error) }
  }
  return {
    query: async (query, variables = {}) => read(await client.query({ query, variables, ...options })),
    mutate: async (mutation, variables = {}) =>
      read(await client.mutate({ mutation, variables, ...options })),
  }
}

/** Returns a query. The server remembers listed documents for a second, so each test has one of its own. */
const nameQuery = (name: string) =>
  parse(`query ${name}($title: String) { book(where: {title: {_eq: $title}}) { title author { name } } }`)
const addAuthor = parse(`
  mutation Add($name: String!) {
    insert_author(objects: [{name: $name}]) { affected_rows returning { author_id } }
  }`)
const variables = { title: 'Solaris' }
const author = { __typename: 'author', name: 'Stanisław' }
const found = { data: { book: [{ __typename: 'book', title: 'Solaris', author }] } }
const countListed = async () =>
  (await app.sql('select count(*)::int as n from basalt.graphql_documents'))[0]?.n

describe.each([
  ['urql', createUrql],
  ['Apollo', createApollo],
] as const)('%s', (name, create) => {
  test('runs a query and a mutation', async () => {
    const peer = create(app.url, [])
    expect(await peer.query(nameQuery(`${name}Plain`), variables)).toEqual(found)
    expect(await peer.mutate(addAuthor, { name: 'Italo' })).toEqual({
      data: {
        insert_author: {
          __typename: 'AuthorMutationResponse',
          affected_rows: 1,
          returning: [{ __typename: 'author', author_id: 4 }],
        },
      },
    })
  })

  test('receives the code of an error', async () => {
    const peer = create(app.url, [])
    const insert = 'insert_book(objects: [{title: "Again", author_id: 1, isbn: "a1"}]) { affected_rows }'
    expect(await peer.mutate(parse(`mutation { ${insert} }`))).toEqual({ code: 'unique_violation' })
    expect(await peer.query(parse('{ nothing }'))).toEqual({ code: 'invalid_graphql_document' })
    expect(await peer.query(parse('query ($title: String!) { book { title } }'))).toEqual({
      code: 'invalid_graphql_document',
    })
  })

  test('sends the text of a document that is not listed after its hash, each time', async () => {
    const requests: SentRequest[] = []
    const peer = create(app.url, requests, true)
    for (let time = 0; time < 2; time += 1)
      expect(await peer.query(nameQuery(`${name}Unlisted`), variables)).toEqual(found)
    const [first, second] = requests
    expect(requests).toEqual([first, second, first, second])
    expect(first).toEqual({ method: 'GET', query: undefined, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(second).toMatchObject({
      query: expect.stringContaining(`query ${name}Unlisted`),
      hash: first?.hash,
    })
    expect(await countListed()).toBe(0)
  })

  test('runs a listed document by one GET with its hash, and no other one where the server runs these alone', async () => {
    const requests: SentRequest[] = []
    await create(app.url, requests, true).query(nameQuery(`${name}Listed`), variables)
    const { hash = '', query } = requests[1] ?? {}
    const listed = await app.request('POST', '/api/admin/graphql/documents', {
      token: await app.adminToken(),
      body: { [hash]: query },
    })
    expect(listed.json).toEqual({ added: 1, total: 1 })
    await using only = await createTestApp({
      database: app.database,
      config: { 'graphql.persisted': 'only' },
    })
    for (const url of [app.url, only.url]) {
      requests.length = 0
      expect(await create(url, requests, true).query(nameQuery(`${name}Listed`), variables)).toEqual(found)
      expect(requests).toEqual([{ method: 'GET', query: undefined, hash }])
    }
    expect(await create(only.url, [], true).query(parse('{ book { isbn } }'))).toEqual({
      code: 'document_not_allowed',
    })
  })

  test('sends no more hashes to a server without persisted documents', async () => {
    await using off = await createTestApp({ database: app.database })
    const requests: SentRequest[] = []
    const peer = create(off.url, requests, true)
    for (let time = 0; time < 2; time += 1)
      expect(await peer.query(nameQuery(`${name}Off`), variables)).toEqual(found)
    expect(requests.map(({ hash, query }) => [hash !== undefined, query !== undefined])).toEqual([
      [true, false],
      [false, true],
      [false, true],
    ])
  })
})
