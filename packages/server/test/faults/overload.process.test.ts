import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../fixtures.ts'
import { type Reply, sendRequest } from '../send-request.ts'
import { type ServerProcess, startServer } from '../server-process.ts'
import { createTestApp, type TestApp, userToken } from '../test-app.ts'
import { waitFor } from '../wait-for.ts'

const token = userToken({ sub: alice })
const statementTimeoutMs = 2000
const maxConns = 10
let app: TestApp

beforeAll(async () => {
  app = await createTestApp({
    config: {
      'database.max_conns': String(maxConns),
      'database.acquire_timeout_ms': '1000',
      'database.statement_timeout_ms': String(statementTimeoutMs),
    },
    setup: `
      create table item (id int generated always as identity primary key, name text);
      insert into item (name) select 'item ' || n from generate_series(1, 50) n;
      create table other (id int primary key);
      insert into other values (1);
      create view short_nap as select 'rested' as state from pg_sleep(0.1);
      create view long_nap as select 'rested' as state from pg_sleep(60);`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())

function get(path: string, signal?: AbortSignal): Promise<Reply> {
  return sendRequest('GET', `${app.url}${path}`, { token, ...(signal === undefined ? {} : { signal }) })
}

async function activeOn(view: string): Promise<number> {
  const [row] = await app.sql<{ count: number }>(
    `select count(*)::int from pg_stat_activity
     where datname = current_database() and state = 'active' and query like $1 and pid <> pg_backend_pid()`,
    [`%"${view}"%`],
  )
  return row?.count ?? 0
}

async function expectIdle(): Promise<void> {
  await waitFor('an idle pool', () => {
    const { busy, waiting } = app.app.database.user.stats
    return busy === 0 && waiting === 0
  })
}

/** Counts replies by status. */
function tally(replies: readonly Reply[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(replies, ({ status, json }) => `${status} ${json.error ?? ''}`.trim())].map(
      ([key, { length }]) => [key, length],
    ),
  )
}

describe('overload › more slow requests than connections', () => {
  test('are served one after the other and leave connections for others', async () => {
    const slow = Array.from({ length: 40 }, () => get('/api/collections/short_nap?skipTotal=true'))
    await waitFor('the pool to fill', () => app.app.database.user.stats.busy > 0)
    for (let turn = 0; turn < 5; turn += 1) {
      expect((await get('/api/collections/other')).json).toMatchObject({ items: [{ id: 1 }] })
    }
    expect(tally(await Promise.all(slow))).toEqual({ '200': 40 })
    await expectIdle()
  })

  test('are rejected in time when the queue does not drain, while health and other tables are served', async () => {
    const slow = Array.from({ length: 200 }, () => get('/api/collections/long_nap?skipTotal=true'))
    await waitFor('the queries', async () => (await activeOn('long_nap')) > 0)
    for (let turn = 0; turn < 5; turn += 1) {
      expect((await get('/health')).json).toEqual({ status: 'ok', database: 'ok' })
      expect((await get('/api/collections/item?perPage=1')).status).toBe(200)
      const written = sendRequest('POST', `${app.url}/api/collections/item`, {
        token,
        body: { name: 'meanwhile' },
      })
      expect((await written).status).toBe(201)
    }
    const counts = tally(await Promise.all(slow))
    expect(Object.keys(counts).sort()).toEqual(['503 database_busy', '504 statement_timeout'])
    expect(counts['504 statement_timeout']).toBeLessThan(maxConns)
    await expectIdle()
    expect(await activeOn('long_nap')).toBe(0)
  })
})

test('overload › a locked table delays requests for no other table and times out', async () => {
  const locker = new pg.Client({ connectionString: app.database.url })
  await locker.connect()
  await locker.query('begin; lock table item in access exclusive mode')
  const waiting = [
    ...Array.from({ length: 30 }, () => get('/api/collections/item')),
    ...Array.from({ length: 30 }, (_, n) => get(`/api/collections/item/${n}`)),
    ...Array.from({ length: 30 }, () =>
      sendRequest('POST', `${app.url}/api/collections/item`, { token, body: { name: 'locked out' } }),
    ),
  ]
  await waitFor('the table to be waited for', async () => (await activeOn('item')) > 3)
  for (let turn = 0; turn < 5; turn += 1) {
    expect((await get('/api/collections/other')).json).toMatchObject({ items: [{ id: 1 }] })
  }
  const counts = tally(await Promise.all(waiting))
  expect(Object.keys(counts).sort()).toEqual(['503 database_busy', '504 statement_timeout'])
  await locker.end()
  await expectIdle()
  expect((await get('/api/collections/item?filter=name=%27locked out%27')).json.totalItems).toBe(0)
})

test('overload › queries of disconnected clients are cancelled, and no others', async () => {
  await using node = await createTestApp({
    database: app.database,
    config: { 'database.max_conns': '10' },
  })
  const url = node.url
  let isOver = false
  const bystanders = Array.from({ length: 4 }, async () => {
    const replies: Reply[] = []
    while (!isOver) replies.push(await sendRequest('GET', `${url}/api/collections/other`, { token }))
    return tally(replies)
  })
  try {
    for (let wave = 0; wave < 6; wave += 1) {
      const leaving = new AbortController()
      const gone = Array.from({ length: 50 }, () =>
        sendRequest('GET', `${url}/api/collections/long_nap?skipTotal=true`, {
          token,
          signal: leaving.signal,
        }).then(
          () => 'answered',
          (error) => error.name as string,
        ),
      )
      await waitFor('the queries', async () => (await activeOn('long_nap')) > 2)
      leaving.abort()
      expect(new Set(await Promise.all(gone))).toEqual(new Set(['AbortError']))
      await waitFor('the queries to end', async () => (await activeOn('long_nap')) === 0)
    }
  } finally {
    isOver = true
  }
  for (const counts of await Promise.all(bystanders)) expect(Object.keys(counts)).toEqual(['200'])
  await waitFor('an idle pool', () => node.app.database.user.stats.busy === 0)
})

describe('overload › useless connections', () => {
  let server: ServerProcess

  beforeAll(async () => {
    server = await startServer({
      config: {
        'database.url': app.database.url,
        'server.header_timeout': '1',
        'server.max_connections': '1500',
      },
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  /** Opens sockets. Resolves when each has been accepted or refused. */
  async function openSockets(count: number, text: string): Promise<Socket[]> {
    const { hostname, port } = new URL(server.url)
    return await Promise.all(
      Array.from({ length: count }, () => {
        const socket = connect(Number(port), hostname)
        socket.on('error', () => undefined)
        socket.setEncoding('utf8').resume()
        return new Promise<Socket>((resolve) => {
          socket.once('close', () => resolve(socket))
          socket.once('connect', () => {
            socket.write(text)
            resolve(socket)
          })
        })
      }),
    )
  }

  const good = (agent?: Agent) =>
    sendRequest('GET', `${server.url}/api/collections/other`, {
      token,
      ...(agent === undefined ? {} : { agent }),
    })

  test('are limited by server.max_connections during a flood of idle ones, and end', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    expect((await good(agent)).status).toBe(200)
    const flood: Socket[] = []
    // Beyond the backlog of the port, a client considers itself connected although the server never accepts the connection.
    while (flood.length < 2000) flood.push(...(await openSockets(200, '')))
    await waitFor('the surplus to be refused', () => flood.filter(({ closed }) => closed).length >= 500)
    expect((await good(agent)).status).toBe(200)
    for (const socket of flood) socket.destroy()
    await waitFor('the server to take connections again', async () =>
      good().then(
        ({ status }) => status === 200,
        () => false,
      ),
    )
    agent.destroy()
  })

  test('are closed when they send a byte now and then, while others are served', async () => {
    const slow = await openSockets(200, 'GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const answers = slow.map(
      (socket) => new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data)))),
    )
    const drip = setInterval(() => {
      for (const socket of slow) if (socket.writable) socket.write('x')
    }, 200)
    let served = 0
    const isCut = Promise.all(answers)
    let hasEnded = false
    void isCut.then(() => {
      hasEnded = true
    })
    while (!hasEnded) {
      expect((await good()).status).toBe(200)
      served += 1
    }
    clearInterval(drip)
    expect(served).toBeGreaterThan(20)
    expect(new Set((await isCut).map((text) => text.split('\r\n', 1)[0]))).toEqual(
      new Set(['HTTP/1.1 408 Request Timeout']),
    )
  })
})
