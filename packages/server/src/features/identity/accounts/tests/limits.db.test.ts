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
} from '../../../../../test/account-nodes.ts'
import { goodPassword, newEmail } from '../../../../../test/accounts.ts'
import { codeIn } from '../../../../../test/inbox.ts'
import { envelope, type TestResponse } from '../../../../../test/test-app.ts'

const config = {
  'auth.limits.anonymous_per_hour': '30',
  'auth.limits.mails_per_hour': '3',
  'auth.limits.sms_per_hour': '2',
  'auth.sms_max_attempts': '3',
}
let nodes: AccountNodes
beforeAll(async () => {
  nodes = await createAccountNodes({ config })
})
afterAll(async () => nodes[Symbol.asyncDispose]())

const tooMany = { code: 429, message: 'too many requests', error: 'too_many_requests' }
const sentTo = async (to: string) => {
  await waitForJobs(nodes)
  return nodes.inbox.all.filter((delivery) => delivery.to === to)
}

function expectRefused(response: TestResponse | undefined, longestSeconds: number): void {
  if (response === undefined) throw new Error('no response')
  expect(envelope(response)).toEqual(tooMany)
  const seconds = Number(response.headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(0)
  expect(seconds).toBeLessThanOrEqual(longestSeconds)
  expect(Number(response.headers.get('x-ratelimit-limit'))).toBeGreaterThan(0)
  expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
  const reset = Number(response.headers.get('x-ratelimit-reset'))
  expect(Math.abs(reset - seconds - Date.now() / 1000)).toBeLessThan(60)
}

describe('account limits › wrong passwords', () => {
  const logIn = (node: AccountNodes['first'], email: string, password: string) =>
    node.post('login', { email, password })

  test.each(['for an account', 'for an unknown address'])(
    '%s are checked ten times, however many arrive at once, on all nodes and after a restart',
    async (kind) => {
      const { email } =
        kind === 'of an account' ? await insertUser(nodes, { password: goodPassword }) : { email: newEmail() }
      const responses = await together(nodes, 30, (node) => logIn(node, email, 'a wrong password'))
      expect(countStatuses(responses)).toEqual({ 401: 10, 429: 20 })
      expectRefused(
        responses.find(({ status }) => status === 429),
        900,
      )
      const restarted = await nodes.first.secondNode()
      const body = { email, password: goodPassword }
      expectRefused(await restarted.request('POST', '/api/auth/login', { body }), 900)
      await restarted[Symbol.asyncDispose]()
      // Other accounts are not affected.
      expect((await logIn(nodes.first, newEmail(), 'a wrong password')).status).toBe(401)
    },
  )

  test('are forgotten after a right one', async () => {
    const { email } = await insertUser(nodes, { password: goodPassword })
    for (let round = 0; round < 2; round += 1) {
      const wrong = await together(nodes, 9, (node) => logIn(node, email, 'a wrong password'))
      expect(countStatuses(wrong)).toEqual({ 401: 9 })
      expect((await logIn(nodes.second, email, goodPassword)).status).toBe(200)
    }
  })

  test('do not count against a sign-in after a password reset', async () => {
    const { email } = await insertUser(nodes, { password: goodPassword })
    const wrong = await together(nodes, 12, (node) => logIn(node, email, 'a wrong password'))
    expect(countStatuses(wrong)).toEqual({ 401: 10, 429: 2 })
    const token = await mailedToken(nodes.first, 'password-reset', email)
    const password = 'juniper-lantern-77'
    expect((await nodes.first.post('password-reset/confirm', { token, password })).status).toBe(200)
    expect((await logIn(nodes.second, email, password)).status).toBe(200)
  })

  test('are checked ten times for a change of password', async () => {
    const { token } = await nodes.first.register()
    const body = { currentPassword: 'a wrong password', newPassword: 'juniper-lantern-77' }
    const responses = await together(nodes, 20, (node) => node.post('change-password', body, token))
    expect(countStatuses(responses)).toEqual({ 401: 10, 429: 10 })
  })
})

describe('account limits › wrong passwords of a stranger', () => {
  const proxied = {
    ...config,
    'server.trusted_proxies': '127.0.0.1',
    'auth.limits.login_failures_per_account': '40',
  }
  const from = (address: string) => ({ 'x-forwarded-for': address })

  test('do not lock the owner out of an address that the owner signed in from before', async () => {
    await using strict = await createAccountNodes({ config: proxied })
    const { email } = await insertUser(strict, { password: goodPassword })
    const logIn = (index: number, address: string, password: string) =>
      strict.both[index % 2 === 0 ? 0 : 1].app.request('POST', '/api/auth/login', {
        body: { email, password },
        headers: from(address),
      })
    const known = '198.51.100.1'
    expect((await logIn(0, known, goodPassword)).status).toBe(200)
    const storm = await Promise.all(
      Array.from({ length: 60 }, (_, index) => logIn(index, `203.0.113.${index % 10}`, 'a wrong password')),
    )
    expect(countStatuses(storm)).toEqual({ 401: 40, 429: 20 })
    // Only the known address works, on every node and after a restart.
    expectRefused(await logIn(1, '203.0.113.77', goodPassword), 3600)
    for (const index of [0, 1]) expect((await logIn(index, known, goodPassword)).status).toBe(200)
    const restarted = await strict.first.secondNode()
    const body = { email, password: goodPassword }
    const again = await restarted.request('POST', '/api/auth/login', { body, headers: from(known) })
    expect(again.status).toBe(200)
    await restarted[Symbol.asyncDispose]()
    // At the known address guesses count as usual.
    const guesses = await Promise.all(
      Array.from({ length: 14 }, (_, index) => logIn(index, known, 'a wrong password')),
    )
    expect(countStatuses(guesses)).toEqual({ 401: 10, 429: 4 })
  })

  test.each(['register', 'link/email'])('do not lock the owner out of the address of %s', async (path) => {
    await using strict = await createAccountNodes({ config: proxied })
    const known = from('198.51.100.1')
    const body = { email: newEmail(), password: goodPassword }
    const { token } = (await strict.first.post('anonymous')).json
    const caller = path === 'register' ? {} : { token }
    const made = await strict.first.app.request('POST', `/api/auth/${path}`, {
      body,
      headers: known,
      ...caller,
    })
    expect(made.json.user.email).toBe(body.email)
    const logIn = (node: AccountNodes['first'], address: string, password: string) =>
      node.app.request('POST', '/api/auth/login', { body: { ...body, password }, headers: from(address) })
    const storm = await together(strict, 60, (node, index) =>
      logIn(node, `203.0.113.${index % 10}`, 'a wrong password'),
    )
    expect(countStatuses(storm)).toEqual({ 401: 40, 429: 20 })
    expectRefused(await logIn(strict.second, '203.0.113.77', goodPassword), 3600)
    expect((await logIn(strict.second, '198.51.100.1', goodPassword)).status).toBe(200)
  })

  test('from one address do not lock the owner out of any other', async () => {
    await using strict = await createAccountNodes({ config: proxied })
    const { email } = await insertUser(strict, { password: goodPassword })
    const wrong = await together(strict, 30, ({ app }) =>
      app.request('POST', '/api/auth/login', {
        body: { email, password: 'a wrong password' },
        headers: from('203.0.113.9'),
      }),
    )
    expect(countStatuses(wrong)).toEqual({ 401: 10, 429: 20 })
    const body = { email, password: goodPassword }
    const owner = await strict.second.app.request('POST', '/api/auth/login', {
      body,
      headers: from('192.0.2.4'),
    })
    expect(owner.status).toBe(200)
  })
})

describe('account limits › right passwords', () => {
  test('succeed when they arrive together', async () => {
    const { email } = await insertUser(nodes, { password: goodPassword })
    const responses = await together(nodes, 24, (node) =>
      node.post('login', { email, password: goodPassword }),
    )
    expect(countStatuses(responses)).toEqual({ 200: 24 })
  })

  test('do not count when the server fails to check them', async () => {
    const { id, email } = await insertUser(nodes, { password: goodPassword })
    const counted = () =>
      nodes.sql(
        "select key, count from basalt.attempts where key like 'accounts.sign_in%' and count > 0 order by key",
      )
    const before = await counted()
    for (let round = 0; round < 3; round += 1) {
      await using holder = await openTransaction(nodes.database)
      await holder.sql('select 1 from basalt.users where id = $1 for update', [id])
      const response = nodes.first.post('login', { email, password: goodPassword })
      await holder.waitForBlocked()
      await nodes.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
      )
      expect((await response).status).toBe(503)
      await holder.commit()
    }
    expect(await counted()).toEqual(before)
  })
})

describe('account limits › anonymous sign-ins', () => {
  test('are limited to thirty an hour per address, whatever the headers, also after a restart', async () => {
    const forged = (index: number) => ({
      'x-forwarded-for': `198.51.100.${index}`,
      'x-real-ip': `203.0.113.${index}`,
      forwarded: `for=192.0.2.${index};proto=https`,
      'x-client-ip': `198.51.100.${index}`,
      'cf-connecting-ip': `203.0.113.${index}`,
    })
    const before = await nodes.sql('select count(*)::int from basalt.users')
    const responses = await together(nodes, 50, ({ app }, index) =>
      app.request('POST', '/api/auth/anonymous', { headers: forged(index) }),
    )
    expect(countStatuses(responses)).toEqual({ 201: 30, 429: 20 })
    expect(await nodes.sql('select count(*)::int from basalt.users')).toEqual([
      { count: before[0]?.count + 30 },
    ])
    const restarted = await nodes.second.secondNode()
    expectRefused(await restarted.request('POST', '/api/auth/anonymous', { headers: forged(99) }), 3600)
    await restarted[Symbol.asyncDispose]()
    await nodes.sql("delete from basalt.attempts where key like 'accounts.anonymous:%'")
    expect((await nodes.first.post('anonymous')).status).toBe(201)
  })
})

describe('account limits › messages', () => {
  test.each(['magic-link', 'password-reset'])(
    '%s sends three an hour to one recipient, which no response reveals',
    async (path) => {
      const { email } = await insertUser(nodes)
      const spellings = [email, ` ${email} `, email.toUpperCase()]
      const responses = await together(nodes, 15, (node, index) =>
        node.post(path, { email: spellings[index % 3] }),
      )
      expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(responses[0]?.status).toBe(200)
      expect(await sentTo(email)).toHaveLength(3)
    },
  )

  test('verify an address at most three times an hour, including those of new accounts', async () => {
    const email = newEmail()
    const password = goodPassword
    for (let round = 0; round < 5; round += 1) {
      const { token } = await nodes.first.register(email, password)
      expect((await nodes.first.app.request('DELETE', '/api/auth/me', { token })).status).toBe(204)
    }
    const queued = await nodes.sql("select 1 from basalt.jobs where payload ->> 'email' = $1", [email])
    expect(queued).toHaveLength(3)
    const { token } = await nodes.first.register(email, password)
    expectRefused(await nodes.second.post('verify/resend', undefined, token), 3600)
  })

  test('do not count for rejected registrations', async () => {
    const { token, user } = await nodes.first.register()
    const body = { email: user.email, password: goodPassword }
    const refused = await together(nodes, 6, (node) => node.post('register', body))
    expect(countStatuses(refused)).toEqual({ 409: 6 })
    expect((await nodes.second.post('verify/resend', undefined, token)).status).toBe(200)
    expect(await sentTo(user.email)).toHaveLength(2)
  })

  test('are limited to two an hour per phone, however the number is written', async () => {
    const spellings = ['+12025550160', '+1 202 555 0160', '+1 (202) 555-0160']
    const responses = await together(nodes, 12, (node, index) =>
      node.post('sms', { phone: spellings[index % 3] }),
    )
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(responses[0]?.status).toBe(200)
    expect(await sentTo('+12025550160')).toHaveLength(2)
  })
})

describe('account limits › wrong codes', () => {
  const phone = '+12025550161'
  const confirm = (node: AccountNodes['first'], code: string) => node.post('sms/confirm', { phone, code })

  test('are checked three times, however many arrive at once', async () => {
    await nodes.first.post('sms', { phone })
    const code = codeIn(await nodes.inbox.take(phone))
    const guesses = Array.from({ length: 20 }, (_, index) =>
      String((Number(code) + index + 1) % 1_000_000).padStart(6, '0'),
    )
    const responses = await together(nodes, 20, (node, index) => confirm(node, guesses[index] ?? ''))
    expect(countStatuses(responses)).toEqual({ 401: 20 })
    expect(await nodes.sql('select attempts from basalt.phone_codes where phone = $1', [phone])).toEqual([
      { attempts: 3 },
    ])
    expect((await confirm(nodes.second, code)).status).toBe(401)
    expect(await nodes.sql('select 1 from basalt.users where phone = $1', [phone])).toEqual([])
  })

  test('do not count against a later code', async () => {
    await nodes.first.post('sms', { phone })
    const code = codeIn(await nodes.inbox.take(phone))
    expect((await confirm(nodes.second, code)).status).toBe(200)
  })
})
