import type { Page } from 'playwright-core'
import decodeQR from 'qr/decode.js'
import sharp from 'sharp'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { enrollApp } from '../../../server/test/administrator-factors.ts'
import { inviteAdministrator } from '../../../server/test/administrators.ts'
import { totpCode } from '../../../server/test/second-factors.ts'
import { type OpenIdPeer, startOpenIdPeer } from '../../../server/test/social.ts'
import { createTestApp, type TestApp } from '../../../server/test/test-app.ts'
import { type Dashboard, journeys, openDashboard } from '../tests/journey.ts'

journeys('dashboard › sign-in with the provider of the company', () => {
  let peer: OpenIdPeer
  let config: Record<string, string>
  let app: TestApp
  let dashboard: Dashboard
  let page: Page

  beforeAll(async () => {
    peer = await startOpenIdPeer()
    config = {
      'admin.oidc.issuer': peer.issuer,
      'admin.oidc.client_id': 'basalt',
      'admin.oidc.name': 'Example Ltd',
      'admin.oidc.roles': JSON.stringify({ chiefs: 'owner', makers: 'developer' }),
    }
    app = await createTestApp({ config })
    dashboard = await openDashboard({ app, isSignedIn: false })
    page = dashboard.page
  })
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]()
    await app?.[Symbol.asyncDispose]()
    await peer?.[Symbol.asyncDispose]()
  })
  afterEach(() => dashboard.expectNoProblems())

  /** Makes the provider authenticate a person some seconds ago. */
  function arrive(name: string, group: string, age = 0): void {
    const auth_time = Math.floor(Date.now() / 1000) - age
    const email = `${name}@example.com`
    peer.person = { sub: `sub of ${name}`, email, email_verified: true, groups: [group], auth_time }
  }
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const signOut = async (name: string) => {
    await button(`${name}@example.com`).click()
    await button('Sign out').click()
    await button('Sign in with Example Ltd').waitFor()
  }

  test('signs in at the requested path', async () => {
    arrive('ada', 'chiefs', 3600)
    await dashboard.open('/administrators')
    await button('Sign in with Example Ltd').waitFor()
    await page.getByLabel('Administrator password').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('company-sign-in')
    await button('Sign in with Example Ltd').click()
    await page.getByRole('heading', { level: 1, name: 'Administrators' }).waitFor()
    expect(page.url()).toBe(`${app.url}/admin/administrators`)
    await button('ada@example.com').waitFor()
  })

  test('confirms a sensitive operation by a new sign-in in another window', async () => {
    arrive('ada', 'chiefs')
    await button('Invite').click()
    await page.getByLabel('Email address').fill('new@example.com')
    await button('Create invitation').click()
    await page.getByText('This operation requires a new sign-in with Example Ltd.').waitFor()
    await dashboard.expectAccessible()
    const opened = dashboard.context.waitForEvent('page')
    await button('Sign in with Example Ltd').click()
    const window = await opened
    if (!window.isClosed()) await window.waitForEvent('close')
    await button('Continue').click()
    await page.getByText('Link to set a password').waitFor()
    expect(await app.sql("select from basalt.administrators where email = 'new@example.com'")).toHaveLength(1)
    await page.keyboard.press('Escape')
  })

  test('unlinks the sign-in of an administrator, who signs in by the address again', async () => {
    arrive('zoe', 'makers')
    await using other = await openDashboard({ app, isSignedIn: false })
    const signIn = async () => {
      await other.open('/')
      await other.page.getByRole('button', { name: 'Sign in with Example Ltd' }).click()
      await other.page.getByRole('button', { name: 'zoe@example.com' }).waitFor()
    }
    await signIn()
    await dashboard.open('/administrators')
    await button('More for zoe@example.com').click()
    await page.getByRole('menuitem', { name: 'Unlink the company sign-in' }).click()
    await button('Unlink').click()
    await page.getByText('The company sign-in of zoe@example.com is unlinked.').waitFor()
    const linked = `select from basalt.administrator_identities i
      join basalt.administrators a on a.id = i.administrator_id where a.email = 'zoe@example.com'`
    expect(await app.sql(linked)).toEqual([])
    await signIn()
    expect(await app.sql(linked)).toHaveLength(1)
  })

  test('enrols the authenticator app that reads the QR code', async () => {
    arrive('finn', 'makers')
    await using other = await openDashboard({ app, isSignedIn: false })
    const click = (name: string) => other.page.getByRole('button', { name, exact: true }).click()
    await other.open('/')
    await click('Sign in with Example Ltd')
    await click('finn@example.com')
    await click('Second factor')
    await click('Add an authenticator app')
    const picture = await other.page.getByRole('img', { name: 'QR code of the secret' }).screenshot()
    const { data, info } = await sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
    const address = new URL(decodeQR({ width: info.width, height: info.height, data }))
    expect([address.protocol, address.host]).toEqual(['otpauth:', 'totp'])
    await other.page
      .getByLabel('Code', { exact: true })
      .fill(totpCode(address.searchParams.get('secret') ?? ''))
    await click('Confirm the app')
    await click('I have stored them')
    await other.page.getByText('10 unused backup codes').waitFor()
  })

  test('requires an enrolled second factor after the provider', async () => {
    const { secret } = await enrollApp(app, await inviteAdministrator(app, 'developer'))
    await dashboard.open('/')
    await signOut('ada')
    arrive('developer', 'makers')
    await button('Sign in with Example Ltd').click()
    await page.getByLabel('Code of the authenticator app, or backup code').fill(totpCode(secret))
    expect(page.url()).not.toContain('mfa_token')
    await button('Sign in').click()
    await button('developer@example.com').waitFor()
  })

  test('explains the refusal of a person without a role', async () => {
    await signOut('developer')
    arrive('eve', 'visitors')
    await button('Sign in with Example Ltd').click()
    await page.getByText('your account has no role here').waitFor()
    await dashboard.expectAccessible()
    await page.getByRole('link', { name: 'Back' }).click()
    await button('Sign in with Example Ltd').waitFor()
  })

  test('offers no password while passwords are off', async () => {
    await using other = await createTestApp({
      config: { ...config, 'admin.password_sign_in': 'false' },
      database: app.database,
    })
    await using own = await openDashboard({ app: other, isSignedIn: false })
    await own.open('/')
    await own.page.getByRole('button', { name: 'Sign in with Example Ltd' }).waitFor()
    expect(await own.page.getByLabel('password').count()).toBe(0)
    await own.expectAccessible()
  })
})
