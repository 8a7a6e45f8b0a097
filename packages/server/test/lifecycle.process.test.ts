import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from './fixtures.ts'
import { contradictions, type History, loadTable, startLoad } from './load.ts'
import { sendRequest } from './send-request.ts'
import {
  type Account,
  createDirectory,
  failToStart,
  isRoot,
  launchServer,
  type ProcessOptions,
  postmasterOf,
  readFirstSignIn,
  runCommand,
  startServer,
  unprivileged,
} from './server-process.ts'
import { userToken } from './test-app.ts'
import { waitFor } from './wait-for.ts'

const accounts: [string, Account | undefined][] = [
  ['the account of the tests', undefined],
  ...(isRoot ? [['an ordinary account', unprivileged] as [string, Account]] : []),
]
const token = userToken({ sub: alice })
const clean = { code: 0, signal: null }

describe.each(accounts)('embedded Postgres, as %s', (_, account) => {
  test('prints what the operator needs at the first start, serves requests, and ends Postgres when it stops', async () => {
    await using fresh = createDirectory(account)
    const config = { 'server.data_dir': fresh.path, 'auth.jwt_secret': '', 'admin.password': '' }
    await using server = await startServer({ config, account })

    expect(server.log().find(({ msg }) => msg === 'listening')).toMatchObject({
      level: 'info',
      url: server.url,
      dataDirectory: fresh.path,
      database: expect.stringMatching(/^embedded, PostgreSQL 18\./),
      tables: 0,
    })
    await waitFor('the path of the password', () => server.log().some(({ path }) => path !== undefined))
    const signIn = readFirstSignIn(fresh.path)
    expect(signIn).toEqual({
      password: expect.stringMatching(/^[0-9a-f]{5}(-[0-9a-f]{5}){5}$/),
      link: expect.stringContaining(`${server.url}/`),
    })
    expect(server.output()).not.toContain(signIn.password)
    const health = await sendRequest('GET', `${server.url}/health`)
    expect({ status: health.status, body: health.json }).toEqual({
      status: 200,
      body: { status: 'ok', database: 'ok' },
    })
    const body = { password: signIn.password }
    expect((await sendRequest('POST', `${server.url}/api/admin/auth`, { body })).status).toBe(200)

    const second = await failToStart({ config, account })
    expect(second).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr: `basalt: ${fresh.path} is already served by basalt start (process ${server.pid})\n`,
    })
    expect((await sendRequest('GET', `${server.url}/health`)).status).toBe(200)

    expect(postmasterOf(fresh.path)).toBeDefined()
    expect(await server.stop('SIGINT')).toEqual(clean)
    expect(postmasterOf(fresh.path)).toBeUndefined()

    await using again = await startServer({ config, account })
    expect(await again.stop('SIGTERM')).toEqual(clean)
    expect(again.log().map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^development: /),
      'listening',
      'stopping',
      'stopped',
    ])
  })
})

describe.each(accounts.slice(-1))('embedded Postgres of one directory, as %s', (_, account) => {
  let directory: ReturnType<typeof createDirectory>
  let data: string
  let options: ProcessOptions

  beforeAll(() => {
    directory = createDirectory(account)
    data = join(directory.path, 'data')
    options = { config: { 'server.data_dir': data }, account }
  })
  afterAll(() => directory[Symbol.asyncDispose]())

  /** Runs SQL next to the server. */
  async function sql<Row>(statement: string): Promise<Row[]> {
    const { code, stdout, stderr } = await runCommand(['sql', '--json', statement], options)
    if (code !== 0) throw new Error(stderr)
    return JSON.parse(stdout)
  }

  async function countKeys(): Promise<ReadonlyMap<string, number>> {
    const rows = await sql<{ key: string; count: number }>('select key, count(*)::int from item group by key')
    return new Map(rows.map(({ key, count }) => [key, count]))
  }

  test('ends an interrupted start and leaves no Postgres', async () => {
    const server = launchServer(options)
    await waitFor('the creation of the cluster', () => existsSync(data) && readdirSync(data).length > 0)
    expect(await server.stop('SIGINT')).toEqual(clean)
    expect(server.log().at(-1)).toMatchObject({ msg: 'stopped' })
    expect(postmasterOf(data)).toBeUndefined()
  })

  test('keeps every acknowledged write of a killed server; the next start needs no help', async () => {
    await sql(loadTable)
    const histories: History[] = []
    for (const killsPostgres of [false, true]) {
      await using server = await startServer(options)
      const load = startLoad({ urls: [server.url], token, clients: 4, prefix: String(killsPostgres) })
      await waitFor('some load', () => load.answered > 100)
      const postmaster = postmasterOf(data)
      server.signal('SIGKILL')
      if (killsPostgres && postmaster !== undefined) process.kill(postmaster, 'SIGKILL')
      await server.ended
      histories.push(await load.stop())
    }

    await using server = await startServer(options)
    const present = await countKeys()
    for (const history of histories) {
      expect([...history.creates.values()].filter((fate) => fate === 'acknowledged').length).toBeGreaterThan(
        10,
      )
      expect(contradictions(history, present)).toEqual([])
    }
    expect(await server.stop()).toEqual(clean)
  })

  test('starts although another program now has the process id of a lock file', async () => {
    await using server = await startServer(options)
    const postmaster = postmasterOf(data) ?? 0
    server.signal('SIGKILL')
    process.kill(postmaster, 'SIGKILL')
    await server.ended
    await waitFor('Postgres to end', () => postmasterOf(data) === undefined)
    const stranger = spawn('sleep', ['60'], {
      ...(isRoot ? unprivileged : {}),
      stdio: 'ignore',
    })
    try {
      const lockFile = join(data, 'postgres', 'postmaster.pid')
      const [, ...rest] = readFileSync(lockFile, 'utf8').split('\n')
      writeFileSync(lockFile, [stranger.pid, ...rest].join('\n'))
      await using next = await startServer(options)
      expect(await next.stop()).toEqual(clean)
      expect(stranger.exitCode).toBeNull()
    } finally {
      stranger.kill('SIGKILL')
    }
  })

  test('restarts Postgres when it dies under load and loses no acknowledged write', async () => {
    await using server = await startServer(options)
    const load = startLoad({ urls: [server.url], token, clients: 4, prefix: 'postmaster' })
    await waitFor('some load', () => load.answered > 100)
    const postmaster = postmasterOf(data) ?? 0
    process.kill(postmaster, 'SIGKILL')
    await waitFor('requests to fail', () => load.count(503) > 0)
    await waitFor('a new Postgres', () => (postmasterOf(data) ?? postmaster) !== postmaster)
    const healed = load.count(201)
    await waitFor('writes to succeed', () => load.count(201) > healed + 20)

    // A backend that crashes ends all others; the postmaster remains.
    const failures = load.count(503)
    const [backend] = await sql<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'basalt start' and backend_type = 'client backend'`,
    )
    process.kill(backend?.pid ?? 0, 'SIGKILL')
    await waitFor('requests to fail again', () => load.count(503) > failures)
    const healedAgain = load.count(201)
    await waitFor('writes to succeed again', () => load.count(201) > healedAgain + 20)

    const history = await load.stop()
    expect(history.malformed).toEqual([])
    expect([...history.statuses.keys()].sort()).toEqual([200, 201, 503])
    expect([...history.failures]).toEqual([])
    expect(contradictions(history, await countKeys())).toEqual([])
    expect(await server.stop()).toEqual(clean)
    expect(postmasterOf(data)).toBeUndefined()
  })

  test('starts after a killed first start, and concurrent commands create one cluster', async () => {
    await using fresh = createDirectory(account)
    const beside = { config: { 'server.data_dir': fresh.path }, account }
    const unfinished = () => readdirSync(fresh.path).filter((name) => /^postgres\.\d+$/.test(name))
    const killed = launchServer(beside)
    await waitFor('the creation of the cluster', () => unfinished().length > 0)
    killed.signal('SIGKILL')
    await killed.ended
    const results = await Promise.all(
      ['one', 'two', 'three'].map((name) =>
        runCommand(
          [
            'sql',
            `create table ${name} (id int); alter table ${name} enable row level security; select '${name}' as name`,
          ],
          beside,
        ),
      ),
    )
    for (const [index, { code, stdout, stderr }] of results.entries()) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain(['one', 'two', 'three'][index])
    }
    expect(unfinished()).toEqual([])
    expect(postmasterOf(fresh.path)).toBeUndefined()
    const { stdout } = await runCommand(
      ['sql', '--json', 'select count(*)::int from pg_tables where schemaname = $$public$$'],
      beside,
    )
    expect(JSON.parse(stdout)).toEqual([{ count: 3 }])
  })
})
