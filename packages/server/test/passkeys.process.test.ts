import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AccountsApp, claimsOf, goodPassword } from './accounts.ts'
import { type Browser, chromium, startBrowser } from './chromium.ts'
import { createMfaApp } from './second-factors.ts'

/** The code of the guide is run unchanged in a browser. */

const guide = readFileSync(new URL('../../../docs/guides/passkeys.md', import.meta.url), 'utf8')
const code = [...guide.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block]) => block).join('\n')

/** Serves a site of one page that runs the code of the guide, with the API at the same address, as behind a proxy. */
async function serveSite() {
  let api = ''
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/api/') !== true) {
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<script>${code}</script>`)
      return
    }
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const { 'content-type': type = '', authorization } = request.headers
      const answer = await fetch(api + request.url, {
        method: request.method ?? 'GET',
        headers: { 'content-type': type, ...(authorization === undefined ? {} : { authorization }) },
        body: Buffer.concat(chunks),
      })
      const body = await answer.text()
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://localhost:${port}`,
    passOnTo(url: string) {
      api = url
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface VirtualCredential {
  readonly credentialId: string
  readonly isResidentCredential: boolean
  readonly signCount: number
}

describe.runIf(chromium !== undefined)('passkeys in a browser', () => {
  let site: Awaited<ReturnType<typeof serveSite>>
  let accounts: AccountsApp
  let browser: Browser
  let authenticatorId: string

  beforeAll(async () => {
    site = await serveSite()
    accounts = await createMfaApp({ config: { 'server.public_base_url': site.origin } })
    site.passOnTo(accounts.app.url)
    browser = await startBrowser(chromium ?? '')
    await browser.call('WebAuthn.enable')
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await accounts?.[Symbol.asyncDispose]()
    await site?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    if (authenticatorId !== undefined)
      await browser.call('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    authenticatorId = await addAuthenticator()
    await browser.open(site.origin)
  })

  async function addAuthenticator(options: object = {}): Promise<string> {
    const added = await browser.call<{ authenticatorId: string }>('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
        ...options,
      },
    })
    return added.authenticatorId
  }
  const credentials = async () =>
    (await browser.call<{ credentials: VirtualCredential[] }>('WebAuthn.getCredentials', { authenticatorId }))
      .credentials
  /** Calls a function of the guide. */
  const run = <Value>(name: string, ...args: readonly unknown[]) =>
    browser.evaluate<Value>(`${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`)
  /** Creates a user who has added a passkey on the page. */
  async function passkeyUser() {
    const signedIn = await accounts.register()
    await run('addPasskey', signedIn.token, 'laptop')
    return signedIn
  }

  test('are added, sign in with and without email, and are a second factor', async () => {
    const { user, token } = await passkeyUser()
    const [made, ...others] = await credentials()
    expect([made?.isResidentCredential, others]).toEqual([true, []])
    const list = await accounts.app.request('GET', '/api/auth/mfa/webauthn/credentials', { token })
    expect(list.json).toEqual({
      credentials: [
        {
          credential_id: Buffer.from(made?.credentialId ?? '', 'base64').toString('base64url'),
          display_name: 'laptop',
          transports: ['internal'],
          created_at: expect.any(String),
        },
      ],
    })

    const byEmail = await run<{ token: string }>('signInAs', user.email)
    expect(claimsOf(byEmail.token)).toMatchObject({ sub: user.id, aal: 'aal1', amr: ['webauthn'] })
    const discovered = await run<{ token: string }>('signIn')
    expect(claimsOf(discovered.token)).toMatchObject({ sub: user.id, aal: 'aal1', amr: ['webauthn'] })
    const { mfa_token: pending } = (
      await accounts.post('login', { email: user.email, password: goodPassword })
    ).json
    const lifted = await run<{ token: string }>('passSecondFactor', pending)
    expect(claimsOf(lifted.token)).toMatchObject({ sub: user.id, aal: 'aal2', amr: ['password', 'webauthn'] })

    // The browser itself refuses to create another passkey when there is one.
    await expect(run('addPasskey', discovered.token, 'again')).rejects.toThrow('InvalidStateError')
  })

  test('are rejected when they were copied', async () => {
    const { user } = await passkeyUser()
    const [copy] = await credentials()
    await run('signInAs', user.email)
    await run('signInAs', user.email)
    await browser.call('WebAuthn.clearCredentials', { authenticatorId })
    await browser.call('WebAuthn.addCredential', { authenticatorId, credential: copy })
    await expect(run('signInAs', user.email)).rejects.toThrow('cloned authenticator detected')
    await expect(run('signIn')).rejects.toThrow('cloned authenticator detected')
  })

  test('are a second factor only when the security key has no PIN', async () => {
    await browser.call('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    const plain = {
      transport: 'usb',
      hasResidentKey: false,
      hasUserVerification: false,
      isUserVerified: false,
    }
    authenticatorId = await addAuthenticator(plain)
    const { user } = await passkeyUser()
    const { mfa_token: pending } = (
      await accounts.post('login', { email: user.email, password: goodPassword })
    ).json
    const lifted = await run<{ token: string }>('passSecondFactor', pending)
    expect(claimsOf(lifted.token)).toMatchObject({ aal: 'aal2', amr: ['password', 'webauthn'] })
    const begun = (await accounts.post('webauthn/login/begin', { email: user.email })).json
    const [own] = await credentials()
    const id = Buffer.from(own?.credentialId ?? '', 'base64').toString('base64url')
    expect(begun.options.allowCredentials.map((each: { id: string }) => each.id)).not.toContain(id)
  })

  test('are useless on another site', async () => {
    const { user } = await passkeyUser()
    await browser.open(site.origin.replace('localhost', '127.0.0.1'))
    await expect(run('signInAs', user.email)).rejects.toThrow('SecurityError')
  })
})
