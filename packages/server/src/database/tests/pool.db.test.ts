import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { call, connectTo } from '../../../test/connections.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'
import type { Connection } from '../connection/connection.ts'
import { ConnectionLost, PoolExhausted } from '../errors/failures.ts'
import { ConnectionBudget, divideConnections } from '../pool/connection-budget.ts'
import { Pool, type PoolOptions } from '../pool/pool.ts'
import { SharedConnections } from '../pool/shared-connections.ts'

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
    // The last one may still be measured.
    await waitFor('idle connections', () => pool.stats.idle === 3)
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

/** Creates the pools of a server. `exceeded` has the numbers of connections above the allowed one. */
function createBudget(limit: number) {
  const budget = new ConnectionBudget(limit)
  const sizes = divideConnections(limit)
  const shared = new SharedConnections(sizes.requests)
  const opened = new Set<Connection>()
  const exceeded: number[] = []
  let allowed = limit
  let opening = 0
  const open = async () => {
    opening += 1
    const count = opening + [...opened].filter(({ isOpen }) => isOpen).length
    if (count > allowed) exceeded.push(count)
    const connection = await connectTo(database)
    opened.add(connection)
    opening -= 1
    return connection
  }
  const system = createPool({ open, size: sizes.system, observer: budget }).pool
  const [callers, administrators] = [1, 2].map(
    () => createPool({ open, size: sizes.requests, shared, observer: budget }).pool,
  ) as [Pool, Pool]
  budget.assign({ system, requests: [callers, administrators], shared })
  return {
    ...{ budget, system, callers, administrators, exceeded },
    served: () => served([...opened]),
    /** Changes the limit; a lower one holds from the time when the budget says so. */
    async resize(next: number) {
      allowed = Math.max(next, budget.limit)
      budget.resize(next)
      await waitFor('the limit', () => !budget.isExceeded)
      allowed = next
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([system, callers, administrators].map((pool) => pool.close()))
    },
  }
}

describe('pool › maximum size', () => {
  test('serves waiters at once when it rises', async () => {
    await using created = createPool({ size: 1 })
    const { pool } = created
    const works = [occupy(pool), occupy(pool), occupy(pool)]
    await waitFor('the connection', () => pool.stats.busy === 1)
    pool.resize(3)
    await waitFor('the other connections', () => pool.stats.busy === 3)
    for (const { end } of works) end()
    await Promise.all(works.map(({ done }) => done))
    expect(pool.limits.size).toBe(3)
  })

  test('closes idle connections first when it falls, and others when they are released, even while work waits', async () => {
    await using created = createPool({ size: 4 })
    const { pool, opened } = created
    const works = [occupy(pool), occupy(pool), occupy(pool), occupy(pool)]
    await waitFor('the connections', () => pool.stats.busy === 4)
    works[3]?.end()
    await works[3]?.done
    pool.resize(2)
    await waitFor('the idle one to be closed', async () => (await served(opened)) === 3)
    expect(pool.stats).toEqual({ busy: 3, idle: 0, waiting: 0 })
    const waiter = occupy(pool)
    works[2]?.end()
    await waitFor('the released one to be closed', async () => (await served(opened)) === 2)
    expect(pool.stats).toEqual({ busy: 2, idle: 0, waiting: 1 })
    works[1]?.end()
    await works[1]?.done
    expect(pool.stats).toEqual({ busy: 2, idle: 0, waiting: 0 })
    for (const { end } of [...works, waiter]) end()
    await Promise.all([...works, waiter].map(({ done }) => done))
    expect(pool.stats).toEqual({ busy: 0, idle: 2, waiting: 0 })
    expect(opened).toHaveLength(4)
  })

  test('is followed by the quota of a relation', async () => {
    await using created = createPool({ size: 4 })
    const { pool } = created
    const works = Array.from({ length: 7 }, () => occupy(pool, 'locked'))
    await waitFor('the quota of four', () => pool.stats.busy === 3)
    pool.resize(8)
    await waitFor('the quota of eight', () => pool.stats.busy === 7)
    expect(pool.quotas.admits('locked')).toBe(false)
    works[0]?.end()
    await works[0]?.done
    expect(pool.quotas.admits('locked')).toBe(true)
    pool.resize(4)
    expect(pool.quotas.admits('locked')).toBe(false)
    for (const { end } of works) end()
    await Promise.all(works.map(({ done }) => done))
    expect(pool.quotas.isAnyExhausted).toBe(false)
  })

  test('is never exceeded while it changes under load', async () => {
    await using created = createBudget(12)
    const { system, callers, administrators, exceeded } = created
    let isOver = false
    const load = [system, callers, administrators].flatMap((pool) =>
      Array.from({ length: 12 }, async () => {
        while (!isOver) await pool.use({ run: nap(0.002) })
      }),
    )
    let largest = 0
    for (const limit of [4, 20, 4, 6, 15, 10, 4, 12]) {
      await created.resize(limit)
      const { system: systemSize, requests } = divideConnections(limit)
      await waitFor(
        'as many connections as allowed',
        () =>
          system.connectionCount === systemSize &&
          callers.connectionCount + administrators.connectionCount === requests,
      )
      largest = Math.max(largest, (await created.served()) - limit)
    }
    isOver = true
    await Promise.all(load)
    expect({ exceeded, largest }).toEqual({ exceeded: [], largest: 0 })
  })

  test('is exceeded until each part is within its own, because a part below it may grow again', async () => {
    await using created = createBudget(15)
    const { budget, system, callers } = created
    const works = [system, system, system, ...Array<Pool>(7).fill(callers)].map((pool) => occupy(pool))
    await waitFor('the connections', () => system.stats.busy + callers.stats.busy === 10)
    budget.resize(10)
    expect(budget.isExceeded).toBe(true)
    works[0]?.end()
    await waitFor('two connections of the system', () => system.connectionCount === 2)
    expect(budget.isExceeded).toBe(false)
    for (const { end } of works) end()
    await Promise.all(works.map(({ done }) => done))
  })

  test('rises for one login by the idle connections of another', async () => {
    await using created = createBudget(4)
    const { callers, administrators, budget } = created
    const works = [occupy(callers), occupy(callers)]
    await waitFor('the connections', () => callers.stats.busy === 2)
    for (const { end } of works) end()
    await Promise.all(works.map(({ done }) => done))
    const others = [occupy(administrators), occupy(administrators)]
    await waitFor('the connections', () => administrators.stats.busy === 2)
    expect({ callers: callers.stats, isExceeded: budget.isExceeded }).toEqual({
      callers: nothing,
      isExceeded: false,
    })
    for (const { end } of others) end()
    await Promise.all(others.map(({ done }) => done))
  })

  test('leaves the next connection of a login under load to another login that has none', async () => {
    await using created = createBudget(4)
    const { callers, administrators } = created
    let isOver = false
    const load = Array.from({ length: 8 }, async () => {
      while (!isOver) await callers.use({ run: nap(0.002) })
    })
    await waitFor('the load', () => callers.stats.busy === 2 && callers.stats.waiting > 0)
    await administrators.use({ run: quick }).finally(() => {
      isOver = true
    })
    await Promise.all(load)
  })

  test('reports waiting work, and the limit that this work could use', async () => {
    await using created = createBudget(4)
    const { budget, callers } = created
    let reports = 0
    budget.whenFull(() => {
      reports += 1
    })
    const works = [occupy(callers), occupy(callers)]
    await waitFor('the connections', () => callers.stats.busy === 2)
    expect({ reports, wanted: budget.wanted }).toEqual({ reports: 0, wanted: 4 })
    works.push(occupy(callers), occupy(callers), occupy(callers))
    expect(reports).toBeGreaterThan(0)
    await waitFor('waiters that are overdue', () => budget.wanted === 7)
    for (const { end } of works) end()
    await Promise.all(works.map(({ done }) => done))
    expect(budget.wanted).toBe(2)
  })

  test('reports work that waits because of a quota', async () => {
    await using created = createBudget(6)
    const { budget, callers } = created
    let reports = 0
    budget.whenFull(() => {
      reports += 1
    })
    const works = Array.from({ length: 3 }, () => occupy(callers, 'locked'))
    await waitFor('the quota to be reached', () => callers.stats.busy === 3)
    expect({ reports, wanted: budget.wanted }).toEqual({ reports: 0, wanted: 5 })
    works.push(occupy(callers, 'locked'), occupy(callers, 'locked'))
    expect({ reports, wanted: budget.wanted }).toEqual({ reports: 2, wanted: 7 })
    for (const { end } of works) end()
    await Promise.all(works.map(({ done }) => done))
  })
})
