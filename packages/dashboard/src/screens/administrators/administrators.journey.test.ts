import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../../server/test/test-app.ts'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

journeys('dashboard › administrators', () => {
  let app: TestApp
  let dashboard: Dashboard
  let page: Page
  let link = ''

  beforeAll(async () => {
    app = await createTestApp()
    dashboard = await openDashboard({ app })
    page = dashboard.page
  })
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]()
    await app?.[Symbol.asyncDispose]()
  })
  afterEach(() => dashboard.expectNoProblems(/401|403/))

  test('invites an administrator and shows the link', async () => {
    await dashboard.open('/administrators')
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByLabel('Email address').fill('ada@example.com')
    await page.getByLabel('Role').selectOption('viewer')
    await dashboard.expectAccessible()
    await page.getByRole('button', { name: 'Create invitation' }).click()
    const dialog = page.getByRole('dialog', { name: 'Link to set a password' })
    await dialog.waitFor()
    link = (await dialog.getByText(/#code=basalt_password_/).textContent()) ?? ''
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('cell', { name: 'Invited' }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('administrators')
  })

  test('lets a viewer set a password, sign in, and see only what the role may', async () => {
    await page.getByRole('button', { name: 'Administrator', exact: true }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Administrator password').waitFor()
    await page.goto('about:blank')
    await page.goto(link.trim())
    await page.getByLabel('New password').fill('her own password')
    await dashboard.expectAccessible()
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByRole('button', { name: 'Use an email address' }).click()
    await page.getByLabel('Email address').fill('ada@example.com')
    await page.getByLabel('Password', { exact: true }).fill('her own password')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'ada@example.com' }).waitFor()
    const screens = page.getByRole('navigation', { name: 'Screens' })
    await screens.getByRole('link', { name: 'Logs' }).waitFor()
    for (const name of ['SQL', 'Access', 'Webhooks', 'Settings']) {
      expect(await screens.getByRole('link', { name, exact: true }).count()).toBe(0)
    }
    await dashboard.open('/sql')
    await page.getByText('Your role has no access to this screen.').waitFor()
    await dashboard.expectAccessible()
  })
})
