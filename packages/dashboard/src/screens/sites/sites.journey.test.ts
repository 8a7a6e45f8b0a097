import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  createSite,
  deployFiles,
  requestSites,
} from '../../../../server/src/features/files/sites/tests/site-requests.ts'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

const defaultApp = '00000000-0000-0000-0000-000000000000'
const user = '11111111-1111-4111-8111-111111111111'

journeys('dashboard › sites and push', () => {
  let dashboard: Dashboard
  beforeAll(async () => {
    dashboard = await openDashboard({ config: { 'push.enabled': 'true' } })
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  test('creates a site, renames it and sets its domain', async () => {
    const { app, page } = dashboard
    await dashboard.open('/sites/domains')
    await page.getByRole('button', { name: 'New domain' }).click()
    await page.getByLabel('Host name').fill('www.example.com')
    await page.getByRole('button', { name: 'Register domain' }).click()
    await page.getByRole('cell', { name: /^TXT _basalt\.www\.example\.com = basalt-verification=/ }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('domains')
    await page.getByRole('main').getByRole('link', { name: 'Sites' }).click()
    await page.getByRole('button', { name: 'New site' }).click()
    await page.getByLabel('Name').fill('Shop <b>')
    // The slug follows the name until another one is typed.
    expect(await page.getByLabel('Slug').inputValue()).toBe('shop-b')
    await page.getByLabel('Slug').fill('shop')
    await page.getByRole('button', { name: 'Create site' }).click()
    await page.getByRole('heading', { level: 1, name: 'Shop <b>' }).waitFor()
    await page.getByText('npx basalt sites deploy ./dist --site shop').waitFor()
    await page.getByLabel('Name').fill('The shop')
    await page.getByLabel('Domain').selectOption({ label: 'www.example.com (pending_verification)' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'The shop' }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('site')
    const rows = await app.sql('select name, slug from basalt.sites')
    expect(rows).toEqual([{ name: 'The shop', slug: 'shop' }])
  })

  test('activates an earlier deploy by a rollback, and a later one by its button', async () => {
    const { app, page } = dashboard
    const site = await createSite(app)
    const first = await deployFiles(app, site, { 'index.html': 'first' })
    const second = await deployFiles(app, site, { 'index.html': 'second' })
    const live = async () => (await requestSites(app, 'GET', `/${site.id}`)).json.liveDeployId
    await dashboard.open(`/sites/${site.id}`)
    const row = (id: string) => page.getByRole('row', { name: new RegExp(id) })
    await row(second.id).getByText('live', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('The previous deploy is live.').waitFor()
    await row(first.id).getByText('live', { exact: true }).waitFor()
    expect(await live()).toBe(first.id)
    await dashboard.expectAccessible()
    await dashboard.screenshot('site-deploys')
    await page.getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('no superseded deploy to rollback to').waitFor()
    await page.getByRole('button', { name: `Activate deploy ${second.id}` }).click()
    await row(second.id).getByText('live', { exact: true }).waitFor()
    expect(await live()).toBe(second.id)
    expect(await app.sql('select status from basalt.site_deploys where id = $1', [first.id])).toEqual([
      { status: 'superseded' },
    ])
  })

  test('sends a test message to a device, and revokes it', async () => {
    const { app, page } = dashboard
    const token = await app.adminToken()
    await app.sql(`insert into basalt.users (id, email) values ($1, 'user@example.com')`, [user])
    const registration = await app.request('POST', '/api/admin/push/devices', {
      token,
      body: {
        app_id: defaultApp,
        user_id: user,
        provider: 'fcm',
        platform: 'android',
        token: 'token-1',
        device_name: 'Phone',
      },
    })
    expect(registration).toMatchObject({ status: 201 })
    await dashboard.open('/push')
    await page.getByRole('button', { name: 'Actions of Phone' }).click()
    await page.getByRole('menuitem', { name: 'Send a test' }).click()
    await page.getByLabel('Title').fill('Hello')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Message queued').waitFor()
    expect(await app.sql('select count(*)::int from basalt.push_deliveries')).toEqual([{ count: 1 }])
    await page.getByRole('tab', { name: 'Deliveries' }).click()
    await page.getByRole('link', { name: 'Hello' }).click()
    await page.getByRole('heading', { name: 'Hello' }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('push')
    await page.getByRole('tab', { name: 'Devices' }).click()
    await page.getByRole('button', { name: 'Actions of Phone' }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke device' }).click()
    await page.getByText('Inactive').waitFor()
  })
})
