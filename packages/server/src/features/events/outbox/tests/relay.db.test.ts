import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { explaining } from '../../../../../test/explain.ts'
import { createTestNotifications } from '../../../../../test/notifications.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { sql } from '../../../../database/sql.ts'
import type { EventConsumer } from '../index.ts'
import { pruneOutbox, Relay, type RelayOptions } from '../index.ts'

let app: TestApp
const relays: { stop(): Promise<void> }[] = []

/** Writes the ids it takes into a table, in the transaction that it is given. */
const consumer: EventConsumer = {
  name: 'test',
  async take(ids, transaction) {
    await transaction.count(
      sql`insert into taken (event) select event from unnest(${ids}::bigint[]) with ordinality t (event, ordinal) order by ordinal`,
    )
  },
}

beforeAll(async () => {
  app = await createTestApp({
    setup: 'create table taken (place int generated always as identity, event bigint)',
    config: { 'webhooks.deliver': 'false' },
  })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(async () => {
  for (const relay of relays.splice(0)) await relay.stop()
  await app.sql(`
    truncate taken, basalt.outbox restart identity;
    delete from basalt.event_cursors where consumer = 'test';
    update basalt.event_cursors set passed = pg_current_snapshot()`)
})

/** A relay with a loop of its own. */
async function startRelay(
  of: EventConsumer = consumer,
  database: RelayOptions['database'] = app.app.database.system,
) {
  const notifications = createTestNotifications(database)
  const relay = new Relay({ database, consumer: of, notifications, log: pino({ level: 'silent' }) })
  const stop = async () => {
    await relay.stop()
    await notifications.stop()
  }
  const started = { stop }
  relays.push(started)
  await relay.start()
  await notifications.start()
  return started
}

const append = `insert into basalt.outbox (action, table_name, record) select 'create', 'item', '{}' from generate_series(1, $1::int)`

async function taken(): Promise<number[]> {
  const rows = await app.sql<{ event: number }>('select event::int from taken order by place')
  return rows.map(({ event }) => event)
}

async function waitForTaken(count: number): Promise<number[]> {
  await waitFor(`${count} events to be taken`, async () => (await taken()).length >= count)
  return await taken()
}

test('takes every event once, in their order, however many there are', async () => {
  await startRelay()
  await app.sql(append, [3])
  expect(await waitForTaken(3)).toEqual([1, 2, 3])
  // More than fit into one step.
  await app.sql(append, [4500])
  expect(await waitForTaken(4503)).toEqual(Array.from({ length: 4503 }, (_, index) => index + 1))
})

test('takes what was written while no relay ran', async () => {
  const first = await startRelay()
  await app.sql(append, [1])
  await waitForTaken(1)
  await first.stop()
  await app.sql(append, [2])
  await startRelay()
  expect(await waitForTaken(3)).toEqual([1, 2, 3])
})

describe('a transaction that commits late', () => {
  test('is not skipped and holds up no other', async () => {
    await startRelay()
    await using late = await openTransaction(app.database)
    await late.sql(append, [1])
    await app.sql(append, [2])
    expect(await waitForTaken(2)).toEqual([2, 3])
    await using later = await openTransaction(app.database)
    await later.sql(append, [1])
    await app.sql(append, [1])
    expect(await waitForTaken(3)).toEqual([2, 3, 5])
    await late.commit()
    expect(await waitForTaken(4)).toEqual([2, 3, 5, 1])
    await later.commit()
    expect(await waitForTaken(5)).toEqual([2, 3, 5, 1, 4])
  })

  test('comes before what changed the same record after it', async () => {
    await app.sql(`create table if not exists counter (id int primary key, value int); truncate counter;
      insert into counter values (1, 0)`)
    await startRelay()
    // The younger transaction changes the record first: its event must come first.
    await using older = await openTransaction(app.database)
    await older.sql(append, [1])
    await using younger = await openTransaction(app.database)
    const change = 'update counter set value = value + 1'
    await younger.sql(change)
    await younger.sql(append, [1])
    const blocked = older.sql(change)
    await younger.waitForBlocked()
    await younger.commit()
    await blocked
    await older.sql(append, [1])
    await older.commit()
    const order = await waitForTaken(3)
    expect(order.indexOf(2)).toBeLessThan(order.indexOf(3))
  })

  test('is never mixed up in a storm of transactions of all lengths', async () => {
    await startRelay()
    await startRelay()
    const lanes = Array.from({ length: 6 }, async (_, lane) => {
      for (let turn = 0; turn < 20; turn += 1) {
        await app.sql(`
          with e as (insert into basalt.outbox (action, table_name, record)
            select 'create', 'item', '{}' from generate_series(1, 3) returning 1)
          select count(*), pg_sleep(${((lane * 7 + turn * 3) % 10) / 500}) from e`)
      }
    })
    await using rolledBack = await openTransaction(app.database)
    await rolledBack.sql(append, [50])
    await Promise.all(lanes)
    await rolledBack.sql('rollback')
    const all = await waitForTaken(360)
    expect(all).toHaveLength(360)
    expect(new Set(all).size).toBe(360)
    const missing = await app.sql('select id from basalt.outbox where id not in (select event from taken)')
    expect(missing).toEqual([])
  })
})

describe('one of several relays', () => {
  test('leads, and another takes over when it stops', async () => {
    const first = await startRelay()
    await app.sql(append, [1])
    await waitForTaken(1)
    const leader = async () =>
      (await app.sql(`select leader from basalt.event_cursors where consumer = 'test'`))[0]?.leader
    const before = await leader()
    await startRelay()
    await app.sql(append, [10])
    await waitForTaken(11)
    expect(await leader()).toBe(before)
    await first.stop()
    await app.sql(append, [1])
    await waitForTaken(12)
    expect(await leader()).not.toBe(before)
  })

  test('that lost its lease moves nothing', async () => {
    await startRelay()
    await app.sql(append, [1])
    await waitForTaken(1)
    await app.sql(`update basalt.event_cursors set leader = gen_random_uuid(), leased_until = now() + '1 s'
      where consumer = 'test'`)
    await app.sql(append, [1])
    await startRelay()
    expect(await waitForTaken(2)).toEqual([1, 2])
  })
})

test('an error of the consumer undoes the step, which is made again', async () => {
  let failures = 2
  await startRelay({
    ...consumer,
    async take(ids, transaction) {
      await consumer.take(ids, transaction)
      if (failures-- > 0) throw new Error('not now')
    },
  })
  await app.sql(append, [3])
  expect(await waitForTaken(3)).toEqual([1, 2, 3])
  expect(failures).toBeLessThan(0)
})

test('a database in another cluster, whose transaction numbers begin anew, is read from where it was', async () => {
  const relay = await startRelay()
  await app.sql(append, [2])
  await waitForTaken(2)
  await relay.stop()
  await app.sql(append, [2])
  // As if all of it came from a cluster that was far ahead.
  await app.sql(`
    update basalt.outbox set transaction_id = (pg_current_xact_id()::text::bigint + 1000000)::text::xid8;
    update basalt.event_cursors
    set passed = (pg_snapshot_xmax(passed)::text::bigint + 2000000 || ':'
      || pg_snapshot_xmax(passed)::text::bigint + 2000000 || ':')::pg_snapshot
    where consumer = 'test'`)
  // Younger transactions end while the numbers are made anew.
  await using holder = await openTransaction(app.database)
  await holder.sql('select from basalt.outbox where id = 4 for update')
  const starting = startRelay()
  await holder.waitForBlocked()
  await app.sql('select pg_current_xact_id()')
  await holder.commit()
  await starting
  expect(await waitForTaken(4)).toEqual([1, 2, 3, 4])
  await app.sql(append, [1])
  expect(await waitForTaken(5)).toEqual([1, 2, 3, 4, 5])
})

describe('a step', () => {
  const forget = `
    delete from pg_statistic where starelid = 'basalt.outbox'::regclass;
    update pg_class set reltuples = -1, relpages = 0, relallvisible = 0 where oid = 'basalt.outbox'::regclass`

  test.each([
    ['were taken of an empty log', 'analyze basalt.outbox', 'select 1'],
    ['were never taken', 'select 1', forget],
    ['are right', 'select 1', 'analyze basalt.outbox'],
  ])('reads what is new and not the log of 41,000, where statistics %s', async (_, before, after) => {
    await app.sql('alter table basalt.outbox set (autovacuum_enabled = false)')
    await app.sql(before)
    // By one transaction, as an import does.
    await app.sql(append, [41_000])
    await app.sql(after)
    await app.sql(`
      insert into basalt.event_cursors (consumer, passed, last_id) values ('test', pg_current_snapshot(), 41000)`)
    await using late = await openTransaction(app.database)
    await late.sql(append, [1])
    const { database, reads } = explaining(app.app.database.system)
    await app.sql(append, [3])
    const relay = await startRelay(consumer, database)
    expect(await waitForTaken(3)).toEqual([41_002, 41_003, 41_004])
    await late.commit()
    expect(await waitForTaken(4)).toEqual([41_002, 41_003, 41_004, 41_001])
    await relay.stop()
    expect(reads.wholeTables.filter((table) => table === 'outbox')).toEqual([])
    expect(reads.rows).toBeLessThan(2000)
  })

  test('of many new events reads each a few times and not all of them for every page', async () => {
    const { database, reads } = explaining(app.app.database.system)
    await app.sql(append, [20_000])
    await app.sql(`
      insert into basalt.event_cursors (consumer, passed, last_id) values ('test', '1:1:', 0)`)
    const relay = await startRelay(consumer, database)
    expect(await waitForTaken(20_000)).toHaveLength(20_000)
    await relay.stop()
    expect(reads.rows).toBeLessThan(3 * 20_000)
  })
})

test('the log is pruned by age, but never of what a consumer has yet to take', async () => {
  const { system } = app.app.database
  const age = `update basalt.outbox set happened_at = now() - interval '25 h' where id <= $1`
  await app.sql(append, [3])
  await app.sql(age, [2])
  // The rows changed after the cursors stand: nothing was taken.
  expect(await pruneOutbox(system, 24)).toEqual({ removed: 0, discarded: 0 })
  await app.sql('update basalt.event_cursors set passed = pg_current_snapshot()')
  expect(await pruneOutbox(system, 24)).toEqual({ removed: 2, discarded: 0 })
  expect(await app.sql('select id::int from basalt.outbox')).toEqual([{ id: 3 }])
})

describe('a consumer that no node reads for', () => {
  const age = (interval: string) =>
    app.sql(
      `update basalt.event_cursors set leased_until = now() - $1::interval where consumer = 'webhooks'`,
      [interval],
    )
  beforeEach(async () => {
    await app.sql(append, [3])
    await app.sql(`update basalt.outbox set happened_at = now() - interval '25 h' where id <= 2`)
  })

  test('is waited for during the retention, so that a pause loses no event', async () => {
    await age('23 h')
    const pruned = await pruneOutbox(app.app.database.system, 24)
    expect(pruned).toEqual({ removed: 0, discarded: 0 })
  })

  test('is not waited for after the retention, so that the log does not grow for ever', async () => {
    await age('25 h')
    const pruned = await pruneOutbox(app.app.database.system, 24)
    expect(pruned).toEqual({ removed: 2, discarded: 2 })
    expect(await app.sql('select id::int from basalt.outbox')).toEqual([{ id: 3 }])
  })

  test('is waited for however long it takes while another node reads for it', async () => {
    await app.sql(
      `update basalt.event_cursors set leased_until = now() - '1 s'::interval, leader = gen_random_uuid()`,
    )
    await app.sql(`update basalt.outbox set happened_at = now() - interval '1 year'`)
    expect(await pruneOutbox(app.app.database.system, 24)).toEqual({ removed: 0, discarded: 0 })
  })
})
