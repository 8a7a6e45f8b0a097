import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { explaining } from '../../../test/explain.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { claimAttempts, enqueueEvents } from './queue.ts'

let app: TestApp
const dead = '00000000-0000-4000-8000-00000000000d'
const healthy = '00000000-0000-4000-8000-00000000000a'
const limits = { perReceiver: 20, total: 500 }
const backlog = 100_000

beforeAll(async () => {
  app = await createTestApp({ config: { 'webhooks.deliver': 'false' } })
})
afterAll(() => app[Symbol.asyncDispose]())

/** Adds events to the log and, as the relay does, to the queue. */
async function enqueue(table: string, keys: string): Promise<void> {
  const rows = await app.sql<{ id: string }>(`
    insert into basalt.outbox (action, table_name, record_key, record)
    select 'create', '${table}', key, '{"note":"a record of some size, as they are"}' from ${keys} returning id::text`)
  const { system } = app.app.database
  for (let start = 0; start < rows.length; start += 2000) {
    const ids = rows.slice(start, start + 2000).map(({ id }) => id)
    await system.transaction((transaction) => enqueueEvents(ids, transaction))
  }
}

/** Statistics as they are of a table that was never analyzed, whatever was known of it. */
const forget = `
  delete from pg_statistic where starelid = 'basalt.webhook_queue'::regclass;
  update pg_class set reltuples = -1, relpages = 0, relallvisible = 0
  where oid = 'basalt.webhook_queue'::regclass
    or oid in (select indexrelid from pg_index where indrelid = 'basalt.webhook_queue'::regclass)`

describe('with 100,000 deliveries queued for a dead receiver, a claim', () => {
  beforeAll(async () => {
    await app.sql(`
      alter table basalt.webhook_queue set (autovacuum_enabled = false);
      analyze basalt.webhook_queue;
      insert into basalt.webhooks (id, url, events, tables, enabled, failing_since)
      values ('${dead}', 'http://127.0.0.1:9/', '{create}', '{dead}', true, now()),
        ('${healthy}', 'http://127.0.0.1:9/', '{create}', '{healthy}', true, null)`)
    // Of some records there are many changes, which wait for each other.
    await enqueue('dead', `(select '[' || n % 60000 || ']' as key from generate_series(1, ${backlog}) n) n`)
    // The oldest have been tried: they wait for their next attempt, or are in flight.
    await app.sql(`
      with oldest as (
        select id, row_number() over (order by id) as ordinal from basalt.webhook_queue order by id limit 20000
      )
      update basalt.webhook_queue q set attempts = 1,
        due_at = now() + '1 h',
        leased_until = case when o.ordinal <= 3 then now() + '1 h' end
      from oldest o where o.id = q.id`)
  }, 120_000)
  beforeEach(async () => {
    await app.sql(`delete from basalt.webhook_queue where webhook_id = '${healthy}'`)
    await enqueue('healthy', `(select '[' || n || ']' as key from generate_series(1, 4) n) n`)
  })

  test.each([
    ['were taken of an empty table', 'select 1'],
    ['were never taken', forget],
    ['are right', 'analyze basalt.webhook_queue'],
  ])('reads no more than it takes where statistics %s', async (_, prepare) => {
    await app.sql(prepare)
    const { database, reads } = explaining(app.app.database.system)
    const claims = await claimAttempts(database, limits)
    const count = (id: string) => claims.filter(({ webhook_id }) => webhook_id === id).length
    expect(count(healthy)).toBe(4)
    expect(count(dead)).toBeLessThanOrEqual(5)
    expect(reads.wholeTables.filter((name) => name === 'webhook_queue')).toEqual([])
    expect(reads.rows).toBeLessThan(200)
    expect(reads.pages).toBeLessThan(1000)
  })
})
