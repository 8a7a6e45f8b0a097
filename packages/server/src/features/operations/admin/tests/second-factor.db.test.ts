import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AccountsApp, createAccountsApp } from '../../../../../test/accounts.ts'
import {
  addPasskey,
  dashboardAuthenticator,
  type EnrolledApp,
  enrollApp,
  passkeyBody,
  pendingAdministrator,
} from '../../../../../test/administrator-factors.ts'
import { administratorPassword, inviteAdministrator } from '../../../../../test/administrators.ts'
import { totpCode } from '../../../../../test/second-factors.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { testAdminPassword, testConfig } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { withDatabase } from '../../../../cli/with-database.ts'
import { recoverAdministrator } from '../index.ts'

const account = '/api/admin/account'
const email = 'owner@example.com'

let accounts: AccountsApp
let app: TestApp
let second: TestApp
let token: string

beforeAll(async () => {
  accounts = await createAccountsApp()
  app = accounts.app
  second = await accounts.secondNode()
})
beforeEach(async () => {
  await app.sql('delete from basalt.administrators where is_first is null')
  for (const table of ['totp', 'passkeys', 'backup_codes']) {
    await app.sql(`delete from basalt.administrator_${table}`)
  }
  await app.sql('delete from basalt.attempts; delete from basalt.audit')
  token = await inviteAdministrator(app, 'owner')
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const signIn = (body: unknown, node = app) => node.request('POST', '/api/admin/auth', { body })
const own = (method: string, path: string, body?: unknown, as = token) =>
  app.request(method, `${account}/${path}`, { token: as, body })
const session = async (as: string, node = app) =>
  (await node.request('GET', '/api/admin/session', { token: as })).status

/** Recovers the administrator as the command line does. */
const recover = () =>
  withDatabase(testConfig({ 'database.url': app.database.url }), 'basalt admin', ({ system }) =>
    recoverAdministrator({ database: system, methods: { password: true, provider: undefined } }, email, {
      actor: 'command line',
    }),
  )

/** Sends ten requests at once, half of them to each node. */
const ten = (send: (node: TestApp) => Promise<{ readonly status: number }>) =>
  Promise.all(Array.from({ length: 10 }, (_, index) => send(index % 2 === 0 ? app : second)))

describe('POST /api/admin/account/factors/totp', () => {
  test('enrols an app, and requires it of every later sign-in', async () => {
    const other = (await signIn({ email, password: administratorPassword })).json.token
    const { secret, backupCodes } = await enrollApp(app, token)
    expect(backupCodes).toHaveLength(10)
    expect((await own('GET', 'factors')).json).toEqual({
      totp: { confirmedAt: expect.any(String) },
      passkeys: [],
      backupCodes: 10,
    })
    // The session that enrolled has proved the factor. Other sign-ins end, also on the other node.
    expect([await session(token), await session(other), await session(other, second)]).toEqual([
      200, 401, 401,
    ])
    const mfa_token = await pendingAdministrator(app, email)
    expect(await session(mfa_token)).toBe(401)
    const wrong = await signIn({ mfa_token, code: '000000' })
    expect([wrong.status, wrong.json.message]).toEqual([401, 'invalid code'])
    const passed = await signIn({ mfa_token, code: totpCode(secret) })
    expect([passed.status, passed.json]).toEqual([
      200,
      { token: expect.any(String), expiresAt: expect.any(String) },
    ])
    expect(await session(passed.json.token)).toBe(200)
    expect((await signIn({ mfa_token, code: backupCodes[0] })).json.message).toBe(
      'this sign-in no longer waits for a second factor',
    )
    const audit = await app.sql(
      "select administrator, detail from basalt.audit where action = 'admin.sign_in' and detail ? 'secondFactor'",
    )
    expect(audit).toEqual([{ administrator: email, detail: { secondFactor: 'totp' } }])
  })

  test('stores neither secret nor codes in clear text', async () => {
    const { secret, backupCodes } = await enrollApp(app, token)
    const stored = JSON.stringify(
      await app.sql(`select t::text as row from basalt.administrator_totp t
        union all select c::text from basalt.administrator_backup_codes c
        union all select a::text from basalt.audit a`),
    )
    expect(stored).not.toContain(secret)
    for (const code of backupCodes) expect(stored).not.toContain(code.replace('-', ''))
  })

  test('requires the present factor for another one, for new codes and for a removal', async () => {
    const { secret } = await enrollApp(app, token)
    await app.sql("update basalt.admin_sessions set second_factor_at = now() - interval '11 minutes'")
    for (const [method, path] of [
      ['POST', 'passkeys'],
      ['POST', 'factors/backup-codes'],
      ['DELETE', 'factors/totp'],
      ['POST', 'tokens'],
    ] as const) {
      const response = await own(
        method,
        path,
        method === 'POST' ? { name: 'x', expiresInDays: 1 } : undefined,
      )
      expect([path, response.status, response.json.message]).toEqual([
        path,
        403,
        'this operation requires a second factor of the last ten minutes',
      ])
    }
    expect((await own('POST', 'step-up', { code: totpCode(secret) })).status).toBe(204)
    expect((await own('POST', 'factors/backup-codes')).json.backupCodes).toHaveLength(10)
    expect((await own('DELETE', 'factors/totp')).status).toBe(204)
    expect((await own('GET', 'factors')).json).toEqual({ totp: null, passkeys: [], backupCodes: 0 })
    expect((await signIn({ email, password: administratorPassword })).json.token).toEqual(expect.any(String))
  })

  test('ends the sign-ins that have proved a removed factor with the next first one', async () => {
    const { secret } = await enrollApp(app, token)
    const mfa_token = await pendingAdministrator(app, email)
    const other = (await signIn({ mfa_token, code: totpCode(secret) })).json.token
    expect((await own('DELETE', 'factors/totp')).status).toBe(204)
    expect(await session(other)).toBe(200)
    await enrollApp(app, token)
    expect([await session(token), await session(other)]).toEqual([200, 401])
  })

  test('lets one of two sessions enrol the first factor', async () => {
    const other = (await signIn({ email, password: administratorPassword })).json.token
    const begun = await own('POST', 'factors/totp')
    const code = totpCode(begun.json.secret)
    const responses = await ten((node) =>
      node.request('POST', `${account}/factors/totp/confirm`, {
        token: node === app ? token : other,
        body: { code },
      }),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status }) => status >= 500)).toEqual([])
    expect((await app.sql('select from basalt.administrator_backup_codes')).length).toBe(10)
  })

  test('requires the factor of the first administrator after the password alone', async () => {
    // The session that enrols remains. Tests share it.
    const { secret } = await enrollApp(app, await app.adminToken())
    const pending = await signIn({ password: testAdminPassword })
    expect(pending.json).toEqual({ mfa_pending: true, mfa_token: expect.any(String) })
    const passed = await signIn({ mfa_token: pending.json.mfa_token, code: totpCode(secret) })
    expect(passed.status).toBe(200)
  })
})

describe('single use › ten at once on two nodes', () => {
  let enrolled: EnrolledApp
  beforeEach(async () => {
    enrolled = await enrollApp(app, token)
  })

  test('accepts a code of the app once, for several waiting sign-ins', async () => {
    const code = totpCode(enrolled.secret)
    const waiting = await Promise.all(Array.from({ length: 10 }, () => pendingAdministrator(app, email)))
    let next = 0
    const responses = await ten((node) => signIn({ mfa_token: waiting[next++], code }, node))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
  })

  test('accepts a backup code once', async () => {
    const [code = ''] = enrolled.backupCodes
    const waiting = await Promise.all(Array.from({ length: 10 }, () => pendingAdministrator(app, email)))
    let next = 0
    const responses = await ten((node) =>
      signIn({ mfa_token: waiting[next++], code: code.toUpperCase() }, node),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
    expect((await own('GET', 'factors')).json.backupCodes).toBe(9)
  })

  test('completes a waiting sign-in once, by different codes', async () => {
    const mfa_token = await pendingAdministrator(app, email)
    let next = 0
    const responses = await ten((node) => signIn({ mfa_token, code: enrolled.backupCodes[next++] }, node))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
    expect((await own('GET', 'factors')).json.backupCodes).toBe(9)
  })

  test('accepts an assertion of a passkey once', async () => {
    const authenticator = dashboardAuthenticator(app)
    expect((await addPasskey(app, token, authenticator)).status).toBe(200)
    const body = await passkeyBody(app, authenticator)
    const responses = await ten((node) => signIn(body, node))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
  })
})

describe('wrong codes', () => {
  test('lock the codes from all addresses, while a passkey and recovery still enter', async () => {
    const { secret } = await enrollApp(app, token)
    const authenticator = dashboardAuthenticator(app)
    await addPasskey(app, token, authenticator)
    const mfa_token = await pendingAdministrator(app, email)
    const wrong = await ten((node) => signIn({ mfa_token, code: '000000' }, node))
    const more = await ten((node) => signIn({ mfa_token, code: 'aaaaa-aaaaa' }, node))
    const statuses = [...wrong, ...more].map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(15)
    expect(statuses.filter((status) => status === 429)).toHaveLength(5)
    expect((await signIn({ mfa_token, code: totpCode(secret) })).status).toBe(429)
    expect((await signIn(await passkeyBody(app, authenticator, mfa_token))).status).toBe(200)
    expect((await signIn(await passkeyBody(app, authenticator))).status).toBe(200)
    const code = await recover()
    const body = { code, password: 'another password' }
    expect((await app.request('POST', '/api/admin/auth/password', { body })).status).toBe(204)
    expect((await signIn({ email, password: 'another password' })).json.token).toEqual(expect.any(String))
  })

  test('lock no passkey, if they are passwords', async () => {
    const authenticator = dashboardAuthenticator(app)
    await addPasskey(app, token, authenticator)
    for (let attempt = 0; attempt < 12; attempt += 1) await signIn({ email, password: 'wrong' })
    expect((await signIn({ email, password: administratorPassword })).status).toBe(429)
    expect((await signIn(await passkeyBody(app, authenticator))).status).toBe(200)
  })
})

describe('passkeys', () => {
  test('are added, sign in alone, and are removed', async () => {
    const authenticator = dashboardAuthenticator(app)
    const added = await addPasskey(app, token, authenticator)
    expect([added.status, added.json]).toEqual([
      200,
      {
        passkey: {
          id: expect.any(String),
          displayName: 'laptop',
          createdAt: expect.any(String),
          lastUsedAt: null,
        },
        backupCodes: expect.any(Array),
      },
    ])
    expect(added.json.backupCodes).toHaveLength(10)
    const signedIn = await signIn(await passkeyBody(app, authenticator))
    expect(signedIn.status).toBe(200)
    const removed = await app.request('DELETE', `${account}/passkeys/${added.json.passkey.id}`, {
      token: signedIn.json.token,
    })
    expect(removed.status).toBe(204)
    expect((await signIn(await passkeyBody(app, authenticator))).status).toBe(401)
  })

  test('are no second factor of another administrator', async () => {
    await enrollApp(app, token)
    const support = await inviteAdministrator(app, 'support')
    const authenticator = dashboardAuthenticator(app)
    await addPasskey(app, support, authenticator)
    const mfa_token = await pendingAdministrator(app, email)
    const begun = await app.request('POST', '/api/admin/auth/passkey', { body: { mfa_token } })
    const [passkey] = authenticator.passkeys
    const assertion_response = authenticator.get(begun.json.options, passkey === undefined ? {} : { passkey })
    const body = { mfa_token, challenge_id: begun.json.challenge_id, assertion_response }
    expect((await signIn(body)).status).toBe(401)
    // A challenge of a sign-in by passkey alone is none of a second factor.
    expect((await signIn({ ...(await passkeyBody(app, authenticator)), mfa_token })).status).toBe(401)
  })

  test('are a second factor only, if they have not verified their holder', async () => {
    const authenticator = dashboardAuthenticator(app, false)
    expect((await addPasskey(app, token, authenticator)).status).toBe(200)
    expect((await signIn(await passkeyBody(app, authenticator))).status).toBe(401)
    const mfa_token = await pendingAdministrator(app, email)
    expect((await signIn(await passkeyBody(app, authenticator, mfa_token))).status).toBe(200)
  })

  test('do not sign in a disabled administrator', async () => {
    const authenticator = dashboardAuthenticator(app)
    await addPasskey(app, token, authenticator)
    const body = await passkeyBody(app, authenticator)
    await app.sql('update basalt.administrators set disabled_at = now() where email = $1', [email])
    expect((await signIn(body)).status).toBe(401)
  })

  test('reject malformed responses', async () => {
    const { challenge_id } = (await app.request('POST', '/api/admin/auth/passkey', { body: {} })).json
    for (const body of [{ challenge_id }, { challenge_id: 'x', assertion_response: {} }]) {
      expect((await signIn(body)).status).toBeGreaterThanOrEqual(400)
      expect((await signIn(body)).status).toBeLessThan(500)
    }
    const begun = await app.request('POST', '/api/admin/auth/passkey', { body: { mfa_token: 'unknown' } })
    expect(begun.status).toBe(401)
  })
})

describe('removed factors', () => {
  const removals = async () =>
    await app.sql(`
      select a.email, j.payload->>'name' as name from basalt.jobs j
      join basalt.administrators a on a.id::text = j.payload->>'administratorId'
      where j.payload->>'kind' = 'factor_removed' order by 1`)

  test('are reported to owners by mail', async () => {
    const support = await inviteAdministrator(app, 'support')
    await enrollApp(app, support)
    const [{ id } = { id: '' }] = await app.sql<{ id: string }>(
      "select id from basalt.administrators where email = 'support@example.com'",
    )
    const path = `/api/admin/administrators/${id}/factors`
    expect((await app.request('DELETE', path, { token: support })).status).toBe(403)
    expect((await app.request('DELETE', path, { token })).status).toBe(204)
    expect((await app.request('DELETE', path, { token })).status).toBe(404)
    expect(await session(support)).toBe(401)
    for (;;) {
      const mail = await accounts.inbox.take(email)
      if (mail.text?.includes('A second factor of support@example.com') !== true) continue
      expect(mail.subject).toContain('Second factor removed')
      break
    }
  })

  test('are audited and reported, if recovery removed them', async () => {
    await enrollApp(app, token)
    await recover()
    expect(await removals()).toContainEqual({ email, name: email })
    expect(
      await app.sql("select actor, detail from basalt.audit where action = 'administrators.recover'"),
    ).toEqual([{ actor: 'command line', detail: { removedFactors: 1 } }])
  })
})

test('recovery ends the codes that were created before', async () => {
  const earlier = await recover()
  const code = await recover()
  const use = (given: string) =>
    app.request('POST', '/api/admin/auth/password', { body: { code: given, password: 'another password' } })
  const refused = await use(earlier)
  expect([refused.status, refused.json.error]).toEqual([401, 'invalid_password_code'])
  expect((await use(code)).status).toBe(204)
})

describe('waiting sign-ins', () => {
  test.each([
    ['a new password', "update basalt.administrators set password_hash = 'x' where email = $1"],
    ['a lower role', "update basalt.administrators set role = 'viewer' where email = $1"],
    ['disabling', 'update basalt.administrators set disabled_at = now() where email = $1'],
    ['removal', 'delete from basalt.administrators where email = $1'],
  ])('end with %s', async (_, statement) => {
    const { secret } = await enrollApp(app, token)
    const mfa_token = await pendingAdministrator(app, email)
    await app.sql(statement, [email])
    expect((await signIn({ mfa_token, code: totpCode(secret) })).status).toBe(401)
  })

  test('are no tokens, and no cookies', async () => {
    await enrollApp(app, token)
    const mfa_token = await pendingAdministrator(app, email)
    expect((await app.request('GET', '/api/admin/administrators', { token: mfa_token })).status).toBe(401)
    const headers = {
      cookie: `__Host-basalt-admin=${mfa_token}; basalt-admin=${mfa_token}`,
      'x-basalt-dashboard': '1',
    }
    expect((await app.request('GET', '/api/admin/session', { headers })).status).toBe(401)
  })
})

describe('POST /api/admin/session › second factor', () => {
  test('sets the cookie only after it, and only for own pages', async () => {
    const { secret } = await enrollApp(app, token)
    const origin = new URL(app.url).origin
    const send = (body: unknown, headers = {}) =>
      app.request('POST', '/api/admin/session', { body, headers: { origin, ...headers } })
    const pending = await send({ email, password: administratorPassword })
    expect([pending.json.mfa_pending, pending.headers.get('set-cookie')]).toEqual([true, null])
    const body = { mfa_token: pending.json.mfa_token, code: totpCode(secret) }
    const foreign = await send(body, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })
    expect(foreign.status).toBe(403)
    const passed = await send(body)
    expect([passed.status, passed.json]).toEqual([200, { expiresAt: expect.any(String) }])
    const cookie = passed.headers.get('set-cookie') ?? ''
    expect(cookie).toContain('HttpOnly; SameSite=Strict')
    // A page of another site cannot use the cookie to prove or remove a factor.
    for (const path of ['step-up', 'factors/totp', 'passkeys']) {
      const crossSite = await app.request('POST', `${account}/${path}`, {
        body: {},
        headers: {
          cookie: cookie.split(';')[0] ?? '',
          origin: 'https://evil.example',
          'sec-fetch-site': 'cross-site',
        },
      })
      expect([path, [401, 403].includes(crossSite.status)]).toEqual([path, true])
    }
  })
})

describe('step-up', () => {
  afterEach(async () => {
    await app.sql('delete from basalt.jobs where id = $1', [job])
    await app.sql('delete from basalt.schedules where id = $1', [schedule])
  })
  const job = '00000000-0000-4000-8000-000000000001'
  const schedule = '00000000-0000-4000-8000-000000000002'
  const insert = { query: 'create table stepped ()', mode: 'write' }
  const sensitive = async (as: string) => {
    const unknown = '00000000-0000-4000-8000-00000000dead'
    await app.sql(
      `insert into basalt.jobs (id, type, payload, max_attempts, state) values ($1, 'sql_statement', '{}', 1, 'failed')
        on conflict (id) do update set state = 'failed'`,
      [job],
    )
    await app.sql(
      `insert into basalt.schedules (id, name, job_type, payload, cron_expr, timezone, enabled, max_attempts)
        values ($1, 'nightly', 'sql_statement', '{}', '0 3 * * *', 'UTC', false, 1) on conflict (id) do nothing`,
      [schedule],
    )
    const calls = [
      ['PUT', '/api/admin/secrets/KEY', { value: 'x' }],
      ['POST', `/api/admin/api-keys/${unknown}/rotate`, {}],
      ['POST', '/api/admin/oauth/clients/x/rotate-secret', {}],
      ['GET', `/api/admin/users/${unknown}/provider-tokens`, undefined],
      ['DELETE', `/api/admin/administrators/${unknown}`, undefined],
      ['PATCH', `/api/admin/administrators/${unknown}`, { role: 'owner' }],
      ['POST', '/api/admin/administrators', { email: 'x@example.com', role: 'owner' }],
      ['DELETE', `/api/admin/apps/${unknown}`, undefined],
      ['PUT', '/api/admin/auth/providers/google', { enabled: false }],
      ['PATCH', '/api/admin/auth-settings', {}],
      ['POST', '/api/admin/structure/apply', {}],
      ['POST', '/api/admin/structure/plan', { sql: 'create table stepped ()' }],
      ['POST', `/api/admin/jobs/${job}/retry`, undefined],
      ['POST', `/api/admin/schedules/${schedule}/enable`, undefined],
      ['PUT', `/api/admin/schedules/${schedule}`, { cronExpr: '0 4 * * *' }],
      ['POST', '/api/admin/sql', insert],
      ['POST', '/api/admin/jobs', { type: 'sql_statement', payload: { sql: 'select 1' } }],
      ['POST', '/api/admin/functions/invoke', { name: 'x', commit: true, reason: 'x' }],
    ] as const
    const refused: string[] = []
    for (const [method, path, body] of calls) {
      const { status, text } = await app.request(method, path, { token: as, body })
      if (status === 403 && text.includes('step_up_required')) refused.push(`${method} ${path}`)
    }
    return { refused: refused.length, all: calls.length }
  }
  const stale = () =>
    app.sql(
      "update basalt.admin_sessions set second_factor_at = now() - interval '11 minutes' where name is null",
    )

  test('is required of developers who plan a change of the structure', async () => {
    const developer = await inviteAdministrator(app, 'developer')
    const change = { kind: 'create_enum', schema: 'public', name: 'mood', values: ['calm'] }
    const plan = () =>
      app.request('POST', '/api/admin/structure/plan', { token: developer, body: { change } })
    await enrollApp(app, developer)
    expect((await plan()).status).toBe(200)
    await stale()
    await waitFor(
      'the end of the cached verdict',
      async () => (await plan()).json.error === 'step_up_required',
    )
  })

  test('is required of administrators with a factor, for ten minutes', async () => {
    expect((await sensitive(token)).refused).toBe(0)
    await app.sql('drop table if exists stepped')
    const { secret } = await enrollApp(app, token)
    const fresh = await sensitive(token)
    expect(fresh.refused).toBe(0)
    await app.sql('drop table if exists stepped')
    await stale()
    // A verdict is cached for a second.
    await waitFor('the end of the cached verdict', async () => (await sensitive(token)).refused === fresh.all)
    await app.sql('drop table if exists stepped')
    const refused = await sensitive(token)
    expect(refused.refused).toBe(refused.all)
    expect(await app.sql("select to_regclass('stepped') as found")).toEqual([{ found: null }])
    const read = await app.request('POST', '/api/admin/sql', { token, body: { query: 'select 1' } })
    expect(read.status).toBe(200)
    const empty = await own('POST', 'step-up', {})
    expect([empty.status, empty.json.message]).toEqual([
      400,
      'code, or challenge_id with assertion_response, is required',
    ])
    expect((await own('POST', 'step-up', { code: totpCode(secret) })).status).toBe(204)
    const written = { token, body: insert }
    // The other node has cached the older verdict.
    expect((await second.request('POST', '/api/admin/sql', written)).status).toBe(200)
    await app.sql('drop table stepped')
  })

  test('admits a token of a program only if it was created for it', async () => {
    const early = await own('POST', 'tokens', { name: 'early', expiresInDays: 1, passesStepUp: true })
    expect([early.status, early.json.message]).toEqual([
      400,
      expect.stringContaining('passesStepUp: expected a second factor of the administrator'),
    ])
    const before = (await own('POST', 'tokens', { name: 'before', expiresInDays: 1 })).json.token
    const { secret } = await enrollApp(app, token)
    const plain = (await own('POST', 'tokens', { name: 'plain', expiresInDays: 1 })).json.token
    const created = await own('POST', 'tokens', { name: 'restore', expiresInDays: 1, passesStepUp: true })
    expect(created.json.session.passesStepUp).toBe(true)
    for (const [as, isAdmitted] of [
      [before, false],
      [plain, false],
      [created.json.token, true],
    ] as const) {
      const { refused, all } = await sensitive(as)
      expect(refused).toBe(isAdmitted ? 0 : all)
      await app.sql('drop table if exists stepped')
      // A program proves no factor, enrols none and creates no token.
      expect((await own('POST', 'step-up', { code: totpCode(secret) }, as)).status).toBe(403)
      expect((await own('POST', 'step-up', { code: '000000' }, as)).json.error).toBe('program_token')
      expect((await own('POST', 'factors/backup-codes', undefined, as)).status).toBe(403)
      expect((await own('POST', 'tokens', { name: 'x', expiresInDays: 1 }, as)).status).toBe(403)
    }
  })

  test('is declared in the API document', async () => {
    const { json } = await app.request('GET', '/api/openapi.json', { token })
    expect(json.paths['/api/admin/apps/{id}'].delete.description).toContain('step_up_required')
  })
})

describe('admin.require_second_factor', () => {
  test('lets an administrator without a factor only enrol one', async () => {
    const strict = await createTestApp({
      database: app.database,
      config: { 'admin.require_second_factor': 'true' },
    })
    try {
      for (const [method, path] of [
        ['GET', '/api/admin/administrators'],
        ['GET', '/api/admin/preferences'],
        ['GET', '/api/collections/note'],
        ['POST', '/api/admin/account/tokens'],
        ['PUT', '/api/admin/account/password'],
      ] as const) {
        const { status, json } = await strict.request(method, path, { token })
        expect([path, status, json.error]).toEqual([path, 403, 'second_factor_required'])
      }
      const current = await strict.request('GET', '/api/admin/session', { token })
      expect([current.status, current.json.mustEnroll, current.json.hasSecondFactor]).toEqual([
        200,
        true,
        false,
      ])
      await enrollApp(strict, token)
      expect((await strict.request('GET', '/api/admin/administrators', { token })).status).toBe(200)
      // Operators at the command line have no account.
      const command = await app.adminToken()
      expect((await strict.request('GET', '/api/admin/session', { token: command })).status).toBe(200)
    } finally {
      await strict[Symbol.asyncDispose]()
    }
  })
})
