import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

journeys('dashboard › apps, API keys and OAuth clients', () => {
  let dashboard: Dashboard
  beforeAll(async () => {
    dashboard = await openDashboard({
      config: { 'auth.oauth_provider.enabled': 'true' },
      setup: `
        create table note (id int primary key);
        grant select, insert on note to basalt_authenticated;`,
    })
    await dashboard.app.sql(`insert into basalt.users (email) values ('ada@example.com')`)
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  test('creates an app with a limit, and a key that is shown once, rotated and revoked', async () => {
    const { app, page } = dashboard
    await dashboard.open('/apps')
    // The users are only found after the last key press.
    const typed = Promise.withResolvers<void>()
    await page.route('**/api/admin/users?*', async (route) => {
      await typed.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Create app' }).click()
    await page.getByLabel('Name').fill('<b>Shop</b>')
    await page.getByLabel('Owner').fill('ada@example.com')
    typed.resolve()
    await page.getByText(/^A user: /).waitFor()
    await page.unroute('**/api/admin/users?*')
    await page.getByLabel('Requests per window').fill('100')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: '<b>Shop</b>' }).waitFor()
    await page.getByText('0 of 100').waitFor()

    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByLabel('Name').fill('importer')
    await page.getByLabel('Acts as').fill('ada@example.com')
    await page.getByText(/^Policies see this user: /).waitFor()
    await page.getByLabel('Tables').fill('note')
    await page.getByLabel('Send mail (email:send)').check()
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const shown = page.getByRole('figure', { name: 'API key' }).locator('pre')
    const token = (await shown.textContent()) ?? ''
    const read = (bearer: string) => app.request('GET', '/api/collections/note', { token: bearer })
    expect((await read(token)).status).toBe(200)
    const write = await app.request('POST', '/api/collections/note', { token, body: { id: 1 } })
    expect(write.json.message).toBe('api key scope does not permit write operations')
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await dashboard.expectAccessible()
    await dashboard.screenshot('app')

    await dashboard.open('/api-keys')
    await page.getByRole('button', { name: 'Actions of importer' }).click()
    await page.getByText('readonly, email:send').waitFor()
    await page.getByRole('menuitem', { name: 'Actions…' }).click()
    await page.getByLabel('Send mail (email:send)').uncheck()
    await page.getByLabel('Send text messages (sms:send)').check()
    await page.getByLabel('Call functions').fill('checkout, report')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('readonly, sms:send, function:checkout, function:report').waitFor()
    await page.getByRole('button', { name: 'Actions of importer' }).click()
    await page.getByRole('menuitem', { name: 'Rotate…' }).click()
    await page.getByLabel('The previous secret stays valid for').selectOption('0')
    await page.getByRole('button', { name: 'Rotate key' }).click()
    const next = (await shown.textContent()) ?? ''
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await expect.poll(async () => (await read(token)).status).toBe(401)
    expect((await read(next)).status).toBe(200)
    await page.getByRole('button', { name: 'Actions of importer' }).click()
    await page.getByRole('menuitem', { name: 'Revoke…' }).click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('revoked', { exact: true }).waitFor()
    await expect.poll(async () => (await read(next)).status).toBe(401)
    await dashboard.expectAccessible()
    await dashboard.screenshot('api-keys')
    expect(await app.sql('select name, revoked_at is not null as r from basalt.api_keys')).toEqual([
      { name: 'importer', r: true },
    ])
  })

  test('registers, edits and revokes an OAuth client, and replaces its secret', async () => {
    const { app, page } = dashboard
    await dashboard.open('/oauth-clients')
    await page.getByRole('button', { name: 'Register client' }).click()
    await page.getByLabel('Name').fill('Reader')
    await page.getByLabel('Redirect URIs').fill('javascript:alert(1)')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').filter({ hasText: 'Failed: ' }).waitFor()
    await page.getByLabel('Redirect URIs').fill('https://reader.example/callback')
    await page.getByRole('button', { name: 'Save' }).click()
    const secret = page.getByRole('figure', { name: 'Client secret' }).locator('pre')
    expect(await secret.textContent()).toMatch(/^basalt_cs_/)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('link', { name: 'Reader' }).click()
    await app.sql(`insert into basalt.oauth_consents (user_id, client_id, scope)
      select u.id, c.id, 'readonly' from basalt.users u, basalt.oauth_clients c`)
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByRole('button', { name: 'Create new secret' }).click()
    expect(await secret.textContent()).toMatch(/^basalt_cs_/)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('button', { name: 'Revoke grant of ada@example.com' }).click()
    await expect.poll(() => app.sql('select 1 from basalt.oauth_consents')).toEqual([])
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('readwrite').check()
    await page.getByLabel('Send mail (email:send)').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await expect
      .poll(() => app.sql('select scopes from basalt.oauth_clients'))
      .toEqual([{ scopes: ['readonly', 'readwrite', 'email:send'] }])
    await dashboard.expectAccessible()
    await dashboard.screenshot('oauth-client')
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke client' }).click()
    await page.getByText('revoked', { exact: true }).waitFor()
    expect(await app.sql('select revoked_at is not null as r from basalt.oauth_clients')).toEqual([
      { r: true },
    ])
  })
})
