import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExtensionDatabase, type ExtensionDatabase } from '../../../../../test/extension-database.ts'
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
}, 120_000)
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

function send(method: string, path: string, body?: unknown) {
  return app.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

describe('vectors', () => {
  test('go in and out as lists', async () => {
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

  test.each([[[1, 2]], [['a', 1, 2]], [5], [{ a: 1 }], ['x']])(
    'that do not fit are 400: %j',
    async (embedding) => {
      const response = await send('POST', 'note', { id: 2, embedding })
      expect(response.status, response.text).toBe(400)
    },
  )
})
