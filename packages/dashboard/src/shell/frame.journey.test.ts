import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Dashboard, journeys, openDashboard } from '../tests/journey.ts'

journeys('the frame of the dashboard', () => {
  let dashboard: Dashboard
  beforeAll(async () => {
    dashboard = await openDashboard()
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  test('opens at every address below its own under its policy', async () => {
    await dashboard.open('/settings')
    await expect.poll(() => dashboard.page.title()).toContain('Settings')
    expect(await dashboard.page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0)
    await dashboard.expectAccessible()
    await dashboard.screenshot('settings')
  })
})
