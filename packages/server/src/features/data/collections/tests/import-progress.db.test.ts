import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type RequestOptions,
  type TestApp,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

/**
 * `POST …/import` with `Prefer: respond-async`. Rows of `gated` are written one by one, and row 500 waits for a lock
 * that the test holds.
 */
const setup = `
  create table song (id int primary key, name text not null);
  create table gated (id int primary key, name text);
  create function wait_at_gate() returns trigger language plpgsql as $$
  begin
    if new.id = 500 then perform pg_advisory_xact_lock_shared(42); end if;
    return new;
  end $$;
  create trigger gate before insert on gated for each row execute function wait_at_gate();
  create table chained (id int primary key, parent_id int references chained deferrable initially deferred);
  create function wait_without_first() returns trigger language plpgsql as $$
  begin
    if new.id = 500 and not exists (select from chained where id = 1) then
      perform pg_advisory_xact_lock_shared(42);
    end if;
    return new;
  end $$;
  create trigger gate before insert on chained for each row execute function wait_without_first();
  create table closed (id int primary key);
  revoke all on closed from basalt_authenticated;
  create table open_to_all (id int primary key);
  grant select, insert on open_to_all to basalt_anonymous`

const token = userToken({ sub: alice })
let app: TestApp
let other: TestApp
let gate: pg.Client

beforeAll(async () => {
  app = await createTestApp({ setup })
  other = await createTestApp({ database: app.database })
  await app.sql('insert into basalt.users (id) values ($1)', [alice])
  gate = new pg.Client({ connectionString: app.database.url })
  await gate.connect()
})
beforeEach(() => app.sql('truncate song, gated'))
afterEach(() => gate.query('select pg_advisory_unlock_all()'))
afterAll(async () => {
  await gate.end()
  expect(faultsOf(app)).toEqual([])
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

function post(path: string, rows: unknown, { headers, ...options }: RequestOptions = {}, on = app) {
  return on.request('POST', `/api/collections/${path}`, {
    token,
    ...options,
    headers: { prefer: 'respond-async', 'content-type': 'application/json', ...headers },
    body: typeof rows === 'string' ? rows : JSON.stringify(rows),
  })
}

async function begin(path: string, rows: unknown, on = app): Promise<string> {
  const { status, headers, text } = await post(path, rows, {}, on)
  expect(status, text).toBe(202)
  return headers.get('location') ?? ''
}

async function statusOf(location: string, on = other) {
  const { status, text, json } = await on.request('GET', location, { token })
  expect(status, text).toBe(200)
  return json
}

function ended(location: string, on = other) {
  return waitFor('the end of the import', async () => {
    const status = await statusOf(location, on)
    return status.state === 'running' ? undefined : status
  })
}

const rows = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => ({ id: from + index, name: `n${from + index}` }))
const instant = expect.stringMatching(/^\d{4}-.*Z$/)
const closeGate = () => gate.query('select pg_advisory_lock(42)')
const openGate = () => gate.query('select pg_advisory_unlock(42)')

describe('import in the background', () => {
  test('is canceled when its client disconnects before the response', async () => {
    await closeGate()
    await using imports = await openTransaction(app.database)
    await imports.sql('lock table basalt.imports in exclusive mode')
    const leaving = new AbortController()
    const sent = fetch(`${app.url}/api/collections/gated/import`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        prefer: 'respond-async',
        'content-type': 'application/json',
      },
      body: JSON.stringify(rows(600)),
      signal: leaving.signal,
    })
    await imports.waitForBlocked()
    leaving.abort()
    await expect(sent).rejects.toThrow('aborted')
    await imports.commit()
    const states = () => app.sql('select state from basalt.imports')
    await waitFor('the end of the import', async () => (await states())[0]?.state === 'canceled')
    await openGate()
    expect(await app.sql('select 1 from gated')).toEqual([])
    await app.sql('delete from basalt.imports')
  })

  test('reports its progress on every node, and its result', async () => {
    await closeGate()
    const response = await post('gated/import', rows(600))
    expect([response.status, response.headers.get('preference-applied')]).toEqual([202, 'respond-async'])
    const begun = {
      ...{ id: expect.any(String), collection: 'gated', state: 'running' },
      ...{ rowsRead: 600, rowsWritten: 0, failed: 0 },
      ...{ startedAt: instant, finishedAt: null, result: null, error: null },
    }
    expect(response.json).toEqual(begun)
    const location = response.headers.get('location') ?? ''
    expect(location).toBe(`/api/collections/gated/imports/${response.json.id}`)
    await waitFor('progress', async () => (await statusOf(location)).rowsWritten === 400)
    expect(await statusOf(location)).toEqual({ ...begun, rowsWritten: 400 })
    expect(await app.sql('select 1 from gated')).toEqual([])
    await openGate()
    expect(await ended(location)).toEqual({
      ...begun,
      ...{ state: 'succeeded', rowsWritten: 600, finishedAt: instant },
      result: { processed: 600, inserted: 600, updated: 0, skipped: 0, failed: 0 },
    })
    expect(await app.sql('select count(*)::int from gated')).toEqual([{ count: 600 }])
  })

  test('counts rows once when they are written again without those that break a deferred foreign key', async () => {
    await closeGate()
    const chained = Array.from({ length: 600 }, (_, index) => ({ id: index + 1, parent_id: null }))
    const location = await begin('chained/import?mode=partial', [
      { id: 1, parent_id: 9999 },
      ...chained.slice(1),
    ])
    const seen = await waitFor('the rows before the gate', async () => {
      const { rowsWritten } = await statusOf(location)
      return rowsWritten === 399 || rowsWritten > 600 ? rowsWritten : undefined
    })
    expect(seen).toBe(399)
    await openGate()
    expect(await ended(location)).toMatchObject({ state: 'succeeded', rowsWritten: 599, failed: 1 })
  })

  test('fails with the error of a foreground import', async () => {
    const location = await begin('song/import', [
      { id: 1, name: 'a' },
      { id: 2, name: null },
    ])
    expect(await ended(location)).toMatchObject({
      ...{ state: 'failed', rowsRead: 2, rowsWritten: 0, finishedAt: instant, result: null },
      error: {
        ...{ code: 409, message: '1 row was refused and nothing was imported', error: 'import_failed' },
        ...{ processed: 2, inserted: 0, updated: 0, skipped: 0, failed: 1 },
        errors: [{ row: 2, message: expect.stringContaining('name') }],
      },
    })
    expect(await app.sql('select 1 from song')).toEqual([])
  })

  test('supports mode=partial and dryRun', async () => {
    const sent = [
      { id: 1, name: 'a' },
      { id: 2, name: null },
    ]
    const counted = {
      processed: 2,
      inserted: 1,
      updated: 0,
      skipped: 0,
      failed: 1,
      errors: [expect.anything()],
    }
    const shown = await ended(await begin('song/import?mode=partial&dryRun=true', sent))
    expect(shown).toMatchObject({ state: 'succeeded', result: { ...counted, dryRun: true } })
    expect(await app.sql('select 1 from song')).toEqual([])
    const written = await ended(await begin('song/import?mode=partial', sent))
    expect(written).toMatchObject({ state: 'succeeded', rowsWritten: 1, failed: 1, result: counted })
    expect(await app.sql('select id from song')).toEqual([{ id: 1 }])
  })

  const cancel = (location: string, as = token, on = other) => on.request('DELETE', location, { token: as })
  const hasEnded = (state: string) => ({
    code: 409,
    message: `the import has ended: ${state}`,
    error: 'import_has_ended',
  })

  test.each([
    ['another node', () => other],
    ['its own node', () => app],
  ])('is canceled on %s, once by ten requests, and imports nothing', async (_, nodeOf) => {
    await closeGate()
    const location = await begin('gated/import', rows(600))
    await waitFor('progress', async () => (await statusOf(location)).rowsWritten === 400)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_each, index) => cancel(location, token, index % 2 ? nodeOf() : other)),
    )
    const [canceled, ...rest] = answers.filter(({ status }) => status === 200)
    expect(rest).toEqual([])
    expect(canceled?.json).toMatchObject({
      state: 'canceled',
      rowsWritten: 0,
      finishedAt: instant,
      error: null,
    })
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.map(envelope)).toEqual(refused.map(() => hasEnded('canceled')))
    // Its connection is released although the gate stays closed.
    await waitFor('the end of the statement', async () => {
      const [row] = await app.sql<{ waiting: number }>(
        `select count(*)::int as waiting from pg_locks where locktype = 'advisory' and objid = 42 and not granted`,
      )
      return row?.waiting === 0
    })
    await openGate()
    expect(await app.sql('select 1 from gated')).toEqual([])
    expect(await statusOf(location)).toEqual(canceled?.json)
    expect(await ended(await begin('gated/import', rows(600)))).toMatchObject({ state: 'succeeded' })
  })

  test('is canceled only by its user and by administrators, while it runs', async () => {
    await closeGate()
    const location = await begin('gated/import', rows(600))
    const missing = { code: 404, message: 'import not found', error: 'import_not_found' }
    expect(envelope(await cancel(location, userToken({ sub: bob })))).toEqual(missing)
    expect(envelope(await cancel(location.replace('gated', 'song')))).toEqual(missing)
    expect(envelope(await cancel('/api/collections/gated/imports/x'))).toEqual(missing)
    expect((await cancel(`${location}?now=1`)).status).toBe(400)
    expect((await statusOf(location)).state).toBe('running')
    expect((await cancel(location, await app.adminToken())).json.state).toBe('canceled')
    await openGate()
    const done = await begin('song/import', rows(1))
    await ended(done)
    expect(envelope(await cancel(done))).toEqual(hasEnded('succeeded'))
    expect(await app.sql('select id from song')).toEqual([{ id: 1 }])
  })

  test.each([
    ['no JSON', 'song/import', '[{', 400],
    ['nothing', 'song/import', '', 400],
    ['an unknown parameter', 'song/import?mod=full', [], 400],
    ['an unknown collection', 'nothing/import', [], 404],
    ['a table without the right', 'closed/import', [{ id: 1 }], 202],
  ])('rejects %s', async (_, path, sent, status) => {
    const response = await post(path, sent)
    expect(response.status).toBe(status)
    if (status !== 202) return
    expect(await ended(response.headers.get('location') ?? '')).toMatchObject({
      state: 'failed',
      error: { code: 403, message: 'insufficient permissions', error: 'insufficient_permissions' },
    })
  })

  test.each(['respond-async, wait=10', 'wait=10,RESPOND-ASYNC', 'respond-async; x=1'])(
    'is requested by %s',
    async (prefer) => {
      const response = await post('song/import', rows(1), { headers: { prefer } })
      expect(response.status).toBe(202)
      await ended(response.headers.get('location') ?? '')
    },
  )

  test.each(['respond-asynchronously', 'return=minimal', ''])('is not requested by %j', async (prefer) => {
    expect((await post('song/import', rows(1), { headers: { prefer } })).status).toBe(200)
  })

  test('responds without a token when the rows are written', async () => {
    const response = await post('open_to_all/import', [{ id: 1 }], { token: undefined })
    expect([response.status, response.json.inserted]).toEqual([200, 1])
  })

  test('is visible to its user, to keys that may read the table, and to administrators', async () => {
    const location = await begin('song/import', rows(1))
    await ended(location)
    const missing = { code: 404, message: 'import not found', error: 'import_not_found' }
    const sendRequest = (path: string, options: RequestOptions) => app.request('GET', path, options)
    expect(envelope(await sendRequest(location, { token: userToken({ sub: bob }) }))).toEqual(missing)
    const id = location.split('/').at(-1)
    for (const path of [
      `gated/imports/${id}`,
      'song/imports/x',
      `song/imports/${bob}`,
      `nothing/imports/${id}`,
    ]) {
      expect(envelope(await sendRequest(`/api/collections/${path}`, { token })), path).toEqual(missing)
    }
    expect((await sendRequest(location, {})).status).toBe(401)
    expect((await sendRequest(`${location}?x=1`, { token })).status).toBe(400)
    const key = async (table: string) =>
      (await createApiKey(app, { userId: alice, scope: 'readonly', allowedTables: [table] })).key
    expect((await sendRequest(location, { token: await key('song') })).status).toBe(200)
    expect((await sendRequest(location, { token: await key('gated') })).status).toBe(403)
    expect((await sendRequest(location, { token: await app.adminToken() })).json.state).toBe('succeeded')
    const ofAdministrator = await post('song/import', rows(1, 9), { token: await app.adminToken() })
    expect((await sendRequest(ofAdministrator.headers.get('location') ?? '', { token })).status).toBe(404)
  })

  test('fails when its node is presumed dead, and writes nothing if the node was alive', async () => {
    await closeGate()
    const location = await begin('gated/import', rows(500))
    await waitFor('progress', async () => (await statusOf(location)).rowsWritten === 400)
    // Its node renews the lease once a second.
    const lost = await waitFor('the loss', async () => {
      await app.sql(
        `update basalt.imports set alive_at = now() - interval '31 seconds' where state = 'running'`,
      )
      const status = await statusOf(location)
      return status.state === 'failed' ? status : undefined
    })
    const error = {
      ...{ code: 503, error: 'import_lost' },
      message: 'the server that wrote the import has stopped and nothing was imported',
    }
    expect(lost).toMatchObject({ rowsWritten: 0, finishedAt: instant, error })
    await openGate()
    await waitFor('the end of its transaction', async () => {
      const open = await app.sql(
        `select from pg_locks where relation = 'gated'::regclass and mode = 'RowExclusiveLock'`,
      )
      return open.length === 0
    })
    expect(await app.sql('select 1 from gated')).toEqual([])
    expect(await statusOf(location)).toMatchObject({ state: 'failed', error })
  })

  test('fails when its node stops', async () => {
    await closeGate()
    const node = await createTestApp({ database: app.database })
    const location = await begin('gated/import', rows(500), node)
    await waitFor('progress', async () => (await statusOf(location)).rowsWritten === 400)
    await node[Symbol.asyncDispose]()
    expect(await statusOf(location)).toMatchObject({
      ...{ state: 'failed', rowsWritten: 0, error: { code: 503, message: 'server is shutting down' } },
    })
    await openGate()
    expect(await app.sql('select 1 from gated')).toEqual([])
  })

  test('waits in a queue of at most sixteen', async () => {
    await closeGate()
    const first = await begin('gated/import', rows(500))
    const second = await begin('gated/import', rows(1, 500))
    const waiting = await Promise.all(
      Array.from({ length: 20 }, (_, index) => post('song/import', rows(1, index))),
    )
    const accepted = waiting.filter(({ status }) => status === 202)
    expect(accepted).toHaveLength(14)
    const refused = waiting.find(({ status }) => status !== 202)
    expect(refused && envelope(refused)).toEqual({
      ...{ code: 503, message: 'too many imports in flight', error: 'too_many_imports' },
    })
    expect(refused?.headers.get('retry-after')).toBe('5')
    await openGate()
    const locations = accepted.map(({ headers }) => headers.get('location') ?? '')
    for (const location of locations) expect((await ended(location)).state).toBe('succeeded')
    // The two imports have one row in common.
    const states = [(await ended(first)).state, (await ended(second)).state]
    expect(states.toSorted()).toEqual(['failed', 'succeeded'])
  })

  test('is deleted after seven days, when another one starts', async () => {
    const old = await begin('song/import', rows(1))
    await ended(old)
    await app.sql(`update basalt.imports set started_at = now() - interval '8 days'`)
    await ended(await begin('song/import', rows(1, 2)))
    expect((await app.request('GET', old, { token })).status).toBe(404)
    expect(await app.sql('select count(*)::int from basalt.imports')).toEqual([{ count: 1 }])
  })
})
