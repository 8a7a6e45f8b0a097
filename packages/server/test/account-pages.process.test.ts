import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction } from './account-nodes.ts'
import { type AccountsApp, createAccountsApp, goodPassword, newEmail } from './accounts.ts'
import { type Browser, chromium, startBrowser } from './chromium.ts'
import { createDirectory, startServer } from './server-process.ts'
import { waitFor } from './wait-for.ts'

/** Pages of mailed links, in a browser that enforces their Content-Security-Policy. */
describe.runIf(chromium !== undefined)('pages of mailed links', () => {
  let accounts: AccountsApp
  let browser: Browser
  beforeAll(async () => {
    accounts = await createAccountsApp()
    browser = await startBrowser(chromium ?? '')
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await accounts?.[Symbol.asyncDispose]()
  })

  /** Returns the link of the next mail to the address. */
  async function linkTo(email: string): Promise<string> {
    const { text = '' } = await accounts.inbox.take(email)
    const link = /https?:\/\/\S+token=[\w-]+/.exec(text)?.[0]
    if (link === undefined) throw new Error(`no link in ${text}`)
    return link
  }

  const say = () => browser.evaluate(`document.getElementById('say').textContent`)
  const submit = () => browser.evaluate(`document.getElementById('form').requestSubmit()`)
  const address = () => browser.evaluate('location.href')

  test('verify an address after one click, not on load', async () => {
    const email = newEmail()
    const { token } = await accounts.register(email)
    await browser.open(await linkTo(email))
    expect(await address()).toBe(`${accounts.app.url}/auth/verify`)
    const isVerified = async () =>
      (await accounts.app.request('GET', '/api/auth/me', { token })).json.emailVerified
    expect(await isVerified()).toBe(false)
    await submit()
    await expect.poll(say).toBe('Your email is verified.')
    expect(await isVerified()).toBe(true)
    expect(await address()).toBe(`${accounts.app.url}/auth/verify`)
  })

  test('ignore a second click', async () => {
    const email = newEmail()
    await accounts.register(email)
    await browser.open(await linkTo(email))
    await using transaction = await openTransaction(accounts.app.database)
    await transaction.sql('select from basalt.users where email = $1 for update', [email])
    await browser.evaluate(`setInterval(() => document.getElementById('form').requestSubmit(), 10)`)
    await transaction.waitForBlocked()
    await transaction.commit()
    await expect.poll(say).toBe('Your email is verified.')
  })

  test('work without scripts', async () => {
    const email = newEmail()
    const { token } = await accounts.register(email)
    await browser.call('Emulation.setScriptExecutionDisabled', { value: true })
    try {
      await browser.open(await linkTo(email))
      await submit()
      await expect.poll(say).toBe('Your email is verified.')
    } finally {
      await browser.call('Emulation.setScriptExecutionDisabled', { value: false })
    }
    expect((await accounts.app.request('GET', '/api/auth/me', { token })).json.emailVerified).toBe(true)
  })

  test('set a password and report why one is rejected', async () => {
    const email = newEmail()
    await accounts.register(email)
    await accounts.inbox.take(email)
    await accounts.post('password-reset', { email })
    await browser.open(await linkTo(email))
    await browser.evaluate(`document.getElementById('password').value = 'short'`)
    await submit()
    const problem = () => browser.evaluate(`document.getElementById('problem')?.textContent`)
    await expect.poll(problem).toBe('Password must be at least 8 characters.')
    await browser.evaluate(`document.getElementById('password').value = 'marmalade-lantern-7'`)
    await submit()
    await expect.poll(say).toContain('Your password is set.')
    expect((await accounts.post('login', { email, password: goodPassword })).status).toBe(401)
    expect((await accounts.post('login', { email, password: 'marmalade-lantern-7' })).status).toBe(200)
  })

  test('sign in once in development, with the tokens folded away', async () => {
    await using directory = createDirectory(undefined, '.')
    const config = { 'server.data_dir': directory.path, 'auth.magic_link_enabled': 'true' }
    await using server = await startServer({ config })
    const email = newEmail()
    const requested = await fetch(`${server.url}/api/auth/magic-link`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email }),
    })
    expect(requested.status).toBe(200)
    const logged = () => /https?:\/\/[^\s"\\]+magic-link\?token=[\w-]+/.exec(server.output())?.[0]
    const link = await waitFor('the link in the log', logged)
    await browser.open(link)
    await submit()
    await expect.poll(say).toBe(`You are signed in as ${email}.`)
    expect(await browser.evaluate(`document.querySelector('details').open`)).toBe(false)
    expect(await browser.evaluate('document.body.innerText')).not.toMatch(/ey[\w-]+\./)
    const token = String(await browser.evaluate(`document.getElementById('token').value`))
    const me = await fetch(`${server.url}/api/auth/me`, { headers: { authorization: `Bearer ${token}` } })
    expect(await me.json()).toMatchObject({ email })
    await browser.open(link)
    await submit()
    await expect.poll(say).toContain('This link does not work any more')
  })

  test('report an incomplete link', async () => {
    await browser.open(`${accounts.app.url}/auth/verify`)
    expect(await say()).toContain('This link is not complete.')
    expect(await browser.evaluate(`document.getElementById('form')`)).toBe(null)
  })
})
