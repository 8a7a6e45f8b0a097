import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionEngine,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let database: ExtensionDatabase
let app: TestApp
let other: TestApp
let token: string

beforeAll(async () => {
  database = await createExtensionDatabase('vector')
  const config = { ...database.config, 'database.schemas': 'public,shop' }
  app = await createTestApp({
    database,
    config,
    setup: `
      create schema extensions;
      create extension vector schema extensions;
      create schema shop;
      set local search_path = public, extensions;
      create table note (
        id int primary key, title text, embedding vector(3), half halfvec(3), sparse sparsevec(9), loose vector,
        long vector(2001)
      );
      insert into note values (1, 'one', '[1,0,0]', '[1,0,0]', '{1:1}/9', '[1,2]');
      create table shop.item (id int primary key, embedding vector(3));
      create index plain on note (title);
      create view shown as select * from note;`,
  })
  other = await createTestApp({ database, config })
  token = await app.adminToken()
}, extensionSetupMs)
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})
afterEach(async () => {
  for (const { name, schema } of (await send('GET')).json.indexes) {
    await send('DELETE', `/${encodeURIComponent(name)}?schema=${schema}`)
  }
  await database.sql('delete from basalt.vector_index_build')
})

function send(method: string, path = '', body?: unknown, node = app) {
  const options = { token, ...(body === undefined ? {} : { body }) }
  return node.request(method, `/api/admin/vector/indexes${path}`, options)
}

const hnsw = { table: 'note', column: 'embedding', method: 'hnsw', metric: 'cosine' }

describe(`vector indexes on ${extensionEngine}`, () => {
  test('are built, listed and deleted', async () => {
    const created = await send('POST', '', hnsw)
    expect(created.status, created.text).toBe(201)
    expect(created.json).toEqual({
      index_name: 'idx_note_embedding_hnsw',
      method: 'hnsw',
      metric: 'cosine',
      table: 'note',
      column: 'embedding',
    })
    expect((await send('GET')).json).toEqual({
      indexes: [
        {
          name: 'idx_note_embedding_hnsw',
          schema: 'public',
          table: 'note',
          method: 'hnsw',
          definition: expect.stringContaining('USING hnsw (embedding extensions.vector_cosine_ops)'),
          column: 'embedding',
          metric: 'cosine',
          valid: true,
          sizeBytes: expect.any(Number),
        },
      ],
    })
    const deleted = await send('DELETE', '/idx_note_embedding_hnsw')
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expect((await send('GET')).json).toEqual({ indexes: [] })
    expect(
      await database.sql(
        "select action, target, detail from basalt.audit where action like 'vector%' order by happened_at",
      ),
    ).toEqual([
      {
        action: 'vector_indexes.create',
        target: 'idx_note_embedding_hnsw',
        detail: { method: 'hnsw', metric: 'cosine', table: 'note', column: 'embedding' },
      },
      {
        action: 'vector_indexes.delete',
        target: 'idx_note_embedding_hnsw',
        detail: { schema: 'public', table: 'note' },
      },
    ])
  })

  test.each([
    [{ method: 'hnsw', metric: 'l2', column: 'half' }, 'halfvec_l2_ops', 'idx_note_half_hnsw'],
    [
      { method: 'hnsw', metric: 'inner_product', column: 'sparse' },
      'sparsevec_ip_ops',
      'idx_note_sparse_hnsw',
    ],
    [{ method: 'ivfflat', lists: 1, index_name: 'Odd "name"' }, 'vector_cosine_ops', 'Odd "name"'],
    [{ m: 8, ef_construction: 32 }, 'vector_cosine_ops', 'idx_note_embedding_hnsw'],
    [{ table: 'item', schema: 'shop' }, 'vector_cosine_ops', 'idx_item_embedding_hnsw'],
  ])('use the operators of the column and the metric: %j', async (fields, operators, name) => {
    const created = await send('POST', '', { ...hnsw, ...fields })
    expect(created.status, created.text).toBe(201)
    expect(created.json.index_name).toBe(name)
    const { indexes } = (await send('GET')).json
    expect(indexes).toHaveLength(1)
    expect(indexes[0].definition).toContain(`extensions.${operators}`)
    for (const option of ['lists', 'm', 'ef_construction'].filter((each) => each in fields)) {
      expect(indexes[0].definition).toContain(`${option}=`)
    }
  })

  test.each([
    [{}, 'missing required fields: table, column, method, metric'],
    [{ table: 'note', column: '', method: 'hnsw' }, 'missing required fields: column, metric'],
    [{ ...hnsw, table: 'nope' }, 'table "nope" not found'],
    [{ ...hnsw, schema: 'basalt', table: 'audit' }, 'table "audit" not found'],
    [{ ...hnsw, table: 'shown' }, 'table "shown" not found'],
    [{ ...hnsw, column: 'nope' }, 'column "nope" not found in table "note"'],
    [{ ...hnsw, column: 'title' }, 'column "title" is not a vector column (type: text)'],
    [{ ...hnsw, method: 'btree' }, 'unsupported index method "btree"; valid: hnsw, ivfflat'],
    [{ ...hnsw, metric: 'x' }, 'unsupported distance metric "x"; valid: cosine, l2, inner_product'],
    [{ ...hnsw, lists: 10 }, 'lists: not a parameter of hnsw'],
    [{ ...hnsw, m: 1 }, 'm: expected an integer from 2 to 100'],
    [{ ...hnsw, method: 'ivfflat', lists: 1.5 }, 'lists: expected an integer from 1 to 32768'],
    [
      { ...hnsw, method: 'ivfflat', column: 'sparse' },
      'method: ivfflat does not support sparsevec; expected hnsw',
    ],
    [{ ...hnsw, index_name: 'x'.repeat(64) }, 'index_name: expected a name of at most 63 bytes'],
    [{ ...hnsw, column: 'loose' }, 'failed to create index: column does not have dimensions'],
    [
      { ...hnsw, column: 'long' },
      'failed to create index: column cannot have more than 2000 dimensions for hnsw index',
    ],
  ])('return 400 for %j, and nothing remains', async (body, message) => {
    const response = await send('POST', '', body)
    expect([response.status, response.json.message]).toEqual([400, message])
    expect((await send('GET')).json).toEqual({ indexes: [] })
  })

  test('are built once for concurrent requests on all nodes', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => send('POST', '', hnsw, index % 2 === 0 ? app : other)),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(9).fill(409)])
    expect((await send('GET')).json.indexes).toHaveLength(1)
    const again = await send('POST', '', hnsw)
    expect(envelope(again)).toEqual({
      code: 409,
      error: 'vector_index_exists',
      message: 'index "idx_note_embedding_hnsw" already exists',
    })
    expect((await send('POST', '', { ...hnsw, index_name: 'plain' })).status).toBe(409)
  })

  test('wait for the build of another node to end or to die', async () => {
    await database.sql(
      "insert into basalt.vector_index_build (holder, leased_until) values (gen_random_uuid(), now() + interval '1 hour')",
    )
    expect(envelope(await send('POST', '', hnsw))).toEqual({
      code: 409,
      error: 'index_build_in_progress',
      message: 'another index build is already in progress',
    })
    await database.sql("update basalt.vector_index_build set leased_until = now() - interval '1 s'")
    expect((await send('POST', '', hnsw)).status).toBe(201)
    expect(await database.sql('select from basalt.vector_index_build')).toEqual([])
  })

  test('replace an interrupted build', async () => {
    await send('POST', '', hnsw)
    await database.sql(`
      begin; set local allow_system_table_mods = on;
      update pg_index set indisvalid = false where indexrelid = 'idx_note_embedding_hnsw'::regclass; commit`)
    expect((await send('GET')).json.indexes[0].valid).toBe(false)
    expect((await send('POST', '', hnsw)).status).toBe(201)
    expect((await send('GET')).json.indexes[0].valid).toBe(true)
  })

  test.each(['/plain', '/note_pkey', '/nope', '/idx_note_embedding_hnsw?schema=basalt'])(
    'cannot be deleted when they are not of pgvector: %s',
    async (path) => {
      const response = await send('DELETE', path)
      expect(envelope(response)).toMatchObject({ code: 404, error: 'vector_index_not_found' })
    },
  )

  test('require an administrator', async () => {
    const user = userToken({ sub: alice })
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['DELETE', '/plain'],
    ] as const) {
      const body = method === 'POST' ? { body: hnsw } : {}
      const options = { token: user, ...body }
      expect((await app.request(method, `/api/admin/vector/indexes${path}`, options)).status).toBe(401)
    }
  })
})
