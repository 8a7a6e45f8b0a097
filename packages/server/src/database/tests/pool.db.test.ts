import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { call, connectTo } from '../../../test/connections.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'
import type { Connection } from '../connection/connection.ts'
import { ConnectionLost, PoolExhausted } from '../errors/failures.ts'
import { Pool, type PoolOptions } from '../pool/pool.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

/** Creates a pool that records its connections and is closed at the end of the test. */
function createPool(options: Partial<PoolOptions> = {}) {
  const opened: Connection[] = []
  const pool = new Pool({
    async open() {
      const connection = await connectTo(database)
      opened.push(connection)
      return connection
    },
    size: 4,
    acquireTimeoutMs: 5000,
    waitingLimit: 100,
    workTimeoutMs: 30_000,
    cancel,
    findDead: async () => [],
    ...options,
  })
  return { pool, opened, [Symbol.asyncDispose]: () => pool.close() }
}

async function cancel(connection: Connection): Promise<void> {
  await database.sql('select pg_cancel_backend($1)', [connection.backendPid])
}

const nap = (seconds: number) => (connection: Connection) =>
  connection.send([call(`select pg_sleep(${seconds})`)])
const quick = (connection: Connection) => connection.send([call('select 1')])

/** Starts work that lasts until it is ended. */
function occupy(pool: Pool, subject?: string): { readonly done: Promise<void>; end(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { done: pool.use({ run: () => promise, subject }), end: resolve }
}

/** Counts the connections that Postgres still serves. */
async function served(connections: readonly Connection[]): Promise<number> {
  const pids = connections.map(({ backendPid }) => backendPid)
  return (await database.sql('select from pg_stat_activity where pid = any ($1)', [pids])).length
}

const nothing = { busy: 0, idle: 0, waiting: 0 }

describe('pool › waiters', () => {
  test('are served in order, by no more connections than allowed', async () => {
    await using created = createPool({ size: 3 })
    const { pool, opened } = created
    const order: number[] = []
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        pool.use({
          run: async (connection) => {
            order.push(index)
            await nap(0.002)(connection)
          },
        }),
      ),
    )
    expect(order).toEqual(order.toSorted((one, other) => one - other))
    expect(opened).toHaveLength(3)
    expect(pool.stats).toEqual({ busy: 0, idle: 3, waiting: 0 })
  })

  test('leave a connection idle while as many compute as the database has processors for', async () => {
    // One processor runs two at once; waiters that have waited for a moment get further connections.
    await using created = createPool({ cores: 1 })
    const { pool } = created
    const crowd = [occupy(pool), occupy(pool), occupy(pool)]
    await waitFor('three connections', () => pool.stats.busy === 3)
    for (const { end } of crowd) end()
    await Promise.all(crowd.map(({ done }) => done))
    expect(pool.stats).toEqual({ busy: 0, idle: 3, waiting: 0 })

    vi.useFakeTimers({ toFake: ['performance'] })
    const works = [occupy(pool), occupy(pool), occupy(pool)]
    const atFirst = pool.stats
    // Longer work waits for a lock or a disk, not for a processor.
    vi.advanceTimersByTime(21)
    works.push(occupy(pool))
    const later = pool.stats
    vi.useRealTimers()
    for (const { end } of works) end()
    await Promise.all(works.map(({ done }) => done))
    expect({ atFirst, later, atLast: pool.stats.waiting }).toEqual({
      atFirst: { busy: 2, idle: 1, waiting: 1 },
      later: { busy: 3, idle: 0, waiting: 1 },
      atLast: 0,
    })
  })

  test('fail with PoolExhausted after the acquire timeout', async () => {
    await using created = createPool({ size: 1, acquireTimeoutMs: 50 })
    const { pool } = created
    // On a loaded machine, opening the connection takes longer than that, and the holder itself would give up.
    await waitFor('an open connection', () => pool.use({ run: quick }).catch(() => undefined))
    const holder = occupy(pool)
    await expect(pool.use({ run: quick })).rejects.toEqual(
      new PoolExhausted('no database connection became free in time'),
    )
    holder.end()
    await holder.done
    await expect(pool.use({ run: quick })).resolves.toHaveLength(1)
  })

  test('fail at once beyond the waiting limit', async () => {
    await using created = createPool({ size: 1, waitingLimit: 2 })
    const { pool } = created
    const holder = occupy(pool)
    await waitFor('the connection', () => pool.stats.busy === 1)
    const waiting = [pool.use({ run: quick }), pool.use({ run: quick })]
    await expect(pool.use({ run: quick })).rejects.toEqual(
      new PoolExhausted('too many requests wait for the database'),
    )
    holder.end()
    await Promise.all([holder.done, ...waiting])
  })

  test('are not served once their callers have disconnected', async () => {
    await using created = createPool({ size: 1 })
    const { pool } = created
    const holder = occupy(pool)
    await waitFor('the connection', () => pool.stats.busy === 1)
    let hasRun = false
    const gone = pool.use({
      run: async () => {
        hasRun = true
      },
      isAbandoned: () => true,
    })
    holder.end()
    await expect(gone).rejects.toEqual(new ConnectionLost('the caller has disconnected'))
    expect(hasRun).toBe(false)
  })

  test('all fail at once when there is no database', async () => {
    const lost = new ConnectionLost('cannot connect to the database')
    await using created = createPool({ open: () => Promise.reject(lost) })
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => created.pool.use({ run: quick })),
    )
    expect(results).toEqual(results.map(() => ({ status: 'rejected', reason: lost })))
    expect(created.pool.stats).toEqual(nothing)
  })

  test('get one of the working connections while no further one can be opened', async () => {
    let isFull = false
    let attempts = 0
    await using created = createPool({
      async open() {
        attempts += 1
        if (isFull) throw new ConnectionLost('too many clients already')
        return await connectTo(database)
      },
    })
    const { pool } = created
    const holder = occupy(pool)
    await waitFor('the connection', () => pool.stats.busy === 1)
    isFull = true
    const served = pool.use({ run: quick })
    await waitFor('attempts to open another', () => attempts >= 3)
    holder.end()
    await expect(served).resolves.toHaveLength(1)
    // At least a tenth of a second passes between two attempts.
    expect(attempts).toBeLessThan(20)
  })

  test('are passed by others when their relation has reached its quota', async () => {
    await using created = createPool({ size: 4 })
    const { pool } = created
    const holders = Array.from({ length: 3 }, () => occupy(pool, 'locked'))
    await waitFor('the quota to be reached', () => pool.stats.busy === 3)
    let hasRun = false
    const further = pool.use({
      run: async () => {
        hasRun = true
      },
      subject: 'locked',
    })
    for (let turn = 0; turn < 5; turn += 1) await pool.use({ run: quick, subject: 'other' })
    await pool.use({ run: quick })
    expect(hasRun).toBe(false)
    holders[0]?.end()
    await further
    for (const holder of holders) holder.end()
    await Promise.all(holders.map(({ done }) => done))
    expect(pool.quotas.isAnyExhausted).toBe(false)
  })
})

describe('pool › work', () => {
  test('returns its connection when it fails, in order', async () => {
    await using created = createPool({ size: 1 })
    const { pool, opened } = created
    for (let turn = 0; turn < 5; turn += 1) {
      await expect(
        pool.use({ run: (connection) => connection.send([call('select 1/0')]) }),
      ).rejects.toMatchObject({ error: { code: '22012' } })
    }
    await expect(
      pool.use({
        run: () => {
          throw new Error('of its own')
        },
      }),
    ).rejects.toThrow('of its own')
    await pool.use({ run: quick })
    expect(opened).toHaveLength(1)
  })

  test('never gets a connection that has just broken', async () => {
    await using created = createPool({ size: 1 })
    const { pool, opened } = created
    for (let turn = 1; turn <= 5; turn += 1) {
      await expect(
        pool.use({
          run: (connection) => connection.send([call('select pg_terminate_backend(pg_backend_pid())')]),
        }),
      ).rejects.toMatchObject({ error: { code: '57P01' } })
      await pool.use({ run: quick })
      expect(opened).toHaveLength(turn + 1)
    }
  })

  test('is cancelled when its caller disconnects, again when the first cancellation came too early', async () => {
    let calls = 0
    await using created = createPool({
      async cancel(connection) {
        calls += 1
        if (calls > 1) await cancel(connection)
      },
    })
    const { pool, opened } = created
    let isGone = false
    const abandoned = pool.use({
      run: (connection) => {
        isGone = true
        return nap(60)(connection)
      },
      isAbandoned: () => isGone,
    })
    await expect(abandoned).rejects.toMatchObject({ error: { code: '57014' } })
    expect(calls).toBe(2)
    await pool.use({ run: quick })
    expect(opened).toHaveLength(1)
  })

  test('does not get a connection whose statement is still being cancelled', async () => {
    const { promise: cancelled, resolve: finishCancelling } = Promise.withResolvers<void>()
    const { promise: cancelling, resolve: beginCancelling } = Promise.withResolvers<void>()
    let isGone = false
    await using created = createPool({
      size: 1,
      async cancel() {
        beginCancelling()
        await cancelled
      },
    })
    const { pool } = created
    const holder = Promise.withResolvers<void>()
    const first = pool.use({
      run: () => {
        isGone = true
        return holder.promise
      },
      isAbandoned: () => isGone,
    })
    await cancelling
    isGone = false
    holder.resolve()
    let hasRun = false
    const second = pool.use({
      run: async () => {
        hasRun = true
      },
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(hasRun).toBe(false)
    finishCancelling()
    await Promise.all([first, second])
    expect(hasRun).toBe(true)
  })

  test('is aborted when it does not end', async () => {
    await using created = createPool({ workTimeoutMs: 100 })
    await expect(created.pool.use({ run: nap(60) })).rejects.toBeInstanceOf(ConnectionLost)
    expect(created.pool.stats).toEqual(nothing)
  })

  test('is aborted on a dead connection, and only there', async () => {
    const checks: number[] = []
    await using created = createPool({
      async findDead(silent) {
        checks.push(silent.length)
        return silent.slice(0, 1)
      },
    })
    const { pool } = created
    const [first, second] = await Promise.allSettled([
      pool.use({ run: nap(4) }),
      pool.use({ run: nap(4) }),
      // It is silent on our side: nothing is expected of its connection.
      pool.use({ run: () => waitFor('the check of the others', () => checks.length > 0) }),
    ])
    expect(first).toMatchObject({ status: 'rejected', reason: { name: 'ConnectionLost' } })
    expect(second).toMatchObject({ status: 'fulfilled' })
    expect(checks[0]).toBe(2)
  })
})

describe('pool › closing', () => {
  test('lets work finish, refuses more, and leaves no session', async () => {
    const { pool, opened } = createPool()
    const work = [pool.use({ run: nap(0.1) }), pool.use({ run: nap(0.1) })]
    await waitFor('the work to begin', () => pool.stats.busy === 2)
    const closed = pool.close()
    expect(pool.close()).toBe(closed)
    await Promise.all(work)
    await closed
    await expect(pool.use({ run: quick })).rejects.toEqual(new ConnectionLost('the server is stopping'))
    expect(pool.stats).toEqual(nothing)
    expect(opened).toHaveLength(2)
    await waitFor('the sessions to end', async () => (await served(opened)) === 0)
  })

  test('waits for a connection that is just being opened', async () => {
    const { promise: isAllowed, resolve: allow } = Promise.withResolvers<void>()
    const { pool, opened } = createPool({
      acquireTimeoutMs: 20,
      async open() {
        await isAllowed
        const connection = await connectTo(database)
        opened.push(connection)
        return connection
      },
    })
    await expect(pool.use({ run: quick })).rejects.toBeInstanceOf(ConnectionLost)
    const closed = pool.close()
    allow()
    await closed
    expect(opened.map(({ isOpen }) => isOpen)).toEqual([false])
  })

  test('waits for no statement after a disconnect, and fails waiting work', async () => {
    const { pool, opened } = createPool({ size: 2 })
    await Promise.all([pool.use({ run: nap(0.1) }), pool.use({ run: nap(0.1) })])
    const running = pool.use({ run: nap(60) })
    pool.disconnect()
    await expect(running).rejects.toBeInstanceOf(ConnectionLost)
    await pool.close()
    expect({ ...pool.stats, open: opened.filter(({ isOpen }) => isOpen) }).toEqual({ ...nothing, open: [] })
    await expect(pool.use({ run: quick })).rejects.toEqual(new ConnectionLost('the server is stopping'))

    const full = createPool({ size: 1 })
    const working = full.pool.use({ run: nap(60) })
    await waitFor('the work to begin', () => full.pool.stats.busy === 1)
    const waiting = full.pool.use({ run: quick })
    full.pool.disconnect()
    await expect(working).rejects.toBeInstanceOf(ConnectionLost)
    await expect(waiting).rejects.toEqual(new ConnectionLost('the server is stopping'))
    await full.pool.close()
  })
})
