import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { Matview } from '../matview.ts'

let database: TestDatabase
let app: TestApp
let second: TestApp

const unknownId = '00000000-0000-4000-8000-000000000000'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

const schema = `
  create table sale (id int primary key, amount int not null);
  insert into sale values (1, 10), (2, 20);
  create table divisor (n int);
  insert into divisor values (1);
  create schema archive;
  create materialized view archive.total as select sum(amount) from sale;
  create view plain_view as select * from sale;
`

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(schema)
  app = await createTestApp({ database })
  second = await createTestApp({ database })
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

async function sendRequest(method: string, path: string, body?: unknown, node = app): Promise<TestResponse> {
  const token = await node.adminToken()
  return await node.request(method, `/api/admin/matviews${path}`, { token, body })
}

let count = 0
/** Creates a view for each test. */
async function createView(
  query = 'select id, amount from sale',
  { isEmpty = false, isUnique = false } = {},
): Promise<string> {
  count += 1
  const name = `view_${count}`
  await app.sql(`create materialized view ${name} as ${query} with ${isEmpty ? 'no ' : ''}data`)
  if (isUnique) await app.sql(`create unique index on ${name} (id)`)
  return name
}

async function register(viewName: string, more: object = {}): Promise<Matview> {
  const { status, json } = await sendRequest('POST', '', { viewName, ...more })
  expect([status, json]).toEqual([201, expect.anything()])
  return json
}

async function get(id: string): Promise<Matview> {
  return (await sendRequest('GET', `/${id}`)).json
}

async function takeAudit(): Promise<object[]> {
  return await app.sql(`
    with taken as (delete from basalt.audit where action like 'matviews.%' returning *)
    select action, target, detail, address from taken order by id`)
}

function expectError(response: TestResponse, status: number, message: string, error: string) {
  expect([response.status, envelope(response)]).toEqual([status, { code: status, message, error }])
}

describe('POST /admin/matviews', () => {
  test('registers a view, which can be read, listed and removed', async () => {
    await takeAudit()
    const name = await createView()
    const registration = await register(name)
    expect(registration).toEqual({
      id: uuid,
      schemaName: 'public',
      viewName: name,
      refreshMode: 'standard',
      lastRefreshAt: null,
      lastRefreshDurationMs: null,
      lastRefreshStatus: null,
      lastRefreshError: null,
      createdAt: timestamp,
      updatedAt: timestamp,
    })
    const other = await register('total', { schema: 'archive', refreshMode: 'concurrent' })
    expect(other).toMatchObject({ schemaName: 'archive', viewName: 'total', refreshMode: 'concurrent' })
    expect(await get(registration.id)).toEqual(registration)
    expect((await sendRequest('GET', '')).json).toEqual({ items: [other, registration], count: 2 })

    const deleted = await sendRequest('DELETE', `/${other.id}`)
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expect((await sendRequest('GET', '')).json).toEqual({ items: [registration], count: 1 })
    expect(await app.sql('select sum from archive.total')).toEqual([{ sum: '30' }])
    expect(await takeAudit()).toEqual(
      [
        ['register', registration.id, { view: `public.${name}`, refreshMode: 'standard' }],
        ['register', other.id, { view: 'archive.total', refreshMode: 'concurrent' }],
        ['unregister', other.id, { view: 'archive.total' }],
      ].map(([action, target, detail]) => ({
        action: `matviews.${action}`,
        target,
        detail,
        address: '127.0.0.1',
      })),
    )
  })

  test('registers once for concurrent requests on both nodes', async () => {
    const viewName = await createView()
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        sendRequest('POST', '', { viewName }, index % 2 === 0 ? app : second),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(5).fill(409)])
    const refused = await sendRequest('POST', '', { viewName, refreshMode: 'concurrent' })
    expectError(refused, 409, 'materialized view already registered', 'matview_already_registered')
  })

  test.each([
    { viewName: 'sale' },
    { viewName: 'plain_view' },
    { viewName: 'sale_pkey' },
    { viewName: 'nothing' },
    { viewName: 'total' },
    { viewName: 'view_1', schema: 'archive' },
    { viewName: 'view_1', schema: 'nowhere' },
    { viewName: 'VIEW_1' },
  ])('returns 404 for anything but a materialized view: %j', async (body) => {
    const response = await sendRequest('POST', '', body)
    expectError(response, 404, 'materialized view not found in database', 'not_materialized_view')
  })

  test.each(['a b', '1a', 'a"b', 'a;drop table sale', 'a.b', "a'", 'a\u0000b', 'größe', 'x'.repeat(64)])(
    'rejects %j as a name',
    async (name) => {
      const message = `invalid identifier: "${name}"`
      expectError(await sendRequest('POST', '', { viewName: name }), 400, message, 'invalid_identifier')
      const inSchema = await sendRequest('POST', '', { viewName: 'view_1', schema: name })
      expectError(inSchema, 400, message, 'invalid_identifier')
    },
  )

  test.each<[object, string]>([
    [{}, 'viewName is required'],
    [{ viewName: '' }, 'viewName is required'],
    [{ viewName: 5 }, 'viewName: must be string'],
    [{ viewName: 'view_1', schema: '' }, 'invalid identifier: ""'],
    [{ viewName: 'view_1', refreshMode: 'fast' }, "refreshMode must be 'standard' or 'concurrent'"],
    [{ viewName: 'view_1', refreshMode: null }, 'refreshMode: must be string'],
  ])('rejects %j', async (body, message) => {
    const response = await sendRequest('POST', '', body)
    expect([response.status, response.json.message]).toEqual([400, message])
  })
})

describe('PUT /admin/matviews/:id', () => {
  test('changes the mode', async () => {
    const registration = await register(await createView())
    await takeAudit()
    const { status, json } = await sendRequest('PUT', `/${registration.id}`, { refreshMode: 'concurrent' })
    expect([status, json]).toEqual([
      200,
      { ...registration, refreshMode: 'concurrent', updatedAt: timestamp },
    ])
    expect(await takeAudit()).toEqual([expect.objectContaining({ action: 'matviews.update' })])
  })

  test.each<[object, string]>([
    [{}, 'refreshMode is required'],
    [{ refreshMode: 'CONCURRENT' }, "refreshMode must be 'standard' or 'concurrent'"],
    [{ refreshMode: 1 }, 'refreshMode: must be string'],
  ])('rejects %j', async (body, message) => {
    const { id } = await register(await createView())
    const response = await sendRequest('PUT', `/${id}`, body)
    expect([response.status, response.json.message]).toEqual([400, message])
  })
})

describe('POST /admin/matviews/:id/refresh', () => {
  test.each(['standard', 'concurrent'])('fills the view in %s mode and records it', async (refreshMode) => {
    const name = await createView(undefined, { isUnique: true })
    const { id } = await register(name, { refreshMode })
    await app.sql('insert into sale select max(id) + 1, 5 from sale')
    await takeAudit()
    const { status, json } = await sendRequest('POST', `/${id}/refresh`)
    expect(status).toBe(200)
    expect(json).toEqual({ registration: await get(id), durationMs: expect.any(Number) })
    expect(json.registration).toMatchObject({
      lastRefreshAt: timestamp,
      lastRefreshDurationMs: json.durationMs,
      lastRefreshStatus: 'success',
      lastRefreshError: null,
    })
    expect(await app.sql(`select id, amount from ${name} except select id, amount from sale`)).toEqual([])
    expect(await app.sql(`select id, amount from sale except select id, amount from ${name}`)).toEqual([])
    const detail = { view: `public.${name}`, durationMs: json.durationMs }
    expect(await takeAudit()).toEqual([
      { action: 'matviews.refresh', target: id, detail, address: '127.0.0.1' },
    ])
  })

  test('fills a view that was never filled, in standard mode only', async () => {
    const name = await createView(undefined, { isEmpty: true, isUnique: true })
    const { id } = await register(name, { refreshMode: 'concurrent' })
    const response = await sendRequest('POST', `/${id}/refresh`)
    const message = 'concurrent refresh requires a populated materialized view'
    expectError(response, 409, message, 'matview_not_populated')
    await sendRequest('PUT', `/${id}`, { refreshMode: 'standard' })
    expect((await sendRequest('POST', `/${id}/refresh`)).status).toBe(200)
    await sendRequest('PUT', `/${id}`, { refreshMode: 'concurrent' })
    expect((await sendRequest('POST', `/${id}/refresh`)).status).toBe(200)
  })

  test.each([
    ['no index', ''],
    ['a plain one', 'create index on % (id)'],
    ['a unique one with a condition', 'create unique index on % (id) where id > 0'],
    ['a unique one on an expression', 'create unique index on % ((id + 1))'],
  ])('rejects a concurrent refresh with %s and changes nothing', async (_what, index) => {
    const name = await createView()
    if (index !== '') await app.sql(index.replace('%', name))
    const registration = await register(name, { refreshMode: 'concurrent' })
    const message = 'concurrent refresh requires a unique index on the materialized view'
    expectError(
      await sendRequest('POST', `/${registration.id}/refresh`),
      409,
      message,
      'unique_index_missing',
    )
    expect(await get(registration.id)).toEqual(registration)
  })

  test('succeeds once and is rejected nine times for ten concurrent requests on two nodes', async () => {
    const name = await createView()
    const { id } = await register(name)
    const requests: Promise<TestResponse>[] = []
    const statuses: number[] = []
    await using blocker = await openTransaction(database)
    await blocker.sql('lock table sale in access exclusive mode')
    for (let index = 0; index < 10; index += 1) {
      const answer = sendRequest('POST', `/${id}/refresh`, undefined, index % 2 === 0 ? app : second)
      void answer.then(({ status }) => statuses.push(status))
      requests.push(answer)
    }
    await waitFor('nine to be refused', () => statuses.length === 9)
    await blocker.commit()
    const answers = await Promise.all(requests)
    expect(statuses).toEqual([...Array(9).fill(409), 200])
    for (const answer of answers.filter(({ status }) => status === 409)) {
      expectError(answer, 409, 'refresh already in progress', 'refresh_in_progress')
    }
    expect(await get(id)).toMatchObject({ lastRefreshStatus: 'success', lastRefreshError: null })
  })

  test('gives way to a statement that changes a table it reads, and is repeated', async () => {
    const name = await createView('select id, pg_advisory_xact_lock_shared(4711)::text as waits from sale')
    const { id } = await register(name)
    await using operator = await openTransaction(database)
    await operator.sql('select pg_advisory_xact_lock(4711)')
    const refreshing = sendRequest('POST', `/${id}/refresh`)
    await operator.waitForBlocked(1)
    // From now on each waits for the other: PostgreSQL would fail one of them with a deadlock.
    await operator.sql('alter table sale add column later int')
    await operator.sql('alter table sale drop column later')
    await operator.commit()
    expect((await refreshing).status).toBe(200)
  })

  test('continues when its client has disconnected, and uses no connection of the requests', async () => {
    await using small = await createTestApp({ database, config: { 'database.max_conns': '4' } })
    const names = [await createView(), await createView(), await createView()]
    const registrations = await Promise.all(names.map((name) => register(name)))
    const token = await small.adminToken()
    const leaving = new AbortController()
    await using blocker = await openTransaction(database)
    await blocker.sql('lock table sale in access exclusive mode')
    const requests = registrations.map(({ id }) =>
      fetch(`${small.url}/api/admin/matviews/${id}/refresh`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        signal: leaving.signal,
      }).catch((error: Error) => error.name),
    )
    await blocker.waitForBlocked(2)
    leaving.abort()
    expect(await Promise.all(requests)).toEqual(['AbortError', 'AbortError', 'AbortError'])
    const others = await Promise.all(
      Array.from({ length: 8 }, () => small.request('GET', '/api/admin/matviews', { token })),
    )
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]))
    await blocker.commit()
    for (const { id } of registrations) {
      await waitFor('the refresh to be recorded', async () => (await get(id)).lastRefreshStatus === 'success')
    }
  })

  test('records the reason of a failure without the statement, until a refresh succeeds', async () => {
    const name = await createView('select 1 / n as id from divisor')
    const { id } = await register(name)
    await app.sql('update divisor set n = 0')
    const response = await sendRequest('POST', `/${id}/refresh`)
    expect([response.status, envelope(response)]).toEqual([
      500,
      {
        code: 500,
        message: 'refresh failed',
        error: 'refresh_failed',
        data: { reason: 'invalid value: division by zero' },
      },
    ])
    expect(await get(id)).toMatchObject({
      lastRefreshAt: timestamp,
      lastRefreshDurationMs: expect.any(Number),
      lastRefreshStatus: 'error',
      lastRefreshError: 'invalid value: division by zero',
    })
    await app.sql('update divisor set n = 1')
    expect((await sendRequest('POST', `/${id}/refresh`)).json.registration).toMatchObject({
      lastRefreshStatus: 'success',
      lastRefreshError: null,
    })
  })

  test('follows its own time limit, not that of requests', async () => {
    const statement = { 'database.statement_timeout_ms': '1000' }
    await using unlimited = await createTestApp({ database, config: statement })
    await using hasty = await createTestApp({ database, config: { 'matviews.refresh_timeout': '1' } })
    const slow = await register(await createView('select 1 as id from pg_sleep(1.2)', { isEmpty: true }))
    const endless = await register(await createView('select 1 as id from pg_sleep(600)', { isEmpty: true }))
    expect((await sendRequest('POST', `/${slow.id}/refresh`, undefined, unlimited)).status).toBe(200)
    const response = await sendRequest('POST', `/${endless.id}/refresh`, undefined, hasty)
    expectError(response, 504, 'the refresh took too long', 'refresh_timeout')
    expect(await get(endless.id)).toMatchObject({
      lastRefreshStatus: 'error',
      lastRefreshError: 'the refresh took too long',
    })
  })

  test('returns 404 for a view that was dropped or replaced by something else', async () => {
    const name = await createView()
    const { id } = await register(name)
    const message = 'materialized view no longer exists in database'
    await app.sql(`drop materialized view ${name}`)
    expectError(await sendRequest('POST', `/${id}/refresh`), 404, message, 'matview_gone')
    await app.sql(`create table ${name} (id int)`)
    expectError(await sendRequest('POST', `/${id}/refresh`), 404, message, 'matview_gone')
    expect((await sendRequest('DELETE', `/${id}`)).status).toBe(204)
  })

  test('is cancelled when the server stops', async () => {
    const stopping = await createTestApp({ database, config: { 'server.shutdown_timeout': '0' } })
    const { id } = await register(await createView('select 1 as id from pg_sleep(600)', { isEmpty: true }))
    const requests = sendRequest('POST', `/${id}/refresh`, undefined, stopping).catch(() => undefined)
    const isRunning =
      "select from pg_stat_activity where datname = current_database() and state = 'active' and query like 'refresh%'"
    await waitFor('the refresh to run', async () => (await app.sql(isRunning)).length === 1)
    stopping.app.cutOff()
    await stopping[Symbol.asyncDispose]()
    await requests
    expect(await app.sql(isRunning)).toEqual([])
    expect(await get(id)).toMatchObject({ lastRefreshStatus: 'error', lastRefreshError: 'canceled' })
  })

  test('registers and refreshes the view as a job, and fails permanently if it cannot be refreshed', async () => {
    const name = await createView(undefined, { isEmpty: true })
    const token = await app.adminToken()
    const run = async (payload: object) => {
      const body = { type: 'materialized_view_refresh', payload }
      const { status, json } = await app.request('POST', '/api/admin/jobs', { token, body })
      expect(status).toBe(201)
      return await waitFor('the job to end', async () => {
        const job = (await app.request('GET', `/api/admin/jobs/${json.id}`, { token })).json
        return ['completed', 'failed'].includes(job.state) && job
      })
    }
    expect(await run({ view_name: name })).toMatchObject({ state: 'completed', lastError: '' })
    const { items } = (await sendRequest('GET', '')).json
    expect(items.find(({ viewName }: Matview) => viewName === name)).toMatchObject({
      refreshMode: 'standard',
      lastRefreshStatus: 'success',
    })
    expect(await run({ view_name: 'nothing', schema: 'archive' })).toMatchObject({
      state: 'failed',
      attempts: 1,
      lastError: 'materialized view not found in database',
    })
  })
})

const routes = [
  ['GET', ''],
  ['POST', ''],
  ['GET', `/${unknownId}`],
  ['PUT', `/${unknownId}`],
  ['DELETE', `/${unknownId}`],
  ['POST', `/${unknownId}/refresh`],
] as const

describe('materialized view routes', () => {
  test.each(routes.slice(2))(
    '%s %s returns 404 for an unknown id, 400 for a malformed one',
    async (method, path) => {
      const body = method === 'PUT' ? { refreshMode: 'standard' } : undefined
      const missing = await sendRequest(method, path, body)
      expectError(missing, 404, 'matview registration not found', 'matview_not_found')
      const wrong = await sendRequest(method, path.replace(unknownId, 'x'), body)
      expectError(wrong, 400, 'invalid matview id format', 'invalid_matview_id')
    },
  )

  test.each(routes)('%s %s requires an administrator', async (method, path) => {
    for (const token of [undefined, userToken({ sub: unknownId }), 'basalt_admin_wrong']) {
      expect((await app.request(method, `/api/admin/matviews${path}`, { token })).status).toBe(401)
    }
  })

  test('work while jobs are disabled', async () => {
    await using disabled = await createTestApp({ database, config: { 'jobs.enabled': 'false' } })
    const { id } = await register(await createView())
    expect((await sendRequest('POST', `/${id}/refresh`, undefined, disabled)).status).toBe(200)
  })
})

test('materialized views › an ordinary owner refreshes its own views, and gets a reason for those of others', async () => {
  const name = `owner_${randomUUID().replaceAll('-', '')}`
  await database.sql(`create role ${name} login createrole password 'secret'`)
  await database.sql(`grant basalt_authenticated to ${name} with admin option`)
  await database.sql(`create database ${name} owner ${name}`)
  const url = new URL(database.url)
  url.pathname = name
  const superuser = url.href
  url.username = name
  url.password = 'secret'
  {
    await using node = await createTestApp({ database: { ...database, url: url.href } })
    const client = await openTransaction({ ...database, url: superuser })
    await client.sql(`
      create materialized view foreign_view as select 1 as id;
      create materialized view own_view as select 1 as id;
      alter materialized view own_view owner to ${name}`)
    await client.commit()
    await client[Symbol.asyncDispose]()
    const add = async (viewName: string) => (await sendRequest('POST', '', { viewName }, node)).json.id
    const refresh = async (id: string) => await sendRequest('POST', `/${id}/refresh`, undefined, node)
    expect((await refresh(await add('own_view'))).status).toBe(200)
    const foreign = await add('foreign_view')
    // Before PostgreSQL 17 only its owner may refresh it. That is a superuser, whose privileges the login must not
    // get.
    const refused = await refresh(foreign)
    const { message, data } = refused.json
    expect([refused.status, refused.json.error]).toEqual([403, 'insufficient_permissions'])
    expect([
      `grant select, maintain on table public.foreign_view to ${name};`,
      `alter materialized view public.foreign_view owner to ${name};`,
    ]).toContain(data.statement)
    expect(message).toMatch(
      /^insufficient permissions: (permission denied for|must be owner of) materialized view foreign_view; have /,
    )
    expect(message).toContain(data.statement)
    expect((await sendRequest('GET', `/${foreign}`, undefined, node)).json).toMatchObject({
      lastRefreshStatus: 'error',
      lastRefreshError: message,
    })
  }
  await database.sql(`drop database ${name} with (force)`)
  await database.sql(`drop role ${name}`)
})
