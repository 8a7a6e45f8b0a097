import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { administratorPassword, inviteAdministrator, signInAs } from '../../../../../test/administrators.ts'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { oneAdministrator } from '../../../../../test/one-administrator.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'

const path = '/api/admin/administrators'
const unknown = '00000000-0000-4000-8000-00000000dead'

let database: TestDatabase
let first: TestApp
let second: TestApp
let owner: string
/** Hash of the first administrator's password. */
let passwordHash: unknown

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(notes)
  const config = { 'server.trusted_proxies': '127.0.0.1' }
  first = await createTestApp({ database, config })
  second = await createTestApp({ database, config })
  const [row] = await database.sql('select password_hash from basalt.admin')
  passwordHash = row?.password_hash
})
beforeEach(async () => {
  await database.sql('delete from basalt.administrators')
  await database.sql('insert into basalt.admin (password_hash) values ($1)', [passwordHash])
  owner = (await first.request('POST', '/api/admin/auth', { body: { password: testAdminPassword } })).json
    .token
  await database.sql('delete from basalt.audit')
  await database.sql('delete from basalt.attempts')
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const invite = (body: unknown, token = owner, node = first) => node.request('POST', path, { token, body })
const setPassword = (code: string, password: string, node = first) =>
  node.request('POST', '/api/admin/auth/password', { body: { code, password } })
const signIn = (body: unknown, address = '198.51.100.1', node = first) =>
  node.request('POST', '/api/admin/auth', { body, headers: { 'x-forwarded-for': address } })

async function idOf(email: string): Promise<string> {
  const [row] = await database.sql('select id from basalt.administrators where email = $1', [email])
  return String(row?.id)
}

async function firstId(): Promise<string> {
  const [row] = await database.sql('select id from basalt.administrators where is_first')
  return String(row?.id)
}

describe('POST /api/admin/administrators', () => {
  test('invites an administrator, who sets a password once and signs in by address', async () => {
    const invited = await invite({ email: ' Ada@Example.com ', role: 'support' })
    expect([invited.status, invited.json]).toEqual([
      201,
      {
        administrator: {
          id: await idOf('ada@example.com'),
          email: 'ada@example.com',
          role: 'support',
          isFirst: false,
          isDisabled: false,
          hasPassword: false,
          hasSecondFactor: false,
          hasIdentity: false,
          createdAt: expect.any(String),
          lastSignInAt: null,
        },
        invitation: {
          code: expect.stringMatching(/^basalt_password_\w{49}$/),
          url: expect.stringContaining(`/admin/set-password#code=${'basalt_password_'}`),
          expiresAt: expect.any(String),
        },
      },
    ])
    const { code } = invited.json.invitation
    const credentials = { email: 'ada@example.com', password: 'her own password' }
    expect((await signIn(credentials)).status).toBe(401)
    const attempts = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        setPassword(code, credentials.password, index % 2 === 0 ? first : second),
      ),
    )
    expect(attempts.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(401)])
    const signedIn = await signIn({ ...credentials, email: 'ADA@example.com' })
    expect(signedIn.status).toBe(200)
    const session = await second.request('GET', '/api/admin/session', { token: signedIn.json.token })
    expect(session.json).toEqual({
      expiresAt: expect.any(String),
      administratorId: await idOf('ada@example.com'),
      email: 'ada@example.com',
      role: 'support',
      permissions: expect.arrayContaining(['rows.read', 'users.act']),
      hasSecondFactor: false,
      hasIdentity: false,
      mustEnroll: false,
    })
    expect(session.json.permissions).not.toContain('rows.write')
  })

  test('stores neither the code nor the password, and audits the address of the administrator', async () => {
    const { code } = (await invite({ email: 'ada@example.com', role: 'owner' })).json.invitation
    await setPassword(code, 'her own password')
    const stored = await database.sql(`
      select a::text as row from basalt.administrators a
      union all select c::text from basalt.admin_sign_in_codes c
      union all select l::text from basalt.audit l`)
    expect(JSON.stringify(stored)).not.toContain(code)
    expect(JSON.stringify(stored)).not.toContain('her own password')
    const token = await signIn({ email: 'ada@example.com', password: 'her own password' })
    await invite({ email: 'bob@example.com', role: 'viewer' }, token.json.token)
    const rows = await database.sql(
      'select actor, action, administrator, target from basalt.audit order by id',
    )
    const [ada, bob] = [await idOf('ada@example.com'), await idOf('bob@example.com')]
    expect(rows).toEqual([
      { actor: 'admin', action: 'administrators.invite', administrator: null, target: ada },
      {
        actor: 'admin',
        action: 'administrators.set_password',
        administrator: 'ada@example.com',
        target: ada,
      },
      { actor: 'admin', action: 'admin.sign_in', administrator: 'ada@example.com', target: null },
      { actor: 'admin', action: 'administrators.invite', administrator: 'ada@example.com', target: bob },
    ])
    const audit = await first.request('GET', '/api/admin/audit?action=administrators.invite&limit=1', {
      token: owner,
    })
    expect(audit.json.items[0]).toMatchObject({ administrator: 'ada@example.com' })
  })

  test.each([
    ['no address', { role: 'viewer' }, 'email'],
    ['an empty address', { email: '', role: 'viewer' }, 'email'],
    ['no mail address', { email: 'ada', role: 'viewer' }, 'email: expected an email address'],
    ['no role', { email: 'ada@example.com' }, 'role'],
    ['an unknown role', { email: 'ada@example.com', role: 'root' }, 'role'],
    ['a role that is no text', { email: 'ada@example.com', role: ['owner'] }, 'role'],
  ])('rejects %s', async (_, body, message) => {
    const response = await invite(body)
    expect([response.status, response.json.message]).toEqual([400, expect.stringContaining(message)])
    expect(await database.sql('select from basalt.administrators')).toHaveLength(1)
  })

  test('makes one administrator of ten invitations of an address on two nodes', async () => {
    const invitations = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        invite({ email: 'ada@example.com', role: 'owner' }, owner, index % 2 === 0 ? first : second),
      ),
    )
    expect(invitations.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)])
    const refused = invitations.find(({ status }) => status === 409)
    expect(refused && envelope(refused)).toMatchObject({
      message: 'email: ada@example.com is the address of another administrator',
    })
  })

  test('refuses callers without a token, users, and other roles', async () => {
    const body = { email: 'ada@example.com', role: 'owner' }
    expect((await first.request('POST', path, { body })).status).toBe(401)
    expect((await invite(body, userToken({ sub: alice }))).status).toBe(401)
    for (const role of ['developer', 'support', 'viewer']) {
      const token = await inviteAdministrator(first, role, owner)
      expect((await invite(body, token)).status).toBe(403)
    }
  })
})

describe('POST /api/admin/auth/password', () => {
  test('ends with another one, and with its administrator', async () => {
    const invited = await invite({ email: 'ada@example.com', role: 'owner' })
    const { id } = invited.json.administrator
    const again = await first.request('POST', `${path}/${id}/invitation`, { token: owner })
    expect(again.status).toBe(201)
    expect((await setPassword(invited.json.invitation.code, 'her own password')).status).toBe(401)
    expect((await first.request('DELETE', `${path}/${id}`, { token: owner })).status).toBe(204)
    expect((await setPassword(again.json.code, 'her own password')).status).toBe(401)
  })

  test('does not sign in, and a sign-in link sets no password', async () => {
    const { code } = (await invite({ email: 'ada@example.com', role: 'owner' })).json.invitation
    expect((await signIn({ code })).status).toBe(401)
  })

  test.each([
    ['a short password', 'seven77', 400, 'password: expected 8 to 1024 characters'],
    ['a long one', 'x'.repeat(1025), 400, 'password: expected 8 to 1024 characters'],
  ])('refuses %s and stays valid', async (_, password, status, message) => {
    const { code } = (await invite({ email: 'ada@example.com', role: 'owner' })).json.invitation
    const refused = await setPassword(code, password)
    expect([refused.status, refused.json.message]).toEqual([status, message])
    expect((await setPassword(code, administratorPassword)).status).toBe(204)
  })

  test('is not for a disabled administrator', async () => {
    const { administrator, invitation } = (await invite({ email: 'ada@example.com', role: 'owner' })).json
    await first.request('PATCH', `${path}/${administrator.id}`, { token: owner, body: { isDisabled: true } })
    expect((await setPassword(invitation.code, administratorPassword)).status).toBe(401)
    const again = await first.request('POST', `${path}/${administrator.id}/invitation`, { token: owner })
    expect([again.status, again.json.message]).toEqual([409, 'the administrator is disabled'])
  })
})

describe('PATCH and DELETE /api/admin/administrators/:id', () => {
  test('ends sessions, streams, running SQL and tokens with fewer rights, on every node', async () => {
    const token = await inviteAdministrator(first, 'owner', owner)
    const id = await idOf('owner@example.com')
    const made = await first.request('POST', '/api/admin/account/tokens', {
      token,
      body: { name: 'build', expiresInDays: 30 },
    })
    await using stream = await openEventStream(second.url, '?tables=*', {
      token,
      path: '/api/admin/realtime/stream',
    })
    const running = second.request('POST', '/api/admin/sql', {
      token,
      body: {
        query: "select pg_sleep(60); insert into note (owner_id, body) values (gen_random_uuid(), 'late')",
        mode: 'write',
      },
    })
    const isRunning = `select from pg_stat_activity where datname = current_database() and state = 'active'
      and query like '%pg_sleep(60)%' and pid <> pg_backend_pid()`
    await expect.poll(() => database.sql(isRunning)).not.toHaveLength(0)
    const demotion = { token: owner, body: { role: 'developer' } }
    const changed = await first.request('PATCH', `${path}/${id}`, demotion)
    expect([changed.status, changed.json.role]).toEqual([200, 'developer'])
    await stream.ended()
    expect((await running).status).not.toBe(200)
    await expect.poll(() => database.sql(isRunning)).toHaveLength(0)
    expect(await database.sql("select from note where body = 'late'")).toEqual([])
    for (const ended of [token, made.json.token]) {
      expect((await first.request('GET', '/api/admin/session', { token: ended })).status).toBe(401)
    }
    const again = await signInAs(second, 'owner@example.com')
    const promotion = { token: owner, body: { role: 'owner' } }
    expect((await first.request('PATCH', `${path}/${id}`, promotion)).status).toBe(200)
    // More rights end nothing.
    const session = await first.request('GET', '/api/admin/session', { token: again })
    expect(session.json).toMatchObject({ role: 'owner' })
  })

  test('ends the log of an administrator who is removed', async () => {
    const token = await inviteAdministrator(first, 'viewer', owner)
    const response = await fetch(`${second.url}/api/admin/logs/tail`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const id = await idOf('viewer@example.com')
    expect((await first.request('DELETE', `${path}/${id}`, { token: owner })).status).toBe(204)
    expect(await response.text()).toContain('"reason":"session_ended"')
  })

  test('ends the sessions of a disabled administrator, who signs in again once enabled', async () => {
    const token = await inviteAdministrator(first, 'support', owner)
    const id = await idOf('support@example.com')
    const change = (isDisabled: boolean) =>
      first.request('PATCH', `${path}/${id}`, { token: owner, body: { isDisabled } })
    expect((await change(true)).json).toMatchObject({ isDisabled: true })
    expect((await first.request('GET', '/api/admin/session', { token })).status).toBe(401)
    const credentials = { email: 'support@example.com', password: administratorPassword }
    expect(envelope(await signIn(credentials))).toMatchObject({ message: 'invalid email or password' })
    expect((await change(false)).json).toMatchObject({ isDisabled: false })
    expect((await first.request('GET', '/api/admin/session', { token })).status).toBe(401)
    expect((await signIn(credentials)).status).toBe(200)
  })

  test.each([
    ['demoted', 'PATCH', { role: 'developer' }],
    ['disabled', 'PATCH', { isDisabled: true }],
    ['removed', 'DELETE', undefined],
  ])('keeps the last owner from being %s, from two nodes at once, too', async (_, method, body) => {
    await inviteAdministrator(first, 'owner', owner)
    const ids = [await firstId(), await idOf('owner@example.com')]
    // An invited owner without a password does not count.
    await invite({ email: 'absent@example.com', role: 'owner' })
    const responses = await Promise.all(
      ids.map((id, index) =>
        [first, second][index]?.request(method, `${path}/${id}`, { token: owner, ...(body && { body }) }),
      ),
    )
    const statuses = responses.map((response) => response?.status)
    expect(statuses.filter((status) => status === 200 || status === 204)).toHaveLength(1)
    const left = await database.sql(`
      select from basalt.administrators
      where role = 'owner' and disabled_at is null and password_hash is not null`)
    expect(left).toHaveLength(1)
  })

  test('gives an address to one of two administrators at once, and a link to no removed one', async () => {
    const ids = await Promise.all(
      ['ada@example.com', 'bob@example.com'].map(
        async (email) => (await invite({ email, role: 'viewer' })).json.administrator.id,
      ),
    )
    for (let round = 0; round < 5; round += 1) {
      const email = `round${round}@example.com`
      const statuses = await Promise.all(
        ids.map(async (id, index) => {
          const node = index === 0 ? first : second
          return (await node.request('PATCH', `${path}/${id}`, { token: owner, body: { email } })).status
        }),
      )
      expect(statuses.toSorted()).toEqual([200, 409])
    }
    const [id] = ids
    const [removed, invited] = await Promise.all([
      first.request('DELETE', `${path}/${id}`, { token: owner }),
      second.request('POST', `${path}/${id}/invitation`, { token: owner }),
    ])
    expect(removed.status).toBe(204)
    expect([201, 404]).toContain(invited.status)
    expect(
      await database.sql('select from basalt.admin_sign_in_codes where administrator_id = $1', [id]),
    ).toEqual([])
  })

  test('rejects unknown administrators and the addresses of others', async () => {
    const { id } = (await invite({ email: 'ada@example.com', role: 'owner' })).json.administrator
    await invite({ email: 'bob@example.com', role: 'owner' })
    const patch = (target: string, body: unknown) =>
      first.request('PATCH', `${path}/${target}`, { token: owner, body })
    expect((await patch(unknown, { role: 'owner' })).status).toBe(404)
    expect((await patch('x', { role: 'owner' })).status).toBe(404)
    expect((await patch(id, { email: 'Bob@example.com' })).json.message).toBe(
      'email: bob@example.com is the address of another administrator',
    )
    expect((await patch(id, { email: 'no-address' })).json.message).toBe('email: expected an email address')
    expect((await patch(id, { role: 'root' })).status).toBe(400)
    expect((await patch(id, { email: 'eve@example.com' })).json).toMatchObject({ email: 'eve@example.com' })
    expect((await first.request('DELETE', `${path}/${unknown}`, { token: owner })).status).toBe(404)
    expect((await first.request('POST', `${path}/${unknown}/invitation`, { token: owner })).status).toBe(404)
  })
})

describe('POST /api/admin/auth by address', () => {
  test('locks one administrator for one address after ten wrong passwords', async () => {
    await inviteAdministrator(first, 'support', owner)
    await inviteAdministrator(first, 'viewer', owner)
    const right = (role: string) => ({ email: `${role}@example.com`, password: administratorPassword })
    const attacker = '203.0.113.9'
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const wrong = { email: 'support@example.com', password: 'wrong' }
      expect((await signIn(wrong, attacker, attempt % 2 === 0 ? first : second)).status).toBe(401)
    }
    expect((await signIn(right('support'), attacker)).status).toBe(429)
    expect((await signIn(right('support'), '203.0.113.10')).status).toBe(200)
    expect((await signIn(right('viewer'), attacker)).status).toBe(200)
    expect((await signIn({ password: testAdminPassword }, attacker)).status).toBe(200)
  })

  test('rejects an unknown address as a wrong password, and counts it', async () => {
    const wrong = { email: 'unknown@example.com', password: 'wrong' }
    const answers: number[] = []
    for (let attempt = 0; attempt < 11; attempt += 1) answers.push((await signIn(wrong)).status)
    expect(answers).toEqual([...Array(10).fill(401), 429])
  })

  test('locks a network address after a hundred failures with any addresses', async () => {
    await inviteAdministrator(first, 'viewer', owner)
    const attacker = '203.0.113.77'
    for (let attempt = 0; attempt < 100; attempt += 1) {
      await signIn({ email: `x${attempt}@example.com`, password: 'wrong' }, attacker)
    }
    const right = { email: 'viewer@example.com', password: administratorPassword }
    expect((await signIn(right, attacker)).status).toBe(429)
    expect((await signIn(right, '203.0.113.78')).status).toBe(200)
  })

  test('signs in the first administrator by the password alone, while they are an owner', async () => {
    await inviteAdministrator(first, 'owner', owner)
    const id = await firstId()
    const other = await signInAs(first, 'owner@example.com')
    await first.request('PATCH', `${path}/${id}`, {
      token: other,
      body: { email: 'first@example.com', role: 'developer' },
    })
    expect((await signIn({ password: testAdminPassword })).status).toBe(401)
    const byAddress = await signIn({ email: 'first@example.com', password: testAdminPassword })
    expect(byAddress.status).toBe(200)
  })
})

describe('own account', () => {
  test('changes the password, which ends other sessions and keeps tokens', async () => {
    const token = await inviteAdministrator(first, 'support', owner)
    const other = await signInAs(second, 'support@example.com')
    const made = await first.request('POST', '/api/admin/account/tokens', {
      token,
      body: { name: 'build', expiresInDays: 30 },
    })
    const change = (currentPassword: string) =>
      first.request('PUT', '/api/admin/account/password', {
        token,
        body: { currentPassword, password: 'another password' },
      })
    expect(envelope(await change('wrong'))).toMatchObject({ code: 401, message: 'invalid password' })
    expect((await change(administratorPassword)).status).toBe(204)
    const statusOf = async (each: string) =>
      (await first.request('GET', '/api/admin/session', { token: each })).status
    expect(await Promise.all([token, other, made.json.token].map(statusOf))).toEqual([200, 401, 200])
    expect((await signIn({ email: 'support@example.com', password: administratorPassword })).status).toBe(401)
  })

  test('lists sessions, and ends them one by one; an owner does so for others', async () => {
    const token = await inviteAdministrator(first, 'viewer', owner)
    const id = await idOf('viewer@example.com')
    await signInAs(first, 'viewer@example.com')
    const list = await first.request('GET', `${path}/me/sessions`, { token })
    expect(list.json.items).toEqual(
      expect.arrayContaining([
        {
          id: expect.any(String),
          name: null,
          passesStepUp: false,
          role: null,
          allowedAddresses: null,
          address: expect.any(String),
          userAgent: 'node',
          isCurrent: true,
          createdAt: expect.any(String),
          lastUsedAt: null,
          expiresAt: expect.any(String),
        },
      ]),
    )
    const byOwner = await first.request('GET', `${path}/${id}/sessions`, { token: owner })
    expect(byOwner.json.items.map((each: { id: string }) => each.id).sort()).toEqual(
      list.json.items.map((each: { id: string }) => each.id).sort(),
    )
    const mine = list.json.items.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent)
    const others = await first.request('GET', `${path}/${await firstId()}/sessions`, { token })
    expect(others.status).toBe(403)
    const theirs = await first.request('DELETE', `${path}/me/sessions/${mine.id}`, { token: owner })
    expect(theirs.status).toBe(404)
    expect(
      (await first.request('DELETE', `${path}/${id}/sessions/${mine.id}`, { token: owner })).status,
    ).toBe(204)
    expect((await first.request('GET', '/api/admin/session', { token })).status).toBe(401)
  })

  test('rejects a session of the command line', async () => {
    await database.sql(
      `update basalt.admin_sessions set administrator_id = null where token_hash = sha256($1)`,
      [Buffer.from(owner)],
    )
    await expect
      .poll(async () => (await first.request('GET', `${path}/me/sessions`, { token: owner })).json.message)
      .toBe('this session belongs to no administrator')
  })
})

describe('POST /api/admin/account/tokens', () => {
  const create = (body: unknown, token = owner) =>
    first.request('POST', '/api/admin/account/tokens', { token, body })

  test('makes a token with fewer rights, which ends with its administrator', async () => {
    const token = await inviteAdministrator(first, 'developer', owner)
    const made = await create({ name: ' build ', role: 'viewer', expiresInDays: 7 }, token)
    expect([made.status, made.json]).toEqual([
      201,
      {
        token: expect.stringMatching(/^basalt_admin_\w{49}$/),
        session: expect.objectContaining({ name: 'build', role: 'viewer', isCurrent: false }),
      },
    ])
    const program = made.json.token
    expect((await second.request('GET', '/api/admin/stats', { token: program })).status).toBe(200)
    const note = '/api/collections/note'
    expect((await second.request('GET', note, { token: program })).status).toBe(200)
    expect((await second.request('POST', note, { token: program, body: {} })).status).toBe(403)
    const list = await first.request('GET', `${path}/me/sessions`, { token })
    const listed = list.json.items.find(({ name }: { name: string | null }) => name === 'build')
    expect(listed.lastUsedAt).toEqual(expect.any(String))
    expect((await create({ name: 'more', expiresInDays: 1 }, program)).status).toBe(403)
    await first.request('DELETE', `${path}/${await idOf('developer@example.com')}`, { token: owner })
    await expect
      .poll(async () => (await second.request('GET', '/api/admin/stats', { token: program })).status)
      .toBe(401)
  })

  test('counts only from its addresses', async () => {
    const made = await create({
      name: 'ci',
      expiresInDays: 1,
      allowedAddresses: ['192.0.2.0/24', '2001:db8::1'],
    })
    const from = async (address: string) => {
      const headers = { 'x-forwarded-for': address }
      return await first.request('GET', '/api/admin/stats', { token: made.json.token, headers })
    }
    expect((await from('192.0.2.77')).status).toBe(200)
    expect((await from('2001:db8::1')).status).toBe(200)
    expect(envelope(await from('198.51.100.1'))).toMatchObject({
      code: 403,
      message: 'the token may not be used from this address',
    })
  })

  test('makes no more than a hundred, of ten at once either', async () => {
    await database.sql(
      `insert into basalt.admin_sessions (token_hash, administrator_id, name, expires_at)
      select sha256(n::text::bytea), $1, 'many', now() + interval '1 day' from generate_series(1, 95) n`,
      [await firstId()],
    )
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? first : second).request('POST', '/api/admin/account/tokens', {
          token: owner,
          body: { name: `t${index}`, expiresInDays: 1 },
        }),
      ),
    )
    expect(made.map(({ status }) => status).toSorted()).toEqual([
      ...Array(5).fill(201),
      ...Array(5).fill(400),
    ])
  })

  test.each([
    ['no name', { expiresInDays: 1 }, 'name'],
    ['a blank name', { name: ' ', expiresInDays: 1 }, 'name: expected a text'],
    ['no end', { name: 'x' }, 'expiresInDays'],
    ['a life of years', { name: 'x', expiresInDays: 366 }, 'expiresInDays'],
    [
      'no address range',
      { name: 'x', expiresInDays: 1, allowedAddresses: ['here'] },
      'allowedAddresses: "here"',
    ],
  ])('rejects %s', async (_, body, message) => {
    const response = await create(body)
    expect([response.status, response.json.message]).toEqual([400, expect.stringContaining(message)])
  })

  test('rejects a role above that of its administrator', async () => {
    const token = await inviteAdministrator(first, 'support', owner)
    const response = await create({ name: 'x', role: 'developer', expiresInDays: 1 }, token)
    expect([response.status, response.json.message]).toEqual([400, 'role: expected at most support'])
  })
})

describe('migration from one administrator', () => {
  test('keeps the password, the sessions and the preferences as those of the first owner', async () => {
    await using own = await createTestDatabase()
    await using before = await createTestApp({ database: own })
    const token = await before.adminToken()
    await before.request('PATCH', '/api/admin/preferences', { token, body: { theme: 'dark' } })
    await own.sql(
      `update basalt.settings set key = 'dashboard_preferences' where key like 'dashboard_preferences %';
      ${oneAdministrator};
      delete from basalt.migrations where version >= 35`,
    )
    await using upgraded = await createTestApp({ database: own })
    const session = await upgraded.request('GET', '/api/admin/session', { token })
    expect(session.json).toMatchObject({ role: 'owner', email: null, administratorId: expect.any(String) })
    expect((await upgraded.request('GET', '/api/admin/preferences', { token })).json).toMatchObject({
      theme: 'dark',
    })
    const body = { password: testAdminPassword }
    expect((await upgraded.request('POST', '/api/admin/auth', { body })).status).toBe(200)
    const list = await upgraded.request('GET', path, { token })
    expect(list.json.items).toEqual([
      expect.objectContaining({ role: 'owner', isFirst: true, hasPassword: true, email: null }),
    ])
  })

  test('serves nodes of the previous version, which read and write the first administrator', async () => {
    expect(await database.sql('select is_only, password_hash from basalt.admin')).toEqual([
      { is_only: true, password_hash: passwordHash },
    ])
    await database.sql(
      `insert into basalt.admin (password_hash) values ($1)
      on conflict (is_only) do update set password_hash = excluded.password_hash, updated_at = now()`,
      [passwordHash],
    )
    await database.sql(
      "insert into basalt.admin_sessions (token_hash, expires_at) values (sha256('x'), now() + interval '1 h')",
    )
    const [session] = await database.sql(
      "select administrator_id from basalt.admin_sessions where token_hash = sha256('x')",
    )
    expect(session).toEqual({ administrator_id: await firstId() })
  })

  test('stores other sessions under hashes that nodes of the previous version do not compute', async () => {
    const token = await inviteAdministrator(first, 'viewer', owner)
    const find = (each: string) =>
      database.sql('select from basalt.admin_sessions where token_hash = sha256($1)', [Buffer.from(each)])
    expect(await find(token)).toHaveLength(0)
    expect(await find(owner)).toHaveLength(1)
  })

  test('creates no first administrator again after it was removed', async () => {
    await using own = await createTestDatabase()
    await using node = await createTestApp({ database: own })
    await inviteAdministrator(node, 'owner')
    const token = await signInAs(node, 'owner@example.com')
    const list = await node.request('GET', path, { token })
    const removed = list.json.items.find(({ isFirst }: { isFirst: boolean }) => isFirst)
    expect((await node.request('DELETE', `${path}/${removed.id}`, { token })).status).toBe(204)
    for (const password of [testAdminPassword, '']) {
      await using started = await createTestApp({ database: own, config: { 'admin.password': password } })
      expect(started.app.firstSignIn).toBe(undefined)
      const body = { password: testAdminPassword }
      expect((await started.request('POST', '/api/admin/auth', { body })).status).toBe(401)
    }
    expect(await own.sql('select email from basalt.administrators')).toEqual([{ email: 'owner@example.com' }])
  })
})
