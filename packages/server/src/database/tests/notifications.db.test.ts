import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectTo } from '../../../test/connections.ts'
import { createManualTimer } from '../../../test/manual-timer.ts'
import { createTcpProxy } from '../../../test/tcp-proxy.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { startTransactionPooler } from '../../../test/transaction-pooler.ts'
import { waitFor } from '../../../test/wait-for.ts'
import type { Timer } from '../../lib/timer.ts'
import type { Connection } from '../connection/connection.ts'
import { listeningMs } from '../notifications/intervals.ts'
import { slowMs } from '../notifications/listener.ts'
import { Notifications, type Watch } from '../notifications/notifications.ts'
import { inBackground, isInBackground } from '../pool/background.ts'
import { Pool } from '../pool/pool.ts'
import { type Sql, sql } from '../sql.ts'
import { type Queryable, SystemDatabase } from '../system-database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql('create table setting (name text primary key, value text)')
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(async () => {
  await database.sql('truncate setting')
})

const set = (name: string, value: string) =>
  database.sql('insert into setting values ($1, $2) on conflict (name) do update set value = $2', [
    name,
    value,
  ])
const versionOf = (name: string) => sql`select value from setting where name = ${name}`
/** Returns an interval so long that only an announcement makes a node poll. */
const never = () => 3_600_000

interface NodeOptions {
  /** Opens the listening connection; undefined for a node that does not listen. */
  readonly listen?: (() => Promise<Connection>) | undefined
  readonly timer?: Timer
}

/** Creates a node's loop with a pool of its own. */
function createNode({ listen, timer }: NodeOptions = {}) {
  const log: string[] = []
  const counts = { pooled: 0 }
  const pool = new Pool({
    open: () => connectTo(database),
    size: 2,
    acquireTimeoutMs: 5000,
    waitingLimit: 100,
    workTimeoutMs: 30_000,
    cancel: async () => undefined,
    findDead: async () => [],
  })
  const system = new SystemDatabase(pool)
  const counted: Pick<Queryable, 'one'> = {
    one<Row extends pg.QueryResultRow>(statement: Sql) {
      counts.pooled += 1
      return system.one<Row>(statement)
    },
  }
  const notifications = new Notifications({
    database: counted,
    openListener: listen,
    log: pino({ level: 'info' }, { write: (line: string) => log.push(line) }),
    ...(timer === undefined ? {} : { timer }),
  })
  return {
    notifications,
    log,
    counts,
    /** Watches a setting and collects its versions. */
    follow(name: string, more: Partial<Watch> = {}) {
      const seen: (string | null)[] = []
      const handle = notifications.watch({
        topic: name,
        version: versionOf(name),
        onChange: (version) => void seen.push(version),
        ...more,
      })
      return { seen, handle }
    },
    async [Symbol.asyncDispose]() {
      await notifications.stop()
      await pool.close()
    },
  }
}

const direct = () => connectTo(database, { prepare: false })

test('notifications › run a poll that a job has announced on all connections, outside of the job quota', async () => {
  await using node = createNode()
  const polls: boolean[] = []
  const version = () => {
    polls.push(isInBackground())
    return versionOf('colour')
  }
  node.follow('colour', { version, everyMs: never })
  await node.notifications.start()
  await inBackground(async () => {
    node.notifications.announce('colour')
    await waitFor('the poll', () => polls.length === 2)
    expect(isInBackground()).toBe(true)
  })
  expect(polls).toEqual([false, false])
})

describe('notifications › at startup', () => {
  test('read every topic once, null too', async () => {
    await set('colour', 'red')
    await using node = createNode()
    const colour = node.follow('colour')
    const missing = node.follow('missing')
    await node.notifications.start()
    expect([colour.seen, missing.seen]).toEqual([['red'], [null]])
    expect(colour.handle.currentAt).toBeGreaterThan(0)
  })

  test('poll first after the usual interval, or at once after an earlier request', async () => {
    const timer = createManualTimer()
    await using node = createNode({ listen: direct, timer })
    node.follow('colour')
    await node.notifications.start()
    expect(await timer.runNext(listeningMs - 1)).toBe(false)

    await using early = createNode({ listen: direct, timer })
    const polling = early.follow('colour').handle.poll()
    await early.notifications.start()
    expect(await timer.runNext(listeningMs - 1)).toBe(true)
    await polling
  })

  test('fail with the error of a topic, and with a version that cannot be read', async () => {
    await using refusing = createNode()
    refusing.follow('colour', {
      onChange: () => {
        throw new Error('no colours')
      },
    })
    await expect(refusing.notifications.start()).rejects.toThrow('no colours')
    await using faulty = createNode()
    faulty.follow('colour', { version: sql`select value from missing_table` })
    await expect(faulty.notifications.start()).rejects.toThrow('missing_table')
  })
})

describe('notifications › a change', () => {
  test('is found without an announcement when plain SQL makes it, with LISTEN and without', async () => {
    for (const listen of [direct, undefined]) {
      await using node = createNode({ listen })
      const { seen } = node.follow('colour')
      await node.notifications.start()
      expect(node.notifications.isListening).toBe(listen !== undefined)
      await set('colour', `green ${listen?.name}`)
      await waitFor('the change', () => seen.at(-1) === `green ${listen?.name}`)
    }
  })

  test('is seen by the node that announces it, and by the others through a notification alone', async () => {
    await using writer = createNode({ listen: direct })
    await using reader = createNode({ listen: direct })
    const here = writer.follow('colour', { everyMs: never })
    const there = reader.follow('colour', { everyMs: never })
    const other = reader.follow('size', { everyMs: never, topic: 'other' })
    await writer.notifications.start()
    await reader.notifications.start()
    await set('colour', 'blue')
    writer.notifications.announce('colour')
    await waitFor('the writer', () => here.seen.at(-1) === 'blue')
    await waitFor('the reader', () => there.seen.at(-1) === 'blue')
    expect(other.seen).toEqual([null])
  })

  test('is announced once for all changes within 20 ms', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const payloads: string[] = []
    client.on('notification', ({ payload = '' }) => {
      if (['colour', 'end'].includes(payload)) payloads.push(payload)
    })
    await client.query('listen basalt')
    const timer = createManualTimer()
    await using node = createNode({ listen: direct, timer })
    await node.notifications.start()
    for (let i = 0; i < 1000; i += 1) node.notifications.announce('colour')
    await waitFor('the first', () => payloads.length > 0)
    for (let i = 0; i < 1000; i += 1) node.notifications.announce('colour')
    expect(await timer.runNext(20)).toBe(true)
    await waitFor('the second', () => payloads.length > 1)
    await client.query(`notify basalt, 'end'`)
    await waitFor('the end', () => payloads.at(-1) === 'end')
    expect(payloads).toEqual(['colour', 'colour', 'end'])
    await client.end()
  })

  test('is in force when a requested poll resolves', async () => {
    await using node = createNode({ listen: direct })
    const { seen, handle } = node.follow('colour', { everyMs: never })
    await node.notifications.start()
    for (let i = 0; i < 10; i += 1) {
      await set('colour', `shade ${i}`)
      await handle.poll()
      expect(seen.at(-1)).toBe(`shade ${i}`)
    }
  })

  test('waits for the end of a read; the last change is then in force', async () => {
    await using node = createNode()
    let running = 0
    let most = 0
    const seen: (string | null)[] = []
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    node.follow('colour', {
      async onChange(version) {
        running += 1
        most = Math.max(most, running)
        if (version === 'first') await gate
        seen.push(version)
        running -= 1
      },
    })
    const other = node.follow('size')
    await node.notifications.start()
    await set('colour', 'first')
    await waitFor('the first', () => running === 1)
    await set('colour', 'second')
    await set('size', 'large')
    node.notifications.announce('colour')
    await waitFor('the other topic', () => other.seen.at(-1) === 'large')
    open()
    await waitFor('the last', () => seen.at(-1) === 'second')
    expect(most).toBe(1)
  })

  test('is read again after a failure, which is logged once', async () => {
    await using node = createNode()
    let failures = 0
    const seen: (string | null)[] = []
    node.follow('colour', {
      onChange(version) {
        if (version === 'red' && failures < 3) {
          failures += 1
          throw new Error('not yet')
        }
        seen.push(version)
      },
    })
    await node.notifications.start()
    await set('colour', 'red')
    await waitFor('the change', () => seen.at(-1) === 'red')
    expect(failures).toBe(3)
    expect(node.log.filter((line) => line.includes('failed to read what has changed'))).toHaveLength(1)
  })

  test('is noticed although the version of another topic cannot be read', async () => {
    await database.sql('create table brief (value text)')
    await using node = createNode({ listen: direct })
    const { seen } = node.follow('colour')
    node.follow('brief', { version: sql`select max(value) from brief` })
    await node.notifications.start()
    await database.sql('drop table brief')
    await set('colour', 'pink')
    await waitFor('the change', () => seen.at(-1) === 'pink')
    await waitFor('the log line', () => node.log.some((line) => line.includes('"topic":"brief"')))
  })
})

describe('notifications › the listening connection', () => {
  test('is replaced when its backend is terminated, and no change is missed meanwhile', async () => {
    const pids: number[] = []
    const listen = async () => {
      const connection = await direct()
      pids.push(connection.backendPid)
      return connection
    }
    await using node = createNode({ listen })
    await using writer = createNode({ listen })
    const { seen } = node.follow('colour', { everyMs: never })
    await node.notifications.start()
    await writer.notifications.start()
    for (let i = 0; i < 5; i += 1) {
      const terminating = database.sql('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [
        pids.splice(0),
      ])
      await set('colour', `shade ${i}`)
      writer.notifications.announce('colour')
      await terminating
      // A lost notification does not matter: the loop polls after a reconnect.
      await waitFor('the change', () => seen.at(-1) === `shade ${i}`)
      await waitFor(
        'both connections',
        () => node.notifications.isListening && writer.notifications.isListening,
      )
    }
  })

  test('is replaced by the pool when it was cut or does not respond, and is then reopened', async () => {
    const target = Number(new URL(database.url).port)
    await using proxy = await createTcpProxy(target)
    const url = new URL(database.url)
    url.port = String(proxy.port)
    url.hostname = '127.0.0.1'
    await using node = createNode({ listen: () => connectTo({ url: url.href }, { prepare: false }) })
    const { seen } = node.follow('colour')
    await node.notifications.start()
    expect(node.notifications.isListening).toBe(true)
    proxy.cut()
    await set('colour', 'cut')
    await waitFor('the change', () => seen.at(-1) === 'cut')
    await waitFor('the connection', () => node.notifications.isListening)
    proxy.freezePresent()
    await set('colour', 'frozen')
    await waitFor('the change', () => seen.at(-1) === 'frozen')
    const losses = () => node.log.filter((line) => line.includes('failed to listen')).length
    await waitFor('the loss', () => losses() === 2)
    await waitFor('the connection', () => node.notifications.isListening)
    expect(losses()).toBe(2)
  })

  test('hides no change for a second while it does not respond', async () => {
    const url = new URL(database.url)
    await using proxy = await createTcpProxy(Number(url.port))
    url.port = String(proxy.port)
    url.hostname = '127.0.0.1'
    const timer = createManualTimer()
    await using node = createNode({ listen: () => connectTo({ url: url.href }, { prepare: false }), timer })
    const { seen } = node.follow('colour')
    await node.notifications.start()
    proxy.freezePresent()
    await set('colour', 'hidden')
    const frozenAt = timer.now()
    while (seen.at(-1) !== 'hidden') await timer.runNext(Number.POSITIVE_INFINITY)
    expect(timer.now() - frozenAt).toBeLessThan(1000)
    proxy.cut()
  })

  test('is not trusted behind a transaction pooler, where LISTEN succeeds and delivers nothing', async () => {
    const url = new URL(database.url)
    await using pooler = await startTransactionPooler({
      target: Number(url.port),
      user: url.username,
      database: url.pathname.slice(1),
      sessions: 1,
    })
    url.port = String(pooler.port)
    url.hostname = '127.0.0.1'
    await using node = createNode({ listen: () => connectTo({ url: url.href }, { prepare: false }) })
    const { seen } = node.follow('colour')
    await node.notifications.start()
    expect(node.notifications.isListening).toBe(false)
    expect(node.log.join()).toContain('notifications do not arrive')
    await set('colour', 'grey')
    await waitFor('the change', () => seen.at(-1) === 'grey')
  })

  test('is not trusted when it leads to another database', async () => {
    await using elsewhere = await createTestDatabase()
    await using node = createNode({ listen: () => connectTo(elsewhere) })
    node.follow('colour')
    await node.notifications.start()
    expect(node.notifications.isListening).toBe(false)
  })
})

describe('notifications › while nothing happens', () => {
  test('run 8 transactions a second without LISTEN', async () => {
    const timer = createManualTimer()
    await using node = createNode({ timer })
    node.follow('colour')
    node.follow('size', { everyMs: () => 1000 })
    await node.notifications.start()
    node.counts.pooled = 0
    while (await timer.runNext(10_000));
    expect(node.counts.pooled).toBe(80)
  })

  test('run 2.2 transactions a second with LISTEN, none of them in the pool', async () => {
    const timer = createManualTimer()
    let polls = 0
    const listen = async () => {
      const connection = await direct()
      const query = connection.query.bind(connection)
      connection.query = async (statement) => {
        polls += 1
        return await query(statement)
      }
      return connection
    }
    // Time advances by hand, so no result is late.
    const prompt: Timer = {
      now: timer.now,
      after: (delayMs, work) => (delayMs === slowMs ? () => undefined : timer.after(delayMs, work)),
    }
    await using node = createNode({ listen, timer: prompt })
    node.follow('colour')
    node.follow('size', { everyMs: () => 1000 })
    await node.notifications.start()
    polls = 0
    node.counts.pooled = 0
    while (await timer.runNext(9000));
    expect({ polls, ...node.counts }).toEqual({ polls: 20, pooled: 0 })
  })

  test('notifications › leave no prepared statements of polls, whose plans would be those for small tables', async () => {
    const timer = createManualTimer()
    await using node = createNode({ listen: () => connectTo(database), timer })
    const { seen } = node.follow('prepared', {
      version: sql`select count(*) from pg_prepared_statements where statement like '%v0%'`,
    })
    await node.notifications.start()
    while (await timer.runNext(10 * listeningMs));
    expect(seen).toEqual(['0'])
  })
})
