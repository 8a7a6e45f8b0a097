import { hash as bcrypt } from '@node-rs/bcrypt'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountNodes,
  countStatuses,
  createAccountNodes,
  insertUser,
  mailedToken,
  openTransaction,
  together,
  waitForJobs,
  waitUntilDead,
} from '../../../../../test/account-nodes.ts'
import {
  claimsOf,
  createAccountsApp,
  goodPassword,
  newEmail,
  type SignedIn,
} from '../../../../../test/accounts.ts'
import { codeIn, tokenIn } from '../../../../../test/inbox.ts'
import { envelope, type TestResponse } from '../../../../../test/test-app.ts'

let nodes: AccountNodes
beforeAll(async () => {
  nodes = await createAccountNodes({
    // Each request that waits for the same account holds a connection.
    config: { 'auth.sms_max_attempts': '10', 'database.max_conns': '40' },
  })
})
afterAll(async () => nodes[Symbol.asyncDispose]())

const newPassword = 'juniper-lantern-77'
const confirmLink = (token: string, bearer?: string) => (node: AccountNodes['first']) =>
  node.post('magic-link/confirm', { token }, bearer)

const usersWith = (email: string) =>
  nodes.sql<{ id: string; is_verified: boolean; password_hash: string | null }>(
    `select id, email_verified_at is not null as is_verified, password_hash from basalt.users where email = $1`,
    [email],
  )
const sessionsOf = async (userId: string) =>
  (await nodes.sql<{ id: string }>('select id from basalt.sessions where user_id = $1', [userId])).map(
    ({ id }) => id,
  )
const anonymous = async (): Promise<SignedIn> => (await nodes.first.post('anonymous')).json

function theOne(responses: readonly TestResponse[], status = 200): TestResponse {
  const [one, ...more] = responses.filter((response) => response.status === status)
  if (one === undefined || more.length > 0) throw new Error(`${more.length + 1} responses, or none`)
  return one
}

describe('account races › twelve concurrent requests, half of them on another node', () => {
  test('consume a password-reset token once', async () => {
    const user = await insertUser(nodes)
    const token = await mailedToken(nodes.first, 'password-reset', user.email)
    const responses = await together(nodes, 12, (node, index) =>
      node.post('password-reset/confirm', { token, password: `${newPassword}-${index}` }),
    )
    expect(countStatuses(responses)).toEqual({ 200: 1, 400: 11 })
    const winner = responses.findIndex(({ status }) => status === 200)
    const logIn = (index: number) =>
      nodes.second.post('login', { email: user.email, password: `${newPassword}-${index}` })
    expect((await logIn(winner)).status).toBe(200)
    expect((await logIn((winner + 1) % 12)).status).toBe(401)
  })

  test('consume a verification token once', async () => {
    const { user } = await nodes.first.register()
    const token = tokenIn(await nodes.inbox.take(user.email))
    const responses = await together(nodes, 12, (node) => node.post('verify', { token }))
    expect(countStatuses(responses)).toEqual({ 200: 1, 400: 11 })
    expect(await usersWith(user.email)).toMatchObject([{ is_verified: true }])
  })

  test('consume a sign-in link of an account once', async () => {
    const user = await insertUser(nodes, { isVerified: true })
    const token = await mailedToken(nodes.first, 'magic-link', user.email)
    const responses = await together(nodes, 12, confirmLink(token))
    expect(countStatuses(responses)).toEqual({ 200: 1, 400: 11 })
    const { token: accessToken } = theOne(responses).json
    expect(await sessionsOf(user.id)).toEqual([claimsOf(accessToken).sid])
  })

  test('consume a sign-in link of an address without an account once', async () => {
    const email = newEmail()
    const token = await mailedToken(nodes.first, 'magic-link', email)
    const responses = await together(nodes, 12, confirmLink(token))
    expect(countStatuses(responses)).toEqual({ 200: 1, 400: 11 })
    const { user, token: accessToken } = theOne(responses).json
    expect(await usersWith(email)).toEqual([{ id: user.id, is_verified: true, password_hash: null }])
    expect(await sessionsOf(user.id)).toEqual([claimsOf(accessToken).sid])
  })

  test('consume a sign-in link of an anonymous caller once', async () => {
    const email = newEmail()
    const { token: bearer, user } = await anonymous()
    const token = await mailedToken(nodes.first, 'magic-link', email)
    const responses = await together(nodes, 12, confirmLink(token, bearer))
    expect(countStatuses(responses)).toEqual({ 200: 1, 400: 11 })
    expect(theOne(responses).json.user).toMatchObject({ id: user.id, email, is_anonymous: false })
    expect(await usersWith(email)).toEqual([{ id: user.id, is_verified: true, password_hash: null }])
    expect(await sessionsOf(user.id)).toHaveLength(2)
  })

  test('consume a sign-in link of several anonymous callers and strangers once', async () => {
    const email = newEmail()
    const callers = await Promise.all(Array.from({ length: 8 }, anonymous))
    const token = await mailedToken(nodes.first, 'magic-link', email)
    const responses = await together(nodes, 12, (node, index) =>
      confirmLink(token, callers[index]?.token)(node),
    )
    const { user } = theOne(responses).json
    expect(responses.filter(({ status }) => ![200, 400, 409].includes(status))).toEqual([])
    expect(await usersWith(email)).toEqual([{ id: user.id, is_verified: true, password_hash: null }])
    const losers = callers.map((caller) => caller.user.id).filter((id) => id !== user.id)
    expect(
      await nodes.sql('select 1 from basalt.users where id = any($1) and is_anonymous and email is null', [
        losers,
      ]),
    ).toHaveLength(losers.length)
  })

  test('consume a code sent to a phone once', async () => {
    const phone = '+12025550150'
    await nodes.first.post('sms', { phone })
    const code = codeIn(await nodes.inbox.take(phone))
    const responses = await together(nodes, 12, (node) => node.post('sms/confirm', { phone, code }))
    expect(countStatuses(responses)).toEqual({ 200: 1, 401: 11 })
    const { user, token } = theOne(responses).json
    expect(await nodes.sql('select id from basalt.users where phone = $1', [phone])).toEqual([
      { id: user.id },
    ])
    expect(await sessionsOf(user.id)).toEqual([claimsOf(token).sid])
  })
})

describe('account races › an email is linked once', () => {
  const link = (node: AccountNodes['first'], caller: SignedIn, email: string) =>
    node.post('link/email', { email, password: goodPassword }, caller.token)

  test('to one anonymous user', async () => {
    const [caller, email] = [await anonymous(), newEmail()]
    const responses = await together(nodes, 10, (node) => link(node, caller, email))
    expect(countStatuses(responses)).toEqual({ 200: 1, 403: 9 })
    expect(envelope(theOne([responses.find(({ status }) => status === 403) as TestResponse], 403))).toEqual({
      code: 403,
      message: 'account is not anonymous or already linked',
      error: 'already_linked',
    })
    expect(await usersWith(email)).toMatchObject([{ id: caller.user.id }])
    await waitForJobs(nodes)
    expect(nodes.inbox.all.filter(({ to }) => to === email)).toHaveLength(1)
  })

  test('to one anonymous user, of ten addresses', async () => {
    const caller = await anonymous()
    const emails = Array.from({ length: 10 }, newEmail)
    const responses = await together(nodes, 10, (node, index) => link(node, caller, emails[index] ?? ''))
    expect(countStatuses(responses)).toEqual({ 200: 1, 403: 9 })
    const { email } = theOne(responses).json.user
    expect(await nodes.sql('select id, email from basalt.users where email = any($1)', [emails])).toEqual([
      { id: caller.user.id, email },
    ])
    await waitForJobs(nodes)
    expect(nodes.inbox.all.filter(({ to }) => emails.includes(to)).map(({ to }) => to)).toEqual([email])
  })

  test('to one of two anonymous users', async () => {
    const callers = [await anonymous(), await anonymous()]
    const email = newEmail()
    const responses = await together(nodes, 10, (node, index) =>
      link(node, callers[index < 5 ? 0 : 1] as SignedIn, email),
    )
    const { user } = theOne(responses).json
    expect(responses.filter(({ status }) => ![200, 403, 409].includes(status))).toEqual([])
    expect(responses.filter(({ status }) => status === 409).length).toBeGreaterThanOrEqual(5)
    expect(await usersWith(email)).toMatchObject([{ id: user.id }])
  })
})

describe('account races › a sign-in link and a registration with the same address', () => {
  test('leave the account to the owner of the mailbox', async () => {
    for (let round = 0; round < 4; round += 1) {
      const email = newEmail()
      const token = await mailedToken(nodes.first, 'magic-link', email)
      const [registered, linked] = await Promise.all([
        nodes.first.post('register', { email, password: goodPassword }),
        nodes.second.post('magic-link/confirm', { token }),
      ])
      expect(linked.status).toBe(200)
      expect([201, 409]).toContain(registered.status)
      const { user, token: accessToken } = linked.json
      expect(user.emailVerified).toBe(true)
      expect(await usersWith(email)).toEqual([{ id: user.id, is_verified: true, password_hash: null }])
      expect(await sessionsOf(user.id)).toEqual([claimsOf(accessToken).sid])
    }
  })

  test('leave it to the owner too when the registration commits in the middle of the sign-in', async () => {
    const email = newEmail()
    const token = await mailedToken(nodes.first, 'magic-link', email)
    await using registration = await openTransaction(nodes.database)
    await registration.sql("insert into basalt.users (email, password_hash) values ($1, 'of an attacker')", [
      email,
    ])
    await registration.sql(
      `insert into basalt.sessions (user_id, aal, amr, expires_at)
       select id, 'aal1', '{password}', now() + interval '1 day' from basalt.users where email = $1`,
      [email],
    )
    const confirmed = nodes.first.post('magic-link/confirm', { token })
    await registration.waitForBlocked()
    await registration.commit()
    const { user, token: accessToken } = (await confirmed).json
    expect(user.emailVerified).toBe(true)
    expect(await usersWith(email)).toEqual([{ id: user.id, is_verified: true, password_hash: null }])
    expect(await sessionsOf(user.id)).toEqual([claimsOf(accessToken).sid])
  })

  test('reject an anonymous caller when the registration comes first, and keep the link', async () => {
    const email = newEmail()
    const caller = await anonymous()
    const token = await mailedToken(nodes.first, 'magic-link', email)
    await using registration = await openTransaction(nodes.database)
    await registration.sql('insert into basalt.users (email) values ($1)', [email])
    const confirmed = nodes.first.post('magic-link/confirm', { token }, caller.token)
    await registration.waitForBlocked()
    await registration.commit()
    expect(envelope(await confirmed)).toEqual({
      code: 409,
      message: 'email already belongs to another account',
      error: 'email_of_another',
    })
    expect((await nodes.second.post('magic-link/confirm', { token })).status).toBe(200)
  })
})

describe('account races › while another transaction locks an account', () => {
  /** Locks the user's row until all of the requests wait for it, then releases it. */
  async function releaseTogether(
    userId: string,
    requests: readonly (() => Promise<TestResponse>)[],
  ): Promise<TestResponse[]> {
    // A pending mail to the user would wait too.
    await waitForJobs(nodes)
    await using holder = await openTransaction(nodes.database)
    await holder.sql('select 1 from basalt.users where id = $1 for update', [userId])
    const answers: Promise<TestResponse>[] = []
    for (const [index, request] of requests.entries()) {
      answers.push(request())
      await holder.waitForBlocked(index + 1)
    }
    await holder.commit()
    return await Promise.all(answers)
  }
  const logIn = (node: AccountNodes['first'], email: string, password = goodPassword) =>
    node.post('login', { email, password })

  async function expectNoSession(userId: string, responses: readonly TestResponse[]): Promise<void> {
    expect(await sessionsOf(userId)).toEqual([])
    for (const { json } of responses.filter(({ status }) => status === 200)) {
      if (json.token === undefined) continue
      await waitUntilDead(nodes, json.token)
      expect((await nodes.second.post('refresh', { refreshToken: json.refreshToken })).status).toBe(401)
    }
  }

  test.each([
    ['before', 0],
    ['after', 2],
  ])('leaves no session after a reset %s sign-ins with the old password', async (_order, position) => {
    const { user, refreshToken } = await nodes.first.register()
    const token = await mailedToken(nodes.first, 'password-reset', user.email)
    const requests = [() => logIn(nodes.first, user.email), () => logIn(nodes.second, user.email)]
    requests.splice(position, 0, () =>
      nodes.second.post('password-reset/confirm', { token, password: newPassword }),
    )
    const refreshes = together(nodes, 6, (node) => node.post('refresh', { refreshToken }))
    const responses = await releaseTogether(user.id, requests)
    expect(responses[position]?.status).toBe(200)
    await expectNoSession(user.id, [...responses, ...(await refreshes)])
    expect((await logIn(nodes.first, user.email)).status).toBe(401)
    expect((await logIn(nodes.first, user.email, newPassword)).status).toBe(200)
  })

  test('keeps a reset after a change of the old password', async () => {
    const { user, token: accessToken } = await nodes.first.register()
    const token = await mailedToken(nodes.first, 'password-reset', user.email)
    const change = { currentPassword: goodPassword, newPassword: 'of-the-thief-1' }
    const [reset, changed] = await releaseTogether(user.id, [
      () => nodes.first.post('password-reset/confirm', { token, password: newPassword }),
      () => nodes.second.post('change-password', change, accessToken),
    ])
    expect([reset?.status, changed?.status]).toEqual([200, 401])
    expect((await logIn(nodes.first, user.email, 'of-the-thief-1')).status).toBe(401)
    expect((await logIn(nodes.first, user.email, newPassword)).status).toBe(200)
  })

  test('accepts the first of two changes of one password', async () => {
    const { user, token } = await nodes.first.register()
    const change = (node: AccountNodes['first'], to: string) => () =>
      node.post('change-password', { currentPassword: goodPassword, newPassword: to }, token)
    const changes = await releaseTogether(user.id, [
      change(nodes.first, newPassword),
      change(nodes.second, 'of-the-thief-1'),
    ])
    expect(changes.map(({ status }) => status)).toEqual([200, 401])
    expect((await logIn(nodes.first, user.email, newPassword)).status).toBe(200)
  })

  test('keeps a takeover by sign-in link after a change of password', async () => {
    const { user, token: accessToken } = await nodes.first.register()
    const token = await mailedToken(nodes.first, 'magic-link', user.email)
    const change = { currentPassword: goodPassword, newPassword: 'of-the-thief-1' }
    const [linked, changed] = await releaseTogether(user.id, [
      () => nodes.first.post('magic-link/confirm', { token }),
      () => nodes.second.post('change-password', change, accessToken),
    ])
    expect([linked?.status, changed?.status]).toEqual([200, 401])
    expect(await usersWith(user.email)).toEqual([{ id: user.id, is_verified: true, password_hash: null }])
    expect(await sessionsOf(user.id)).toEqual([claimsOf(linked?.json.token).sid])
  })

  test('rejects a first password of a session that ends', async () => {
    const email = newEmail()
    const token = await mailedToken(nodes.first, 'magic-link', email)
    const { user, token: accessToken } = (await nodes.first.post('magic-link/confirm', { token })).json
    await using revocation = await openTransaction(nodes.database)
    await revocation.sql('select 1 from basalt.users where id = $1 for update', [user.id])
    const set = nodes.second.post('change-password', { newPassword: 'of-the-thief-1' }, accessToken)
    await revocation.waitForBlocked()
    await revocation.sql('delete from basalt.sessions where user_id = $1', [user.id])
    await revocation.commit()
    expect(envelope(await set)).toEqual({
      code: 401,
      message: 'invalid or expired token',
      error: 'invalid_token',
    })
    expect(await usersWith(email)).toMatchObject([{ password_hash: null }])
  })

  test.each(['before', 'after'])('its deletion %s sign-ins leaves nothing', async (order) => {
    const { user, token, refreshToken } = await nodes.first.register()
    const remove = () => nodes.second.app.request('DELETE', '/api/auth/me', { token })
    const signIns = [() => logIn(nodes.first, user.email), () => logIn(nodes.second, user.email)]
    const refreshes = together(nodes, 6, (node) => node.post('refresh', { refreshToken }))
    const responses = await releaseTogether(
      user.id,
      order === 'before' ? [remove, ...signIns] : [...signIns, remove],
    )
    expect(countStatuses(responses)[204]).toBe(1)
    await expectNoSession(user.id, [...responses, ...(await refreshes)])
    expect(await usersWith(user.email)).toEqual([])
    await waitUntilDead(nodes, token)
  })

  test.each(['before', 'after'])('disabling it %s sign-ins leaves no session', async (order) => {
    const { user, token, refreshToken } = await nodes.first.register()
    const admin = await nodes.second.app.adminToken()
    const disable = () =>
      nodes.second.app.request('POST', `/api/admin/users/${user.id}/disable`, { token: admin })
    const signIns = [() => logIn(nodes.first, user.email), () => logIn(nodes.second, user.email)]
    const refreshes = together(nodes, 6, (node) => node.post('refresh', { refreshToken }))
    const responses = await releaseTogether(
      user.id,
      order === 'before' ? [disable, ...signIns] : [...signIns, disable],
    )
    const disabled = responses.find(({ json }) => json.disabled === true)
    expect(disabled?.status).toBe(200)
    await expectNoSession(user.id, [...responses, ...(await refreshes)])
    await waitUntilDead(nodes, token)
  })

  test('concurrent requests of every kind get a response, without a deadlock', async () => {
    const admin = await nodes.first.app.adminToken()
    for (let round = 0; round < 6; round += 1) {
      const { user, token } = await nodes.first.register()
      const verification = tokenIn(await nodes.inbox.take(user.email))
      const reset = await mailedToken(nodes.first, 'password-reset', user.email)
      const link = await mailedToken(nodes.first, 'magic-link', user.email)
      const change = { currentPassword: goodPassword, newPassword: 'third-lantern-78' }
      const requests = [
        () => nodes.first.post('verify', { token: verification }),
        () => nodes.first.post('password-reset/confirm', { token: reset, password: newPassword }),
        () => nodes.second.post('magic-link/confirm', { token: link }),
        () => nodes.second.post('change-password', change, token),
        () => nodes.first.app.request('DELETE', '/api/auth/me', { token }),
        () => nodes.second.app.request('DELETE', `/api/admin/users/${user.id}`, { token: admin }),
      ]
      const responses = await releaseTogether(user.id, [
        ...requests.slice(round),
        ...requests.slice(0, round),
      ])
      for (const { status } of responses) expect([200, 204, 400, 401, 404]).toContain(status)
      expect(await usersWith(user.email)).toEqual([])
      await waitUntilDead(nodes, token)
    }
  })
})

test('account races › a sign-in succeeds although another one has just replaced the hash with a better one', async () => {
  const email = newEmail()
  const [first, second] = [await bcrypt(goodPassword, { cost: 4 }), await bcrypt(goodPassword, { cost: 4 })]
  await nodes.sql('insert into basalt.users (email, password_hash) values ($1, $2)', [email, first])
  await using upgrade = await openTransaction(nodes.database)
  await upgrade.sql('update basalt.users set password_hash = $2 where email = $1', [email, second])
  const response = nodes.first.post('login', { email, password: goodPassword })
  await upgrade.waitForBlocked()
  await upgrade.commit()
  expect((await response).status).toBe(200)
  expect((await usersWith(email))[0]?.password_hash).toMatch(/^\$argon2id\$/)
})

test('account races › one of several links mailed at the same time works', async () => {
  const email = newEmail()
  const requested = await together(nodes, 8, (node) => node.post('magic-link', { email }))
  expect(countStatuses(requested)).toEqual({ 200: 8 })
  const tokens = new Set<string>()
  for (let count = 0; count < 8; count += 1) {
    const { text = '' } = await nodes.inbox.take(email)
    tokens.add(/token=(\w+)/.exec(text)?.[1] ?? '')
  }
  expect(tokens.size).toBe(8)
  const confirmed: TestResponse[] = []
  for (const token of tokens) confirmed.push(await nodes.first.post('magic-link/confirm', { token }))
  expect(countStatuses(confirmed)).toEqual({ 200: 1, 400: 7 })
})

test('account races › registrations that fill the connections of a node do not block each other before its first mail', async () => {
  await using node = await createAccountsApp({ config: { 'jobs.enabled': 'false' } })
  await using holder = await openTransaction(node.app.database)
  await holder.sql('lock table basalt.users')
  const registered = Promise.all(
    [newEmail(), newEmail()].map((email) => node.post('register', { email, password: goodPassword })),
  )
  await holder.waitForBlocked(2)
  await holder.commit()
  expect(countStatuses(await registered)).toEqual({ 201: 2 })
})
