import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { columnTypes, optionalTypes, typesSetup } from '../../../../../test/column-types.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { quoteIdentifier } from '../../../../database/sql.ts'
import { sliceObject } from '../../../../lib/json-slices.ts'

/** A value that was read can be sent back, and is then the same value in the database. */

const token = userToken({ sub: alice })
let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup: typesSetup })
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

async function createTable(name: string, type: string): Promise<void> {
  await app.sql(`create table ${quoteIdentifier(name)} (id int primary key, v ${type})`)
  await app.app.catalog.refresh()
}

async function send(method: string, path: string, body?: string) {
  const response = await app.request(method, `/api/collections/${path}`, {
    token,
    ...(body === undefined ? {} : { body }),
  })
  expect([200, 201], `${method} ${path} ${body}\n${response.text}`).toContain(response.status)
  return response
}

/** Returns the value's JSON in a record, digit by digit. */
function valueIn(record: string): string | undefined {
  return sliceObject(record).get('v')
}

/**
 * Returns the ids of the rows with equal values, compared as texts: `IS NOT DISTINCT FROM` does not exist for every
 * type.
 */
async function storedIn(table: string, ids: readonly number[]): Promise<(string | null)[]> {
  const rows = await app.sql<{ v: string | null }>(
    `select v::text as v from ${quoteIdentifier(table)} where id = any ($1) order by id`,
    [ids],
  )
  return rows.map(({ v }) => v)
}

let nextId = 1

/** Reads a stored value, sends it back by create and by patch, and compares. Returns the JSON that was read. */
async function roundTrip(table: string, value: string): Promise<string | undefined> {
  const [original, created, patched] = [nextId, nextId + 1, nextId + 2]
  nextId += 3
  await app.sql(`insert into ${quoteIdentifier(table)} values ($1, $2), ($3, null)`, [
    original,
    value,
    patched,
  ])
  const read = valueIn((await send('GET', `${table}/${original}`)).text)
  const create = await send('POST', table, `{"id":${created},"v":${read}}`)
  const patch = await send('PATCH', `${table}/${patched}`, `{"v":${read}}`)
  expect([valueIn(create.text), valueIn(patch.text)]).toEqual([read, read])
  const [stored, ...copies] = await storedIn(table, [original, created, patched])
  expect(stored).not.toBeNull()
  expect(copies).toEqual([stored, stored])
  return read
}

describe('value of type', () => {
  test.each(Object.entries(columnTypes))('%s round-trips', async (name, { type, values }) => {
    const table = `of_${name}`
    await createTable(table, type)
    for (const [value, json] of Object.entries(values)) expect(await roundTrip(table, value)).toBe(json)
    await app.sql(`insert into ${table} values (0, null)`)
    expect(valueIn((await send('GET', `${table}/0`)).text)).toBe('null')
    await send('POST', table, `{"id":-1,"v":null}`)
    expect(await storedIn(table, [-1])).toEqual([null])
    const nulls = (await send('GET', `${table}?filter=v=null&fields=id`)).json.items
    expect(nulls).toEqual([{ id: -1 }, { id: 0 }])
  })

  test.each(Object.entries(optionalTypes))(
    '%s round-trips if the type exists',
    async (name, { setup, type, values }) => {
      const exists = await app.sql(setup).then(
        () => true,
        () => false,
      )
      if (!exists) return
      await createTable(`of_${name}`, type)
      for (const [value, json] of Object.entries(values))
        expect(await roundTrip(`of_${name}`, value)).toBe(json)
    },
  )
})

describe('less expressive JSON', () => {
  test('makes an array begin at one when it is sent back', async () => {
    await createTable('bounds', 'int[]')
    await app.sql("insert into bounds values (1, '[2:3]={7,8}')")
    const read = valueIn((await send('GET', 'bounds/1')).text)
    await send('PATCH', 'bounds/1', `{"v":${read}}`)
    expect([read, await storedIn('bounds', [1])]).toEqual(['[7,8]', ['{7,8}']])
  })

  test("makes a document's null NULL when it is sent back", async () => {
    await createTable('documents', 'jsonb')
    await app.sql("insert into documents values (1, 'null')")
    expect(valueIn((await send('GET', 'documents/1')).text)).toBe('null')
    await send('PATCH', 'documents/1', '{"v":null}')
    expect(await storedIn('documents', [1])).toEqual([null])
  })

  test("makes a document's null in an array NULL when it is sent back, and rows of documents documents", async () => {
    await createTable('document_lists', 'jsonb[]')
    await app.sql(`insert into document_lists values (1, '{"null","{}"}'), (2, '{{1,2},{3,4}}')`)
    for (const id of [1, 2]) {
      const read = valueIn((await send('GET', `document_lists/${id}`)).text)
      await send('PATCH', `document_lists/${id}`, `{"v":${read}}`)
    }
    expect(await storedIn('document_lists', [1, 2])).toEqual(['{NULL,"{}"}', '{"[1, 2]","[3, 4]"}'])
  })
})

describe('array of documents in a body', () => {
  beforeAll(async () => {
    await app.sql(`
      create type binder as (sheets jsonb[]);
      create table filed (id int primary key, v jsonb[], raw json[] not null default '{}', kept pages, inner_v binder);
      create table numbered (id int primary key, v int[])`)
    await app.app.catalog.refresh()
  })

  async function storedValue(body: string): Promise<unknown> {
    const id = nextId++
    await send('POST', 'filed', body.replace('{', `{"id":${id},`))
    const [row] = await app.sql('select v::text, raw::text, inner_v::text from filed where id = $1', [id])
    return row
  }

  test('may be a text, as PostgreSQL writes arrays', async () => {
    expect(await storedValue('{"v":"{{1,2},{3,4}}","inner_v":"({[1]})"}')).toEqual({
      v: '{{1,2},{3,4}}',
      raw: '{}',
      inner_v: '({[1]})',
    })
  })

  test.each(['5', 'true', '{"0":[1]}', '"[1]"'])('is rejected like one of numbers: %s', async (value) => {
    const refuse = async (table: string, body: string) => {
      const response = await app.request('POST', `/api/collections/${table}`, { token, body })
      const { code, message, error } = response.json
      return { code, message, error }
    }
    const refusal = await refuse('numbered', `{"id":0,"v":${value}}`)
    expect(refusal).toMatchObject({ code: 400, error: 'invalid_value' })
    expect(await refuse('filed', `{"id":0,"v":${value}}`)).toEqual(refusal)
    expect(await refuse('filed', `{"id":0,"inner_v":{"sheets":${value}}}`)).toEqual(refusal)
  })

  test('obeys the rules of its column', async () => {
    const body = (value: string) => ({ token, body: `{"id":0,"kept":[${value}]}` })
    const refused = await app.request('POST', '/api/collections/filed', body('[],[],[],[],[],[],[],[],[]'))
    expect(envelope(refused)).toMatchObject({ code: 400, error: 'check_violation' })
    const missing = await app.request('POST', '/api/collections/filed', {
      token,
      body: '{"id":0,"raw":null}',
    })
    expect(envelope(missing)).toMatchObject({ code: 400, error: 'not_null_violation', data: { raw: {} } })
    expect(await app.sql('select from filed where id = 0')).toEqual([])
  })

  test('is the same in a batch', async () => {
    const documents = [[1, [2]], [], null, { a: [[3]] }]
    const operations = [
      { method: 'create', body: { id: -1, v: documents, inner_v: { sheets: [[0]] } } },
      { method: 'create', body: { id: -2, v: [[4]], inner_v: null } },
      { method: 'update', id: -2, body: { v: [documents], raw: [[5], 6] } },
    ]
    const { json } = await send('POST', 'filed/batch', JSON.stringify({ operations }))
    const records = json.map(({ body }: { body: unknown }) => body)
    const common = { raw: [], kept: null }
    expect(records).toEqual([
      { ...common, id: -1, v: documents, inner_v: { sheets: [[0]] } },
      { ...common, id: -2, v: [[4]], inner_v: null },
      { ...common, id: -2, v: [documents], raw: [[5], 6], inner_v: null },
    ])
    expect((await send('GET', 'filed?filter=id<0&sort=-id')).json.items).toEqual([records[0], records[2]])
  })

  test('follows a type that gets a new attribute', async () => {
    await app.sql("insert into filed (id, inner_v) values (-3, '({[1]})')")
    await app.sql('alter type binder add attribute covers jsonb[]')
    const { json } = await send('PATCH', 'filed/-3', '{"inner_v":{"sheets":[[3]],"covers":[[4],[5]]}}')
    expect(json.inner_v).toEqual({ sheets: [[3]], covers: [[4], [5]] })
  })
})

describe('any value of type', () => {
  const digits = (maxLength: number) =>
    fc.array(fc.nat(9), { minLength: 1, maxLength }).map((list) => list.join(''))
  const sign = fc.constantFrom('', '-')
  const text = fc.string({ unit: 'grapheme', maxLength: 30 })
  const quote = (value: string) => `"${value.replace(/["\\]/g, '\\$&')}"`
  const int = (bits: bigint) => fc.bigInt({ min: -(2n ** (bits - 1n)), max: 2n ** (bits - 1n) - 1n })
  const two = (number: number) => String(number).padStart(2, '0')

  const day = fc
    .tuple(
      fc.integer({ min: 1, max: 294_275 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 28 }),
    )
    .map(([year, month, date]) => `${String(year).padStart(4, '0')}-${two(month)}-${two(date)}`)
  const clock = fc
    .tuple(fc.nat(23), fc.nat(59), fc.nat(59), fc.nat(999_999))
    .map(([h, m, s, us]) => `${two(h)}:${two(m)}:${two(s)}.${String(us).padStart(6, '0')}`)

  const document: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('true', 'false', '{}', '[]', '""'),
      text.map((value) => JSON.stringify(value)),
      fc.tuple(sign, fc.nat(999), digits(40)).map(([minus, whole, rest]) => `${minus}${whole}.${rest}`),
      fc
        .array(fc.oneof(tie('value'), fc.constant('null')), { maxLength: 4 })
        .map((list) => `[${list.join(', ')}]`),
      fc
        .array(fc.tuple(text, fc.oneof(tie('value'), fc.constant('null'))), { maxLength: 4 })
        .map(
          (members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join(', ')}}`,
        ),
    ),
  })).value

  const generated: Readonly<Record<string, readonly [type: string, values: fc.Arbitrary<string>]>> = {
    any_int8: ['int8', int(64n).map(String)],
    any_numeric: [
      'numeric',
      fc.tuple(sign, digits(60), digits(60)).map(([minus, whole, rest]) => `${minus}${whole}.${rest}`),
    ],
    any_float8: ['float8', fc.double().map(String)],
    any_float4: ['float4', fc.float().map(String)],
    any_text: ['text', text.filter((value) => !value.includes('\0'))],
    any_bytea: [
      'bytea',
      fc.uint8Array({ maxLength: 40 }).map((bytes) => `\\x${Buffer.from(bytes).toString('hex')}`),
    ],
    any_date: [
      'date',
      fc
        .tuple(day, fc.constantFrom('', ' BC'))
        .map(([date, era]) =>
          era === ''
            ? date
            : date.replace(/^\d+/, (year) => String((Number(year) % 4000) + 1).padStart(4, '0')) + era,
        ),
    ],
    any_timestamptz: [
      'timestamptz',
      fc
        .tuple(day, clock, fc.constantFrom('+00', '-07:30', '+14'))
        .map(([date, time, zone]) => `${date} ${time}${zone}`),
    ],
    any_interval: [
      'interval',
      fc.tuple(int(32n), int(32n), int(63n)).map(([m, d, us]) => `${m} months ${d} days ${us} microseconds`),
    ],
    any_uuid: ['uuid', fc.uuid()],
    any_inet: [
      'inet',
      fc.oneof(
        fc.ipV4(),
        fc.ipV6(),
        fc.tuple(fc.ipV4(), fc.nat(32)).map((parts) => parts.join('/')),
      ),
    ],
    any_varbit: ['varbit', fc.array(fc.nat(1), { maxLength: 40 }).map((bits) => bits.join(''))],
    any_json: ['json', document],
    any_jsonb: ['jsonb', document],
    any_document_array: [
      'jsonb[]',
      fc
        .array(fc.option(document.map(quote), { nil: 'NULL' }), { maxLength: 6 })
        .map((list) => `{${list.join()}}`),
    ],
    any_text_array: [
      'text[]',
      fc
        .array(fc.option(text.filter((value) => !value.includes('\0')).map(quote), { nil: 'NULL' }), {
          maxLength: 6,
        })
        .map((list) => `{${list.join()}}`),
    ],
    any_int_matrix: [
      'int[]',
      fc
        .tuple(fc.integer({ min: 1, max: 3 }), fc.array(int(32n), { minLength: 3, maxLength: 12 }))
        .map(([width, list]) => {
          const rows = Array.from(
            { length: Math.floor(list.length / width) },
            (_, row) => `{${list.slice(row * width, (row + 1) * width).join()}}`,
          )
          return `{${rows.join()}}`
        }),
    ],
    any_numrange: [
      'numrange',
      fc
        .tuple(fc.constantFrom('[', '('), digits(20), digits(20), fc.constantFrom(']', ')'))
        .map(([open, low, more, close]) => `${open}${low},${BigInt(low) + BigInt(more)}${close}`),
    ],
    any_composite: [
      'point3',
      fc
        .tuple(int(32n), digits(30), text.filter((value) => !value.includes('\0')).map(quote))
        .map((parts) => `(${parts.join()})`),
    ],
  }

  test.each(Object.entries(generated))('%s round-trips', async (name, [type, values]) => {
    await createTable(name, type)
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        await roundTrip(name, value)
      }),
      { numRuns: 15 },
    )
  })

  test('number keeps every digit', async () => {
    await createTable('digits', 'numeric')
    await app.sql('alter table digits add doc jsonb, add raw json, add list numeric[]')
    await app.app.catalog.refresh()
    const number = fc
      .tuple(sign, fc.bigInt({ min: 1n, max: 10n ** 60n }), digits(60))
      .map(([minus, whole, rest]) => `${minus}${whole}.${rest}`)
    await fc.assert(
      fc.asyncProperty(number, async (value) => {
        const id = nextId++
        const body = `{"id":${id},"v":${value},"doc":{"deep":[${value}]},"raw":[${value}],"list":[${value}]}`
        const { text: created } = await send('POST', 'digits', body)
        expect(created).toBe(
          `{"id":${id},"v":${value},"doc":{"deep": [${value}]},"raw":[${value}],"list":[${value}]}`,
        )
        expect((await send('GET', `digits/${id}`)).text).toBe(created)
        const found = await send('GET', `digits?fields=id&filter=v=${value}`)
        expect(found.json.items).toContainEqual({ id })
      }),
      { numRuns: 40 },
    )
  })
})

describe('JSON in a body', () => {
  beforeAll(async () => {
    await app.sql('create table doc (id int primary key, raw json, v jsonb, n numeric, big int8, label text)')
    await app.app.catalog.refresh()
  })

  async function store(body: string): Promise<Record<string, string | null>> {
    const { text } = await send('POST', 'doc', body)
    const id = sliceObject(text).get('id')
    const [row] = await app.sql(
      'select raw::text, v::text, n::text, big::text, label from doc where id = $1',
      [id],
    )
    return row ?? {}
  }

  test('is NULL where it is null, and JSON null when nested', async () => {
    const row = await store('{"id":1,"raw":null,"v":null}')
    expect(row).toMatchObject({ raw: null, v: null })
    expect(await store('{"id":2,"raw":[null],"v":{"a":null}}')).toMatchObject({
      raw: '[null]',
      v: '{"a": null}',
    })
    await app.sql(`insert into doc (id, raw, v) values (3, 'null', 'null')`)
    const find = async (filter: string) =>
      (await send('GET', `doc?fields=id&filter=${encodeURIComponent(filter)}`)).json.items
    expect(await find('v = null AND id <= 3')).toEqual([{ id: 1 }])
    expect(await find("v = 'null' AND id <= 3")).toEqual([{ id: 3 }])
    expect(await find('v != null AND id <= 3')).toEqual([{ id: 2 }, { id: 3 }])
    expect(await find('raw = null AND id <= 3')).toEqual([{ id: 1 }])
    expect(await find("v IN ('null', '{\"a\":null}') AND id <= 3")).toEqual([{ id: 2 }, { id: 3 }])
  })

  test('is a string where it is a string', async () => {
    expect(await store('{"id":10,"raw":"{\\"a\\":1}","v":"[1]"}')).toMatchObject({
      raw: '"{\\"a\\":1}"',
      v: '"[1]"',
    })
  })

  test('uses the last of repeated members', async () => {
    expect(await store('{"id":20,"label":"first","label":"last","n":1,"n":2.50}')).toMatchObject({
      label: 'last',
      n: '2.50',
    })
  })

  test('may write names with escapes', async () => {
    expect(await store('{"\\u0069d":21,"l\\u0061bel":"x"}')).toMatchObject({ label: 'x' })
  })

  test('keeps the order and the repetition of members in json', async () => {
    expect(await store('{"id":22,"raw":{"b":1,"a":2,"b":3.0},"v":{"b":1,"a":2,"b":3.0}}')).toMatchObject({
      raw: '{"b":1,"a":2,"b":3.0}',
      v: '{"a": 2, "b": 3.0}',
    })
  })

  test('may be a number or boolean in a text column, and numbers may be texts', async () => {
    expect(
      await store('{"id":23,"label":12345678901234567890.10,"n":"1.50","big":"9223372036854775807"}'),
    ).toEqual({
      raw: null,
      v: null,
      label: '12345678901234567890.10',
      n: '1.50',
      big: '9223372036854775807',
    })
    expect(await store('{"id":25,"label":true}')).toMatchObject({ label: 'true' })
  })

  test.each([
    ['{"id":30,"v":{"a":"\\u0000"}}', 'invalid value: text cannot hold the character U+0000'],
    ['{"id":30,"raw":["\\u0000"]}', 'invalid value: text cannot hold the character U+0000'],
    ['{"id":30,"label":"\\u0000"}', 'invalid value: text cannot hold the character U+0000'],
    ['{"id":30,"label":"\\ud83d"}', 'invalid value: text cannot hold half of a surrogate pair'],
    ['{"id":30,"n":1e200000}', 'invalid value: value overflows numeric format'],
    ['{"id":30,"v":[1e200000]}', 'invalid value: value overflows numeric format'],
    [
      '{"id":30,"big":9223372036854775808}',
      'invalid value: value "9223372036854775808" is out of range for type bigint',
    ],
    ['{"id":30,"big":1e3}', 'invalid bigint value "1e3" — expected a whole number, e.g. 42'],
    ['{"id":30,"big":1.0}', 'invalid bigint value "1.0" — expected a whole number, e.g. 42'],
  ])('is rejected: %s', async (body, message) => {
    const response = await app.request('POST', '/api/collections/doc', { token, body })
    expect(envelope(response)).toMatchObject({ code: 400, message, error: 'invalid_value' })
    expect(await app.sql('select id from doc where id = 30')).toEqual([])
  })

  test('is stored or rejected when deeply nested', async () => {
    const nested = (depth: number) => `{"id":31,"v":${'['.repeat(depth)}${']'.repeat(depth)}}`
    expect((await app.request('POST', '/api/collections/doc', { token, body: nested(1000) })).status).toBe(
      201,
    )
    const response = await app.request('POST', '/api/collections/doc', { token, body: nested(100_000) })
    expect(response.status).toBe(400)
  })
})
