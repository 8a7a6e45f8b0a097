import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AccountsApp, claimsOf, createAccountsApp } from '../../../../../test/accounts.ts'
import { forgeJwt } from '../../../../../test/jwt.ts'
import { envelope, type TestApp } from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'

let accounts: AccountsApp
let app: TestApp
let other: TestApp
let admin: string
beforeAll(async () => {
  accounts = await createAccountsApp({
    config: {
      'auth.oauth_provider.enabled': 'true',
      'audit.tables': 'memo',
      'logging.level': 'info',
      'logging.requests': 'all',
    },
    setup: `
      create table memo (id int primary key, owner uuid not null default current_setting('basalt.user_id', true)::uuid, aal text);
      alter table memo enable row level security;
      grant select, insert, update, delete on memo to basalt_authenticated;
      create policy own on memo using (owner = current_setting('basalt.user_id')::uuid)
        with check (aal is null or aal = current_setting('basalt.aal'));`,
  })
  app = accounts.app
  other = await accounts.secondNode()
  admin = await app.adminToken()
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const call = (method: string, path: string, body?: unknown, node = app) =>
  node.request(method, `/api/admin/${path}`, { token: admin, body })
const impersonate = async (userId: string, body: object = { reason: 'a complaint' }) => {
  const response = await call('POST', `users/${userId}/impersonate`, body)
  if (response.status !== 201) throw new Error(response.text)
  return response.json
}
const audit = (action: string) =>
  app.sql(
    'select actor, target, detail, user_id from basalt.audit where action = $1 order by id desc limit 1',
    [action],
  )

test('impersonation › returns a marked token of the user, is listed, and is audited with the reason', async () => {
  const { user } = await accounts.register()
  const made = await call('POST', `users/${user.id}/impersonate`, { reason: '  <b>ticket</b> 17 ' })
  expect([made.status, made.json]).toEqual([
    201,
    {
      id: expect.any(String),
      token: expect.any(String),
      expiresAt: expect.stringMatching(/Z$/),
      user: expect.objectContaining({ id: user.id, email: user.email }),
    },
  ])
  const { id, token, expiresAt } = made.json
  const claims = claimsOf(token)
  expect(claims).toMatchObject({ sub: user.id, sid: id, aal: 'aal1', act: { sub: 'admin' } })
  expect(Number(claims.exp) - Number(claims.iat)).toBe(900)
  expect(new Date(Number(claims.exp) * 1000).toISOString()).toBe(expiresAt)
  const { items } = (await call('GET', 'impersonations')).json
  expect(items[0]).toEqual({
    id,
    userId: user.id,
    email: user.email,
    impersonatedBy: 'admin',
    reason: '<b>ticket</b> 17',
    aal: 'aal1',
    createdAt: expect.any(String),
    expiresAt: expect.any(String),
  })
  expect(await audit('users.impersonate')).toEqual([
    {
      actor: 'admin',
      target: user.id,
      user_id: null,
      detail: {
        reason: '<b>ticket</b> 17',
        aal: 'aal1',
        sessionId: id,
        expiresAt,
        administratorSession: expect.any(String),
      },
    },
  ])
  expect((await call('GET', `users/${user.id}`)).json.lastActiveAt).not.toBeNull()
})

test('impersonation › reads and writes as the user, and every record of it names the administrator', async () => {
  const { user } = await accounts.register()
  const { token } = await impersonate(user.id)
  const written = await app.request('POST', '/api/collections/memo', { token, body: { id: 1, aal: 'aal1' } })
  expect([written.status, written.json.owner]).toEqual([201, user.id])
  expect(
    (await app.request('POST', '/api/collections/memo', { token, body: { id: 2, aal: 'aal2' } })).status,
  ).toBe(403)
  expect(await audit('rows.insert')).toEqual([
    { actor: 'admin as user', target: null, detail: {}, user_id: user.id },
  ])
  const stronger = await impersonate(user.id, { reason: 'a complaint', aal: 'aal2' })
  const strong = { token: stronger.token, body: { id: 2, aal: 'aal2' } }
  expect((await other.request('POST', '/api/collections/memo', strong)).status).toBe(201)
  await expect
    .poll(async () => {
      const { items } = (await call('GET', `analytics/requests?user_id=${user.id}&method=POST`)).json
      return items.map((item: { impersonated_by: string | null }) => item.impersonated_by)
    })
    .toEqual(['admin', 'admin', 'admin'])
  const lines = app.log.filter((line) => line.includes(user.id))
  expect(lines.some((line) => JSON.parse(line).impersonatedBy === 'admin')).toBe(true)
})

test('impersonation › cannot reach the account or consent to an OAuth client', async () => {
  const { user } = await accounts.register()
  const { token, id } = await impersonate(user.id, { reason: 'x', aal: 'aal2' })
  const refusal = {
    code: 403,
    message: 'an administrator who acts as a user may not use this endpoint',
    error: 'impersonation_refused',
  }
  for (const [method, path] of [
    ['GET', 'me'],
    ['DELETE', 'me'],
    ['POST', 'change-password'],
    ['GET', 'sessions'],
    ['DELETE', 'sessions?all_except_current=true'],
    ['POST', 'api-keys'],
    ['POST', 'mfa/totp/enroll'],
    ['POST', 'authorize/consent'],
  ] as const) {
    const body = method === 'POST' ? {} : undefined
    expect(envelope(await app.request(method, `/api/auth/${path}`, { token, body }))).toEqual(refusal)
  }
  expect(envelope(await app.request('GET', '/api/admin/users', { token }))).toEqual(refusal)
  // The consent page recognizes its visitor by a cookie.
  const appId = '00000000-0000-0000-0000-000000000000'
  const redirect = 'https://client.example/callback'
  const settings = { appId, name: 'C', redirectUris: [redirect], scopes: ['*'], clientType: 'public' }
  const { client } = (await call('POST', 'oauth/clients', settings)).json
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirect,
    scope: '*',
    state: 's',
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
  })
  const decide = async (cookie: string) =>
    await fetch(`${app.url}/oauth/authorize`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        cookie: `basalt_authorize=${cookie}`,
        origin: app.url,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: String(new URLSearchParams({ request: String(query), step: 'consent', decision: 'approve' })),
    })
  await decide(token)
  expect(await app.sql('select 1 from basalt.oauth_consents where user_id = $1', [user.id])).toEqual([])
  // The cookie of the page is not an access token, so the user's own access token does not work either.
  const own = await accounts.register()
  await decide(own.token)
  expect(await app.sql('select 1 from basalt.oauth_consents where user_id = $1', [own.user.id])).toEqual([])
  expect((await call('DELETE', `impersonations/${id}`)).status).toBe(204)
})

test('impersonation › is visible to the user, who can end it', async () => {
  const { user, token } = await accounts.register()
  const acting = await impersonate(user.id)
  const sessions = (await app.request('GET', '/api/auth/sessions', { token })).json
  expect(sessions).toHaveLength(2)
  expect(sessions).toContainEqual(expect.objectContaining({ id: acting.id, impersonated_by: 'admin' }))
  expect((await app.request('DELETE', `/api/auth/sessions/${acting.id}`, { token })).status).toBe(204)
  const readStatus = async () =>
    (await other.request('GET', '/api/collections/memo', { token: acting.token })).status
  await expect.poll(readStatus).toBe(401)
})

test('impersonation › ends once, on every node', async () => {
  const { user } = await accounts.register()
  const { id, token } = await impersonate(user.id)
  const readStatus = async () => (await other.request('GET', '/api/collections/memo', { token })).status
  expect(await readStatus()).toBe(200)
  const ended = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      call('DELETE', `impersonations/${id}`, undefined, index % 2 ? other : app),
    ),
  )
  expect(ended.map(({ status }) => status).toSorted()).toEqual([204, ...Array(9).fill(404)])
  await expect.poll(readStatus).toBe(401)
  expect(await audit('users.end_impersonation')).toMatchObject([
    { target: user.id, detail: { sessionId: id } },
  ])
  for (const unknown of [id, 'x']) {
    expect(envelope(await call('DELETE', `impersonations/${unknown}`))).toEqual({
      code: 404,
      message: 'impersonation not found',
      error: 'impersonation_not_found',
    })
  }
  const own = (await accounts.register()).user
  const [session] = (await call('GET', `users/${own.id}/sessions`)).json
  expect((await call('DELETE', `impersonations/${session.id}`)).status).toBe(404)
})

/** Signs in an administrator with a session apart from the one of the file. */
async function signInApart() {
  const { token } = (await app.request('POST', '/api/admin/auth', { body: { password: testAdminPassword } }))
    .json
  const { user } = await accounts.register()
  return {
    token,
    impersonate: () =>
      app.request('POST', `/api/admin/users/${user.id}/impersonate`, { token, body: { reason: 'x' } }),
    signOut: () => other.request('POST', '/api/admin/auth/logout', { token }),
  }
}
const statusOn = async (node: TestApp, token: string) =>
  (await node.request('GET', '/api/collections/memo', { token })).status

test('impersonation › ends on every node with the session of its administrator, and with no other session', async () => {
  const [first, second] = [await signInApart(), await signInApart()]
  const ended = (await first.impersonate()).json.token
  const unaffected = (await second.impersonate()).json.token
  expect([await statusOn(app, ended), await statusOn(other, ended)]).toEqual([200, 200])
  expect((await first.signOut()).status).toBe(204)
  for (const node of [app, other]) await expect.poll(() => statusOn(node, ended)).toBe(401)
  expect(await statusOn(app, unaffected)).toBe(200)
  // A new password ends all sessions in this way.
  await app.sql('delete from basalt.admin_sessions where token_hash = sha256($1)', [
    Buffer.from(second.token),
  ])
  for (const node of [app, other]) await expect.poll(() => statusOn(node, unaffected)).toBe(401)
})

test('impersonation › ends no later than the session of the administrator', async () => {
  const { token, impersonate: start } = await signInApart()
  for (const [column, minutes] of [
    ['expires_at', 5],
    ['idle_expires_at', 4],
  ] as const) {
    await app.sql(
      `update basalt.admin_sessions set ${column} = now() + make_interval(mins => $1) where token_hash = sha256($2)`,
      [minutes, Buffer.from(token)],
    )
    const claims = claimsOf((await start()).json.token)
    const seconds = Number(claims.exp) - Number(claims.iat)
    expect(seconds).toBeGreaterThan(minutes * 60 - 60)
    expect(seconds).toBeLessThanOrEqual(minutes * 60)
  }
})

test('impersonation › has ended after a concurrent sign-out of the administrator', async () => {
  const { impersonate: start, signOut } = await signInApart()
  const [out, ...begun] = await Promise.all([signOut(), ...Array.from({ length: 9 }, start)])
  expect(out.status).toBe(204)
  for (const { status, json } of begun) {
    expect([201, 401]).toContain(status)
    if (status === 201) await expect.poll(() => statusOn(other, json.token)).toBe(401)
    else expect(json.message).toBe('admin authentication required')
  }
})

test('impersonation › ends with the user', async () => {
  const { user } = await accounts.register()
  const { token } = await impersonate(user.id)
  await call('POST', `users/${user.id}/disable`)
  const readStatus = async () => (await other.request('GET', '/api/collections/memo', { token })).status
  await expect.poll(readStatus).toBe(401)
  expect(envelope(await call('POST', `users/${user.id}/impersonate`, { reason: 'x' }))).toEqual({
    code: 409,
    message: 'user is disabled',
    error: 'user_disabled',
  })
})

test.each([
  [{ reason: 'a\ud800' }, 'reason: expected Unicode text without NUL'],
  [{}, 'reason is required'],
  [{ reason: ' \0 ' }, 'reason is required'],
  [{ reason: 'x', aal: 'aal3' }, 'aal: expected one of aal1, aal2'],
  [{ reason: 'x'.repeat(501) }, expect.stringMatching(/^reason/)],
])('impersonation › rejects %j', async (body, message) => {
  const { user } = await accounts.register()
  const response = await call('POST', `users/${user.id}/impersonate`, body)
  expect([response.status, response.json.message]).toEqual([400, message])
})

test.each([
  ['an actor without a session', { act: { sub: 'admin' } }],
  ['an actor without a name', { act: {}, sid: '7b0b1c1e-0000-4000-8000-000000000000' }],
  ['an actor that is a text', { act: 'admin', sid: '7b0b1c1e-0000-4000-8000-000000000000' }],
])('impersonation › rejects a token with %s', async (_what, more) => {
  const { user } = await accounts.register()
  const claims = { sub: user.id, email: '', aal: 'aal1', amr: [], exp: Math.floor(Date.now() / 1000) + 60 }
  const token = forgeJwt({ payload: { ...claims, ...more } })
  expect((await app.request('GET', '/api/collections/memo', { token })).status).toBe(401)
})
