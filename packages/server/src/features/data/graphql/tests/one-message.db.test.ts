import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, library } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import {
  createTestApp,
  createTestDatabase,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { createWireProxy, type WireProxy } from '../../../../../test/wire-proxy.ts'

let database: TestDatabase
let proxy: WireProxy
let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(library + functions)
  const url = new URL(database.url)
  proxy = await createWireProxy(Number(url.port))
  url.port = String(proxy.port)
  app = await createTestApp({ database, config: { 'database.url': url.href } })
  // Connecting takes a round trip of its own.
  await app.request('GET', '/api/collections/author', { token })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await proxy[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const functions = `
  create function books(fewest int) returns setof book language sql stable as 'select * from book where pages >= fewest';
  create function double(n int) returns int language sql immutable as 'select 2 * n';
  create function rename_author(id int, name text) returns author language sql
    as 'update author set name = $2 where author_id = id returning *';
`

const relations = `
  author(limit: 20, order_by: {name: ASC}, where: {book: {pages: {_gt: 10}}}) {
    name
    book(limit: 3, distinct_on: [pages]) { title author { name } placement { shelf { label } } }
    book_aggregate { count max { price } }
  }`

describe('POST /api/graphql › messages to the database', () => {
  /** Executed: the caller's context, and the statements. */
  test.each<readonly [what: string, executes: number, query: string]>([
    ['a list', 2, '{ book { title } }'],
    ['a list with relations', 2, `{ ${relations} }`],
    ['a record by its key', 2, '{ book_by_pk(book_id: 1) { title author { name } } }'],
    [
      'several root fields',
      2,
      `{ ${relations} book(limit: 1) { title } long: book_aggregate { count } __typename }`,
    ],
    ['a search', 2, '{ book(search: "solaris") { title } }'],
    ['an insert', 2, 'mutation { insert_author(objects: [{name: "A"}, {name: "B"}]) { affected_rows } }'],
    [
      'several writes',
      4,
      `mutation {
        insert_author(objects: [{name: "A"}]) { returning { author_id book { title } } }
        update_author(where: {name: {_eq: "A"}}, _set: {name: "C"}) { affected_rows }
        delete_author(where: {name: {_in: ["B", "C"]}}) { affected_rows }
      }`,
    ],
  ])('%s is one round trip in one transaction', async (_, executes, query) => {
    await waitFor('free connections', () => app.app.database.user.stats.busy === 0)
    proxy.takeTraffic()
    expect(await runGraphql(app, query, { token })).not.toHaveProperty('errors')
    const { turns, syncs, executes: executed } = proxy.takeTraffic()
    expect({ turns, syncs, executed }).toEqual({ turns: 1, syncs: 1, executed: executes })
  })

  /** Statements beside those of the call by REST; the session is reset after both. */
  test.each<readonly [what: string, more: number, query: string, method: 'GET' | 'POST', path: string]>([
    [
      'functions beside tables are one statement',
      0,
      `{ books(fewest: 1, limit: 2, order_by: {title: ASC}) { title author { name } } double(n: 2) four: double(n: 2)
        book(limit: 1) { title } }`,
      'GET',
      'double?n=2',
    ],
    [
      'functions that write are one statement each',
      2,
      `mutation {
        insert_author(objects: [{name: "A"}]) { affected_rows }
        rename_author(id: 1, name: "D") { name book { title } }
        delete_author(where: {name: {_eq: "A"}}) { affected_rows }
      }`,
      'POST',
      'rename_author?id=1&name=E',
    ],
  ])('%s in one round trip', async (_, more, query, method, path) => {
    await waitFor('free connections', () => app.app.database.user.stats.busy === 0)
    proxy.takeTraffic()
    const [procedure, parameters] = path.split('?')
    const body = Object.fromEntries(new URLSearchParams(parameters))
    const options = method === 'GET' ? { token } : { token, body }
    const { status } = await app.request(method, `/api/rpc/${method === 'GET' ? path : procedure}`, options)
    expect(status).toBe(200)
    await waitFor('free connections', () => app.app.database.user.stats.busy === 0)
    const rest = proxy.takeTraffic()
    expect(await runGraphql(app, query, { token })).not.toHaveProperty('errors')
    const { turns, syncs, executes } = proxy.takeTraffic()
    expect({ turns, syncs, executes }).toEqual({
      turns: 1,
      syncs: rest.syncs,
      executes: rest.executes + more,
    })
  })

  test('introspection and refused documents send no message', async () => {
    await waitFor('free connections', () => app.app.database.user.stats.busy === 0)
    proxy.takeTraffic()
    await runGraphql(app, '{ __schema { types { name } } __typename }', { token })
    await runGraphql(app, '{ book(limit: 5000) { title } }', { token })
    expect(proxy.takeTraffic().turns).toBe(0)
  })
})
