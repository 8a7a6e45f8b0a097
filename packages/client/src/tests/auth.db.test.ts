import { randomUUID } from 'node:crypto'
import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../server/test/faults.ts'
import { createTestApp, type TestApp } from '../../../server/test/test-app.ts'
import { waitFor } from '../../../server/test/wait-for.ts'
import {
  type Auth,
  type CookieAttributes,
  cookieSession,
  createAuth,
  type SessionStorage,
  type SignInResult,
} from '../auth/index.ts'
import { createClient } from '../index.ts'
import { follow, joinChannel, type LiveList, live, subscribe } from '../realtime/index.ts'
import type { Database } from './database.ts'
import { collectReports, createNetwork, type Network, readFixture } from './harness.ts'

let app: TestApp
let second: TestApp
const password = 'correct horse battery staple'
const newEmail = () => `${randomUUID()}@example.com`

beforeAll(async () => {
  const config = { 'auth.totp_enabled': 'true', 'auth.anonymous_auth_enabled': 'true' }
  app = await createTestApp({ setup: await readFixture(), config })
  second = await createTestApp({ database: app.database, config })
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

/** Creates a storage that several tabs share, as they share `localStorage`. */
function sharedStorage(name: string = randomUUID()): SessionStorage {
  let stored: string | null = null
  const watchers = new Set<() => void>()
  return {
    name,
    load: () => stored,
    save(session) {
      stored = session
      for (const changed of watchers) queueMicrotask(changed)
    },
    watch(changed) {
      watchers.add(changed)
      return () => watchers.delete(changed)
    },
  }
}

interface Tab {
  readonly auth: Auth
  readonly network: Network
  readonly client: ReturnType<typeof createClient<Database>>
}

function openTab(storage: SessionStorage, { now = Date.now, url = app.url } = {}): Tab {
  const network = createNetwork()
  const auth = createAuth({ url, storage, now, fetch: network.fetch })
  return { auth, network, client: createClient<Database>({ url, auth, fetch: network.fetch }) }
}

function refreshes(...tabs: readonly Tab[]): number {
  return tabs.flatMap(({ network }) => network.requests).filter((each) => each.endsWith('/refresh')).length
}

async function signUp(
  storage = sharedStorage(),
): Promise<Tab & { readonly storage: SessionStorage; readonly email: string }> {
  const tab = openTab(storage)
  const email = newEmail()
  const { status } = await tab.auth.signUp({ email, password })
  expect(status).toBe('signed_in')
  return { ...tab, storage, email }
}

describe('auth › session', () => {
  test('starts with a sign-up or sign-in, is stored, and ends with a sign-out', async () => {
    const { auth, client, email, storage } = await signUp()
    const received: (string | undefined)[] = []
    const stop = auth.subscribe(() => received.push(auth.current?.user.email))
    expect(auth.current).toMatchObject({ aal: 'aal1', user: { email, is_anonymous: false } })
    expect((await client.from('task').create({ title: email })).owner).toBe(auth.current?.user.id)
    const later = openTab(storage)
    expect(later.auth.current).toBeUndefined()
    expect((await later.auth.load())?.user.email).toBe(email)
    expect((await later.client.from('task').list()).totalItems).toBe(1)
    await later.auth.signOut()
    await waitFor('the other tab to be notified', () => received.length > 0)
    expect([received, auth.current, storage.load()]).toEqual([[undefined], undefined, null])
    await expect(client.from('task').list()).rejects.toMatchObject({ error: 'missing_authorization' })
    expect(await auth.signIn({ email, password })).toMatchObject({ status: 'signed_in' })
    await expect(auth.signIn({ email, password: 'wrong' })).rejects.toMatchObject({ status: 401 })
    expect(received).toEqual([undefined, email])
    stop()
  })

  test('keeps the id when an anonymous user adds an email address', async () => {
    const { auth } = openTab(sharedStorage())
    await auth.signInAnonymously()
    const before = auth.current?.user
    await auth.linkEmail({ email: newEmail(), password })
    expect([before?.is_anonymous, auth.current?.user.is_anonymous]).toEqual([true, false])
    expect(auth.current?.user.id).toBe(before?.id)
  })

  test('is renewed once for all concurrent requests of all tabs and of a server', async () => {
    const { storage, auth, email } = await signUp()
    const soon = () => Date.now() + 890_000
    const tabs = [openTab(storage, { now: soon }), openTab(storage, { now: soon, url: second.url })]
    const cookies = createCookies()
    await cookieSession(cookies).save(JSON.stringify(auth.current))
    const renderers = Array.from({ length: 2 }, () =>
      openTab(cookieSession(cookies), { now: soon, url: second.url }),
    )
    const everywhere = [...tabs, ...renderers]
    const lists = everywhere.flatMap(({ client }) =>
      Array.from({ length: 5 }, () => client.from('task').list()),
    )
    expect((await Promise.all(lists)).map(({ totalItems }) => totalItems)).toEqual(Array(20).fill(0))
    expect(refreshes(...tabs)).toBe(1)
    const sessions = await tabs[0]?.auth.sessions()
    expect(sessions).toHaveLength(1)
    for (const tab of everywhere) expect((await tab.auth.refresh())?.user.email).toBe(email)
    expect(cookies.attributes).toEqual({
      path: '/',
      httpOnly: true,
      secure: true,
      sameSite: 'lax',
      maxAge: 604_800,
    })
  })

  test('is renewed when the server rejects its token, and the request is repeated', async () => {
    const { auth, client, network, storage } = await signUp()
    const kept = JSON.parse(String(storage.load()))
    const broken = { ...kept, token: `${kept.token}x` }
    await storage.save(JSON.stringify(broken))
    const tab = openTab(storage)
    expect((await tab.client.from('task').list()).totalItems).toBe(0)
    expect(refreshes(tab)).toBe(1)
    await auth.load()
    expect((await client.from('task').list()).totalItems).toBe(0)
    expect(refreshes({ auth, client, network })).toBe(0)
  })

  test('is not renewed for a wrong password or code, which counts once', async () => {
    const { auth, network } = await signUp()
    await auth.factors.enrollTotp()
    network.requests.length = 0
    const newPassword = 'another correct horse battery staple'
    await expect(auth.changePassword('wrong', newPassword)).rejects.toMatchObject({ error: 'wrong_password' })
    await expect(auth.factors.confirmTotp('000000')).rejects.toMatchObject({ error: 'invalid_totp_code' })
    expect(network.requests).toEqual([
      'POST /api/auth/change-password',
      'POST /api/auth/mfa/totp/enroll/confirm',
    ])
  })

  test('rejects an id that leads to another URL', async () => {
    const { auth } = await signUp()
    const refused = { name: 'TypeError', message: 'not a name or key of an address: ".."' }
    for (const call of [auth.passkeys.remove, auth.factors.remove, auth.revokeSession])
      await expect(call('..')).rejects.toMatchObject(refused)
  })

  test('is cleared once when the server has ended it', async () => {
    const { auth, client, email } = await signUp()
    await app.sql(
      'delete from basalt.sessions s using basalt.users u where u.id = s.user_id and u.email = $1',
      [email],
    )
    await waitFor('the token to be refused', async () => {
      await client
        .from('task')
        .list()
        .catch(() => undefined)
      return auth.current === undefined
    })
    await expect(client.from('task').list()).rejects.toMatchObject({ error: 'missing_authorization' })
  })

  test('stays when the server is unavailable', async () => {
    const { storage, email } = await signUp()
    const tab = openTab(storage, { now: () => Date.now() + 3_600_000 })
    const offline = createAuth({
      url: app.url,
      storage,
      now: () => Date.now() + 3_600_000,
      retries: 0,
      fetch: () => Promise.reject(new TypeError('fetch failed')),
    })
    await expect(offline.token()).rejects.toMatchObject({ error: 'network_error' })
    expect((await tab.auth.me()).email).toBe(email)
  })

  test.each(['signed-out session', 'session of the previous user'])(
    'does not restore a %s when the response to a refresh arrives late',
    async (which) => {
      const storage = sharedStorage()
      const tabs = [await signUp(storage), openTab(storage)] as const
      const [{ auth, network }, { auth: other }] = tabs
      await other.load()
      for (const ending of tabs) {
        if (auth.current === undefined) await auth.signUp({ email: newEmail(), password })
        const before = auth.current?.user.id
        const release = network.holdAnswer('/api/auth/refresh')
        const refreshed = auth.refresh()
        await waitFor('the refresh', () => network.requests.at(-1) === 'POST /api/auth/refresh')
        if (which === 'signed-out session') await ending.auth.signOut()
        else await ending.auth.signUp({ email: newEmail(), password })
        const { current } = ending.auth
        release()
        expect((await refreshed)?.refreshToken).toBe(current?.refreshToken)
        expect(auth.current?.user.id).toBe(current?.user.id)
        expect(await auth.load()).toEqual(current)
        if (current !== undefined) continue
        // Its successor is revoked, too.
        expect(await app.sql('select from basalt.sessions where user_id = $1', [before])).toEqual([])
      }
    },
  )

  test('is neither started nor ended by a response of a proxy', async () => {
    const { auth, network, email } = await signUp()
    const before = auth.current
    const signIn = () => auth.signIn({ email, password })
    for (const answer of [null, {}, [], 'text', { token: 'a' }, { token: 1, refreshToken: 2, user: {} }]) {
      for (const [path, ask] of [
        ['refresh', auth.refresh],
        ['login', signIn],
      ] as const) {
        network.answer(`/api/auth/${path}`, Response.json(answer))
        await expect(ask(), JSON.stringify(answer)).rejects.toMatchObject({ error: 'invalid_response' })
      }
    }
    // A captive portal or a proxy responds like this.
    for (const refusal of [new Response('<html>', { status: 401 }), Response.json({}, { status: 403 })]) {
      network.answer('/api/auth/refresh', refusal)
      await expect(auth.refresh()).rejects.toMatchObject({ error: `http_${refusal.status}` })
    }
    expect(auth.current).toBe(before)
    expect((await auth.refresh())?.user.email).toBe(email)
  })

  test('is loaded by the next request after the storage failed once', async () => {
    const { storage, email } = await signUp()
    let failures = 1
    const shaky: SessionStorage = {
      ...storage,
      load() {
        if (failures === 0) return storage.load()
        failures -= 1
        throw new Error('the storage is locked')
      },
    }
    const { auth, client } = openTab(shaky)
    await expect(client.from('task').list()).rejects.toThrow('the storage is locked')
    expect((await client.from('task').list()).totalItems).toBe(0)
    expect(auth.current?.user.email).toBe(email)
  })

  test('is not lost when the storage rejects the renewed session', async () => {
    const { storage, email } = await signUp()
    let isFull = true
    const full: SessionStorage = {
      ...storage,
      save(session) {
        if (isFull) throw new Error('the storage is full')
        return storage.save(session)
      },
    }
    const tab = openTab(full)
    await tab.auth.load()
    await expect(tab.auth.refresh()).rejects.toThrow('the storage is full')
    const renewed = await tab.auth.renew(JSON.parse(String(storage.load())).token)
    expect([refreshes(tab), tab.auth.current?.token, tab.auth.current?.user.email]).toEqual([
      1,
      renewed,
      email,
    ])
    isFull = false
    const { token } = (await tab.auth.refresh()) ?? {}
    expect([refreshes(tab), JSON.parse(String(storage.load())).token]).toEqual([2, token])
  })

  test('stays unchanged when the storage fails while another tab saves', async () => {
    const { storage, email } = await signUp()
    let isBroken = false
    const shaky: SessionStorage = {
      ...storage,
      load() {
        if (isBroken) throw new Error('the storage is locked')
        return storage.load()
      },
    }
    const { auth } = openTab(shaky)
    await auth.load()
    const stop = auth.subscribe(() => undefined)
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    try {
      isBroken = true
      await storage.save(null)
      await new Promise(setImmediate)
      expect(auth.current?.user.email).toBe(email)
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', note)
    }
    stop()
  })

  test('is renewed and notifies the other listeners when a listener throws', async () => {
    const { auth } = await signUp()
    using reports = collectReports()
    let calls = 0
    auth.subscribe(() => {
      throw new Error('a listener failed')
    })
    auth.subscribe(() => (calls += 1))
    expect(await auth.refresh()).toBe(auth.current)
    await waitFor('the report', () => reports.errors.length > 0)
    expect([calls, reports.errors]).toEqual([1, [new Error('a listener failed')]])
  })

  test('is renewed without a deadlock when a listener sends requests', async () => {
    const { auth, client } = await signUp()
    let inner: Promise<unknown> | undefined
    const stop = auth.subscribe(() => {
      inner = Promise.all([client.from('task').list(), auth.refresh()])
      stop()
    })
    await auth.refresh()
    expect(await inner).toHaveLength(2)
  })
})

test('auth › second factor › completes the sign-in with a session of level aal2', async () => {
  const { auth, email } = await signUp()
  const { secret } = await auth.factors.enrollTotp()
  const totp = new TOTP({ secret })
  await auth.factors.confirmTotp(totp.generate())
  await auth.signOut()
  const pending: SignInResult = await auth.signIn({ email, password })
  if (pending.status !== 'second_factor') throw new Error(pending.status)
  expect(auth.current).toBeUndefined()
  const { factor } = pending
  expect(await factor.factors()).toMatchObject([{ method: 'totp' }])
  const challenge = await factor.challenge('totp')
  await expect(factor.verify('totp', { ...challenge, code: '000000' })).rejects.toMatchObject({ status: 401 })
  // The server rejects the code of a time step that was used.
  const code = totp.generate({ timestamp: Date.now() + 30_000 })
  const done = await factor.verify('totp', { ...(await factor.challenge('totp')), code })
  expect(done).toMatchObject({ status: 'signed_in', session: { aal: 'aal2' } })
  expect(await auth.factors.makeBackupCodes()).toHaveLength(10)
})

describe('live list', () => {
  /** Records the titles of each state of a list. */
  function watch(list: LiveList<{ title: string }>) {
    const states: string[] = []
    const stop = list.subscribe(({ items, status }) =>
      states.push(`${status}: ${items.map((item) => item.title).join()}`),
    )
    return {
      stop,
      states,
      shows: (text: string) => waitFor(`the list to show ${text}`, () => states.at(-1) === text),
    }
  }

  const open = { filter: { done: false }, sort: ['title'] } as const

  const refuse = (status: number, error: string, after = '0.01') =>
    new Response(JSON.stringify({ code: status, error, message: error }), {
      status,
      headers: { 'retry-after': after },
    })

  test('follows the records that match its filter, and no records of other users', async () => {
    const { client } = await signUp()
    const other = await signUp()
    const prefix = randomUUID()
    const titled = (text: string) => `${prefix} ${text}`
    const tasks = client.from('task')
    await tasks.create({ title: titled('b') })
    const watched = watch(live(client, 'task', open))
    await watched.shows(`live: ${titled('b')}`)
    const a = await tasks.create({ title: titled('a') })
    await watched.shows(`live: ${titled('a')},${titled('b')}`)
    await other.client.from('task').create({ title: titled('hidden') })
    await tasks.update(a.id, { done: true })
    await watched.shows(`live: ${titled('b')}`)
    await tasks.update(a.id, { done: false, title: titled('c') })
    await watched.shows(`live: ${titled('b')},${titled('c')}`)
    await tasks.delete(a.id)
    await watched.shows(`live: ${titled('b')}`)
    watched.stop()
    expect(watched.states.join()).not.toContain('hidden')
  })

  test('misses no change while its connection breaks repeatedly, on two nodes', async () => {
    const { client, network, storage } = await signUp()
    const writer = openTab(storage, { url: second.url })
    const list = live(client, 'task', { sort: ['title'] })
    const watched = watch(list)
    await watched.shows('live: ')
    const prefix = randomUUID()
    const titles = Array.from({ length: 10 }, (_, index) => `${prefix} ${index}`)
    for (const [index, title] of titles.entries()) {
      if (index % 3 === 0) network.cutStreams()
      await writer.client.from('task').create({ title })
    }
    await watched.shows(`live: ${titles.join()}`)
    expect(watched.states.some((state) => state.startsWith('stale'))).toBe(true)
    watched.stop()
  })

  test('starts and stops with its subscribers, repeatedly', async () => {
    const { client, network } = await signUp()
    const list = live(client, 'task')
    expect(list.state).toMatchObject({ status: 'loading', items: [] })
    for (let round = 0; round < 3; round += 1) watch(list).stop()
    const watched = watch(list)
    await watched.shows('live: ')
    expect(network.streams).toBe(1)
    expect(list.state).toBe(list.state)
    watched.stop()
    await waitFor('the stream to end', () => network.streams === 0)
  })

  test('keeps nothing of the previous user', async () => {
    const { client, auth } = await signUp()
    const title = randomUUID()
    await client.from('task').create({ title })
    const watched = watch(live(client, 'task'))
    await watched.shows(`live: ${title}`)
    await auth.signUp({ email: newEmail(), password })
    await watched.shows('live: ')
    const mine = randomUUID()
    await client.from('task').create({ title: mine })
    await watched.shows(`live: ${mine}`)
    watched.stop()
  })

  test.each(['answered', 'refused'])(
    'never shows another user the result of an earlier request that was %s late',
    async (how) => {
      const { client, auth, network } = await signUp()
      const title = randomUUID()
      await client.from('task').create({ title })
      const list = live(client, 'task')
      const watched = watch(list)
      await watched.shows(`live: ${title}`)
      const count = (request: string) => network.requests.filter((each) => each === request).length
      const reads = count('GET /api/collections/task')
      const streams = count('GET /api/realtime')
      const release = network.holdAnswer(
        '/api/collections/task',
        how === 'refused' ? refuse(403, 'permission_denied') : undefined,
      )
      list.refresh()
      await waitFor('the read', () => count('GET /api/collections/task') > reads)
      const shown = watched.states.length
      await auth.signUp({ email: newEmail(), password })
      await waitFor('the next stream', () => count('GET /api/realtime') > streams && network.streams === 1)
      release()
      await watched.shows('live: ')
      const mine = randomUUID()
      await client.from('task').create({ title: mine })
      await watched.shows(`live: ${mine}`)
      expect(watched.states.slice(shown)).toEqual(['loading: ', 'live: ', `live: ${mine}`])
      watched.stop()
    },
  )

  test('is loading after a restart, and empty for another user', async () => {
    const { client, auth } = await signUp()
    const title = randomUUID()
    await client.from('task').create({ title })
    const list = live(client, 'task')
    const first = watch(list)
    await first.shows(`live: ${title}`)
    first.stop()
    const again = watch(list)
    expect(list.state).toMatchObject({ status: 'loading', items: [{ title }], totalItems: 1 })
    await again.shows(`live: ${title}`)
    again.stop()
    await auth.signUp({ email: newEmail(), password })
    const others = watch(list)
    expect(list.state).toEqual({ status: 'loading', items: [], totalItems: 0, error: undefined })
    await others.shows('live: ')
    expect(others.states.join()).not.toContain(title)
    others.stop()
  })

  test('is not live before its connection works, when it starts while the connection is broken', async () => {
    const { client, network } = await signUp()
    const first = live(client, 'task')
    const watched = watch(first)
    await watched.shows('live: ')
    network.answer('/api/realtime', refuse(503, 'unavailable', '1'))
    network.cutStreams()
    await watched.shows('stale: ')
    const second = live(client, 'task', { sort: ['title'] })
    const both: string[] = []
    const stop = second.subscribe(({ status }) => both.push(`${status} beside ${first.state.status}`))
    await waitFor('the second list', () => second.state.status === 'live')
    expect(both.at(-1)).toBe('live beside live')
    stop()
    watched.stop()
  })

  test('misses no change when it is refreshed before its stream is open', async () => {
    const { client, network } = await signUp()
    network.answer('/api/realtime', refuse(503, 'unavailable', '2'))
    const list = live(client, 'task')
    const watched = watch(list)
    await waitFor('the refusal', () => list.state.error !== undefined)
    list.refresh()
    await watched.shows('stale: ')
    await client.from('task').create({ title: 'in between' })
    await watched.shows('live: in between')
    watched.stop()
  })

  test('reads again when a record expanded in another record of its table is deleted', async () => {
    await app.sql('create table node (id int primary key, parent_id int references node on delete cascade)')
    const { auth } = await signUp()
    const client = createClient({ url: app.url, auth })
    const nodes = client.from('node')
    await waitFor('the table', () =>
      nodes.createMany([{ id: 1 }, { id: 2, parent_id: 1 }]).catch(() => false),
    )
    const list = live(client, 'node', { filter: { parent_id: null }, expand: { node: true } })
    const stop = list.subscribe(() => undefined)
    const children = () => list.state.items.flatMap((item) => item.expand.node ?? []).length
    await waitFor('the child', () => list.state.status === 'live' && children() === 1)
    await nodes.delete(2)
    await waitFor('the list without it', () => children() === 0)
    stop()
  })

  test('is stale while it cannot be read, and retries', async () => {
    const { client, network } = await signUp()
    const list = live(client, 'task', { sort: ['title'] })
    const watched = watch(list)
    await watched.shows('live: ')
    const errors = new Set<unknown>()
    const stop = list.subscribe(({ error }) => errors.add(error))
    // A pause that exceeds the retry time of a read leaves it one attempt.
    const refusals = [refuse(503, 'unavailable', '3'), refuse(503, 'unavailable', '3')]
    network.answer('/api/collections/task', ...refusals)
    await client.batch((batch) => [batch.create('task', { title: 'missed' })])
    await watched.shows('live: missed')
    expect(watched.states).toEqual(['live: ', 'stale: ', 'stale: ', 'live: missed'])
    expect([...errors].slice(0, 2)).toMatchObject([{ error: 'unavailable' }, { error: 'unavailable' }])
    expect(list.state.error).toBeUndefined()
    stop()
    watched.stop()
  })

  test('reads again before it is live, when its stream reconnects after a rejected read', async () => {
    const { client, network } = await signUp()
    const watched = watch(live(client, 'task', { sort: ['title'] }))
    await watched.shows('live: ')
    network.answer('/api/collections/task', refuse(403, 'permission_denied'))
    await client.batch((batch) => [batch.create('task', { title: 'refused' })])
    await watched.shows('failed: ')
    network.cutStreams()
    await watched.shows('live: refused')
    expect(watched.states).not.toContain('live: ,')
    expect(watched.states.filter((state) => state === 'live: ')).toHaveLength(1)
    watched.stop()
  })

  test('continues when a listener throws, and reports the error', async () => {
    const { client, network } = await signUp()
    using reports = collectReports()
    const fail = (what: string) => () => {
      throw new Error(`${what} failed`)
    }
    const list = live(client, 'task', { sort: ['title'] })
    const stops = [
      list.subscribe(fail('a subscriber')),
      subscribe(client, ['task'], { onConnected: fail('onConnected'), onChange: fail('onChange') }),
    ]
    const watched = watch(list)
    await watched.shows('live: ')
    await client.from('task').create({ title: 'a' })
    await watched.shows('live: a')
    const messages = () => new Set(reports.errors.map((error) => (error as Error).message))
    await waitFor('the reports', () => messages().size === 3)
    expect([network.streams, watched.states]).toEqual([1, ['live: ', 'live: a']])
    for (const stop of stops) stop()
    watched.stop()
  })

  test('reports a permanent error', async () => {
    const { client } = await signUp()
    // @ts-expect-error there is no such table
    const list: LiveList<{ title: string }> = live(client, 'nothing')
    const stop = list.subscribe(() => undefined)
    await waitFor('the list to fail', () => list.state.status === 'failed')
    expect(list.state.error).toMatchObject({ status: 400 })
    stop()
  })
})

describe('shared stream of several tabs', () => {
  /** Opens tabs of one user. */
  async function openTabs(count: number): Promise<readonly [Tab, Tab, ...Tab[]]> {
    const storage = sharedStorage()
    const first = await signUp(storage)
    const [second, ...others] = Array.from({ length: count - 1 }, () => openTab(storage))
    if (second === undefined) throw new Error('several tabs are two at least')
    await Promise.all([second, ...others].map(({ auth }) => auth.load()))
    return [first, second, ...others]
  }

  test('is taken over by the next tab when the first is closed, without losing a change', async () => {
    const tabs = await openTabs(3)
    const received = tabs.map(() => [] as string[])
    const connected = tabs.map(() => 0)
    const stops: (() => void)[] = []
    for (const [index, { client }] of tabs.entries()) {
      const stop = subscribe(client, ['task'], {
        onConnected: () => (connected[index] = (connected[index] ?? 0) + 1),
        onChange: ({ record }) => received[index]?.push(String(record.title)),
      })
      stops.push(stop)
      await waitFor('the tab to be connected', () => (connected[index] ?? 0) > 0)
    }
    const streams = () => tabs.map(({ network }) => network.streams)
    expect(streams()).toEqual([1, 0, 0])
    const titles = Array.from({ length: 6 }, () => randomUUID())
    for (const [index, title] of titles.entries()) {
      if (index === 3) stops[0]?.()
      await tabs[1]?.client.from('task').create({ title })
    }
    await waitFor('the other tabs to have all of them', () =>
      [1, 2].every((index) => received[index]?.length === titles.length),
    )
    expect(received[1]).toEqual(titles)
    expect(received[2]).toEqual(titles)
    expect(streams().reduce((sum, count) => sum + count, 0)).toBe(1)
    for (const stop of stops) stop()
    await waitFor('the stream to end', () => streams().every((count) => count === 0))
  })

  test('delivers each change once when the leading tab is closed during a change', async () => {
    const tabs = await openTabs(3)
    const received = tabs.map(() => [] as string[])
    const stops: (() => void)[] = []
    for (const [index, { client }] of tabs.entries()) {
      let isConnected = false
      const onChange = ({ record }: { readonly record: Readonly<Record<string, unknown>> }) => {
        received[index]?.push(String(record.title))
        if (index === 0) stops[0]?.()
      }
      stops.push(subscribe(client, ['task'], { onConnected: () => (isConnected = true), onChange }))
      await waitFor('the tab to be connected', () => isConnected)
    }
    const titles = Array.from({ length: 4 }, () => randomUUID())
    for (const title of titles) await tabs[1]?.client.from('task').create({ title })
    await waitFor('the last change', () => [1, 2].every((index) => received[index]?.at(-1) === titles.at(-1)))
    expect(received).toEqual([titles.slice(0, 1), titles, titles])
    for (const stop of stops) stop()
  })

  test('covers the tables of all tabs', async () => {
    const [first, other] = await openTabs(2)
    const seen: string[] = []
    let connections = 0
    const listener = {
      onConnected: () => (connections += 1),
      onChange: ({ table }: { table: string }) => seen.push(table),
    }
    const stops = [subscribe(first.client, ['task'], listener), subscribe(other.client, ['artist'], listener)]
    await waitFor('both to be connected', () => connections >= 2)
    await first.client.from('artist').create({ name: 'x' })
    await first.client.from('task').create({ title: randomUUID() })
    await waitFor('each to have its change', () => seen.length >= 2)
    expect(seen.sort()).toEqual(['artist', 'task'])
    expect(first.network.streams + other.network.streams).toBe(1)
    for (const stop of stops) stop()
  })

  test('reports the same error to every tab when the connection breaks', async () => {
    const tabs = await openTabs(2)
    const errors: (Error | undefined)[] = []
    const connected: Tab[] = []
    const stops: (() => void)[] = []
    for (const tab of tabs) {
      const stop = subscribe(tab.client, ['task'], {
        onConnected: () => connected.push(tab),
        onChange: () => undefined,
        onDisconnected: (error) => errors.push(error),
      })
      stops.push(stop)
      await waitFor('the tab to be connected', () => connected.includes(tab))
    }
    for (const { network } of tabs) network.cutStreams()
    await waitFor('both to be disconnected', () => errors.length >= 2)
    const [first, other] = errors
    expect(first).toBeInstanceOf(Error)
    expect(other).toBeInstanceOf(Error)
    expect(other?.message).toBe(first?.message)
    for (const stop of stops) stop()
  })

  test('continues for the other tabs when a table is refused', async () => {
    const [first, other] = await openTabs(2)
    const seen: unknown[] = []
    let connections = 0
    const following = subscribe(first.client, ['task'], {
      onConnected: () => (connections += 1),
      onChange: ({ record }) => seen.push(record.title),
      onFailed: (error) => seen.push(error),
    })
    await waitFor('the first to be connected', () => connections > 0)
    const refused: unknown[] = []
    for (const { client } of [first, other]) {
      // @ts-expect-error there is no such table
      subscribe(client, ['task', 'nothing'], {
        onChange: () => undefined,
        onFailed: (error) => refused.push(error),
      })
    }
    await waitFor('both to be refused', () => refused.length >= 2)
    for (const error of refused) {
      expect(error).toMatchObject({ error: 'unknown_table', status: 400, data: { table: 'nothing' } })
    }
    const title = randomUUID()
    await other.client.from('task').create({ title })
    await waitFor('the change', () => seen.length > 0)
    expect(seen).toEqual([title])
    following()
    await waitFor('the stream to end', () => first.network.streams + other.network.streams === 0)
  })
})

test('follow › rejects with the error that its listener throws, and ends with its signal', async () => {
  const { client } = await signUp()
  const failure = new Error('cannot store it')
  const open = { tables: ['task'] as const, signal: new AbortController().signal }
  const onEvent = ({ type }: { type: string }) => {
    if (type === 'connected') throw failure
  }
  await expect(follow(client, { ...open, onEvent })).rejects.toBe(failure)
  const controller = new AbortController()
  const following = follow(client, {
    ...open,
    signal: controller.signal,
    onEvent: ({ type }) => type === 'connected' && controller.abort(),
  })
  expect(await following).toBeUndefined()
})

test('channel › delivers broadcasts and presence, and is joined again when its connection breaks', async () => {
  const ada = await signUp()
  const bob = await signUp()
  const received: unknown[] = []
  let present: unknown[] = []
  let connections = 0
  const adas = joinChannel(ada.client, 'room:1', {
    onBroadcast: (broadcast) => received.push(broadcast),
    onPresence: (next) => (present = [...next.values()]),
    onConnected: () => (connections += 1),
  })
  const bobs = joinChannel(bob.client, 'room:1', {})
  await Promise.all([adas.track({ name: 'Ada' }), bobs.track({ name: 'Bob' })])
  await waitFor('both to be present', () => present.length === 2)
  await bobs.broadcast('said', { text: 'hello', id: 9007199254740993n })
  await waitFor('the broadcast', () => received.length === 1)
  expect(received).toEqual([{ event: 'said', payload: { text: 'hello', id: '9007199254740993' } }])
  const before = connections
  await ada.auth.signUp({ email: newEmail(), password })
  await waitFor('the channel to be joined as another user', () => connections > before)
  await waitFor('both to be present again', () => present.length === 2)
  await bobs.broadcast('said', 'again')
  await waitFor('the next broadcast', () => received.length === 2)
  adas.leave()
  bobs.leave()
})

function createCookies() {
  const jar = new Map<string, string>()
  let last: CookieAttributes | undefined
  return {
    get: (name: string) => jar.get(name),
    set(name: string, value: string, attributes: CookieAttributes) {
      last = attributes
      jar.set(name, value)
    },
    get attributes() {
      return last
    },
  }
}
