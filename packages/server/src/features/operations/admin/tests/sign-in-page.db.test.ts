import { afterAll, beforeAll, expect, test } from 'vitest'
import { inlineParts, openPage, policyOf } from '../../../../../test/page.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { signInLink } from '../index.ts'

let app: TestApp
let html: string

beforeAll(async () => {
  app = await createTestApp({ config: { 'admin.password': '' } })
  html = (await app.request('GET', '/admin/sign-in')).text
})
afterAll(() => app[Symbol.asyncDispose]())

test('the page is complete in itself: its policy allows its own style and script and nothing else', async () => {
  const response = await app.request('GET', '/admin/sign-in')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const [script, ...moreScripts] = inlineParts(html, 'script')
  const [style, ...moreStyles] = inlineParts(html, 'style')
  expect([moreScripts, moreStyles]).toEqual([[], []])
  expect(policyOf(response)).toEqual({
    'default-src': "'none'",
    'script-src': script?.source,
    'style-src': style?.source,
    'img-src': "'self'",
    'connect-src': "'self'",
    'form-action': "'self'",
    'base-uri': "'none'",
    'frame-ancestors': "'none'",
  })
  // Whatever the policy would block.
  expect(html).not.toMatch(/ (style|on\w+)=|javascript:|(src|href)="(https?:)?\/\//)
  expect(html).toContain('<meta name="robots" content="noindex">')
})

test('a link signs in once, and not before the click', async () => {
  const { code = '' } = app.app.firstSignIn ?? {}
  const link = new URL(signInLink(app.url, code))
  expect([link.pathname, link.search]).toEqual(['/admin/sign-in', ''])

  const page = openPage(app.url, html, link.pathname, link.hash)
  // The code leaves the address bar, and with it the history.
  expect(page.address()).toBe('/admin/sign-in')
  expect(await app.sql('select from basalt.admin_sign_in_codes')).toHaveLength(1)
  expect([page.element('done').hidden, page.element('by-password').hidden]).toEqual([true, true])
  await page.element('go').trigger()
  expect(page.element('say').textContent).toBe('You are signed in.')
  expect(page.element('done').hidden).toBe(false)
  const token = page.element('token').value
  expect((await app.request('GET', '/api/schema', { token })).status).toBe(200)
  expect(page.address()).toBe('/admin/sign-in')

  const again = openPage(app.url, html, link.pathname, link.hash)
  await again.element('go').trigger()
  expect(again.element('wrong').textContent).toBe(
    'This link was used already or has expired. Sign in with the password.',
  )
  expect([again.element('done').hidden, again.element('token').value]).toEqual([true, ''])
  expect([again.element('by-code').hidden, again.element('by-password').hidden]).toEqual([true, false])
})

test('the password signs in, is not kept in the page, and the tab stays signed in until it signs out', async () => {
  const page = openPage(app.url, html, '/admin/sign-in', '')
  expect([page.element('by-code').hidden, page.element('by-password').hidden]).toEqual([true, false])
  page.element('password').value = app.app.firstSignIn?.password ?? ''
  await page.element('by-password').trigger()
  expect(page.element('wrong').textContent).toBe('')
  expect([page.element('done').hidden, page.element('by-password').hidden]).toEqual([false, true])
  expect(page.element('password').value).toBe('')
  const token = page.element('token').value
  expect((await app.request('GET', '/api/schema', { token })).status).toBe(200)
  expect(page.element('token').type).toBe('password')

  const later = openPage(app.url, html, '/admin/sign-in', '', page.storage)
  expect([later.element('done').hidden, later.element('token').value]).toEqual([false, token])
  await later.element('sign-out').trigger()
  expect((await app.request('GET', '/api/schema', { token })).status).toBe(401)
  const out = openPage(app.url, html, '/admin/sign-in', '', page.storage)
  expect([out.element('done').hidden, out.element('by-password').hidden]).toEqual([true, false])
})

test('a wrong password is called wrong, and too many of them say when to try again', async () => {
  const page = openPage(app.url, html, '/admin/sign-in', '')
  for (let attempt = 0; attempt < 10; attempt += 1) {
    page.element('password').value = 'wrong'
    await page.element('by-password').trigger()
    expect(page.element('wrong').textContent).toBe('The password is wrong.')
    expect([page.element('done').hidden, page.element('enter').disabled]).toEqual([true, false])
  }
  await page.element('by-password').trigger()
  expect(page.element('wrong').textContent).toMatch(
    /^Too many failed attempts .* Try again in 1\d minutes\.$/,
  )
  await app.sql('delete from basalt.attempts')
})

test('a session that has ended by the clock is not shown', () => {
  const storage = new Map([
    ['basalt.admin', JSON.stringify({ token: 'old', expiresAt: new Date(Date.now() - 1000).toISOString() })],
  ])
  const page = openPage(app.url, html, '/admin/sign-in', '', storage)
  expect([page.element('done').hidden, page.element('token').value]).toEqual([true, ''])
})

test('a server that does not answer can be tried again', async () => {
  const page = openPage('http://127.0.0.1:1', html, '/admin/sign-in', '#code=x')
  await page.element('go').trigger()
  expect(page.element('wrong').textContent).toBe('The server does not answer. Try again.')
  expect(page.element('go').disabled).toBe(false)
})
