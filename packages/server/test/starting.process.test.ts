import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { embeddedDatabase } from '../src/database/embedded/cluster.ts'
import { embeddedUser } from '../src/database/embedded/initdb.ts'
import { preparationLock } from '../src/database/preparation/preparation.ts'
import { startFakePostgres } from './fake-postgres.ts'
import {
  type Account,
  createDirectory,
  isRoot,
  launchCommand,
  launchServer,
  postmasterOf,
  type ServerProcess,
  unprivileged,
} from './server-process.ts'
import { createTestDatabase, type TestDatabase } from './test-app.ts'
import { waitFor } from './wait-for.ts'

const clean = { code: 0, signal: null }
const accounts: [string, Account | undefined][] = [
  ['the account of the tests', undefined],
  ...(isRoot ? [['an ordinary account', unprivileged] as [string, Account]] : []),
]
const signals = ['SIGTERM', 'SIGINT'] as const

/** Lists the processes whose command line has the path: initdb, Postgres, pg_ctl. */
function processesOf(path: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return line.includes(path) ? [line] : []
      } catch {
        // The process has ended meanwhile.
        return []
      }
    })
}

/** Checks that a start ended in order: with a message, without processes, and without a partial cluster. */
async function expectGivenUp(server: ServerProcess, dataDirectory: string): Promise<void> {
  expect(await server.ended, server.output()).toEqual(clean)
  expect(server.log().map(({ msg }) => msg)).toEqual(['stopping', 'stopped'])
  expect(processesOf(dataDirectory)).toEqual([])
  const names = existsSync(dataDirectory) ? readdirSync(dataDirectory) : []
  expect(names.filter((name) => /^postgres\.\d+$/.test(name))).toEqual([])
  const cluster = join(dataDirectory, 'postgres')
  if (existsSync(cluster)) expect(readdirSync(cluster)).toContain('basalt.conf')
  expect(readdirSync(join(dataDirectory, 'servers'))).toEqual([])
}

/** Opens a session of the embedded Postgres that bypasses Basalt, as psql does. */
async function connectToSocket(dataDirectory: string): Promise<pg.Client> {
  const client = new pg.Client({
    host: join(dataDirectory, 'run'),
    port: 5432,
    user: embeddedUser,
    password: readFileSync(join(dataDirectory, 'secrets', 'postgres_password'), 'utf8'),
    database: embeddedDatabase,
  })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

async function isWaiting(client: pg.Client): Promise<boolean> {
  // Concurrent tests wait for locks in other databases.
  const { rows } = await client.query(`
    select from pg_locks l join pg_database d on d.oid = l.database
    where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`)
  return rows.length > 0
}

describe.each(accounts)('startup with the embedded Postgres, as %s', (_, account) => {
  test.each(signals)('ends on %s while it creates the cluster', async (signal) => {
    await using directory = createDirectory(account)
    const server = launchServer({ config: { 'server.data_dir': directory.path }, account })
    const isCreating = () => readdirSync(directory.path).some((name) => /^postgres\.\d+$/.test(name))
    await waitFor('the creation of the cluster', isCreating)
    server.signal(signal)
    await expectGivenUp(server, directory.path)
    expect(existsSync(join(directory.path, 'postgres'))).toBe(false)
  })

  test.each(signals)('ends on %s while it starts Postgres', async (signal) => {
    await using directory = createDirectory(account, '.')
    const server = launchServer({ config: { 'server.data_dir': directory.path }, account })
    await waitFor('the start of Postgres', () => postmasterOf(directory.path) !== undefined)
    server.signal(signal)
    await expectGivenUp(server, directory.path)
  })
})

describe.each(accounts.slice(-1))('startup with an embedded Postgres that runs, as %s', (_, account) => {
  let directory: ReturnType<typeof createDirectory>
  let data: string
  let holder: pg.Client

  /** Leaves a Postgres running that another session keeps from being prepared. */
  async function holdPreparation(): Promise<void> {
    const config = { 'server.data_dir': data }
    const command = launchCommand(['sql', 'select pg_sleep(60)'], { config, account })
    holder = await waitFor('Postgres', () => connectToSocket(data).catch(() => undefined))
    await waitFor(
      'the command',
      async () =>
        (await holder.query(`select from pg_stat_activity where query like '%sleep(60)'`)).rows.length > 0,
    )
    expect(await command.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
    // Otherwise its user lock would keep Postgres running.
    await holder.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname is not null and pid <> pg_backend_pid()`,
    )
    await holder.query(`select pg_advisory_lock(${preparationLock})`)
  }

  async function launchIntoPreparation(): Promise<ServerProcess> {
    const server = launchServer({ config: { 'server.data_dir': data }, account })
    await waitFor('the server to wait', () => isWaiting(holder))
    return server
  }

  beforeAll(() => {
    directory = createDirectory(account, '.')
    data = directory.path
  })
  afterAll(() => directory[Symbol.asyncDispose]())

  test('ends on a signal while it waits for the lock of the migrations', async () => {
    await holdPreparation()
    const server = await launchIntoPreparation()
    server.signal('SIGTERM')
    await expectGivenUp(server, data)
  })

  test('leaves no Postgres after a second signal either', async () => {
    await holdPreparation()
    const server = await launchIntoPreparation()
    const postmaster = postmasterOf(data) ?? 0
    process.kill(postmaster, 'SIGSTOP')
    try {
      server.signal('SIGTERM')
      await waitFor('the second signal to count', () => {
        server.signal('SIGTERM')
        return server
          .log()
          .some(({ msg }) => msg === 'still cancelling the start; one more signal ends the process')
      })
    } finally {
      process.kill(postmaster, 'SIGCONT')
    }
    expect(await server.ended).toEqual(clean)
    expect(processesOf(data)).toEqual([])
  })

  test('waits for a script and opens the tables that it creates to callers', async () => {
    const untilReleased = `do $$ begin
      while not exists (select from pg_stat_activity where application_name = 'release') loop
        perform pg_sleep(0.01), pg_stat_clear_snapshot();
      end loop; end $$`
    const config = { 'server.data_dir': data }
    const script = launchCommand(['sql', `create table early (id int); ${untilReleased}`], {
      config,
      account,
    })
    const observer = await waitFor('Postgres', () => connectToSocket(data).catch(() => undefined))
    const isRunning = async () =>
      (
        await observer.query(
          `select from pg_stat_activity where query like '%early%' and pid <> pg_backend_pid()`,
        )
      ).rows.length > 0
    await waitFor('the script', isRunning)
    const server = launchServer({ config, account })
    await waitFor('the server', async () => server.url !== '' || (await isWaiting(observer)))
    await observer.query(`set application_name = 'release'`)
    await script.ended
    await waitFor('the server to listen', () => server.url !== '')
    const { rows } = await observer.query(
      `select has_table_privilege('basalt_authenticated', 'early', 'select') as granted`,
    )
    expect(rows).toEqual([{ granted: true }])
    await observer.end()
    expect(await server.stop()).toEqual(clean)
  })
})

describe('startup with an external database', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  /** Opens a session of another client. */
  async function connectToDatabase(): Promise<pg.Client & AsyncDisposable> {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
  }

  test.each(signals)(
    'ends on %s while the database accepts connections and never responds',
    async (signal) => {
      await using directory = createDirectory()
      for (const options of [{ isSilent: true }, { answersNothing: true }]) {
        await using silent = await startFakePostgres(options)
        const server = launchServer({
          config: {
            'database.url': `postgresql://app@127.0.0.1:${silent.port}/shop`,
            'server.data_dir': directory.path,
          },
        })
        const hasReached = () => (options.isSilent === true ? silent.connections() > 0 : silent.isQueried())
        await waitFor('the server to connect', hasReached)
        server.signal(signal)
        await expectGivenUp(server, directory.path)
      }
    },
  )

  test.each(signals)('ends on %s while it waits for the lock of the migrations', async (signal) => {
    await using directory = createDirectory()
    await using holder = await connectToDatabase()
    await holder.query(`select pg_advisory_lock(${preparationLock})`)
    const server = launchServer({
      config: { 'database.url': database.url, 'server.data_dir': directory.path },
    })
    await waitFor('the server to wait', () => isWaiting(holder))
    server.signal(signal)
    await expectGivenUp(server, directory.path)
  })

  test.each(signals)('ends on %s while features wait for a table', async (signal) => {
    await using directory = createDirectory()
    await using holder = await connectToDatabase()
    await holder.query('begin; lock table basalt.administrators in access exclusive mode')
    const server = launchServer({
      config: { 'database.url': database.url, 'server.data_dir': directory.path },
    })
    await waitFor(
      'the server to wait',
      async () =>
        (
          await holder.query(
            `select from pg_locks where relation = 'basalt.administrators'::regclass and not granted`,
          )
        ).rows.length > 0,
    )
    server.signal(signal)
    await expectGivenUp(server, directory.path)
  })

  test.each(signals)('stops on %s right after the server has begun to listen', async (signal) => {
    await using directory = createDirectory()
    const server = launchServer({
      config: { 'database.url': database.url, 'server.data_dir': directory.path },
    })
    await waitFor('the server to listen', () => server.url !== '')
    expect(await server.stop(signal)).toEqual(clean)
    expect(server.log().map(({ msg }) => msg)).toEqual(['listening', 'stopping', 'stopped'])
    expect(readdirSync(join(directory.path, 'servers'))).toEqual([])
  })
})
