import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { alice, notes } from '../../../../server/test/fixtures.ts'
import { userToken } from '../../../../server/test/test-app.ts'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

const hostile = '<img src=x onerror=alert(1)>'

journeys('dashboard › logs, requests, audit, usage and statements', () => {
  let dashboard: Dashboard
  beforeAll(async () => {
    dashboard = await openDashboard({
      setup: notes,
      config: { 'audit.tables': 'note', 'logging.level': 'info' },
    })
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems(/^503 .*analytics\/queries/))

  /** Writes a note as a user and returns the id of the request. */
  async function write(body: string): Promise<string> {
    const { headers, status } = await dashboard.app.request('POST', '/api/collections/note', {
      token: userToken({ sub: alice }),
      body: { body },
    })
    expect(status).toBe(201)
    const id = headers.get('x-request-id') ?? ''
    // The request is recorded after the response.
    const isRecorded = () => dashboard.app.sql('select from basalt.requests where request_id = $1', [id])
    await expect.poll(isRecorded).toHaveLength(1)
    return id
  }

  const log = (message: string, requestId: string | null, attrs: object = {}) =>
    dashboard.app.sql(
      `insert into basalt.logs (logged_at, level, message, attrs, node, request_id)
      values (now(), 50, $1, $2, 'other/1', $3)`,
      [message, JSON.stringify(attrs), requestId],
    )

  test('leads from a request to its log, its user and the changed row', async () => {
    const { page } = dashboard
    const id = await write(hostile)
    await log(`failed to ${hostile}`, id, { reason: hostile })
    await dashboard.open(`/requests?status=2xx&method=POST&path=${encodeURIComponent('/api/collections/*')}`)
    const link = page.getByRole('link', { name: 'POST /api/collections/note' })
    await link.waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('requests')
    await link.click()
    await page.getByText(`failed to ${hostile}`, { exact: true }).waitFor()
    await page.getByRole('link', { name: 'a11ce000' }).waitFor()
    await dashboard.screenshot('request')
    await dashboard.expectAccessible()

    await page.getByRole('link', { name: 'rows.insert' }).click()
    const panel = page.getByRole('complementary')
    await panel.getByRole('cell', { name: hostile }).waitFor()
    expect(page.url()).toContain(`/admin/audit?request_id=${id}`)
    await dashboard.screenshot('audit')
    await dashboard.expectAccessible()
  })

  test('follows the log of every node, and filters it', async () => {
    const { page } = dashboard
    const isWritten = Promise.withResolvers<void>()
    await page.route('**/api/admin/logs/tail?*', async (route) => {
      await isWritten.promise
      await route.continue()
    })
    await dashboard.open('/logs?live=1&q=telegram')
    await page.getByText('No entries match.').waitFor()
    await page.getByRole('switch', { name: 'Live (connecting)' }).waitFor()
    // This entry is written after the list was read, and before the stream starts.
    await log('telegram one', null, { reason: 'late' })
    isWritten.resolve()
    await page.getByText('telegram one').waitFor()
    await page.getByRole('switch', { name: 'Live', exact: true }).waitFor()
    await page.unroute('**/api/admin/logs/tail?*')
    await log('something else', null)
    await log('telegram two', null)
    await page.getByText('telegram two').waitFor()
    expect(await page.getByText('something else').count()).toBe(0)
    await page.getByRole('button', { name: 'telegram one' }).click()
    await page.getByRole('complementary').getByText('"reason": "late"').waitFor()
    await dashboard.screenshot('logs')
    await dashboard.expectAccessible()
    await page.keyboard.press('Escape')
    await page.getByLabel('Level').selectOption('fatal')
    await page.getByText('No entries match.').waitFor()
    expect(new URL(page.url()).searchParams.get('level')).toBe('fatal')
  })

  test('narrows a log by a usual range, by fields, and by dragging over its histogram', async () => {
    const { app, page } = dashboard
    await app.sql(`
      insert into basalt.logs (logged_at, level, message, node)
      select now() - make_interval(hours => n), 50, 'hourly ' || n, 'one/1' from generate_series(0, 20) n`)
    await dashboard.open('/logs?q=hourly')
    await page.getByRole('img', { name: 'Entries: about 21, about 21 of them errors' }).waitFor()
    await dashboard.screenshot('logs-histogram')
    await dashboard.expectAccessible()
    const chart = await page.locator('.u-over').boundingBox()
    if (chart === null) throw new Error('no chart')
    await page.mouse.move(chart.x + chart.width / 2, chart.y + 20)
    await page.mouse.down()
    await page.mouse.move(chart.x + chart.width - 1, chart.y + 25, { steps: 5 })
    await page.mouse.up()
    await expect.poll(() => page.getByText(/^hourly/).count()).toBeLessThan(14)
    const { searchParams } = new URL(page.url())
    const [since, until] = ['since', 'until'].map((name) => Date.parse(searchParams.get(name) ?? ''))
    expect(((until ?? 0) - (since ?? 0)) / 3_600_000).toBeCloseTo(12, 0)
    expect(await page.getByLabel('Time', { exact: true }).inputValue()).toBe('custom')
    await page.getByLabel('Time', { exact: true }).selectOption('Last 15 minutes')
    await expect.poll(() => page.getByText(/^hourly/).allTextContents()).toEqual(['hourly 0'])
    expect(new URL(page.url()).search).toBe('?q=hourly&since=15m')
    await page.reload()
    await expect.poll(() => page.getByText(/^hourly/).allTextContents()).toEqual(['hourly 0'])
    await page.getByLabel('Time', { exact: true }).selectOption('Custom range')
    await page.getByLabel('From').fill('2020-01-01T00:00')
    await page.getByLabel('To').fill('2020-01-02T00:00')
    await page.getByText('No entries match.').waitFor()
    await dashboard.expectAccessible()
    await page.getByRole('button', { name: 'Clear' }).click()
    expect(new URL(page.url()).search).toBe('')
  })

  test('shows the requests of a range over time', async () => {
    const { page } = dashboard
    await write('charted')
    await dashboard.open('/requests?from=1h&method=POST')
    await page.getByRole('img', { name: /^Requests: about [1-9]/ }).waitFor()
    await dashboard.screenshot('requests-histogram')
    await page.getByLabel('Status').selectOption('5xx')
    await page.getByText('No entries match.').waitFor()
    await page.getByRole('img', { name: 'Requests: 0, 0 of them errors' }).waitFor()
  })

  test('shows requests and latency over time, and the plan of an app', async () => {
    const { page, app } = dashboard
    await write('counted')
    await dashboard.open('/usage')
    const requests = page.getByRole('img', { name: /^Requests in the last hour: [1-9]/ })
    await requests.waitFor()
    await page.getByRole('img', { name: /^Latency/ }).waitFor()
    await dashboard.screenshot('usage')
    await dashboard.expectAccessible()
    await page.getByRole('combobox', { name: 'Time' }).selectOption('week')
    await page.getByRole('img', { name: /^Requests in the last 7 days/ }).waitFor()
    const [{ name } = { name: '' }] = await app.sql<{ name: string }>('select name from basalt.apps limit 1')
    await page.getByRole('button', { name, exact: true }).click()
    await page.getByLabel('Plan').fill('no such plan')
    await page.getByRole('button', { name: 'Set plan' }).click()
    await page.getByText('unknown plan "no such plan"').waitFor()
    await dashboard.expectAccessible()
  })

  test('shows how to install the statistics, and leads from a statement to its plan', async () => {
    const { page, app } = dashboard
    const requested: string[] = []
    page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await dashboard.open('/statements')
    await page.getByText('Statement statistics are unavailable').waitFor()
    // A retry could not succeed, and would keep the page loading.
    expect(requested.filter((path) => path === '/api/admin/analytics/queries')).toHaveLength(1)
    await dashboard.expectAccessible()
    // The test cluster does not load the extension, so this schema replaces it.
    await app.sql(`
      create schema statistics;
      create view statistics.pg_stat_statements as
      select 1 as queryid, (select oid from pg_database where datname = current_database()) as dbid,
        'select $1 as "${hostile}"'::text as query, 12::bigint as calls, 240.5::float8 as total_exec_time,
        20.04::float8 as mean_exec_time, 24::bigint as rows, 9::bigint as shared_blks_hit, 1::bigint as shared_blks_read;
      insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      values (999999, 'pg_stat_statements', 10, 'statistics'::regnamespace, false, '1')`)
    await page.reload()
    await page.getByRole('button', { name: `select $1 as "${hostile}"` }).click()
    await page.getByText('20.0 ms per call, 241 ms in total').waitFor()
    const href = await page.getByRole('link', { name: 'Explain in SQL' }).getAttribute('href')
    const { pathname, searchParams } = new URL(href ?? '', page.url())
    expect([pathname, [...searchParams]]).toEqual([
      '/admin/sql',
      [['text', `explain (generic_plan, verbose)\nselect $1 as "${hostile}"`]],
    ])
    await dashboard.screenshot('statements')
    await dashboard.expectAccessible()
  })
})
