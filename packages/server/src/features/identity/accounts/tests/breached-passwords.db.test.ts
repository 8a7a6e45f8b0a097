import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { mailedToken } from '../../../../../test/account-nodes.ts'
import { type AccountsApp, createAccountsApp } from '../../../../../test/accounts.ts'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'

const breached = 'correct horse battery'
const safe = 'unheard-of lantern 42'
const hashOf = (password: string) => createHash('sha1').update(password).digest('hex').toUpperCase()

interface RangeRequest {
  readonly path: string
  readonly padding: unknown
  readonly body: string
}

const requests: RangeRequest[] = []
let mode: 'normal' | 'padding' | 'failure' | 'silence' = 'normal'
/** Service with the range protocol of Have I Been Pwned. */
const service = createServer(async (request, response) => {
  let body = ''
  for await (const part of request) body += part
  const path = request.url ?? ''
  requests.push({ path, padding: request.headers['add-padding'], body })
  if (mode === 'silence') return
  if (mode === 'failure') {
    response.writeHead(503).end()
    return
  }
  const hash = hashOf(breached)
  const rows = path.endsWith(hash.slice(0, 5)) ? [`${hash.slice(5)}:${mode === 'padding' ? 0 : 123}`] : []
  response.end(
    ['0018A45C4D1DEF81644B54AB7F969B88D65:3', ...rows, '00D4F6E8FA6EECAD2A3AA415EEC418D38EC:0'].join('\r\n'),
  )
})
let accounts: AccountsApp
let app: TestApp
let users = 0
const newEmail = () => {
  users += 1
  return `breach-${users}@example.com`
}

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  // A server on a port has an address of this form.
  const { port } = service.address() as AddressInfo
  accounts = await createAccountsApp({
    config: {
      'auth.refuse_breached_passwords': 'true',
      'auth.breached_passwords_url': `http://127.0.0.1:${port}/range/`,
      'auth.anonymous_auth_enabled': 'true',
    },
  })
  app = accounts.app
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  service.closeAllConnections()
  await new Promise((resolve) => service.close(resolve))
})
beforeEach(() => {
  requests.length = 0
  mode = 'normal'
})

const register = (password: string, email = newEmail()) =>
  app.request('POST', '/api/auth/register', { body: { email, password } })
const refusal = (field = 'password') => ({
  code: 400,
  message: `${field} has appeared in a data breach: choose another one`,
  error: 'breached_password',
})

describe('auth.refuse_breached_passwords', () => {
  test('rejects a breached password at registration, and sends five digits of its hash', async () => {
    expect(envelope(await register(breached))).toEqual(refusal())
    expect(requests).toEqual([{ path: `/range/${hashOf(breached).slice(0, 5)}`, padding: 'true', body: '' }])
    expect((await register(safe)).status).toBe(201)
    expect(requests.map(({ path }) => path.length)).toEqual(['/range/12345'.length, '/range/12345'.length])
  })

  test('rejects it at a change, and names its field', async () => {
    const { token } = (await register(safe)).json
    const change = (newPassword: string) =>
      app.request('POST', '/api/auth/change-password', {
        token,
        body: { currentPassword: safe, newPassword },
      })
    expect(envelope(await change(breached))).toEqual(refusal('newPassword'))
    expect((await change(`${safe}!`)).status).toBe(200)
  })

  test('rejects it at a reset, whose token stays valid, and sends nothing for an invented token', async () => {
    const email = newEmail()
    await register(safe, email)
    const token = await mailedToken(accounts, 'password-reset', email)
    requests.length = 0
    const confirm = (password: string, sent = token) =>
      app.request('POST', '/api/auth/password-reset/confirm', { body: { token: sent, password } })
    expect((await confirm(breached, 'invented')).json.error).toBe('invalid_reset_token')
    expect(requests).toEqual([])
    expect(envelope(await confirm(breached))).toEqual(refusal())
    expect((await confirm(`${safe}?`)).status).toBe(200)
  })

  test('rejects it for an anonymous account, for a user that an administrator creates, and for administrators', async () => {
    const { token } = (await app.request('POST', '/api/auth/anonymous', {})).json
    const body = { email: newEmail(), password: breached }
    expect(envelope(await app.request('POST', '/api/auth/link/email', { token, body }))).toEqual(refusal())
    const admin = await app.adminToken()
    expect(envelope(await app.request('POST', '/api/admin/users', { token: admin, body }))).toEqual(refusal())
    const change = await app.request('PUT', '/api/admin/account/password', {
      token: admin,
      body: { currentPassword: testAdminPassword, password: breached },
    })
    expect(envelope(change)).toEqual(refusal())
  })

  test('ignores the lines of padding', async () => {
    mode = 'padding'
    expect((await register(breached)).status).toBe(201)
  })

  test.each(['failure', 'silence'] as const)(
    'accepts passwords after a %s of the service, and logs it',
    async (fault) => {
      mode = fault
      expect((await register(breached)).status).toBe(201)
      const lines = app.log.filter((line) => line.includes('failed to check a password for breaches'))
      expect(lines.length).toBeGreaterThan(0)
      for (const line of app.log) expect(line).not.toContain(hashOf(breached).slice(5))
    },
  )

  test('sends nothing by default', async () => {
    await using off = await createTestApp({ database: app.database })
    const body = { email: newEmail(), password: breached }
    expect((await off.request('POST', '/api/auth/register', { body })).status).toBe(201)
    expect(requests).toEqual([])
  })
})
