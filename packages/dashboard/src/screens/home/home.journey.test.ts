import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

journeys('dashboard › home', () => {
  let dashboard: Dashboard
  beforeAll(async () => {
    dashboard = await openDashboard()
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  const steps = () => dashboard.page.getByRole('region', { name: 'From an empty database to your app' })
  const done = () => steps().getByRole('heading', { name: '(done)' }).allTextContents()

  test('shows the first steps until each of them is done', async () => {
    const { app, page } = dashboard
    await dashboard.open('/')
    expect(await done()).toEqual([])
    expect(await steps().getByLabel('Client', { exact: true }).textContent()).toContain(app.url)
    await dashboard.expectAccessible()
    await dashboard.screenshot('home-empty')
    await app.sql(
      `create table note (id int primary key); insert into basalt.users (email) values ('ada@example.com')`,
    )
    await page.reload()
    await expect.poll(done).toEqual(['A table (done)', 'A user (done)'])
    await app.sql(`alter table note enable row level security; create policy own on note using (true);
      insert into basalt.usage_endpoints (app_id, day, endpoint, status, requests)
      values (gen_random_uuid(), now(), 'GET /api/collections/:table', 200, 1)`)
    await page.reload()
    await page.getByRole('tab', { name: 'Last hour' }).waitFor()
    expect(await steps().count()).toBe(0)
  })

  test('shows traffic, figures and the last errors, which lead to their request', async () => {
    const { app, page } = dashboard
    await app.sql('create table unprotected (id int primary key)')
    await app.app.catalog.refresh()
    await app.sql(`
      insert into basalt.requests
        (happened_at, method, path, operation, status, duration_ms, app_id, request_size, response_size, request_id, node)
      select now() - n * interval '1 minute', 'GET', '/api/collections/note', 'collections.list',
        case when n = 7 then 500 else 200 end, n, gen_random_uuid(), 0, 0, 'home-' || n, 'one'
      from generate_series(1, 50) n`)
    await dashboard.open('/')
    await page.getByRole('img', { name: /^Requests in the last hour: .*, 1 of them failed$/ }).waitFor()
    await page.getByRole('img', { name: /^Latency in the last hour: median/ }).waitFor()
    expect(await page.getByRole('link', { name: /^[1-9]\d* (error|warning)s?$/ }).count()).toBeGreaterThan(0)
    expect(await page.getByRole('link', { name: /^\d+ info$/ }).count()).toBe(1)
    await dashboard.screenshot('home')
    await page.getByRole('tab', { name: 'Last 24 hours' }).click()
    await page.getByRole('img', { name: /^Requests in the last 24 hours/ }).waitFor()
    await page
      .getByRole('definition')
      .filter({ hasText: 'of 400' })
      .or(page.getByText('open stream'))
      .first()
      .waitFor()
    await dashboard.expectAccessible()
    await page.getByRole('link', { name: 'GET /api/collections/note' }).click()
    await page
      .getByRole('heading', { level: 1 })
      .filter({ hasText: 'GET' })
      .or(page.getByText('home-7'))
      .first()
      .waitFor()
    expect(page.url()).toContain('/requests/home-7')
  })
})
