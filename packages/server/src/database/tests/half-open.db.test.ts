import { afterAll, beforeAll, expect, test } from 'vitest'
import { call, connectTo } from '../../../test/connections.ts'
import { startFakePostgres } from '../../../test/fake-postgres.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { findDead } from '../connection/half-open.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

test('dead connections › are those whose backends idle or have ended, and not those with a working one', async () => {
  const [working, resting, gone] = [
    await connectTo(database),
    await connectTo(database),
    await connectTo(database),
  ]
  const nap = working.send([call('select pg_sleep(60)')]).catch(() => 'ended')
  await database.sql('select pg_terminate_backend($1)', [gone.backendPid])
  // A result that was sent a moment ago may still be on its way.
  await waitFor('rest', async () => {
    const [row] = await database.sql<{ rests: boolean }>(
      `select clock_timestamp() - state_change > interval '2.1 s' as rests from pg_stat_activity where pid = $1`,
      [resting.backendPid],
    )
    return row?.rests
  })
  const silent = [working, resting, gone]
  expect(await findDead(silent, () => connectTo(database), true)).toEqual([resting, gone])
  expect(await findDead(silent, () => connectTo(database), false)).toEqual([])
  working.destroy()
  expect(await nap).toBe('ended')
  await resting.close()
})

test('dead connections › do not include one whose statement has just ended', async () => {
  const connection = await connectTo(database)
  await connection.send([call('select 1')])
  expect(await findDead([connection], () => connectTo(database), true)).toEqual([])
  await connection.close()
})

test('dead connections › are all of them when Postgres does not respond', async () => {
  const connection = await connectTo(database)
  await using silent = await startFakePostgres({ isSilent: true })
  const url = `postgresql://postgres@127.0.0.1:${silent.port}/shop`
  expect(await findDead([connection], () => connectTo({ url }), true)).toEqual([connection])
  await connection.close()
})

test('dead connections › are none when Postgres merely accepts no more connections', async () => {
  await database.sql('create role crowded login connection limit 0')
  const connection = await connectTo(database)
  expect(await findDead([connection], () => connectTo(database, { user: 'crowded' }), true)).toEqual([])
  await connection.close()
  await database.sql('drop role crowded')
})
