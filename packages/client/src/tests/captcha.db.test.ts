import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../server/test/test-app.ts'
import { type CaptchaChallenge, createAuth } from '../auth/index.ts'

const methods = { 'auth.anonymous_auth_enabled': 'true', 'auth.magic_link_enabled': 'true' }
let proof: TestApp
let provider: TestApp

beforeAll(async () => {
  proof = await createTestApp({
    config: { ...methods, 'auth.captcha.provider': 'proof_of_work', 'auth.captcha.difficulty': '2000' },
  })
  provider = await createTestApp({
    database: proof.database,
    config: {
      ...methods,
      'auth.captcha.provider': 'turnstile',
      'auth.captcha.site_key': 'site-1',
      'auth.captcha.secret': 'hidden',
      // Nothing listens here, so the provider is unavailable.
      'auth.captcha.verify_url': 'http://127.0.0.1:9/siteverify',
      'auth.captcha.on_failure': 'accept',
    },
  })
})
afterAll(async () => {
  await provider[Symbol.asyncDispose]()
  await proof[Symbol.asyncDispose]()
})

describe('client › captcha', () => {
  test('solves a proof of work by itself, once for each request', async () => {
    const auth = createAuth({ url: proof.url })
    expect((await auth.signInAnonymously()).status).toBe('signed_in')
    expect((await auth.signInAnonymously()).status).toBe('signed_in')
    const credentials = { email: 'captcha@example.com', password: 'correct horse battery' }
    expect((await auth.signUp(credentials)).status).toBe('signed_in')
    await auth.sendMagicLink('captcha@example.com')
    await auth.sendPasswordReset('captcha@example.com')
  })

  test('lets the page handle events while it solves', async () => {
    let ticks = 0
    const timer = setInterval(() => {
      ticks += 1
    }, 0)
    await createAuth({ url: proof.url }).signInAnonymously()
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(0)
  })

  test('sends the token of a provider, which the option captcha returns', async () => {
    const challenges: CaptchaChallenge[] = []
    const auth = createAuth({
      url: provider.url,
      captcha(challenge) {
        challenges.push(challenge)
        return 'token'
      },
    })
    expect((await auth.signInAnonymously()).status).toBe('signed_in')
    expect(challenges).toEqual([{ provider: 'turnstile', route: 'anonymous', siteKey: 'site-1' }])
  })

  test('rejects with captcha_required if there is no solver', async () => {
    await expect(createAuth({ url: provider.url }).signInAnonymously()).rejects.toMatchObject({
      error: 'captcha_required',
      status: 403,
      data: { route: 'anonymous', provider: 'turnstile' },
    })
  })
})
