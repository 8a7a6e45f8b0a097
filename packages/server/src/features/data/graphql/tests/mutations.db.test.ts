import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice, library, restoreLibrary } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

const more = `
  create table counter (id int primary key, n bigint not null default 0, price numeric, doc jsonb, tags text[]);
`

let app: TestApp
const token = userToken({ sub: alice })
const run = (query: string, variables?: object, headers = {}) =>
  runGraphql(app, query, { token, headers, ...(variables === undefined ? {} : { variables }) })

beforeAll(async () => {
  app = await createTestApp({ setup: library + more })
})
beforeEach(() => app.sql(`${restoreLibrary}; truncate counter`))
afterAll(() => app[Symbol.asyncDispose]())

describe('POST /api/graphql › insert', () => {
  test('creates rows with different columns in order, each with the defaults of the others', async () => {
    expect(
      await run(`mutation {
        insert_book(objects: [
          {title: "One", author_id: 1},
          {title: "Two", author_id: 1, price: "1.5"},
          {title: "Three", author_id: 2, pages: null, tags: ["a", "b"]}
        ]) { affected_rows returning { book_id title price pages tags author { name } } }
      }`),
    ).toEqual({
      status: 200,
      data: {
        insert_book: {
          affected_rows: 3,
          returning: [
            { book_id: 6, title: 'One', price: '9.90', pages: null, tags: [], author: { name: 'Ursula' } },
            { book_id: 7, title: 'Two', price: '1.50', pages: null, tags: [], author: { name: 'Ursula' } },
            {
              book_id: 8,
              title: 'Three',
              price: '9.90',
              pages: null,
              tags: ['a', 'b'],
              author: { name: 'Stanisław' },
            },
          ],
        },
      },
    })
  })

  test('keeps every digit of numbers, as strings, literals and variables', async () => {
    const query = `mutation ($n: BigInt!, $price: Numeric, $doc: JSON) {
      insert_counter(objects: [
        {id: 1, n: 9223372036854775807, price: 0.12345678901234567890123},
        {id: 2, n: $n, price: $price, doc: $doc}
      ]) { returning { id n price doc } }
    }`
    const body = `{"query": ${JSON.stringify(query)}, "variables": {"n": -4611686018427387904, "price": "1e3", "doc": {"x": 12345678901234567890}}}`
    const response = await app.request('POST', '/api/graphql', {
      token,
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect(response.text).toBe(
      '{"data":{"insert_counter":{"returning":[{"id":1,"n":"9223372036854775807","price":"0.12345678901234567890123","doc":null},{"id":2,"n":"-4611686018427387904","price":"1000","doc":{"x": 12345678901234567890}}]}}}',
    )
  })

  test('updates the columns named for a key that exists', async () => {
    const query = (conflict: string) => `mutation {
      insert_shelf(objects: [{room: "north", number: 1, label: "new"}, {room: "west", number: 1, label: "W1"}],
        on_conflict: ${conflict}) { affected_rows returning { room label } }
    }`
    expect((await run(query('{constraint: shelf_pkey}'))).data.insert_shelf).toEqual({
      affected_rows: 1,
      returning: [{ room: 'west', label: 'W1' }],
    })
    expect(
      (await run(query('{constraint: shelf_pkey, update_columns: ["label"]}'))).data.insert_shelf,
    ).toEqual({
      affected_rows: 2,
      returning: [
        { room: 'north', label: 'new' },
        { room: 'west', label: 'W1' },
      ],
    })
    expect(await run(query('{constraint: shelf_pkey, update_columns: ["nope"]}'))).toMatchObject({
      data: null,
      errors: [{ message: 'update_columns: unknown column nope', path: ['insert_shelf'] }],
    })
  })

  test('changes nothing without objects', async () => {
    expect(await run('mutation { insert_author(objects: []) { affected_rows returning { name } } }')).toEqual(
      {
        status: 200,
        data: { insert_author: { affected_rows: 0, returning: [] } },
      },
    )
  })
})

describe('POST /api/graphql › update', () => {
  test('sets, increments, appends and prepends', async () => {
    await app.sql(`insert into counter (id, n, price, doc) values (1, 5, 1.5, '[2]')`)
    expect(
      await run(`mutation {
        a: update_counter(where: {id: {_eq: 1}}, _inc: {n: 3, price: "0.25"}, _append: {doc: [3]}) { returning { n price doc } }
        b: update_counter(where: {id: {_eq: 1}}, _set: {tags: ["x"]}, _prepend: {doc: [1]}) { returning { tags doc } }
      }`),
    ).toEqual({
      status: 200,
      data: {
        a: { returning: [{ n: '8', price: '1.75', doc: [2, 3] }] },
        b: { returning: [{ tags: ['x'], doc: [1, 2, 3] }] },
      },
    })
  })

  test.each([
    [
      'update_counter(where: {}) { affected_rows }',
      'update: at least one of _set, _inc, _append, _prepend must be provided',
    ],
    [
      'update_counter(where: {}, _set: {n: 1}, _inc: {n: 1}) { affected_rows }',
      "_inc: column 'n' appears in both _set and _inc",
    ],
    [
      'update_counter(where: {}, _inc: {tags: ["a"]}) { affected_rows }',
      "_inc: column 'tags' is not numeric, cannot use _inc",
    ],
    [
      'update_counter(where: {}, _append: {n: 1}) { affected_rows }',
      "_append: column 'n' is not json, cannot use _append",
    ],
  ])('refuses %s', async (field, message) => {
    expect(await run(`mutation { ${field} }`)).toEqual({
      status: 200,
      data: null,
      errors: [
        {
          message,
          path: ['update_counter'],
          locations: [{ line: 1, column: 12 }],
          extensions: { code: 'invalid_graphql_argument' },
        },
      ],
    })
  })

  test('sees what the fields before it have written', async () => {
    expect(
      await run(`mutation {
        insert_counter(objects: [{id: 1}]) { affected_rows }
        one: update_counter(where: {id: {_eq: 1}}, _inc: {n: 1}) { returning { n } }
        two: update_counter(where: {n: {_eq: "1"}}, _inc: {n: 1}) { returning { n } }
        delete_counter(where: {n: {_eq: 2}}) { returning { id } }
      }`),
    ).toEqual({
      status: 200,
      data: {
        insert_counter: { affected_rows: 1 },
        one: { returning: [{ n: '1' }] },
        two: { returning: [{ n: '2' }] },
        delete_counter: { returning: [{ id: 1 }] },
      },
    })
  })

  test('changes no more records than api.bulk_max_rows, else none', async () => {
    await app.sql('insert into counter (id) select generate_series(1, 1001)')
    expect(await run('mutation { delete_counter(where: {}) { affected_rows } }')).toMatchObject({
      data: null,
      errors: [
        {
          message: 'the filter finds more than 1000 records',
          path: ['delete_counter'],
          extensions: { code: 'bulk_limit_exceeded' },
        },
      ],
    })
    expect(await app.sql('select count(*)::int from counter')).toEqual([{ count: 1001 }])
  })
})

describe('POST /api/graphql › mutations', () => {
  test('deliver events to streams', async () => {
    await using stream = await openEventStream(app.url, 'tables=counter', { token })
    await run(`mutation {
      insert_counter(objects: [{id: 1, n: 1}, {id: 2, n: 2}]) { affected_rows }
      update_counter(where: {id: {_eq: 1}}, _set: {n: 9}) { affected_rows }
      delete_counter(where: {id: {_eq: 2}}) { affected_rows }
    }`)
    expect((await stream.next(4)).map(({ action, record }) => [action, String(record.id)])).toEqual([
      ['create', '1'],
      ['create', '2'],
      ['update', '1'],
      ['delete', '2'],
    ])
  })

  test('run once for an idempotency key', async () => {
    const query = 'mutation { insert_author(objects: [{name: "Once"}]) { returning { author_id } } }'
    const headers = { 'idempotency-key': 'graphql-1' }
    const [one, two] = [await run(query, undefined, headers), await run(query, undefined, headers)]
    expect(two).toEqual(one)
    expect(await app.sql(`select count(*)::int from author where name = 'Once'`)).toEqual([{ count: 1 }])
  })

  test('increment exactly when ten run at once', async () => {
    await app.sql('insert into counter (id) values (1)')
    await Promise.all(
      Array.from({ length: 10 }, () =>
        run('mutation { update_counter(where: {id: {_eq: 1}}, _inc: {n: 1}) { affected_rows } }'),
      ),
    )
    expect(await app.sql('select n::int from counter')).toEqual([{ n: 10 }])
  })

  test('respond with the constraint that a row violates, and no text of the database', async () => {
    const { data, errors } = await run(
      'mutation { insert_author(objects: [{author_id: 1, name: "x"}]) { affected_rows } }',
    )
    expect([data, errors?.[0]?.path, errors?.[0]?.extensions.code]).toEqual([
      null,
      ['insert_author'],
      'unique_violation',
    ])
    expect(JSON.stringify(errors)).not.toMatch(/insert into|select /i)
  })
})
