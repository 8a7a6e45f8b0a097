import { expect, test } from 'vitest'
import { openEventStream } from '../../../test/event-stream.ts'
import { alice, notes } from '../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../test/test-app.ts'
import { testAdminPassword } from '../../../test/test-config.ts'

/** Signs in as the dashboard, reads by its session, writes, and ends the session. */
async function useDashboard(app: TestApp): Promise<void> {
  const own = { 'x-basalt-dashboard': '1', origin: app.url, 'sec-fetch-site': 'same-origin' }
  const path = '/api/admin/session'
  const signIn = await app.request('POST', path, { body: { password: testAdminPassword }, headers: own })
  const cookie = signIn.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
  const headers = { ...own, cookie }
  const statuses = [
    (await app.request('GET', '/api/admin/server', { headers })).status,
    (await app.request('GET', '/api/admin/users/x', { headers })).status,
    (await app.request('GET', '/admin/tables', { headers })).status,
    (await app.request('PATCH', '/api/admin/preferences', { headers, body: { theme: 'dark' } })).status,
    (await app.request('DELETE', path, { headers })).status,
  ]
  expect(statuses).toEqual([200, expect.any(Number), expect.any(Number), 200, 204])
}

const writes = ['POST /api/admin/session', 'PATCH /api/admin/preferences', 'DELETE /api/admin/session']

/** Lists the requests of the log and those that the usage counts, once the last one has been written. */
async function listRecorded(app: TestApp) {
  const list = (table: string, columns: string) =>
    app.sql(`select distinct ${columns} as name from basalt.${table} order by 1`)
  await expect
    .poll(() => list('usage_endpoints', 'endpoint'), { timeout: 30_000 })
    .toContainEqual({ name: 'DELETE /api/admin/session' })
  await expect
    .poll(() => list('requests', "method || ' ' || path"), { timeout: 30_000 })
    .toContainEqual({ name: 'DELETE /api/admin/session' })
  const rows = [
    ...(await list('usage_endpoints', 'endpoint')),
    ...(await list('requests', "method || ' ' || path")),
  ]
  return [...new Set(rows.map(({ name }) => name))].toSorted()
}

test('dashboard reads › are neither logged nor counted, unlike its writes and its sign-in', async () => {
  await using app = await createTestApp()
  await useDashboard(app)
  expect(await listRecorded(app)).toEqual(writes.toSorted())
})

test('dashboard reads › are logged and counted by logging.dashboard_reads', async () => {
  await using app = await createTestApp({ config: { 'logging.dashboard_reads': 'true' } })
  await useDashboard(app)
  expect(await listRecorded(app)).toEqual(
    expect.arrayContaining([
      ...writes,
      'GET /api/admin/server',
      'GET /api/admin/users/x',
      'GET /admin/tables',
    ]),
  )
})

test('dashboard reads › follow the setting of an owner on every node, without a restart', async () => {
  await using app = await createTestApp()
  const path = '/api/admin/dashboard-reads'
  const token = await app.adminToken()
  expect((await app.request('GET', path, { token })).json).toEqual({ isLogged: false })
  const set = (isLogged: boolean) => app.request('PUT', path, { token, body: { isLogged } })
  const answers = await Promise.all(Array.from({ length: 10 }, () => set(true)))
  expect(answers.map(({ status, json }) => [status, json])).toEqual(
    Array.from({ length: 10 }, () => [200, { isLogged: true }]),
  )
  const countReads = (read: string) => app.sql('select from basalt.requests where path = $1', [read])
  {
    await using other = await createTestApp({ database: app.database })
    const isLogged = async () => {
      await useDashboard(other)
      return (await countReads('/api/admin/users/x')).length > 0
    }
    await expect.poll(isLogged, { timeout: 30_000 }).toBe(true)
    expect((await other.request('GET', path, { token })).json).toEqual({ isLogged: true })
  }
  expect((await set(false)).json).toEqual({ isLogged: false })
  await app.sql('delete from basalt.requests')
  await useDashboard(app)
  // Requests are written in order, and those with a token always are.
  await app.request('GET', '/api/admin/tables', { token })
  await expect.poll(() => countReads('/api/admin/tables'), { timeout: 30_000 }).toHaveLength(1)
  expect(await countReads('/api/admin/server')).toEqual([])
  expect(
    await app.sql("select distinct detail from basalt.audit where action = 'dashboard_reads.set'"),
  ).toHaveLength(2)
})

test('dashboard reads › rejects a setting that is no boolean', async () => {
  await using app = await createTestApp()
  const token = await app.adminToken()
  const answer = await app.request('PUT', '/api/admin/dashboard-reads', { token, body: { isLogged: 'yes' } })
  expect([answer.status, JSON.stringify(answer.json)]).toEqual([400, expect.stringContaining('isLogged')])
})

test('dashboard reads › do not hide requests with a token, also beside a cookie', async () => {
  await using app = await createTestApp()
  const token = await app.adminToken()
  const headers = { cookie: 'basalt-admin=forged' }
  await app.request('GET', '/api/admin/server', { token, headers })
  await app.request('GET', '/api/admin/configuration', { headers })
  await expect
    .poll(() => app.sql(`select path, status from basalt.requests where method = 'GET' order by path`))
    .toEqual([
      { path: '/api/admin/configuration', status: 403 },
      { path: '/api/admin/server', status: 200 },
    ])
})

test('streams › have the time until they opened as duration', async () => {
  await using app = await createTestApp({ setup: notes })
  const started = performance.now()
  await using stream = await openEventStream(app.url, 'tables=note', { token: userToken({ sub: alice }) })
  const openedAfter = performance.now() - started
  await app.sql('select pg_sleep(1)')
  const admin = { token: await app.adminToken() }
  const { items } = (await app.request('GET', '/api/admin/realtime/connections', admin)).json
  const [{ id }] = items
  await app.request('POST', `/api/admin/realtime/connections/${id}/disconnect`, { ...admin, body: {} })
  await stream.ended()
  const list = () => app.sql(`select duration_ms from basalt.requests where path = '/api/realtime'`)
  await expect.poll(list, { timeout: 30_000 }).toHaveLength(1)
  const [{ duration_ms: duration } = { duration_ms: Number.NaN }] = await list()
  expect(duration).toBeLessThanOrEqual(openedAfter)
})
