import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'

let database: TestDatabase
let first: TestApp
let second: TestApp

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(notes)
  first = await startNode()
  second = await startNode()
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

function startNode(config: Record<string, string> = {}, on = database): Promise<TestApp> {
  return createTestApp({
    hashesAtFullCost: true,
    database: on,
    config: { 'server.trusted_proxies': '127.0.0.1', ...config },
  })
}

let addresses = 0
/** Returns an address without a sign-in. */
function newAddress(): string {
  addresses += 1
  return `198.51.100.${addresses}`
}

function signIn(node: TestApp, body: unknown, address = newAddress()) {
  return node.request('POST', '/api/admin/auth', { body, headers: { 'x-forwarded-for': address } })
}

async function signedIn(node: TestApp): Promise<string> {
  const response = await signIn(node, { password: testAdminPassword })
  expect(response.status).toBe(200)
  return response.json.token
}

/** Returns the status of a request that requires a token. */
async function statusWith(node: TestApp, token: string): Promise<number> {
  return (await node.request('GET', '/api/collections/note', { token })).status
}

interface AuditRow {
  readonly actor: string
  readonly action: string
  readonly target: string | null
  readonly detail: Record<string, unknown>
  readonly address: string | null
}

/** Returns the audit rows since the last call. */
async function newAuditRows(on = database): Promise<AuditRow[]> {
  return await on.sql<AuditRow & pg.QueryResultRow>(`
    with taken as (delete from basalt.audit returning *)
    select actor, action, target, detail, address from taken order by id`)
}

describe('GET /api/admin/status', () => {
  test('reports to every caller that a password is set', async () => {
    const response = await first.request('GET', '/api/admin/status')
    expect([response.status, response.json]).toEqual([200, { auth: true }])
  })
})

describe('POST /api/admin/auth', () => {
  test('returns a token that ends in twelve hours, and another one each time', async () => {
    const before = Date.now()
    const response = await signIn(first, { password: testAdminPassword })
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    const { token, expiresAt } = response.json
    expect(response.json).toEqual({
      token: expect.stringMatching(/^basalt_admin_[0-9A-Za-z]{49}$/),
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    const hours = (Date.parse(expiresAt) - before) / 3_600_000
    expect(hours).toBeGreaterThan(11.9)
    expect(hours).toBeLessThan(12.1)
    expect(await signedIn(first)).not.toBe(token)
  })

  test('stores only a hash of the token', async () => {
    const token = await signedIn(first)
    const rows = await database.sql('select s::text as row from basalt.admin_sessions s')
    expect(rows.length).toBeGreaterThan(0)
    expect(JSON.stringify(rows)).not.toContain(token.slice('basalt_admin_'.length, -6))
    const [{ password_hash: hash } = {}] = await database.sql(
      'select password_hash from basalt.administrators',
    )
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })

  test.each([
    ['wrong', 'wrong'],
    ['almost right', `${testAdminPassword} `],
    ['in another case', testAdminPassword.toUpperCase()],
    ['empty', ''],
    ['as long as can be', 'x'.repeat(1024)],
    ['with a zero byte', `${testAdminPassword}\0`],
    ['of odd characters', '🦊\u202e\ud800'],
    ['its own hash', '$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA'],
  ])('rejects a password that is %s', async (_what, password) => {
    const response = await signIn(first, { password })
    expect(response.status).toBe(401)
    expect(envelope(response)).toEqual({ code: 401, message: 'invalid password', error: 'invalid_password' })
  })

  test.each([
    ['an object', { password: { $ne: '' } }, 'password: must be string'],
    ['a list', { password: [testAdminPassword] }, 'password: must be string'],
    ['a number', { password: 12345678 }, 'password: must be string'],
    ['null', { password: null }, 'password: must be string'],
    ['true', { password: true }, 'password: must be string'],
    ['too long', { password: 'x'.repeat(1025) }, 'password: must not have more than 1024 characters'],
    ['missing', {}, 'password is required'],
    ['under another name', { Password: testAdminPassword }, 'password is required'],
  ])('rejects a password that is %s as a bad request', async (_what, body, message) => {
    const response = await signIn(first, body)
    expect(response.status).toBe(400)
    expect(envelope(response)).toMatchObject({ code: 400, message })
  })

  test.each(['basalt_signin_wrong', '', `basalt_signin_${'0'.repeat(49)}`])(
    'rejects the sign-in code "%s"',
    async (code) => {
      const response = await signIn(first, { code })
      expect(response.status).toBe(401)
      expect(envelope(response)).toEqual({
        code: 401,
        message: 'invalid or expired sign-in code',
        error: 'invalid_sign_in_code',
      })
    },
  )

  test('logs neither password nor token', async () => {
    await signIn(first, { password: 'a password nobody has' })
    await signedIn(first)
    expect(first.log.join()).not.toMatch(/nobody has|horse|basalt_admin_/)
  })
})

describe('POST /api/admin/auth › wrong passwords', () => {
  test('block only their address, on every node', async () => {
    const address = newAddress()
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const node = attempt % 2 === 0 ? first : second
      expect((await signIn(node, { password: 'wrong' }, address)).status).toBe(401)
    }
    for (const node of [first, second]) {
      for (const body of [{ password: testAdminPassword }, { password: 'wrong' }, { code: 'x' }]) {
        const response = await signIn(node, body, address)
        expect(response.status).toBe(429)
        expect(envelope(response)).toEqual({
          code: 429,
          message: 'too many requests',
          error: 'too_many_requests',
        })
        const seconds = Number(response.headers.get('retry-after'))
        expect(seconds).toBeGreaterThan(800)
        expect(seconds).toBeLessThanOrEqual(900)
      }
    }
    expect((await signIn(first, { password: testAdminPassword })).status).toBe(200)

    await database.sql('update basalt.attempts set window_ends_at = now() where key like $1', [`%${address}`])
    expect((await signIn(second, { password: testAdminPassword }, address)).status).toBe(200)
    expect(await database.sql('select from basalt.attempts where key like $1', [`%${address}`])).toEqual([])
  })

  test('do not slip through when they are concurrent', async () => {
    const address = newAddress()
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const node = index % 2 === 0 ? first : second
        return (await signIn(node, { password: 'wrong' }, address)).status
      }),
    )
    expect(statuses.filter((status) => status === 401)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(20)
  })

  test('do not block right ones, however many are concurrent', async () => {
    const address = newAddress()
    await signIn(first, { password: 'wrong' }, address)
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const node = index % 2 === 0 ? first : second
        return (await signIn(node, { password: testAdminPassword }, address)).status
      }),
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  test('beyond the limit hide a right one among them', async () => {
    const address = newAddress()
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    // The right one has passed the password check and waits for its session while the others fail.
    await client.query('begin; update basalt.administrators set password_hash = password_hash')
    const attempt = signIn(first, { password: testAdminPassword }, address)
    const isWaiting = `select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%password_hash = %for update%'`
    await expect.poll(() => database.sql(isWaiting)).toHaveLength(1)
    for (let failure = 0; failure < 10; failure += 1) await signIn(second, { password: 'wrong' }, address)
    await client.query('commit')
    await client.end()
    expect((await attempt).status).toBe(429)
  })

  test('are cleared by a right one', async () => {
    const address = newAddress()
    for (let round = 0; round < 3; round += 1) {
      for (let attempt = 0; attempt < 9; attempt += 1) await signIn(first, { password: 'wrong' }, address)
      expect((await signIn(first, { password: testAdminPassword }, address)).status).toBe(200)
    }
  })

  test('are not counted for requests without a password', async () => {
    const address = newAddress()
    for (let attempt = 0; attempt < 15; attempt += 1) await signIn(first, {}, address)
    expect((await signIn(first, { password: testAdminPassword }, address)).status).toBe(200)
  })
})

describe('admin token', () => {
  test('grants data without policies, on every node and after a restart', async () => {
    await database.sql('insert into note (owner_id, body) values ($1, $3), ($2, $3)', [alice, bob, 'theirs'])
    const token = await signedIn(first)
    const own = await first.request('GET', '/api/collections/note', { token: userToken({ sub: alice }) })
    expect(own.json.totalItems).toBe(1)
    for (const node of [first, second]) {
      const all = await node.request('GET', '/api/collections/note', { token })
      expect([all.status, all.json.totalItems]).toEqual([200, 2])
    }
    const theirs = await second.request('PATCH', '/api/collections/note/1', { token, body: { body: 'mine' } })
    expect([theirs.status, theirs.json.body]).toEqual([200, 'mine'])
    await using restarted = await startNode()
    expect(await statusWith(restarted, token)).toBe(200)
  })

  test('ends with its logout at once on this node and within a second on others, and no other token ends', async () => {
    const token = await signedIn(first)
    const other = await signedIn(first)
    expect([await statusWith(first, token), await statusWith(second, token)]).toEqual([200, 200])
    const response = await first.request('POST', '/api/admin/auth/logout', { token })
    expect([response.status, response.text]).toEqual([204, ''])
    expect(await statusWith(first, token)).toBe(401)
    await expect.poll(() => statusWith(second, token)).toBe(401)
    expect([await statusWith(first, other), await statusWith(second, other)]).toEqual([200, 200])
    expect((await first.request('POST', '/api/admin/auth/logout', { token })).status).toBe(401)
  })

  test('ends by the database clock', async () => {
    const token = await signedIn(first)
    expect(await statusWith(first, token)).toBe(200)
    await database.sql(`update basalt.admin_sessions set expires_at = now() - interval '1 microsecond'`)
    await expect.poll(() => statusWith(first, token)).toBe(401)
    await signedIn(first)
    // Signing in also deletes ended sessions.
    expect(await database.sql('select from basalt.admin_sessions')).toHaveLength(1)
  })

  test('with a typing error is rejected without a query', async () => {
    const token = await signedIn(first)
    await database.sql('alter table basalt.admin_sessions rename to gone')
    try {
      for (const mistyped of [
        token.slice(0, -1),
        `${token}0`,
        token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
      ]) {
        expect(await statusWith(first, mistyped)).toBe(401)
      }
    } finally {
      await database.sql('alter table basalt.gone rename to admin_sessions')
    }
  })
})

describe('new administrator password', () => {
  test('in the configuration ends every session and the old password', async () => {
    await using own = await createTestDatabase()
    await own.sql(notes)
    await using old = await startNode({}, own)
    const token = await signedIn(old)
    await using fresh = await startNode({ 'admin.password': 'a new password' }, own)
    expect(await statusWith(fresh, token)).toBe(401)
    await expect.poll(() => statusWith(old, token)).toBe(401)
    for (const node of [old, fresh]) {
      expect((await signIn(node, { password: testAdminPassword })).status).toBe(401)
      expect((await signIn(node, { password: 'a new password' })).status).toBe(200)
    }
  })

  test('during a sign-in with the old one leaves no session', async () => {
    await using own = await createTestDatabase()
    await using node = await startNode({}, own)
    const client = new pg.Client({ connectionString: own.url })
    await client.connect()
    await client.query(`begin; update basalt.administrators set password_hash = password_hash || 'x'`)
    const attempt = signIn(node, { password: testAdminPassword })
    const isWaiting = `select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%password_hash = %for update%'`
    await expect.poll(() => own.sql(isWaiting)).toHaveLength(1)
    await client.query('delete from basalt.admin_sessions; commit')
    await client.end()
    expect((await attempt).status).toBe(401)
    expect(await own.sql('select from basalt.admin_sessions')).toEqual([])
  })
})

describe('sign-in link of the first start', () => {
  const generated = { 'admin.password': '' }

  test('is made once, by one of the nodes that start at the same time', async () => {
    await using own = await createTestDatabase()
    await using one = await startNode(generated, own)
    await using two = await startNode(generated, own)
    expect(two.app.firstSignIn).toBe(undefined)
    expect(one.app.firstSignIn).toEqual({
      password: expect.stringMatching(/^([0-9a-f]{5}-){5}[0-9a-f]{5}$/),
      code: expect.stringMatching(/^basalt_signin_[0-9A-Za-z]{49}$/),
    })
    expect(await newAuditRows(own)).toEqual([
      { actor: 'first start', action: 'admin.create_password', target: null, detail: {}, address: null },
    ])
    const { password = '' } = one.app.firstSignIn ?? {}
    expect((await signIn(two, { password })).status).toBe(200)
  })

  test('works once, for concurrent requests on two nodes', async () => {
    await using own = await createTestDatabase()
    await using one = await startNode(generated, own)
    await using two = await startNode(generated, own)
    const { code } = one.app.firstSignIn ?? {}
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => signIn(index % 2 === 0 ? one : two, { code })),
    )
    const statuses = responses.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array<number>(9).fill(401)])
    expect(await own.sql('select from basalt.admin_sessions')).toHaveLength(1)
    expect(await own.sql('select from basalt.admin_sign_in_codes')).toEqual([])
    expect((await signIn(one, { code })).status).toBe(401)
  })

  test('is not consumed by an attempt that fails in the server', async () => {
    await using own = await createTestDatabase()
    await using node = await startNode(generated, own)
    const { code } = node.app.firstSignIn ?? {}
    await own.sql('alter table basalt.admin_sessions rename to gone')
    expect((await signIn(node, { code })).status).toBe(500)
    await own.sql('alter table basalt.gone rename to admin_sessions')
    expect((await signIn(node, { code })).status).toBe(200)
  })

  test('expires after an hour', async () => {
    await using own = await createTestDatabase()
    await using node = await startNode(generated, own)
    const [{ seconds } = {}] = await own.sql<{ seconds: number }>(
      'select extract(epoch from expires_at - now())::int as seconds from basalt.admin_sign_in_codes',
    )
    expect(seconds).toBeGreaterThan(3500)
    expect(seconds).toBeLessThanOrEqual(3600)
    await own.sql('update basalt.admin_sign_in_codes set expires_at = now()')
    expect((await signIn(node, { code: node.app.firstSignIn?.code })).status).toBe(401)
  })

  test('ends with the password that it replaces', async () => {
    await using own = await createTestDatabase()
    await using node = await startNode(generated, own)
    await using configured = await startNode({ 'admin.password': 'a new password' }, own)
    expect((await signIn(configured, { code: node.app.firstSignIn?.code })).status).toBe(401)
  })
})

describe('audit log of the administrator', () => {
  test('has a row for every action of an administrator, without secrets', async () => {
    await using own = await createTestDatabase()
    await using node = await startNode({ 'admin.password': '' }, own)
    const { password = '', code = '' } = node.app.firstSignIn ?? {}
    const { token } = (await signIn(node, { code }, '198.51.100.77')).json
    await signIn(node, { password }, '198.51.100.78')
    await signIn(node, { password: 'wrong' }, '198.51.100.79')
    await node.request('POST', '/api/admin/auth/logout', {
      token,
      headers: { 'x-forwarded-for': '198.51.100.80' },
    })
    await using configured = await startNode({ 'admin.password': 'a new password' }, own)
    expect((await configured.request('GET', '/health')).status).toBe(200)
    const [text = {}] = await own.sql('select string_agg(a::text, $1) as whole from basalt.audit a', [';'])
    for (const secret of [password, code, token]) expect(text.whole).not.toContain(secret)
    const row = { target: null, detail: {} }
    expect(await newAuditRows(own)).toEqual([
      { ...row, actor: 'first start', action: 'admin.create_password', address: null },
      { ...row, actor: 'admin', action: 'admin.sign_in_by_link', address: '198.51.100.77' },
      { ...row, actor: 'admin', action: 'admin.sign_in', address: '198.51.100.78' },
      { ...row, actor: 'admin', action: 'admin.sign_out', address: '198.51.100.80' },
      {
        ...row,
        actor: 'configuration',
        action: 'admin.reset_password',
        detail: { endedSessions: 1 },
        address: null,
      },
    ])
  })

  test('is written in the transaction of the action', async () => {
    const token = await signedIn(first)
    await database.sql('alter table basalt.audit rename to gone')
    try {
      expect((await first.request('POST', '/api/admin/auth/logout', { token })).status).toBe(500)
      expect((await signIn(first, { password: testAdminPassword })).status).toBe(500)
    } finally {
      await database.sql('alter table basalt.gone rename to audit')
    }
    expect(await statusWith(second, token)).toBe(200)
  })
})
