import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { library } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'

let app: TestApp
let admin: string

beforeAll(async () => {
  app = await createTestApp({ setup: library })
  admin = await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

async function run(query: string, variables?: object) {
  const { status, json } = await app.request('POST', '/api/graphql', {
    token: admin,
    body: { query, variables },
  })
  return { status, ...json }
}

describe('POST /api/graphql › queries', () => {
  test('returns the selected columns of a table in the order of the selection', async () => {
    expect(await run('{ book(limit: 2, order_by: {book_id: ASC}) { title pages book_id } }')).toEqual({
      status: 200,
      data: {
        book: [
          { title: 'The Dispossessed', pages: 341, book_id: 1 },
          { title: 'Solaris', pages: 204, book_id: 2 },
        ],
      },
    })
  })

  test('returns relations in both directions with arguments, aliases, fragments and variables', async () => {
    const query = `
      query Shelf($min: Int!, $full: Boolean = false) {
        authors: author(where: {book: {pages: {_gt: $min}}}, order_by: [{name: ASC}]) {
          ...Name
          long: book(where: {pages: {_gt: $min}}, order_by: {pages: DESC}, limit: 1) { title author { name } }
          book_aggregate { count sum { pages } max { price } }
          born @include(if: $full)
        }
        one: book_by_pk(book_id: 2) { __typename title price }
        book_aggregate(where: {isbn: {_is_null: true}}) { count avg { price } min { title } }
        __typename
      }
      fragment Name on author { name }`
    expect(await run(query, { min: 250 })).toEqual({
      status: 200,
      data: {
        authors: [
          {
            name: 'Octavia',
            long: [{ title: 'Kindred', author: { name: 'Octavia' } }],
            book_aggregate: { count: 1, sum: { pages: '264' }, max: { price: '10.10' } },
          },
          {
            name: 'Stanisław',
            long: [{ title: 'Fiasco', author: { name: 'Stanisław' } }],
            book_aggregate: { count: 2, sum: { pages: '526' }, max: { price: '11.00' } },
          },
          {
            name: 'Ursula',
            long: [{ title: 'The Dispossessed', author: { name: 'Ursula' } }],
            book_aggregate: { count: 2, sum: { pages: '525' }, max: { price: '12.50' } },
          },
        ],
        one: { __typename: 'book', title: 'Solaris', price: '9.00' },
        book_aggregate: {
          count: 1,
          avg: { price: '8.0000000000000000' },
          min: { title: 'The Lathe of Heaven' },
        },
        __typename: 'Query',
      },
    })
  })
})
