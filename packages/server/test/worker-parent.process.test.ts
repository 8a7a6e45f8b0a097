import { spawn, spawnSync } from 'node:child_process'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findServers } from '../src/cli/server-note.ts'
import { cleanUpAfterKill } from './clean-up-process.ts'
import { command, inheritedEnvironment } from './command.ts'
import { alice } from './fixtures.ts'
import { contradictions, loadTable, startLoad } from './load.ts'
import { sendRequest } from './send-request.ts'
import {
  configVariables,
  createDirectory,
  endOf,
  postmasterOf,
  type ServerProcess,
  startServer,
} from './server-process.ts'
import { createTestDatabase, type TestDatabase, userToken } from './test-app.ts'
import { findFreePort } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'
import { isRunning, openWorkerAddresses, workersOf } from './worker-processes.ts'

const token = userToken({ sub: alice })
const clean = { code: 0, signal: null }
const healthy = { status: 'ok', database: 'ok', workers: { serving: 2, total: 2 } }

/** Number of requests to each worker while the parent hangs. */
const longLines = 150

/** Stops the process until the end of the block. */
function stop(server: ServerProcess): Disposable {
  server.signal('SIGSTOP')
  return { [Symbol.dispose]: () => server.signal('SIGCONT') }
}

async function health(url: string): Promise<unknown> {
  return (await sendRequest('GET', `${url}/health`, { agent: new Agent() })).json
}

describe('two workers › whose parent hangs', () => {
  let database: TestDatabase
  let data: ReturnType<typeof createDirectory>
  let config: Readonly<Record<string, string>>

  beforeAll(async () => {
    database = await createTestDatabase()
    await database.sql(loadTable)
    data = createDirectory()
    config = {
      'database.url': database.url,
      'server.data_dir': data.path,
      'server.port': String(await findFreePort()),
      'server.workers': '2',
      'logging.requests': 'all',
      'metrics.enabled': 'true',
    }
  })
  afterAll(async () => {
    await data[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  function start(): Promise<ServerProcess> {
    return startServer({ config })
  }

  test('serve on, and the parent continues with them', async () => {
    await using server = await start()
    await using addresses = await openWorkerAddresses(server)
    const workers = workersOf(server)
    using _ = stop(server)
    // Each line has the path, so that those of a worker are more than its pipe holds.
    const path = `/api/collections/${'long'.repeat(1000)}`
    const load = startLoad({ urls: addresses.urls, token, clients: 4, prefix: 'hang' })
    for (const url of addresses.urls) {
      for (let count = 0; count < longLines; count += 1)
        expect((await sendRequest('GET', `${url}${path}`, { token })).status).toBe(404)
    }
    const { answered } = load
    await waitFor('more load', () => load.answered > answered + 100)
    for (const url of addresses.urls) {
      expect(await health(url)).toEqual(healthy)
      // Only the parent reaches the other worker.
      const { text } = await sendRequest('GET', `${url}/metrics`, { agent: new Agent() })
      expect(text.match(/^process_resident_memory_bytes\{/gm)).toHaveLength(1)
    }
    server.signal('SIGCONT')
    const { malformed, failures, statuses, ...history } = await load.stop()
    expect({ malformed, failures: [...failures], statuses: [...statuses.keys()].toSorted() }).toEqual({
      ...{ malformed: [], failures: [] },
      statuses: [200, 201],
    })
    const rows = await database.sql<{ key: string; count: number }>(
      `select key, count(*)::int as count from item where key like 'hang-%' group by key`,
    )
    const present = new Map(rows.map(({ key, count }) => [key, count]))
    expect(contradictions({ ...history, malformed, failures, statuses }, present)).toEqual([])
    const total = 2 * longLines + [...statuses.values()].reduce((sum, count) => sum + count, 0)
    await waitFor('the lines of all requests', () => {
      return server.log().filter(({ status }) => status !== undefined).length >= total
    })
    expect(workersOf(server)).toEqual(workers)
    expect(server.log().filter(({ level, status }) => level !== 'info' && status === undefined)).toEqual([])
    expect(await server.stop()).toEqual(clean)
  })

  test('are replaced once it continues, and connections to an ended one wait until then', async () => {
    await using server = await start()
    const [victim = 0, other = 0] = workersOf(server)
    server.signal('SIGSTOP')
    process.kill(victim, 'SIGKILL')
    await waitFor('the end of the worker', () => !isRunning(victim))
    const requests = Array.from({ length: 20 }, () => health(server.url))
    await Promise.race(requests)
    server.signal('SIGCONT')
    await Promise.all(requests)
    await waitFor('the replacement', async () => {
      const { workers } = (await health(server.url)) as typeof healthy
      return workers.serving === 2 && !workersOf(server).includes(victim)
    })
    expect(workersOf(server)).toContain(other)
    expect(await server.stop()).toEqual(clean)
  })

  test('end with it when it is killed, and the next start is clean', async () => {
    await using server = await start()
    const workers = workersOf(server)
    server.signal('SIGSTOP')
    expect(await health(server.url)).toEqual(healthy)
    await server.stop('SIGKILL')
    await waitFor('the end of the workers', () => !workers.some(isRunning))
    await expect(health(server.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await using next = await start()
    expect(next.url).toBe(server.url)
    expect(await health(next.url)).toEqual(healthy)
    expect(await next.stop()).toEqual(clean)
    expect(next.log().flatMap(({ msg, method }) => (method === undefined ? [msg] : []))).toEqual([
      'listening',
      'stopping',
      'stopped',
    ])
  })
})

const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') === true

describe.each([1, 2])('server in a terminal › %i worker(s)', (count) => {
  // `script` of util-linux opens the terminal. Other systems have another one.
  test.skipIf(!hasScript)('stops in order when the terminal closes', async () => {
    await using data = createDirectory(undefined, '.')
    const variables = configVariables({ 'server.data_dir': data.path, 'server.workers': String(count) })
    const shell = spawn(
      'script',
      ['-q', '-c', `exec "${process.execPath}" "${command}" start`, '/dev/null'],
      {
        cwd: tmpdir(),
        env: { ...inheritedEnvironment(), ...variables, SHELL: '/bin/sh', TERM: 'dumb' },
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    )
    if (shell.pid !== undefined) shell.once('exit', cleanUpAfterKill({ pid: shell.pid }))
    let output = ''
    shell.stdout.on('data', (chunk) => (output += chunk))
    const { pid, url = '' } = await waitFor('the server', () => {
      const [note] = findServers(data.path)
      return note?.url !== undefined && note
    })
    const release = cleanUpAfterKill({ pid })
    const workers = workersOf({ pid })
    await using _ = {
      async [Symbol.asyncDispose]() {
        if (isRunning(pid)) process.kill(pid, 'SIGKILL')
        await waitFor('the end of its processes', () => ![pid, ...workers].some(isRunning))
        release()
      },
    }
    expect(((await health(url)) as typeof healthy).status).toBe('ok')
    await waitFor('its output', () => output.includes(url))

    shell.kill('SIGKILL')
    await endOf(shell)
    await waitFor('the end of the server', () => ![pid, ...workers].some(isRunning))
    // A stop in order removes the note and ends PostgreSQL.
    expect(findServers(data.path)).toEqual([])
    expect(postmasterOf(data.path)).toBeUndefined()
    await expect(health(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})
