import { readdirSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { preparationLock } from '../src/database/preparation/preparation.ts'
import type { CommandResult } from './command.ts'
import {
  configVariables,
  createDirectory,
  launchServer,
  postmasterOf,
  startServer,
} from './server-process.ts'
import { basaltHere } from './terminal.ts'
import { createTestDatabase, type TestDatabase } from './test-app.ts'
import { waitFor } from './wait-for.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

function answer(code: number, stdout: string): CommandResult {
  return { code, stdout, stderr: '' }
}

/** Runs `basalt status` and `basalt status --json`. */
async function statusOf(config: Readonly<Record<string, string>>) {
  const env = configVariables(config)
  const [text, { code, stdout }] = await Promise.all([
    basaltHere(['status'], { env }),
    basaltHere(['status', '--json'], { env }),
  ])
  return { text, json: { code, ...JSON.parse(stdout) } }
}

describe('basalt status', () => {
  test('reports stopped and exits with 1 if no server runs, and creates nothing', async () => {
    await using directory = createDirectory()
    expect(await statusOf({ 'server.data_dir': directory.path })).toEqual({
      text: answer(1, `stopped: no server of ${directory.path} runs\n`),
      json: { code: 1, dataDirectory: directory.path, state: 'stopped', servers: [] },
    })
    expect(readdirSync(directory.path)).toEqual([])
  })

  test('reports starting and exits with 1 until the server listens, then reports running and exits with 0', async () => {
    await using directory = createDirectory()
    const config = { 'server.data_dir': directory.path, 'database.url': database.url }
    const holder = new pg.Client({ connectionString: database.url })
    await holder.connect()
    await holder.query(`select pg_advisory_lock(${preparationLock})`)
    await using server = launchServer({ config })
    await waitFor(
      'the server to wait',
      async () =>
        (await holder.query(`select from pg_locks where locktype = 'advisory' and not granted`)).rows.length >
        0,
    )
    expect(await statusOf(config)).toEqual({
      text: answer(1, `starting: process ${server.pid}, version 0.1.0\n`),
      json: {
        code: 1,
        dataDirectory: directory.path,
        state: 'starting',
        servers: [
          { state: 'starting', pid: server.pid, version: '0.1.0', startedAt: expect.any(String), psql: [] },
        ],
      },
    })
    // It would start an embedded database next to the server's external one.
    const env = configVariables({ 'server.data_dir': directory.path })
    expect((await basaltHere(['sql', 'select 1'], { env })).code).toBe(2)
    await holder.end()
    await waitFor('the server to listen', () => server.url !== '')
    const health = { status: 'ok', database: 'ok' }
    expect(await statusOf(config)).toMatchObject({
      text: answer(0, `running: ${server.url} (process ${server.pid}, version 0.1.0): ok, database ok\n`),
      json: { code: 0, state: 'running', servers: [{ state: 'running', url: server.url, health }] },
    })
    await server.stop()
    expect((await statusOf(config)).json).toMatchObject({ code: 1, state: 'stopped', servers: [] })
  })

  test('reports unwell and exits with 1 while one of two servers does not respond', async () => {
    await using directory = createDirectory()
    const config = { 'server.data_dir': directory.path, 'database.url': database.url }
    await using one = await startServer({ config })
    await using other = await startServer({ config })
    expect((await statusOf(config)).json).toMatchObject({ code: 0, state: 'running' })
    other.signal('SIGSTOP')
    try {
      const { text, json } = await statusOf(config)
      expect(text.code).toBe(1)
      expect(text.stdout.trimEnd().split('\n').sort()).toEqual([
        `running: ${one.url} (process ${one.pid}, version 0.1.0): ok, database ok`,
        `unwell: ${other.url} (process ${other.pid}, version 0.1.0): does not answer`,
      ])
      expect(json).toMatchObject({ code: 1, state: 'unwell' })
    } finally {
      other.signal('SIGCONT')
    }
  })

  test('reports stale and exits with 1 after a server was killed, and names the PostgreSQL it left', async () => {
    await using directory = createDirectory(undefined, '.')
    const config = { 'server.data_dir': directory.path }
    const killed = await startServer({ config })
    await killed.stop('SIGKILL')
    const { text, json } = await statusOf(config)
    expect(text).toEqual(
      answer(
        1,
        `stale: process ${killed.pid}, version 0.1.0 ended without stopping in order\n` +
          `its PostgreSQL still runs (process ${postmasterOf(directory.path)}): the next start takes it over\n`,
      ),
    )
    expect(json).toMatchObject({ code: 1, state: 'stale', servers: [{ state: 'stale', pid: killed.pid }] })
    await using next = await startServer({ config })
    expect((await statusOf(config)).json).toMatchObject({
      code: 0,
      state: 'running',
      servers: [{ pid: next.pid }],
    })
  })

  test('shows the server of an external database; commands without database.url are refused and create nothing', async () => {
    await using directory = createDirectory()
    const config = { 'server.data_dir': directory.path, 'database.url': database.url }
    await using server = await startServer({ config })
    const env = configVariables({ 'server.data_dir': directory.path })
    expect((await basaltHere(['status'], { env })).code).toBe(0)
    const made = readdirSync(directory.path)
    for (const args of [
      ['sql', 'select 1'],
      ['admin', 'token'],
      ['backup', 'x.tar.gz'],
    ]) {
      expect(await basaltHere(args, { env })).toEqual({
        code: 2,
        stdout: '',
        stderr:
          `basalt: the server of ${directory.path} (process ${server.pid}) uses an external database, and database.url is ` +
          'not set here: give this command the configuration of the server, such as BASALT_DATABASE_URL\n',
      })
    }
    expect(readdirSync(directory.path)).toEqual(made)
    const { code, stdout } = await basaltHere(['sql', 'select 1 as one'], { env: configVariables(config) })
    expect([code, stdout]).toEqual([0, expect.stringContaining('one')])
  })

  test('exits with 2 for an unknown option', async () => {
    const { code, stdout, stderr } = await basaltHere(['status', '--bogus'])
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining("unknown option '--bogus'")])
  })
})
