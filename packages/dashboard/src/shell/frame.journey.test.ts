import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Dashboard, journeys, openDashboard } from '../tests/journey.ts'

journeys('dashboard › frame', () => {
  let dashboard: Dashboard
  beforeAll(async () => {
    dashboard = await openDashboard()
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  test('opens at every path below its own under its content policy', async () => {
    await dashboard.open('/settings')
    await expect.poll(() => dashboard.page.title()).toContain('Settings')
    expect(await dashboard.page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0)
    await dashboard.expectAccessible()
    await dashboard.screenshot('settings')
  })

  test('shows how to enable a part of the server, and is no wider than a phone', async () => {
    const { page } = dashboard
    await page.setViewportSize({ width: 390, height: 800 })
    for (const [path, text] of [
      ['/storage', 'Storage is not enabled. Set storage.enabled = true in the configuration'],
      [
        '/oauth-clients',
        'The OAuth provider is not enabled. Set auth.oauth_provider.enabled = true in the configuration',
      ],
      ['/schedules', 'Jobs that run at scheduled times.'],
    ] as const) {
      await dashboard.open(path)
      await page.getByText(text).waitFor()
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    }
    await dashboard.expectAccessible()
    // The links of a sentence are inline, not on separate lines.
    await dashboard.open('/tables')
    await page.getByRole('heading', { name: 'Tables', level: 1 }).waitFor()
    const link = page.getByRole('link', { name: 'Create one' })
    expect(await link.evaluate((element) => getComputedStyle(element).display)).toBe('inline')
    await page.setViewportSize({ width: 1280, height: 800 })
  })
})
