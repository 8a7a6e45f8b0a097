import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createManualTimer } from '../../../../../test/manual-timer.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { Notifications } from '../../../../database/notifications/notifications.ts'
import { sql } from '../../../../database/sql.ts'
import { readBatch, readEnd } from '../changes/batch.ts'
import { Follower } from '../changes/follower.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp({
    setup: 'create table entry (id bigserial, transaction_id xid8 default pg_current_xact_id())',
  })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Starts a follower of the table. Returns the number of entries that each read has found. */
async function follow() {
  const { system } = app.app.database
  const log = pino({ level: 'silent' })
  const timer = createManualTimer()
  const notifications = new Notifications({ database: system, openListener: undefined, log, timer })
  const reads: number[] = []
  const follower = new Follower<{ readonly id: string }>(
    { notifications, log },
    {
      topic: 'entry',
      table: sql`entry`,
      name: 'the entries',
      holdsState: false,
      begin: () => readEnd(system),
      async read(from) {
        const batch = await readBatch(system, from, {
          table: sql`entry`,
          where: sql`true`,
          columns: sql`o.transaction_id::text`,
          size: sql`1`,
          limit: 2,
          batchBytes: 1000,
        })
        reads.push(batch.events.length)
        return batch
      },
      deliver: async () => undefined,
      onBreak: () => undefined,
    },
  )
  await notifications.start()
  await follower.between(() => undefined)
  return {
    reads,
    follower,
    async poll(times: number) {
      for (let count = 0; count < times; count += 1) await timer.runNext(Number.POSITIVE_INFINITY)
    },
    async [Symbol.asyncDispose]() {
      await follower.stop()
      await notifications.stop()
    },
  }
}

test('realtime › follower › reads to the end of a burst and then only once a second', async () => {
  await using node = await follow()
  await node.poll(3)
  expect(node.reads).toEqual([])
  await app.sql('insert into entry select from generate_series(1, 3)')
  await node.poll(10)
  expect(node.reads).toEqual([2, 1, 0])
  const before = node.follower.position
  await app.sql('select pg_current_xact_id()')
  vi.advanceTimersByTime(1000)
  await node.poll(5)
  expect(node.reads).toEqual([2, 1, 0, 0])
  expect(node.follower.position).not.toEqual(before)
})
