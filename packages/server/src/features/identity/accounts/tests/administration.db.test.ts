import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { type AccountsApp, createAccountsApp, goodPassword } from '../../../../../test/accounts.ts'
import { createTcpProxy } from '../../../../../test/tcp-proxy.ts'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
let other: TestApp
let admin: string
beforeAll(async () => {
  accounts = await createAccountsApp()
  other = await accounts.secondNode()
  admin = await accounts.app.adminToken()
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const call = (method: string, path: string, options = {}) =>
  accounts.app.request(method, `/api/admin/${path}`, { token: admin, ...options })
const audit = (action: string) =>
  accounts.app.sql(
    'select actor, target, detail from basalt.audit where action = $1 order by id desc limit 1',
    [action],
  )
const userNotFound = { code: 404, message: 'user not found', error: 'user_not_found' }

describe('/api/admin/auth-settings', () => {
  const configured = {
    magic_link_enabled: true,
    sms_enabled: true,
    email_mfa_enabled: false,
    anonymous_auth_enabled: true,
    totp_enabled: false,
    webauthn_enabled: false,
  }
  const closed = Object.fromEntries(Object.keys(configured).map((name) => [name, false]))

  test('returns the configured settings at first', async () => {
    const response = await call('GET', 'auth-settings')
    expect([response.status, response.json]).toEqual([200, configured])
    expect((await call('GET', 'auth-settings/')).json).toEqual(configured)
  })

  test.each(['PATCH', 'PUT'])('%s replaces all settings on every node, permanently', async (method) => {
    const response = await call(method, 'auth-settings', { body: { anonymous_auth_enabled: true } })
    expect([response.status, response.json]).toEqual([200, { ...closed, anonymous_auth_enabled: true }])
    expect((await accounts.post('sms', { phone: '+12025550100' })).status).toBe(404)
    const linkRequest = { body: { email: 'a@example.com' } }
    await expect
      .poll(async () => (await other.request('POST', '/api/auth/magic-link', linkRequest)).status)
      .toBe(404)
    expect((await other.request('POST', '/api/auth/anonymous')).status).toBe(201)
    await using late = await createTestApp({ database: accounts.app.database })
    expect((await late.request('POST', '/api/auth/anonymous')).status).toBe(201)
    expect(await audit('auth_settings.replace')).toEqual([
      { actor: 'admin', target: null, detail: { ...closed, anonymous_auth_enabled: true } },
    ])
    await call(method, 'auth-settings', { body: configured })
    await expect
      .poll(async () => (await other.request('POST', '/api/auth/magic-link', linkRequest)).status)
      .toBe(200)
  })

  test('applies the last committed of two changes on both nodes, however late the other response is', async () => {
    const url = new URL(accounts.app.database.url)
    await using proxy = await createTcpProxy(Number(url.port))
    url.port = String(proxy.port)
    const config = { 'database.url': url.href }
    await using slow = await createTestApp({ database: accounts.app.database, config })
    const path = '/api/admin/auth-settings'
    const token = await slow.adminToken()
    const commit = proxy.holdReply((_, sent) => /insert into basalt\.settings.*\bcommit\b/is.test(sent))
    const first = slow.request('PATCH', path, { token, body: { ...configured, totp_enabled: true } })
    await commit.held
    const last = { ...configured, anonymous_auth_enabled: false }
    expect((await call('PATCH', 'auth-settings', { body: last })).status).toBe(200)
    const inForce = async () => (await slow.request('GET', path, { token })).json
    await expect.poll(inForce).toEqual(last)
    commit.release()
    expect((await first).status).toBe(200)
    expect(await inForce()).toEqual(last)
    await call('PATCH', 'auth-settings', { body: configured })
  })

  test.each([{ sms_enabled: 'yes' }, { sms_enabled: 1 }, [], 'text'])('rejects %j', async (body) => {
    expect((await call('PATCH', 'auth-settings', { body })).status).toBe(400)
    expect((await call('GET', 'auth-settings')).json).toEqual(configured)
  })

  test('rejects callers who are not administrators', async () => {
    const { token } = await accounts.register()
    for (const method of ['GET', 'PATCH', 'PUT']) {
      for (const wrong of [undefined, 'nonsense', token]) {
        const body = method === 'GET' ? undefined : {}
        expect((await call(method, 'auth-settings', { token: wrong, body })).status).toBe(401)
      }
    }
  })
})

describe('/api/admin/users', () => {
  test('lists users, the newest first, and finds them', async () => {
    const first = (await accounts.register('find.me_100%@example.com')).user
    const second = (await accounts.register()).user
    const listed = await call('GET', 'users?perPage=2')
    expect(listed.status).toBe(200)
    expect(listed.json).toMatchObject({ page: 1, perPage: 2 })
    expect(listed.json.totalPages).toBe(Math.ceil(listed.json.totalItems / 2))
    expect(listed.json.items[0]).toEqual({
      ...second,
      disabled: false,
      lastActiveAt: expect.stringMatching(/Z$/),
      hasPassword: true,
      factors: [],
      providers: [],
    })
    expect(JSON.stringify(listed.json)).not.toMatch(/hash|argon2/)
    for (const search of ['ME_100%', first.id, ' find.me_100%@EXAMPLE.com ']) {
      const found = await call('GET', `users?search=${encodeURIComponent(search)}`)
      expect(found.json.items.map(({ id }: { id: string }) => id)).toEqual([first.id])
    }
    const none = await call('GET', 'users?search=e_____________________e')
    expect(none.json).toEqual({ items: [], page: 1, perPage: 20, totalItems: 0, totalPages: 0 })
    const beyond = await call('GET', 'users?page=1000')
    expect(beyond.json).toMatchObject({ items: [], totalItems: listed.json.totalItems })
  })

  test.each([
    ...['page=x', 'page=', 'page=1&page=2', 'page=1e3', 'page=0x1', 'page=true', 'page=1.5'],
    ...['page=%201', 'page=99999999999999999999', 'page=null', 'page=%5B1%5D'],
    ...['perPage=true', 'perPage=false', 'perPage=', 'perPage=1e1', 'perPage=2.0'],
    ...['perPage=2&perPage=2', 'search=a&search=b'],
  ])('rejects %s and names the parameter', async (query) => {
    const response = await call('GET', `users?${query}`)
    expect([response.status, response.json.message]).toEqual([
      400,
      expect.stringMatching(new RegExp(`^${query.split('=')[0]}\\b`)),
    ])
  })

  test.each([
    ['page=0&perPage=0', { page: 1, perPage: 1 }],
    ['page=-1&perPage=101', { page: 1, perPage: 100 }],
  ])('limits %s to a page within bounds', async (query, expected) => {
    expect((await call('GET', `users?${query}`)).json).toMatchObject(expected)
  })

  test('returns one user with sessions', async () => {
    const { user } = await accounts.register()
    expect((await call('GET', `users/${user.id}`)).json).toEqual({
      ...user,
      disabled: false,
      lastActiveAt: expect.any(String),
      hasPassword: true,
      factors: [],
      providers: [],
    })
    const sessions = await call('GET', `users/${user.id}/sessions`)
    expect(sessions.json).toEqual([expect.objectContaining({ ip_address: '127.0.0.1', current: false })])
  })

  test('disables and enables a user', async () => {
    const { user, token, refreshToken } = await accounts.register()
    expect((await call('POST', `users/${user.id}/disable`)).json).toMatchObject({
      id: user.id,
      disabled: true,
      lastActiveAt: null,
    })
    expect(await audit('users.disable')).toEqual([{ actor: 'admin', target: user.id, detail: {} }])
    for (const node of [accounts.app, other]) {
      await expect.poll(async () => (await node.request('GET', '/api/auth/me', { token })).status).toBe(401)
      expect((await node.request('POST', '/api/auth/refresh', { body: { refreshToken } })).status).toBe(401)
      const login = await node.request('POST', '/api/auth/login', {
        body: { email: user.email, password: goodPassword },
      })
      expect(login.status).toBe(401)
    }
    expect((await call('POST', `users/${user.id}/enable`)).json).toMatchObject({ disabled: false })
    expect((await accounts.post('login', { email: user.email, password: goodPassword })).status).toBe(200)
  })

  test('ends all sessions of a user', async () => {
    const { user, token } = await accounts.register()
    expect((await call('DELETE', `users/${user.id}/sessions`)).status).toBe(204)
    await expect.poll(async () => (await other.request('GET', '/api/auth/me', { token })).status).toBe(401)
    expect((await accounts.post('login', { email: user.email, password: goodPassword })).status).toBe(200)
  })

  test('ends the session of a sign-in in flight too', async () => {
    const { user } = await accounts.register()
    for (const [method, path] of [
      ['DELETE', 'sessions'],
      ['POST', 'disable'],
    ] as const) {
      await using signIn = await openTransaction(accounts.app.database)
      // The same order as in a sign-in: a shared lock on the user, then the session.
      await signIn.sql('select 1 from basalt.users where id = $1 for share', [user.id])
      await signIn.sql(
        `insert into basalt.sessions (user_id, aal, amr, expires_at)
         values ($1, 'aal1', '{password}', now() + interval '1 day')`,
        [user.id],
      )
      await signIn.sql(
        `insert into basalt.pending_sign_ins (user_id, method, expires_at) values ($1, 'password', now() + interval '1 min')`,
        [user.id],
      )
      const ended = call(method, `users/${user.id}/${path}`)
      await signIn.waitForBlocked()
      await signIn.commit()
      expect((await ended).status).toBeLessThan(300)
      for (const table of ['sessions', 'pending_sign_ins']) {
        expect(await accounts.app.sql(`select 1 from basalt.${table} where user_id = $1`, [user.id])).toEqual(
          [],
        )
      }
    }
  })

  test('leaves no session when ten requests sign in and refresh on two nodes meanwhile', async () => {
    const { user, refreshToken } = await accounts.register()
    const body = { email: user.email, password: goodPassword }
    const nodes = [accounts.app, other]
    const signIns = Array.from({ length: 10 }, (_, index) =>
      (nodes[index % 2] ?? other).request('POST', '/api/auth/login', { body }),
    )
    const refreshed = Promise.all(
      nodes.map((node) => node.request('POST', '/api/auth/refresh', { body: { refreshToken } })),
    )
    const ended = [call('DELETE', `users/${user.id}/sessions`), call('DELETE', `users/${user.id}/sessions`)]
    for (const response of await Promise.all(ended)) expect(response.status).toBe(204)
    const answers = [...(await Promise.all(signIns)), ...(await refreshed)]
    for (const { status } of answers) expect([200, 401]).toContain(status)
    // Sessions from before the last end are deleted and later ones work, without exception.
    expect((await call('DELETE', `users/${user.id}/sessions`)).status).toBe(204)
    for (const { json } of answers.filter(({ status }) => status === 200)) {
      for (const node of nodes) {
        await expect
          .poll(async () => (await node.request('GET', '/api/auth/me', { token: json.token })).status)
          .toBe(401)
      }
    }
  })

  test('deletes a user', async () => {
    const { user, token } = await accounts.register()
    expect((await call('DELETE', `users/${user.id}`)).status).toBe(204)
    await expect.poll(async () => (await other.request('GET', '/api/auth/me', { token })).status).toBe(401)
    expect(envelope(await call('DELETE', `users/${user.id}`))).toEqual(userNotFound)
    expect(await audit('users.delete')).toEqual([{ actor: 'admin', target: user.id, detail: {} }])
  })

  test.each([
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/sessions'],
    ['DELETE', '/sessions'],
    ['POST', '/disable'],
    ['POST', '/enable'],
  ])('%s %s returns 404 for an unknown user, and only to administrators', async (method, suffix) => {
    const of = async (id: string) => envelope(await call(method, `users/${encodeURIComponent(id)}${suffix}`))
    expect(await of('7b0b1c1e-0000-4000-8000-000000000000')).toEqual(userNotFound)
    const malformed = { code: 400, message: 'invalid user id format', error: 'invalid_user_id' }
    for (const id of ['nobody', "x' or true --"]) expect(await of(id)).toEqual(malformed)
    const { token, user } = await accounts.register()
    for (const wrong of [undefined, token]) {
      expect((await call(method, `users/${user.id}${suffix}`, { token: wrong })).status).toBe(401)
    }
  })
})
