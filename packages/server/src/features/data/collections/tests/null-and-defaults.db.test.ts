import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

const setup = `
  create domain label as text not null;
  create domain short_label as label check (length(value) < 10);
  create domain score as int default 7;
  create domain rating as score not null;
  create table counter (id int generated always as identity primary key, note text, at timestamptz not null default now());
  create table badge (id serial primary key, title short_label, rating rating);
  create table plain (id int primary key, note text);
  create view badges as select b.* from plain left join badge b using (id);
  create table doc (id int primary key, j jsonb, raw json, with_default jsonb default '{}', tags text[]);
  create table odd (id int primary key, j jsonb, "_jsonNull" text);
  create table copy (like doc including all);`

const token = userToken({ sub: alice })
let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup })
})
afterAll(() => app[Symbol.asyncDispose]())

function send(method: string, path: string, body?: unknown, type?: string) {
  const headers = type === undefined ? {} : { 'content-type': type }
  return app.request(method, `/api/${path}`, { token, ...(body === undefined ? {} : { body }), headers })
}

describe('record of defaults', () => {
  beforeEach(() => app.sql('truncate counter restart identity'))

  test('is created from {} when every required column has one, alone, in a batch and in an import', async () => {
    const first = await send('POST', 'collections/counter', {})
    expect([first.status, first.json]).toEqual([201, { id: 1, note: null, at: expect.any(String) }])
    const chosen = await send('POST', 'collections/counter?fields=id', { expand: {}, _local: 1 })
    expect([chosen.status, chosen.json]).toEqual([201, { id: 2 }])
    const create = (body: unknown) => ({ method: 'create', body })
    const batch = await send('POST', 'collections/counter/batch', {
      operations: [create({}), create({ _: 'x' }), create({ note: 'n' }), create({})],
    })
    expect([batch.status, batch.json.map(({ body }: { body: { id: number } }) => body.id)]).toEqual([
      200,
      [3, 4, 5, 6],
    ])
    const imported = await send('POST', 'collections/counter/import', [{}, { note: 'm' }, { _x: 1 }])
    expect([imported.status, imported.json]).toMatchObject([200, { processed: 3, inserted: 3, failed: 0 }])
    expect(await app.sql('select id, note from counter order by id')).toEqual(
      [null, null, null, null, 'n', null, null, 'm', null]
        .map((note, index) => ({ id: index + 1, note }))
        // The import writes its rows by their column sets.
        .map((row) => (row.id > 6 ? expect.anything() : row)),
    )
  })

  test.each(['plain', 'badge'])('is rejected where a column has none: %s', async (table) => {
    const refused = await send('POST', `collections/${table}`, {})
    expect([refused.status, envelope(refused)]).toEqual([
      400,
      { code: 400, message: 'no recognized columns in request body', error: 'no_recognized_columns' },
    ])
  })

  test('requires the key of an upsert, and is no update', async () => {
    const upsert = await send('POST', 'collections/counter?onConflict=id', {})
    expect([upsert.status, upsert.json.message]).toEqual([
      400,
      'onConflict: expected a value for "id" in the request body',
    ])
    await send('POST', 'collections/counter', {})
    expect((await send('PATCH', 'collections/counter/1', {})).status).toBe(400)
  })
})

describe('domain', () => {
  test('makes its column required when it rejects NULL, or is made of one, in the schema and the reference', async () => {
    const { columns } = (await send('GET', 'schema')).json.tables['public.badge']
    const nullable = columns.map((each: Record<string, unknown>) => [each.name, each.nullable])
    expect(nullable).toEqual([
      ['id', false],
      ['title', false],
      ['rating', false],
    ])
    const view = (await send('GET', 'schema')).json.tables['public.badges']
    expect(view.columns.every((each: { nullable: boolean }) => each.nullable)).toBe(true)
    const { components } = (await send('GET', 'openapi.json')).json
    const create = Object.entries<{ required?: string[] }>(components.schemas).find(([name]) =>
      /badge.*(create|new|insert)/i.test(name),
    )
    expect(create?.[1].required).toEqual(['title'])
    const made = await send('POST', 'collections/badge', { title: 'x' })
    expect([made.status, made.json]).toEqual([201, { id: expect.any(Number), title: 'x', rating: 7 }])
    const missing = await send('POST', 'collections/badge', { rating: 1 })
    expect(missing.status).toBe(400)
  })
})

describe('JSON null', () => {
  const rows = `
    (1, 'null', 'null', 'null', null),
    (2, null, null, null, '{a}'),
    (3, '{"a": null}', ' null ', '[null]', null),
    (4, '"null"', '"x"', '{}', null)`
  const stored = (table: string) =>
    app.sql(`select id, j::text, raw::text, with_default::text, tags from ${table} order by id`)

  beforeEach(() => app.sql(`truncate doc, copy; insert into doc values ${rows}`))

  test.each([
    ['csv', 'text/csv'],
    ['json', 'application/json'],
    ['ndjson', 'application/x-ndjson'],
  ])('survives an export and an import as %s, and so does NULL', async (format, type) => {
    const exported = await send('GET', `collections/doc/export.${format}?sort=id`)
    const imported = await send('POST', 'collections/copy/import', exported.text, type)
    expect([imported.status, imported.json]).toMatchObject([200, { inserted: 4, failed: 0 }])
    const expected = (await stored('doc')).map((row) => ({ ...row, raw: row.raw?.trim() ?? null }))
    expect((await stored('copy')).map((row) => ({ ...row, raw: row.raw?.trim() ?? null }))).toEqual(expected)
    // The second import updates the existing rows.
    await app.sql('update copy set j = null, raw = null')
    const updated = await send('POST', 'collections/copy/import?on_conflict=update', exported.text, type)
    expect(updated.json).toMatchObject({ updated: 4 })
    expect((await stored('copy')).map((row) => ({ ...row, raw: row.raw?.trim() ?? null }))).toEqual(expected)
  })

  test('is null in CSV, and named beside the record in JSON, which other readers ignore', async () => {
    expect((await send('GET', 'collections/doc/export.csv?fields=id,j&sort=id')).text).toBe(
      'id,j\n1,null\n2,\n3,"{""a"": null}"\n4,"""null"""\n',
    )
    expect((await send('GET', 'collections/doc/export.json?sort=id&fields=id,j,with_default')).json).toEqual([
      { id: 1, j: null, with_default: null, _jsonNull: ['j', 'with_default'] },
      { id: 2, j: null, with_default: null },
      { id: 3, j: { a: null }, with_default: [null] },
      { id: 4, j: 'null', with_default: {} },
    ])
    // A null by itself is NULL, as in a create.
    await send('POST', 'collections/copy/import', [
      { id: 9, j: null },
      { id: 10, j: null, _jsonNull: 7 },
    ])
    expect(await app.sql('select id, j is null as absent from copy order by id')).toEqual([
      { id: 9, absent: true },
      { id: 10, absent: true },
    ])
  })

  test('leaves a column that has the name of the member to its table', async () => {
    await app.sql(`truncate odd; insert into odd values (1, 'null', 'mine')`)
    const { text } = await send('GET', 'collections/odd/export.json')
    expect(text).toBe('[{"id":1,"j":null,"_jsonNull":"mine"}\n]')
    await app.sql('truncate odd')
    expect((await send('POST', 'collections/odd/import', text)).json).toMatchObject({ inserted: 1 })
    expect(await app.sql('select * from odd')).toEqual([{ id: 1, j: null, _jsonNull: 'mine' }])
  })
})
