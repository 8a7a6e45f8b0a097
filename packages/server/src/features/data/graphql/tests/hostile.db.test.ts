import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({
    setup: `create table item (id int primary key, title text, doc jsonb);
      create table child (id int primary key, item_id int references item);
      insert into item values (1, 'one', '{}')`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())

const run = (query: string, variables?: object) =>
  runGraphql(app, query, { token, ...(variables === undefined ? {} : { variables }) })

/** Returns a chain of fragments, each of which contains the next one twice: the last is reached 2^40 times. */
function doublingFragments(type: string, last: string): string {
  const fragments = Array.from(
    { length: 40 },
    (_, n) => `fragment F${n} on ${type} { ...F${n + 1} ...F${n + 1} }`,
  )
  return `${fragments.join(' ')} fragment F40 on ${type} { ${last} }`
}

describe('POST /api/graphql › documents that take long to read', () => {
  test.each([
    ['root fields', `{ ...F0 } ${doublingFragments('Query', '__typename')}`],
    [
      'introspection at the root',
      `{ ...F0 } ${doublingFragments('Query', '__schema { queryType { name } }')}`,
    ],
    ['fields of a list', `{ item { ...F0 } } ${doublingFragments('item', 'title')}`],
    ['fields of introspection', `{ __type(name: "item") { ...F0 } } ${doublingFragments('__Type', 'name')}`],
  ])('rejects fragments that double %s', async (_, query) => {
    expect(await run(query)).toMatchObject({
      data: null,
      errors: [{ message: 'query has more than 2000 fields' }],
    })
  })

  test.each([
    ['selections', `${'{item'.repeat(4000)}`],
    ['lists', `{ item(where: {id: {_in: ${'['.repeat(15_000)}`],
    ['types of a variable', `query ($x: ${'['.repeat(15_000)}`],
  ])('rejects %s that are nested thousands of levels deep', async (_, query) => {
    expect(await run(query)).toEqual({
      status: 200,
      data: null,
      errors: [
        {
          message: 'Syntax Error: Document is nested more than 200 levels deep.',
          locations: [{ line: 1, column: expect.any(Number) }],
          extensions: { code: 'invalid_graphql_document' },
        },
      ],
    })
  })

  test('rejects variables that are nested thousands of levels deep', async () => {
    const query = 'mutation ($doc: JSON) { insert_item(objects: [{id: 2, doc: $doc}]) { affected_rows } }'
    const body = `{"query": ${JSON.stringify(query)}, "variables": {"doc": ${'['.repeat(20_000)}${']'.repeat(20_000)}}}`
    const headers = { 'content-type': 'application/json' }
    const response = await app.request('POST', '/api/graphql', { token, body, headers })
    expect([response.status, response.json.errors[0].message]).toEqual([
      400,
      'invalid JSON body: nested too deeply (max 1000 levels)',
    ])
  })

  test('compares equal fields up to a limit', async () => {
    expect(await run(`{ item { ${'title '.repeat(500)} } }`)).toEqual({
      status: 200,
      data: { item: [{ title: 'one' }] },
    })
    expect(await run(`{ item { ${'title '.repeat(1998)} } }`)).toEqual({
      status: 200,
      data: null,
      errors: [
        {
          message: 'query selects the same fields too often',
          extensions: { code: 'invalid_graphql_document' },
        },
      ],
    })
  })

  test('follows chains of fragments up to a limit', async () => {
    const chainOf = (length: number) => {
      const links = Array.from({ length }, (_, n) => `fragment F${n} on Query { ...F${n + 1} }`)
      return `{ ...F0 } ${links.join(' ')} fragment F${length} on Query { __typename }`
    }
    expect(await run(chainOf(498))).toEqual({ status: 200, data: { __typename: 'Query' } })
    expect(await run(chainOf(2200))).toEqual({
      status: 200,
      data: null,
      errors: [
        {
          message: 'document has more than 500 operations and fragments',
          extensions: { code: 'invalid_graphql_document' },
        },
      ],
    })
  })

  test('counts the lists in the response of a write', async () => {
    const lists = 'returning { id child(limit: 1000) { id } }'
    const objects = JSON.stringify(Array.from({ length: 51 }, (_, id) => ({ id: 100 + id }))).replaceAll(
      '"',
      '',
    )
    for (const [write, cost] of [
      [`insert_item(objects: ${objects}) { ${lists} }`, 51_000],
      [`update_item(where: {}, _set: {title: "x"}) { ${lists} }`, 1_000_000],
    ]) {
      expect(await run(`mutation { ${write} }`)).toMatchObject({
        data: null,
        errors: [{ message: `query cost ${cost} exceeds maximum allowed cost of 50000 records` }],
      })
    }
    expect(
      await run('mutation { insert_item(objects: [{id: 100}]) { returning { child(limit: 1000) { id } } } }'),
    ).toEqual({
      status: 200,
      data: { insert_item: { returning: [{ child: [] }] } },
    })
  })
})

describe('POST /api/graphql › values with a meaning elsewhere', () => {
  test('stores members named like those of a prototype', async () => {
    const query =
      'mutation ($doc: JSON) { update_item(where: {id: {_eq: 1}}, _set: {doc: $doc}) { returning { doc } } }'
    const body = `{"query": ${JSON.stringify(query)}, "variables": {"doc": {"__proto__": {"x": 1}, "constructor": 2}}}`
    const headers = { 'content-type': 'application/json' }
    expect((await app.request('POST', '/api/graphql', { token, body, headers })).json).toEqual({
      data: {
        update_item: { returning: [{ doc: JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}') }] },
      },
    })
  })

  test('returns no row for texts that would end a literal or a pattern', async () => {
    const title = `x' or '1'='1'; drop table item; -- "\\`
    expect(await run('query ($t: String) { item(where: {title: {_eq: $t}}) { id } }', { t: title })).toEqual({
      status: 200,
      data: { item: [] },
    })
    expect(await app.sql('select count(*)::int from item where id = 1')).toEqual([{ count: 1 }])
  })

  test('rejects a text with the character U+0000', async () => {
    const { status, data, errors } = await run(
      'query ($t: String) { item(where: {title: {_eq: $t}}) { id } }',
      {
        t: 'a\0b',
      },
    )
    expect([status, data, errors?.length]).toEqual([200, null, 1])
  })
})

describe('POST /api/admin/graphql/documents', () => {
  test.each([
    ['the character U+0000', '# \0\n{ __typename }', 'expected text without the character U+0000'],
    ['a syntax error', '{', 'Syntax Error: Expected Name, found <EOF>.'],
    ['levels without end', '{a'.repeat(5000), 'Syntax Error: Document is nested more than 200 levels deep.'],
  ])('rejects a document with %s', async (_, text, problem) => {
    const hash = createHash('sha256').update(text).digest('hex')
    const response = await app.request('POST', '/api/admin/graphql/documents', {
      token: await app.adminToken(),
      body: { [hash]: text },
    })
    expect([response.status, response.json.message]).toEqual([400, `manifest: ${hash}: ${problem}`])
  })
})
