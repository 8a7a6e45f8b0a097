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

/** Consumer that writes the ids into a table, in the given transaction. */
const consumer: EventConsumer = {
  name: 'test',
  async process(ids, transaction) {
    await transaction.count(
      sql`insert into processed (event) select event from unnest(${ids}::bigint[]) with ordinality t (event, ordinal) order by ordinal`,
    )
  },
}

beforeAll(async () => {
  app = await createTestApp({
    setup: 'create table processed (position int generated always as identity, event bigint)',
    config: { 'webhooks.deliver': 'false' },
  })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(async () => {
  for (const relay of relays.splice(0)) await relay.stop()
  await app.sql(`
    truncate processed, basalt.outbox restart identity;
    delete from basalt.event_cursors where consumer = 'test';
    update basalt.event_cursors set passed = pg_current_snapshot()`)
})

/** Starts a relay with its own polling loop. */
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

async function processed(): Promise<number[]> {
  const rows = await app.sql<{ event: number }>('select event::int from processed order by position')
  return rows.map(({ event }) => event)
}

async function waitForProcessed(count: number): Promise<number[]> {
  await waitFor(`${count} events to be processed`, async () => (await processed()).length >= count)
  return await processed()
}

test('relay › processes every event once, in order, however many there are', async () => {
  await startRelay()
  await app.sql(append, [3])
  expect(await waitForProcessed(3)).toEqual([1, 2, 3])
  // These are more than one step processes.
  await app.sql(append, [4500])
  expect(await waitForProcessed(4503)).toEqual(Array.from({ length: 4503 }, (_, index) => index + 1))
})

test('relay › processes events that were written while no relay ran', async () => {
  const first = await startRelay()
  await app.sql(append, [1])
  await waitForProcessed(1)
  await first.stop()
  await app.sql(append, [2])
  await startRelay()
  expect(await waitForProcessed(3)).toEqual([1, 2, 3])
})

describe('relay › a transaction that commits late', () => {
  test('is not skipped and does not hold up others', async () => {
    await startRelay()
    await using late = await openTransaction(app.database)
    await late.sql(append, [1])
    await app.sql(append, [2])
    expect(await waitForProcessed(2)).toEqual([2, 3])
    await using later = await openTransaction(app.database)
    await later.sql(append, [1])
    await app.sql(append, [1])
    expect(await waitForProcessed(3)).toEqual([2, 3, 5])
    await late.commit()
    expect(await waitForProcessed(4)).toEqual([2, 3, 5, 1])
    await later.commit()
    expect(await waitForProcessed(5)).toEqual([2, 3, 5, 1, 4])
  })

  test('is processed before a later change of the same record', async () => {
    await app.sql(`create table if not exists counter (id int primary key, value int); truncate counter;
      insert into counter values (1, 0)`)
    await startRelay()
    // The younger transaction changes the record first, so its event must come first.
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
    const order = await waitForProcessed(3)
    expect(order.indexOf(2)).toBeLessThan(order.indexOf(3))
  })

  test('is processed once among transactions of all lengths', async () => {
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
    const all = await waitForProcessed(360)
    expect(all).toHaveLength(360)
    expect(new Set(all).size).toBe(360)
    const missing = await app.sql(
      'select id from basalt.outbox where id not in (select event from processed)',
    )
    expect(missing).toEqual([])
  })
})

describe('relay › several relays', () => {
  test('one leads, and another takes over when it stops', async () => {
    const first = await startRelay()
    await app.sql(append, [1])
    await waitForProcessed(1)
    const leader = async () =>
      (await app.sql(`select leader from basalt.event_cursors where consumer = 'test'`))[0]?.leader
    const before = await leader()
    await startRelay()
    await app.sql(append, [10])
    await waitForProcessed(11)
    expect(await leader()).toBe(before)
    await first.stop()
    await app.sql(append, [1])
    await waitForProcessed(12)
    expect(await leader()).not.toBe(before)
  })

  test('process nothing after the loss of the lease', async () => {
    await startRelay()
    await app.sql(append, [1])
    await waitForProcessed(1)
    await app.sql(`update basalt.event_cursors set leader = gen_random_uuid(), leased_until = now() + '1 s'
      where consumer = 'test'`)
    await app.sql(append, [1])
    await startRelay()
    expect(await waitForProcessed(2)).toEqual([1, 2])
  })
})

test('relay › undoes and retries the step after an error of the consumer', async () => {
  let failures = 2
  await startRelay({
    ...consumer,
    async process(ids, transaction) {
      await consumer.process(ids, transaction)
      if (failures-- > 0) throw new Error('not now')
    },
  })
  await app.sql(append, [3])
  expect(await waitForProcessed(3)).toEqual([1, 2, 3])
  expect(failures).toBeLessThan(0)
})

test('relay › resumes at its position when the database moves to another cluster with new transaction numbers', async () => {
  const relay = await startRelay()
  await app.sql(append, [2])
  await waitForProcessed(2)
  await relay.stop()
  await app.sql(append, [2])
  // Simulates a log that comes from a cluster with much higher transaction numbers.
  await app.sql(`
    update basalt.outbox set transaction_id = (pg_current_xact_id()::text::bigint + 1000000)::text::xid8;
    update basalt.event_cursors
    set passed = (pg_snapshot_xmax(passed)::text::bigint + 2000000 || ':'
      || pg_snapshot_xmax(passed)::text::bigint + 2000000 || ':')::pg_snapshot
    where consumer = 'test'`)
  // Younger transactions end while the log is renumbered.
  await using holder = await openTransaction(app.database)
  await holder.sql('select from basalt.outbox where id = 4 for update')
  const starting = startRelay()
  await holder.waitForBlocked()
  await app.sql('select pg_current_xact_id()')
  await holder.commit()
  await starting
  expect(await waitForProcessed(4)).toEqual([1, 2, 3, 4])
  await app.sql(append, [1])
  expect(await waitForProcessed(5)).toEqual([1, 2, 3, 4, 5])
})

describe('relay › step', () => {
  const forget = `
    delete from pg_statistic where starelid = 'basalt.outbox'::regclass;
    update pg_class set reltuples = -1, relpages = 0, relallvisible = 0 where oid = 'basalt.outbox'::regclass`

  test.each([
    ['describe an empty log', 'analyze basalt.outbox', 'select 1'],
    ['are missing', 'select 1', forget],
    ['are current', 'select 1', 'analyze basalt.outbox'],
  ])('reads new events and not the log of 41,000 when statistics %s', async (_, before, after) => {
    await app.sql('alter table basalt.outbox set (autovacuum_enabled = false)')
    await app.sql(before)
    // One transaction writes them, as an import does.
    await app.sql(append, [41_000])
    await app.sql(after)
    await app.sql(`
      insert into basalt.event_cursors (consumer, passed, last_id) values ('test', pg_current_snapshot(), 41000)`)
    await using late = await openTransaction(app.database)
    await late.sql(append, [1])
    const { database, reads } = explaining(app.app.database.system)
    await app.sql(append, [3])
    const relay = await startRelay(consumer, database)
    expect(await waitForProcessed(3)).toEqual([41_002, 41_003, 41_004])
    await late.commit()
    expect(await waitForProcessed(4)).toEqual([41_002, 41_003, 41_004, 41_001])
    await relay.stop()
    expect(reads.wholeTables.filter((table) => table === 'outbox')).toEqual([])
    expect(reads.rows).toBeLessThan(2000)
  })

  test('reads each of many new events a few times and not all of them for every page', async () => {
    const { database, reads } = explaining(app.app.database.system)
    await app.sql(append, [20_000])
    await app.sql(`
      insert into basalt.event_cursors (consumer, passed, last_id) values ('test', '1:1:', 0)`)
    const relay = await startRelay(consumer, database)
    expect(await waitForProcessed(20_000)).toHaveLength(20_000)
    await relay.stop()
    expect(reads.rows).toBeLessThan(3 * 20_000)
  })
})

test('pruning › removes events by age, but none that a consumer has not processed', async () => {
  const { system } = app.app.database
  const age = `update basalt.outbox set happened_at = now() - interval '25 h' where id <= $1`
  await app.sql(append, [3])
  await app.sql(age, [2])
  // The update of the rows is newer than the cursors, so these events count as unprocessed.
  expect(await pruneOutbox(system, 24)).toEqual({ removed: 0, discarded: 0 })
  await app.sql('update basalt.event_cursors set passed = pg_current_snapshot()')
  expect(await pruneOutbox(system, 24)).toEqual({ removed: 2, discarded: 0 })
  expect(await app.sql('select id::int from basalt.outbox')).toEqual([{ id: 3 }])
})

describe('pruning › a consumer without a reading node', () => {
  const age = (interval: string) =>
    app.sql(
      `update basalt.event_cursors set leased_until = now() - $1::interval where consumer = 'webhooks'`,
      [interval],
    )
  beforeEach(async () => {
    await app.sql(append, [3])
    await app.sql(`update basalt.outbox set happened_at = now() - interval '25 h' where id <= 2`)
  })

  test('keeps its events during the retention, so that a pause loses none', async () => {
    await age('23 h')
    const pruned = await pruneOutbox(app.app.database.system, 24)
    expect(pruned).toEqual({ removed: 0, discarded: 0 })
  })

  test('loses its events after the retention, so that the log does not grow for ever', async () => {
    await age('25 h')
    const pruned = await pruneOutbox(app.app.database.system, 24)
    expect(pruned).toEqual({ removed: 2, discarded: 2 })
    expect(await app.sql('select id::int from basalt.outbox')).toEqual([{ id: 3 }])
  })

  test('keeps its events for any time while another node reads for it', async () => {
    await app.sql(
      `update basalt.event_cursors set leased_until = now() - '1 s'::interval, leader = gen_random_uuid()`,
    )
    await app.sql(`update basalt.outbox set happened_at = now() - interval '1 year'`)
    expect(await pruneOutbox(app.app.database.system, 24)).toEqual({ removed: 0, discarded: 0 })
  })
})
