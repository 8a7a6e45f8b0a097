import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EventStreamClient, openEventStream } from './event-stream.ts'
import { alice } from './fixtures.ts'
import { contradictions, loadTable, startLoad } from './load.ts'
import { sendRequest } from './send-request.ts'
import {
  createDirectory,
  failToStart,
  launchServer,
  postmasterOf,
  runCommand,
  type ServerProcess,
  startServer,
} from './server-process.ts'
import { userToken } from './test-app.ts'
import { findFreePort, startThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'
import { isRunning, workersOf } from './worker-processes.ts'

const token = userToken({ sub: alice })
const clean = { code: 0, signal: null }
const healthy = { status: 'ok', database: 'ok', workers: { serving: 2, total: 2 } }
let cluster: ThrowAwayCluster

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create database shop')
  await cluster.sql('shop', loadTable)
})
afterAll(() => cluster[Symbol.asyncDispose]())

function start(config: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  return startServer({
    config: {
      'database.url': `${cluster.url}/shop`,
      'server.workers': '2',
      'metrics.enabled': 'true',
      ...config,
    },
  })
}

async function health({ url }: ServerProcess): Promise<unknown> {
  return (await sendRequest('GET', `${url}/health`)).json
}

/** Waits until a request has been served by each worker, and returns the metrics. */
async function metricsOfBoth(server: ServerProcess): Promise<string> {
  let text = ''
  await waitFor('requests on both workers', async () => {
    // Each request is a connection of its own.
    await sendRequest('GET', `${server.url}/health`, { agent: new Agent() })
    text = (await sendRequest('GET', `${server.url}/metrics`)).text
    return [1, 2].every((worker) =>
      text.includes(`basalt_http_requests_total{operation="health.check",status="200",worker="${worker}"}`),
    )
  })
  return text
}

describe('two workers', () => {
  let data: ReturnType<typeof createDirectory>
  let server: ServerProcess

  beforeAll(async () => {
    data = createDirectory()
    server = await start({ 'server.data_dir': data.path, 'logging.requests': 'all' })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await data[Symbol.asyncDispose]()
  })

  /** Waits until two workers other than these serve. @returns the number of lines of the log so far */
  async function untilBothServe(ended: readonly number[] = []): Promise<number> {
    await waitFor('both', async () => {
      const { workers } = (await health(server)) as typeof healthy
      const pids = workersOf(server)
      return workers.serving === 2 && pids.length === 2 && !pids.some((pid) => ended.includes(pid))
    })
    return server.log().length
  }

  test('serve on one port, and health, metrics, status and log name both', async () => {
    expect(await health(server)).toEqual(healthy)
    const text = await metricsOfBoth(server)
    expect(text.match(/^# HELP basalt_http_requests_total /gm)).toHaveLength(1)
    expect(text.match(/^process_resident_memory_bytes\{worker="[12]"\} \d+$/gm)).toHaveLength(2)
    await waitFor('lines of both', () => new Set(server.log().map(({ worker }) => worker)).size === 3)
    const status = await runCommand(['status'], { config: { 'server.data_dir': data.path } })
    expect(status).toEqual({
      ...clean,
      stdout: `running: ${server.url} (process ${server.pid}, version 0.1.0): ok, database ok, 2 of 2 workers\n`,
      stderr: '',
    })
    expect(server.log().filter(({ msg }) => msg === 'listening')).toHaveLength(1)
  })

  test('refuse to start on the port of another server', async () => {
    const { port } = new URL(server.url)
    const config = { 'database.url': `${cluster.url}/shop`, 'server.workers': '2', 'server.port': port }
    const { code, stderr } = await failToStart({ config })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `basalt: 127.0.0.1:${port} is taken by another program: stop it or set server.port\n`,
    })
  })

  test('deliver an event of a write on either worker to streams of both', async () => {
    const streams: EventStreamClient[] = []
    const openStreams = async () => {
      const { text } = await sendRequest('GET', `${server.url}/metrics`)
      return [1, 2].every((worker) =>
        new RegExp(`^basalt_realtime_connections\\{transport="sse",worker="${worker}"\\} [1-9]`, 'm').test(
          text,
        ),
      )
    }
    await waitFor('streams on both workers', async () => {
      streams.push(await openEventStream(server.url, 'tables=item', { token }))
      return await openStreams()
    })
    const keys: string[] = []
    const write = async () => {
      const key = `event-${keys.length}`
      keys.push(key)
      const url = `${server.url}/api/collections/item`
      const reply = await sendRequest('POST', url, { token, body: { key }, agent: new Agent() })
      expect(reply.status).toBe(201)
    }
    await waitFor('writes on both workers', async () => {
      await write()
      const { text } = await sendRequest('GET', `${server.url}/metrics`)
      return (
        (text.match(/^basalt_http_requests_total\{operation="collections.create",status="201",/gm)?.length ??
          0) === 2
      )
    })
    for (const stream of streams) {
      await waitFor('all events', () => stream.messages.length === keys.length)
      expect(stream.messages.map(({ record }) => record.key).toSorted()).toEqual(keys.toSorted())
    }
    await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()))
  })

  test('lose no acknowledged write when one is killed under load, and replace it', async () => {
    const from = await untilBothServe()
    const load = startLoad({ urls: [server.url], token, clients: 8, prefix: 'kill' })
    await waitFor('load', () => load.answered > 100)
    const [victim = 0, other] = workersOf(server)
    process.kill(victim, 'SIGKILL')
    const before = load.answered
    await waitFor('more responses', () => load.answered > before + 200)
    const log = () => server.log().slice(from)
    await waitFor('the replacement', () => log().some(({ msg }) => msg === 'the new worker serves'))
    expect(log().find(({ signal }) => signal === 'SIGKILL')).toMatchObject({
      level: 'error',
      pid: victim,
      msg: 'a worker has ended; starting another one in 0.1 s',
    })
    expect(workersOf(server)).toContain(other)
    const history = await load.stop()
    const { failures, malformed } = history
    expect(malformed).toEqual([])
    expect([...failures.keys()].filter((code) => !['ECONNRESET', 'EPIPE'].includes(code))).toEqual([])
    // A connection has one request at a time.
    expect([...failures.values()].reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(8)
    const rows = await cluster.sql<{ key: string; count: number }>(
      'shop',
      "select key, count(*)::int as count from item where key like 'kill-%' group by key",
    )
    expect(contradictions(history, new Map(rows.map(({ key, count }) => [key, count])))).toEqual([])
    expect(await health(server)).toEqual(healthy)
  })

  test('refuse no connection while all of them are replaced', async () => {
    await untilBothServe()
    const killed = workersOf(server)
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    await waitFor('the end of the workers', () => !killed.some(isRunning))
    const reply = await sendRequest('GET', `${server.url}/health`, { agent: new Agent() })
    expect(reply.status).toBe(200)
    await untilBothServe(killed)
  })

  test('serve the connections of one that hangs, and replace it', async () => {
    const from = await untilBothServe()
    const [victim = 0] = workersOf(server)
    process.kill(victim, 'SIGSTOP')
    const answers = Array.from({ length: 20 }, () =>
      sendRequest('GET', `${server.url}/health`, { agent: new Agent() }),
    )
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(workersOf(server)).toContain(victim)
    const end = () =>
      server
        .log()
        .slice(from)
        .find(({ pid }) => pid === victim)
    await waitFor('the end of the worker', () => end() !== undefined, 60_000)
    expect(end()).toMatchObject({
      level: 'error',
      pid: victim,
      signal: 'SIGKILL',
      reason: 'its event loop was silent for 10 s',
    })
    await untilBothServe([victim])
    expect(await server.stop()).toEqual(clean)
  })

  test('end with the reason when one crashes again and again', async () => {
    await using server = await start()
    const [stable = 0] = workersOf(server)
    const hasEnded = server.ended.then(() => true)
    while (!(await Promise.race([hasEnded, delay(20, false)]))) {
      for (const worker of workersOf(server)) if (worker !== stable) process.kill(worker, 'SIGKILL')
    }
    expect(await server.ended).toEqual({ code: 1, signal: null })
    expect(server.output()).toMatch(
      /^basalt: worker [12] has ended five times in a row: it ended with SIGKILL$/m,
    )
    expect(isRunning(stable)).toBe(false)
  })

  test('refuse to start without database connections for each, with the number needed', async () => {
    const config = {
      'database.url': `${cluster.url}/shop`,
      'server.workers': '3',
      'database.max_conns': '11',
    }
    expect(await failToStart({ config })).toEqual({
      code: 2,
      signal: null,
      stdout: '',
      stderr:
        'basalt: invalid configuration: database.max_conns (environment BASALT_DATABASE_MAX_CONNS): ' +
        '11 is too few for 3 workers: they need 12, 4 each\n',
    })
  })
})

describe('database connections of two workers', () => {
  /** Returns the limit of each worker. */
  async function limits({ url }: ServerProcess): Promise<Record<string, number>> {
    const { text } = await sendRequest('GET', `${url}/metrics`)
    const samples = text.matchAll(/^basalt_database_connection_limit\{worker="(\d)"\} (\d+)$/gm)
    return Object.fromEntries([...samples].map(([, worker = '', limit]) => [worker, Number(limit)]))
  }

  /** Counts the requests that each worker has served. */
  async function served({ url }: ServerProcess): Promise<Record<string, number>> {
    const { text } = await sendRequest('GET', `${url}/metrics`)
    const samples = text.matchAll(
      /^basalt_http_requests_total\{operation="collections.list",.*worker="(\d)"\} (\d+)$/gm,
    )
    return Object.fromEntries([...samples].map(([, worker = '', count]) => [worker, Number(count)]))
  }

  /** Opens connections until each worker has as many as given. */
  async function connectToEach(server: ServerProcess, count: number): Promise<Record<string, Agent[]>> {
    const agents: Record<string, Agent[]> = { 1: [], 2: [] }
    await waitFor('connections to each worker', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const before = await served(server)
      await sendRequest('GET', `${server.url}/api/collections/item?perPage=1`, { token, agent })
      const worker = await waitFor('the count of the request', async () => {
        const after = await served(server)
        return ['1', '2'].find((number) => (after[number] ?? 0) > (before[number] ?? 0))
      })
      agents[worker]?.push(agent)
      return Object.values(agents).every(({ length }) => length >= count)
    })
    return agents
  }

  /** Sends slow lists on each connection until it is ended or they fail. */
  function startNaps({ url }: ServerProcess, agents: readonly Agent[]) {
    let isOver = false
    const done = agents.map(async (agent) => {
      while (!isOver) {
        await sendRequest('GET', `${url}/api/collections/nap?skipTotal=true`, { token, agent })
      }
    })
    return async () => {
      isOver = true
      await Promise.allSettled(done)
    }
  }

  /** Counts the sessions of the server in PostgreSQL. */
  async function sessions(condition = 'true'): Promise<number> {
    const [row] = await cluster.sql<{ count: number }>(
      'shop',
      `select count(*)::int from pg_stat_activity
       where application_name = 'basalt start' and ${condition}`,
    )
    return row?.count ?? 0
  }

  test('grow for the one that has the work, within those of the machine, also when it is killed', async () => {
    await cluster.sql('shop', "create view nap as select 'rested' as state from pg_sleep(0.2)")
    await using server = await start({ 'database.max_conns': '12' })
    const agents = await connectToEach(server, 8)
    await waitFor('equal parts', async () => Object.values(await limits(server)).join() === '6,6')
    let most = 0
    let isOver = false
    const watching = (async () => {
      while (!isOver) most = Math.max(most, await sessions())
    })()

    const endFirst = startNaps(server, agents[1] ?? [])
    await waitFor('growth', async () => Object.values(await limits(server)).join() === '8,4')
    // One of the six for requests is reserved for other tables.
    const napping = "state = 'active' and query like '%\"nap\"%'"
    await waitFor('its use', async () => (await sessions(napping)) === 5)

    const endSecond = startNaps(server, agents[2] ?? [])
    await waitFor('fair parts', async () => Object.values(await limits(server)).join() === '6,6')
    await waitFor('the use of both', async () => (await sessions(napping)) === 6)

    await endSecond()
    await waitFor('growth', async () => Object.values(await limits(server)).join() === '8,4')
    const [victim = 0] = workersOf(server)
    process.kill(victim, 'SIGKILL')
    await endFirst()
    await waitFor('the replacement', () => server.log().some(({ msg }) => msg === 'the new worker serves'))
    await waitFor('equal parts', async () => Object.values(await limits(server)).join() === '6,6')
    isOver = true
    await watching
    // Each worker listens on a connection of its own.
    expect(most).toBeLessThanOrEqual(12 + 2)
    expect(await server.stop()).toEqual(clean)
  })
})

describe('two workers on the embedded database', () => {
  test('end when their parent is killed; the next start is clean, and its stop ends PostgreSQL', async () => {
    await using data = createDirectory(undefined, '.')
    const config = {
      'server.data_dir': data.path,
      'server.workers': '2',
      'server.port': String(await findFreePort()),
      'metrics.enabled': 'true',
    }
    await using server = await startServer({ config })
    const workers = workersOf(server)
    await server.stop('SIGKILL')
    await waitFor('the end of the workers', () => !workers.some(isRunning))
    await using again = await startServer({ config })
    expect(await health(again)).toEqual(healthy)
    expect(await again.stop()).toEqual(clean)
    expect(postmasterOf(data.path)).toBeUndefined()
    expect(again.log().map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^development: /),
      'listening',
      'stopping',
      'stopped',
    ])
  })

  test('stop in order while they start', async () => {
    await using data = createDirectory(undefined, '.')
    const config = { 'server.data_dir': data.path, 'server.workers': '2' }
    await using server = launchServer({ config })
    await waitFor('a worker', () => workersOf(server).length > 0)
    expect(await server.stop()).toEqual(clean)
    expect(server.log().map(({ msg }) => msg)).not.toContain('listening')
    expect(postmasterOf(data.path)).toBeUndefined()
  })
})
