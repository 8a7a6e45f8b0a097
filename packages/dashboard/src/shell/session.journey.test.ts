import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createTestApp, createTestDatabase, type TestApp } from '../../../server/test/test-app.ts'
import { type Dashboard, journeys, openDashboard } from '../tests/journey.ts'

journeys('dashboard › session', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let app: TestApp
  let dashboard: Dashboard
  let page: Page
  let password = ''
  const config = {
    'admin.password': '',
    'storage.enabled': 'true',
    // The test only creates buckets, which are rows.
    'storage.local_path': join(tmpdir(), 'basalt-no-files'),
  }

  beforeAll(async () => {
    database = await createTestDatabase()
    await database.sql('create table track (id int primary key)')
    app = await createTestApp({ database, config })
    password = app.app.firstSignIn?.password ?? ''
    dashboard = await openDashboard({ app, isSignedIn: false })
    page = dashboard.page
  })
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]()
    await app?.[Symbol.asyncDispose]()
    await database?.[Symbol.asyncDispose]()
  })
  // The browser logs each connection that a restarting server refuses.
  afterEach(() =>
    dashboard.expectNoProblems(
      /ERR_CONNECTION_|ERR_EMPTY_RESPONSE|Unable to preload CSS|dynamically imported/,
    ),
  )

  const passwordField = () => page.getByLabel('Administrator password')
  async function signIn(): Promise<void> {
    await passwordField().fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const heading = (name: string) => page.getByRole('heading', { level: 1, name })
  /** Signs out as another tab does. */
  const signOutElsewhere = async () => {
    const headers = { 'x-basalt-dashboard': '1', origin: app.url }
    const answer = await dashboard.context.request.delete(`${app.url}/api/admin/session`, { headers })
    expect(answer.status()).toBe(204)
  }

  test('starts with a one-time link, only after a press', async () => {
    const code = app.app.firstSignIn?.code ?? ''
    await dashboard.open(`/sign-in#code=${code}`)
    const press = page.getByRole('button', { name: 'Sign in with this link' })
    await press.waitFor()
    await dashboard.expectAccessible()
    expect(await database.sql('select from basalt.admin_sessions')).toHaveLength(0)
    await press.click()
    await heading('Home').waitFor()
    expect(page.url()).toBe(`${app.url}/admin/`)
    expect(await page.evaluate(() => document.cookie)).not.toContain('basalt-admin')
    await expect.poll(() => page.title()).toBe('Home · Basalt')
    await page.getByText('Open to every signed-in caller').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('home')
  })

  test('rejects a used link, and accepts the password instead', async () => {
    await page.getByRole('button', { name: 'Administrator' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await passwordField().waitFor()
    expect(await database.sql('select from basalt.admin_sessions')).toHaveLength(0)
    await page.goto('about:blank')
    await dashboard.open('/sign-in#code=basalt_signin_used')
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByRole('alert').filter({ hasText: 'invalid or expired sign-in code' }).waitFor()
    await page.getByRole('button', { name: 'Use the password instead' }).click()
    await passwordField().waitFor()
    expect(page.url()).not.toContain('code')
  })

  test('starts with the password, at the requested path', async () => {
    await dashboard.open('/settings/server')
    await passwordField().fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').filter({ hasText: 'invalid password' }).waitFor()
    await signIn()
    await page.getByText('This node').waitFor()
    expect(page.url()).toBe(`${app.url}/admin/settings/server`)
  })

  test('keeps the input when the session ends during an edit', async () => {
    await dashboard.open('/storage')
    await page.getByRole('button', { name: 'New bucket' }).click()
    await page.getByLabel('Name').fill('photos')
    await signOutElsewhere()
    await page.getByRole('button', { name: 'Create bucket' }).click()
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
    await dashboard.expectAccessible()
    expect(await database.sql('select from basalt.buckets')).toHaveLength(0)
    await page.keyboard.press('Escape')
    await passwordField().waitFor()
    await signIn()
    await page.getByText('Bucket photos created.').waitFor()
    expect(await database.sql('select name from basalt.buckets')).toEqual([{ name: 'photos' }])
  })

  test('survives a server restart, and the page resumes automatically', async () => {
    await dashboard.open('/settings/server')
    await page.getByText('This node').waitFor()
    await app[Symbol.asyncDispose]()
    await page.getByText('The server is unavailable.').waitFor()
    // Neither its script nor its style sheet has been loaded.
    await page.getByRole('link', { name: 'Advisors', exact: true }).click()
    await page.getByText('Loading…').waitFor()
    app = await createTestApp({ database, config: { ...config, 'server.port': new URL(app.url).port } })
    await page.getByText('The server is unavailable.').waitFor({ state: 'hidden' })
    await heading('Advisors').waitFor()
    const unstyled = () =>
      [...document.querySelectorAll('link')].filter(
        ({ rel, sheet }) => rel === 'stylesheet' && sheet === null,
      )
    expect(await page.evaluate(unstyled)).toEqual([])
    await page.getByRole('link', { name: 'Storage' }).click()
    await page.getByRole('link', { name: 'photos' }).waitFor()
  })

  test('opens screens from the palette by keyboard', async () => {
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Screen, table, user or action' })
    await field.waitFor()
    await page.keyboard.type('track')
    await page.getByRole('option', { name: /track.*Table/ }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('palette')

    // The selected command stays selected when more results appear above it.
    await database.sql(
      `create table lane (id int primary key);
      insert into basalt.users (email) values ('lane-1@example.com'), ('lane-2@example.com')`,
    )
    const isChosen = Promise.withResolvers<void>()
    await page.route('**/api/admin/tables?*', async (route) => {
      await isChosen.promise
      await route.continue()
    })
    await field.fill('lane')
    await page
      .getByRole('option', { name: /^lane-/ })
      .nth(1)
      .waitFor()
    await page.keyboard.press('ArrowDown')
    const chosen = page.getByRole('listbox', { name: 'Results' }).getByRole('option', { selected: true })
    const email = await chosen.textContent()
    expect(email).toMatch(/^lane-/)
    isChosen.resolve()
    await page.getByRole('option', { name: /lane.*Table/ }).waitFor()
    expect(await chosen.textContent()).toBe(email)
    await page.unroute('**/api/admin/tables?*')

    await field.fill('configur')
    await page.keyboard.press('Enter')
    await heading('Settings').waitFor()
    // The keys follow each other, however long the page takes for the first.
    await Promise.all([page.keyboard.press('g'), page.keyboard.press('f')])
    await heading('Storage').waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await dashboard.open('/storage/photos')
    await page.getByText('No objects here.').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('g f')
    expect(await page.getByRole('searchbox').inputValue()).toBe('g f')
  })

  test('hides the navigation on a phone, and keeps the chosen theme', async () => {
    await page.setViewportSize({ width: 390, height: 800 })
    const storage = page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Storage' })
    await dashboard.open('/')
    await heading('Home').waitFor()
    expect(await storage.isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('button', { name: 'Files' }).click()
    await storage.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Files' }).click()
    await page.getByRole('button', { name: 'Activity' }).click()
    await page.getByRole('button', { name: 'Administrator' }).click()
    await page.getByText('Dark', { exact: true }).click()
    await page.keyboard.press('Escape')
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
    await storage.click()
    await heading('Storage').waitFor()
    await page.getByRole('navigation').waitFor({ state: 'hidden' })
    // Another browser of the administrator has the same preferences.
    await expect
      .poll(() => database.sql(`select value from basalt.settings where key like 'dashboard_preferences %'`))
      .toEqual([{ value: expect.objectContaining({ theme: 'dark', foldedGroups: ['Activity'] }) }])
    await page.evaluate(() => {
      // biome-ignore lint/suspicious/noDocumentCookie: as in theme.ts.
      document.cookie = 'basalt-theme=; Path=/admin; Max-Age=0'
    })
    await page.reload()
    await heading('Storage').waitFor()
    await page.getByRole('button', { name: 'Menu' }).click()
    expect(await page.getByRole('button', { name: 'Activity' }).getAttribute('aria-expanded')).toBe('false')
    await page.getByRole('button', { name: 'Menu' }).click()
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
    const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth
    expect(await page.evaluate(overflow)).toBe(0)
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0)
  })
})
