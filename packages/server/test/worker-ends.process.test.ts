import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { alice } from './fixtures.ts'
import { contradictions, loadTable, startLoad } from './load.ts'
import { sendRequest } from './send-request.ts'
import {
  createDirectory,
  launchServer,
  type ProcessOptions,
  postmasterOf,
  readFirstSignIn,
  runCommand,
  type ServerProcess,
  startServer,
} from './server-process.ts'
import { createTestDatabase, type TestDatabase, userToken } from './test-app.ts'
import { testAdminPassword } from './test-config.ts'
import { findFreePort } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'
import { isLoaded, isRunning, openWorkerAddresses, workersOf } from './worker-processes.ts'

const token = userToken({ sub: alice })
const clean = { code: 0, signal: null }
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(`
    ${loadTable};
    create view nap as select 'awake' as state from pg_sleep(60)`)
})
afterAll(() => database[Symbol.asyncDispose]())

function start({ config, ...options }: ProcessOptions = {}): Promise<ServerProcess> {
  const two = { 'database.url': database.url, 'server.workers': '2', ...config }
  return startServer({ ...options, config: two })
}

/** Requests the health on a connection of its own, and returns the number of workers that serve. */
async function countServing(server: ServerProcess): Promise<number> {
  const { json } = await sendRequest('GET', `${server.url}/health`, { agent: new Agent() })
  return json.workers.serving
}

function waitForServing(server: ServerProcess, count: number): Promise<unknown> {
  return waitFor(`${count} workers`, async () => (await countServing(server)) === count)
}

/** Starts a request that takes a minute. @returns the code of the error that ends it */
async function holdRequest({ url }: ServerProcess): Promise<{ readonly failure: Promise<string> }> {
  const failure = sendRequest('GET', `${url}/api/collections/nap?skipTotal=true`, { token }).then(
    ({ text }) => text,
    (error) => error.code,
  )
  await waitFor('the query', async () => {
    const rows = await database.sql(
      `select from pg_stat_activity where datname = current_database() and state = 'active'
         and query like '%"nap"%' and pid <> pg_backend_pid()`,
    )
    return rows.length > 0
  })
  return { failure }
}

/** Sends further signals until the condition holds. Signals within a moment count as one. */
function signalUntil(server: ServerProcess, what: string, isDone: () => boolean): Promise<unknown> {
  return waitFor(what, () => {
    if (!isDone()) server.signal('SIGTERM')
    return isDone()
  })
}

const hasLogged = (server: ServerProcess, text: string) => server.log().some(({ msg }) => msg === text)

test('two workers › serve the administration on a listener of its own, also after both were replaced', async () => {
  const adminPort = await findFreePort()
  await using server = await start({ config: { 'admin.listen': `127.0.0.1:${adminPort}` } })
  const url = `http://127.0.0.1:${adminPort}`
  const signIn = async (base: string) =>
    (await sendRequest('POST', `${base}/api/admin/auth`, { body: { password: testAdminPassword } })).status
  const signInOnEach = async () => {
    await using addresses = await openWorkerAddresses({ pid: server.pid, url })
    return await Promise.all(addresses.urls.map(signIn))
  }
  expect(await signInOnEach()).toEqual([200, 200])
  expect(await signIn(server.url)).toBe(404)
  for (const pid of workersOf(server)) {
    process.kill(pid, 'SIGKILL')
    await waitFor('the end of the worker', () => !isRunning(pid))
    expect(await signIn(url)).toBe(200)
    await waitFor('its replacement', async () => {
      const isReplaced = workersOf(server).length === 2 && !workersOf(server).includes(pid)
      return isReplaced && (await countServing(server)) === 2
    })
  }
  expect(await signInOnEach()).toEqual([200, 200])
  expect(await signIn(server.url)).toBe(404)
  expect(await server.stop()).toEqual(clean)
})

test('two workers › start although the second one is slow and the first one has to be replaced', async () => {
  const config = { 'database.url': database.url, 'server.workers': '2' }
  await using server = launchServer({ config })
  const [first = 0, second = 0] = await waitFor('both', () => {
    const workers = workersOf(server)
    // Before its program is loaded, a stopped process would block the parent.
    return workers.length === 2 && workers.every(isLoaded) && workers
  })
  // The second one is started once the first one listens.
  for (const pid of [second, first]) process.kill(pid, 'SIGSTOP')
  await waitFor('the end of the first one', () => !isRunning(first))
  expect(isRunning(second)).toBe(true)
  process.kill(second, 'SIGCONT')
  await waitFor('the server to listen', () => server.url !== '')
  await waitForServing(server, 2)
  expect(workersOf(server)).toContain(second)
  expect(await server.stop()).toEqual(clean)
})

describe('two workers › a stop', () => {
  test('does not wait for requests in flight after the second signal', async () => {
    await using server = await start()
    const { failure } = await holdRequest(server)
    let hasEnded = false
    void server.ended.then(() => {
      hasEnded = true
    })
    await signalUntil(server, 'the end', () => hasEnded)
    expect(await server.ended).toEqual({ code: 1, signal: null })
    expect(server.log().map(({ msg }) => msg)).toEqual([
      'listening',
      'stopping',
      'cutting off requests in flight',
      'stopped',
    ])
    expect(await failure).toBe('ECONNRESET')
  })

  test('kills a worker that does not respond at the third signal', async () => {
    await using server = await start()
    const [stopped = 0] = workersOf(server)
    // A process in this state outlives its parent.
    process.kill(stopped, 'SIGSTOP')
    let hasEnded = false
    void server.ended.then(() => {
      hasEnded = true
    })
    await signalUntil(server, 'the end', () => hasEnded)
    expect(await server.ended).toEqual({ code: 1, signal: null })
    // Otherwise its silence would have ended it, and then the stop.
    expect(server.log().map(({ msg }) => msg)).toEqual([
      'listening',
      'stopping',
      'cutting off requests in flight',
    ])
    await waitFor('the end of the worker', () => !isRunning(stopped))
  })
})

/** Debugger that is connected to a process. */
interface Debugger extends Disposable {
  send(method: string, params?: object): Promise<unknown>
  readonly events: readonly string[]
}

async function openDebugger(url: string): Promise<Debugger> {
  const socket = new WebSocket(url)
  const answers = new Map<number, unknown>()
  const events: string[] = []
  socket.on('message', (data) => {
    const message = JSON.parse(String(data))
    if (message.id === undefined) events.push(message.method)
    else answers.set(message.id, message.result)
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  let count = 0
  return {
    events,
    send(method, params = {}) {
      count += 1
      const id = count
      socket.send(JSON.stringify({ id, method, params }))
      return waitFor(`the answer to ${method}`, () => answers.has(id) && { answer: answers.get(id) })
    },
    [Symbol.dispose]: () => socket.terminate(),
  }
}

test('workers › keep one that a debugger has paused, and end it at the third signal of a stop', async () => {
  // Otherwise every inspector of this machine would use one port.
  await using server = await start({
    config: { 'server.workers': '3', 'database.max_conns': '12' },
    env: { NODE_OPTIONS: '--inspect-port=0' },
  })
  const [paused = 0, silent = 0] = workersOf(server)
  process.kill(paused, 'SIGUSR1')
  const [, url = ''] = await waitFor('the inspector', () =>
    /^Debugger listening on (ws:\S+)$/m.exec(server.output()),
  )
  using attached = await openDebugger(url)
  // The worker has sent a sign of life since the inspector was opened: its interval is a second.
  const expression = 'new Promise((resolve) => setTimeout(resolve, 2000))'
  await attached.send('Runtime.evaluate', { expression, awaitPromise: true })
  await attached.send('Debugger.enable')
  const pause = async () => {
    const before = attached.events.filter((name) => name === 'Debugger.paused').length
    await attached.send('Debugger.pause')
    await waitFor(
      'the pause',
      () => attached.events.filter((name) => name === 'Debugger.paused').length > before,
    )
  }
  await pause()
  await waitForServing(server, 2)
  // This one becomes silent later.
  process.kill(silent, 'SIGSTOP')
  const errors = await waitFor('the end of the silent worker', () => {
    const lines = server.log().filter(({ level }) => level === 'error')
    return lines.length > 0 && lines
  })
  expect(errors).toEqual([
    expect.objectContaining({ pid: silent, reason: 'its event loop was silent for 10 s' }),
  ])
  expect(workersOf(server)).toContain(paused)
  await attached.send('Debugger.resume')
  await waitForServing(server, 3)
  expect(workersOf(server)).toContain(paused)

  await pause()
  server.signal('SIGTERM')
  await signalUntil(server, 'the second signal', () => hasLogged(server, 'cutting off requests in flight'))
  expect(isRunning(paused)).toBe(true)
  let hasEnded = false
  void server.ended.then(() => {
    hasEnded = true
  })
  await signalUntil(server, 'the end', () => hasEnded)
  expect(await server.ended).toEqual({ code: 1, signal: null })
  await waitFor('the end of the worker', () => !isRunning(paused))
})

describe('two workers › after their parent was killed', () => {
  let data: ReturnType<typeof createDirectory>
  let config: Readonly<Record<string, string>>

  beforeAll(async () => {
    data = createDirectory()
    config = { 'server.data_dir': data.path, 'server.port': String(await findFreePort()) }
  })
  afterAll(() => data[Symbol.asyncDispose]())

  test('end by the next start, even a stopped one', async () => {
    await using server = await start({ config })
    const [stopped = 0, other = 0] = workersOf(server)
    process.kill(stopped, 'SIGSTOP')
    await server.stop('SIGKILL')
    expect(isRunning(stopped)).toBe(true)
    await using next = await start({ config })
    expect([isRunning(stopped), isRunning(other)]).toEqual([false, false])
    expect(next.log().filter(({ level }) => level === 'warn')).toEqual([
      expect.objectContaining({
        pid: stopped,
        msg: 'killed a worker of an earlier server, which has ended without stopping it',
      }),
    ])
    const answers = Array.from({ length: 20 }, () => countServing(next))
    expect(await Promise.all(answers)).toEqual(Array(20).fill(2))
    expect(await next.stop()).toEqual(clean)
  })

  test('end when they are continued, if they were stopped', async () => {
    await using server = await start({ config })
    const [stopped = 0] = workersOf(server)
    process.kill(stopped, 'SIGSTOP')
    await server.stop('SIGKILL')
    process.kill(stopped, 'SIGCONT')
    await waitFor('its end', () => !isRunning(stopped))
    await using next = await start({ config })
    expect(next.log().map(({ msg }) => msg)).toEqual(['listening'])
    expect(await next.stop()).toEqual(clean)
  })

  test('end by the next start, also with a single process', async () => {
    await using server = await start({ config })
    const workers = workersOf(server)
    for (const pid of workers) process.kill(pid, 'SIGSTOP')
    await server.stop('SIGKILL')
    await using next = await start({ config: { ...config, 'server.workers': '1' } })
    expect(workers.filter(isRunning)).toEqual([])
    expect(next.url).toBe(`http://127.0.0.1:${config['server.port']}`)
  })
})

test('two workers › share a socket without SO_REUSEPORT, which is never refused while they are replaced', async () => {
  await using data = createDirectory()
  const preload = join(data.path, 'other-system.mjs')
  writeFileSync(
    preload,
    `if (process.argv.includes('start')) Object.defineProperty(process, 'platform', { value: 'darwin' })`,
  )
  await using server = await start({ env: { NODE_OPTIONS: `--import=${preload}` } })
  await waitForServing(server, 2)
  for (const pid of workersOf(server)) {
    process.kill(pid, 'SIGKILL')
    await waitFor('the end of the worker', () => !isRunning(pid))
    for (let count = 0; count < 10; count += 1) expect(await countServing(server)).toBeGreaterThan(0)
    await waitFor('its replacement', () => workersOf(server).length === 2)
    await waitForServing(server, 2)
  }
  expect(await server.stop()).toEqual(clean)
})

describe('two workers on the embedded database', () => {
  test('show the first sign-in once, and lose no acknowledged write when PostgreSQL is killed', async () => {
    await using data = createDirectory()
    const config = {
      'server.data_dir': data.path,
      'server.workers': '2',
      'admin.password': '',
      'database.require_rls': 'false',
    }
    await using server = await startServer({ config })
    const { password } = readFirstSignIn(data.path)
    expect(server.log().filter(({ path }) => path === join(data.path, 'first-sign-in'))).toHaveLength(1)
    await using addresses = await openWorkerAddresses(server)
    for (const url of addresses.urls) {
      const { status } = await sendRequest('POST', `${url}/api/admin/auth`, { body: { password } })
      expect(status).toBe(200)
    }
    const sql = (text: string) => runCommand(['sql', '--json', text], { config })
    expect(await sql(loadTable)).toMatchObject({ code: 0 })

    const load = startLoad({ urls: addresses.urls, token, clients: 6 })
    await waitFor('load', () => load.count(201) > 50)
    const workers = workersOf(server)
    for (let round = 0; round < 2; round += 1) {
      const postmaster = postmasterOf(data.path) ?? 0
      process.kill(postmaster, 'SIGKILL')
      const before = load.count(201)
      await waitFor('more writes', () => load.count(201) > before + 50)
    }
    const history = await load.stop()
    expect(history.malformed).toEqual([])
    expect([...history.failures]).toEqual([])
    expect([...history.statuses.keys()].sort()).toEqual([200, 201, 503])
    const { stdout } = await sql('select key, count(*)::int as count from item group by key')
    const rows: { key: string; count: number }[] = JSON.parse(stdout)
    expect(contradictions(history, new Map(rows.map(({ key, count }) => [key, count])))).toEqual([])
    expect(workersOf(server)).toEqual(workers)
    expect(await countServing(server)).toBe(2)
    expect(await server.stop()).toEqual(clean)
    expect(postmasterOf(data.path)).toBeUndefined()
  })
})
