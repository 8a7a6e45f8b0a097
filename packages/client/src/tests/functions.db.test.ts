import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generateTypes } from '../../../server/src/features/data/types/index.ts'
import { alice, notes } from '../../../server/test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../server/test/functions-folder.ts'
import { createTestApp, type TestApp, userToken } from '../../../server/test/test-app.ts'
import { type BasaltError, createClient } from '../index.ts'
import type { Database } from './functions-database.ts'
import { typed } from './typed.ts'

const functions = `
  import { FunctionError, route } from '@basaltdb/functions'
  const members = (required, properties) => ({ type: 'object', required, properties })
  const text = { type: 'string' }
  const Order = members(['quantity'], { quantity: { type: 'integer', minimum: 1 }, note: text })
  const Placed = members(['shop', 'quantity', 'key'], { shop: text, quantity: { type: 'integer' }, key: { type: ['string', 'null'] } })
  export const place = route('POST /shops/:shop/orders', { access: 'user', input: Order, output: Placed }, (ctx, input) => {
    if (input.quantity > 9) throw new FunctionError(409, 'not enough in stock', { error: 'out_of_stock', data: { most: 9 } })
    return { shop: ctx.params.shop, quantity: input.quantity, key: ctx.request.headers['idempotency-key'] ?? null }
  })
  const Search = members([], { limit: { type: 'integer' }, tags: { type: 'array', items: text } })
  export const search = route('GET /search', { access: 'user', input: Search }, (_ctx, input) => input)
  export const remove = route('DELETE /shops/:shop', { access: 'user' }, () => {})
`

let app: TestApp
let folder: FunctionsFolder
const token = userToken({ sub: alice })

beforeAll(async () => {
  folder = makeFunctionsFolder({ 'shop.ts': functions })
  app = await createTestApp({ setup: notes, config: { 'functions.folder': folder.path } })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const open = (fetch?: typeof globalThis.fetch) =>
  createClient<Database>({ url: app.url, auth: token, ...(fetch === undefined ? {} : { fetch }) })

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: BasaltError) => error,
  )

describe('functions of the typed client', () => {
  test('call › sends parameters and input, and returns the typed result', async () => {
    const placed = await open().functions.call('POST /shops/:shop/orders', {
      params: { shop: 'a/b ü' },
      input: { quantity: 2 },
    })
    typed<{ shop: string; quantity: number; key: string | null }>()(placed)
    expect(placed).toEqual({ shop: 'a/b ü', quantity: 2, key: null })
  })

  test('call › sends the input of GET as a query', async () => {
    const client = open()
    const found = await client.functions.call('GET /search', { input: { limit: 3, tags: ['a', 'b c'] } })
    typed<unknown>()(found)
    expect(found).toEqual({ limit: 3, tags: ['a', 'b c'] })
    expect(await client.functions.call('GET /search', { input: { tags: ['one'] } })).toEqual({
      tags: ['one'],
    })
    expect(await client.functions.call('GET /search')).toEqual({})
    expect(await client.functions.call('DELETE /shops/:shop', { params: { shop: 1 } })).toBeUndefined()
  })

  test('call › rejects with the error of the function or of the server', async () => {
    const { functions: own } = open()
    const call = (quantity: number) =>
      own.call('POST /shops/:shop/orders', { params: { shop: 'x' }, input: { quantity } })
    expect(await refusal(call(10))).toMatchObject({ status: 409, error: 'out_of_stock', data: { most: 9 } })
    expect(await refusal(call(0))).toMatchObject({ status: 400, error: 'invalid_input' })
    const anonymous = createClient<Database>({ url: app.url })
    expect(await refusal(anonymous.functions.call('GET /search'))).toMatchObject({ status: 401 })
  })

  test('call › ends with its signal', async () => {
    const reason = new Error('no longer needed')
    expect(await refusal(open().functions.call('GET /search', { signal: AbortSignal.abort(reason) }))).toBe(
      reason,
    )
  })

  test('call › repeats GET, and other methods only with an idempotency key', async () => {
    const requests: { method: string; key: string | null }[] = []
    const losesFirst: typeof fetch = async (address, init) => {
      const key = new Headers(init?.headers).get('idempotency-key')
      requests.push({ method: init?.method ?? '', key })
      const response = await fetch(address, init)
      if (requests.length === 1) throw new TypeError('the response is lost')
      return response
    }
    expect(await open(losesFirst).functions.call('GET /search', { input: { limit: 1 } })).toEqual({
      limit: 1,
    })
    expect(requests.splice(0)).toEqual(Array(2).fill({ method: 'GET', key: null }))
    const call = { params: { shop: 'x' }, input: { quantity: 1 } }
    const lost = open(losesFirst).functions.call('POST /shops/:shop/orders', call)
    expect(await refusal(lost)).toMatchObject({ error: 'network_error' })
    expect(requests.splice(0)).toEqual([{ method: 'POST', key: null }])
    const kept = open(losesFirst).functions.call('POST /shops/:shop/orders', {
      ...call,
      idempotencyKey: 'one',
    })
    expect(await kept).toMatchObject({ key: 'one' })
    expect(requests).toEqual(Array(2).fill({ method: 'POST', key: 'one' }))
  })

  test('fetch › returns the response, or rejects with its error', async () => {
    const response = await open().functions.fetch('GET /search', { input: { limit: 1 } })
    expect([response.status, await response.text()]).toEqual([200, '{"limit":1}'])
    const call = { params: { shop: 'x' }, input: { quantity: 10 } }
    const refused = open().functions.fetch('POST /shops/:shop/orders', call)
    expect(await refusal(refused)).toMatchObject({ error: 'out_of_stock' })
  })

  test.each([
    ['an address without a method', '/search', {}],
    ['an unknown method', 'HEAD /search', {}],
    ['a missing parameter', 'DELETE /shops/:shop', {}],
    ['a parameter that is an object', 'DELETE /shops/:shop', { params: { shop: {} } }],
    ['an inherited parameter', 'DELETE /shops/:constructor', { params: {} }],
    ['a parameter that a path cannot contain', 'DELETE /shops/:shop', { params: { shop: '..' } }],
    ['a nested object in a query', 'GET /search', { input: { limit: {} } }],
  ])('call › throws a TypeError for %s', async (_case, address, call) => {
    const untyped = createClient({ url: app.url, auth: token }).functions as unknown as {
      call(address: string, call: object): Promise<unknown>
    }
    expect(await refusal(untyped.call(address, call))).toBeInstanceOf(TypeError)
  })

  test('have the types that `basalt types` prints', async () => {
    const { database, functions: host } = app.app
    const { text } = await database.system.transaction((transaction) =>
      generateTypes(
        transaction,
        { schemas: ['public'], exposePartitions: false },
        'client',
        new Date(),
        host.publishedRoutes,
      ),
    )
    expect(text).toBe(readFileSync(new URL('functions-database.ts', import.meta.url), 'utf8'))
  })
})

/** Makes calls that the types reject. It is compiled, and never run. */
export async function rejected(): Promise<void> {
  const { functions: own } = open()
  // @ts-expect-error There is no such function.
  await own.call('GET /missing')
  // @ts-expect-error The parameter is missing.
  await own.call('POST /shops/:shop/orders', { input: { quantity: 1 } })
  // @ts-expect-error The input is missing.
  await own.call('POST /shops/:shop/orders', { params: { shop: 'x' } })
  // @ts-expect-error The quantity is a number.
  await own.call('POST /shops/:shop/orders', { params: { shop: 'x' }, input: { quantity: '1' } })
  // @ts-expect-error The path has no parameters.
  await own.call('GET /search', { params: { id: 1 } })
  // @ts-expect-error The function gets no input.
  await own.call('DELETE /shops/:shop', { params: { shop: 'x' }, input: {} })
  // @ts-expect-error There is no such option.
  await own.call('GET /search', { retries: 1 })
  const untyped = createClient({ url: app.url }).functions
  // biome-ignore lint/suspicious/noExplicitAny: nothing is known of the result
  typed<any>()(await untyped.call('POST /any/:id', { params: { id: 1n }, input: [1] }))
  // @ts-expect-error The parameter is missing, also without generated types.
  await untyped.call('POST /any/:id', { input: 1 })
  // @ts-expect-error There is no such method.
  await untyped.call('HEAD /any')
}
