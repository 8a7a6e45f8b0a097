import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

const setup = `
  create extension pg_trgm;
  create type size as enum ('small', 'large');
  create type spot as (x int, y int);
  create table thing (
    id int primary key, title text, weight int, price numeric, tags text[], span int4range, doc jsonb, raw json,
    made timestamptz, day date, clock time, took interval, bits bit(3), address inet, cost money, bytes bytea,
    code uuid, size size, spot spot, flag bool, ratio float8, shape point);
  insert into thing values
    (1, 'Whale song', 5, 1.50, '{a,b}', '[1,5)', '{"a": 1}', '{"a": 1}', '2026-01-02 03:04:05+00', '2026-01-02', '12:30',
     '1 day', '101', '10.0.0.1', 12.5, '\\x00ff', 'a11ce000-0000-4000-8000-000000000001', 'small', '(1,2)', true, 0.5, '(1,2)'),
    (2, 'Wolf', null, 2.25, '{}', 'empty', '"text"', '[]', '2026-02-02 03:04:05+00', '2026-02-02', '13:30',
     '2 days', '000', '10.0.0.2', 1, '\\x', 'b0b00000-0000-4000-8000-000000000002', 'large', '(1,3)', false, -1.5, '(3,4)'),
    (3, '100%_sure', 7, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
  create table number (id int primary key);
  create table place (country text, number int, name text, primary key (country, number));
  insert into place values ('de', 1, 'Kiel'), ('pl', 1, 'Lodz'), ('pl', 2, 'Opole');
`

let app: TestApp
const token = userToken({ sub: alice })
const run = (query: string, variables?: object) =>
  runGraphql(app, query, { token, ...(variables === undefined ? {} : { variables }) })

beforeAll(async () => {
  app = await createTestApp({ setup })
})
afterAll(() => app[Symbol.asyncDispose]())

const ids = async (where: string, variables?: object, declared = '') => {
  const query = `query ${declared} { thing(where: ${where}, order_by: {id: ASC}) { id } }`
  const { data, errors } = await run(query, variables)
  return data === null ? errors : data.thing.map(({ id }: { id: number }) => id)
}

describe('POST /api/graphql › where', () => {
  test.each<readonly [string, readonly number[]]>([
    ['{weight: {_in: []}}', []],
    ['{weight: {_nin: []}}', [1, 2, 3]],
    ['{weight: {_in: [5, 7]}}', [1, 3]],
    ['{weight: {_nin: [5]}}', [3]],
    ['{weight: {_in: 5}}', [1]],
    ['{weight: {}}', [1, 2, 3]],
    ['{}', [1, 2, 3]],
    ['{_and: []}', [1, 2, 3]],
    ['{_or: []}', []],
    ['{_not: {}}', []],
    ['{_or: {id: {_eq: 2}}}', [2]],
    ['{id: {_gt: 1, _lt: 3}}', [2]],
    ['{weight: {_neq: 5}}', [3]],
    ['{title: {_like: "Wo%"}}', [2]],
    ['{title: {_like: "wo%"}}', []],
    ['{title: {_ilike: "W%"}}', [1, 2]],
    ['{title: {_like: "olf"}}', []],
    ['{title: {_like: "100\\\\%\\\\_%"}}', [3]],
    ['{price: {_eq: 1.5}}', [1]],
    ['{price: {_in: ["2.2500"]}}', [2]],
    ['{tags: {_eq: "{a,b}"}}', [1]],
    ['{tags: {_in: ["{}", "{a,b}"]}}', [1, 2]],
    ['{span: {_eq: "[1,4]"}}', [1]],
    ['{span: {_lt: "[1,4]"}}', [2]],
    ['{doc: {_eq: {a: 1.0}}}', [1]],
    ['{doc: {_eq: "text"}}', [2]],
    ['{doc: {_neq: "text"}}', [1]],
    ['{doc: {_is_null: true}}', [3]],
    ['{raw: {_is_null: false}}', [1, 2]],
    ['{made: {_gte: "2026-02-02T03:04:05Z"}}', [2]],
    ['{day: {_in: ["2026-01-02"]}}', [1]],
    ['{clock: {_lt: "13:00"}}', [1]],
    ['{took: {_eq: "PT24H"}}', [1]],
    ['{bits: {_eq: "101"}}', [1]],
    ['{address: {_gt: "10.0.0.1"}}', [2]],
    ['{cost: {_eq: "$1.00"}}', [2]],
    ['{bytes: {_eq: "\\\\x00ff"}}', [1]],
    ['{code: {_neq: "a11ce000-0000-4000-8000-000000000001"}}', [2]],
    ['{size: {_gt: "small"}}', [2]],
    ['{flag: {_eq: false}}', [2]],
    ['{flag: {_is_null: true}}', [3]],
    ['{ratio: {_lt: 0}}', [2]],
    ['{_and: [{_or: [{id: {_eq: 1}}, {id: {_eq: 2}}]}, {_not: {title: {_like: "Wo%"}}}]}', [1]],
  ])('%s', async (where, found) => {
    expect(await ids(where)).toEqual(found)
  })

  test('accepts variables at every level', async () => {
    expect(await ids('$w', { w: { weight: { _in: [5] } } }, '($w: ThingWhereInput)')).toEqual([1])
    expect(await ids('{weight: $c}', { c: { _nin: [] } }, '($c: IntComparisonInput)')).toEqual([1, 2, 3])
    expect(await ids('{weight: {_in: $l}}', { l: [7] }, '($l: [Int!])')).toEqual([3])
    expect(await ids('{weight: {_in: [$n, 7]}}', { n: 5 }, '($n: Int!)')).toEqual([1, 3])
    expect(await ids('{weight: {_eq: $n}}', {}, '($n: Int = 5)')).toEqual([1])
    // An absent variable leaves its member out.
    expect(await ids('{weight: {_eq: $n}}', {}, '($n: Int)')).toEqual([1, 2, 3])
    expect(await ids('$w', {}, '($w: ThingWhereInput)')).toEqual([1, 2, 3])
  })

  test.each<readonly [string, string, string]>([
    [
      '{weight: {_eq: null}}',
      'weight: _eq: expected a value; use _is_null for null',
      'invalid_graphql_argument',
    ],
    [
      '{weight: {_in: null}}',
      'weight: _in: expected a value; use _is_null for null',
      'invalid_graphql_argument',
    ],
    ['{weight: {_is_null: null}}', 'weight: _is_null: expected true or false', 'invalid_graphql_argument'],
    ['{weight: null}', 'weight: expected conditions, not null', 'invalid_graphql_argument'],
    ['{_or: null}', '_or: expected conditions, not null', 'invalid_graphql_argument'],
    ['{code: {_like: "a%"}}', 'operator ~ does not apply to code, which is uuid', 'invalid_filter'],
    ['{raw: {_eq: {a: 1}}}', 'operator = does not apply to raw, which is json', 'invalid_filter'],
    ['{shape: {_eq: "(1,2)"}}', 'operator = does not apply to shape, which is point', 'invalid_filter'],
  ])('refuses %s', async (where, message, code) => {
    expect(await ids(where)).toEqual([
      {
        message: code === 'invalid_filter' ? `invalid filter: ${message}` : message,
        path: ['thing'],
        locations: [{ line: 1, column: 10 }],
        extensions: expect.objectContaining({ code }),
      },
    ])
  })

  test('refuses values that the type does not have without text of the statement', async () => {
    for (const where of [
      '{day: {_eq: "2026-02-30"}}',
      '{address: {_eq: "nowhere"}}',
      '{bytes: {_eq: "\\\\xzz"}}',
    ]) {
      const errors = await ids(where)
      expect(['invalid_value', 'invalid_filter'], where).toContain(errors?.[0]?.extensions?.code)
      expect(JSON.stringify(errors)).not.toMatch(/select|from|public\./i)
    }
  })
})

describe('POST /api/graphql › order_by and distinct_on', () => {
  const order = async (argument: string, variables?: object, declared = '') => {
    const { data, errors } = await run(`query ${declared} { place(${argument}) { name } }`, variables)
    return data === null ? errors?.[0]?.message : data.place.map(({ name }: { name: string }) => name)
  }

  test('sort by the members in the order as sent', async () => {
    const both = ['Opole', 'Kiel', 'Lodz']
    expect(await order('order_by: {number: DESC, country: ASC}')).toEqual(both)
    expect(await order('order_by: [{number: DESC}, {country: ASC}]')).toEqual(both)
    expect(await order('order_by: {country: DESC, number: ASC}')).toEqual(['Lodz', 'Opole', 'Kiel'])
    const declared = '($o: [PlaceOrderByInput!])'
    expect(await order('order_by: $o', { o: { number: 'DESC', country: 'ASC' } }, declared)).toEqual(both)
    expect(await order('order_by: $o', { o: [{ number: 'DESC' }, { country: 'ASC' }] }, declared)).toEqual(
      both,
    )
    const one = '($o: PlaceOrderByInput!)'
    expect(await order('order_by: [$o]', { o: { number: 'DESC', country: 'ASC' } }, one)).toEqual(both)
    expect(await order('order_by: {number: $d, country: ASC}', { d: 'DESC' }, '($d: OrderByEnum)')).toEqual(
      both,
    )
  })

  test('keep the order of a default value, and leave out what is null or absent', async () => {
    const declared = '($o: [PlaceOrderByInput!] = {number: DESC, country: ASC})'
    expect(await order('order_by: $o', {}, declared)).toEqual(['Opole', 'Kiel', 'Lodz'])
    expect(await order('order_by: $o', { o: null }, declared)).toEqual(['Kiel', 'Lodz', 'Opole'])
    expect(await order('order_by: {number: null, name: DESC}')).toEqual(['Opole', 'Lodz', 'Kiel'])
    expect(await order('order_by: {number: $d, name: DESC}', {}, '($d: OrderByEnum)')).toEqual([
      'Opole',
      'Lodz',
      'Kiel',
    ])
    expect(await order('order_by: []')).toEqual(['Kiel', 'Lodz', 'Opole'])
  })

  test('return the first record of each combination', async () => {
    expect(await order('distinct_on: [number], order_by: {number: ASC, name: DESC}')).toEqual([
      'Lodz',
      'Opole',
    ])
    expect(await order('distinct_on: country')).toEqual(['Kiel', 'Lodz'])
    expect(await order('distinct_on: $c', { c: ['number'] }, '($c: [PlaceColumnEnum!])')).toHaveLength(2)
    expect(await order('distinct_on: [number], order_by: {name: ASC}')).toBe(
      'order_by: expected it to begin with the columns of distinct_on: number',
    )
  })
})

describe('POST /api/graphql › search', () => {
  test('finds words, and with fuzzy words with typos', async () => {
    expect(
      await run(`{
        one: thing(search: "whale") { id }
        two: thing(search: "whael") { id }
        three: thing(search: "whael", fuzzy: true) { id }
        four: thing(search: "wolf", where: {id: {_lt: 2}}) { id }
        five: thing(search: null, fuzzy: null, limit: 1, order_by: {id: DESC}) { id }
      }`),
    ).toEqual({
      status: 200,
      data: { one: [{ id: 1 }], two: [], three: [{ id: 1 }], four: [], five: [{ id: 3 }] },
    })
  })

  test.each([
    ['thing(fuzzy: true)', 'fuzzy parameter requires non-empty search'],
    ['number(search: "a")', 'search not supported: table "number" has no text columns to search'],
  ])('refuses %s', async (field, message) => {
    expect(await run(`{ ${field} { id } }`)).toMatchObject({ status: 200, data: null, errors: [{ message }] })
  })
})
