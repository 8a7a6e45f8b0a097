import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { columnTypes, typesSetup } from '../../../../../test/column-types.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })
const run = (query: string, variables?: object) =>
  runGraphql(app, query, { token, ...(variables === undefined ? {} : { variables }) })

beforeAll(async () => {
  const tables = Object.entries(columnTypes).map(
    ([name, { type }]) => `create table of_${name} (id int primary key, v ${type});`,
  )
  app = await createTestApp({
    setup: `${typesSetup} ${tables.join('\n')}
      create table measure (id int primary key, f float8 not null, g float4, n numeric, b bigint, i int, s smallint);`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())

/** Sends a body as text, so that numbers keep their digits. */
async function send(query: string, variables: string): Promise<string> {
  const { text } = await app.request('POST', '/api/graphql', {
    token,
    headers: { 'content-type': 'application/json' },
    body: `{"query": ${JSON.stringify(query)}, "variables": ${variables}}`,
  })
  return text
}

/** Returns the type of the column `v` in the input of an insert. */
async function inputTypeOf(table: string): Promise<string> {
  const pascal = table.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())
  const { data } = await run(`{
    __type(name: "${pascal}InsertInput") { inputFields { name type { name kind ofType { name } } } }
  }`)
  const { type } = data.__type.inputFields.find(({ name }: { name: string }) => name === 'v')
  return type.kind === 'LIST' ? `[${type.ofType.name}]` : type.name
}

/** Returns JSON with numbers as strings. */
function quoteNumbers(json: string): string {
  const quote = (_: string, value: unknown, context: { readonly source?: string }) =>
    typeof value === 'number' ? context.source : value
  return JSON.stringify(JSON.parse(json, quote))
}

/** Name of a label in the schema. */
const moods: Readonly<Record<string, string>> = {
  '"it\'s \\"fine\\", \\\\ really"': '"it_s__fine_____really"',
}

const types: Readonly<Record<string, string>> = {
  ...{ bool: 'Boolean', int2: 'Int', int4: 'Int', int8: 'BigInt', oid: 'BigInt', numeric: 'Numeric' },
  ...{ money_like: 'Numeric', float4: 'Float', float8: 'Float', domain: 'Int', mood: 'MoodEnum' },
  ...{ timestamp: 'DateTime', timestamptz: 'DateTime', json: 'JSON', jsonb: 'JSON', composite: 'JSON' },
  ...{ bool_array: '[Boolean]', int8_array: '[BigInt]', numeric_array: '[Numeric]', domain_array: '[Int]' },
  ...{ int_array: '[Int]', moment_array: '[DateTime]' },
}

describe('POST /api/graphql › value of type', () => {
  test.each(Object.entries(columnTypes))('%s is read and written without loss', async (name, { values }) => {
    const table = `of_${name}`
    const type = await inputTypeOf(table)
    const isText = ['BigInt', 'Numeric', '[BigInt]', '[Numeric]'].includes(type)
    let id = 0
    for (const [value, json] of Object.entries(values)) {
      id += 2
      await app.sql(`insert into ${table} values ($1, $2)`, [id, value])
      const expected = moods[json] ?? (isText ? quoteNumbers(json) : json)
      const read = await send(`query ($id: Int!) { t: ${table}_by_pk(id: $id) { v } }`, `{"id": ${id}}`)
      expect(read).toBe(`{"data":{"t":{"v":${expected}}}}`)
      const isNested = type.startsWith('[') && /^\[\[/.test(json)
      if (isNested) continue
      const insert = `mutation ($id: Int!, $v: ${type}) { t: insert_${table}(objects: [{id: $id, v: $v}]) { returning { v } } }`
      const written = await send(insert, `{"id": ${id + 1}, "v": ${expected}}`)
      // The documents of a request are parsed: blanks, escapes and repeated keys are not kept.
      if (name === 'json' || name === 'json_array') {
        expect(JSON.parse(written)).toEqual({ data: { t: { returning: [{ v: JSON.parse(expected) }] } } })
        continue
      }
      expect(written).toBe(`{"data":{"t":{"returning":[{"v":${expected}}]}}}`)
      const stored = await app.sql(`select v::text from ${table} where id in ($1, $2)`, [id, id + 1])
      expect(stored[1]).toEqual(stored[0])
    }
    await app.sql(`insert into ${table} values (0, null)`)
    expect(await send(`{ t: ${table}_by_pk(id: 0) { v } }`, '{}')).toBe('{"data":{"t":{"v":null}}}')
    if (name in types) expect(type).toBe(types[name])
  })
})

describe('POST /api/graphql › numbers', () => {
  test('NaN and the infinities are the texts of REST, also in inputs', async () => {
    expect(
      await run(
        `mutation ($f: Float!, $g: Float) {
          insert_measure(objects: [{id: 1, f: "NaN", g: "-Infinity", n: "Infinity"}, {id: 2, f: $f, g: $g, n: "NaN"}]) {
            returning { id f g n }
          }
        }`,
        { f: 'Infinity', g: 'NaN' },
      ),
    ).toEqual({
      status: 200,
      data: {
        insert_measure: {
          returning: [
            { id: 1, f: 'NaN', g: '-Infinity', n: 'Infinity' },
            { id: 2, f: 'Infinity', g: 'NaN', n: 'NaN' },
          ],
        },
      },
    })
    expect((await app.request('GET', '/api/collections/measure/1?fields=f,g', { token })).json).toEqual({
      f: 'NaN',
      g: '-Infinity',
    })
    expect(await run('{ measure(where: {f: {_eq: "NaN"}, n: {_in: ["Infinity", 5]}}) { id } }')).toEqual({
      status: 200,
      data: { measure: [{ id: 1 }] },
    })
    expect(await run('{ measure_aggregate { max { f } sum { f n } } }')).toEqual({
      status: 200,
      data: { measure_aggregate: { max: { f: 'NaN' }, sum: { f: 'NaN', n: 'NaN' } } },
    })
  })

  test('keep scale, exponent and sign in variables, literals and documents', async () => {
    const insert = `mutation ($n: Numeric, $f: Float!, $b: BigInt) {
      insert_measure(objects: [{id: 10, n: 1.10, f: -0.0, b: 1}, {id: 11, n: $n, f: $f, b: $b}]) { returning { n f b } }
    }`
    expect(await send(insert, '{"n": 1e-400, "f": 0.10000000000000000555, "b": 5.0}')).toBe(
      `{"data":{"insert_measure":{"returning":[{"n":"1.10","f":-0,"b":"1"}, {"n":"0.${'0'.repeat(399)}1","f":0.1,"b":"5"}]}}}`,
    )
    expect(await send('query ($n: Numeric) { measure(where: {n: {_eq: $n}}) { id } }', '{"n": 1.1000}')).toBe(
      '{"data":{"measure":[{"id":10}]}}',
    )
  })

  test.each<readonly [string, string, string, string]>([
    [
      'Int!',
      '2147483648',
      '{f: 1, id: $v}',
      'Int cannot represent non 32-bit signed integer value: 2147483648',
    ],
    ['Int!', '1.5', '{f: 1, id: $v}', 'Int cannot represent non-integer value: 1.5'],
    [
      'Int!',
      '90071992547409930',
      '{f: 1, id: $v}',
      'Int cannot represent non 32-bit signed integer value: 90071992547409940',
    ],
    ['Float!', '1e999', '{id: 1, f: $v}', 'Float cannot represent non numeric value: Infinity'],
    ['Float!', '"1"', '{id: 1, f: $v}', 'Float cannot represent non numeric value: "1"'],
    [
      'BigInt',
      '1.5',
      '{id: 1, f: 1, b: $v}',
      'BigInt: expected an integer, as a number or a string of digits',
    ],
    [
      'BigInt',
      '"1e3"',
      '{id: 1, f: 1, b: $v}',
      'BigInt: expected an integer, as a number or a string of digits',
    ],
    ['Numeric', '"0x10"', '{id: 1, f: 1, n: $v}', 'Numeric: expected a number, or a string that holds one'],
    ['Numeric', 'true', '{id: 1, f: 1, n: $v}', 'Numeric: expected a number, or a string that holds one'],
  ])('values outside %s are rejected: %s', async (type, value, object, problem) => {
    const insert = `mutation ($v: ${type}) { insert_measure(objects: [${object}]) { affected_rows } }`
    const { data, errors } = JSON.parse(await send(insert, `{"v": ${value}}`))
    expect([data, errors]).toEqual([
      null,
      [
        {
          message: `Variable "$v" got invalid value ${value}; ${problem}`,
          locations: [{ line: 1, column: 11 }],
          extensions: { code: 'invalid_graphql_document' },
        },
      ],
    ])
  })

  test.each([
    '{id: 20, f: 1, b: "9223372036854775808"}',
    '{id: 20, f: 1, s: 40000}',
    '{id: 20, f: 1e308, g: 1e308}',
  ])('beyond the range of a column are refused: %s', async (object) => {
    expect(await run(`mutation { insert_measure(objects: [${object}]) { affected_rows } }`)).toMatchObject({
      status: 200,
      data: null,
      errors: [{ path: ['insert_measure'], extensions: { code: 'invalid_value' } }],
    })
  })
})
