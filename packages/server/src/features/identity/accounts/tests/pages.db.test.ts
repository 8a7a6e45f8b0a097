import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, createAccountsApp, goodPassword, newEmail } from '../../../../../test/accounts.ts'
import { policyOf } from '../../../../../test/page.ts'
import { envelope } from '../../../../../test/test-app.ts'

/** Pages of mailed links, used as by a browser without scripts: a link, and a form. */

// This server has a public address, so it is not in development.
const publicAddress = { 'server.public_base_url': 'https://api.example.com' }

let accounts: AccountsApp
let withSite: AccountsApp
beforeAll(async () => {
  accounts = await createAccountsApp({ config: { ...publicAddress, 'email.app_name': 'Tom & <b>Jerry</b>' } })
  withSite = await createAccountsApp({
    config: { ...publicAddress, 'auth.site_url': 'https://app.example.com/start' },
  })
})
afterAll(async () => {
  await withSite[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

/** Returns the token in the next mail to the address. */
async function mailedToken({ inbox }: AccountsApp, email: string): Promise<string> {
  const { text = '' } = await inbox.take(email)
  return /token=([\w-]+)/.exec(text)?.[1] ?? ''
}

function submit({ app }: AccountsApp, path: string, fields: Record<string, string>) {
  return app.request('POST', path, {
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
}

/** Returns the text of the page. */
function textOf(html: string): string {
  const [, main = ''] = /<main>(.*)<\/main>/s.exec(html) ?? []
  return main
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

describe('GET /auth/verify', () => {
  test('requires a click, keeps the token in a hidden field and shows it nowhere', async () => {
    const response = await accounts.app.request('GET', '/auth/verify?token=abc"><script>alert(1)</script>')
    expect(response.status).toBe(200)
    expect(response.text).toContain('value="abc&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;"')
    expect(response.text).toContain('<form id="form" method="post" action="/auth/verify">')
    expect(textOf(response.text)).not.toContain('abc')
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(policyOf(response)).toMatchObject({ 'default-src': "'none'", 'form-action': "'self'" })
  })

  test("shows the application's name and leads to no page of the server", async () => {
    const { text } = await accounts.app.request('GET', '/auth/verify?token=x')
    expect(text).toContain('Tom &#38; &#60;b&#62;Jerry')
    expect(text).not.toMatch(/Basalt|href="\/(api|admin)/)
  })

  test.each(['/auth/verify', '/auth/verify?token=', '/auth/verify?token=a&token=b'])(
    '%s reports an incomplete link',
    async (path) => {
      const { text } = await accounts.app.request('GET', path)
      expect(textOf(text)).toContain('This link is not complete.')
      expect(text).not.toContain('<form')
    },
  )
})

describe('POST /auth/verify', () => {
  test('verifies the address once and leads back to the application', async () => {
    const email = newEmail()
    const { token: session } = await withSite.register(email)
    const token = await mailedToken(withSite, email)
    const response = await submit(withSite, '/auth/verify', { token })
    expect([response.status, textOf(response.text)]).toEqual([200, expect.stringContaining('is verified')])
    expect(response.text).toContain('href="https://app.example.com/start"')
    const me = await withSite.app.request('GET', '/api/auth/me', { token: session })
    expect(me.json.emailVerified).toBe(true)
    const again = await submit(withSite, '/auth/verify', { token })
    expect([again.status, textOf(again.text)]).toEqual([
      400,
      expect.stringContaining('does not work any more'),
    ])
    expect(again.text).not.toMatch(new RegExp(`<form|${token}`))
  })

  test.each([{ token: 'nonsense' }, { token: '\0' }, { token: 'x'.repeat(5000) }])(
    'explains in plain words that %o does not work',
    async (fields) => {
      const response = await submit(accounts, '/auth/verify', fields)
      expect([response.status, textOf(response.text)]).toEqual([
        400,
        expect.stringContaining('This link does not work any more'),
      ])
    },
  )

  test('reports an incomplete link without a token', async () => {
    const response = await submit(accounts, '/auth/verify', {})
    expect([response.status, textOf(response.text)]).toEqual([400, expect.stringContaining('not complete')])
  })

  test.each(['application/json', '/', 'form'])('rejects a body that is not a form: %s', async (type) => {
    const response = await accounts.app.request('POST', '/auth/verify', {
      body: { token: 'x' },
      headers: { 'content-type': type },
    })
    expect(envelope(response)).toEqual({
      code: 415,
      message: 'the content type must be application/x-www-form-urlencoded',
      error: 'unsupported_media_type',
    })
  })
})

describe('POST /auth/reset-password', () => {
  test('shows the form again for an unacceptable password, and sets a good one once', async () => {
    const email = newEmail()
    await accounts.register(email)
    await accounts.inbox.take(email)
    await accounts.post('password-reset', { email })
    const token = await mailedToken(accounts, email)
    const short = await submit(accounts, '/auth/reset-password', { token, password: 'short' })
    expect([short.status, textOf(short.text)]).toEqual([
      400,
      expect.stringContaining('Password must be at least 8 characters.'),
    ])
    expect(short.text).toContain(`name="token" value="${token}"`)
    const password = 'marmalade-lantern-7'
    const set = await submit(accounts, '/auth/reset-password', { token, password })
    expect([set.status, textOf(set.text)]).toEqual([200, expect.stringContaining('Your password is set.')])
    expect(set.text).not.toContain(password)
    expect((await accounts.post('login', { email, password: goodPassword })).status).toBe(401)
    expect((await accounts.post('login', { email, password })).status).toBe(200)
    const again = await submit(accounts, '/auth/reset-password', { token, password })
    expect([again.status, textOf(again.text)]).toEqual([
      400,
      expect.stringContaining('does not work any more'),
    ])
  })

  test('sets one of many passwords that are sent at once', async () => {
    const email = newEmail()
    await accounts.register(email)
    await accounts.inbox.take(email)
    await accounts.post('password-reset', { email })
    const token = await mailedToken(accounts, email)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        submit(accounts, '/auth/reset-password', { token, password: `marmalade-lantern-${index}` }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(400)])
  })
})

describe('/auth/magic-link', () => {
  test('leads on to the application with the token unused', async () => {
    const email = newEmail()
    await withSite.post('magic-link', { email })
    const token = await mailedToken(withSite, email)
    const page = await withSite.app.request('GET', `/auth/magic-link?token=${token}`)
    expect(page.text).toContain(`href="https://app.example.com/start/auth/magic-link?token=${token}"`)
    expect(textOf(page.text)).not.toContain(token)
    expect((await submit(withSite, '/auth/magic-link', { token })).text).not.toContain('signed in as')
    expect((await withSite.post('magic-link/confirm', { token })).status).toBe(200)
  })

  test('consumes nothing and shows no token without an application', async () => {
    const email = newEmail()
    await accounts.post('magic-link', { email })
    const token = await mailedToken(accounts, email)
    const answers = [
      await accounts.app.request('GET', `/auth/magic-link?token=${token}`),
      await submit(accounts, '/auth/magic-link', { token }),
    ]
    for (const { text } of answers) {
      expect(textOf(text)).toContain('does not know. It was not used up.')
      expect(text).not.toMatch(new RegExp(`<form|<textarea|${token}`))
    }
    expect((await accounts.post('magic-link/confirm', { token })).status).toBe(200)
  })
})
