import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({
    config: { 'api.max_facet_buckets': '3' },
    setup: `
      create extension pg_trgm;
      create type mood as enum ('very good', 'bad');
      create table shirt (id int primary key, "the size" int, colour text, price numeric, stock bigint, mood mood,
        is_new boolean, notes text[], secret text, owner uuid);
      insert into shirt
      select n, n % 2 + 40, (array['red', 'green', 'blue', null])[n % 4 + 1], n % 3 + 0.10, 9007199254740993 + n % 2,
        (array['very good', 'bad']::mood[])[n % 2 + 1], n % 5 = 0, '{a}', 'x',
        case when n <= 20 then '${alice}'::uuid end
      from generate_series(1, 30) n;
      alter table shirt enable row level security;
      create policy own on shirt for select using (owner = basalt.user_id());
      revoke select on shirt from basalt_authenticated;
      grant select (id, "the size", colour, price, stock, mood, is_new, notes, owner) on shirt to basalt_authenticated;
      insert into basalt.users (id, email, password_hash) values ('${alice}', 'alice@example.com', null);
      create function shirt_facets() returns int language sql stable as 'select 7'`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())

const run = (query: string, variables = {}, as = token) => runGraphql(app, query, { token: as, variables })
const list = async (parameters: Readonly<Record<string, string>>) => {
  const { json } = await app.request('GET', `/api/collections/shirt?${new URLSearchParams(parameters)}`, {
    token,
  })
  return json
}

interface RestFacets {
  readonly facets: Record<string, { value: unknown; count: number }[]>
  readonly facetStats?: Record<string, { min: number; max: number }>
  readonly facetsExhaustive?: Record<string, boolean>
}

/** Returns the facets of the REST list as GraphQL has them. */
const facetsOf = ({ facets, facetStats, facetsExhaustive }: RestFacets) =>
  Object.entries(facets).map(([column, values]) => ({
    column,
    values,
    exhaustive: facetsExhaustive?.[column] ?? true,
    min: facetStats?.[column]?.min ?? null,
    max: facetStats?.[column]?.max ?? null,
  }))

const members = 'column values { value count } exhaustive min max'

describe('POST /api/graphql › facets', () => {
  test.each<readonly [args: string, parameters: Readonly<Record<string, string>>]>([
    ['columns: [colour, is_new, id]', { facets: 'colour,is_new,id' }],
    ['columns: [colour], where: {id: {_gt: 11}}', { facets: 'colour', filter: 'id > 11' }],
    ['columns: [colour, is_new], search: "red"', { facets: 'colour,is_new', search: 'red' }],
    [
      'columns: [colour, is_new], search: "rde", fuzzy: true, typo_threshold: 0.1',
      { facets: 'colour,is_new', search: 'rde', fuzzy: 'true', typo_threshold: '0.1' },
    ],
    [
      'columns: [colour, is_new], disjunctive: [colour], where: {colour: {_eq: "red"}, is_new: {_eq: false}}',
      {
        facets: 'colour,is_new',
        disjunctiveFacets: 'colour',
        filter: "colour = 'red' and is_new = false",
      },
    ],
    [
      'columns: [colour], disjunctive: [colour], where: {_or: [{colour: {_eq: "red"}}, {id: {_lt: 5}}]}',
      { facets: 'colour', disjunctiveFacets: 'colour', filter: "(colour = 'red' or id < 5)" },
    ],
    ['columns: [colour], where: {id: {_gt: 1000}}', { facets: 'colour', filter: 'id > 1000' }],
  ])('%s has the values of the REST list', async (args, parameters) => {
    const { data } = await run(`{ shirt_facets(${args}) { ${members} } }`)
    const rest = await list(parameters)
    expect(data).toEqual({ shirt_facets: facetsOf(rest) })
  })

  test('has values as records have them, under names of the schema', async () => {
    const columns = '[the_size, price, stock, mood]'
    const { data } = await run(
      `{ shirt_facets(columns: ${columns}) { column values { value count } min max } }`,
    )
    const count = 10
    expect(data.shirt_facets).toEqual([
      {
        column: 'the_size',
        values: [
          { value: 40, count },
          { value: 41, count },
        ],
        min: 40,
        max: 41,
      },
      {
        column: 'price',
        values: [
          { value: '1.10', count: 7 },
          { value: '2.10', count: 7 },
          { value: '0.10', count: 6 },
        ],
        min: '0.10',
        max: '2.10',
      },
      {
        column: 'stock',
        values: [
          { value: '9007199254740993', count },
          { value: '9007199254740994', count },
        ],
        min: '9007199254740993',
        max: '9007199254740994',
      },
      {
        column: 'mood',
        values: [
          { value: 'very_good', count },
          { value: 'bad', count },
        ],
        min: null,
        max: null,
      },
    ])
  })

  test('takes variables, aliases and fragments, beside other fields of one snapshot', async () => {
    const { data } = await run(
      `query ($columns: [ShirtColumnEnum!]!, $where: ShirtWhereInput) {
        counts: shirt_facets(columns: $columns, where: $where) { ...Counts }
        again: shirt_facets(columns: [is_new]) { __typename values { count } }
        shirt(limit: 1, order_by: {id: ASC}) { id }
      }
      fragment Counts on Facet { of: column list: values { __typename n: count v: value } all: exhaustive }`,
      { columns: ['is_new'], where: { id: { _lte: 4 } } },
    )
    expect(data).toEqual({
      counts: [{ of: 'is_new', list: [{ __typename: 'FacetValue', n: 4, v: false }], all: true }],
      again: [{ __typename: 'Facet', values: [{ count: 16 }, { count: 4 }] }],
      shirt: [{ id: 1 }],
    })
  })

  test.each<readonly [what: string, args: string, message: string]>([
    ['no column', 'columns: []', 'columns: expected at least one column'],
    [
      'a column that the caller may not read',
      'columns: [secret]',
      'Value "secret" does not exist in "ShirtColumnEnum" enum.',
    ],
    ['an array', 'columns: [notes]', 'unsupported facet column "notes" with type "text[]"'],
    ['fuzzy without search', 'columns: [colour], fuzzy: true', 'fuzzy parameter requires non-empty search'],
  ])('is refused for %s', async (_what, args, message) => {
    const { data, errors } = await run(`{ shirt_facets(${args}) { column } }`)
    expect([data, errors?.map((each) => each.message)]).toEqual([null, [message]])
  })

  test('counts the values that it may return towards the cost', async () => {
    await using node = await createTestApp({ database: app.database, config: { 'graphql.max_cost': '2500' } })
    const { errors } = await runGraphql(node, '{ shirt_facets(columns: [colour, is_new, id]) { column } }', {
      token,
    })
    expect(errors?.[0]).toMatchObject({
      message: 'query cost 3000 exceeds maximum allowed cost of 2500 records',
      path: ['shirt_facets'],
      extensions: { code: 'graphql_cost_exceeded' },
    })
  })

  test('leaves the name to facets, and gives the function another one', async () => {
    expect((await run('{ shirt_facets_ }')).data).toEqual({ shirt_facets_: 7 })
  })

  test('belongs to the tables of an API key, and to callers who may read the table', async () => {
    const { key } = await createApiKey(app, { userId: alice, scope: 'readonly', allowedTables: ['other'] })
    const refused = await run('{ shirt_facets(columns: [colour]) { column } }', {}, key)
    expect(refused.errors?.[0]?.message).toContain('Cannot query field "shirt_facets" on type "Query".')
    const without = await app.request('POST', '/api/graphql', {
      body: { query: '{ shirt_facets(columns: [colour]) { column } }' },
    })
    expect(envelope(without)).toMatchObject({ code: 401 })
  })
})
