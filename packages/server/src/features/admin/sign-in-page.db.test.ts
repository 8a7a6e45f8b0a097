import { afterAll, beforeAll, expect, test } from 'vitest'
import { inlineParts, openPage, policyOf } from '../../../test/page.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { signInLink } from './index.ts'

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
    'connect-src': "'self'",
    'form-action': "'self'",
    'base-uri': "'none'",
    'frame-ancestors': "'none'",
  })
  // Whatever the policy would block.
  expect(html).not.toMatch(/ (style|on\w+)=|javascript:|(src|href)="(https?:)?\/\//)
  expect(html).toContain('<meta name="robots" content="noindex">')
})

test('nothing happens before the click, then the link signs in once', async () => {
  const { code = '' } = app.app.firstSignIn ?? {}
  const link = new URL(signInLink(app.url, code))
  expect([link.pathname, link.search]).toEqual(['/admin/sign-in', ''])

  const page = openPage(app.url, html, link.pathname, link.hash)
  // The code leaves the address bar, and with it the history.
  expect(page.address()).toBe('/admin/sign-in')
  expect(await app.sql('select from basalt.admin_sign_in_codes')).toHaveLength(1)
  expect(page.element('done').hidden).toBe(true)
  await page.element('go').click()
  expect(page.element('say').textContent).toBe('You are signed in.')
  expect(page.element('done').hidden).toBe(false)
  const token = page.element('token').value
  expect((await app.request('GET', '/api/schema', { token })).status).toBe(200)

  const again = openPage(app.url, html, link.pathname, link.hash)
  await again.element('go').click()
  expect(again.element('say').textContent).toBe('invalid or expired sign-in code')
  expect([again.element('done').hidden, again.element('token').value]).toEqual([true, ''])
})

test('a link without a code says so', () => {
  const page = openPage(app.url, html, '/admin/sign-in', '')
  expect(page.element('go').disabled).toBe(true)
  expect(page.element('say').textContent).toContain('carries no code')
})

test('a server that is away can be tried again', async () => {
  const page = openPage('http://127.0.0.1:1', html, '/admin/sign-in', '#code=x')
  await page.element('go').click()
  expect(page.element('say').textContent).toBe('The server does not answer. Try again.')
  expect(page.element('go').disabled).toBe(false)
})
