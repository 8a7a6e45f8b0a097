import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from './account-nodes.ts'
import { type AccountsApp, goodPassword } from './accounts.ts'
import { createApplication } from './api-keys.ts'
import { type Browser, chromium, startBrowser } from './chromium.ts'
import { authorizationRequest, createClient, createProof, requestToken, type TestClient } from './oauth.ts'
import { createMfaApp } from './second-factors.ts'
import { type OpenIdPeer, oidcConfig, startOpenIdPeer } from './social.ts'

/** Authorization page in a browser that enforces its Content-Security-Policy. */
describe.runIf(chromium !== undefined)('authorization page in a browser', () => {
  let accounts: AccountsApp
  let browser: Browser
  let client: TestClient
  let peer: OpenIdPeer
  /** Origin by which browsers treat this machine as a domain. */
  let origin: string
  const proof = createProof()
  const receiver = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<p>Back at the client.</p>'),
  )
  let callback: string

  beforeAll(async () => {
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    // Address of a TCP server that listens.
    callback = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/callback`
    peer = await startOpenIdPeer()
    accounts = await createMfaApp({
      config: { ...oidcConfig(peer.issuer), 'auth.oauth_provider.enabled': 'true' },
    })
    origin = accounts.app.url.replace('127.0.0.1', 'localhost')
    const { user } = await accounts.register()
    const appId = await createApplication(accounts.app, { ownerUserId: user.id })
    client = await createClient(accounts.app, { appId, redirectUris: ['http://127.0.0.1/callback'] })
    browser = await startBrowser(chromium ?? '')
    await browser.call('WebAuthn.enable')
    await browser.call('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await accounts?.[Symbol.asyncDispose]()
    await peer?.[Symbol.asyncDispose]()
    receiver.closeAllConnections()
    receiver.close()
  })
  beforeEach(() => open())

  const open = (at = origin) =>
    browser.open(
      `${at}/oauth/authorize?${new URLSearchParams(authorizationRequest(client, proof, { redirect_uri: callback }))}`,
    )
  const has = (selector: string) =>
    browser.evaluate<boolean>(`document.querySelector('${selector}') !== null`)
  const click = (selector: string) => browser.evaluate(`document.querySelector('${selector}').click()`)

  async function signIn(email: string): Promise<void> {
    await browser.evaluate(`document.querySelector('input[name=email]').value = ${JSON.stringify(email)}`)
    await browser.evaluate(
      `document.querySelector('input[name=password]').value = ${JSON.stringify(goodPassword)}`,
    )
    await click('form#password button')
  }

  /** Waits for the client's own page and redeems the browser's code. */
  async function arrive(): Promise<void> {
    await expect.poll(() => browser.evaluate<string>('document.body.textContent')).toBe('Back at the client.')
    const code = new URL(await browser.evaluate<string>('location.href')).searchParams.get('code') ?? ''
    const response = await requestToken(accounts.app, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      code_verifier: proof.verifier,
      client_id: client.clientId,
      client_secret: client.clientSecret,
    })
    expect(response.status).toBe(200)
  }

  /** Creates a user with a passkey. */
  async function passkeyUser() {
    const signedIn = await accounts.register()
    await browser.evaluate(`(async () => {
      const post = async (path, body) => (await fetch('/api/auth/mfa/webauthn/' + path, {
        method: 'POST',
        headers: { authorization: 'Bearer ${signedIn.token}', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })).json()
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(await post('enroll', {}))
      const made = await navigator.credentials.create({ publicKey })
      await post('enroll/confirm', { display_name: 'laptop', attestation_response: made.toJSON() })
    })()`)
    return signedIn
  }

  test('signs in, asks for consent and redirects back, without scripts', async () => {
    const { user } = await accounts.register()
    await browser.call('Emulation.setScriptExecutionDisabled', { value: true })
    try {
      await open()
      expect(await has('form[data-passkey][hidden]')).toBe(true)
      await signIn(user.email)
      await expect.poll(() => has('form#consent')).toBe(true)
      await click('button[value=approve]')
      await arrive()
    } finally {
      await browser.call('Emulation.setScriptExecutionDisabled', { value: false })
    }
  })

  test('ignores a second click', async () => {
    const { user } = await accounts.register()
    await signIn(user.email)
    await expect.poll(() => has('form#consent')).toBe(true)
    await using transaction = await openTransaction(accounts.app.database)
    await transaction.sql('select from basalt.users where id = $1 for update', [user.id])
    await browser.evaluate(`setInterval(() => document.querySelector('button[value=approve]').click(), 10)`)
    await transaction.waitForBlocked()
    await transaction.commit()
    await arrive()
  })

  test('accepts a passkey as first factor and as second', async () => {
    const { user } = await passkeyUser()
    await click('form#passkey button')
    await expect.poll(() => has('form#consent')).toBe(true)
    await click('button[value=approve]')
    await arrive()
    await open()
    await signIn(user.email)
    await expect.poll(() => has('form#second-passkey:not([hidden])')).toBe(true)
    await click('form#second-passkey button')
    await arrive()
  })

  test('redirects to a sign-in provider and back to the consent, by a cookie that other sites do not send', async () => {
    peer.person = { sub: 'grace', email: 'grace@example.com', email_verified: true }
    // Providers redirect to the address of the server only.
    await open(accounts.app.url)
    await click('a#with-peer')
    await expect.poll(() => has('form#consent')).toBe(true)
    expect(await browser.evaluate<string>('document.body.textContent')).toContain('as grace@example.com')
    await click('button[value=approve]')
    await arrive()
  })
})
