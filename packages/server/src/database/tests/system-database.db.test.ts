import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connectTo } from '../../../test/connections.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { BinaryRows } from '../connection/binary-rows.ts'
import { Pool } from '../pool/pool.ts'
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

test('system database › returns the rows of a statement, or their number', async () => {
  expect(await system.count(add(1))).toBe(1)
  expect(await system.count(sql`select from generate_series(1, 3)`)).toBe(3)
  expect(await system.many(sql`select n from generate_series(1, 2) n`)).toEqual([{ n: 1 }, { n: 2 }])
  expect(await system.maybeOne(sql`select 1 as one where false`)).toBeUndefined()
  expect(await system.one(sql`select ${'x'}::text as value`)).toEqual({ value: 'x' })
  await expect(system.one(sql`select 1 where false`)).rejects.toThrow('expected one row, got 0')
  await expect(system.one(sql`select generate_series(1, 2)`)).rejects.toThrow('expected one row, got 2')
  await expect(system.maybeOne(sql`select generate_series(1, 2)`)).rejects.toThrow('got 2')
})

test('system database › commits a transaction when its work returns', async () => {
  const result = await system.transaction(async (transaction) => {
    await transaction.count(add(1))
    await transaction.count(add(2))
    return 'done'
  })
  expect(result).toBe('done')
  expect(await database.sql('select id from entry order by id')).toEqual([{ id: 1 }, { id: 2 }])
})

test('system database › runs statements together in one transaction, each with its own values', async () => {
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
])(
  'system database › rolls a transaction back when its work %s, and keeps its connection',
  async (_, fail, message) => {
    const work = system.transaction(async (transaction) => {
      await transaction.count(add(1))
      await fail(transaction)
    })
    await expect(work).rejects.toThrow(message)
    expect(await database.sql('select id from entry')).toEqual([])
    expect(await system.one(sql`select 1 as one`)).toEqual({ one: 1 })
  },
)

test('system database › fails a transaction whose connection breaks, and opens a new connection for the next one', async () => {
  const work = system.transaction(async (transaction) => {
    await transaction.count(add(1))
    await transaction.count(sql`select pg_terminate_backend(pg_backend_pid())`)
  })
  await expect(work).rejects.toThrow()
  expect(await system.one(sql`select count(*)::int as entries from entry`)).toEqual({ entries: 0 })
})

test('system database › copies rows exactly: both ends of each type, null, and texts beyond ASCII', async () => {
  await database.sql(`
    create table copied (t text, i int, b bigint, f real, at timestamptz, u uuid)`)
  const long = 'é😀\t\\N\n'.repeat(20_000)
  const rows = new BinaryRows(6)
  const id = '0190A0b0-c0d0-7000-8000-000000000001'
  const first = new Date('0001-01-01T00:00:00Z')
  rows
    .row()
    .text('')
    .int4(-(2 ** 31))
    .int8(-(2 ** 53))
    .float4(-1.5)
    .timestamptz(first)
    .uuid(id)
  rows
    .row()
    .text(undefined)
    .int4(0)
    .int8(-1)
    .float4(0)
    .timestamptz(new Date('1999-12-31T23:59:59.999Z'))
    .uuid(undefined)
  rows
    .row()
    .text(long)
    .int4(2 ** 31 - 1)
    .int8(2 ** 53)
    .float4(2.25)
    .timestamptz(new Date('2026-01-02T03:04:05.678Z'))
  rows.uuid(id)
  await system.copyIn('copy copied from stdin (format binary)', [rows])
  const time = "to_char(at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS.MS') as at"
  expect(await database.sql(`select t, i, b::text, f, ${time}, u::text from copied`)).toEqual([
    {
      t: '',
      i: -(2 ** 31),
      b: '-9007199254740992',
      f: -1.5,
      at: '0001-01-01 00:00:00.000',
      u: id.toLowerCase(),
    },
    { t: null, i: 0, b: '-1', f: 0, at: '1999-12-31 23:59:59.999', u: null },
    {
      t: long,
      i: 2 ** 31 - 1,
      b: '9007199254740992',
      f: 2.25,
      at: '2026-01-02 03:04:05.678',
      u: id.toLowerCase(),
    },
  ])
})

test('system database › copies all rows or none, accepts none at all, and keeps the connection', async () => {
  const copy = 'copy entry from stdin (format binary)'
  await system.copyIn(copy, [new BinaryRows(1)])
  const twice = new BinaryRows(1).row().int4(1).row().int4(2).row().int4(1)
  await expect(system.copyIn(copy, [twice])).rejects.toMatchObject({ code: '23505' })
  expect(await system.count(sql`select from entry`)).toBe(0)
  await system.copyIn(copy, [new BinaryRows(1).row().int4(3)])
  expect(await database.sql('select id from entry')).toEqual([{ id: 3 }])
  await database.sql('truncate entry')
  // The error arrives while the source has not ended. Meanwhile the connection is used for the next COPY.
  const { promise: ending, resolve: end } = Promise.withResolvers<void>()
  const { promise: ended, resolve: noteEnd } = Promise.withResolvers<void>()
  async function* refused() {
    yield manyRows(2000, () => 1)
    await ending
    noteEnd()
  }
  await expect(system.copyIn(copy, refused())).rejects.toMatchObject({ code: '23505' })
  async function* accepted() {
    yield manyRows(10, (n) => n)
    end()
    await ended
    yield manyRows(10, (n) => 10 + n)
  }
  await system.copyIn(copy, accepted())
  expect(await system.count(sql`select from entry`)).toBe(20)
  for (const text of ['0190a0b0', '']) expect(() => new BinaryRows(1).row().uuid(text)).toThrow('not a UUID')
})

test('system database › reuses cleared rows, which then contain only what is added afterwards', async () => {
  await database.sql('create table refilled (t text, u uuid)')
  const id = '0190a0b0-c0d0-7000-8000-000000000001'
  const rows = new BinaryRows(2).row().text('before').uuid(id)
  rows.clear()
  rows.row().text('a longer one after').uuid(id)
  await system.copyIn('copy refilled from stdin (format binary)', [rows])
  expect(await database.sql('select t, u from refilled')).toEqual([{ t: 'a longer one after', u: id }])
})

function manyRows(count: number, numberAt: (n: number) => number): BinaryRows {
  const rows = new BinaryRows(1)
  for (let n = 0; n < count; n += 1) rows.row().int4(numberAt(n))
  return rows
}
