import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connectTo } from '../../../test/connections.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { Pool } from '../pool.ts'
import { sql } from '../sql.ts'
import { type Queryable, SystemDatabase } from '../system-database.ts'

let database: TestDatabase
let pool: Pool
let system: SystemDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  pool = new Pool({
    open: () => connectTo(database),
    size: 1,
    acquireTimeoutMs: 5000,
    waitingLimit: 10,
    workTimeoutMs: 30_000,
    cancel: async () => undefined,
    findDead: async () => [],
  })
  system = new SystemDatabase(pool)
  await database.sql('create table entry (id int primary key)')
})
afterAll(async () => {
  await pool.close()
  await database[Symbol.asyncDispose]()
})
beforeEach(() => database.sql('truncate entry'))

const add = (id: number) => sql`insert into entry values (${id})`

test('a statement answers rows, or how many there are', async () => {
  expect(await system.count(add(1))).toBe(1)
  expect(await system.count(sql`select from generate_series(1, 3)`)).toBe(3)
  expect(await system.many(sql`select n from generate_series(1, 2) n`)).toEqual([{ n: 1 }, { n: 2 }])
  expect(await system.maybeOne(sql`select 1 as one where false`)).toBeUndefined()
  expect(await system.one(sql`select ${'x'}::text as value`)).toEqual({ value: 'x' })
  await expect(system.one(sql`select 1 where false`)).rejects.toThrow('expected one row, got 0')
  await expect(system.one(sql`select generate_series(1, 2)`)).rejects.toThrow('expected one row, got 2')
  await expect(system.maybeOne(sql`select generate_series(1, 2)`)).rejects.toThrow('got 2')
})

test('a transaction is kept when its work returns', async () => {
  const result = await system.transaction(async (transaction) => {
    await transaction.count(add(1))
    await transaction.count(add(2))
    return 'done'
  })
  expect(result).toBe('done')
  expect(await database.sql('select id from entry order by id')).toEqual([{ id: 1 }, { id: 2 }])
})

test('statements that run together are one transaction, each with the values of its own', async () => {
  const addText = (id: string) => sql`insert into entry values (${id}::int)`
  await system.runTogether([addText('1'), sql`update entry set id = id + 1`, addText('1')])
  const xmins = await database.sql('select id, xmin::text from entry order by id')
  expect(xmins.map(({ id }) => id)).toEqual([1, 2])
  expect(new Set(xmins.map(({ xmin }) => xmin)).size).toBe(1)
  await expect(system.runTogether([addText('3'), addText('3'), addText('4')])).rejects.toMatchObject({
    code: '23505',
  })
  await expect(system.runTogether([add(5)])).rejects.toThrow('not a text: number')
  expect(await system.count(sql`select from entry`)).toBe(2)
})

test.each([
  ['throws', () => Promise.reject(new Error('no')), 'no'],
  ['breaks a rule', (transaction: Queryable) => transaction.count(sql`select 1/0`), 'division by zero'],
])('a transaction is undone when its work %s, and its connection stays good', async (_, fail, message) => {
  const work = system.transaction(async (transaction) => {
    await transaction.count(add(1))
    await fail(transaction)
  })
  await expect(work).rejects.toThrow(message)
  expect(await database.sql('select id from entry')).toEqual([])
  expect(await system.one(sql`select 1 as one`)).toEqual({ one: 1 })
})

test('a transaction whose connection breaks fails, and the next one gets a new connection', async () => {
  const work = system.transaction(async (transaction) => {
    await transaction.count(add(1))
    await transaction.count(sql`select pg_terminate_backend(pg_backend_pid())`)
  })
  await expect(work).rejects.toThrow()
  expect(await system.one(sql`select count(*)::int as entries from entry`)).toEqual({ entries: 0 })
})
