import { Agent } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { alice } from './fixtures.ts'
import { type Reply, sendRequest } from './send-request.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { createTestDatabase, type TestDatabase, userToken } from './test-app.ts'
import { waitFor } from './wait-for.ts'

const token = userToken({ sub: alice })
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(`
    create view nap as select 'rested' as state from pg_sleep(1.5);
    create view hibernation as select 'awake' as state from pg_sleep(60)`)
})
afterAll(() => database[Symbol.asyncDispose]())

function start(config: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  return startServer({ config: { 'database.url': database.url, ...config } })
}

/** Requests a slow view; returns the code of the error if there is no reply. */
function requestSlowly({ url }: ServerProcess, view: string): Promise<Reply | string> {
  return sendRequest('GET', `${url}/api/collections/${view}?skipTotal=true`, { token }).catch(
    (error) => error.code,
  )
}

async function running(view: string): Promise<number> {
  const [row] = await database.sql<{ count: number }>(
    `select count(*)::int from pg_stat_activity
     where datname = current_database() and state = 'active' and query like $1 and pid <> pg_backend_pid()`,
    [`%"${view}"%`],
  )
  return row?.count ?? 0
}

async function sessions(): Promise<number> {
  const [row] = await database.sql<{ count: number }>(
    `select count(*)::int from pg_stat_activity
     where datname = current_database() and application_name = 'basalt start'`,
  )
  return row?.count ?? 0
}

test('shutdown › completes requests in flight, fails the readiness check, is logged, and leaves no session', async () => {
  await using server = await start()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  expect((await sendRequest('GET', `${server.url}/health`, { agent })).headers.connection).toBe('keep-alive')
  const slow = requestSlowly(server, 'nap')
  await waitFor('the query', async () => (await running('nap')) === 1)

  // A terminal and npm send both signals together.
  server.signal('SIGINT')
  server.signal('SIGINT')
  await waitFor('the stop to begin', () => server.log().some(({ msg }) => msg === 'stopping'))
  const health = await sendRequest('GET', `${server.url}/health`, { agent })
  expect({ status: health.status, body: health.json, connection: health.headers.connection }).toEqual({
    status: 503,
    body: { status: 'stopping', database: 'ok' },
    connection: 'close',
  })

  expect(await slow).toMatchObject({ status: 200, json: { items: [{ state: 'rested' }] } })
  expect(await server.ended).toEqual({ code: 0, signal: null })
  expect(server.log().map(({ msg }) => msg)).toContain('stopped')
  expect(await sessions()).toBe(0)
  agent.destroy()
  const stored = await database.sql('select message from basalt.logs order by logged_at')
  expect(stored.map(({ message }) => message)).toEqual(expect.arrayContaining(['listening', 'stopping']))
})

test('shutdown › does not wait for connections without a whole request', async () => {
  await using server = await start()
  const { hostname, port } = new URL(server.url)
  const sockets = ['', 'GET /health HTTP/1.1\r\nHost:'].map((text) => {
    const socket = connect(Number(port), hostname, () => socket.write(text))
    return socket
  })
  const ends = sockets.map(
    (socket) => new Promise((resolve) => socket.on('close', resolve).on('error', resolve)),
  )
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  for (const socket of sockets) socket.resume()
  let hasEnded = false
  void server.stop().then(() => {
    hasEnded = true
  })
  // Much less than server.shutdown_timeout.
  await waitFor('the end', () => hasEnded)
  await Promise.all(ends)
  expect(await server.ended).toEqual({ code: 0, signal: null })
})

test('shutdown › cuts off requests that take longer than server.shutdown_timeout, also in Postgres', async () => {
  await using server = await start({ 'server.shutdown_timeout': '1' })
  const slow = requestSlowly(server, 'hibernation')
  await waitFor('the query', async () => (await running('hibernation')) === 1)
  expect(await server.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(await slow).toBe('ECONNRESET')
  expect(await sessions()).toBe(0)
})

test('shutdown › does not wait for requests in flight after a second signal', async () => {
  await using server = await start()
  const slow = requestSlowly(server, 'hibernation')
  await waitFor('the query', async () => (await running('hibernation')) === 1)
  let hasEnded = false
  void server.ended.then(() => {
    hasEnded = true
  })
  await waitFor('the end', () => {
    if (!hasEnded) server.signal('SIGINT')
    return hasEnded
  })
  expect(await server.ended).toEqual({ code: 1, signal: null })
  expect(server.log().at(-1)).toMatchObject({ msg: 'stopped' })
  expect(await slow).toBe('ECONNRESET')
  expect(await sessions()).toBe(0)
})
