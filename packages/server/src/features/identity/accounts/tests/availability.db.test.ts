import { describe, expect, test, vi } from 'vitest'
import { insertUser } from '../../../../../test/account-nodes.ts'
import { createAccountsApp, goodPassword } from '../../../../../test/accounts.ts'
import { notes } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestResponse } from '../../../../../test/test-app.ts'

// Two hundred sign-ins are slow on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

test('accounts › accepts a storm of sign-ins from one address while health and data requests succeed', async () => {
  await using accounts = await createAccountsApp({
    setup: notes,
    // The default limit.
    config: { 'auth.limits.login_failures_per_address': '100' },
  })
  const { app } = accounts
  const { token } = await accounts.register()
  const users = await Promise.all(
    Array.from({ length: 20 }, () => insertUser(app, { password: goodPassword })),
  )

  let isOver = false
  const storm = Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      accounts.post('login', { email: users[index % 20]?.email, password: goodPassword }),
    ),
  ).finally(() => {
    isOver = true
  })
  const answeredMeanwhile: TestResponse[] = []
  for (let count = 0; count < 10; count += 1) {
    answeredMeanwhile.push(
      await app.request('GET', '/health'),
      await app.request('GET', '/api/collections/note', { token }),
      await app.request('GET', '/api/auth/me', { token }),
    )
    expect(isOver).toBe(false)
  }
  expect(answeredMeanwhile.map(({ status }) => status)).toEqual(Array(30).fill(200))
  expect((await storm).map(({ status }) => status)).toEqual(Array(200).fill(200))
  const [sessions] = await app.sql('select count(*)::int from basalt.sessions where user_id = any($1)', [
    users.map(({ id }) => id),
  ])
  expect(sessions).toEqual({ count: 200 })
})

describe('accounts › without auth', () => {
  test('has no account endpoints and opens the data', async () => {
    await using app = await createTestApp({ config: { 'auth.enabled': 'false' }, setup: notes })
    await app.sql("insert into note (owner_id, body) values (gen_random_uuid(), 'of somebody')")
    const paths = [
      ['POST', 'register'],
      ['POST', 'login'],
      ['POST', 'refresh'],
      ['POST', 'logout'],
      ['GET', 'me'],
      ['DELETE', 'me'],
      ['GET', 'sessions'],
      ['POST', 'password-reset'],
      ['POST', 'password-reset/confirm'],
      ['POST', 'verify'],
      ['POST', 'magic-link'],
      ['POST', 'magic-link/confirm'],
      ['POST', 'sms'],
      ['POST', 'sms/confirm'],
      ['POST', 'anonymous'],
      ['POST', 'link/email'],
    ] as const
    for (const [method, path] of paths) {
      const response = await app.request(method, `/api/auth/${path}`, method === 'POST' ? { body: {} } : {})
      expect([path, response.status, response.json.error]).toEqual([path, 404, 'route_not_found'])
    }
    for (const path of ['/auth/verify', '/auth/magic-link', '/auth/reset-password']) {
      expect((await app.request('GET', path)).status).toBe(404)
    }
    const open = await app.request('GET', '/api/collections/note')
    expect([open.status, open.json.items]).toEqual([200, [expect.objectContaining({ body: 'of somebody' })]])
    const token = await app.adminToken()
    expect((await app.request('GET', '/api/collections/note', { token })).status).toBe(200)
    expect((await app.request('GET', '/api/admin/users', { token })).status).toBe(404)
  })
})
