import { spawn } from 'node:child_process'
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob, notes } from './fixtures.ts'
import { type Pooler, pgbouncer, startPgBouncer } from './pgbouncer.ts'
import { makeScratchDirectory } from './scratch-directory.ts'
import { sendRequest } from './send-request.ts'
import { createDirectory, isRoot, unprivileged } from './server-process.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  userToken,
} from './test-app.ts'
import { findFreePort, startThrowAwayCluster } from './throw-away-cluster.ts'
import { startTransactionPooler } from './transaction-pooler.ts'
import { waitFor } from './wait-for.ts'

const sessions = 3

function startOurs(database: URL): Promise<Pooler> {
  return startTransactionPooler({
    target: Number(database.port),
    user: database.username,
    database: database.pathname.slice(1),
    sessions,
  })
}

/** Returns whether a connection to the port is accepted. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** Starts PgBouncer as the guide configures it, before a cluster whose roles log in by passwords. */
async function startListedPgBouncer(target: number) {
  const account = isRoot ? unprivileged : undefined
  const directory = createDirectory(account)
  const port = await findFreePort()
  const list = join(directory.path, 'userlist.txt')
  const file = join(directory.path, 'pgbouncer.ini')
  writeFileSync(list, '')
  writeFileSync(
    file,
    `[databases]
app = host=127.0.0.1 port=${target} dbname=app
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
pool_mode = transaction
auth_type = scram-sha-256
auth_file = ${list}
`,
  )
  const child = spawn(pgbouncer, ['--quiet', file], { stdio: 'ignore', ...account })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  // Before it listens, SIGHUP would end it.
  await waitFor('PgBouncer to listen', () => accepts(port))
  const logsIn = (user: string) => {
    const client = new pg.Client({ connectionString: `postgresql://${user}@127.0.0.1:${port}/app` })
    client.on('error', () => undefined)
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    )
  }
  return {
    port,
    /** Lists these users in the file of PgBouncer and waits until one of them can log in. */
    async list(lines: readonly string[], user: string) {
      writeFileSync(list, lines.join('\n'))
      await waitFor('PgBouncer to know the roles', async () => {
        child.kill('SIGHUP')
        return await logsIn(user)
      })
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await directory[Symbol.asyncDispose]()
    },
  }
}

test.skipIf(!existsSync(pgbouncer))(
  `pooler › PgBouncer configured by the guide lets requests log in without privileges${existsSync(pgbouncer) ? '' : ' (skipped: PgBouncer is not installed)'}`,
  async () => {
    const owner = 'app:of%20the%20owner'
    const directory = makeScratchDirectory('basalt-hba-')
    // Postgres runs under an account of its own, which needs access.
    chmodSync(directory, 0o755)
    const hba = join(directory, 'hba.conf')
    writeFileSync(
      hba,
      'local all all trust\nhost all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n',
      { mode: 0o644 },
    )
    await using cluster = await startThrowAwayCluster({ hba_file: hba })
    await cluster.sql('postgres', "create role app login createrole password 'of the owner'")
    await cluster.sql('postgres', 'create database app owner app')
    await cluster.sql('app', `${notes}; alter table note owner to app`)
    await using pooler = await startListedPgBouncer(cluster.port)
    // Statement of the guide.
    const lines = async () => {
      const rows = await cluster.sql<{ format: string }>(
        'postgres',
        `select format('"%s" "%s"', rolname, rolpassword) from pg_authid
         where rolname in ('app', 'basalt_gateway', 'basalt_administrator')`,
      )
      return rows.map(({ format }) => format)
    }
    const database: TestDatabase = {
      url: `postgresql://${owner}@127.0.0.1:${pooler.port}/app`,
      sql: async <Row extends pg.QueryResultRow>(text: string) => await cluster.sql<Row>('app', text),
      [Symbol.asyncDispose]: async () => undefined,
    }
    const config = { 'database.require_rls': 'false', 'logging.level': 'warn' }
    const token = userToken({ sub: alice })
    const work = async (app: TestApp) => {
      const body = { body: 'one', owner_id: alice }
      const created = await app.request('POST', '/api/collections/note', { token, body })
      const listed = await app.request('GET', '/api/collections/note', { token: await app.adminToken() })
      return [created.status, listed.status]
    }
    const loginsOf = async () => {
      const rows = await database.sql<{ login: string }>(`
        select distinct usename::text as login from pg_stat_activity
        where datname = 'app' and usename <> 'postgres' order by 1`)
      return rows.map(({ login }) => login)
    }
    const said = ({ log }: TestApp) =>
      log.filter((line) => line.includes('"pooler"') || line.includes('"run"'))

    await pooler.list(await lines(), owner)
    {
      await using app = await createTestApp({ database, config })
      expect(await work(app)).toEqual([201, 200])
      const [gateway = '', administrator = ''] = said(app)
      const [, line] =
        /"pooler":"add to its auth_file, and start again: (.*?\\"[^"]*\\")"/.exec(gateway) ?? []
      expect((await lines()).join('\n')).toContain(line?.replaceAll('\\"', '"'))
      const [statement = ''] = /create role basalt_administrator [^;]*;/.exec(administrator) ?? []
      await database.sql(statement)
    }
    await pooler.list(await lines(), owner)
    await using app = await createTestApp({ database, config })
    expect(said(app)).toEqual([])
    expect(await work(app)).toEqual([201, 200])
    expect(await loginsOf()).toEqual(['app', 'basalt_administrator', 'basalt_gateway'])
    rmSync(directory, { recursive: true })
  },
)

const poolers: [string, (database: URL) => Promise<Pooler>][] = [
  ['a pooler of our own', startOurs],
  ...(existsSync(pgbouncer) ? [['PgBouncer', startPgBouncer] as [string, typeof startPgBouncer]] : []),
]

describe.each(poolers)('pooler › %s in transaction mode', (_, startPooler) => {
  let database: TestDatabase
  let pooler: Pooler
  let app: TestApp
  const token = { alice: userToken({ sub: alice }), bob: userToken({ sub: bob }) }

  beforeAll(async () => {
    database = await createTestDatabase()
    const url = new URL(database.url)
    await database.sql(`
      ${notes}
      create table moment (id int primary key, at timestamptz, lasting interval);
      insert into moment values (1, '2026-03-04 05:06:07+00', '1 day 2 hours');
      create view nap as select 'rested' as state from pg_sleep(0.4);
      create view long_nap as select 'rested' as state from pg_sleep(60);
      alter database ${url.pathname.slice(1)} set timezone to 'America/New_York'`)
    pooler = await startPooler(url)
    app = await createTestApp({
      database,
      config: { 'database.url': urlOfPooler(), 'database.statement_timeout_ms': '700' },
    })
  })
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]()
    await pooler?.[Symbol.asyncDispose]()
    await database?.[Symbol.asyncDispose]()
  })

  function urlOfPooler(): string {
    const url = new URL(database.url)
    url.port = String(pooler.port)
    return url.href
  }

  test('is detected at startup', () => {
    expect(app.app.database.engine).toMatchObject({ isPooled: true })
  })

  test('creates, reads, changes, lists in batches and deletes records', async () => {
    const options = { token: token.alice }
    const created = await app.request('POST', '/api/collections/note', { ...options, body: { body: 'one' } })
    expect(created).toMatchObject({ status: 201, json: { owner_id: alice, body: 'one' } })
    const path = `/api/collections/note/${created.json.id}`
    const changed = await app.request('PATCH', path, { ...options, body: { body: 'two' } })
    expect(changed.json).toEqual({ ...created.json, body: 'two' })
    expect((await app.request('GET', path, options)).json).toEqual(changed.json)
    const operations = [
      { method: 'create', body: { body: 'three' } },
      { method: 'delete', id: created.json.id },
    ]
    expect(
      (await app.request('POST', '/api/collections/note/batch', { ...options, body: { operations } })).status,
    ).toBe(200)
    const listed = await app.request('GET', '/api/collections/note', options)
    expect(listed.json).toMatchObject({ totalItems: 1, items: [{ body: 'three' }] })
    expect((await app.request('GET', path, options)).status).toBe(404)
  })

  test('returns the same values as a direct connection', async () => {
    const { json } = await app.request('GET', '/api/collections/moment/1', { token: token.alice })
    expect(json).toEqual({ id: 1, at: '2026-03-04T05:06:07+00:00', lasting: 'P1DT2H' })
  })

  test('gives no caller the claims of another on a shared session', async () => {
    await database.sql('truncate note')
    const work = Array.from({ length: 60 }, async (_, turn) => {
      const [owner, theirs] = turn % 2 === 0 ? ([alice, token.alice] as const) : ([bob, token.bob] as const)
      const body = { body: `${turn}` }
      const created = await app.request('POST', '/api/collections/note', { token: theirs, body })
      expect(created).toMatchObject({ status: 201, json: { owner_id: owner } })
      const { json } = await app.request('GET', '/api/collections/note?perPage=500', { token: theirs })
      expect(new Set(json.items.map((item: { owner_id: string }) => item.owner_id))).toEqual(new Set([owner]))
    })
    await Promise.all(work)
    const all = await app.request('GET', '/api/collections/note?perPage=1', { token: await app.adminToken() })
    expect(all.json.totalItems).toBe(60)
    const client = new pg.Client({ connectionString: urlOfPooler() })
    await client.connect()
    for (let turn = 0; turn < sessions * 3; turn += 1) {
      const { rows } = await client.query(
        `select current_user::text as name, current_setting('role') as role,
           current_setting('basalt.user_id', true) as user_id`,
      )
      expect(rows[0]).toEqual({ name: 'postgres', role: 'none', user_id: expect.toBeOneOf(['', null]) })
    }
    await client.end()
  })

  test('returns to each of many reads at once its own record', async () => {
    await database.sql(`truncate note; insert into note (body, owner_id)
      select 'note ' || turn, '${alice}' from generate_series(1, 60) turn`)
    const notes = await database.sql<{ id: string; body: string }>('select id::text, body from note')
    const read = async (id: string) =>
      (await app.request('GET', `/api/collections/note/${id}?fields=body`, { token: token.alice })).json
    for (let turn = 0; turn < 10; turn += 1) {
      const found = await Promise.all(notes.map(({ id }) => read(id)))
      expect(found).toEqual(notes.map(({ body }) => ({ body })))
    }
  })

  test.each([
    ['all', 'succeeds', 'select 1', 200],
    ['all', 'fails', 'select 1/0', 400],
    ['each', 'succeeds', 'begin; set work_mem to 99; commit', 200],
    ['each', 'fails', 'begin; set work_mem to 99; select 1/0', 400],
  ])(
    'leaves no trace of an SQL editor run in transaction %s that %s',
    async (transaction, _, end, status) => {
      const query = `
      select pg_advisory_lock(4711); listen passing; prepare kept as select 1; create temp table hidden ();
      set search_path to hidden; set statement_timeout to 77; set role basalt_anonymous;
      select set_config('basalt.user_id', '${alice}', false), turn from generate_series(1, 1000) turn; ${end}`
      const run = { token: await app.adminToken(), body: { query, mode: 'write', transaction, maxRows: 3 } }
      expect((await app.request('POST', '/api/admin/sql', run)).status).toBe(status)
      for (const state of await statesOfSessions()) {
        expect(state).toEqual({
          name: 'postgres',
          user_id: '',
          path: '"$user", public',
          timeout: '0',
          memory: '4MB',
          temporary: 0,
          kept: 0,
          channels: 0,
          locks: 0,
        })
      }
    },
  )

  /** Returns the state that clients find on the pooler's sessions, all used at once. */
  async function statesOfSessions(): Promise<unknown[]> {
    const clients = await Promise.all(
      Array.from({ length: sessions }, async () => {
        const client = new pg.Client({ connectionString: urlOfPooler() })
        await client.connect()
        return client
      }),
    )
    try {
      await Promise.all(clients.map((client) => client.query('begin')))
      const answers = clients.map((client) =>
        client.query(`
          select current_user::text as name, coalesce(current_setting('basalt.user_id', true), '') as user_id,
           current_setting('search_path') as path, current_setting('statement_timeout') as timeout,
           current_setting('work_mem') as memory,
           (select count(*)::int from pg_class where relnamespace = pg_my_temp_schema()) as temporary,
           (select count(*)::int from pg_prepared_statements where name = 'kept') as kept,
           (select count(*)::int from pg_listening_channels()) as channels,
           (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks`),
      )
      return (await Promise.all(answers)).flatMap(({ rows }) => rows)
    } finally {
      // The test pooler does not end the transaction of a client that disconnects.
      await Promise.all(clients.map((client) => client.query('rollback').then(() => client.end())))
    }
  }

  test('runs statements of the SQL editor that cannot be in a transaction', async () => {
    const query =
      'vacuum basalt.settings; set work_mem to 99; select 1 as one; reindex table concurrently basalt.jobs'
    const run = { token: await app.adminToken(), body: { query, mode: 'write', transaction: 'each' } }
    const { status, json } = await app.request('POST', '/api/admin/sql', run)
    expect([status, json]).toMatchObject([200, { command: 'REINDEX', statements: 4 }])
  })

  test('keeps the settings of the block after a rollback to a savepoint', async () => {
    const query = `begin; set local work_mem to 99; savepoint a; rollback to a; select current_setting('work_mem')`
    const run = { token: await app.adminToken(), body: { query, mode: 'write', transaction: 'each' } }
    const { json } = await app.request('POST', '/api/admin/sql', run)
    expect(json.rows).toEqual([['99kB']])
  })

  test('ends a statement after its timeout', async () => {
    const response = await app.request('GET', '/api/collections/long_nap?skipTotal=true', {
      token: token.alice,
    })
    expect(envelope(response)).toEqual({
      code: 504,
      message: 'the database took too long',
      error: 'statement_timeout',
    })
  })

  test('cancels no other statement when a client disconnects', async () => {
    const path = `${app.url}/api/collections`
    for (let round = 0; round < 3; round += 1) {
      const leaving = new AbortController()
      const { signal } = leaving
      const gone = sendRequest('GET', `${path}/long_nap?skipTotal=true`, { token: token.alice, signal })
      const end = gone.then(
        () => 'answered',
        () => 'gone',
      )
      await waitFor('the statement', () => app.app.database.user.stats.busy > 0)
      const staying = Array.from({ length: sessions - 1 }, () =>
        sendRequest('GET', `${path}/nap?skipTotal=true`, { token: token.bob }),
      )
      leaving.abort()
      expect(await end).toBe('gone')
      for (const { status } of await Promise.all(staying)) expect(status).toBe(200)
      await waitFor('an idle pool', () => app.app.database.user.stats.busy === 0)
    }
  })

  test('notices created and dropped tables', async () => {
    await database.sql('create table passing (id int primary key)')
    const path = '/api/collections/passing'
    expect((await app.request('GET', path, { token: token.bob })).json.totalItems).toBe(0)
    await database.sql('drop table passing')
    expect((await app.request('GET', path, { token: token.bob })).status).toBe(404)
  })
})

test.each([
  ['behind a pooler with database.listen_url are announced by NOTIFY', true],
  ['behind a pooler without database.listen_url are noticed by polling', false],
])('receives changes of another node %s', async (_, isListening) => {
  await using database = await createTestDatabase()
  const url = new URL(database.url)
  await using pooler = await startTransactionPooler({
    target: Number(url.port),
    user: url.username,
    database: url.pathname.slice(1),
    sessions,
    // The id of no session, so that nodes detect the pooler whichever session they get.
    processId: 1,
  })
  url.port = String(pooler.port)
  const config = {
    'database.url': url.href,
    ...(isListening ? { 'database.listen_url': database.url } : {}),
  }
  await using writer = await createTestApp({ database, config })
  await using reader = await createTestApp({ database, config })
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const topics: string[] = []
  client.on('notification', ({ payload = '' }) => topics.push(payload))
  await client.query('listen basalt')
  const settings = (node: TestApp, method: string, body?: unknown) =>
    node
      .adminToken()
      .then((admin) => node.request(method, '/api/admin/auth-settings', { token: admin, body }))
  expect((await settings(writer, 'PUT', { totp_enabled: isListening, sms_enabled: true })).status).toBe(200)
  await waitFor('the other node', async () => {
    const { json } = await settings(reader, 'GET')
    return json.totp_enabled === isListening && json.sms_enabled
  })
  await client.query(`notify basalt, 'end'`)
  await waitFor('the end', () => topics.includes('end'))
  expect(topics.includes('auth_settings')).toBe(isListening)
  const polling = writer.log.filter((line) => line.includes('polling for changes'))
  expect(polling).toHaveLength(isListening ? 0 : 1)
  await client.end()
})
