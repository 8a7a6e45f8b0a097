import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getMe, insertUser } from '../../../../../test/account-nodes.ts'
import { type AccountsApp, claimsOf, goodPassword } from '../../../../../test/accounts.ts'
import { createTestNotifications } from '../../../../../test/notifications.ts'
import { createMfaApp, pendingToken, totpUser } from '../../../../../test/second-factors.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { deleteExpired } from '../clean-up.ts'
import { EndedSessions } from '../sessions/ended-sessions.ts'

const hour = 3_600_000

/** Creates a clock that a test moves. */
function movableClock(): Clock & { ahead: number } {
  return {
    ahead: 0,
    now() {
      return new Date(Date.now() + this.ahead)
    },
  }
}

let accounts: AccountsApp
let admin: string
/** Node with short-lived access tokens, on the database of a node whose tokens last a day. */
let short: TestApp
const shortConfig = { 'auth.token_duration': '60' }
beforeAll(async () => {
  accounts = await createMfaApp({ config: { 'auth.token_duration': '86400' } })
  short = await createTestApp({ config: shortConfig, database: accounts.app.database })
  admin = await accounts.app.adminToken()
})
afterAll(async () => {
  await short[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const sql = (text: string, values: readonly unknown[] = []) => accounts.app.sql(text, values)
const statusOf = async (node: TestApp, token: string) => (await getMe(node, token)).status

/** Simulates the effect of time on revocations: rows grow older, and both nodes remove the expired ones. */
async function letHoursPass(hours: number, columns = ['ended_at', 'tokens_expire_at']): Promise<void> {
  const older = columns.map((column) => `${column} = ${column} - make_interval(hours => $1)`)
  await sql(`update basalt.ended_sessions set ${older.join(', ')}`, [hours])
  for (const node of [accounts.app, short]) await deleteExpired(node.app.database.system)
}

async function expectDead(token: string): Promise<void> {
  for (const node of [accounts.app, short]) {
    await waitFor('the token to end', async () => (await statusOf(node, token)) === 401)
  }
  const restarted = await createTestApp({ config: shortConfig, database: accounts.app.database })
  expect(await statusOf(restarted, token)).toBe(401)
  await restarted[Symbol.asyncDispose]()
}

describe('accounts › revocation', () => {
  test('outlives a token that was issued before auth.token_duration became shorter', async () => {
    const { token } = await accounts.register()
    expect(await statusOf(short, token)).toBe(200)
    const id = claimsOf(token).sid
    const ended = await short.request('DELETE', `/api/auth/sessions/${String(id)}`, { token })
    expect(ended.status).toBe(204)
    await letHoursPass(12)
    await expectDead(token)
    // The token has not expired yet, so only the revocation rejects it.
    expect(await sql('select 1 from basalt.ended_sessions where session_id = $1', [id])).toHaveLength(1)
  })

  test('outlives the longest token that nodes of different configuration issued', async () => {
    const signedIn = await accounts.register()
    const refreshed = await short.request('POST', '/api/auth/refresh', {
      body: { refreshToken: signedIn.refreshToken },
    })
    expect(claimsOf(refreshed.json.token).exp).toBeLessThan(Number(claimsOf(signedIn.token).exp))
    const again = await accounts.post('refresh', { refreshToken: signedIn.refreshToken })
    expect(again.status).toBe(200)
    await accounts.post('logout', { refreshToken: again.json.refreshToken })
    await letHoursPass(12)
    for (const { token } of [signedIn, again.json]) await expectDead(token)
  })

  test('after a replay within the grace period lasts as long as the token of that replay', async () => {
    const begun = await short.request('POST', '/api/auth/login', {
      body: { email: (await accounts.register('grace@example.com')).user.email, password: goodPassword },
    })
    const id = claimsOf(begun.json.token).sid
    const { refreshToken } = begun.json
    expect((await short.request('POST', '/api/auth/refresh', { body: { refreshToken } })).status).toBe(200)
    const replayed = await accounts.post('refresh', { refreshToken })
    expect(replayed.status).toBe(200)
    const [session] = await sql(
      'select extract(epoch from tokens_expire_at)::float8 as until from basalt.sessions where id = $1',
      [id],
    )
    expect(session?.until).toBeGreaterThanOrEqual(Number(claimsOf(replayed.json.token).exp))
  })

  test('is read from an earlier transaction number when a promoted standby has another timeline', async () => {
    const { token } = await accounts.register('promoted@example.com')
    const [{ definition } = { definition: '' }] = await sql(
      `select pg_get_functiondef('basalt.timeline'::regproc) as definition`,
    )
    await sql(
      `insert into basalt.ended_sessions (session_id, ended_by, tokens_expire_at)
       values ($1, '3', now() + interval '1 day')`,
      [claimsOf(token).sid],
    )
    await sql('create or replace function basalt.timeline() returns int language sql as $$ select 1000 $$')
    await expectDead(token)
    await sql(String(definition))
  })

  test('is deleted once no token of the session can be valid', async () => {
    const { token, refreshToken } = await accounts.register()
    const id = claimsOf(token).sid
    await accounts.post('logout', { refreshToken })
    await letHoursPass(24)
    expect(await sql('select 1 from basalt.ended_sessions where session_id = $1', [id])).toHaveLength(1)
    await letHoursPass(2)
    expect(await sql('select 1 from basalt.ended_sessions where session_id = $1', [id])).toHaveLength(0)
  })

  test('ends a sign-in that waits for its second factor, on every endpoint and node', async () => {
    const user = await totpUser(accounts)
    const token = await pendingToken(accounts, user.user.email)
    const listFactors = (node: TestApp) => node.request('GET', '/api/auth/mfa/factors', { token })
    for (const node of [accounts.app, short]) expect((await listFactors(node)).status).toBe(200)
    await short.request('DELETE', `/api/admin/users/${user.user.id}/sessions`, { token: admin })
    for (const node of [accounts.app, short]) expect((await listFactors(node)).status).toBe(401)
    expect((await accounts.post('mfa/totp/challenge', undefined, token)).status).toBe(401)
  })

  const ends = {
    disabled: (id: string) => short.request('POST', `/api/admin/users/${id}/disable`, { token: admin }),
    deleted: (id: string) => short.request('DELETE', `/api/admin/users/${id}`, { token: admin }),
    'deleted by SQL': (id: string) => sql('delete from basalt.users where id = $1', [id]),
    'disabled by SQL': (id: string) => sql('update basalt.users set disabled_at = now() where id = $1', [id]),
  }
  const listed = async (node: TestApp, token: string) =>
    (await node.request('GET', '/api/collections/open_to_all', { token })).status

  test.each(Object.entries(ends))(
    'ends tokens without a session when their user is %s',
    async (_name, end) => {
      await sql('create table if not exists open_to_all (id int primary key)')
      const { id } = await insertUser(accounts.app)
      const token = userToken({ sub: id }, 86_400)
      const stranger = userToken({ sub: randomUUID() }, 86_400)
      const nodes = [accounts.app, short]
      for (const node of nodes) {
        await waitFor('the table', async () => (await listed(node, token)) === 200)
      }
      await end(id)
      // The token cannot grow older, so the revocation remains the later one.
      await letHoursPass(12, ['tokens_expire_at'])
      for (const node of nodes) {
        await waitFor('the token to end', async () => (await listed(node, token)) === 401)
        expect(await listed(node, stranger)).toBe(200)
      }
      const restarted = await createTestApp({ config: shortConfig, database: accounts.app.database })
      expect(await listed(restarted, token)).toBe(401)
      await restarted[Symbol.asyncDispose]()
    },
  )

  test.each(Object.entries(ends))(
    'ends tokens of a session and a pending sign-in when their user is %s',
    async (_name, end) => {
      await sql('create table if not exists open_to_all (id int primary key)')
      const user = await totpUser(accounts)
      const pending = await pendingToken(accounts, user.user.email)
      const stranger = await accounts.register()
      const nodes = [accounts.app, short]
      for (const node of nodes) {
        await waitFor('the table', async () => (await listed(node, user.token)) === 200)
      }
      await end(user.user.id)
      for (const node of nodes) {
        await waitFor('the token to end', async () => (await listed(node, user.token)) === 401)
        const factors = await node.request('GET', '/api/auth/mfa/factors', { token: pending })
        expect(factors.status).toBe(401)
        expect(await listed(node, stranger.token)).toBe(200)
      }
    },
  )

  test('accepts later tokens of a user who is enabled again', async () => {
    const { id } = await insertUser(accounts.app)
    const before = userToken({ sub: id })
    await short.request('POST', `/api/admin/users/${id}/disable`, { token: admin })
    await waitFor('the token to end', async () => (await statusOf(short, before)) === 401)
    await short.request('POST', `/api/admin/users/${id}/enable`, { token: admin })
    // A token of the same second may have been issued earlier.
    await sql(
      "update basalt.ended_sessions set ended_at = ended_at - interval '10 s' where session_id = $1",
      [id],
    )
    const restarted = await createTestApp({ database: accounts.app.database })
    expect(await statusOf(restarted, userToken({ sub: id }))).toBe(200)
    await restarted[Symbol.asyncDispose]()
  })

  test('is kept in memory until the last token has expired by the clock of the node', async () => {
    const { token, refreshToken, user } = await accounts.register()
    await accounts.post('logout', { refreshToken })
    const owner = { userId: user.id, sessionId: String(claimsOf(token).sid), issuedAt: undefined }
    const nodeClock = movableClock()
    const notifications = createTestNotifications(short.app.database.system)
    const ended = new EndedSessions(short.app.database.system, nodeClock, notifications)
    await notifications.start()
    await notifications.stop()
    for (const [hours, isKept] of [
      [0, true],
      [23, true],
      [25, false],
    ] as const) {
      nodeClock.ahead = hours * hour
      ended.sweep()
      expect({ hours, isKept: ended.has(owner) }).toEqual({ hours, isKept })
    }
  })
})
