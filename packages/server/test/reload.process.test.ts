import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { command } from './command.ts'
import { alice } from './fixtures.ts'
import { contradictions, loadTable, startLoad } from './load.ts'
import { followStream } from './resuming-stream.ts'
import { sendRequest } from './send-request.ts'
import {
  createDirectory,
  type FinishedCommand,
  runCommand,
  type ServerProcess,
  startServer,
} from './server-process.ts'
import { userToken } from './test-app.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'
import { isRunning, workersOf } from './worker-processes.ts'

const token = userToken({ sub: alice })
const clean = { code: 0, signal: null }
const failed = { code: 1, signal: null }
const failure = 'failed to reload; the workers continue with the previous configuration'
/** Time for starts and ends of workers on a busy machine. */
const startMs = 300_000
const restartNeeded =
  'restart needed: server.workers is 1, and a single process cannot be replaced while its port stays open'
let cluster: ThrowAwayCluster

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create database shop')
  await cluster.sql('shop', loadTable)
})
afterAll(() => cluster[Symbol.asyncDispose]())

/** Server with a configuration file and an executable, both of which tests change. */
interface Reloadable extends AsyncDisposable {
  readonly server: ServerProcess
  readonly dataDirectory: string
  configure(toml: string): void
  /** Replaces the executable. @param changes code that runs before that of the package */
  install(changes: string): void
  reload(...args: readonly string[]): Promise<FinishedCommand>
}

async function start(toml: string): Promise<Reloadable> {
  const directory = createDirectory()
  const file = join(directory.path, 'basalt.toml')
  const executable = join(directory.path, 'basalt.mjs')
  const dataDirectory = join(directory.path, 'data')
  const configure = (text: string) => writeFileSync(file, text)
  const install = (changes: string) =>
    writeFileSync(executable, `${changes}\nawait import(${JSON.stringify(command)})\n`)
  configure(toml)
  install('')
  const config = { 'database.url': `${cluster.url}/shop`, 'server.data_dir': dataDirectory }
  const options = { config, env: { BASALT_CONFIG: file }, executable }
  const server = await startServer(options)
  return {
    ...{ server, dataDirectory, configure, install },
    reload: (...args) => runCommand(['reload', ...args], { ...options, executable: command }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await directory[Symbol.asyncDispose]()
    },
  }
}

function workers(count: number, more = ''): string {
  return `[server]\nworkers = ${count}\n${more}`
}

function messages(server: ServerProcess): unknown[] {
  return server.log().map(({ msg }) => msg)
}

function countOf(server: ServerProcess, message: string): number {
  return messages(server).filter((msg) => msg === message).length
}

function reloaded({ url }: ServerProcess, count = 2, version = '0.1.0'): FinishedCommand {
  return { ...clean, stdout: `reloaded: ${count} workers serve ${url} (version ${version})\n`, stderr: '' }
}

function notReloaded(reason: string): FinishedCommand {
  return {
    ...failed,
    stdout: '',
    stderr: `basalt: not reloaded: ${reason}; the previous workers continue\n`,
  }
}

async function health({ url }: ServerProcess): Promise<unknown> {
  return (await sendRequest('GET', `${url}/health`, { agent: new Agent() })).json
}

function healthy(count: number): object {
  return { status: 'ok', database: 'ok', workers: { serving: count, total: count } }
}

/** Returns the status of a body of 2,000 bytes. */
async function sendLargeBody({ url }: ServerProcess): Promise<number> {
  const body = { key: 'large'.repeat(400) }
  return (await sendRequest('POST', `${url}/api/collections/item`, { token, body })).status
}

/** Waits until a reload has started a process, and returns it. */
async function newWorker(server: ServerProcess, previous: readonly number[]): Promise<number> {
  return await waitFor('a new worker', () => workersOf(server).find((pid) => !previous.includes(pid)))
}

// A busy machine takes minutes for the starts of a test.
describe('basalt reload', { timeout: 900_000 }, () => {
  test('fails no request and loses no event, several times in a row under load', async () => {
    await using it = await start(workers(2))
    const { server } = it
    await using stream = await followStream(() => [server.url], 'tables=item', token)
    const loads = [
      startLoad({ urls: [server.url], token, clients: 2, prefix: 'kept' }),
      startLoad({ urls: [server.url], token, clients: 2, prefix: 'new', reconnects: true }),
    ]
    await waitFor('load', () => loads.every(({ answered }) => answered > 50))
    for (const count of [2, 3, 2]) {
      it.configure(workers(count))
      const before = workersOf(server)
      expect(await it.reload()).toEqual(reloaded(server, count))
      await waitFor('the end of the previous workers', () => !before.some(isRunning), startMs)
      // The parent reaps them a moment later.
      await waitFor('only the new workers', () => workersOf(server).length === count)
      const answered = loads.map((load) => load.answered)
      await waitFor('more responses', () =>
        loads.every((load, index) => load.answered > (answered[index] ?? 0) + 50),
      )
    }
    const histories = await Promise.all(loads.map((load) => load.stop()))
    for (const { statuses, failures, refused, malformed } of histories) {
      expect([...statuses.keys()].toSorted()).toEqual([200, 201])
      expect({ failures: [...failures], refused, malformed }).toEqual({
        failures: [],
        refused: 0,
        malformed: [],
      })
    }
    const rows = await cluster.sql<{ key: string; count: number }>(
      'shop',
      'select key, count(*)::int as count from item group by key',
    )
    const present = new Map(rows.map(({ key, count }) => [key, count]))
    expect(histories.flatMap((history) => contradictions(history, present))).toEqual([])
    const created = histories.flatMap(({ creates }) => [...creates.keys()])
    const received = () =>
      stream.events
        .filter(({ name, data }) => name === 'message' && data.action === 'create')
        .map(({ data }) => data.record.key)
    await waitFor('all events', () => received().length >= created.length)
    expect(received().toSorted()).toEqual(created.toSorted())
    expect(stream.failures).toBe(0)
    expect(stream.connections).toBeGreaterThan(1)
    expect(await health(server)).toEqual(healthy(2))
    expect(await server.stop()).toEqual(clean)
  })

  test('uses no more database connections than those of the machine', async () => {
    await cluster.sql('shop', "create view nap as select 'rested' as state from pg_sleep(0.2)")
    await using it = await start(workers(2, '[database]\nmax_conns = 16\n'))
    const { server } = it
    let isOver = false
    const naps = Array.from({ length: 24 }, async () => {
      while (!isOver) {
        const url = `${server.url}/api/collections/nap?skipTotal=true`
        expect((await sendRequest('GET', url, { token, agent: new Agent() })).status).toBe(200)
      }
    })
    const sessions = async () => {
      const text = "select count(*)::int from pg_stat_activity where application_name = 'basalt start'"
      return (await cluster.sql<{ count: number }>('shop', text))[0]?.count ?? 0
    }
    await waitFor('the use of most connections', async () => (await sessions()) > 12)
    let most = 0
    const watching = (async () => {
      while (!isOver) most = Math.max(most, await sessions())
    })()
    expect(await it.reload()).toEqual(reloaded(server))
    isOver = true
    await Promise.all([...naps, watching])
    // Each generation listens on a connection of its own.
    expect(most).toBeLessThanOrEqual(16 + 2)

    // Statements that do not end delay the new workers.
    const waits = () => server.log().filter(({ msg }) => String(msg).startsWith('a new worker waits'))
    expect(waits()).toEqual([])
    await cluster.sql(
      'shop',
      `create table held (id int); insert into held values (1);
      create function while_held() returns text language plpgsql security definer as $$ begin
        while exists (select from public.held) loop perform pg_sleep(0.05); end loop;
        return 'rested';
      end $$;
      create view long_nap as select while_held() as state`,
    )
    const longNaps = Array.from({ length: 24 }, () =>
      sendRequest('GET', `${server.url}/api/collections/long_nap?skipTotal=true`, {
        token,
        agent: new Agent(),
      }),
    )
    const sleeping = async () => {
      const text = `select count(*)::int from pg_stat_activity
        where application_name = 'basalt start' and state = 'active' and query like '%"long_nap"%'`
      return (await cluster.sql<{ count: number }>('shop', text))[0]?.count ?? 0
    }
    await waitFor('the use of most connections', async () => (await sleeping()) >= 8)
    const previous = workersOf(server)
    const outcome = it.reload()
    const pid = await newWorker(server, previous)
    const [wait] = await waitFor('the line', () => waits().length > 0 && waits())
    expect(wait).toEqual({
      ...{ level: 'warn', time: expect.any(String), worker: 1, pid, maxConns: 16 },
      msg:
        'a new worker waits for 4 database connections; it starts when statements of the previous workers end, ' +
        'which use those of database.max_conns',
    })
    await cluster.sql('shop', 'delete from held')
    expect(await outcome).toEqual(reloaded(server))
    // Requests that waited for a connection are refused.
    const statuses = (await Promise.all(longNaps)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(8)
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(await server.stop()).toEqual(clean)
  })

  describe('with one server', () => {
    let it: Reloadable
    let server: ServerProcess

    beforeAll(async () => {
      it = await start(workers(2))
      server = it.server
    }, startMs)
    afterAll(() => it[Symbol.asyncDispose]())
    beforeEach(async () => {
      it.configure(workers(2))
      // The workers before an earlier reload may still be ending.
      await waitFor('only the workers', () => workersOf(server).length === 2, startMs)
      await waitFor('both', async () => isDeepStrictEqual(await health(server), healthy(2)), startMs)
    }, 2 * startMs)

    test('applies the configuration of now, and refuses one that is invalid or needs a restart', async () => {
      expect(await sendLargeBody(server)).toBe(201)
      const before = workersOf(server)

      const small = workers(2, 'body_limit = 1024\n')
      it.configure(small)
      expect(await it.reload()).toEqual(reloaded(server))
      expect(await sendLargeBody(server)).toBe(413)
      const current = workersOf(server).filter((pid) => !before.includes(pid))
      expect(current).toHaveLength(2)

      const refusals = [
        [`${small}x = [`, 'basalt.toml, line 4: unfinished array'],
        [`${small}[api]\nfoo = 1\n`, 'invalid configuration: api.foo (file basalt.toml): unknown key'],
        [
          `${small}[admin]\nlisten = "127.0.0.1:1"\n`,
          'restart needed: admin.listen has changed (the workers share the socket that the start has opened)',
        ],
        [workers(1), 'restart needed: server.workers has changed (a single process has no parent)'],
      ] as const
      for (const [toml, reason] of refusals) {
        it.configure(toml)
        const { stderr, ...outcome } = await it.reload()
        expect({ ...outcome, stderr: stderr.replaceAll(/\S*(?=basalt\.toml)/g, '') }).toEqual(
          notReloaded(reason),
        )
        expect(server.log().findLast(({ level }) => level === 'error')?.msg).toBe(failure)
      }
      const status = await runCommand(['status'], { config: { 'server.data_dir': it.dataDirectory } })
      expect(status.stdout).toBe(
        `running: ${server.url} (process ${server.pid}, version 0.1.0): ok, database ok, 2 of 2 workers\n` +
          '  the last reload failed: restart needed: server.workers has changed (a single process has no parent)\n',
      )
      expect(await sendLargeBody(server)).toBe(413)
      await waitFor('only the workers', () => workersOf(server).length === 2)
      expect(workersOf(server)).toEqual(current)

      // Two at once run one after the other.
      it.configure(workers(2))
      expect(await Promise.all([it.reload(), it.reload()])).toEqual([reloaded(server), reloaded(server)])
      expect(await sendLargeBody(server)).toBe(201)
      const steps = messages(server).filter(
        (msg) => msg === 'reloading' || msg === 'reloaded' || msg === failure,
      )
      expect(steps.filter((step, index) => (step === 'reloading') === (index % 2 === 1))).toEqual([])

      // A service manager sends SIGHUP.
      it.configure(small)
      server.signal('SIGHUP')
      await waitFor('the reload', async () => (await sendLargeBody(server)) === 413, startMs)
    })

    test('continues with the previous workers when a new one is killed', async () => {
      const before = workersOf(server)
      const outcome = it.reload()
      process.kill(await newWorker(server, before), 'SIGKILL')
      expect(await outcome).toEqual(notReloaded('a worker could not start: it ended with SIGKILL'))
      expect(await health(server)).toEqual(healthy(2))
      expect(workersOf(server)).toEqual(before)

      // The loss of a previous worker does not change the reload.
      const second = it.reload()
      await newWorker(server, before)
      process.kill(before[0] ?? 0, 'SIGKILL')
      expect(await second).toEqual(reloaded(server))
      await waitFor('two new workers', () => {
        const now = workersOf(server)
        return now.length === 2 && !now.some((pid) => before.includes(pid))
      })
      expect(await health(server)).toEqual(healthy(2))
    })

    test('starts the executable of now, unless it speaks another protocol', async () => {
      const greet = (changes: string) => `
  const send = process.send?.bind(process)
  if (send) process.send = (message, ...rest) =>
    send(message.kind === 'hello' ? { ...message, ${changes} } : message, ...rest)
  `
      it.install(greet("version: '9.0.0', protocol: 99"))
      expect(await it.reload()).toEqual(
        notReloaded('restart needed: version 9.0.0 has another protocol between parent and workers'),
      )

      it.install(greet("version: '9.1.0'"))
      const [first = 0] = workersOf(server)
      process.kill(first, 'SIGKILL')
      const reason = 'the executable has version 9.1.0, the other workers 0.1.0: run `basalt reload`'
      await waitFor('the refusal', () => server.log().some((line) => line.reason === reason))
      expect(await it.reload()).toEqual(reloaded(server, 2, '9.1.0'))
      await waitFor(
        'both',
        async () => ((await health(server)) as { workers: { serving: number } }).workers.serving === 2,
      )

      it.install('process.exit(7)')
      expect(await it.reload()).toEqual(notReloaded('a worker could not start: it ended with code 7'))
      it.install("throw new Error('broken installation')")
      expect(await it.reload()).toEqual(notReloaded('a worker could not start: Error: broken installation'))
      expect(await health(server)).toEqual(healthy(2))
      expect(await server.stop()).toEqual(clean)
    })
  })

  test('ends with the server, which a signal stops in order and SIGKILL at once', async () => {
    await using it = await start(workers(2))
    const { server } = it
    const before = workersOf(server)
    const outcome = it.reload()
    const started = await newWorker(server, before)
    const { status, ...counts } = (await health(server)) as { status: string }
    expect({ status, ...counts }).toEqual({
      ...{ status: 'ok', database: 'ok' },
      workers: { serving: 2, total: 2, reloading: true },
    })
    expect(await server.stop()).toEqual(clean)
    expect(await outcome).toEqual({
      ...{ ...failed, stdout: '' },
      stderr: expect.stringMatching(
        /^basalt: not reloaded: the server (is stopping; the previous workers continue|\(process \d+\) has ended)\n$/,
      ),
    })
    expect([...before, started].filter(isRunning)).toEqual([])
    expect(messages(server).slice(-1)).toEqual(['stopped'])

    await using killed = await start(workers(2))
    const lost = killed.reload()
    const previous = workersOf(killed.server)
    const added = await newWorker(killed.server, previous)
    await killed.server.stop('SIGKILL')
    expect(await lost).toEqual({
      ...{ ...failed, stdout: '' },
      stderr: `basalt: not reloaded: the server (process ${killed.server.pid}) has ended\n`,
    })
    await waitFor('the end of all workers', () => ![...previous, added].some(isRunning))
    expect(await killed.reload()).toEqual({
      ...{ ...failed, stdout: '' },
      stderr: `basalt: no server of ${killed.dataDirectory} runs\n`,
    })
  })

  test('is refused by a server of one process, which SIGHUP without a terminal does not stop', async () => {
    await using it = await start(workers(1))
    const { server } = it
    expect(await it.reload()).toEqual({
      ...{ ...failed, stdout: '' },
      stderr: `basalt: ${restartNeeded}\n`,
    })
    server.signal('SIGHUP')
    await waitFor('the refusal', () => countOf(server, restartNeeded) === 1)
    expect(await health(server)).toEqual({ status: 'ok', database: 'ok' })
    expect(await server.stop()).toEqual(clean)
  })
})
