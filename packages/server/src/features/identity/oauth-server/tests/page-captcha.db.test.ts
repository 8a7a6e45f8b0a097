import { webcrypto } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { authorizationRequest, createClient, createOAuthApp, createProof } from '../../../../../test/oauth.ts'
import type { TestApp, TestResponse } from '../../../../../test/test-app.ts'
import { captchaScript } from '../page/captcha-script.ts'

const methods = {
  'auth.magic_link_enabled': 'true',
  'auth.sms_enabled': 'true',
  'auth.oauth_provider.enabled': 'true',
}
const keys = { 'auth.captcha.site_key': 'site-"1"', 'auth.captcha.secret': 'top-secret-key' }

let proof: TestApp
let turnstile: TestApp
let plain: TestApp
let query = ''

beforeAll(async () => {
  plain = await createOAuthApp({ config: methods })
  const { database } = plain
  const open = (config: Readonly<Record<string, string>>) =>
    createOAuthApp({ database, config: { ...methods, ...config } })
  proof = await open({ 'auth.captcha.provider': 'proof_of_work', 'auth.captcha.difficulty': '1000' })
  turnstile = await open({ 'auth.captcha.provider': 'turnstile', ...keys })
  const parameters = authorizationRequest(await createClient(plain), createProof())
  query = new URLSearchParams(parameters as Record<string, string>).toString()
})
afterAll(async () => {
  for (const app of [turnstile, proof, plain]) await app[Symbol.asyncDispose]()
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
