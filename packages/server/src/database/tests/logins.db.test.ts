import { createHash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import { makeFunctionsFolder } from '../../../test/functions-folder.ts'
import { makeScratchDirectory } from '../../../test/scratch-directory.ts'
import { createTestApp, type TestApp, type TestDatabase, userToken } from '../../../test/test-app.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../../../test/throw-away-cluster.ts'
import { startTransactionPooler } from '../../../test/transaction-pooler.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { packageFolder } from '../../package.ts'

/** Cluster of its own, whose roles log in by passwords, except for its superuser. */
let cluster: ThrowAwayCluster
let directory: string

beforeAll(async () => {
  directory = makeScratchDirectory('basalt-hba-')
  // Postgres runs as an account of its own, which must be able to enter the directory.
  chmodSync(directory, 0o755)
  const file = join(directory, 'hba.conf')
  writeFileSync(
    file,
    `local all all trust
host all postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`,
    { mode: 0o644 },
  )
  cluster = await startThrowAwayCluster({ hba_file: file })
  await cluster.sql('postgres', "create role app login createrole password 'of the owner'")
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true })
})

/** Creates an existing database of an owner without superuser rights. */
async function createDatabase(name: string, owner = 'app'): Promise<TestDatabase> {
  await cluster.sql('postgres', `create database ${name} owner ${owner}`)
  await cluster.sql(name, notes)
  await cluster.sql(name, `alter table note owner to ${owner}`)
  const pool = new pg.Pool({ connectionString: `${cluster.url}/${name}`, max: 2 })
  pool.on('error', () => undefined)
  const login = owner === 'postgres' ? 'postgres' : `${owner}:${encodeURIComponent('of the owner')}`
  return {
    url: `postgresql://${login}@127.0.0.1:${cluster.port}/${name}`,
    sql: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(text, [...values])).rows,
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

const token = userToken({ sub: alice })
const list = '/api/collections/note'

async function loginsOf(database: TestDatabase): Promise<string[]> {
  const rows = await database.sql<{ login: string }>(`
    select distinct usename::text as login from pg_stat_activity
    where datname = current_database() and application_name = 'basalt start' order by 1`)
  return rows.map(({ login }) => login)
}

/** Ends the sessions of the pools, so that the next request logs in again. */
async function endSessions(database: TestDatabase): Promise<void> {
  await database.sql(`
    select pg_terminate_backend(pid, 60000) from pg_stat_activity
    where datname = current_database() and usename in ('basalt_gateway', 'basalt_administrator')`)
}

async function statusOf(app: TestApp, as = token): Promise<number> {
  return (await app.request('GET', list, { token: as })).status
}

/** Repeats a request while it is refused with 503: PostgreSQL may accept a connection too late on a machine under load. */
async function servedStatus(app: TestApp, as: string): Promise<number> {
  return await waitFor('a connection to the database', async () => {
    const status = await statusOf(app, as)
    return status !== 503 && status
  })
}

describe('owner with CREATEROLE and without superuser rights', () => {
  test('serves callers through the gateway and administrators as itself, and warns about that at startup', async () => {
    await using database = await createDatabase('plain')
    await using app = await createTestApp({ database, config: { 'logging.level': 'warn' } })
    expect(await statusOf(app)).toBe(200)
    expect(await statusOf(app, await app.adminToken())).toBe(200)
    expect(await loginsOf(database)).toEqual(['app', 'basalt_gateway'])
    const said = app.log.filter((line) => line.includes('logs in as app'))
    expect(said).toHaveLength(1)
    expect(said[0]).toContain('create role basalt_administrator login noinherit bypassrls password')
  })

  test('serves administrators through their own login once an administrator has run the statement', async () => {
    await using database = await createDatabase('granted')
    const statement = await (async () => {
      await using app = await createTestApp({ database, config: { 'logging.level': 'warn' } })
      const line = app.log.find((each) => each.includes('basalt_administrator')) ?? ''
      return /create role basalt_administrator [^;]*;/.exec(line)?.[0] ?? ''
    })()
    await database.sql(statement)
    await using app = await createTestApp({ database })
    const admin = await app.adminToken()
    const note = { body: { body: 'one', owner_id: alice }, token: admin }
    expect((await app.request('POST', list, note)).status).toBe(201)
    expect(await loginsOf(database)).toEqual(['app', 'basalt_administrator', 'basalt_gateway'].slice(0, 2))
    await database.sql('drop owned by basalt_administrator; drop role basalt_administrator')
  })

  test('refuses functions with admin: true with 503, and names the missing login in the log', async () => {
    await using database = await createDatabase('functions')
    using folder = makeFunctionsFolder({
      'notes.ts': `
        import { route } from '@basaltdb/functions'
        export const count = route('GET /count', { access: 'user', admin: true }, async (ctx) =>
          (await ctx.db.sql\`select from note\`).count)`,
    })
    await using app = await createTestApp({ database, config: { 'functions.folder': folder.path } })
    const response = await app.request('GET', '/api/functions/count', { token })
    expect([response.status, response.json.error]).toEqual([503, 'as_admin_unavailable'])
    const line = app.log.find((each) => each.includes('functions with admin: true are not available'))
    expect(line).toContain('there is no login basalt_administrator')
  })

  test('cancels the statement of a caller that has disconnected', async () => {
    await using database = await createDatabase('cancelled')
    await database.sql(`
      create view slow as select pg_sleep(60)::text as id;
      grant select on slow to basalt_authenticated`)
    await using app = await createTestApp({ database })
    const abort = new AbortController()
    const asking = fetch(`${app.url}/api/collections/slow`, {
      headers: { authorization: `Bearer ${token}` },
      signal: abort.signal,
    }).catch(() => undefined)
    const running = async () =>
      (
        await database.sql(`
          select from pg_stat_activity
          where datname = current_database() and state = 'active' and usename = 'basalt_gateway'`)
      ).length
    await expect.poll(running).toBe(1)
    abort.abort()
    await asking
    await expect.poll(running).toBe(0)
  })
})

describe('gateway password', () => {
  test('is the same on two nodes, and is set again where another secret has replaced it', async () => {
    await using database = await createDatabase('shared', 'postgres')
    await using first = await createTestApp({ database })
    await using second = await createTestApp({ database })
    expect(await Promise.all([statusOf(first), statusOf(second)])).toEqual([200, 200])
    const secret = 'another-secret-of-at-least-thirty-two-characters'
    await using rotated = await createTestApp({ database, config: { 'auth.jwt_secret': secret } })
    for (const app of [first, rotated, second]) {
      await endSessions(database)
      const admin = await app.adminToken()
      await expect.poll(() => statusOf(app, admin)).toBe(200)
    }
    // Databases of a cluster share their roles.
    await using other = await createDatabase('other', 'postgres')
    await using neighbour = await createTestApp({ database: other, config: { 'auth.jwt_secret': secret } })
    await endSessions(database)
    expect(await Promise.all([statusOf(first), statusOf(neighbour, await neighbour.adminToken())])).toEqual([
      200, 200,
    ])
  })

  test('is rotated under load: nodes with the old and the new secret serve side by side', async () => {
    await using database = await createDatabase('rotating', 'postgres')
    await using before = await createTestApp({ database, config: { 'logging.level': 'warn' } })
    const secret = 'a-secret-after-rotation-of-thirty-two-characters'
    await using after = await createTestApp({
      database,
      config: { 'auth.jwt_secret': secret, 'logging.level': 'warn' },
    })
    const admins = await Promise.all(
      [before, after].map(async (app) => [app, await app.adminToken()] as const),
    )
    for (let round = 0; round < 5; round += 1) {
      await endSessions(database)
      const statuses = await Promise.all(
        admins.flatMap(([app, admin]) => Array.from({ length: 15 }, () => servedStatus(app, admin))),
      )
      expect([...new Set(statuses)]).toEqual([200])
    }
    const lines = [before, after].flatMap(({ log }) => log)
    expect(lines.filter((line) => /cannot log in|logs in as/.test(line))).toEqual([])
  })

  test('is taken from database.gateway_url, whose role must be the gateway', async () => {
    await using database = await createDatabase('configured')
    await cluster.sql('postgres', "alter role basalt_gateway password 'of the operator'")
    const at = `127.0.0.1:${cluster.port}/configured`
    const config = { 'database.gateway_url': `postgresql://basalt_gateway:of%20the%20operator@${at}` }
    {
      await using app = await createTestApp({ database, config })
      expect(await statusOf(app)).toBe(200)
      expect(await loginsOf(database)).toEqual(['app', 'basalt_gateway'])
    }
    const refused = (url: string) =>
      createTestApp({ database, config: { 'database.gateway_url': url } }).then((app) =>
        app[Symbol.asyncDispose](),
      )
    await expect(refused(`postgresql://basalt_gateway:wrong@${at}`)).rejects.toThrow(
      'database.gateway_url does not serve: password authentication failed for user "basalt_gateway"',
    )
    await expect(refused(`postgresql://postgres@${at}`)).rejects.toThrow(
      'database.gateway_url does not serve: a connection as basalt_gateway works as postgres',
    )
  })
})

test('gateway password › is not used while the role has more privileges than it needs: the start fails and names the remedy', async () => {
  await using database = await createDatabase('bounded', 'postgres')
  await database.sql('create role spare; grant spare to basalt_gateway; alter role basalt_gateway bypassrls')
  await expect(createTestApp({ database })).rejects.toThrow(
    'the role basalt_gateway may do more than requests need: have an administrator run ' +
      'alter role basalt_gateway nosuperuser nocreaterole nocreatedb noreplication noinherit nobypassrls; ' +
      'revoke spare from basalt_gateway;',
  )
  await database.sql('drop role spare; alter role basalt_gateway nobypassrls')
})

describe('read-only run', () => {
  const hashes = { query: 'select password_hash from basalt.users' }

  async function read(app: TestApp, body: object = hashes) {
    return await app.request('POST', '/api/admin/sql', { token: await app.adminToken(), body })
  }

  test('names the statement where the owner cannot create its role, and works once it has been run', async () => {
    await using database = await createDatabase('managed')
    await using app = await createTestApp({ database })
    const refused = await read(app)
    expect([refused.status, refused.json.error]).toEqual([409, 'sql_read_only_unavailable'])
    const [statement = ''] = /create role basalt_reader .*;/.exec(refused.json.message) ?? []
    expect(statement).toContain("login noinherit bypassrls password 'SCRAM-SHA-256$")
    await database.sql(statement)
    expect((await read(app)).json).toMatchObject({
      error: 'sql_failed',
      message: 'permission denied for table users',
    })
    expect((await read(app, { query: 'select session_user' })).status).toBe(200)
    await database.sql('drop owned by basalt_reader; drop role basalt_reader')
  })

  test('bypasses a pooler by database.listen_url, and names that key if it is not set', async () => {
    await using database = await createDatabase('pooled', 'postgres')
    await using pooler = await startTransactionPooler({
      target: cluster.port,
      user: 'postgres',
      database: 'pooled',
      sessions: 3,
    })
    const url = `postgresql://postgres@127.0.0.1:${pooler.port}/pooled`
    const pooled = { ...database, url }
    {
      await using app = await createTestApp({ database: pooled, config: { 'logging.level': 'warn' } })
      const refused = await read(app)
      expect([refused.status, refused.json.message]).toEqual([
        409,
        'read-only runs have no login of their own: database.url leads to a pooler: set database.listen_url to a direct connection to PostgreSQL',
      ])
      expect(app.log.some((line) => line.includes('requests log in as postgres'))).toBe(true)
      expect(await statusOf(app)).toBe(200)
    }
    await using app = await createTestApp({
      database: pooled,
      config: { 'database.listen_url': database.url },
    })
    expect((await read(app)).json).toMatchObject({ message: 'permission denied for table users' })
  })
})

test('database of the previous release › is upgraded by a start, and serves its data', async () => {
  await using database = await createDatabase('before', 'postgres')
  const migrations = join(packageFolder, 'migrations')
  const files = readdirSync(migrations)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .slice(0, 14)
  for (const [index, file] of files.entries()) {
    const script = readFileSync(join(migrations, file), 'utf8')
    await database.sql(script)
    await database.sql('insert into basalt.migrations (version, name, checksum) values ($1, $2, $3)', [
      index + 1,
      file.replace(/^\d+_|\.sql$/g, ''),
      createHash('sha256').update(script).digest('hex'),
    ])
  }
  await database.sql('insert into note (owner_id, body) values ($1, $2)', [alice, 'of before'])
  await using app = await createTestApp({ database })
  expect((await app.request('GET', list, { token })).json.items).toMatchObject([{ body: 'of before' }])
  const write = { token, body: { body: 'now' }, headers: { 'idempotency-key': 'one' } }
  expect((await app.request('POST', list, write)).status).toBe(201)
  expect((await app.request('POST', list, write)).headers.get('idempotency-replayed')).toBe('true')
  expect(await loginsOf(database)).toEqual(['basalt_gateway', 'postgres'])
})
