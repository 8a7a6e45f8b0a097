import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { explaining } from '../../../../../test/explain.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { claimJobs, renewLeases, settleJobs } from '../claims.ts'

let app: TestApp
let database: SystemDatabase
const free = (slots: number) => new Map([['test.claimed', slots]])

beforeAll(async () => {
  app = await createTestApp({ config: { 'jobs.enabled': 'false' } })
  database = app.app.database.system
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() => app.sql('truncate basalt.jobs'))

async function add(count: number, more = `'queued', now() - n * interval '1 s'`): Promise<void> {
  await app.sql(
    `insert into basalt.jobs (type, max_attempts, state, run_at)
     select 'test.claimed', 3, ${more} from generate_series(1, ${count}) n`,
  )
}

test('jobs › claim › returns the longest due jobs of each type, as many as there are slots', async () => {
  await add(5)
  await app.sql(`insert into basalt.jobs (type, max_attempts) values ('test.other', 1), ('test.unknown', 1)`)
  const slots = new Map([
    ['test.claimed', 2],
    ['test.other', 2],
    ['test.full', 0],
  ])
  const { claims } = await claimJobs(database, slots)
  expect(claims.map(({ type }) => type).sort()).toEqual(['test.claimed', 'test.claimed', 'test.other'])
  const ages = await app.sql(
    `select extract(epoch from created_at - run_at)::int as age from basalt.jobs where state = 'running' and type = 'test.claimed' order by 1`,
  )
  expect(ages).toEqual([{ age: 4 }, { age: 5 }])
})

test('jobs › claim › returns when the next job is due and when the next lease expires', async () => {
  await add(1, `'queued', now() + interval '1 h'`)
  const { claims, nextMs } = await claimJobs(database, free(1))
  expect(claims).toEqual([])
  expect(Math.round((nextMs ?? 0) / 60_000)).toBe(60)
  await add(1)
  await claimJobs(database, free(1))
  const lease = (await claimJobs(database, free(1))).nextMs ?? 0
  expect(lease).toBeGreaterThan(0)
  expect(lease).toBeLessThanOrEqual(30_000)
})

describe('jobs › runs', () => {
  type Outcome = Parameters<typeof settleJobs>[1][number]['outcome']

  async function attempt(outcome: Outcome): Promise<void> {
    await app.sql('update basalt.jobs set run_at = now()')
    const [claim] = (await claimJobs(database, free(1))).claims
    if (claim === undefined) throw new Error('no job was due')
    await settleJobs(database, [{ claim, outcome }])
  }

  async function read(): Promise<{ items: Record<string, unknown>[]; count: number }> {
    const [{ id } = {}] = await app.sql<{ id: string }>('select id from basalt.jobs')
    await using enabled = await createTestApp({ database: app.database })
    const token = await enabled.adminToken()
    const { status, json } = await enabled.request('GET', `/api/admin/jobs/${id}/runs`, { token })
    expect(status).toBe(200)
    return json
  }

  test('are the ended attempts, the newest first, also those that are released or lost', async () => {
    await add(1)
    await attempt({ kind: 'retry', message: 'refused', seconds: 0 })
    await attempt({ kind: 'released' })
    await claimJobs(database, free(1))
    await app.sql(`update basalt.jobs set leased_until = now() - interval '1 s'`)
    await claimJobs(database, new Map())
    await attempt({ kind: 'completed' })
    const { items, count } = await read()
    expect(count).toBe(4)
    expect(items.map(({ attempt, status, error }) => ({ attempt, status, error }))).toEqual([
      { attempt: 3, status: 'completed', error: undefined },
      { attempt: 2, status: 'failed', error: 'the worker was lost' },
      { attempt: 2, status: 'released', error: undefined },
      { attempt: 1, status: 'failed', error: 'refused' },
    ])
    for (const { startedAt, finishedAt, durationMs } of items) {
      expect(startedAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      expect(Date.parse(String(finishedAt)) - Date.parse(String(startedAt))).toBe(durationMs)
    }
  })

  test('are none of a stale claim, and at most the latest 50', async () => {
    await add(1)
    await attempt({ kind: 'failed', message: 'x'.repeat(5000) })
    const { items } = await read()
    expect(items).toMatchObject([{ attempt: 1, status: 'failed', error: 'x'.repeat(1000) }])
    await app.sql(`update basalt.jobs set state = 'queued', attempts = 0, finished_at = null`)
    const [stale] = (await claimJobs(database, free(1))).claims
    if (stale === undefined) throw new Error('no job was due')
    await settleJobs(database, [{ claim: { ...stale, claim: '1' }, outcome: { kind: 'completed' } }])
    expect((await read()).count).toBe(1)
    await settleJobs(database, [{ claim: stale, outcome: { kind: 'released' } }])
    for (let run = 0; run < 50; run += 1) await attempt({ kind: 'released' })
    const kept = (await read()).items
    expect(kept).toHaveLength(50)
    expect(kept.every(({ status }) => status === 'released')).toBe(true)
  })
})

test('jobs › claim › claims each job once when ten claims run at once', async () => {
  await add(60)
  const results = await Promise.all(Array.from({ length: 10 }, () => claimJobs(database, free(10))))
  const ids = results.flatMap(({ claims }) => claims.map(({ id }) => id))
  expect(new Set(ids).size).toBe(ids.length)
  const [{ running } = {}] = await app.sql<{ running: number }>(
    `select count(*)::int as running from basalt.jobs where state = 'running' and claim = 1`,
  )
  expect(running).toBe(ids.length)
})

test.each([
  ['are missing', `delete from pg_statistic where starelid = 'basalt.jobs'::regclass`],
  ['are current', 'analyze basalt.jobs'],
])(
  'jobs › claim › reads no more than it returns beside 20,000 jobs when statistics %s',
  async (_, prepare) => {
    await app.sql('alter table basalt.jobs set (autovacuum_enabled = false)')
    await add(10_000)
    await add(10_000, `'queued', now() + interval '1 h'`)
    await app.sql(prepare)
    const { database: explained, reads } = explaining(database)
    expect((await claimJobs(explained, free(10))).claims).toHaveLength(10)
    expect(reads.wholeTables).toEqual([])
    expect(reads.rows).toBeLessThan(100)
  },
)

describe('jobs › claim › of deploys', () => {
  const [live, earlier, removed] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [
    string,
    string,
    string,
  ]
  const runnable = new Map([['test.claimed', { hasLive: true, hashes: [live] }]])

  beforeEach(() =>
    app.sql(`
      delete from basalt.function_deploys;
      insert into basalt.function_deploys (hash, file_count, total_bytes)
      values ('${live}', 0, 0), ('${earlier}', 0, 0)`),
  )
  const queue = (count: number, deploy: string | null, seconds: number) =>
    app.sql(
      `insert into basalt.jobs (type, max_attempts, run_at, deploy)
       select 'test.claimed', 3, now() - $1 * interval '1 s' + n * interval '1 ms', $2 from generate_series(1, ${count}) n`,
      [seconds, deploy],
    )

  test('returns those that this node can run, the longest due first', async () => {
    await queue(1, earlier, 50)
    await queue(1, live, 20)
    await queue(1, removed, 40)
    await queue(1, null, 30)
    await queue(1, live, 10)
    const deploysOf = async (slots: number) =>
      (await claimJobs(database, free(slots), runnable)).claims.map(({ deploy }) => deploy)
    const ages = async () =>
      (
        await app.sql(
          `select extract(epoch from created_at - run_at)::int as age from basalt.jobs where state = 'running' order by 1`,
        )
      ).map(({ age }) => age)
    // A deploy that is not kept counts as none.
    expect(await deploysOf(2)).toEqual([null, null])
    expect(await ages()).toEqual([30, 40])
    expect((await deploysOf(5)).toSorted()).toEqual([live, live])
    expect(await ages()).toEqual([10, 20, 30, 40])
  })

  test.each([
    ['are missing', `delete from pg_statistic where starelid = 'basalt.jobs'::regclass`],
    ['are current', 'analyze basalt.jobs'],
  ])('reads no more after 100,000 due jobs of an earlier one when statistics %s', async (_, prepare) => {
    await app.sql('alter table basalt.jobs set (autovacuum_enabled = false)')
    await queue(100_000, earlier, 3600)
    for (const deploy of [live, removed, null]) await queue(20, deploy, 10)
    await app.sql(prepare)
    const { database: explained, reads } = explaining(database)
    expect((await claimJobs(explained, free(10), runnable)).claims).toHaveLength(10)
    expect(reads.wholeTables).toEqual([])
    expect(reads.rows).toBeLessThan(150)
  })
})

test('jobs › settle › rejects a stale completion and records the others of its batch', async () => {
  await add(2)
  const [stale, good] = (await claimJobs(database, free(2))).claims
  if (stale === undefined || good === undefined) throw new Error('two were due')
  await app.sql(`update basalt.jobs set leased_until = now() - interval '1 s' where id = $1`, [stale.id])
  await claimJobs(database, free(0))
  const [again] = (await claimJobs(database, free(1))).claims
  expect(again).toMatchObject({ id: stale.id, attempt: 2 })
  const completed = { kind: 'completed' } as const
  const settlements = [stale, good].map((claim) => ({ claim, outcome: completed }))
  expect(await settleJobs(database, settlements)).toEqual([false, true])
  await renewLeases(database, [stale])
  const rows = await app.sql('select id, state, attempts from basalt.jobs order by state')
  expect(rows).toEqual([
    { id: good.id, state: 'completed', attempts: 1 },
    { id: stale.id, state: 'running', attempts: 2 },
  ])
})

test('jobs › renew › extends the leases of the latest claims', async () => {
  await add(1)
  const { claims } = await claimJobs(database, free(1))
  await app.sql(`update basalt.jobs set leased_until = now() + interval '1 s'`)
  await renewLeases(database, claims)
  expect(
    await app.sql(`select leased_until > now() + interval '20 s' as is_extended from basalt.jobs`),
  ).toEqual([{ is_extended: true }])
})

test('jobs › settle › records an error message with a NUL without it', async () => {
  await add(1)
  const [claim] = (await claimJobs(database, free(1))).claims
  if (claim === undefined) throw new Error('one was due')
  expect(await settleJobs(database, [{ claim, outcome: { kind: 'failed', message: 'a\0b' } }])).toEqual([
    true,
  ])
  expect(await app.sql('select state, last_error from basalt.jobs')).toEqual([
    { state: 'failed', last_error: 'ab' },
  ])
})
