import { afterAll, beforeAll, expect, test } from 'vitest'
import { call, connectTo } from '../../../test/connections.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'
import type { Connection } from '../connection/connection.ts'
import { ConnectionLost, PoolExhausted } from '../errors/failures.ts'
import { Pool, type PoolOptions } from '../pool/pool.ts'
import { ReadQueue } from '../pool/read-queue.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(
    'create table locked (id int); create table other (id int); create table slow as select 1 as id',
  )
})
afterAll(() => database[Symbol.asyncDispose]())

function createQueue(options: Partial<PoolOptions> = {}) {
  const pool = new Pool({
    open: () => connectTo(database),
    size: 4,
    acquireTimeoutMs: 5000,
    waitingLimit: 1000,
    workTimeoutMs: 30_000,
    cancel: async ({ backendPid }) => {
      await database.sql('select pg_cancel_backend($1)', [backendPid])
    },
    findDead: async () => [],
    ...options,
  })
  return { pool, reads: new ReadQueue(pool, unguarded), [Symbol.asyncDispose]: () => pool.close() }
}

/** Sends messages as they are. */
const unguarded: ConstructorParameters<typeof ReadQueue>[1] = {
  isPooled: false,
  sendEach: (connection, messages) => connection.sendEach(messages),
}

async function read(reads: ReadQueue, text: string, ...values: string[]): Promise<string | null | undefined> {
  const [answer] = await reads.send({ calls: [call(text, ...values)], leavesState: false }, undefined)
  return answer?.rows[0]?.[0]
}

/** Sends reads until they are known to be quick and form groups. */
async function warmUp(reads: ReadQueue): Promise<void> {
  for (let turn = 0; turn < 40; turn += 1) await read(reads, 'select 1')
}

test('read queue › returns to every reader its own result, however many read at once', async () => {
  await using queue = createQueue()
  await warmUp(queue.reads)
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, n) => read(queue.reads, 'select $1::text', String(n))),
  )
  expect(answers).toEqual(Array.from({ length: 1000 }, (_, n) => String(n)))
})

test('read queue › groups quick reads, however far away the database is', async () => {
  const groups: number[] = []
  const openFar = async () => {
    const connection = await connectTo(database)
    const sendEach = connection.sendEach.bind(connection)
    connection.sendEach = (outgoing) => {
      groups.push(outgoing.length)
      setTimeout(() => sendEach(outgoing), 5)
    }
    return connection
  }
  await using queue = createQueue({ size: 1, open: openFar })
  await waitFor('a full group', async () => {
    await Promise.all(Array.from({ length: 16 }, (_, n) => read(queue.reads, 'select $1::text', String(n))))
    return groups.includes(8)
  })
})

test('read queue › keeps a failure from the other reads of its group', async () => {
  await using queue = createQueue({ size: 1 })
  await warmUp(queue.reads)
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, (_, n) => read(queue.reads, 'select (100 / $1::int)::text', String(n % 5))),
  )
  results.forEach((result, n) => {
    if (n % 5 === 0) expect(result).toMatchObject({ reason: { index: 0, error: { code: '22012' } } })
    else expect(result).toEqual({ status: 'fulfilled', value: String(Math.trunc(100 / (n % 5))) })
  })
})

test('read queue › keeps the roles and claims of several callers in one packet apart', async () => {
  await using queue = createQueue({ size: 2 })
  await warmUp(queue.reads)
  const settings = [
    call(
      `select set_config('role', 'basalt_authenticated', true), set_config('basalt.user_id', $1, true)`,
      'x',
    ),
    call(`select current_user::text || ' ' || coalesce(current_setting('basalt.user_id', true), '')`),
  ]
  const answers = await Promise.all(
    Array.from({ length: 400 }, async (_, n) => {
      const [context, who] = settings
      if (context === undefined || who === undefined) throw new Error('no statements')
      const calls = n % 3 === 0 ? [who] : [{ ...context, values: [`user ${n}`] }, who]
      const answered = await queue.reads.send({ calls, leavesState: false }, undefined)
      return answered.at(-1)?.rows[0]?.[0]
    }),
  )
  expect(answers).toEqual(
    answers.map((_, n) => (n % 3 === 0 ? 'postgres ' : `basalt_authenticated user ${n}`)),
  )
})

test('read queue › runs reads after a slow one on another connection', async () => {
  await using queue = createQueue({ size: 2 })
  await warmUp(queue.reads)
  const locker = await connectTo(database)
  await locker.script('select pg_advisory_lock(1)')
  const order: string[] = []
  const slow = read(queue.reads, 'select pg_advisory_xact_lock(1)').then(() => order.push('slow'))
  const quick = Array.from({ length: 7 }, (_, n) => read(queue.reads, 'select $1::text', String(n)))
  expect(await Promise.all(quick)).toEqual(['0', '1', '2', '3', '4', '5', '6'])
  order.push('quick')
  await locker.close()
  await slow
  expect(order).toEqual(['quick', 'slow'])
})

test('read queue › completes every read when reads become slow while many wait', async () => {
  await using queue = createQueue({ size: 1, acquireTimeoutMs: 100_000 })
  await warmUp(queue.reads)
  const slow = read(queue.reads, 'select pg_sleep(0.2)')
  await waitFor('the slow one', () => queue.pool.stats.busy === 1)
  const answers: unknown[] = []
  for (let n = 0; n < 60; n += 1) {
    void read(queue.reads, 'select $1::text', String(n)).then((answer) => answers.push(answer))
  }
  await slow
  await waitFor('all answers', () => answers.length === 60)
  expect(answers.toSorted()).toEqual(Array.from({ length: 60 }, (_, n) => String(n)).toSorted())
})

test('read queue › lets each read wait no longer than the acquire timeout', async () => {
  await using queue = createQueue({ size: 1, acquireTimeoutMs: 1000 })
  await warmUp(queue.reads)
  const { promise, resolve } = Promise.withResolvers<void>()
  const holder = queue.pool.use({ run: () => promise })
  const waiting = Promise.allSettled(Array.from({ length: 30 }, () => read(queue.reads, 'select 1')))
  const exhausted = new PoolExhausted('no database connection became free in time')
  expect(await waiting).toEqual(Array.from({ length: 30 }, () => ({ status: 'rejected', reason: exhausted })))
  resolve()
  await holder
  expect(await read(queue.reads, 'select 2::text')).toBe('2')
})

test('read queue › rejects a read beyond the waiting limit at once', async () => {
  await using queue = createQueue({ size: 1, waitingLimit: 5 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const holder = queue.pool.use({ run: () => promise })
  const waiting = Array.from({ length: 5 }, () => read(queue.reads, 'select 1::text'))
  await expect(read(queue.reads, 'select 1')).rejects.toEqual(
    new PoolExhausted('too many requests wait for the database'),
  )
  resolve()
  await holder
  expect(await Promise.all(waiting)).toEqual(['1', '1', '1', '1', '1'])
})

test('read queue › fails waiting reads when the database is unavailable, and completes later ones', async () => {
  let isAway = true
  await using queue = createQueue({
    open: () => (isAway ? Promise.reject(new ConnectionLost('away')) : connectTo(database)),
  })
  const results = await Promise.allSettled(Array.from({ length: 30 }, () => read(queue.reads, 'select 1')))
  expect(results).toEqual(results.map(() => ({ status: 'rejected', reason: new ConnectionLost('away') })))
  isAway = false
  expect(await read(queue.reads, 'select 3::text')).toBe('3')
})

test('read queue › does not send reads of disconnected callers, or cancels them', async () => {
  await using queue = createQueue({ size: 1 })
  await warmUp(queue.reads)
  let isGone = false
  const gone = Promise.allSettled(
    Array.from({ length: 4 }, () =>
      queue.reads.send({ calls: [call('select pg_sleep(60)')], leavesState: false }, () => isGone),
    ),
  )
  await waitFor('the first', () => queue.pool.stats.busy === 1)
  isGone = true
  for (const result of await gone) expect(result.status).toBe('rejected')
  expect(await read(queue.reads, 'select 4::text')).toBe('4')
})

test('read queue › leaves connections to others while a table is locked, and serves it afterwards', async () => {
  await using queue = createQueue({ size: 4 })
  await warmUp(queue.reads)
  const locker = await connectTo(database)
  await locker.script('begin; lock table "public"."locked"')
  const waiting = Array.from({ length: 30 }, () =>
    read(queue.reads, 'select count(*)::text from "public"."locked"'),
  )
  await waitFor('its quota to be reached', () => queue.pool.quotas.isAnyExhausted)
  for (let turn = 0; turn < 20; turn += 1) {
    expect(await read(queue.reads, 'select count(*)::text from "public"."other"')).toBe('0')
  }
  await locker.close()
  expect(await Promise.all(waiting)).toEqual(Array.from({ length: 30 }, () => '0'))
  await waitFor('an idle pool', () => queue.pool.stats.busy === 0)
  expect(queue.pool.quotas.isAnyExhausted).toBe(false)
})

test('read queue › resumes the reads of a table when a write releases its quota', async () => {
  await using queue = createQueue({ size: 4 })
  const releases: (() => void)[] = []
  const writes = Array.from({ length: 3 }, () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    releases.push(resolve)
    return queue.pool.use({ run: (_: Connection) => promise, subject: '"public"."other"' })
  })
  await waitFor('the writes', () => queue.pool.quotas.isAnyExhausted)
  const waiting = read(queue.reads, 'select count(*)::text from "public"."other"')
  for (const release of releases) release()
  expect(await waiting).toBe('0')
  await Promise.all(writes)
})

test('read queue › rejects at once the reads that a slow table would not complete in time, and no others', async () => {
  await using queue = createQueue({ size: 4, acquireTimeoutMs: 2000 })
  const text = 'select pg_sleep(0.02)::text from "public"."slow"'
  const waiting: Promise<unknown>[] = []
  const expected = 'no database connection would become free in time'
  await waitFor('a refusal', async () => {
    const reads = Array.from({ length: 100 }, () => read(queue.reads, text))
    waiting.push(...reads.map((each) => each.catch((error) => error)))
    const outcomes = reads.map((each) => each.catch((error) => error.message))
    const turn = new Promise((resolve) => setImmediate(() => resolve('waits')))
    return (await Promise.race([outcomes.at(-1), turn])) === expected
  })
  expect(await read(queue.reads, 'select count(*)::text from "public"."other"')).toBe('0')
  const results = await Promise.all(waiting)
  const refused = results.filter((result) => result instanceof PoolExhausted)
  expect(refused.find(({ message }) => message === expected)?.waitMs).toBeGreaterThan(0)
  expect(results.length).toBeGreaterThan(refused.length)
})
