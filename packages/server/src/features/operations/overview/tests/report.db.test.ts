import { expect, test } from 'vitest'
import { explaining } from '../../../../../test/explain.ts'
import { notes } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { readReport } from '../report.ts'

const report = async (app: TestApp) =>
  (await app.request('GET', '/api/admin/report', { token: await app.adminToken() })).json

test('GET /admin/report › describes an empty server', async () => {
  await using app = await createTestApp()
  const { hour, day, signUps, ...rest } = await report(app)
  expect([hour.length, day.length, signUps.length]).toEqual([60, 24, 14])
  expect(rest).toEqual({
    storedBytes: null,
    streams: 0,
    backup: null,
    steps: { table: false, policy: false, user: false, app: false },
  })
})

test('GET /admin/report › counts requests, errors, durations and sign-ups in steps, and ticks the first steps', async () => {
  await using app = await createTestApp({ setup: `${notes}; grant select on note to basalt_anonymous` })
  const at = new Date(Date.now() - 10 * 60_000).toISOString()
  await app.sql(
    `insert into basalt.requests
      (happened_at, method, path, operation, status, duration_ms, app_id, request_size, response_size, request_id, node)
    select $1::timestamptz, 'GET', '/', 'test', case when n <= 3 then 503 else 200 end, n, gen_random_uuid(), 0, 0, n::text, 'one'
    from generate_series(1, 100) n`,
    [at],
  )
  await app.sql(`insert into basalt.usage_hours (app_id, hour, requests, storage_bytes)
    select gen_random_uuid(), date_trunc('hour', now(), 'UTC'), 7, 10 from generate_series(1, 2)`)
  await app.sql(`insert into basalt.users (email) values ('ada@example.com')`)
  await app.sql(`insert into basalt.settings (key, value)
    values ('last_backup', '{"finishedAt": "2026-03-01T00:00:00Z", "bytes": 5}')`)
  const found = await report(app)
  const points = found.hour.filter(({ p50_ms }: { p50_ms: number | null }) => p50_ms === 50.5)
  expect(points).toEqual([
    { timestamp: `${at.slice(0, 16)}:00.000Z`, requests: 100, errors: 3, p50_ms: 50.5, p95_ms: 95.05 },
  ])
  expect(found.day.at(-1)).toMatchObject({ requests: expect.any(Number) })
  expect(found.day.at(-1).requests).toBeGreaterThanOrEqual(14)
  expect(found.signUps.at(-1).count).toBe(1)
  expect(found).toMatchObject({
    storedBytes: 20,
    backup: { finishedAt: '2026-03-01T00:00:00Z', bytes: 5 },
    steps: { table: true, policy: true, user: true, app: false },
  })
  await app.request('GET', '/api/collections/note')
  await waitFor('the request to be counted', async () => (await report(app)).steps.app)
})

test('GET /admin/report › does not read the log of a day for the requests that failed', async () => {
  await using app = await createTestApp()
  await app.sql(`
    insert into basalt.requests
      (happened_at, method, path, operation, status, duration_ms, app_id, request_size, response_size, request_id, node)
    select now() - interval '3 h', 'GET', '/', 'test', case when n <= 3 then 503 else 200 end, n, gen_random_uuid(), 0, 0,
      n::text, 'one'
    from generate_series(1, 20000) n;
    analyze basalt.requests`)
  const { database, reads } = explaining(app.app.database.system)
  const { day } = await readReport(database, { table: false, policy: false })
  expect(day.map(({ errors }) => errors)).toContain(3)
  expect(reads.wholeTables).not.toContain('requests')
  expect(reads.rows).toBeLessThan(5000)
})
