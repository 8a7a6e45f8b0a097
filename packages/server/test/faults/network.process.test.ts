import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, library } from '../fixtures.ts'
import { createTcpProxy, type TcpProxy } from '../tcp-proxy.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  type TestResponse,
  userToken,
} from '../test-app.ts'
import { waitFor } from '../wait-for.ts'

const token = userToken({ sub: alice })
/**
 * Limit of the time in which a dead connection is given up. It takes up to ten seconds, and more under load. Without the
 * server's own time limits it would take TCP a quarter of an hour.
 */
const deadConnectionMs = 60_000
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(library)
  await database.sql('create table ticket (number text primary key)')
})
afterAll(() => database[Symbol.asyncDispose]())

/** Starts a server that reaches its database through a proxy of its own. */
async function startBehindProxy(): Promise<{ app: TestApp; proxy: TcpProxy } & AsyncDisposable> {
  const url = new URL(database.url)
  const proxy = await createTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  const app = await createTestApp({ database, config: { 'database.url': url.href } })
  return {
    app,
    proxy,
    async [Symbol.asyncDispose]() {
      proxy.thaw()
      await app[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

function list(app: TestApp): Promise<TestResponse> {
  return app.request('GET', '/api/collections/author?perPage=1', { token })
}

function create(
  app: TestApp,
  number: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  return app.request('POST', '/api/collections/ticket', { token, body: { number }, headers })
}

async function count(number: string): Promise<number> {
  return (await database.sql('select from ticket where number = $1', [number])).length
}

const oneAuthor = { items: [{ author_id: 1, name: 'Ursula' }], totalItems: 3 }

const unavailable = {
  code: 503,
  message: 'the database is unavailable',
  error: 'database_unavailable',
}

function expectUnavailable(response: TestResponse): void {
  expect(envelope(response)).toEqual(unavailable)
  expect(response.headers.get('retry-after')).toBe('1')
}

describe('faults › a connection that breaks before the response', () => {
  test('does not repeat a completed write and reports an unknown outcome', async () => {
    await using behind = await startBehindProxy()
    const { app, proxy } = behind
    const isCut = proxy.cutReply((reply) => reply.includes('lost'))
    const response = await create(app, 'lost')
    await isCut
    expectUnavailable(response)
    expect(await count('lost')).toBe(1)
    expect((await create(app, 'lost')).status).toBe(409)
  })

  test('replays the response of a completed write with an Idempotency-Key', async () => {
    await using behind = await startBehindProxy()
    const { app, proxy } = behind
    const headers = { 'idempotency-key': 'once' }
    const isCut = proxy.cutReply((reply) => reply.includes('COMMIT'))
    const lost = await create(app, 'keyed', headers)
    await isCut
    expectUnavailable(lost)
    expect(await count('keyed')).toBe(1)
    const again = await create(app, 'keyed', headers)
    expect([again.status, again.json, again.headers.get('idempotency-replayed')]).toEqual([
      201,
      { number: 'keyed' },
      'true',
    ])
    expect(await count('keyed')).toBe(1)
  })

  test('performs an incomplete write with an Idempotency-Key when it is sent again', async () => {
    await using behind = await startBehindProxy()
    const { app, proxy } = behind
    const headers = { 'idempotency-key': 'undone' }
    const isCut = proxy.cutReply((reply) => reply.includes('undone ticket'))
    expectUnavailable(await create(app, 'undone ticket', headers))
    await isCut
    expect(await count('undone ticket')).toBe(0)
    const again = await create(app, 'undone ticket', headers)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, null])
    expect(await count('undone ticket')).toBe(1)
  })

  test('repeats a read', async () => {
    await using behind = await startBehindProxy()
    const { app, proxy } = behind
    const isCut = proxy.cutReply((reply) => reply.includes('Ursula'))
    const response = await list(app)
    await isCut
    expect(response.status).toBe(200)
    expect(response.json).toMatchObject(oneAuthor)
  })

  test('repeats a read only once', async () => {
    await using behind = await startBehindProxy()
    const { app, proxy } = behind
    const isCut = proxy
      .cutReply((reply) => reply.includes('Ursula'))
      .then(() => proxy.cutReply((reply) => reply.includes('Ursula')))
    expectUnavailable(await list(app))
    await isCut
    expect((await list(app)).status).toBe(200)
  })
})

// Each test waits for its own time limits, with its own server and proxy.
describe.concurrent('faults › packets lost without a notice', () => {
  test('moves reads to a new connection and ends writes when old connections lose packets', async () => {
    await using behind = await startBehindProxy()
    const { app, proxy } = behind
    await Promise.all([list(app), list(app)])
    proxy.freezePresent()
    const startedAt = performance.now()
    const [read, written] = await Promise.all([list(app), create(app, 'on an old connection')])
    expect(performance.now() - startedAt).toBeLessThan(deadConnectionMs)
    expect(read.json).toMatchObject(oneAuthor)
    // An idle connection looks like a dead one until something is sent.
    if (written.status === 503) expectUnavailable(written)
    else expect(written.status).toBe(201)
    await waitFor('the slots', () => app.app.database.user.stats.busy === 0)
    expect((await create(app, 'on a new connection')).status).toBe(201)
  })

  test('responds that the service is unavailable when all connections lose packets, and recovers', async () => {
    await using behind = await startBehindProxy()
    const { app, proxy } = behind
    await Promise.all([list(app), list(app)])
    proxy.freeze()
    const [read, written, health] = await Promise.all([
      list(app),
      create(app, 'into the void'),
      app.request('GET', '/health'),
    ])
    expectUnavailable(read)
    expectUnavailable(written)
    expect({ status: health.status, body: health.json }).toEqual({
      status: 503,
      body: { status: 'degraded', database: 'unreachable' },
    })
    await waitFor('the slots', () => app.app.database.user.stats.busy === 0)
    proxy.thaw()
    await waitFor('the database', async () => (await app.request('GET', '/health')).status === 200)
    expect((await list(app)).json).toMatchObject(oneAuthor)
  })
})

test.concurrent('responds slowly and correctly when the database is far away', async () => {
  await using behind = await startBehindProxy()
  const { app, proxy } = behind
  await list(app)
  proxy.setDelay(150)
  const lists = await Promise.all(Array.from({ length: 30 }, () => list(app)))
  for (const { json } of lists) expect(json).toMatchObject(oneAuthor)
  const created = await Promise.all(Array.from({ length: 10 }, (_, n) => create(app, `far-${n}`)))
  expect(created.map(({ status, json }) => [status, json.number])).toEqual(
    Array.from({ length: 10 }, (_, n) => [201, `far-${n}`]),
  )
  const body = {
    operations: [
      { method: 'create', body: { number: 'b1' } },
      { method: 'delete', id: 'b1' },
    ],
  }
  const batch = await app.request('POST', '/api/collections/ticket/batch', { token, body })
  expect({ status: batch.status, results: batch.json.length }).toEqual({ status: 200, results: 2 })
})

test.concurrent('stops without waiting for an unavailable database', async () => {
  const { app, proxy } = await startBehindProxy()
  await list(app)
  proxy.freeze()
  const startedAt = performance.now()
  await app[Symbol.asyncDispose]()
  expect(performance.now() - startedAt).toBeLessThan(deadConnectionMs)
  await proxy[Symbol.asyncDispose]()
})
