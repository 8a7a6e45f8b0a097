import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../fixtures.ts'
import { contradictions, loadTable, startLoad } from '../load.ts'
import { type Reply, sendRequest } from '../send-request.ts'
import { type ServerProcess, startServer } from '../server-process.ts'
import { userToken } from '../test-app.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'

const token = userToken({ sub: alice })
let cluster: ThrowAwayCluster
let server: ServerProcess

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create database shop')
  await cluster.sql('shop', `${loadTable}; ${slowThings}`)
  server = await startServer({ config: { 'database.url': `${cluster.url}/shop` } })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await cluster[Symbol.asyncDispose]()
})

const slowThings = `
create view nap as select 'rested' as state from pg_sleep(0.7);
create table slow_item (id int primary key);
create function dawdle() returns trigger language plpgsql as 'begin perform pg_sleep(0.7); return new; end';
create trigger dawdle before insert on slow_item for each row execute function dawdle();
create table full_item (id int primary key);
create function run_out() returns trigger language plpgsql
  as $$ begin raise exception using errcode = '53100', message = 'could not extend file: No space left on device'; end $$;
create trigger run_out before insert on full_item for each row execute function run_out();
`

function request(method: string, path: string, body?: unknown): Promise<Reply> {
  return sendRequest(method, server.url + path, { token, body })
}

function sql<Row extends Record<string, unknown>>(text: string): Promise<Row[]> {
  return cluster.sql<Row>('shop', text)
}

async function countKeys(): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ key: string; count: number }>('select key, count(*)::int from item group by key')
  return new Map(rows.map(({ key, count }) => [key, count]))
}

/** Returns the process id of the backend that runs a statement on the relation. */
function backendAt(relation: string): Promise<number> {
  return waitFor(`a statement on ${relation}`, async () => {
    const [row] = await sql<{ pid: number }>(
      `select pid from pg_stat_activity
       where state = 'active' and query like '%"${relation}"%' and pid <> pg_backend_pid()`,
    )
    return row?.pid
  })
}

function expectUnavailable(reply: Reply): void {
  const { doc_url: docUrl, ...body } = reply.json
  expect({ status: reply.status, retryAfter: reply.headers['retry-after'], body }).toEqual({
    status: 503,
    retryAfter: '1',
    body: { code: 503, message: 'the database is unavailable', error: 'database_unavailable' },
  })
  expect(docUrl).toBe(`${server.url}/docs/errors/database_unavailable`)
}

test.each(['immediate', 'fast'] as const)(
  'faults › while Postgres restarts (%s), requests get 503 with Retry-After, and then succeed again',
  async (mode) => {
    const load = startLoad({ urls: [server.url], token, clients: 6, prefix: mode })
    await waitFor('some load', () => load.count(201) > 50)

    await cluster.stop(mode)
    expectUnavailable(await request('GET', '/api/collections/item'))
    expectUnavailable(await request('POST', '/api/collections/item', { key: 'while it is away' }))
    const health = await request('GET', '/health')
    expect({ status: health.status, body: health.json }).toEqual({
      status: 503,
      body: { status: 'degraded', database: 'unreachable' },
    })
    await cluster.start()

    const before = load.count(201)
    await waitFor('writes to succeed', () => load.count(201) > before + 50)
    expect((await request('GET', '/health')).status).toBe(200)
    const history = await load.stop()
    expect(history.malformed).toEqual([])
    expect([...history.failures]).toEqual([])
    expect([...history.statuses.keys()].sort()).toEqual([200, 201, 503])
    expect(contradictions(history, await countKeys())).toEqual([])
    expect((await countKeys()).has('while it is away')).toBe(false)
  },
)

describe('faults › a terminated backend', () => {
  test('repeats a read', async () => {
    const reply = request('GET', '/api/collections/nap?skipTotal=true')
    await sql(`select pg_terminate_backend(${await backendAt('nap')})`)
    expect((await reply).json).toMatchObject({ items: [{ state: 'rested' }] })
  })

  test('does not repeat a write and reports that', async () => {
    const reply = request('POST', '/api/collections/slow_item', { id: 1 })
    await sql(`select pg_terminate_backend(${await backendAt('slow_item')})`)
    expectUnavailable(await reply)
    expect(await sql('select * from slow_item')).toEqual([])
    expect((await request('POST', '/api/collections/slow_item', { id: 1 })).status).toBe(201)
  })

  test('loses nothing and repeats no write when backends end repeatedly under load', async () => {
    const load = startLoad({ urls: [server.url], token, clients: 6, prefix: 'terminated' })
    for (let round = 0; round < 10; round += 1) {
      const before = load.count(201)
      await waitFor('more load', () => load.count(201) > before + 20)
      await sql(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'basalt start'`,
      )
    }
    const before = load.count(201)
    await waitFor('writes to succeed', () => load.count(201) > before + 50)
    const history = await load.stop()
    expect(history.malformed).toEqual([])
    expect([...history.failures]).toEqual([])
    expect([...history.statuses.keys()].filter((status) => ![200, 201, 503].includes(status))).toEqual([])
    expect(contradictions(history, await countKeys())).toEqual([])
  })
})

test('faults › a database that became read-only serves reads and responds to writes with 503', async () => {
  await sql('alter database shop set default_transaction_read_only = on')
  await sql(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'basalt start'`)
  const written = await waitFor('new sessions', async () => {
    const reply = await request('POST', '/api/collections/item', { key: 'read-only' })
    return reply.json.error === 'read_only_database' && reply
  })
  expect({ status: written.status, retryAfter: written.headers['retry-after'] }).toEqual({
    status: 503,
    retryAfter: '5',
  })
  expect((await request('GET', '/api/collections/item?perPage=1')).status).toBe(200)
  expect((await request('GET', '/health')).status).toBe(200)

  await cluster.sql('postgres', 'alter database shop set default_transaction_read_only = off')
  await sql(`set default_transaction_read_only = off;
    select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'basalt start'`)
  await waitFor('writes to succeed', async () => {
    return (await request('POST', '/api/collections/item', { key: 'writable again' })).status === 201
  })
})

test('faults › a full disk is no error of the client, and reads are served', async () => {
  const { status, headers, json } = await request('POST', '/api/collections/full_item', { id: 1 })
  expect({ status, retryAfter: headers['retry-after'], error: json.error }).toEqual({
    status: 503,
    retryAfter: '5',
    error: 'database_full',
  })
  expect((await request('GET', '/api/collections/full_item')).json.items).toEqual([])
})

test('faults › the server has run throughout and logged no internal error', () => {
  expect(server.log().filter(({ level, kind }) => level === 'error' && kind === 'internal_error')).toEqual([])
  expect(server.output()).not.toMatch(/unhandled|uncaught/i)
})
