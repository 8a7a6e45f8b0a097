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
import { slowMs } from '../notifications/listener.ts'
import { listeningMs, Notifications, type Watch } from '../notifications/notifications.ts'
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
/** So long that only an announcement makes a node look. */
const never = () => 3_600_000

interface NodeOptions {
  /** Where it listens; nowhere when undefined. */
  readonly listen?: (() => Promise<Connection>) | undefined
  readonly timer?: Timer
}

/** A node's loop with a pool of its own. */
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

test('a look that a job has announced has all connections, and not the quota of jobs', async () => {
  await using node = createNode()
  const looks: boolean[] = []
  const version = () => {
    looks.push(isInBackground())
    return versionOf('colour')
  }
  node.follow('colour', { version, everyMs: never })
  await node.notifications.start()
  await inBackground(async () => {
    node.notifications.announce('colour')
    await waitFor('the look', () => looks.length === 2)
    expect(isInBackground()).toBe(true)
  })
  expect(looks).toEqual([false, false])
})

describe('the start', () => {
  test('reads every topic once, null too', async () => {
    await set('colour', 'red')
    await using node = createNode()
    const colour = node.follow('colour')
    const missing = node.follow('missing')
    await node.notifications.start()
    expect([colour.seen, missing.seen]).toEqual([['red'], [null]])
    expect(colour.handle.currentAt).toBeGreaterThan(0)
  })

  test('is followed by the first look after the usual time, or at once when one was asked for before', async () => {
    const timer = createManualTimer()
    await using node = createNode({ listen: direct, timer })
    node.follow('colour')
    await node.notifications.start()
    expect(await timer.runNext(listeningMs - 1)).toBe(false)

    await using asked = createNode({ listen: direct, timer })
    const looking = asked.follow('colour').handle.look()
    await asked.notifications.start()
    expect(await timer.runNext(listeningMs - 1)).toBe(true)
    await looking
  })

  test('fails with what a topic throws, and with a version that cannot be read', async () => {
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

describe('a change', () => {
  test('by plain SQL is found without an announcement, with LISTEN and without', async () => {
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

  test('is announced once for all that comes within 20 ms', async () => {
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

  test('is in force when a look that was asked for resolves', async () => {
    await using node = createNode({ listen: direct })
    const { seen, handle } = node.follow('colour', { everyMs: never })
    await node.notifications.start()
    for (let i = 0; i < 10; i += 1) {
      await set('colour', `shade ${i}`)
      await handle.look()
      expect(seen.at(-1)).toBe(`shade ${i}`)
    }
  })

  test('while one is read waits for its end; the last one is in force then', async () => {
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

  test('whose reading fails is read again, and logged once', async () => {
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

describe('the connection that listens', () => {
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
      // Even if the notification was lost: connecting anew is a reason to look.
      await waitFor('the change', () => seen.at(-1) === `shade ${i}`)
      await waitFor(
        'both connections',
        () => node.notifications.isListening && writer.notifications.isListening,
      )
    }
  })

  test('that was cut or does not answer is given up for the pool, and made anew', async () => {
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

  test('that does not answer hides no change for a second', async () => {
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

  test('is not believed behind a transaction pooler, where LISTEN succeeds and brings nothing', async () => {
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

  test('is not believed when it leads to another database', async () => {
    await using elsewhere = await createTestDatabase()
    await using node = createNode({ listen: () => connectTo(elsewhere) })
    node.follow('colour')
    await node.notifications.start()
    expect(node.notifications.isListening).toBe(false)
  })
})

describe('while nothing happens', () => {
  test('a node makes 8 transactions a second without LISTEN', async () => {
    const timer = createManualTimer()
    await using node = createNode({ timer })
    node.follow('colour')
    node.follow('size', { everyMs: () => 1000 })
    await node.notifications.start()
    node.counts.pooled = 0
    while (await timer.runNext(10_000));
    expect(node.counts.pooled).toBe(80)
  })

  test('a node makes 2.2 transactions a second with LISTEN, none of them by the pool', async () => {
    const timer = createManualTimer()
    let looks = 0
    const listen = async () => {
      const connection = await direct()
      const query = connection.query.bind(connection)
      connection.query = async (statement) => {
        looks += 1
        return await query(statement)
      }
      return connection
    }
    // Time passes by hand: no answer is slow.
    const prompt: Timer = {
      now: timer.now,
      after: (delayMs, work) => (delayMs === slowMs ? () => undefined : timer.after(delayMs, work)),
    }
    await using node = createNode({ listen, timer: prompt })
    node.follow('colour')
    node.follow('size', { everyMs: () => 1000 })
    await node.notifications.start()
    looks = 0
    node.counts.pooled = 0
    while (await timer.runNext(9000));
    expect({ looks, ...node.counts }).toEqual({ looks: 20, pooled: 0 })
  })

  test('looks leave no prepared statements behind, as a kept plan knows tables as small as they were', async () => {
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
