import { createSecretKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import {
  type AccountsApp,
  claimsOf,
  createAccountsApp,
  goodPassword,
  type SignedIn,
} from '../../../../../test/accounts.ts'
import { call, connectTo } from '../../../../../test/connections.ts'
import { aal2Session, createMfaApp, totpUser } from '../../../../../test/second-factors.ts'
import { createTestApp, envelope, type TestApp, type TestResponse } from '../../../../../test/test-app.ts'
import { createWireProxy } from '../../../../../test/wire-proxy.ts'
import { queryableOn } from '../../../../database/system-database.ts'
import { createRefreshToken } from '../sessions/refresh-token.ts'
import { rotateSessions } from '../sessions/sessions.ts'

let accounts: AccountsApp
/** Second node on the same database. */
let other: TestApp
beforeAll(async () => {
  accounts = await createAccountsApp()
  other = await accounts.secondNode()
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const refreshOn = (node: TestApp, refreshToken: string) =>
  node.request('POST', '/api/auth/refresh', { body: { refreshToken } })
const me = (node: TestApp, token: string) => node.request('GET', '/api/auth/me', { token })
/** Moves the rotations of a session into the past, beyond the grace period. */
const ageRotations = (userId: string) =>
  accounts.app.sql(
    `update basalt.sessions set rotations = array(select unnest(rotations) - interval '11 seconds') where user_id = $1`,
    [userId],
  )
const invalidRefreshToken = {
  code: 401,
  message: 'invalid or expired refresh token',
  error: 'invalid_refresh_token',
}
const invalidToken = { code: 401, message: 'invalid or expired token', error: 'invalid_token' }

/** Checks that within a second every node rejects the token, wherever it is used. */
async function endsEverywhere(token: string): Promise<void> {
  for (const node of [accounts.app, other]) {
    for (const path of ['/api/auth/me', '/api/collections/none']) {
      const read = () => node.request('GET', path, { token })
      await expect.poll(async () => (await read()).status).toBe(401)
      expect(envelope(await read())).toEqual(invalidToken)
    }
  }
}

const renewal = { lifetimeSeconds: 60, tokenExpiresAt: new Date(), requiresVerifiedEmail: false }
const rotation = { generation: 1, client: { userAgent: 'test', ipAddress: '127.0.0.1' } }

describe('POST /api/auth/refresh', () => {
  test('replaces the refresh token and keeps session, level and methods', async () => {
    const signedIn = await accounts.register()
    const response = await refreshOn(other, signedIn.refreshToken)
    expect(response.status).toBe(200)
    expect(response.json.user).toEqual(signedIn.user)
    expect(response.json.refreshToken).not.toBe(signedIn.refreshToken)
    const [before, after] = [claimsOf(signedIn.token), claimsOf(response.json.token)]
    expect({ ...after, jti: '', iat: 0, exp: 0 }).toEqual({ ...before, jti: '', iat: 0, exp: 0 })
    expect(after.jti).not.toBe(before.jti)
  })

  test('never raises the level', async () => {
    const { refreshToken, user } = await accounts.register()
    const first = await refreshOn(accounts.app, refreshToken)
    expect(claimsOf(first.json.token).aal).toBe('aal1')
    await accounts.app.sql(
      "update basalt.sessions set aal = 'aal2', amr = '{password,totp}' where user_id = $1",
      [user.id],
    )
    const second = await refreshOn(accounts.app, first.json.refreshToken)
    expect(claimsOf(second.json.token)).toMatchObject({ aal: 'aal2', amr: ['password', 'totp'] })
  })

  test('returns the same successor for a replay within the grace period, on every node', async () => {
    const { refreshToken } = await accounts.register()
    const first = await refreshOn(accounts.app, refreshToken)
    const replay = await refreshOn(other, refreshToken)
    expect(replay.status).toBe(200)
    expect(replay.json.refreshToken).toBe(first.json.refreshToken)
    const next = await refreshOn(other, first.json.refreshToken)
    // The first token was replaced only just now, although its successor has been as well.
    expect((await refreshOn(accounts.app, refreshToken)).json.refreshToken).toBe(first.json.refreshToken)
    expect((await refreshOn(accounts.app, next.json.refreshToken)).status).toBe(200)
  })

  test('ends the session when a token is replayed later', async () => {
    const { refreshToken, token, user } = await accounts.register()
    const first = await refreshOn(accounts.app, refreshToken)
    await ageRotations(user.id)
    expect(envelope(await refreshOn(other, refreshToken))).toEqual(invalidRefreshToken)
    expect(envelope(await refreshOn(other, first.json.refreshToken))).toEqual(invalidRefreshToken)
    expect(await accounts.app.sql('select 1 from basalt.sessions where user_id = $1', [user.id])).toEqual([])
    await endsEverywhere(token)
    await endsEverywhere(first.json.token)
  })

  test('ends the session when a token is replayed whose rotation is no longer kept', async () => {
    const { refreshToken, user } = await accounts.register()
    let latest = refreshToken
    for (let count = 0; count < 20; count += 1)
      latest = (await refreshOn(accounts.app, latest)).json.refreshToken
    expect(
      await accounts.app.sql('select cardinality(rotations) as n from basalt.sessions where user_id = $1', [
        user.id,
      ]),
    ).toEqual([{ n: 16 }])
    expect((await refreshOn(accounts.app, refreshToken)).status).toBe(401)
    expect((await refreshOn(accounts.app, latest)).status).toBe(401)
  })

  test('makes one successor for twenty concurrent requests, half of them on another node', async () => {
    const { refreshToken, user } = await accounts.register()
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        refreshOn(index % 2 === 0 ? accounts.app : other, refreshToken),
      ),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(new Set(responses.map(({ json }) => json.refreshToken)).size).toBe(1)
    expect(
      await accounts.app.sql('select generation from basalt.sessions where user_id = $1', [user.id]),
    ).toEqual([{ generation: 2 }])
  })

  test('makes one round trip, and is parsed once per connection', async () => {
    const { token } = await accounts.register()
    const sessionId = String(claimsOf(token).sid)
    const url = new URL(accounts.app.database.url)
    await using proxy = await createWireProxy(Number(url.port))
    url.port = String(proxy.port)
    const connection = await connectTo({ url: url.href })
    // The proxy counts the connections that begin as those of callers do.
    await connection.send([call("select set_config('application_name', 'refresh', false)")])
    const rotate = (generation: number) =>
      rotateSessions(queryableOn(connection), [{ ...rotation, sessionId, generation }], renewal)
    proxy.takeTraffic()
    expect(await rotate(1)).toMatchObject([{ session_id: sessionId, generation: 2 }])
    expect(proxy.takeTraffic()).toMatchObject({ turns: 1, syncs: 1, parsed: [expect.any(String)] })
    expect(await rotate(2)).toMatchObject([{ session_id: sessionId, generation: 3 }])
    expect(proxy.takeTraffic()).toMatchObject({ turns: 1, syncs: 1, executes: 1, parsed: [] })
    await connection.close()
  })

  test('rotates each of forty concurrent sessions once, whatever the others are', async () => {
    const sessions = await Promise.all(Array.from({ length: 20 }, () => accounts.register()))
    const expired = sessions[0]?.user.id
    await accounts.app.sql('update basalt.sessions set expires_at = now() where user_id = $1', [expired])
    const responses = await Promise.all(
      [...sessions, ...sessions].map(({ refreshToken }) => refreshOn(accounts.app, refreshToken)),
    )
    responses.forEach(({ status, json }, index) => {
      const { user } = sessions[index % 20] as SignedIn
      expect(status).toBe(user.id === expired ? 401 : 200)
      if (user.id !== expired) expect(json.user.id).toBe(user.id)
    })
    const ids = sessions.slice(1).map(({ user }) => user.id)
    expect(
      await accounts.app.sql('select distinct generation from basalt.sessions where user_id = any ($1)', [
        ids,
      ]),
    ).toEqual([{ generation: 2 }])
  })

  test('does not wait for a locked session of another user', async () => {
    const [locked, free] = [await accounts.register(), await accounts.register()]
    await using holder = await openTransaction(accounts.app.database)
    await holder.sql('select from basalt.sessions where user_id = $1 for update', [locked.user.id])
    const waiting = refreshOn(accounts.app, locked.refreshToken)
    await holder.waitForBlocked()
    const rotations = [locked, free].map(({ token }) => ({
      ...rotation,
      sessionId: String(claimsOf(token).sid),
    }))
    expect(await rotateSessions(accounts.app.app.database.system, rotations, renewal)).toMatchObject([
      { id: free.user.id, generation: 2 },
    ])
    await holder.commit()
    expect((await waiting).status).toBe(200)
  })

  test('detects the replay of an old token that is rotated together with the current one', async () => {
    const { refreshToken, user } = await accounts.register()
    const current = (await refreshOn(accounts.app, refreshToken)).json
    await ageRotations(user.id)
    const others = [await accounts.register(), await accounts.register()]
    await using holder = await openTransaction(accounts.app.database)
    // The maximum number of rotations in flight waits, so those after them form one statement.
    await holder.sql('lock table basalt.sessions in exclusive mode')
    const inFlight = others.map((session) => refreshOn(accounts.app, session.refreshToken))
    await holder.waitForBlocked(2)
    // A request that needs no database arrives after the refresh before it.
    const waitForArrival = () => accounts.app.request('GET', '/api/auth/me')
    await waitForArrival()
    const replay = refreshOn(accounts.app, refreshToken)
    await waitForArrival()
    const latest = refreshOn(accounts.app, current.refreshToken)
    await waitForArrival()
    await holder.commit()
    expect(envelope(await replay)).toEqual(invalidRefreshToken)
    expect((await latest).status).toBe(200)
    expect(await accounts.app.sql('select 1 from basalt.sessions where user_id = $1', [user.id])).toEqual([])
    for (const { status } of await Promise.all(inFlight)) expect(status).toBe(200)
  })

  test('rejects tokens that were never issued, and ends no session', async () => {
    const { refreshToken, token, user } = await accounts.register()
    const sid = String(claimsOf(token).sid)
    const forged = createRefreshToken({ sessionId: sid, generation: 1 }, createSecretKey(Buffer.alloc(32)))
    const flipped = `${refreshToken.slice(0, 20)}${refreshToken[20] === 'A' ? 'B' : 'A'}${refreshToken.slice(21)}`
    for (const bad of [
      forged,
      flipped,
      `${refreshToken}x`,
      refreshToken.slice(0, -1),
      token,
      'basalt_rt_',
      'x',
      'y'.repeat(4000),
    ]) {
      expect(envelope(await refreshOn(accounts.app, bad))).toEqual(invalidRefreshToken)
    }
    expect(
      await accounts.app.sql('select generation from basalt.sessions where user_id = $1', [user.id]),
    ).toEqual([{ generation: 1 }])
  })

  test('rejects a token of an expired session and of a disabled user', async () => {
    const expired = await accounts.register()
    await accounts.app.sql('update basalt.sessions set expires_at = now() where user_id = $1', [
      expired.user.id,
    ])
    expect(envelope(await refreshOn(accounts.app, expired.refreshToken))).toEqual(invalidRefreshToken)
    const disabled = await accounts.register()
    await accounts.app.sql('update basalt.users set disabled_at = now() where id = $1', [disabled.user.id])
    expect(envelope(await refreshOn(accounts.app, disabled.refreshToken))).toEqual(invalidRefreshToken)
  })

  test.each([
    [{}, 'refreshToken is required'],
    [{ refreshToken: '' }, 'refreshToken is required'],
  ])('requires the token: %j', async (body, message) => {
    expect(envelope(await accounts.post('refresh', body))).toEqual({
      code: 400,
      message,
      error: 'field_required',
    })
  })

  test.each([
    { refreshToken: ['x'] },
    { refreshToken: { a: 1 } },
    { refreshToken: 1 },
    { refreshToken: 'x'.repeat(900_000) },
  ])('rejects a token of another type', async (body) => {
    expect((await accounts.post('refresh', body)).status).toBe(400)
  })
})

describe('POST /api/auth/logout', () => {
  test('ends the session on every node, and reveals nothing else', async () => {
    const { token, refreshToken } = await accounts.register()
    expect((await accounts.post('logout', { refreshToken })).status).toBe(204)
    await endsEverywhere(token)
    expect(envelope(await refreshOn(other, refreshToken))).toEqual(invalidRefreshToken)
    expect((await accounts.post('logout', { refreshToken })).status).toBe(204)
    expect((await accounts.post('logout', { refreshToken: 'unknown' })).status).toBe(204)
    expect(envelope(await accounts.post('logout', {}))).toEqual({
      code: 400,
      message: 'refreshToken is required',
      error: 'field_required',
    })
  })
})

describe('/api/auth/sessions', () => {
  const list = (token: string) => accounts.app.request('GET', '/api/auth/sessions', { token })
  const remove = (path: string, token: string) =>
    accounts.app.request('DELETE', `/api/auth/sessions${path}`, { token })

  async function twoSessions(): Promise<[SignedIn, SignedIn]> {
    const first = await accounts.register()
    const second = await accounts.app.request('POST', '/api/auth/login', {
      body: { email: first.user.email, password: goodPassword },
      headers: { 'user-agent': 'Second/1.0' },
    })
    return [first, second.json]
  }

  test('lists sessions, the latest activity first', async () => {
    const [first, second] = await twoSessions()
    const response = await list(first.token)
    expect(response.status).toBe(200)
    expect(response.json).toEqual([
      {
        id: claimsOf(second.token).sid,
        user_agent: 'Second/1.0',
        ip_address: '127.0.0.1',
        created_at: expect.stringMatching(/Z$/),
        last_active_at: expect.stringMatching(/Z$/),
        current: false,
      },
      expect.objectContaining({ id: claimsOf(first.token).sid, current: true }),
    ])
  })

  test('ends one session', async () => {
    const [first, second] = await twoSessions()
    expect((await remove(`/${claimsOf(second.token).sid}`, first.token)).status).toBe(204)
    await endsEverywhere(second.token)
    expect((await me(accounts.app, first.token)).status).toBe(200)
    expect(envelope(await remove(`/${claimsOf(second.token).sid}`, first.token))).toEqual({
      code: 404,
      message: 'session not found',
      error: 'session_not_found',
    })
  })

  test('ends all other sessions', async () => {
    const [first, second] = await twoSessions()
    expect(envelope(await remove('', first.token))).toEqual({
      code: 400,
      message: 'all_except_current=true is required',
      error: 'all_except_current_required',
    })
    expect((await remove('?all_except_current=true', first.token)).status).toBe(204)
    await endsEverywhere(second.token)
    expect((await list(first.token)).json).toHaveLength(1)
  })

  test('rejects sessions of other users and unknown ones', async () => {
    const [mine, theirs] = [await accounts.register(), await accounts.register()]
    expect(envelope(await remove(`/${claimsOf(theirs.token).sid}`, mine.token))).toEqual({
      code: 403,
      message: "cannot revoke another user's session",
      error: 'foreign_session',
    })
    expect((await me(accounts.app, theirs.token)).status).toBe(200)
    expect(envelope(await remove('/not-a-uuid', mine.token))).toEqual({
      code: 400,
      message: 'invalid session id format',
      error: 'invalid_session_id',
    })
  })

  test('ends sessions everywhere when they, or their user, are deleted by SQL', async () => {
    const [first, second] = await twoSessions()
    await accounts.app.sql('delete from basalt.sessions where id = $1', [claimsOf(first.token).sid])
    await endsEverywhere(first.token)
    expect((await me(other, second.token)).status).toBe(200)
    await accounts.app.sql('delete from basalt.users where id = $1', [second.user.id])
    await endsEverywhere(second.token)
  })

  test('keeps sessions ended on a node that starts later', async () => {
    const { token, refreshToken } = await accounts.register()
    await accounts.post('logout', { refreshToken })
    await using late = await createTestApp({ database: accounts.app.database })
    expect(envelope(await me(late, token))).toEqual(invalidToken)
  })

  test('does not miss sessions that end in a transaction with a late commit', async () => {
    const { token, user } = await accounts.register()
    const pg = await import('pg')
    const client = new pg.default.Client({ connectionString: accounts.app.database.url })
    await client.connect()
    await client.query('begin')
    await client.query('delete from basalt.sessions where user_id = $1', [user.id])
    // Other sessions end and are read while this transaction is open.
    const another = await accounts.register()
    await accounts.post('logout', { refreshToken: another.refreshToken })
    await endsEverywhere(another.token)
    expect((await me(other, token)).status).toBe(200)
    await client.query('commit')
    await client.end()
    await endsEverywhere(token)
  })
})

describe('/api/auth/me', () => {
  const change = (token: string, body: unknown): Promise<TestResponse> =>
    accounts.app.request('POST', '/api/auth/change-password', { token, body })

  test('changes the password with the current one, which ends other sessions', async () => {
    const { token, user } = await accounts.register()
    const second = (await accounts.post('login', { email: user.email, password: goodPassword })).json
    expect(
      envelope(await change(token, { currentPassword: 'wrong', newPassword: 'another-harbour-43' })),
    ).toEqual({
      code: 401,
      message: 'invalid password',
      error: 'wrong_password',
    })
    expect(envelope(await change(token, { newPassword: 'another-harbour-43' }))).toEqual({
      code: 400,
      message: 'currentPassword is required',
      error: 'field_required',
    })
    const response = await change(token, { currentPassword: goodPassword, newPassword: 'another-harbour-43' })
    expect([response.status, response.json]).toEqual([200, { message: 'password has been changed' }])
    await endsEverywhere(second.token)
    expect((await me(accounts.app, token)).status).toBe(200)
    expect((await accounts.post('login', { email: user.email, password: goodPassword })).status).toBe(401)
    expect((await accounts.post('login', { email: user.email, password: 'another-harbour-43' })).status).toBe(
      200,
    )
  })

  test('with a second factor is deleted, and its password changed, at aal2 only', async () => {
    await using mfa = await createMfaApp({ database: accounts.app.database, inbox: accounts.inbox })
    const guarded = {
      code: 403,
      error: 'insufficient_aal',
      message: 'MFA verification is required for this action',
    }
    const user = await totpUser(mfa)
    const body = { currentPassword: goodPassword, newPassword: 'another-harbour-43' }
    // The session from before the factor, on both nodes, whether the password is right or not.
    for (const node of [accounts.app, other]) {
      for (const sent of [body, { ...body, currentPassword: 'wrong' }, {}]) {
        const path = '/api/auth/change-password'
        expect(envelope(await node.request('POST', path, { token: user.token, body: sent }))).toEqual(guarded)
      }
      const deleted = await node.request('DELETE', '/api/auth/me', { token: user.token })
      expect(envelope(deleted)).toEqual(guarded)
    }
    const { token } = await aal2Session(mfa, user)
    expect((await change(token, body)).status).toBe(200)
    expect((await other.request('DELETE', '/api/auth/me', { token })).status).toBe(204)
  })

  test('is not deleted by a first-factor session while a second factor is being confirmed', async () => {
    const { token, user } = await accounts.register()
    await using holder = await openTransaction(accounts.app.database)
    await holder.sql('select 1 from basalt.users where id = $1 for update', [user.id])
    const deleted = accounts.app.request('DELETE', '/api/auth/me', { token })
    const changed = change(token, { currentPassword: goodPassword, newPassword: 'another-harbour-43' })
    await holder.waitForBlocked(2)
    await holder.sql(
      "insert into basalt.mfa_factors (user_id, method, confirmed_at) values ($1, 'totp', now())",
      [user.id],
    )
    await holder.commit()
    expect([(await deleted).status, (await changed).status]).toEqual([403, 403])
  })

  test.each(['', 'deferrable initially deferred'])(
    'is not deleted while rows reference it by a foreign key without a rule (%s), and the error does not name them',
    async (timing) => {
      const { token, user } = await accounts.register()
      await accounts.app.sql(`create table keeps_users (owner uuid references basalt.users ${timing})`)
      await accounts.app.sql('insert into keeps_users values ($1)', [user.id])
      const deletion = () => accounts.app.request('DELETE', '/api/auth/me', { token })
      expect(envelope(await deletion())).toEqual({
        code: 409,
        message: 'the account cannot be deleted while other data refers to it',
        error: 'account_referenced',
      })
      expect((await me(other, token)).status).toBe(200)
      await accounts.app.sql('drop table keeps_users')
      expect((await deletion()).status).toBe(204)
    },
  )

  test('is deleted with everything that belongs to it', async () => {
    const { token, refreshToken, user } = await accounts.register()
    expect((await accounts.app.request('DELETE', '/api/auth/me', { token })).status).toBe(204)
    await endsEverywhere(token)
    expect((await refreshOn(other, refreshToken)).status).toBe(401)
    expect(await accounts.app.sql('select 1 from basalt.users where id = $1', [user.id])).toEqual([])
    expect((await accounts.post('login', { email: user.email, password: goodPassword })).status).toBe(401)
    expect((await accounts.post('register', { email: user.email, password: goodPassword })).status).toBe(201)
  })
})
