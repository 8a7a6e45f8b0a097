import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AccountsApp, goodPassword, newEmail } from '../../../server/test/accounts.ts'
import { type Browser, chromium, startBrowser } from '../../../server/test/chromium.ts'
import { faultsOf } from '../../../server/test/faults.ts'
import { createMfaApp } from '../../../server/test/second-factors.ts'
import { type OpenIdPeer, oidcConfig, startOpenIdPeer } from '../../../server/test/social.ts'
import { waitFor } from '../../../server/test/wait-for.ts'
import { readFixture } from './harness.ts'
import { type PageServer, servePages } from './page-server.ts'

/** Tests of the client in a browser: everything that cannot be tested outside of one. */
describe.runIf(chromium !== undefined)('client in a browser', () => {
  let pages: PageServer
  let peer: OpenIdPeer
  let accounts: AccountsApp
  let browser: Browser
  let authenticatorId: string | undefined

  beforeAll(async () => {
    ;[pages, peer] = await Promise.all([servePages(), startOpenIdPeer()])
    const config = {
      ...oidcConfig(peer.issuer),
      'server.public_base_url': pages.origin,
      'auth.oauth_redirect_url': `${pages.origin}/signed-in`,
    }
    ;[accounts, browser] = await Promise.all([
      createMfaApp({ config, setup: await readFixture() }),
      startBrowser(chromium ?? ''),
    ])
    pages.passOnTo(accounts.app.url)
    await browser.call('WebAuthn.enable')
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    if (accounts !== undefined) expect(faultsOf(accounts.app)).toEqual([])
    await accounts?.[Symbol.asyncDispose]()
    await peer?.[Symbol.asyncDispose]()
    await pages?.[Symbol.asyncDispose]()
  })
  beforeEach(() => openPage())

  /** Opens a page with an `auth` of its own, signed out. */
  async function openPage(path = '/', origin = pages.origin): Promise<void> {
    await browser.open(origin + path)
    await useClient()
  }
  async function useClient(): Promise<void> {
    await waitFor('the client', () => browser.evaluate<boolean>('window.basalt !== undefined'))
    await run(`{
      const auth = basalt.createAuth({ url: location.origin, storage: basalt.localSession() })
      const client = basalt.createClient({ url: location.origin, auth })
      const failure = ({ name, error, message }) => ({ name, error, message })
      Object.assign(globalThis, { auth, client, failure })
    }`)
  }
  /** Returns the value of an expression in the page. A block has no value. */
  const run = <Value>(code: string) =>
    browser.evaluate<Value>(code.startsWith('{') ? `(() => ${code})()` : code)
  /** Returns what a promise of the page rejects with. */
  const failureOf = (expression: string) =>
    run<{ name: string; error: string; message: string }>(`${expression}.then(() => undefined, failure)`)
  async function signUp(): Promise<string> {
    const email = newEmail()
    await run(`localStorage.clear()`)
    await run(`auth.signUp(${JSON.stringify({ email, password: goodPassword })})`)
    return email
  }

  describe('passkeys', () => {
    beforeEach(async () => {
      if (authenticatorId !== undefined) {
        await browser.call('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
      }
      authenticatorId = await addAuthenticator()
    })

    async function addAuthenticator(): Promise<string> {
      const options = {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      }
      const added = await browser.call<{ authenticatorId: string }>('WebAuthn.addVirtualAuthenticator', {
        options,
      })
      return added.authenticatorId
    }

    test('are added, used with and without an email address and as a second factor, renamed and removed', async () => {
      const email = await signUp()
      await run("auth.passkeys.add('laptop')")
      const list = await run<{ display_name: string; credential_id: string }[]>('auth.passkeys.list()')
      expect(list).toMatchObject([{ display_name: 'laptop' }])
      for (const by of ['', JSON.stringify(email)]) {
        await run('auth.signOut()')
        const result = await run(`auth.signInWithPasskey(${by})`)
        expect(result, by).toMatchObject({ status: 'signed_in', session: { aal: 'aal1', user: { email } } })
      }
      expect(await failureOf("auth.passkeys.add('again')")).toEqual({
        name: 'BasaltError',
        error: 'passkey_exists',
        message: 'this device has a passkey of the account already',
      })
      await run('auth.signOut()')
      const credentials = JSON.stringify({ email, password: goodPassword })
      expect(
        await run(`(async () => (await auth.signIn(${credentials})).factor.verifyPasskey())()`),
      ).toMatchObject({
        status: 'signed_in',
        session: { aal: 'aal2' },
      })
      const id = JSON.stringify(list[0]?.credential_id)
      expect(await run(`auth.passkeys.rename(${id}, 'old')`)).toMatchObject({ display_name: 'old' })
      expect(await failureOf(`auth.passkeys.remove(${id})`)).toMatchObject({ error: 'last_passkey' })
    })

    test('are offered in a field until one is chosen or another sign-in starts', async () => {
      const email = await signUp()
      await run("auth.passkeys.add('laptop')")
      await run('auth.signOut()')
      expect(await run('auth.offerPasskeys()')).toMatchObject({
        status: 'signed_in',
        session: { user: { email } },
      })
      await run('auth.signOut()')
      // From now on no passkey is chosen.
      await browser.call('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false })
      await run('{ globalThis.offered = auth.offerPasskeys() }')
      await run('{ globalThis.controller = new AbortController() }')
      await run('{ globalThis.again = auth.offerPasskeys({ signal: controller.signal }) }')
      expect(await run('offered.then((result) => result === undefined)')).toBe(true)
      await run('controller.abort(new Error("left"))')
      expect(await run('again.then((result) => result === undefined)')).toBe(true)
      expect(await run('auth.current === undefined')).toBe(true)
    })

    /**
     * Holds back the first challenge until `answerFirst()` is called. Other requests get a response at once, or fail. `isOffered`
     * is set once the page requests a passkey from the browser. No passkey is chosen.
     */
    async function holdFirstChallenge({ losesOthers = false } = {}): Promise<void> {
      await browser.call('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false })
      await run(`{
        const { fetch } = globalThis
        const held = Promise.withResolvers()
        let requests = 0
        globalThis.fetch = async (...request) => {
          requests += 1
          const isFirst = requests === 1
          if (!isFirst && ${losesOthers}) throw new TypeError('fetch failed')
          const answer = await fetch(...request)
          if (isFirst) await held.promise
          return answer
        }
        globalThis.answerFirst = () => held.resolve()
        const { credentials } = navigator
        const get = credentials.get.bind(credentials)
        credentials.get = (options) => {
          globalThis.isOffered = true
          return get(options)
        }
      }`)
    }

    test('are offered to the latest caller, in whatever order the challenges arrive', async () => {
      await holdFirstChallenge()
      await run('{ globalThis.controller = new AbortController() }')
      await run('{ globalThis.first = auth.offerPasskeys() }')
      await run('{ globalThis.last = auth.offerPasskeys({ signal: controller.signal }) }')
      await run('{ last.finally(() => { globalThis.hasEnded = true }) }')
      await waitFor('a ceremony', () => run<boolean>('globalThis.isOffered === true'))
      await run('answerFirst()')
      expect(await run('first.then((result) => result === undefined)')).toBe(true)
      expect(await run('globalThis.hasEnded === undefined')).toBe(true)
      await run('controller.abort(new Error("left"))')
      expect(await run('last.then((result) => result === undefined)')).toBe(true)
    })

    test('stay offered when a later offer fails', async () => {
      await holdFirstChallenge({ losesOthers: true })
      await run('{ globalThis.controller = new AbortController() }')
      await run('{ globalThis.first = auth.offerPasskeys({ signal: controller.signal }) }')
      await run('{ first.finally(() => { globalThis.hasEnded = true }) }')
      expect(await failureOf('auth.offerPasskeys()')).toMatchObject({ error: 'network_error' })
      await run('answerFirst()')
      await waitFor('the first to continue', () =>
        run<boolean>('globalThis.isOffered || globalThis.hasEnded || false'),
      )
      expect(await run('globalThis.hasEnded === undefined')).toBe(true)
      await run('controller.abort(new Error("left"))')
      expect(await run('first.then((result) => result === undefined)')).toBe(true)
    })

    test('fail with an error code for each cause', async () => {
      await signUp()
      await browser.call('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
      expect(await failureOf('auth.signInWithPasskey()')).toEqual({
        name: 'BasaltError',
        error: 'passkey_cancelled',
        message: 'no passkey was chosen',
      })
      // The browser waits until there is an authenticator.
      await browser.call('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
      authenticatorId = undefined
      await run('{ globalThis.controller = new AbortController() }')
      await run(
        `globalThis.adding = auth.passkeys.add('laptop', { signal: controller.signal }).catch(failure); undefined`,
      )
      await run('controller.abort(new Error("left"))')
      expect(await run('adding')).toMatchObject({ name: 'Error', message: 'left' })
      await run("{ Object.defineProperty(window, 'PublicKeyCredential', { value: undefined }) }")
      expect(await failureOf("auth.passkeys.add('laptop')")).toMatchObject({ error: 'passkey_unsupported' })
      expect(await failureOf('auth.signInWithPasskey()')).toMatchObject({ error: 'passkey_unsupported' })
      expect(await run('auth.offerPasskeys().then((result) => result === undefined)')).toBe(true)
    })

    test('belong to one site', async () => {
      await openPage('/', pages.origin.replace('localhost', '127.0.0.1'))
      const email = JSON.stringify(newEmail())
      expect(await failureOf(`auth.signInWithPasskey(${email})`)).toEqual({
        name: 'BasaltError',
        error: 'passkey_wrong_site',
        message: 'the page is not on the host that the passkeys belong to',
      })
    })
  })

  describe('provider sign-in', () => {
    function newPerson(): string {
      const email = newEmail()
      peer.person = { sub: `sub of ${email}`, email, email_verified: true }
      return email
    }

    /** Starts a method that opens a popup, and waits for the first page of the popup. */
    async function openPopup(method: string): Promise<void> {
      await run(`{
        globalThis.popups = []
        const { open } = window
        window.open = (...given) => {
          const popup = open.apply(window, given)
          popups.push(popup)
          window.open = open
          return popup
        }
        globalThis.controller = new AbortController()
        globalThis.result = auth.${method}('peer', { signal: controller.signal }).catch(failure)
      }`)
      await waitFor('the window', () =>
        run<boolean>(`popups[0]?.document?.getElementById('continue') != null`),
      )
    }
    async function passPopup(method: string): Promise<unknown> {
      await openPopup(method)
      await run(`popups[0].document.getElementById('continue').click()`)
      const result = await run('result')
      expect(await run('popups[0].closed')).toBe(true)
      return result
    }
    const closed = { name: 'BasaltError', error: 'popup_closed', message: 'the window was closed' }

    test('signs in with a popup, and fails if it is closed, refused or blocked', async () => {
      await run('localStorage.clear()')
      const email = newPerson()
      expect(await passPopup('signInWithPopup')).toMatchObject({
        status: 'signed_in',
        session: { user: { email } },
      })
      expect(await run('auth.me()')).toMatchObject({ email })

      await openPopup('signInWithPopup')
      await run('popups[0].close()')
      expect(await run('result')).toEqual(closed)

      await openPopup('signInWithPopup')
      await run('controller.abort(new Error("left"))')
      expect(await run('result')).toMatchObject({ name: 'Error', message: 'left' })
      expect(await run('popups[0].closed')).toBe(true)

      peer.server.service.once('beforeAuthorizeRedirect', ({ url }: { url: URL }) => {
        url.searchParams.delete('code')
        url.searchParams.set('error', 'access_denied')
      })
      expect(await passPopup('signInWithPopup')).toMatchObject({ error: 'provider_sign_in_failed' })

      await run('window.open = () => null')
      expect(await failureOf("auth.signInWithPopup('peer')")).toEqual({
        name: 'BasaltError',
        error: 'popup_blocked',
        message: 'the browser has blocked the window',
      })
      await run(`globalThis.other = basalt.createAuth({ url: 'http://api.localhost' })`)
      expect(await failureOf("other.signInWithPopup('peer')")).toMatchObject({
        message: 'a popup needs a page of the same origin as the server; elsewhere redirect',
      })
    })

    /** Follows a redirect to the page where it ends. */
    async function follow(expression: string): Promise<void> {
      await run(`{ ${expression} }`)
      await waitFor('the page to return to', async () => {
        // A page announces the next step.
        await run(`document.getElementById('continue')?.click()`)
        return run<boolean>(`location.pathname === '/signed-in' && document.readyState === 'complete'`)
      })
      await useClient()
    }

    test('signs in with a redirect that this tab has started', async () => {
      await run('localStorage.clear()')
      const email = newPerson()
      await follow("auth.signInWithRedirect('peer', '/signed-in?from=1#/inbox?tab=2')")
      expect(await run('location.hash.length > 20')).toBe(true)
      await run("addEventListener('hashchange', () => { globalThis.route = location.hash })")
      expect(await run('auth.finishRedirect()')).toMatchObject({
        status: 'signed_in',
        session: { user: { email } },
      })
      expect(await run('location.href')).toBe(`${pages.origin}/signed-in?from=1#/inbox?tab=2`)
      await waitFor('the event of the fragment', () => run<boolean>("globalThis.route === '#/inbox?tab=2'"))
      expect(await run('auth.finishRedirect().then((result) => result === undefined)')).toBe(true)
      const tokens = await run<{ token: string; refreshToken: string }>('auth.current')
      await run('auth.signOut()')
      const { token, refreshToken } = tokens
      await openPage(`/signed-in#${new URLSearchParams({ token, refreshToken })}`)
      expect(await run('auth.finishRedirect().then((result) => result === undefined)')).toBe(true)
      expect(await run('location.hash + String(auth.current)')).toBe('undefined')
    })

    test('links an account with a popup or a redirect, and unlinks it', async () => {
      const email = await signUp()
      newPerson()
      expect(await passPopup('linkWithPopup')).toBeUndefined()
      expect(await run('auth.identities()')).toMatchObject([
        { provider: 'peer', email: peer.person.email, proven: true },
      ])
      await run("auth.unlink('peer')")
      expect(await run('auth.identities()')).toEqual([])
      await follow("auth.linkWithRedirect('peer', '/signed-in#linked')")
      expect(await run('auth.finishRedirect()')).toEqual({ status: 'linked', provider: 'peer' })
      expect(await run('location.hash')).toBe('#linked')
      expect(await run('auth.load()')).toMatchObject({ user: { email } })
      // The provider account is already linked to another user.
      await signUp()
      expect(await passPopup('linkWithPopup')).toMatchObject({ error: 'provider_sign_in_failed' })
      expect(await failureOf("auth.unlink('peer')")).toMatchObject({ error: 'identity_not_found' })
    })
  })

  describe('tabs', () => {
    /** Opens frames, which are tabs to each other. They share storage, locks and channels, and end when they are removed. */
    async function openTabs(count: number): Promise<void> {
      await run(`(async () => {
        globalThis.requests = []
        globalThis.tabs = await Promise.all(Array.from({ length: ${count} }, async (_, index) => {
          const frame = document.createElement('iframe')
          frame.src = '/'
          document.body.append(frame)
          await new Promise((resolve) => frame.addEventListener('load', resolve))
          const page = frame.contentWindow
          while (page.basalt === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
          const tab = { frame, shown: [], skewMs: 0, hold: () => undefined }
          const fetch = async (input, init) => {
            requests.push(index + ' ' + new URL(input).pathname)
            const response = await page.fetch(input, init)
            await tab.hold(new URL(input).pathname)
            return response
          }
          const { createAuth, createClient, localSession, live } = page.basalt
          const now = () => Date.now() + tab.skewMs
          tab.auth = createAuth({ url: location.origin, storage: localSession(), fetch, now })
          tab.client = createClient({ url: location.origin, auth: tab.auth, fetch })
          tab.watch = () => live(tab.client, 'task', { sort: ['title'] })
            .subscribe(({ items, status }) => tab.shown.push(status + ': ' + items.map(({ title }) => title)))
          await tab.auth.load()
          return tab
        }))
      })()`)
    }
    const requestsTo = (path: string) =>
      run<string[]>(`requests.filter((each) => each.endsWith(${JSON.stringify(path)}))`)
    const show = (text: string) =>
      waitFor(`all tabs to show ${text}`, () =>
        run<boolean>(`tabs.every(({ shown }) => shown.at(-1) === ${JSON.stringify(text)})`),
      )

    test('refresh the session once, whatever their clocks, also when one tab is closed meanwhile', async () => {
      await signUp()
      await openTabs(5)
      await run('tabs.forEach((tab) => { tab.skewMs = 890_000 })')
      const lists =
        "Promise.all(tabs.flatMap(({ client }) => [1, 2, 3].map(() => client.from('task').count())))"
      expect(await run(lists)).toEqual(Array(15).fill(0))
      expect(await requestsTo('/api/auth/refresh')).toHaveLength(1)
      // The first tab is closed after the server has responded and before the session is stored.
      await run(`{
        const arrived = new Promise((resolve) => {
          tabs[0].hold = (path) => path.endsWith('/refresh') && (resolve(), new Promise(() => undefined))
        })
        void tabs[0].auth.refresh()
        globalThis.closing = arrived.then(() => tabs.shift().frame.remove())
      }`)
      await run('closing')
      const users = await run<string[]>(
        'Promise.all(tabs.map(({ auth }) => auth.refresh().then(({ user }) => user.id)))',
      )
      expect(new Set(users).size).toBe(1)
      expect(await run('tabs[0].auth.sessions().then(({ length }) => length)')).toBe(1)
      // A clock that is hours off changes nothing.
      await run('tabs.forEach((tab, index) => { tab.skewMs = (index - 2) * 7_200_000 })')
      expect(await run(lists)).toEqual(Array(12).fill(0))
      await run('tabs[0].auth.signOut()')
      // The page around the frames is another client of one page.
      await waitFor('the others to be signed out', () =>
        run<boolean>('[auth, ...tabs.map((tab) => tab.auth)].every(({ current }) => current === undefined)'),
      )
    })

    test('share one stream, which another tab takes over when the leading tab is closed', async () => {
      await signUp()
      await openTabs(3)
      await run('tabs.forEach(({ watch }) => watch())')
      await show('live: ')
      expect(await requestsTo('/api/realtime')).toHaveLength(1)
      await run("tabs[1].client.from('task').create({ title: 'a' })")
      await show('live: a')
      const [leader] = await requestsTo('/api/realtime')
      await run(`tabs.splice(${Number(leader?.[0])}, 1)[0].frame.remove()`)
      await run("tabs[0].client.from('task').create({ title: 'b' })")
      await show('live: a,b')
      expect(await requestsTo('/api/realtime')).toHaveLength(2)
    })
  })

  test('stream › reconnects as soon as the browser is online', async () => {
    await signUp()
    await run(`{
      globalThis.states = []
      const later = window.setTimeout
      basalt.live(client, 'task').subscribe(({ status, totalItems }) => states.push(status + totalItems))
      // Attempts of the first seconds run at once, later ones never.
      globalThis.isWaiting = false
      window.setTimeout = (call, ms) => {
        if (ms < 2000 || ms >= 30_000) return later(call, Math.min(ms, ms < 2000 ? 20 : ms))
        isWaiting = true
      }
    }`)
    const shows = (text: string) =>
      waitFor(text, () => run<boolean>(`states.at(-1) === ${JSON.stringify(text)}`))
    await shows('live0')
    const setOffline = (offline: boolean) =>
      browser.call('Network.emulateNetworkConditions', {
        offline,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput: -1,
      })
    await browser.call('Network.enable')
    await setOffline(true)
    try {
      // Open connections stay open.
      pages.cut()
      await shows('stale0')
      await waitFor('a long pause', () => run<boolean>('isWaiting'))
    } finally {
      await setOffline(false)
    }
    await shows('live0')
  })

  describe('storage', () => {
    test('is not used when it is full, and the session lasts until the page is closed', async () => {
      await run('localStorage.clear()')
      await run(`{
        let text = 'x'.repeat(2 ** 22)
        for (let number = 0; text !== ''; number += 1) {
          try { localStorage.setItem('fill ' + number, text) } catch { text = text.slice(1 + text.length / 2) }
        }
      }`)
      const credentials = JSON.stringify({ email: newEmail(), password: goodPassword })
      expect(await run(`auth.signUp(${credentials})`)).toMatchObject({ status: 'signed_in' })
      expect(await run('auth.refresh()')).toMatchObject({ aal: 'aal1' })
      expect(await run("client.from('task').count()")).toBe(0)
      expect(await run("localStorage.getItem('basalt.session') === null")).toBe(true)
      await run('localStorage.clear()')
      await run('auth.refresh()')
      expect(await run("localStorage.getItem('basalt.session') === null")).toBe(false)
    })

    test('is not required, and neither are locks, as in a frame without an origin', async () => {
      const credentials = JSON.stringify({ email: newEmail(), password: goodPassword })
      const script = `<script type="module">
        const url = ${JSON.stringify(pages.origin)}
        const load = (name) => import(url + '/client/' + name + '/index.ts')
        const [{ createClient }, { createAuth, localSession }, { live }] = await Promise.all(['.', 'auth', 'realtime'].map(load))
        const auth = createAuth({ url, storage: localSession() })
        const client = createClient({ url, auth })
        const said = [await auth.load()]
        try {
          said.push((await auth.signUp(${credentials})).status, (await auth.refresh()).aal)
          await new Promise((resolve) => live(client, 'task').subscribe(({ status }) => status === 'live' && resolve()))
          said.push(await client.from('task').count())
          auth.signInWithRedirect('peer')
        } catch (error) {
          said.push(error.error ?? String(error))
        }
        parent.postMessage(said, '*')
      </script>`
      const said = await run(`new Promise((resolve) => {
        addEventListener('message', ({ data }) => resolve(data), { once: true })
        const frame = document.createElement('iframe')
        frame.sandbox = 'allow-scripts'
        frame.srcdoc = ${JSON.stringify(script).replaceAll('</', '<\\/')}
        document.body.append(frame)
      })`)
      expect(said).toEqual([null, 'signed_in', 'aal1', 0, 'storage_denied'])
    })
  })
})
