import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Browser, chromium, startBrowser } from './chromium.ts'
import { alice, notes } from './fixtures.ts'
import { createTestApp, type TestApp, userToken } from './test-app.ts'
import { testAdminPassword } from './test-config.ts'

/** Server's own pages, in a browser that enforces their Content-Security-Policy. */
describe.runIf(chromium !== undefined)("server's pages", () => {
  let app: TestApp
  let browser: Browser
  beforeAll(async () => {
    app = await createTestApp({
      setup: `${notes}; create table "odd name" (id int primary key); insert into "odd name" values (1), (2)`,
      // A second name of the server. Pages send requests to the origin that they came from.
      config: { 'server.public_base_url': 'https://api.example.com' },
    })
    browser = await startBrowser(chromium ?? '')
    // Records policy violations and failed loads of every page opened below.
    await browser.call('Page.addScriptToEvaluateOnNewDocument', {
      source: `window.refused = []
        addEventListener('securitypolicyviolation', (event) => refused.push(event.violatedDirective + ' ' + event.blockedURI))
        addEventListener('error', (event) => refused.push(String(event.message ?? event.target.src ?? event.target.href)), true)`,
    })
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await app?.[Symbol.asyncDispose]()
  })

  const text = (selector: string) =>
    browser.evaluate<string>(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`)
  const refused = () => browser.evaluate('refused')
  /** Sets a value as typing does, with the event that React handles. */
  const type = (selector: string, value: string) =>
    browser.evaluate(`(() => {
      const input = document.querySelector(${JSON.stringify(selector)})
      const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(input), 'value')
      set.call(input, ${JSON.stringify(value)})
      input.dispatchEvent(new Event('input', { bubbles: true }))
    })()`)
  const click = (selector: string) =>
    browser.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`)
  const exists = (selector: string) =>
    browser.evaluate<boolean>(`document.querySelector(${JSON.stringify(selector)}) !== null`)

  /** Finds an operation, `note.list`, on the API page, whose ids have a backslash before each dot. */
  const blockOf = (operation: string) => `[id$="-${operation.replace('.', '\\\\.')}"]`

  /** Opens an operation on the API page, sends its request and returns the status. */
  async function tryOut(operation: string): Promise<string> {
    const block = blockOf(operation)
    await expect.poll(() => exists(block)).toBe(true)
    await click(`${block} .opblock-summary-control`)
    // Before the page has resolved the operation it shows no responses, and a click would disable the button for good.
    await expect.poll(() => exists(`${block} .responses-inner .response`)).toBe(true)
    await expect.poll(() => exists(`${block} .execute`)).toBe(true)
    const status = `${block} .live-responses-table tbody .response-col_status`
    // Until the page has resolved the operation the button has no effect, so it is clicked again.
    const send = async () => {
      await click(`${block} .execute`)
      return await text(status)
    }
    await expect.poll(send, { interval: 500 }).not.toBe('')
    return await text(status)
  }

  async function openTag(name: string): Promise<void> {
    const tag = `[data-tag=${JSON.stringify(name)}]`
    await expect.poll(() => exists(tag)).toBe(true)
    if (
      (await browser.evaluate(`document.querySelector(${JSON.stringify(tag)}).dataset.isOpen`)) !== 'true'
    ) {
      await click(tag)
    }
  }

  test('API page › lists the tables of a token and sends a request that succeeds', async () => {
    await browser.open(`${app.url}/api/docs`)
    await expect.poll(() => text('#say')).toContain('Authorize with a token')
    expect(await exists('[data-tag="table note"]')).toBe(false)
    await click('.auth-wrapper .authorize')
    await expect.poll(() => exists('.auth-container input')).toBe(true)
    await type('.auth-container input', userToken({ sub: alice }))
    await click('.auth-container .authorize')
    await expect.poll(() => text('#say')).toBe('With 2 tables.')
    await click('.btn-done')
    await openTag('table note')
    expect(await tryOut('note.list')).toContain('200')
    // Parameters that a path declares for all its operations, and components of the document.
    const ofOne = blockOf('note.get')
    await click(`${ofOne} .opblock-summary-control`)
    await expect.poll(() => text(`${ofOne} .responses-inner`)).toContain('An error.')
    expect(
      await browser.evaluate(
        `[...document.querySelectorAll(${JSON.stringify(`${ofOne} .parameters [data-param-name]`)})].map(({ dataset }) => dataset.paramName + ' ' + dataset.paramIn)`,
      ),
    ).toEqual(['fields query', 'id path'])
    await openTag('table odd name')
    expect(await tryOut('oddName.list')).toContain('200')
    expect(await text(`${blockOf('oddName.list')} .live-responses-table`)).toContain('"totalItems": 2')
    expect(await text(`${blockOf('oddName.list')} .request-url`)).toContain(
      `${app.url}/api/collections/odd%20name?`,
    )
    expect(await refused()).toEqual([])
    expect(await browser.evaluate(`document.body.innerText`)).not.toMatch(/swagger|smartbear/i)
  })

  /** Sends a request of the dashboard from one of the server's pages. */
  const session = (method: string, body?: object) =>
    browser.evaluate<number>(`fetch('/api/admin/session', {
      method: '${method}',
      headers: { 'x-basalt-dashboard': '1', ...(${body !== undefined} ? { 'content-type': 'application/json' } : {}) },
      body: ${body === undefined ? 'undefined' : JSON.stringify(JSON.stringify(body))},
    }).then(({ status }) => status)`)

  test("API page › is authorized by the administrator's session in the dashboard", async () => {
    await browser.open(`${app.url}/`)
    expect(await session('POST', { password: testAdminPassword })).toBe(200)
    expect(await browser.evaluate('document.cookie')).toBe('')

    await browser.open(`${app.url}/`)
    await expect.poll(() => text('#state')).toBe('server and database work')
    expect(await refused()).toEqual([])

    await browser.open(`${app.url}/api/docs`)
    await expect.poll(() => text('#say')).toBe('With 2 tables.')
    await openTag('admin')
    expect(await tryOut('overview.tables')).toContain('200')
    expect(await refused()).toEqual([])

    expect(await session('DELETE')).toBe(204)
    await browser.open(`${app.url}/api/docs`)
    await expect.poll(() => text('#say')).toContain('Authorize with a token')
    // An ended session is none, although the browser still sends it.
    expect(await session('POST', { password: testAdminPassword })).toBe(200)
    await app.sql('delete from basalt.admin_sessions')
    await expect.poll(() => session('GET')).toBe(401)
    await browser.open(`${app.url}/api/docs`)
    await expect.poll(() => text('#say')).toContain('Authorize with a token')
  })
})
