import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { alice, library, notes } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

/** Unusual names: blanks, quotes, slashes, braces, letters of the world, words of SQL and JavaScript. */
const oddNames = [
  ...[
    'two words',
    "it's",
    'say "x"',
    'a/b',
    '{id}',
    'größe',
    '表',
    '🦊',
    'select',
    'batch',
    '__proto__',
    'a%2Fb',
  ],
  ...['constructor', '~1', 'a b', 'a_b', '#', '?'],
]

const setup = `
${library}
${notes}
create type mood as enum ('sad', 'glad');
create domain email_address as text check (value ~ '@');
create table everything (
  id uuid primary key default gen_random_uuid(),
  small int2 not null, whole int4, big int8 generated always as identity, exact numeric(10,2), approximate float8,
  yes boolean not null, day date, clock time, zoned timetz, local timestamp, instant timestamptz not null default now(),
  span interval, raw bytea, doc jsonb not null, mood mood, moods mood[], tags text[] not null default '{}',
  short varchar(5), email email_address, twice int4 generated always as (whole * 2) stored
);
comment on column everything.exact is 'In euros';
create view glad as select id, mood from everything where mood = 'glad';
create table numbers (id int primary key, n int);
create table hidden (id int primary key, secret text);
revoke all on hidden from basalt_authenticated;
create table half (id int primary key, shown text, concealed text);
revoke all on half from basalt_authenticated;
grant select (id, shown), insert (shown) on half to basalt_authenticated;
create table keyless (a int);
${oddNames.map((name) => `create table "${name.replaceAll('"', '""')}" (id int primary key, "${name.replaceAll('"', '""')}" text not null);`).join('\n')}
`

let app: TestApp
let admin: string
const user = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup, config: { 'database.schemas': 'public,archive' } })
  admin = await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

// biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
async function read(token?: string): Promise<any> {
  const response = await app.request('GET', '/api/openapi.json', { token })
  expect(response.status).toBe(200)
  return response.json
}

describe('GET /api/openapi.yaml', () => {
  test.each([
    ['an administrator', () => admin],
    ['a user', () => user],
    ['a client without a token', () => undefined],
  ])('is the document in JSON for %s, with a tag of its own', async (_, token) => {
    const response = await app.request('GET', '/api/openapi.yaml', { token: token() })
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/yaml; charset=utf-8',
    ])
    expect(parse(response.text, { maxAliasCount: 0 })).toEqual(await read(token()))
    const etag = response.headers.get('etag') ?? ''
    const again = await app.request('GET', '/api/openapi.yaml', {
      token: token(),
      headers: { 'if-none-match': etag },
    })
    expect([again.status, again.text]).toEqual([304, ''])
    const json = await app.request('GET', '/api/openapi.json', { token: token() })
    expect(json.headers.get('etag')).not.toBe(etag)
  })
})

/** Returns the parameter names of an operation. */
// biome-ignore lint/suspicious/noExplicitAny: the document is plain JSON
function parametersOf({ components }: any, { parameters }: any): string[] {
  return parameters.map(({ $ref, name }: { $ref?: string; name?: string }) =>
    $ref === undefined ? name : components.parameters[$ref.replace('#/components/parameters/', '')].name,
  )
}

// biome-ignore lint/suspicious/noExplicitAny: the document is plain JSON
function described(document: any): string[] {
  return Object.keys(document.paths).filter((path) => /^\/api\/collections\/[^/{]+$/.test(path))
}

describe('GET /api/openapi.json', () => {
  test('names no table without a token', async () => {
    const document = await read()
    expect(described(document)).toEqual([])
    expect(JSON.stringify(document)).not.toMatch(/everything|keyless|collections\/hidden|archive\.report/)
    expect(Object.keys(document.paths)).toContain('/api/collections/{table}')
  })

  test('describes objects with privileges to a user, and everything to an administrator', async () => {
    const [forUser, forAdmin] = [await read(user), await read(admin)]
    expect(described(forUser)).toContain('/api/collections/everything')
    expect(described(forUser)).not.toContain('/api/collections/hidden')
    expect(described(forAdmin)).toEqual(
      expect.arrayContaining(['/api/collections/hidden', '/api/collections/archive.report']),
    )
    expect(forUser.servers).toEqual([{ url: app.url }])

    const half = forUser.components.schemas.Half
    expect(Object.keys(half.properties)).toEqual(['id', 'shown'])
    expect(JSON.stringify(forUser)).not.toMatch(/"concealed"|Hidden/)
    expect(Object.keys(forUser.paths['/api/collections/half'])).toEqual(['get', 'post'])
    expect(Object.keys(forUser.paths['/api/collections/half/{id}'])).toEqual(['parameters', 'get'])
    expect(Object.keys(forAdmin.components.schemas.Half.properties)).toEqual(['id', 'shown', 'concealed'])
  })

  test('rejects an invalid token', async () => {
    expect((await app.request('GET', '/api/openapi.json', { token: 'x' })).status).toBe(401)
  })

  test.each([
    ['an anonymous caller', () => undefined],
    ['a user', () => user],
    ['an administrator', () => admin],
  ])('is valid OpenAPI 3.1 for %s, whatever the names of tables', async (_who, token) => {
    const document = await read(token())
    const result = await new Validator().validate(document)
    expect(result).toEqual({ valid: true })
    const names = Object.values<Record<string, { operationId?: string }>>(document.paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId }) => operationId ?? []),
    )
    expect(new Set(names).size).toBe(names.length)
    // Every reference has a target.
    for (const [, target = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)) {
      const [kind = '', name = ''] = target.split('/')
      expect([target, Object.hasOwn(document.components[kind], name)]).toEqual([target, true])
    }
  })

  test.each(oddNames)('describes the path of the table %s', async (name) => {
    const { paths } = await read(admin)
    const path = `/api/collections/${encodeURIComponent(name)}`
    expect(Object.keys(paths)).toEqual(expect.arrayContaining([path, `${path}/{id}`, `${path}/batch`]))
    const created = await app.request('POST', path, { token: admin, body: { id: 1, [name]: 'x' } })
    expect([created.status, created.json]).toEqual([201, { id: 1, [name]: 'x' }])
    expect((await app.request('GET', `${path}/1`, { token: admin })).status).toBe(200)
  })

  test('types columns by the catalog', async () => {
    const { schemas } = (await read(admin)).components
    const { properties, required } = schemas.Everything
    expect(properties).toEqual({
      id: { type: 'string', format: 'uuid' },
      small: { type: 'integer', minimum: -32_768, maximum: 32_767 },
      whole: { type: ['integer', 'null'], format: 'int32' },
      big: { type: 'integer', format: 'int64', readOnly: true },
      exact: { type: ['number', 'null'], description: 'In euros' },
      approximate: { type: ['number', 'null'], format: 'double' },
      yes: { type: 'boolean' },
      day: { type: ['string', 'null'], format: 'date' },
      clock: { type: ['string', 'null'], format: 'time-local' },
      zoned: { type: ['string', 'null'], format: 'time' },
      local: { type: ['string', 'null'], format: 'date-time-local' },
      instant: { type: 'string', format: 'date-time' },
      span: { type: ['string', 'null'], format: 'duration' },
      raw: { type: ['string', 'null'], pattern: '^\\\\x([0-9A-Fa-f]{2})*$' },
      doc: {},
      mood: { type: ['string', 'null'], enum: ['sad', 'glad', null] },
      moods: { type: ['array', 'null'], items: { type: 'string', enum: ['sad', 'glad'] } },
      tags: { type: 'array', items: { type: 'string' } },
      short: { type: ['string', 'null'], maxLength: 5 },
      email: { type: ['string', 'null'] },
      twice: { type: ['integer', 'null'], format: 'int32', readOnly: true },
    })
    expect(required).toEqual(Object.keys(properties))
    const create = schemas.EverythingCreate
    expect(create.required).toEqual(['small', 'yes', 'doc'])
    expect(Object.keys(create.properties)).not.toEqual(expect.arrayContaining(['big']))
    expect(Object.keys(create.properties)).not.toEqual(expect.arrayContaining(['twice']))
    expect(schemas.EverythingUpdate).not.toHaveProperty('required')
  })

  test('describes the operations that the API allows on each relation', async () => {
    const { paths, components } = await read(admin)
    expect(Object.keys(paths['/api/collections/glad'])).toEqual(['get'])
    expect(paths).not.toHaveProperty(['/api/collections/glad/batch'])
    expect(paths).not.toHaveProperty(['/api/collections/glad/{id}'])
    expect(Object.keys(paths['/api/collections/keyless'])).toEqual(['get', 'post', 'patch', 'delete'])
    const ofDelete = parametersOf({ components }, paths['/api/collections/keyless'].delete)
    expect(ofDelete).toEqual(['filter', 'expect', 'return', 'fields', 'idempotency-key'])
    expect(paths).not.toHaveProperty(['/api/collections/keyless/{id}'])
    const [id] = paths['/api/collections/placement/{id}'].parameters
    expect(id).toMatchObject({ name: 'id', in: 'path', required: true, schema: { type: 'string' } })
    expect(id.description).toContain('`book_id`, `room`, `number`')
    const parameters = paths['/api/collections/book'].get.parameters
    expect(parameters.find(({ name }: { name?: string }) => name === 'expand').description).toContain(
      '`author`',
    )
  })

  test('names the parameters that the columns of each table make possible', async () => {
    const { paths, components } = await read(admin)
    const namesOf = (table: string) =>
      parametersOf({ components }, paths[`/api/collections/${table}`].get).filter((name) => name !== 'expand')
    const counted = ['facets', 'disjunctiveFacets']
    const ofAll = ['filter', 'sort', 'page', 'perPage', 'cursor', 'skipTotal', 'total', 'fields', ...counted]
    const searched = ['search', 'fuzzy', 'typo_threshold', 'highlight']
    expect(namesOf('numbers').toSorted()).toEqual(ofAll.toSorted())
    expect(namesOf('everything').toSorted()).toEqual([...ofAll, ...searched].toSorted())
  })

  test('refers to the types of the table in every operation', async () => {
    const { paths } = await read(admin)
    const { get, post, patch, delete: remove } = paths['/api/collections/numbers']
    expect([get, post, patch, remove].map(({ operationId }) => operationId)).toEqual([
      'numbers.list',
      'numbers.create',
      'numbers.updateAll',
      'numbers.deleteAll',
    ])
    const schemaOf = ({ content }: { content: Record<string, { schema: object }> }) =>
      content['application/json']?.schema
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    expect(schemaOf(get.responses[200])).toEqual(ref('NumbersPage'))
    expect(schemaOf(post.requestBody)).toEqual(ref('NumbersCreate'))
    expect(schemaOf(post.responses[201])).toEqual(ref('Numbers'))
    expect(schemaOf(patch.requestBody)).toEqual(ref('NumbersUpdate'))
    expect(schemaOf(patch.responses[200])).toEqual(ref('NumbersUpdateResult'))
    expect(schemaOf(remove.responses[200])).toEqual(ref('NumbersDeleteResult'))
    const one = paths['/api/collections/numbers/{id}']
    expect(schemaOf(one.get.responses[200])).toEqual(ref('Numbers'))
    expect(schemaOf(one.patch.requestBody)).toEqual(ref('NumbersUpdate'))
    expect(schemaOf(paths['/api/collections/numbers/batch'].post.requestBody)).toEqual(ref('NumbersBatch'))
  })

  test('is the generated document with only the tables of the caller', async () => {
    const file = new URL('../../../../../../../docs/generated/openapi.json', import.meta.url)
    const generated = JSON.parse(readFileSync(file, 'utf8'))
    for (const token of [undefined, user, admin]) {
      const served = await read(token)
      const isTable = (path: string) => /^\/api\/collections\/[^{/]/.test(path)
      const tables = new Set<string>()
      for (const [path, methods] of Object.entries<Record<string, { tags?: string[] }>>(served.paths)) {
        if (!isTable(path)) continue
        for (const { tags = [] } of Object.values(methods)) for (const tag of tags) tables.add(tag)
        delete served.paths[path]
      }
      served.tags = served.tags.filter(({ name }: { name: string }) => !tables.has(name))
      const added = Object.keys(served.components.schemas).filter(
        (name) => !(name in generated.components.schemas),
      )
      for (const name of added) delete served.components.schemas[name]
      expect(served.servers).toEqual([{ url: app.url }])
      expect({ ...served, servers: generated.servers }).toEqual(generated)
      expect(added.length > 0, String(token)).toBe(token !== undefined)
      const ofTables = /^[A-Z]\w*?(Create|Update|Page|UpdateResult|DeleteResult|Batch)?$/
      for (const name of added) {
        const [, suffix = ''] = ofTables.exec(name) ?? []
        expect(added).toContain(name.slice(0, name.length - suffix.length))
      }
    }
  })

  test('matches real records', async () => {
    const { components } = await read(admin)
    const body = {
      ...{
        small: 1,
        whole: 2,
        exact: 1.5,
        approximate: 0.5,
        yes: true,
        day: '2026-01-02',
        clock: '10:00:00',
      },
      ...{ instant: '2026-01-02T03:04:05Z', span: 'P1D', raw: '\\x00ff', doc: [1], mood: 'glad' },
      ...{ moods: ['sad'], tags: ['a'], short: 'abc', email: 'a@b' },
    }
    const created = await app.request('POST', '/api/collections/everything', { token: admin, body })
    expect([created.status, created.text]).toEqual([201, expect.any(String)])
    const bare = { small: 1, yes: false, doc: {} }
    const second = await app.request('POST', '/api/collections/everything', { token: admin, body: bare })
    const record = Compile(components.schemas.Everything)
    for (const { json } of [created, second]) expect([...record.Errors(json)]).toEqual([])
    const sent = Compile(components.schemas.EverythingCreate)
    for (const each of [body, bare]) expect([...sent.Errors(each)]).toEqual([])
  })

  test('is created again when tables change, and 304 for a client that has it', async () => {
    const first = await app.request('GET', '/api/openapi.json', { token: user })
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]{43}-gzip"$/)
    expect(first.headers.get('cache-control')).toBe('private, no-cache')
    expect(first.headers.get('vary')).toContain('Authorization')
    const fetchDocument = (ifNoneMatch: string, token?: string) =>
      app.request('GET', '/api/openapi.json', { token, headers: { 'if-none-match': ifNoneMatch } })
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`]) {
      const again = await fetchDocument(known, user)
      expect([known, again.status, again.text, again.headers.get('etag')]).toEqual([known, 304, '', etag])
    }
    expect((await fetchDocument(etag, admin)).status).toBe(200)
    expect((await fetchDocument(etag)).status).toBe(200)
    expect((await fetchDocument('"x"', user)).status).toBe(200)
    await app.sql('create table later (id int primary key)')
    const changed = await fetchDocument(etag, user)
    expect(changed.status).toBe(200)
    expect(described(changed.json)).toContain('/api/collections/later')
  })
})

describe('GET /api/openapi.json while auth.enabled is false', () => {
  test('describes everything to all callers, whatever the token', async () => {
    await using open = await createTestApp({ setup: notes, config: { 'auth.enabled': 'false' } })
    for (const token of [undefined, 'stale']) {
      const response = await open.request('GET', '/api/openapi.json', { token })
      expect([response.status, described(response.json)]).toEqual([200, ['/api/collections/note']])
    }
  })
})

describe('GET /api/openapi.json with many tables', () => {
  test('describes a thousand of them and reports that there are more', async () => {
    await using many = await createTestApp({
      setup: `do $$ begin for i in 1..1003 loop
        execute format('create table t%s (id int primary key, name text not null, at timestamptz)', i);
      end loop; end $$`,
    })
    const token = await many.adminToken()
    const response = await many.request('GET', '/api/openapi.json', { token })
    expect([response.status, described(response.json).length]).toEqual([200, 1000])
    expect(response.json.info.description).toContain('3 more collections')
    expect(response.text.length).toBeLessThan(9 * 1024 * 1024)
  }, 120_000)
})
