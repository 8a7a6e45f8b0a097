import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

let database: ExtensionDatabase
let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  database = await createExtensionDatabase('vector')
  app = await createTestApp({
    database,
    config: database.config,
    setup: `
      create extension vector;
      create table note (id int primary key, embedding vector(3), half halfvec(2), several vector[]);`,
  })
}, extensionSetupMs)
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

function send(method: string, path: string, body?: unknown) {
  return app.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

describe('vectors', () => {
  test('round-trip as lists', async () => {
    const body = {
      id: 1,
      embedding: [1, 2.5, -3],
      half: [0.5, 1],
      several: [
        [1, 2, 3],
        [4, 5, 6],
      ],
    }
    const created = await send('POST', 'note', body)
    expect(created.json, created.text).toEqual(body)
    expect((await send('GET', 'note/1')).json).toEqual(body)
    expect((await send('PATCH', 'note/1', created.json)).json).toEqual(body)
    const found = await send('GET', `note?filter=${encodeURIComponent("embedding = '[1,2.5,-3]'")}`)
    expect(found.json.items).toEqual([body])
    const { json } = await app.request('GET', '/api/schema', { token })
    expect(json.tables['public.note'].columns[1]).toMatchObject({
      jsonType: 'array',
      isVector: true,
      vectorDim: 3,
    })
  })

  test('are lists in the arguments and results of functions', async () => {
    await app.sql(`create function doubled(v vector) returns vector language sql immutable as 'select v + v';
      create function pairs(v vector) returns table (v vector, n int) language sql immutable as 'select v, 1'`)
    const rpc = (name: string, v: unknown) => app.request('POST', `/api/rpc/${name}`, { token, body: { v } })
    expect((await rpc('doubled', [1, 2.5])).json).toEqual([2, 5])
    expect((await rpc('pairs', [1, 2])).json).toEqual([{ v: [1, 2], n: 1 }])
    expect((await app.request('GET', '/api/rpc/doubled?v=[1,2]', { token })).json).toEqual([2, 4])
    expect((await rpc('doubled', 'x')).status).toBe(400)
  })

  test.each([[[1, 2]], [['a', 1, 2]], [5], [{ a: 1 }], ['x']])(
    'are rejected with 400 when they do not fit: %j',
    async (embedding) => {
      const response = await send('POST', 'note', { id: 2, embedding })
      expect(response.status, response.text).toBe(400)
    },
  )
})
