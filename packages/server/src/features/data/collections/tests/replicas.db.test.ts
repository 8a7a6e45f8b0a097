import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { type Standby, startStandby } from '../../../../../test/standby.ts'
import { createTcpProxy, type TcpProxy } from '../../../../../test/tcp-proxy.ts'
import {
  createTestApp,
  envelope,
  type RequestOptions,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../../../../../test/throw-away-cluster.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

/** `served` shows which server has run a read. `drawn` and `unlogged` cannot be read on a replica. */
const setup = `
  create table note (id int primary key, body text, owner_id uuid default basalt.user_id());
  alter table note enable row level security;
  create policy all_of_them on note using (true) with check (true);
  create view served as select pg_is_in_recovery() as by_replica;
  create sequence numbers;
  create function draw() returns bigint language sql security definer as $$ select nextval('public.numbers') $$;
  create view drawn as select draw() as number;
  create function divide(x int) returns int language sql as $$ select 1 / x $$;
  create view divided as select divide(0) as quotient;
  create view slow as select pg_sleep(30)::text as nap;
  create unlogged table unlogged (id int primary key);
  insert into unlogged values (1);
  create function add_note(id int) returns void language sql as $$ insert into note values (id, 'by a function') $$;
  grant select, insert on note to basalt_anonymous;
  grant select on served, drawn, divided, slow, unlogged to basalt_anonymous;
`

let primary: ThrowAwayCluster
let standby: Standby
let database: TestDatabase
let app: TestApp
let proxy: TcpProxy

const token = userToken({ sub: alice })

beforeAll(async () => {
  primary = await startThrowAwayCluster({ max_connections: '100' })
  await primary.sql('postgres', 'create database app')
  standby = await startStandby(primary, {
    settings: { max_connections: '100', max_standby_streaming_delay: '0' },
  })
  proxy = await createTcpProxy(standby.port)
  database = {
    url: `${primary.url}/app`,
    sql: (text) => primary.sql('app', text),
    [Symbol.asyncDispose]: async () => undefined,
  }
  app = await open()
  await app.sql(setup)
  await waitFor('the replica to be in use', isReplicaInUse)
  // The node has seen the new tables, and the replica has them.
  await waitFor('a read on the replica', async () => (await servedBy()) === 'replica')
})

afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  await proxy?.[Symbol.asyncDispose]()
  await standby?.[Symbol.asyncDispose]()
  await primary?.[Symbol.asyncDispose]()
})

let isPromoted = false

afterEach(async () => {
  if (isPromoted) return
  await standby.resume().catch(() => undefined)
  await waitFor('the replica to catch up', () => standby.hasCaughtUp())
  await waitFor('the replica to be in use', isReplicaInUse)
})

function open(config: Readonly<Record<string, string>> = {}): Promise<TestApp> {
  return createTestApp({
    database,
    config: {
      'logging.level': 'info',
      'database.replica_urls': `postgresql://postgres@127.0.0.1:${proxy.port}/app`,
      ...config,
    },
  })
}

function isReplicaInUse(): boolean {
  return app.app.database.replicas?.list()[0]?.refusal === undefined
}

function fallbacks(): Record<string, number> {
  return Object.fromEntries(app.app.database.replicas?.fallbacks ?? [])
}

/** Returns the server that has run a read. */
async function servedBy(options: RequestOptions = {}, from = app): Promise<string> {
  const { status, json, text } = await from.request('GET', '/api/collections/served', options)
  if (status !== 200) throw new Error(`status ${status}: ${text}`)
  return json.items[0].by_replica ? 'replica' : 'primary'
}

let lastId = 0

/** Creates a note and returns its id and the position of the response. */
async function write(
  options: RequestOptions = { token },
  on = app,
): Promise<{ id: number; position: string }> {
  lastId += 1
  const id = lastId
  const { status, headers } = await on.request('POST', '/api/collections/note', {
    ...options,
    body: { id, body: 'hello' },
  })
  expect(status).toBe(201)
  return { id, position: headers.get('x-basalt-position') ?? '' }
}

async function ids(options: RequestOptions = {}, from = app): Promise<number[]> {
  const { json } = await from.request('GET', '/api/collections/note?sort=id&perPage=500&fields=id', options)
  return json.items.map(({ id }: { id: number }) => id)
}

const at = (position: string) => ({ 'x-basalt-position': position })
const eventual = { 'x-read-consistency': 'eventual' }

describe('read replicas › routing', () => {
  test('serves reads without a token by a replica, and those with a token by the primary', async () => {
    expect(await servedBy()).toBe('replica')
    expect(await servedBy({ token })).toBe('primary')
    expect(await servedBy({ headers: { 'x-read-consistency': 'strong' } })).toBe('primary')
    expect(await servedBy({ token, headers: eventual })).toBe('replica')
    expect(await servedBy({ token: await app.adminToken(), headers: eventual })).toBe('replica')
  })

  test('serves lists, records, facets, aggregates and queries by POST, and writes by the primary', async () => {
    const { id } = await write()
    await waitFor('the replica to catch up', () => standby.hasCaughtUp())
    const before = app.app.database.replicas?.list()[0]?.reads ?? 0
    const paths = [
      ['GET', `/api/collections/note/${id}`],
      ['GET', '/api/collections/note?aggregate=count'],
      ['GET', '/api/collections/note?facets=body'],
      ['GET', '/api/collections/note/facets/body/search?q=hel'],
    ] as const
    for (const [method, path] of paths) {
      expect((await app.request(method, path, { token, headers: eventual })).status).toBe(200)
    }
    const query = await app.request('POST', '/api/collections/note/query', {
      token,
      headers: eventual,
      body: {},
    })
    expect(query.status).toBe(200)
    const graphql = await app.request('POST', '/api/graphql', {
      token,
      headers: eventual,
      body: { query: '{ note { id } }' },
    })
    expect(graphql.status).toBe(200)
    expect(app.app.database.replicas?.list()[0]?.reads).toBe(before + paths.length + 2)
  })

  test.each([
    ['x-read-consistency', 'weak', 'invalid_read_consistency', 'X-Read-Consistency is eventual or strong'],
    [
      'x-basalt-position',
      '1234',
      'invalid_position',
      'X-Basalt-Position is a position that a write has returned, such as 16/B374D848',
    ],
  ])('rejects a malformed %s', async (name, value, error, message) => {
    const response = await app.request('GET', '/api/collections/note', { token, headers: { [name]: value } })
    expect(response.status).toBe(400)
    expect(envelope(response)).toEqual({ code: 400, error, message })
  })

  test('returns no position and reads no header without replicas', async () => {
    await using plain = await createTestApp({ database })
    const { position } = await write({ token }, plain)
    expect(position).toBe('')
    expect(await servedBy({ headers: { 'x-read-consistency': 'weak', ...at('no') } }, plain)).toBe('primary')
  })
})

describe('read replicas › own writes', () => {
  test('finds a write on a replica once that has replayed its position', async () => {
    const { id, position } = await write()
    expect(position).toMatch(/^[\dA-F]+\/[\dA-F]+$/)
    await waitFor('a read on the replica', async () => {
      expect(await ids({ token, headers: at(position) })).toContain(id)
      return (await servedBy({ token, headers: at(position) })) === 'replica'
    })
  })

  test('finds each of many writes at once by its position', async () => {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const { id, position } = await write()
        const { status } = await app.request('GET', `/api/collections/note/${id}`, { headers: at(position) })
        expect(status).toBe(200)
      }),
    )
  })

  test('reads from the primary while the replica lags', async () => {
    await standby.pause()
    const { id, position } = await write()
    expect(await servedBy({ token, headers: at(position) })).toBe('primary')
    expect(await servedBy({ token, headers: { ...at(position), ...eventual } })).toBe('primary')
    expect(await ids({ token, headers: at(position) })).toContain(id)
    // Another client of the same user does not know the position.
    expect(await ids({ token })).toContain(id)
    // Requests without a token, and those that request it, may read the past.
    expect(await ids()).not.toContain(id)
    expect(await ids({ token, headers: eventual })).not.toContain(id)
  })

  test('reads a write that went through another node', async () => {
    await using other = await open()
    await standby.pause()
    const { id, position } = await write({ token }, other)
    expect(await ids({ headers: at(position) })).toContain(id)
    await standby.resume()
    await waitFor('a read on the replica', async () => {
      expect(await ids({ headers: at(position) })).toContain(id)
      return (await servedBy({ headers: at(position) })) === 'replica'
    })
  })

  test.each([
    ['create', 'POST', '/api/collections/note', { id: 100_001 }],
    ['create again', 'POST', '/api/collections/note', { id: 100_002 }, { 'idempotency-key': 'once' }],
    ['replay', 'POST', '/api/collections/note', { id: 100_002 }, { 'idempotency-key': 'once' }],
    ['update', 'PATCH', '/api/collections/note/100001', { body: 'changed' }],
    ['bulk update', 'PATCH', '/api/collections/note?expect=1&filter=id=100001', { body: 'bulk' }],
    ['delete', 'DELETE', '/api/collections/note/100001', undefined],
    [
      'batch',
      'POST',
      '/api/batch',
      { operations: [{ method: 'create', table: 'note', body: { id: 100_003 } }] },
    ],
    ['function', 'POST', '/api/rpc/add_note', { id: 100_004 }],
    [
      'mutation',
      'POST',
      '/api/graphql',
      { query: 'mutation { insert_note(objects: [{id: 100005}]) { affected_rows } }' },
    ],
  ])(
    'returns a position that covers the write: %s',
    async (_, method, path, body, headers: Readonly<Record<string, string>> = {}) => {
      const response = await app.request(method, path, { token, body, headers })
      expect(response.status, response.text).toBeLessThan(300)
      const position = response.headers.get('x-basalt-position') ?? ''
      const [found] = await primary.sql(
        'app',
        `select pg_current_wal_insert_lsn() >= '${position}' as is_past`,
      )
      expect(found).toEqual({ is_past: true })
      await waitFor(
        'a read on the replica',
        async () => (await servedBy({ headers: at(position) })) === 'replica',
      )
    },
  )

  test('returns the position of an import', async () => {
    const response = await app.request('POST', '/api/collections/note/import', {
      token,
      headers: { 'content-type': 'text/csv' },
      body: 'id,body\n200001,imported\n',
    })
    expect(response.status, response.text).toBe(200)
    const position = response.headers.get('x-basalt-position') ?? ''
    expect(await ids({ headers: at(position) })).toContain(200_001)
  })

  test('returns no position for a write that failed', async () => {
    const { id } = await write()
    const again = await app.request('POST', '/api/collections/note', { token, body: { id } })
    expect([again.status, again.headers.get('x-basalt-position')]).toEqual([409, null])
  })

  test('continues a list by a cursor on the other server', async () => {
    for (let count = 0; count < 5; count += 1) await write()
    await waitFor('the replica to catch up', () => standby.hasCaughtUp())
    const page = async (cursor: string, options: RequestOptions) =>
      (await app.request('GET', `/api/collections/note?sort=id&perPage=2&cursor=${cursor}`, options)).json
    const expected = await ids({ token })
    const seen: number[] = []
    let cursor = ''
    for (let number = 0; cursor !== null && number < 500; number += 1) {
      const found = await page(cursor, number % 2 === 0 ? {} : { token })
      seen.push(...found.items.map(({ id }: { id: number }) => id))
      cursor = found.nextCursor ?? null
    }
    expect(seen).toEqual(expected)
  })
})

describe('read replicas › exports', () => {
  const exported = async (options: RequestOptions) =>
    (await app.request('GET', '/api/collections/served/export.json', options)).json

  test('are served by the primary unless they request a replica', async () => {
    expect(await exported({})).toEqual([{ by_replica: false }])
    expect(await exported({ headers: eventual })).toEqual([{ by_replica: true }])
    expect(await exported({ token, headers: eventual })).toEqual([{ by_replica: true }])
  })

  test('are served by the primary while the replica lags, and if it cannot serve them', async () => {
    const drawn = await app.request('GET', '/api/collections/drawn/export.json', { headers: eventual })
    expect([drawn.status, drawn.json.length]).toEqual([200, 1])
    await standby.pause()
    const { position } = await write()
    expect(await exported({ headers: { ...eventual, ...at(position) } })).toEqual([{ by_replica: false }])
  })

  test('close their connection to the replica when they are refused', async () => {
    await using busy = await open({ 'api.max_exports': '1' })
    await waitFor('a read on the replica', async () => (await servedBy({}, busy)) === 'replica')
    const connections = async () => {
      const [found] = await standby.sql<{ count: number }>(
        'app',
        "select count(*)::int as count from pg_stat_activity where backend_type = 'client backend'",
      )
      return found?.count ?? 0
    }
    const held = busy.request('GET', '/api/collections/slow/export.json', { headers: eventual })
    const slow = "query like '%slow%' and state = 'active' and pid <> pg_backend_pid()"
    await waitFor('the first export', async () => {
      const found = await standby.sql('app', `select pid from pg_stat_activity where ${slow}`)
      return found.length === 1
    })
    const before = await connections()
    for (let count = 0; count < 10; count += 1) {
      const refused = await busy.request('GET', '/api/collections/note/export.json', { headers: eventual })
      expect([refused.status, refused.json.error]).toEqual([503, 'exports_busy'])
    }
    // Pools may open some for other reads.
    await waitFor('the connections to close', async () => (await connections()) < before + 5)
    await standby.sql('app', `select pg_cancel_backend(pid) from pg_stat_activity where ${slow}`)
    expect((await held).status).toBe(504)
  })
})

describe('read replicas › what a replica cannot do', () => {
  test('runs a read that writes on the primary, and remembers its shape', async () => {
    const before = fallbacks().unsupported ?? 0
    for (let count = 1; count <= 3; count += 1) {
      const { status, json } = await app.request('GET', '/api/collections/drawn')
      expect([status, json.items.length]).toEqual([200, 1])
    }
    expect(fallbacks().unsupported).toBe(before + 3)
  })

  test('reads an unlogged table from the primary', async () => {
    const { status, json } = await app.request('GET', '/api/collections/unlogged')
    expect([status, json.items]).toEqual([200, [{ id: 1 }]])
  })

  test('returns the error that the primary returns', async () => {
    const [onReplica, onPrimary] = [
      await app.request('GET', '/api/collections/divided'),
      await app.request('GET', '/api/collections/divided', { token }),
    ]
    expect(onReplica.status).toBe(onPrimary.status)
    expect(envelope(onReplica)).toEqual(envelope(onPrimary))
  })

  test('runs a read that a recovery conflict cancels on the primary', async () => {
    // Rows that a running statement may still need are removed on the primary.
    const reading = app.request('GET', '/api/collections/note?filter=body != null', { headers: eventual })
    await reading
    const conflicts = fallbacks().conflict ?? 0
    await app.sql(`create view dawdling as select n.id, pg_sleep(2)::text as nap from note n limit 1;
      grant select on dawdling to basalt_anonymous`)
    await waitFor('the view', async () => {
      const { status } = await app.request('GET', '/api/collections/dawdling?perPage=1&fields=id')
      return status === 200 && (await servedBy()) === 'replica'
    })
    const cancelled = app.request('GET', '/api/collections/dawdling')
    await waitFor('the statement on the replica', async () => {
      const [found] = await standby.sql<{ count: number }>(
        'app',
        `select count(*)::int as count from pg_stat_activity where query like '%dawdling%' and state = 'active'
         and pid <> pg_backend_pid()`,
      )
      return (found?.count ?? 0) > 0
    })
    await app.sql('alter table note add column extra text')
    const { status } = await cancelled
    expect(status).toBe(200)
    expect(fallbacks().conflict).toBeGreaterThan(conflicts)
  })

  test('returns 504 for a statement timeout without a second attempt', async () => {
    await using quick = await open({ 'database.statement_timeout_ms': '300' })
    await waitFor('a read on the replica', async () => (await servedBy({}, quick)) === 'replica')
    const { status } = await quick.request('GET', '/api/collections/slow')
    expect(status).toBe(504)
    expect(quick.app.database.replicas?.primaryReads).toBe(0)
  })
})

describe('read replicas › rotation', () => {
  test('requires the replica to have replayed the last change of the schema', async () => {
    await standby.pause()
    await app.sql(`create table added (id int primary key); insert into added values (1);
      grant select on added to basalt_anonymous`)
    const { status, json } = await app.request('GET', '/api/collections/added')
    expect([status, json.items]).toEqual([200, [{ id: 1 }]])
    await waitFor('the primary to serve', async () => (await servedBy()) === 'primary')
    await standby.resume()
    await waitFor('the replica to serve again', async () => (await servedBy()) === 'replica')
  })

  test('leaves the rotation when it lags, and returns', async () => {
    await using strict = await open({ 'database.replica_max_lag_ms': '1000' })
    const replica = () => strict.app.database.replicas?.list()[0]
    await waitFor('a read on the replica', async () => (await servedBy({}, strict)) === 'replica')
    await standby.setDelay(30_000)
    await write()
    await waitFor('the replica to leave', () => replica()?.refusal !== undefined)
    expect(replica()?.refusal).toBe('its data is older than database.replica_max_lag_ms (1000)')
    expect(await servedBy({}, strict)).toBe('primary')
    expect(await ids({}, strict)).toContain(lastId)
    await standby.setDelay(0)
    await waitFor('a read on the replica', async () => (await servedBy({}, strict)) === 'replica')
  })

  test('stays in the rotation with a lag of 300 ms, and shows own writes', async () => {
    await standby.setDelay(300)
    for (let count = 0; count < 20; count += 1) {
      const { id, position } = await write()
      expect(await ids({ token, headers: at(position) })).toContain(id)
    }
    expect(await servedBy()).toBe('replica')
    await standby.setDelay(0)
  })

  test('serves every read while its replica is cut off, and uses it again', async () => {
    const reads = Array.from({ length: 50 }, async (_, index) => {
      if (index === 20) proxy.cut()
      return await servedBy()
    })
    await Promise.all(reads)
    proxy.cut()
    expect(['primary', 'replica']).toContain(await servedBy())
    await waitFor('a read on the replica', async () => (await servedBy()) === 'replica')
  })

  test('serves every read while its replica is killed and restarts', async () => {
    await standby.stop('immediate')
    await waitFor('the primary to serve', async () => (await servedBy()) === 'primary')
    await waitFor('the reason', () => !isReplicaInUse())
    await standby.start()
    await waitFor('a read on the replica', async () => (await servedBy()) === 'replica')
  })

  test('reports its share of reads, its lag and the fallbacks', async () => {
    const { text } = await app.request('GET', '/metrics')
    const address = `127.0.0.1:${proxy.port}/app`
    expect(text).toMatch(new RegExp(`basalt_database_reads_total\\{server="${address}"\\} [1-9]`))
    expect(text).toMatch(/basalt_database_reads_total\{server="primary"\} [1-9]/)
    expect(text).toContain(`basalt_replica_in_use{replica="${address}"} 1`)
    expect(text).toMatch(new RegExp(`basalt_replica_lag_seconds\\{replica="${address}"\\} 0`))
    expect(text).toMatch(/basalt_replica_fallbacks_total\{reason="unsupported"\} [1-9]/)
  })

  test('does not use the primary itself', async () => {
    const other = new URL(database.url)
    await using confused = await open({ 'database.replica_urls': other.href })
    expect(confused.app.database.replicas?.list()).toMatchObject([
      {
        address: `127.0.0.1:${primary.port}/app`,
        refusal: 'it is not a standby: it was promoted, or is the primary itself',
      },
    ])
    expect(confused.log.join()).toContain('read replica not in use')
    expect(await servedBy({}, confused)).toBe('primary')
  })

  // This is the last test, because there is no way back.
  test('leaves the rotation when it is promoted, and shows nothing of its own', async () => {
    isPromoted = true
    await standby.promote()
    await standby.sql('app', `insert into note values (999999, 'of another timeline')`)
    expect(await ids()).not.toContain(999_999)
    await waitFor('the reason', () => !isReplicaInUse())
    const { refusal } = app.app.database.replicas?.list()[0] ?? {}
    expect(refusal).toMatch(/not a standby/)
    expect(await servedBy()).toBe('primary')
    const { id } = await write({ token: userToken({ sub: bob }) })
    expect(await ids()).toContain(id)
  })
})
