import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request as forward, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApplication } from '../../../../../test/api-keys.ts'
import { type Browser, startBrowser, wholeChromium } from '../../../../../test/chromium.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { readBlocks } from '../../../../../test/guide-blocks.ts'
import { createSubscription, type PushStandIn, startHttpPush } from '../../../../../test/push-stand-ins.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

interface Registrations {
  readonly registrations: readonly { readonly registrationId: string; readonly scopeURL: string }[]
}

const guide = new URL('../../../../../../../docs/guides/push.md', import.meta.url)

/**
 * Page and worker of the guide in a browser. Its real push service is unreachable, so the test replaces two
 * parts. It responds to the subscription with a stand-in for the service, and hands the decrypted messages to
 * the worker over the DevTools protocol.
 */
describe.runIf(wholeChromium !== undefined)('push › the page of the guide', () => {
  let service: PushStandIn
  let app: TestApp
  let site: Server
  let origin: string
  let browser: Browser
  let shop: string
  const subscription = createSubscription()

  beforeAll(async () => {
    service = await startHttpPush(() => [201])
    app = await createTestApp({ config: { 'push.enabled': 'true' } })
    await app.sql('insert into basalt.users (id) values ($1)', [alice])
    shop = await createApplication(app, { ownerUserId: alice })
    const [page = '', worker = ''] = readBlocks(readFileSync(guide, 'utf8'))
      .filter(({ language }) => language === 'js')
      .map(({ text }) => text)
    site = serve(app.url, {
      '/': ['text/html', '<!doctype html><button id="notify">Notify me</button>'],
      '/page.js': ['text/javascript', describePage(page)],
      '/push-worker.js': ['text/javascript', worker + reportNotifications],
    })
    await once(site, 'listening')
    // The address of a server that listens on a port has this form.
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    browser = await startBrowser(wholeChromium ?? '')
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    site?.close()
    site?.closeAllConnections()
    await app?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
  })

  /** Returns the guide's code in a page whose user is signed in. */
  function describePage(code: string): string {
    const token = userToken({ sub: alice })
    return `const headers = { authorization: 'Bearer ${token}' }\nconst app_id = '${shop}'\n${code}`
  }

  /** Returns a script that subscribes as Chromium does, once a worker is active. */
  const subscribe = () => `
    PushManager.prototype.subscribe = async function (options) {
      const { active } = await navigator.serviceWorker.getRegistration()
      if (active === null) throw new DOMException('Subscription failed - no active Service Worker', 'AbortError')
      window.subscribedWith = options
      const keys = ${JSON.stringify(subscription.keys)}
      return { toJSON: () => ({ endpoint: '${service.url}/push/1', expirationTime: null, keys }) }
    }`

  test('subscribes, is registered, and its worker shows the messages', async () => {
    await browser.call('Browser.grantPermissions', { origin, permissions: ['notifications'] })
    await browser.open(origin)
    await browser.evaluate(`(async () => {
      window.shown = []
      navigator.serviceWorker.onmessage = ({ data }) => window.shown.push(data)
      ${subscribe()}
      await import('/page.js')
    })()`)
    await browser.evaluate(`document.querySelector('#notify').click()`)
    const items = await waitFor('the device', async () => {
      const { items } = await get(`/api/push/devices?app_id=${shop}`)
      return items.length > 0 ? items : undefined
    })
    const key = (await get('/api/push/web-push-key')).public_key
    expect(await browser.evaluate('window.subscribedWith')).toEqual({
      userVisibleOnly: true,
      applicationServerKey: key,
    })
    expect(items).toMatchObject([{ provider: 'webpush', platform: 'web', token: `${service.url}/push/1` }])

    const body = {
      app_id: shop,
      user_id: alice,
      title: 'On its way',
      body: 'Your order',
      data: { order: '7' },
    }
    await app.request('POST', '/api/admin/push/send', { token: await app.adminToken(), body })
    const message = await waitFor('the message', () => service.received[0])
    const data = JSON.stringify(subscription.read(message.body))
    // Chromium drops messages that arrive earlier.
    await waitFor('the worker', () =>
      browser.evaluate(`navigator.serviceWorker.ready.then(({ active }) => active.state === 'activated')`),
    )
    const listed = browser.once<Registrations>('ServiceWorker.workerRegistrationUpdated')
    await browser.call('ServiceWorker.enable')
    const { registrations } = await listed
    const registrationId = registrations.find((each) => each.scopeURL === `${origin}/`)?.registrationId
    await browser.call('ServiceWorker.deliverPushMessage', { origin, registrationId, data })
    const shown = await waitFor('the notification', async () => {
      const notifications = await browser.evaluate<object[]>('window.shown')
      return notifications.length > 0 ? notifications : undefined
    })
    expect(shown).toEqual([{ title: 'On its way', body: 'Your order', data: { order: '7' } }])
  })

  const get = async (path: string) =>
    (await app.request('GET', path, { token: userToken({ sub: alice }) })).json
})

/**
 * Script that makes the worker report its notifications. Listing notifications would remove those that are
 * about to be shown.
 */
const reportNotifications = `
  const { showNotification } = ServiceWorkerRegistration.prototype
  ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
    await showNotification.call(this, title, options)
    const pages = await clients.matchAll({ includeUncontrolled: true })
    for (const page of pages) page.postMessage({ title, ...options })
  }`

/** Serves the pages of an application, and proxies the API. */
function serve(api: string, files: Readonly<Record<string, readonly [type: string, text: string]>>): Server {
  const { hostname, port } = new URL(api)
  return createServer((request, response) => {
    const { url: path = '', method, headers } = request
    const [type, text] = files[path] ?? []
    if (type !== undefined) {
      response.writeHead(200, { 'content-type': type }).end(text)
      return
    }
    const forwarded = forward({ hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(forwarded)
  }).listen(0, '127.0.0.1')
}
