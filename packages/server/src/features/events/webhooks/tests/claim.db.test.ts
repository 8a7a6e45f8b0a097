import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { explaining } from '../../../../../test/explain.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { enqueueEvents } from '../enqueue.ts'
import { claimAttempts } from '../queue.ts'

let app: TestApp
const dead = '00000000-0000-4000-8000-00000000000d'
const healthy = '00000000-0000-4000-8000-00000000000a'
const limits = { perReceiver: 20, total: 500, functions: [] }
const backlog = 100_000

beforeAll(async () => {
  app = await createTestApp({ config: { 'webhooks.deliver': 'false' } })
})
afterAll(() => app[Symbol.asyncDispose]())

/** Adds events to the log and to the queue, as the relay does. */
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

/** Removes the statistics, as if the table had never been analyzed. */
const forget = `
  delete from pg_statistic where starelid = 'basalt.webhook_queue'::regclass;
  update pg_class set reltuples = -1, relpages = 0, relallvisible = 0
  where oid = 'basalt.webhook_queue'::regclass
    or oid in (select indexrelid from pg_index where indrelid = 'basalt.webhook_queue'::regclass)`

describe('webhooks › claim › with 100,000 deliveries queued for a dead receiver', () => {
  beforeAll(async () => {
    await app.sql(`
      alter table basalt.webhook_queue set (autovacuum_enabled = false);
      analyze basalt.webhook_queue;
      insert into basalt.webhooks (id, url, events, tables, enabled, failing_since)
      values ('${dead}', 'http://127.0.0.1:9/', '{create}', '{dead}', true, now()),
        ('${healthy}', 'http://127.0.0.1:9/', '{create}', '{healthy}', true, null)`)
    // Some records have many changes, which wait for each other.
    await enqueue('dead', `(select '[' || n % 60000 || ']' as key from generate_series(1, ${backlog}) n) n`)
    // The oldest have been tried. They wait for their next attempt or are in flight.
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
    ['describe an empty table', 'select 1'],
    ['are missing', forget],
    ['are current', 'analyze basalt.webhook_queue'],
  ])('reads no more than it returns when statistics %s', async (_, prepare) => {
    await app.sql(prepare)
    const { database, reads } = explaining(app.app.database.system)
    const { claims } = await claimAttempts(database, limits)
    const count = (id: string) => claims.filter(({ webhook_id }) => webhook_id === id).length
    expect(count(healthy)).toBe(4)
    expect(count(dead)).toBeLessThanOrEqual(5)
    expect(reads.wholeTables.filter((name) => name === 'webhook_queue')).toEqual([])
    expect(reads.rows).toBeLessThan(200)
    // Each dead version that an older snapshot protects costs a read of its page.
    const [table] = await app.sql<{ pages: number }>(
      `select pg_relation_size('basalt.webhook_queue') / current_setting('block_size')::int as pages`,
    )
    expect(reads.pages).toBeLessThan(Number(table?.pages))
  })
})

describe('webhooks › claim › an event whose record has an earlier one in the queue', () => {
  const table = 'healthy'
  const row = async (ordinal: number) =>
    (
      await app.sql<{ id: string; after_id: string | null }>(
        `select id::text, after_id::text from basalt.webhook_queue where webhook_id = '${healthy}' order by id offset $1 limit 1`,
        [ordinal],
      )
    )[0]
  const append = async (key: string, oldKey: string | null = null) => {
    const [event] = await app.sql<{ id: string }>(
      `insert into basalt.outbox (action, table_name, record_key, old_record_key, record)
       values ('create', '${table}', $1, $2, '{}') returning id::text`,
      [key, oldKey],
    )
    return event?.id ?? ''
  }
  const add = (id: string) =>
    app.app.database.system.transaction((transaction) => enqueueEvents([id], transaction))
  const due = async () =>
    (await claimAttempts(app.app.database.system, limits)).claims
      .filter(({ webhook_id }) => webhook_id === healthy)
      .map(({ id }) => id)

  beforeEach(async () => {
    await app.sql(`delete from basalt.webhook_queue where webhook_id = '${healthy}'`)
    await add(await append('[1]'))
  })

  test('waits for it, and is due after it is removed by any program', async () => {
    await add(await append('[1]'))
    const [first, second] = [await row(0), await row(1)]
    expect(second?.after_id).toBe(first?.id)
    expect(await due()).toEqual([first?.id])
    await app.sql('delete from basalt.webhook_queue where id = $1', [first?.id])
    expect(await due()).toEqual([second?.id])
  })

  test('waits for the events of both keys when it changes the key, and later events wait for it', async () => {
    await add(await append('[2]'))
    await add(await append('[2]', '[1]'))
    await add(await append('[1]'))
    await add(await append('[2]'))
    const rows = await Promise.all([0, 1, 2, 3, 4].map(row))
    const ids = rows.map((each) => each?.id ?? '')
    const remove = (index: number) => app.sql('delete from basalt.webhook_queue where id = $1', [ids[index]])
    expect((await due()).sort()).toEqual(ids.slice(0, 2).sort())
    await remove(1)
    expect(await due()).toEqual([])
    await remove(0)
    expect(await due()).toEqual([ids[2]])
    await remove(2)
    expect((await due()).sort()).toEqual(ids.slice(3).sort())
  })

  test('is due when the earlier one is removed while it is added', async () => {
    const second = await append('[1]')
    let removal: Promise<unknown> = Promise.resolve()
    await app.app.database.system.transaction(async (transaction) => {
      await enqueueEvents([second], transaction)
      removal = app.sql(`delete from basalt.webhook_queue where webhook_id = '${healthy}'`)
      await waitFor('the removal to wait', async () => {
        const blocked = await app.sql(`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like 'delete from basalt.webhook_queue%'`)
        return blocked.length === 1
      })
    })
    await removal
    const remaining = await row(0)
    expect(remaining?.after_id).toBeNull()
    expect(await due()).toEqual([remaining?.id])
  })

  test('does not wait for one that is removed by the time it is added', async () => {
    await using completion = await openTransaction(app.database)
    await completion.sql(`delete from basalt.webhook_queue where webhook_id = '${healthy}'`)
    const entering = add(await append('[1]'))
    await completion.waitForBlocked()
    await completion.commit()
    await entering
    const remaining = await row(0)
    expect(remaining?.after_id).toBeNull()
    expect(await due()).toEqual([remaining?.id])
  })

  test('is claimed by one node when ten claim at once', async () => {
    for (let n = 2; n <= 15; n += 1) await add(await append(`[${n}]`))
    const claims = await Promise.all(Array.from({ length: 10 }, due))
    expect(new Set(claims.flat()).size).toBe(claims.flat().length)
    // One receiver has no more than its limit in flight.
    await waitFor('the rest', async () => {
      claims.push(await due())
      return claims.flat().length === 15
    })
  })
})
