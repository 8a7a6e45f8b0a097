import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { type AccountsApp, goodPassword, newEmail } from '../../../../../test/accounts.ts'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { tokenIn } from '../../../../../test/inbox.ts'
import { createMfaApp, totpUser } from '../../../../../test/second-factors.ts'
import { envelope, type TestApp } from '../../../../../test/test-app.ts'

const absent = '7b0b1c1e-0000-4000-8000-000000000000'

let accounts: AccountsApp
let app: TestApp
let other: TestApp
let admin: string
beforeAll(async () => {
  accounts = await createMfaApp({
    config: { 'auth.oauth_provider.enabled': 'true', 'storage.enabled': 'true' },
    setup: `
      create table invoice (id int primary key, owner uuid references basalt.users);
      create table post (id int primary key, author uuid references basalt.users on delete cascade,
        editor uuid references basalt.users on delete set null);
      create table comment (id int primary key, post int references post on delete cascade);
      create table reaction (comment int references comment on delete set null);
      create table visit (user_id uuid references basalt.users on delete cascade) partition by list (user_id);
      create table visit_rest partition of visit default;
      create table perk (name text primary key, plan text);
      insert into perk values ('lounge', 'pro'), ('jet', 'gold');
      alter table perk enable row level security;
      create policy by_plan on perk for select using (plan = (select basalt.app_metadata()) ->> 'plan');
      create function set_plan(user_id uuid, metadata jsonb) returns bool language sql
        as 'select basalt.set_app_metadata(user_id, metadata)';`,
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
const problem = async (method: string, path: string, body?: unknown) => {
  const { code, message } = envelope(await call(method, path, body))
  return [code, message]
}
const audit = (action: string) =>
  app.sql('select target, detail from basalt.audit where action = $1 order by id desc limit 1', [action])
const ids = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id)

/** Inserts an identity at a provider, as a sign-in does. */
const link = (userId: string, provider: string, name = 'Ada') =>
  app.sql(
    `insert into basalt.social_identities (provider, subject, user_id, email, name, is_proven, tokens_renewable)
     values ($1, gen_random_uuid()::text, $2, 'ada@example.com', $3, true, false)`,
    [provider, userId, name],
  )

describe('GET /api/admin/users', () => {
  test('applies each filter, and searches the name at a provider', async () => {
    const plain = (await accounts.register()).user
    const factor = (await totpUser(accounts)).user
    const linked = (await accounts.register()).user
    await link(linked.id, 'github', 'Zoë O’Hara')
    await app.sql('update basalt.users set email_verified_at = now() where id = $1', [linked.id])
    await call('POST', `users/${plain.id}/disable`)
    const anonymous = (await accounts.post('anonymous')).json.user
    const among = async (query: string) => {
      const everyone = [plain, factor, linked, anonymous].map(({ id }: { id: string }) => id)
      const { items } = (await call('GET', `users?perPage=100&${query}`)).json
      return everyone.filter((id) => ids(items).includes(id))
    }
    expect(await among('disabled=true')).toEqual([plain.id])
    expect(await among('disabled=false')).toEqual([factor.id, linked.id, anonymous.id])
    expect(await among('anonymous=true')).toEqual([anonymous.id])
    expect(await among('verified=true')).toEqual([linked.id])
    expect(await among('factor=true')).toEqual([factor.id])
    expect(await among('factor=false&verified=false&anonymous=false')).toEqual([plain.id])
    expect(await among('provider=github')).toEqual([linked.id])
    expect(await among(`search=${encodeURIComponent('ZOË O’h')}`)).toEqual([linked.id])
    expect((await call('GET', `users/${linked.id}`)).json).toMatchObject({
      hasPassword: true,
      factors: [],
      providers: ['github'],
    })
    expect((await call('GET', `users/${factor.id}`)).json).toMatchObject({ factors: ['totp'], providers: [] })
    expect((await call('GET', `users/${anonymous.id}`)).json).toMatchObject({ hasPassword: false })
  })

  test('pages by cursor over users of one instant, without counting', async () => {
    await app.sql(`insert into basalt.users (email, created_at)
      select 'page' || n || '@cursor.example', '2026-01-02 03:04:05.678901+00' from generate_series(1, 5) n`)
    const first = (await call('GET', 'users?search=cursor.example&perPage=2&skipTotal=true')).json
    expect([first.totalItems, first.totalPages, first.page]).toEqual([-1, -1, 1])
    const listed = ids(first.items)
    for (let { nextCursor } = first; nextCursor !== undefined; ) {
      const page = (await call('GET', `users?search=cursor.example&perPage=2&cursor=${nextCursor}`)).json
      expect(page.totalItems).toBe(-1)
      listed.push(...ids(page.items))
      nextCursor = page.nextCursor
    }
    expect(new Set(listed).size).toBe(5)
    expect(listed).toHaveLength(5)
    const counted = (await call('GET', 'users?search=cursor.example&perPage=2')).json
    expect([counted.totalItems, counted.totalPages]).toEqual([5, 3])
  })

  test.each([
    ['cursor=x', 'invalid cursor; expected nextCursor of the page before'],
    [`cursor=99999999999999999_${absent}`, 'invalid cursor; expected nextCursor of the page before'],
    ['disabled=yes', 'invalid disabled; must be one of: true, false'],
    ['factor=', 'invalid factor; must be one of: true, false'],
    ['skipTotal=1', 'invalid skipTotal; must be one of: true, false'],
  ])('rejects %s', async (query, message) => {
    expect(await problem('GET', `users?${query}`)).toEqual([400, message])
  })
})

describe('GET /api/admin/users/names', () => {
  test('returns the addresses or phone numbers of users, and omits unknown ids', async () => {
    const email = newEmail()
    const ids: string[] = []
    for (const body of [{ email }, { phone: '+1 202 555 0177' }])
      ids.push((await call('POST', 'users', body)).json.id)
    const [{ id: guest = '' } = {}] = await app.sql(
      'insert into basalt.users (is_anonymous) values (true) returning id',
    )
    const [byEmail = '', byPhone = ''] = ids
    const names = new Map<string, string | null>([
      [byEmail, email],
      [byPhone, '+12025550177'],
      [guest, null],
    ])
    const sent = [byPhone.toUpperCase(), guest, absent, byEmail, byEmail]
    expect(await call('GET', `users/names?ids=${sent.join()}`)).toMatchObject({
      status: 200,
      json: {
        items: [...names].map(([id, name]) => ({ id, name })).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      },
    })
  })

  test.each([
    ['names', 'querystring must have required properties ids'],
    ['names?ids=', 'invalid ids; must be a UUID'],
    [`names?ids=${absent},x`, 'invalid ids; must be a UUID'],
    [
      `names?ids=${Array.from({ length: 101 }, () => randomUUID()).join()}`,
      'invalid ids; must have at most 100 ids',
    ],
  ])('rejects %s', async (path, message) => {
    expect(await problem('GET', `users/${path}`)).toEqual([400, message])
  })
})

describe('POST /api/admin/users', () => {
  test('creates a user with a password, a verified address and a phone', async () => {
    const email = newEmail()
    const body = { email, password: goodPassword, emailVerified: true, phone: '+1 202 555 0143' }
    const made = await call('POST', 'users', body)
    expect(made.status).toBe(201)
    expect(made.json).toEqual({
      id: expect.any(String),
      email,
      emailVerified: true,
      phone: '+12025550143',
      is_anonymous: false,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      disabled: false,
      lastActiveAt: null,
      hasPassword: true,
      factors: [],
      providers: [],
    })
    expect((await accounts.post('login', { email, password: goodPassword })).status).toBe(200)
    const detail = { email, phone: '+12025550143', emailVerified: true, invited: false }
    expect(await audit('users.create')).toEqual([{ target: made.json.id, detail }])
    const duplicate = { email: newEmail(), phone: '+12025550143' }
    expect(await problem('POST', 'users', duplicate)).toEqual([409, 'phone already registered'])
  })

  test('sends an invitation, whose link chooses the password and proves the address', async () => {
    const email = newEmail()
    const made = await call('POST', 'users', { email, invite: true })
    expect(made.json).toMatchObject({ email, emailVerified: false, hasPassword: false })
    const mail = await accounts.inbox.take(email)
    expect(mail.subject).toMatch(/^You are invited to /)
    expect(mail.text).toContain('/auth/reset-password?token=')
    const token = tokenIn(mail)
    expect((await accounts.post('password-reset/confirm', { token, password: goodPassword })).status).toBe(
      200,
    )
    expect((await accounts.post('login', { email, password: goodPassword })).json.user.emailVerified).toBe(
      true,
    )
    expect((await accounts.post('password-reset/confirm', { token, password: goodPassword })).status).toBe(
      400,
    )
  })

  test('creates one user for ten concurrent requests on two nodes', async () => {
    const email = newEmail()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => call('POST', 'users', { email }, index % 2 ? other : app)),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(9).fill(409)])
    expect(await problem('POST', 'users', { email })).toEqual([409, 'email already registered'])
  })

  test.each([
    [{}, 'email or phone is required'],
    [{ invite: true, phone: '+12025550144' }, 'email is required to invite'],
    [
      { email: 'a@example.com', invite: true, password: goodPassword },
      'password cannot be set together with an invitation',
    ],
    [
      { email: 'a@example.com', invite: true, phone: '+12025550144' },
      'phone cannot be set together with an invitation',
    ],
    [{ phone: '+12025550144', emailVerified: true }, 'emailVerified: expected an email and no invitation'],
    [{ email: '<script>@x' }, 'invalid email format'],
    [{ email: '' }, 'email is required'],
    [{ phone: '12' }, 'invalid phone number'],
    [{ email: 'a@example.com', password: 'short' }, 'password must be at least 8 characters'],
  ])('rejects %j', async (body, message) => {
    expect(await problem('POST', 'users', body)).toEqual([400, message])
  })
})

describe('PATCH /api/admin/users/:id', () => {
  test('changes the address, voids links to the previous one and ends sessions on every node', async () => {
    const { user, token, refreshToken } = await accounts.register()
    await accounts.post('password-reset', { email: user.email })
    const mailed = await accounts.inbox.take(user.email)
    const email = newEmail()
    const changed = await call('PATCH', `users/${user.id}`, { email, phone: '+12025550145' })
    expect(changed.json).toMatchObject({ email, emailVerified: false, phone: '+12025550145' })
    await expect.poll(async () => (await other.request('GET', '/api/auth/me', { token })).status).toBe(401)
    expect((await accounts.post('refresh', { refreshToken })).status).toBe(401)
    const reset = { token: tokenIn(mailed), password: goodPassword }
    expect((await accounts.post('password-reset/confirm', reset)).status).toBe(400)
    expect((await accounts.post('login', { email, password: goodPassword })).status).toBe(200)
    const detail = { email, emailVerified: false, phone: '+12025550145' }
    expect(await audit('users.update')).toEqual([{ target: user.id, detail }])
  })

  test('sets and removes the verification, and removes the phone', async () => {
    const { user, token } = await accounts.register()
    const path = `users/${user.id}`
    const verified = await call('PATCH', path, { emailVerified: true, phone: '+12025550146' })
    expect(verified.json).toMatchObject({ emailVerified: true, phone: '+12025550146' })
    expect((await app.request('GET', '/api/auth/me', { token })).json.emailVerified).toBe(true)
    const removed = await call('PATCH', path, { phone: null })
    expect(removed.json).toMatchObject({ emailVerified: true })
    expect(removed.json.phone).toBeUndefined()
    expect((await call('PATCH', path, { emailVerified: false })).json.emailVerified).toBe(false)
    await expect.poll(async () => (await app.request('GET', '/api/auth/me', { token })).status).toBe(401)
  })

  test('replaces app_metadata, which policies and the user can read, and callers cannot set', async () => {
    const { user, token } = await accounts.register()
    expect(user).not.toHaveProperty('app_metadata')
    const path = `users/${user.id}`
    const app_metadata = { plan: 'pro', teams: ['a', 'b'] }
    expect((await call('PATCH', path, { app_metadata })).json).toMatchObject({
      app_metadata,
      email: user.email,
    })
    expect(await audit('users.update')).toEqual([{ target: user.id, detail: { app_metadata } }])
    expect((await app.request('GET', '/api/auth/me', { token })).json).toMatchObject({ app_metadata })
    const readable = async (caller: string | undefined) =>
      (await app.request('GET', '/api/collections/perk', { token: caller })).json.items
    expect(await readable(token)).toEqual([{ name: 'lounge', plan: 'pro' }])
    expect(await readable((await accounts.register()).token)).toEqual([])
    const own = { token, body: { user_id: user.id, metadata: { plan: 'gold' } } }
    expect((await app.request('POST', '/api/rpc/set_plan', own)).status).toBe(403)
    const byAdmin = { token: admin, body: { user_id: user.id, metadata: { plan: 'none' } } }
    expect((await app.request('POST', '/api/rpc/set_plan', byAdmin)).json).toBe(true)
    expect(await readable(token)).toEqual([])
    expect((await call('PATCH', path, { app_metadata: {} })).json.app_metadata).toBeUndefined()
  })

  test('rejects app_metadata that is no object, is too large or cannot be stored', async () => {
    const { user } = await accounts.register()
    const expected = 'app_metadata: expected an object of at most 8192 bytes, without the character U+0000'
    for (const app_metadata of [{ text: 'x'.repeat(8192) }, { text: '\0' }, { '\0': 1 }, { half: '\ud800' }])
      expect(await problem('PATCH', `users/${user.id}`, { app_metadata })).toEqual([400, expected])
    for (const app_metadata of [[], 'pro', 1, null])
      expect((await problem('PATCH', `users/${user.id}`, { app_metadata }))[0]).toBe(400)
    const large = { token: admin, body: { user_id: user.id, metadata: { text: 'x'.repeat(8192) } } }
    expect((await app.request('POST', '/api/rpc/set_plan', large)).status).toBe(400)
    const fits = { text: 'x'.repeat(8192 - '{"text": ""}'.length) }
    expect((await call('PATCH', `users/${user.id}`, { app_metadata: fits })).json.app_metadata).toEqual(fits)
  })

  test('gives an anonymous user an address', async () => {
    const { user } = (await accounts.post('anonymous')).json
    expect(await problem('PATCH', `users/${user.id}`, { emailVerified: true })).toEqual([
      409,
      'user has no email address',
    ])
    const email = newEmail()
    const changed = await call('PATCH', `users/${user.id}`, { email, emailVerified: true })
    expect(changed.json).toMatchObject({ id: user.id, email, emailVerified: true, is_anonymous: false })
  })

  test('rejects addresses and phones of other users, and malformed ones', async () => {
    const first = (await accounts.register()).user
    const second = (await accounts.register()).user
    await call('PATCH', `users/${first.id}`, { phone: '+12025550147' })
    const refused = (body: object) => problem('PATCH', `users/${second.id}`, body)
    expect(await refused({ email: first.email })).toEqual([409, 'email already registered'])
    expect(await refused({ phone: '+12025550147' })).toEqual([409, 'phone already registered'])
    expect(await refused({ phone: 'x' })).toEqual([400, 'invalid phone number'])
    expect(await refused({ email: 'x' })).toEqual([400, 'invalid email format'])
  })
})

describe('POST /api/admin/users/:id/mail', () => {
  test.each([
    ['password_reset', '/auth/reset-password?token='],
    ['magic_link', '/auth/magic-link?token='],
    ['email_verification', '/auth/verify?token='],
    ['invitation', '/auth/reset-password?token='],
  ])('sends %s', async (purpose, address) => {
    const { email, id } = (await call('POST', 'users', { email: newEmail() })).json
    const sent = await call('POST', `users/${id}/mail`, { purpose })
    expect([sent.status, sent.json]).toEqual([202, { message: 'the mail will be sent' }])
    expect((await accounts.inbox.take(email)).text).toContain(address)
    expect(await audit('users.send_mail')).toEqual([{ target: id, detail: { purpose } }])
  })

  test('rejects a mail that cannot be sent', async () => {
    const { user } = await accounts.register()
    const path = `users/${user.id}`
    const refused = (purpose?: string) => problem('POST', `${path}/mail`, { purpose })
    expect(await refused()).toEqual([400, 'purpose is required'])
    expect(await refused('spam')).toEqual([
      400,
      'purpose: expected one of password_reset, magic_link, email_verification, invitation',
    ])
    await call('PATCH', path, { emailVerified: true })
    expect(await refused('email_verification')).toEqual([409, 'email is already verified'])
    await call('POST', `${path}/disable`)
    expect(await refused('password_reset')).toEqual([409, 'user is disabled'])
    const anonymous = (await accounts.post('anonymous')).json.user
    expect(await problem('POST', `users/${anonymous.id}/mail`, { purpose: 'magic_link' })).toEqual([
      409,
      'user has no email address',
    ])
    const limited = (await accounts.register()).user
    for (let mail = 0; mail < 10; mail += 1) {
      expect((await call('POST', `users/${limited.id}/mail`, { purpose: 'magic_link' })).status).toBe(202)
    }
    expect(await problem('POST', `users/${limited.id}/mail`, { purpose: 'magic_link' })).toEqual([
      429,
      'too many requests',
    ])
  })
})

describe('/api/admin/users/:id › sessions and sign-in methods', () => {
  test('ends one session and keeps the others', async () => {
    const { user, token } = await accounts.register()
    const second = (await accounts.post('login', { email: user.email, password: goodPassword })).json
    const [{ id: sessionId }] = (await call('GET', `users/${user.id}/sessions`)).json
    expect((await call('DELETE', `users/${user.id}/sessions/${sessionId}`)).status).toBe(204)
    const statusOf = async (bearer: string) =>
      (await other.request('GET', '/api/auth/me', { token: bearer })).status
    await expect
      .poll(async () => [await statusOf(token), await statusOf(second.token)].toSorted())
      .toEqual([200, 401])
    expect(await audit('users.end_session')).toEqual([{ target: user.id, detail: { sessionId } }])
    const again = (id: string, session: string) => problem('DELETE', `users/${id}/sessions/${session}`)
    expect(await again(user.id, sessionId)).toEqual([404, 'session not found'])
    expect(await again(user.id, 'x')).toEqual([400, 'invalid session id format'])
    expect(await again(randomUUID(), 'x')).toEqual([404, 'user not found'])
    const stranger = await accounts.register()
    const [theirs] = (await call('GET', `users/${stranger.user.id}/sessions`)).json
    expect(await again(user.id, theirs.id)).toEqual([404, 'session not found'])
  })

  test('removes one factor, and the backup codes with the last one', async () => {
    const { user, factorId } = await totpUser(accounts)
    await app.sql(`insert into basalt.mfa_backup_codes (user_id, code_hash) values ($1, '\\x00')`, [user.id])
    expect((await call('DELETE', `users/${user.id}/factors/${factorId}`)).status).toBe(204)
    expect(await app.sql('select 1 from basalt.mfa_backup_codes where user_id = $1', [user.id])).toEqual([])
    expect(await audit('users.remove_factor')).toEqual([{ target: user.id, detail: { factorId } }])
    for (const id of [factorId, 'x']) {
      expect(await problem('DELETE', `users/${user.id}/factors/${id}`)).toEqual([404, 'factor not found'])
    }
  })

  test('lists and removes passkeys, and the factor with the last one', async () => {
    const { user } = await accounts.register()
    await app.sql(
      `insert into basalt.mfa_factors (user_id, method, confirmed_at) values ($1, 'webauthn', now())`,
      [user.id],
    )
    for (const name of ['first', 'second']) {
      await app.sql(
        `insert into basalt.passkeys (user_id, credential_id, public_key, sign_count, display_name, is_backup_eligible,
          is_backed_up, is_user_verified, aaguid) values ($1, $2, '\\x00', 0, $2, false, false, true, '')`,
        [user.id, `${name}-${user.id}`],
      )
    }
    const path = `users/${user.id}/passkeys`
    const listed = (await call('GET', path)).json.credentials
    expect(listed.map((each: { display_name: string }) => each.display_name.split('-')[0])).toEqual([
      'first',
      'second',
    ])
    expect((await call('DELETE', `${path}/first-${user.id}`)).status).toBe(204)
    expect((await call('GET', `users/${user.id}`)).json.factors).toEqual(['webauthn'])
    expect((await call('DELETE', `${path}/second-${user.id}`)).status).toBe(204)
    expect((await call('GET', `users/${user.id}`)).json.factors).toEqual([])
    expect(await problem('DELETE', `${path}/second-${user.id}`)).toEqual([404, 'passkey not found'])
    expect(await audit('users.remove_passkey')).toMatchObject([{ target: user.id }])
  })

  test('lists and unlinks identities', async () => {
    const { user } = await accounts.register()
    await link(user.id, 'google', '<img src=x onerror=alert(1)>')
    const path = `users/${user.id}/identities`
    expect((await call('GET', path)).json).toEqual([
      {
        provider: 'google',
        subject: expect.any(String),
        email: 'ada@example.com',
        name: '<img src=x onerror=alert(1)>',
        proven: true,
        createdAt: expect.any(String),
        lastSignInAt: null,
      },
    ])
    expect((await call('DELETE', `${path}/google`)).status).toBe(204)
    expect((await call('GET', path)).json).toEqual([])
    expect(await problem('DELETE', `${path}/google`)).toEqual([404, expect.stringContaining('identity')])
    expect(await audit('users.remove_identity')).toEqual([
      { target: user.id, detail: { provider: 'google' } },
    ])
  })

  test('lists API keys by user and by app', async () => {
    const { user } = await accounts.register()
    const { apiKey } = await createApiKey(app, { userId: user.id })
    const listed = (await call('GET', `api-keys?userId=${user.id}`)).json
    expect([listed.totalItems, ids(listed.items)]).toEqual([1, [apiKey.id]])
    expect((await call('GET', `api-keys?appId=${absent}`)).json).toMatchObject({ items: [], totalItems: 0 })
    expect(await problem('GET', 'api-keys?userId=x')).toEqual([400, 'invalid userId; must be a UUID'])
  })

  test('lists grants by user and by client, and revokes them', async () => {
    const { user } = await accounts.register()
    const appId = '00000000-0000-0000-0000-000000000000'
    const body = { appId, name: 'Client', redirectUris: ['https://x.example/'], scopes: ['*'] }
    const { client } = (await call('POST', 'oauth/clients', body)).json
    await app.sql(
      `insert into basalt.oauth_consents (user_id, client_id, scope) values ($1, $2, 'readonly')`,
      [user.id, client.id],
    )
    const listed = (await call('GET', `users/${user.id}/grants`)).json
    expect(listed).toEqual([
      {
        id: expect.any(String),
        clientId: client.clientId,
        clientName: 'Client',
        scope: 'readonly',
        allowedTables: [],
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
        lastTokenIssuedAt: null,
        userId: user.id,
        email: user.email,
      },
    ])
    expect((await call('GET', `oauth/clients/${client.clientId}/grants`)).json).toEqual(listed)
    expect(ids((await call('GET', `oauth/clients?appId=${appId}`)).json.items)).toEqual([client.id])
    const path = `users/${user.id}/grants/${listed[0].id}`
    expect((await call('DELETE', path)).status).toBe(204)
    expect(await problem('DELETE', path)).toEqual([404, 'grant not found'])
    expect(await problem('DELETE', `users/${user.id}/grants/x`)).toEqual([400, 'invalid grant id format'])
    expect(await problem('GET', 'oauth/clients/none/grants')).toEqual([404, 'oauth client not found'])
    const detail = { grantId: listed[0].id }
    expect(await audit('users.revoke_grant')).toEqual([{ target: user.id, detail }])
  })
})

describe('GET /api/admin/users/:id/deletion', () => {
  test('lists rows by foreign key with their action, rows that follow them, and blocking tables', async () => {
    const email = newEmail()
    const user = (await call('POST', 'users', { email, password: goodPassword })).json
    await accounts.post('login', { email, password: goodPassword })
    await createApiKey(app, { userId: user.id })
    await app.sql(
      `with owner as (select $1::uuid as id), one as (insert into invoice select 1, id from owner),
        two as (insert into visit select id from owner)
       insert into post select n, id, id from owner, generate_series(1, 3) n`,
      [user.id],
    )
    const preview = await call('GET', `users/${user.id}/deletion`)
    expect(preview.status).toBe(200)
    expect(preview.json).toEqual({
      references: [
        { table: 'public.invoice', columns: ['owner'], action: 'no action', rows: 1 },
        { table: 'public.post', columns: ['author'], action: 'cascade', rows: 3 },
        { table: 'public.post', columns: ['editor'], action: 'set null', rows: 3 },
        { table: 'public.visit', columns: ['user_id'], action: 'cascade', rows: 1 },
        { table: 'basalt.api_keys', columns: ['user_id'], action: 'cascade', rows: 1 },
        { table: 'basalt.sessions', columns: ['user_id'], action: 'cascade', rows: 1 },
      ],
      further: [
        { table: 'public.comment', references: 'public.post', action: 'cascade' },
        { table: 'public.reaction', references: 'public.comment', action: 'set null' },
      ],
      files: { count: 0, bytes: 0 },
      blockedBy: ['public.invoice'],
    })
    expect(await problem('DELETE', `users/${user.id}`)).toEqual([
      409,
      'user is referenced by rows of public.invoice',
    ])
    expect((await call('GET', `users/${user.id}/sessions`)).json).toHaveLength(1)
    await app.sql('delete from invoice')
    expect((await call('DELETE', `users/${user.id}`)).status).toBe(204)
    expect(await app.sql('select 1 from post')).toEqual([])
  })

  test('returns no count when counting takes too long', async () => {
    const { user } = await accounts.register()
    await app.sql(`create table archive (owner uuid references basalt.users on delete cascade)`)
    await using lock = await openTransaction(app.database)
    await lock.sql('lock table archive in access exclusive mode')
    const { references } = (await call('GET', `users/${user.id}/deletion`)).json
    await lock.commit()
    await app.sql('drop table archive')
    expect(references[0]).toEqual({
      table: 'public.archive',
      columns: ['owner'],
      action: 'cascade',
      rows: null,
    })
  })
})

test.each([
  ['PATCH', '', {}],
  ['POST', '/mail', { purpose: 'invitation' }],
  ['GET', '/deletion', undefined],
  ['DELETE', `/sessions/${absent}`, undefined],
  ['DELETE', `/factors/${absent}`, undefined],
  ['GET', '/passkeys', undefined],
  ['DELETE', '/passkeys/x', undefined],
  ['GET', '/identities', undefined],
  ['DELETE', '/identities/google', undefined],
  ['GET', '/grants', undefined],
  ['DELETE', `/grants/${absent}`, undefined],
  ['POST', '/impersonate', { reason: 'x' }],
])(
  '/api/admin/users › %s %s returns 404 for an unknown id and 400 for a malformed one',
  async (method, suffix, body) => {
    const of = (id: string) => problem(method, `users/${encodeURIComponent(id)}${suffix}`, body)
    expect(await of(absent)).toEqual([404, 'user not found'])
    for (const id of ['x', "x' or true --"]) expect(await of(id)).toEqual([400, 'invalid user id format'])
  },
)
