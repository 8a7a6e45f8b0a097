import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { quoteIdentifier } from '../../../../database/sql.ts'

/**
 * Names and values with a special meaning in SQL, JSON, URLs, JavaScript, or our own statements. A single backslash
 * is not among the names: once V8 has seen one as a key, its `JSON.parse` mistakes other keys of one escaped
 * character for it.
 */

const names = [
  ...['select', 'order', 'user', 'NULL', 'true', 'and', 'in', 'Mixed Case', 'Größe', '名前', '😀', 'ñ'],
  ...[
    'a b',
    ' a',
    'a ',
    'a.b',
    'a,b',
    'a"b',
    '""',
    '"',
    "a'b",
    "''",
    "'; drop table canary; --",
    '--',
    '/*',
    '*/',
  ],
  ...['$1', '$$', '%', '%s', '%2C', '%00', 'a%b', 'a_b', 'a\\b', "\\'", '\\\\', 'a\nb', 'a\tb', '\r'],
  ...['a/b', '/', 'a?_b', 'a#b', 'a&b=c', 'a+b', '+', '-', '-a', '+a', '*', '(', ')', ';', ':', ',', '='],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'prototype',
    'valueOf',
    'length',
    'then',
    'toJSON',
  ],
  ...['expand', '_', '_x', 'batch', 'page', 'filter', 'cursor', 'basalt cursor key', 'basalt old record'],
  ...[
    'record',
    'place',
    'key',
    'value',
    'name',
    'related',
    'body',
    'json',
    'b',
    'e',
    'k0',
    'n',
    'o',
    'r',
    's',
    't',
    'tx',
    'w',
  ],
  ...['tableoid_', 'old', 'new', 'excluded', 'n'.repeat(63), 'ä'.repeat(31), '😀'.repeat(15)],
]

const values = [
  ...["'; drop table canary; --", "' or '1'='1", "') or true --", '" or true --', '1; select pg_sleep(10)'],
  ...['$1', '$2', '{{1}}', '%s', '%', '_', '\\', "\\'", "\\'; --", "''", "'", '"', '\\\\', "E'\\''"],
  ...[
    '\u2019 or true',
    '\u02bc',
    '\uff07',
    'a\nb',
    '\u0001',
    '/* */',
    '--',
    'null',
    'NULL',
    'true',
    '{}',
    '[]',
  ],
  ...[
    '{"a":1}',
    '__proto__',
    'a,b',
    'a%2Cb',
    'a/b',
    '?',
    '#',
    '&x=1',
    '+',
    ' ',
    '.',
    '..',
    '😀',
    'x'.repeat(500),
  ],
]

const token = userToken({ sub: alice })
let app: TestApp
let tables: unknown

beforeAll(async () => {
  const setup = names.map((name, index) => {
    const quoted = quoteIdentifier(name)
    return `
      create table ${quoted} (id int primary key, ${quoted} text unique, extra text);
      insert into ${quoted} (id, ${quoted}) values (1, 'one'), (2, 'two'), (3, null);
      create table "kid ${index}" (kid int primary key, ${quoted} int references ${quoted});
      insert into "kid ${index}" values (10, 1), (20, null);`
  })
  app = await createTestApp({
    setup: `
      create table canary (id int primary key, label text);
      insert into canary values (1, 'alive');
      create table a (id int primary key, letter text);
      insert into a values (1, 'a');
      create table item (key text primary key, note text, n int, doc jsonb, tags text[]);
      create table owned (id int primary key, owner text, email text);
      alter table owned enable row level security;
      create policy own on owned
        using (owner = current_setting('basalt.user_id') and email = current_setting('basalt.user_email'));
      create schema shop;
      create table shop."odd.table" (id int primary key, x text);
      insert into shop."odd.table" values (1, 'found');
      create table "shop.both" (id int primary key);
      create table shop.both (id int primary key, hidden text);
      ${setup.join('\n')}`,
    config: { 'database.schemas': 'public,shop' },
  })
  tables = await app.sql('select oid, relname from pg_class order by oid')
})
afterAll(async () => {
  // No input was ever executed as SQL.
  expect(await app.sql('select * from canary')).toEqual([{ id: 1, label: 'alive' }])
  expect(await app.sql('select oid, relname from pg_class order by oid')).toEqual(tables)
  expect(faultsOf(app)).toEqual([])
  expect(Object.keys(Object.prototype)).toEqual([])
  await app[Symbol.asyncDispose]()
})

function send(method: string, path: string, body?: unknown) {
  return app.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

function query(parameters: Readonly<Record<string, string>>): string {
  return `?${new URLSearchParams(parameters)}`
}

/** Returns an object with these members, whatever their names. */
function members(...entries: [string, unknown][]): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null)
  for (const [name, value] of entries) object[name] = value
  return object
}

function entriesOf(item: object): [string, unknown][] {
  return Object.entries(item)
}

describe('injection › a table and a column named', () => {
  test.each(names)('%j are listed', async (name) => {
    const path = encodeURIComponent(name)
    const quoted = quoteIdentifier(name)
    const all = await send('GET', path)
    expect(all.status, all.text).toBe(200)
    expect(all.json.items.map(entriesOf)).toEqual(
      [
        [1, 'one'],
        [2, 'two'],
        [3, null],
      ].map(([id, value]) => [
        ['id', id],
        [name, value],
        ['extra', null],
      ]),
    )
    const sorted = await send('GET', path + query({ sort: `-${quoted}`, fields: quoted }))
    expect(sorted.json.items.map(entriesOf)).toEqual([[[name, null]], [[name, 'two']], [[name, 'one']]])
    const filter = `${quoted} ~ 't%' OR ${quoted} = null`
    const found = await send('GET', path + query({ filter, fields: 'id' }))
    expect(found.json.items).toEqual([{ id: 2 }, { id: 3 }])

    const ids: number[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page = await send('GET', path + query({ sort: quoted, perPage: '1', cursor }))
      expect(page.status, page.text).toBe(200)
      ids.push(...page.json.items.map(({ id }: { id: number }) => id))
      cursor = page.json.nextCursor
    }
    expect(ids).toEqual([1, 2, 3])
  })

  test.each(names)('%j are counted, grouped and exported', async (name) => {
    const path = encodeURIComponent(name)
    const quoted = quoteIdentifier(name)
    const counted = await send(
      'GET',
      path + query({ facets: quoted, disjunctiveFacets: quoted, perPage: '1' }),
    )
    expect(counted.status, counted.text).toBe(200)
    expect(entriesOf(counted.json.facets)).toEqual([
      [name, ['one', 'two', null].map((value) => ({ value, count: 1 }))],
    ])
    const grouped = await send(
      'GET',
      path + query({ aggregate: 'max(id)', group: quoted, groupSort: `-${quoted}`, groupLimit: '2' }),
    )
    expect(grouped.status, grouped.text).toBe(200)
    expect(grouped.json.results.map(entriesOf)).toEqual(
      [
        [null, 3],
        ['two', 2],
      ].map(([value, id]) => [
        [name, value],
        ['max_id', id],
      ]),
    )
    const smallest = await send('GET', path + query({ aggregate: `min(${quoted})` }))
    expect(entriesOf(smallest.json.results[0])).toEqual([[`min_${name}`, 'one']])
    const exported = await send(
      'GET',
      `${path}/export.json${query({ fields: quoted, filter: `${quoted} != null` })}`,
    )
    expect(exported.json.map(entriesOf)).toEqual([[[name, 'one']], [[name, 'two']]])
    const csv = await send('GET', `${path}/export.csv${query({ fields: quoted, sort: quoted })}`)
    expect(csv.status, csv.text).toBe(200)
    const facet = await send('GET', `${path}/facets/${encodeURIComponent(name)}/search?q=T`)
    // A path segment cannot consist of dots.
    if (!/^\.+$/.test(name))
      expect(facet.json.facetHits).toEqual([{ value: 'two', highlighted: '<mark>t</mark>wo', count: 1 }])
  })

  test.each(names)('%j are written', async (name) => {
    const path = encodeURIComponent(name)
    const created = await send('POST', path, members(['id', 4], [name, "it's \\ new"]))
    expect(created.status, created.text).toBe(201)
    expect(entriesOf(created.json)).toEqual([
      ['id', 4],
      [name, "it's \\ new"],
      ['extra', null],
    ])
    const updated = await send('PATCH', `${path}/4`, members([name, 'four'], ['extra', 'x']))
    expect(entriesOf(updated.json)).toEqual([
      ['id', 4],
      [name, 'four'],
      ['extra', 'x'],
    ])
    const read = await send('GET', `${path}/4${query({ fields: quoteIdentifier(name) })}`)
    expect(entriesOf(read.json)).toEqual([[name, 'four']])
    const twice = await send('POST', path, members(['id', 5], [name, 'four']))
    expect(twice.status).toBe(409)
    const batch = await send('POST', `${path}/batch`, {
      operations: [
        { method: 'create', body: members(['id', 6], [name, 'six']) },
        { method: 'update', id: 6, body: members([name, '6']) },
        { method: 'delete', id: 4 },
      ],
    })
    expect(batch.status, batch.text).toBe(200)
    expect(entriesOf(batch.json[1].body)).toEqual([
      ['id', 6],
      [name, '6'],
      ['extra', null],
    ])
    expect((await send('DELETE', `${path}/6`)).status).toBe(204)
    expect((await send('GET', path)).json.totalItems).toBe(3)
  })

  // Beside a column of that name, related records cannot be returned.
  const related = names.map((name, index) => [name, index] as const).filter(([name]) => name !== 'expand')

  test.each(related)('%j are expanded', async (name, index) => {
    const response = await send('GET', `kid%20${index}${query({ expand: quoteIdentifier(name) })}`)
    expect(response.status, response.text).toBe(200)
    const [first, second] = response.json.items
    expect(entriesOf(first).map(([key]) => key)).toEqual(['kid', name, 'expand'])
    const [[relation, parent] = []] = Object.entries<object>(first.expand)
    expect([relation, entriesOf(parent ?? {})]).toEqual([
      name,
      [
        ['id', 1],
        [name, 'one'],
        ['extra', null],
      ],
    ])
    expect(second.expand).toEqual({})
    const back = await send('GET', `${encodeURIComponent(name)}/1${query({ expand: `kid ${index}` })}`)
    expect(back.json.expand).toEqual({ [`kid ${index}`]: [expect.objectContaining({ kid: 10 })] })
  })

  test('with a dot are distinguished from a schema', async () => {
    expect((await send('GET', 'shop.odd.table')).json.items).toEqual([{ id: 1, x: 'found' }])
    expect((await send('GET', 'shop.odd.table/1')).json).toEqual({ id: 1, x: 'found' })
    expect((await send('POST', 'shop.both', { id: 1 })).json).toEqual({ id: 1 })
  })

  test('like the start of a query are distinguished from that query', async () => {
    const odd = { id: 1, 'a?_b': 'one', extra: null }
    expect((await send('GET', 'a%3F_b')).json.items[0]).toEqual(odd)
    expect((await send('GET', 'a?_b?')).json.items).toEqual([{ id: 1, letter: 'a' }])
    expect((await send('GET', 'a%3F_b/1')).json).toEqual(odd)
    expect((await send('GET', 'a/1?_b?')).json).toEqual({ id: 1, letter: 'a' })
  })
})

test('injection › configured schemas may have any names', async () => {
  const schemas = ['MixedCase', 'a.b', 'a b', '"', 'a "b"', "it's", 'a\\b', '$user', '1', 'select', 'ö']
  const createTable = (schema: string, name: string) =>
    `create table ${quoteIdentifier(schema)}.${name} (id int primary key, number serial)`
  const setup = schemas.map(
    (schema) => `create schema ${quoteIdentifier(schema)}; ${createTable(schema, 'present')}`,
  )
  await using odd = await createTestApp({
    setup: setup.join(';'),
    config: { 'database.schemas': ['public', ...schemas].join() },
  })
  for (const schema of schemas) {
    await odd.sql(createTable(schema, 'late'))
    for (const table of ['present', 'late']) {
      const path = `/api/collections/${encodeURIComponent(`${schema}.${table}`)}`
      expect((await odd.request('POST', path, { token, body: { id: 7 } })).text).toBe('{"id":7,"number":1}')
      expect((await odd.request('GET', `${path}/7`, { token })).text).toBe('{"id":7,"number":1}')
    }
  }
  expect(faultsOf(odd)).toEqual([])
})

describe('injection › an unknown name is quoted in the error', () => {
  const missing = [
    'nope',
    'n'.repeat(64),
    'canary"; drop table canary; --',
    "canary' --",
    '__proto__x',
    '$9',
    'İd',
    '\0',
  ]

  test.each(missing)('as a table: %j', async (name) => {
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['GET', '/1'],
      ['PATCH', '/1'],
      ['DELETE', '/1'],
      ['POST', '/batch'],
    ] as const) {
      const body = method === 'POST' || method === 'PATCH' ? { id: 1 } : undefined
      const response = await send(method, `${encodeURIComponent(name)}${path}`, body)
      expect(envelope(response)).toEqual({
        code: 404,
        message: `collection not found: ${name}`,
        error: 'collection_not_found',
      })
    }
  })

  test.each(missing)('as a column: %j', async (name) => {
    const quoted = quoteIdentifier(name.replaceAll('\0', '\u0001'))
    const shown = name.replaceAll('\0', '\u0001')
    expect(envelope(await send('GET', `item${query({ sort: quoted })}`))).toEqual({
      code: 400,
      message: `unknown column "${shown}" in sort`,
      error: 'unknown_column',
    })
    expect(envelope(await send('GET', `item${query({ fields: quoted })}`))).toEqual({
      code: 400,
      message: `unknown column "${shown}" in fields`,
      error: 'unknown_column',
    })
    expect(envelope(await send('GET', `item${query({ filter: `${quoted} = 1` })}`))).toEqual({
      code: 400,
      message: `invalid filter: unknown column: ${shown}`,
      error: 'unknown_filter_column',
      data: { position: 0 },
    })
    expect(envelope(await send('GET', `item${query({ expand: quoted })}`))).toEqual({
      code: 400,
      message: `unknown relation "${shown}" of item in expand`,
      error: 'unknown_relation',
    })
    if (name.startsWith('_')) return
    for (const [method, path] of [
      ['POST', 'item'],
      ['PATCH', 'item/x'],
    ] as const) {
      expect(envelope(await send(method, path, members([shown, 1])))).toEqual({
        code: 400,
        message: `unknown column "${shown}" in request body`,
        error: 'unknown_column',
      })
    }
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf'])(
    'although every object has it: %s',
    async (name) => {
      for (const parameters of [
        { sort: name },
        { fields: name },
        { filter: `${name}=1` },
        { expand: name },
      ]) {
        const response = await send('GET', `item${query(parameters)}`)
        expect([response.status, response.json.message]).toEqual([400, expect.stringContaining(name)])
      }
    },
  )

  test('and inherited members in a body change nothing', async () => {
    const ignored = await send('POST', 'item', '{"key":"proto","__proto__":{"key":"x","polluted":1}}')
    expect([ignored.status, ignored.json.key]).toEqual([201, 'proto'])
    const refused = await send('POST', 'item', '{"key":"proto2","constructor":{"prototype":{"polluted":1}}}')
    expect(envelope(refused)).toMatchObject({ message: 'unknown column "constructor" in request body' })
    const batch = await send(
      'POST',
      'item/batch',
      '{"operations":[{"method":"delete","id":"proto","__proto__":{"id":"x"}}]}',
    )
    expect(batch.status).toBe(200)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe('injection › a value is only a value', () => {
  test.each(values)('in a record: %j', async (value) => {
    const path = `item/${encodeURIComponent(value)}`
    const body = { key: value, note: value, n: 1, doc: { [`k ${value}`]: value }, tags: [value, null] }
    const created = await send('POST', 'item', body)
    expect([created.status, created.json]).toEqual([201, body])
    // A path segment cannot consist of dots.
    const isAddressable = value !== '.' && value !== '..'
    if (isAddressable) expect((await send('GET', path)).json).toEqual(body)

    const literals = [
      `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`,
      `'${value.replace(/[\\']/g, '\\$&')}'`,
    ]
    for (const literal of literals) {
      for (const filter of [
        `key = ${literal}`,
        `note IN (${literal}, 'x')`,
        `(key != ${literal} OR n = 1)`,
      ]) {
        const found = await send('GET', `item${query({ filter, fields: 'key' })}`)
        expect(found.json.items).toEqual([{ key: value }])
        const exported = await send('GET', `item/export.json${query({ filter, fields: 'key' })}`)
        expect(exported.json).toEqual([{ key: value }])
      }
    }
    const hits = await send('GET', `item/facets/key/search${query({ q: value })}`)
    expect(hits.json.facetHits).toEqual([{ value, highlighted: expect.any(String), count: 1 }])
    const page = await send('GET', `item${query({ sort: 'note', cursor: '', perPage: '1' })}`)
    expect(page.json.items).toEqual([body])

    if (isAddressable) {
      expect((await send('PATCH', path, { note: null, tags: [] })).json).toEqual({
        ...body,
        note: null,
        tags: [],
      })
    }
    const across = await app.request('POST', '/api/batch', {
      token,
      body: { operations: [{ table: 'item', method: 'delete', id: value }] },
    })
    expect([across.status, across.json]).toEqual([200, [{ index: 0, status: 204 }]])
    expect(await app.sql('select * from item')).toEqual([])
  })

  test('as the key of the last row of a page', async () => {
    const tuples = values.map((value, index) => ({ key: value, n: index % 3 }))
    await app.sql(
      'insert into item (key, n) select key, n from jsonb_to_recordset($1) as x (key text, n int)',
      [JSON.stringify(tuples)],
    )
    try {
      const found: string[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const page = await send('GET', `item${query({ sort: '-n', fields: 'key', perPage: '1', cursor })}`)
        expect(page.status, page.text).toBe(200)
        found.push(page.json.items[0].key)
        cursor = page.json.nextCursor
      }
      expect(found.toSorted()).toEqual(values.toSorted())
    } finally {
      await app.sql('delete from item')
    }
  })

  test.each(values)('in the claims of a token: %j', async (value) => {
    await app.sql('delete from owned')
    await app.sql(`insert into owned values (1, $1, $2), (2, $1, 'x'), (3, 'x', $2)`, [alice, value])
    const response = await app.request('GET', '/api/collections/owned', {
      token: userToken({ sub: alice, email: value }),
    })
    expect(response.json.items).toEqual([{ id: 1, owner: alice, email: value }])
  })

  test.each(values.filter((value) => /^[\x20-\x7e]+$/.test(value)))('in a header: %j', async (value) => {
    for (const name of ['x-request-id', 'user-agent', 'referer', 'x-forwarded-for', 'accept', 'cookie']) {
      const response = await app.request('GET', '/api/collections/canary', {
        token,
        headers: { [name]: value },
      })
      expect([response.status, response.json.items]).toEqual([200, [{ id: 1, label: 'alive' }]])
    }
    const refused = await app.request('GET', '/api/collections/canary', {
      headers: { authorization: `Bearer ${value}` },
    })
    expect(refused.status).toBe(401)
  })
})
