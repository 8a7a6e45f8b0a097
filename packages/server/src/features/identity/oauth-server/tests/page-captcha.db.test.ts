import { webcrypto } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCaptchaProvider } from '../../../../../test/captcha-provider.ts'
import { type Browser, chromium, startBrowser } from '../../../../../test/chromium.ts'
import { authorizationRequest, createClient, createOAuthApp, createProof } from '../../../../../test/oauth.ts'
import type { TestApp, TestResponse } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { captchaScript } from '../page/captcha-script.ts'

const methods = {
  'auth.magic_link_enabled': 'true',
  'auth.sms_enabled': 'true',
  'auth.oauth_provider.enabled': 'true',
}
const keys = { 'auth.captcha.site_key': 'site-"1"', 'auth.captcha.secret': 'top-secret-key' }

let provider: Awaited<ReturnType<typeof startCaptchaProvider>>
let proof: TestApp
let turnstile: TestApp
let plain: TestApp
let query = ''

beforeAll(async () => {
  provider = await startCaptchaProvider()
  plain = await createOAuthApp({ config: methods })
  const { database } = plain
  const open = (config: Readonly<Record<string, string>>) =>
    createOAuthApp({ database, config: { ...methods, ...config } })
  proof = await open({ 'auth.captcha.provider': 'proof_of_work', 'auth.captcha.difficulty': '1000' })
  turnstile = await open({
    'auth.captcha.provider': 'turnstile',
    'auth.captcha.verify_url': provider.url,
    ...keys,
  })
  const parameters = authorizationRequest(await createClient(plain), createProof())
  query = new URLSearchParams(parameters as Record<string, string>).toString()
})
afterAll(async () => {
  for (const app of [turnstile, proof, plain]) await app[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

const open = (app: TestApp) => app.request('GET', `/oauth/authorize?${query}`)

/** Sends the form that requests a mailed link. */
async function requestLink(
  app: TestApp,
  fields: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  const page = await open(app)
  const cookie = page.headers.get('set-cookie')?.split(';')[0] ?? ''
  const form = { request: query, step: 'mail', email: 'ada@example.com', ...fields }
  return await app.request('POST', '/oauth/authorize', {
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', cookie, origin: app.url },
  })
}

const policyOf = (page: TestResponse) => page.headers.get('content-security-policy') ?? ''

describe('/oauth/authorize with a captcha', () => {
  test('has neither script nor origin of a third party for a proof of work', async () => {
    const page = await open(proof)
    expect(page.text).toContain('data-captcha="magic_link"')
    expect(page.text).toContain('data-captcha="sms"')
    expect(policyOf(page)).not.toMatch(/frame-src|connect-src 'self' https:|script-src [^;]*https:/)
    expect(policyOf(await open(plain))).not.toMatch(/frame-src/)
    expect((await open(plain)).text).not.toContain('data-captcha')
  })

  test('solves the proof of work with its own script', async () => {
    expect((await requestLink(proof)).status).toBe(403)
    const challenge = (await proof.request('GET', '/api/auth/captcha?route=magic_link')).json
    const find = runInNewContext(
      `const document = { querySelectorAll: () => [] }; ${captchaScript}; findNumber`,
      {
        crypto: webcrypto,
        TextEncoder,
      },
    )
    const { algorithm, challenge: hash, salt, signature } = challenge
    const solution = { algorithm, challenge: hash, number: await find(challenge), salt, signature }
    const captcha = Buffer.from(JSON.stringify(solution)).toString('base64')
    const response = await requestLink(proof, { captcha })
    expect(response.status).toBe(200)
    expect(response.text).toContain('a link is on its way')
    expect((await requestLink(proof, { captcha })).status).toBe(403)
  })

  test("admits the provider's script in the policy of this page alone", async () => {
    const page = await open(turnstile)
    expect(page.text).toContain(
      '<script src="https://challenges.cloudflare.com/turnstile/v0/api.js" async defer></script>',
    )
    expect(page.text).toContain(
      'class="cf-turnstile" data-sitekey="site-&#34;1&#34;" data-action="magic_link"',
    )
    expect(policyOf(page)).toContain('frame-src https://challenges.cloudflare.com')
    expect(policyOf(page)).toMatch(/script-src [^;]*https:\/\/challenges\.cloudflare\.com/)
    for (const path of ['/auth/verify?token=x', '/auth/reset-password?token=x']) {
      expect(policyOf(await turnstile.request('GET', path))).not.toContain('cloudflare')
    }
    expect(page.text).not.toContain('top-secret-key')
    expect((await requestLink(turnstile)).status).toBe(403)
  })
})

describe.runIf(chromium !== undefined)('/oauth/authorize with a captcha in a browser', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await startBrowser(chromium ?? '')
    await browser.call('Page.addScriptToEvaluateOnNewDocument', {
      source: `globalThis.violations = []
        addEventListener('securitypolicyviolation', (event) => violations.push(event.blockedURI))`,
    })
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
  })

  /** Sends the form that requests a mailed link. @returns the text of the next page */
  async function submit(): Promise<string> {
    await browser.evaluate(`{
      const form = document.querySelector('#mail')
      form.closest('details').open = true
      form.elements.email.value = 'ada@example.com'
      form.requestSubmit(form.querySelector('button'))
    }`)
    return await waitFor('the next page', async () => {
      const text = await browser.evaluate<string>(`document.body?.innerText ?? ''`).catch(() => '')
      return text === '' || text.includes('Sign in by a mailed link') ? undefined : text
    })
  }

  const violations = () => browser.evaluate<string[]>('violations')

  test('sends the form with the proof of work', async () => {
    await browser.open(`${proof.url}/oauth/authorize?${query}`)
    expect(await submit()).toContain('a link is on its way')
    expect(await violations()).toEqual([])
  })

  test("shows the widget of the provider, and sends the widget's token", async () => {
    const origin = 'https://challenges.cloudflare.com'
    const widget = `
      for (const element of document.querySelectorAll('.cf-turnstile')) {
        const token = 'token for ' + element.dataset.action
        element.innerHTML = '<input type="hidden" name="cf-turnstile-response"><iframe src="${origin}/frame"></iframe>'
        element.querySelector('input').value = token
      }`
    const responses: Readonly<Record<string, readonly [type: string, body: string]>> = {
      [`${origin}/turnstile/v0/api.js`]: ['text/javascript', widget],
      [`${origin}/frame`]: ['text/html', 'a frame of the provider'],
    }
    // The stand-in of the provider serves its script and its frame to the browser.
    await browser.call('Fetch.enable', { patterns: [{ urlPattern: `${origin}/*` }] })
    const served: string[] = []
    const serve = async () => {
      const { requestId, request } = await browser.once<{ requestId: string; request: { url: string } }>(
        'Fetch.requestPaused',
      )
      const [type, body] = responses[request.url] ?? ['text/plain', '']
      served.push(request.url)
      const next = serve()
      await browser.call('Fetch.fulfillRequest', {
        requestId,
        responseCode: 200,
        responseHeaders: [{ name: 'content-type', value: type }],
        body: Buffer.from(body).toString('base64'),
      })
      await next
    }
    void serve()
    provider.respond(200, { success: true, hostname: '127.0.0.1', action: 'magic_link' })
    await browser.open(`${turnstile.url}/oauth/authorize?${query}`)
    expect(await submit()).toContain('a link is on its way')
    expect(new Set(served)).toEqual(new Set(Object.keys(responses)))
    expect(new URLSearchParams(provider.verifications[0]?.body).get('response')).toBe('token for magic_link')
    expect(await violations()).toEqual([])
  })
})
