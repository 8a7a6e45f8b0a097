import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { countStatuses } from '../../../../../test/account-nodes.ts'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import { createClient, createOAuthApp, obtainTokens } from '../../../../../test/oauth.ts'
import {
  createTestApp,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'

const proxied = { 'server.trusted_proxies': '127.0.0.1/32' }
const limits = {
  ...proxied,
  'limits.requests_per_minute.per_user': '6',
  'limits.requests_per_minute.per_address': '10',
}
const path = '/api/collections/note'

let first: TestApp
let second: TestApp
let open: TestApp

beforeAll(async () => {
  first = await createTestApp({ setup: `${notes} grant select on note to basalt_anonymous;`, config: limits })
  second = await createTestApp({ database: first.database, config: limits })
  open = await createTestApp({ database: first.database, config: proxied })
  await first.sql('insert into basalt.users (id) values ($1), ($2)', [alice, bob])
})
afterAll(async () => {
  await open[Symbol.asyncDispose]()
  await second[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
})
/** Address of the caller, which is another one in each test. */
let address = ''
let user = ''
let count = 0
beforeEach(async () => {
  count += 1
  address = `198.51.100.${count}`
  const [row] = await first.sql<{ id: string }>('insert into basalt.users default values returning id')
  user = row?.id ?? ''
})

interface Sent {
  readonly token?: string
  readonly from?: string
}

const list = (node: TestApp, { token, from = address }: Sent = {}) =>
  node.request('GET', path, { token, headers: { 'x-forwarded-for': from } })
const batch = (node: TestApp, operations: number, { token, from = address }: Sent = {}) =>
  node.request('POST', `${path}/batch`, {
    token,
    headers: { 'x-forwarded-for': from },
    body: {
      operations: Array.from({ length: operations }, () => ({ method: 'create', body: { body: 'x' } })),
    },
  })

function together(amount: number, send: (node: TestApp, index: number) => Promise<TestResponse>) {
  return Promise.all(
    Array.from({ length: amount }, (_, index) => send(index % 2 === 0 ? first : second, index)),
  )
}

function expectRefusal(response: TestResponse, limit: number): void {
  expect(response.status).toBe(429)
  expect(envelope(response)).toEqual({ code: 429, message: 'too many requests', error: 'too_many_requests' })
  const seconds = Number(response.headers.get('retry-after'))
  expect(seconds).toBeGreaterThanOrEqual(1)
  expect(seconds).toBeLessThanOrEqual(62)
  expect(response.headers.get('x-ratelimit-limit')).toBe(String(limit))
  expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
  // The header is in Unix time, by the clock of the same response.
  const reset = Number(response.headers.get('x-ratelimit-reset')) - seconds
  expect(Math.abs(reset - Date.now() / 1000)).toBeLessThan(60)
}

describe('limits.requests_per_minute', () => {
  test('passes exactly the limit of one user on two nodes, whatever the address and the credential', async () => {
    const { key } = await createApiKey(first, { userId: user })
    const tokens = [key, userToken({ sub: user })]
    const responses = await together(24, (node, index) =>
      list(node, { token: tokens[index % 3 === 0 ? 0 : 1] ?? '', from: `203.0.113.${index}` }),
    )
    expect(countStatuses(responses)).toEqual({ 200: 6, 429: 18 })
    for (const response of responses.filter(({ status }) => status === 429)) expectRefusal(response, 6)
    // Another user is not affected.
    expect((await list(second, { token: userToken({ sub: alice }) })).status).toBe(200)
  })

  test('passes exactly the limit of one address on two nodes, with and without a token', async () => {
    const responses = await together(30, (node, index) =>
      list(node, index % 2 === 0 ? {} : { token: userToken({ sub: index % 4 < 2 ? user : bob }) }),
    )
    const statuses = countStatuses(responses)
    expect(statuses[200]).toBe(10)
    expect(statuses[429]).toBe(20)
    expectRefusal(await list(first), 10)
    expect((await list(first, { from: '203.0.113.200' })).status).toBe(200)
  })

  test('counts an access token of OAuth for its user', async () => {
    await using app = await createOAuthApp({
      setup: notes,
      config: { 'limits.requests_per_minute.per_user': '2' },
    })
    const registration = { email: 'limited@example.com', password: 'correct horse battery' }
    const account = await app.request('POST', '/api/auth/register', { body: registration })
    const client = await createClient(app)
    const { access_token: token } = await obtainTokens(app, account.json.token, client)
    const statuses = []
    for (const each of [token, account.json.token, token]) {
      statuses.push((await app.request('GET', path, { token: each })).status)
    }
    expect(statuses).toEqual([200, 200, 429])
  })

  test('reports the limit with fewer requests left in the headers of each response', async () => {
    const headers = async (sent: Sent) => {
      const response = await list(first, sent)
      return ['limit', 'remaining'].map((name) => Number(response.headers.get(`x-ratelimit-${name}`)))
    }
    const token = userToken({ sub: user })
    expect(await headers({ token })).toEqual([6, 5])
    expect(await headers({ token })).toEqual([6, 4])
    expect(await headers({})).toEqual([10, 7])
    for (let index = 0; index < 4; index += 1) await headers({})
    expect(await headers({ token })).toEqual([10, 2])
    const response = await list(first, { token })
    const reset = Number(response.headers.get('x-ratelimit-reset'))
    expect(Math.abs(reset - 60 - Date.now() / 1000)).toBeLessThan(60)
  })

  test('counts a batch by its operations, all or none', async () => {
    const token = userToken({ sub: user })
    expect((await batch(first, 4, { token })).status).toBe(200)
    const before = await first.sql('select count(*)::int as count from note')
    expectRefusal(await batch(second, 3, { token }), 6)
    expect(await first.sql('select count(*)::int as count from note')).toEqual(before)
    // The refused batch counted nothing once its node has returned the permits.
    await waitFor('the rest', async () => (await batch(first, 2, { token })).status === 200)
    expectRefusal(await list(first, { token }), 6)
    expect(envelope(await batch(first, 7, { token }))).toEqual({
      code: 400,
      message: 'operations: expected at most 6, the requests allowed per minute, not 7',
      error: 'batch_above_rate_limit',
    })
    const across = await first.request('POST', '/api/batch', {
      token,
      headers: { 'x-forwarded-for': address },
      body: { operations: [{ table: 'note', method: 'create', body: { body: 'x' } }] },
    })
    expectRefusal(across, 6)
  })

  test('counts an invalid batch as one request', async () => {
    const token = userToken({ sub: user })
    for (let sent = 0; sent < 6; sent += 1) expect((await batch(first, 0, { token })).status).toBe(400)
    expectRefusal(await batch(first, 0, { token }), 6)
    expectRefusal(await list(first, { token }), 6)
  })

  test('passes at most the limit in operations of concurrent batches', async () => {
    const token = userToken({ sub: user })
    const responses = await together(8, (node, index) =>
      batch(node, 2, { token, from: `203.0.113.${index}` }),
    )
    expect(countStatuses(responses)).toEqual({ 200: 3, 429: 5 })
  })

  test('counts IPv6 clients by their network', async () => {
    const responses = await together(12, (node, index) =>
      list(node, { from: `2001:db8:${count}:1::${index.toString(16)}` }),
    )
    expect(countStatuses(responses)).toEqual({ 200: 10, 429: 2 })
    expect((await list(first, { from: `2001:db8:${count}:2::1` })).status).toBe(200)
  })

  test('believes forwarding headers of trusted proxies only', async () => {
    await using direct = await createTestApp({
      database: first.database,
      config: { 'limits.requests_per_minute.per_address': '2' },
    })
    const statuses = []
    for (let index = 0; index < 3; index += 1) {
      statuses.push((await list(direct, { from: `203.0.113.${100 + index}` })).status)
    }
    expect(statuses).toEqual([200, 200, 429])
  })

  test('counts the opening of a WebSocket for the user and the address', async () => {
    const token = userToken({ sub: user })
    for (let index = 0; index < 5; index += 1) expect((await list(first, { token })).status).toBe(200)
    await using socket = await openWebSocket(first.url, { token })
    await socket.next('connected')
    await using refused = await openWebSocket(second.url, { token })
    expect(await refused.ended()).toEqual({ code: 4008, reason: 'too many requests' })
    expectRefusal(await list(first, { token }), 6)
  })

  test('limits neither administrators nor accounts nor downloads', async () => {
    for (let index = 0; index < 11; index += 1) await list(first)
    expectRefusal(await list(first), 10)
    const token = await first.adminToken()
    expect((await list(first, { token })).headers.get('x-ratelimit-limit')).toBeNull()
    expect((await list(first, { token })).status).toBe(200)
    const me = await first.request('GET', '/api/auth/me', {
      token: userToken({ sub: user }),
      headers: { 'x-forwarded-for': address },
    })
    expect(me.status).not.toBe(429)
  })

  test('rejects invalid tokens before it counts', async () => {
    for (let index = 0; index < 12; index += 1) {
      expect((await list(first, { token: 'invalid' })).status).toBe(401)
    }
    expect((await list(first)).status).toBe(200)
  })

  test('costs no statement and sends no header by default', async () => {
    const response = await list(open)
    expect([response.status, response.headers.get('x-ratelimit-limit')]).toEqual([200, null])
    expect(
      await first.sql(`select from basalt.caller_permit_leases where caller = $1`, [`address ${address}`]),
    ).toEqual([])
  })
})

describe('basalt.lease_caller_permits', () => {
  const lease = (caller: string, wanted: number) =>
    first.sql<{ granted: number }>(
      `select granted from basalt.lease_caller_permits(gen_random_uuid(), $1, 6, 60, $2, 0, 2, '[]')`,
      [caller, wanted],
    )

  test('keeps the leases of one window, however many callers there were', async () => {
    await first.sql('delete from basalt.caller_permit_leases')
    await first.sql(`
      insert into basalt.caller_permit_leases
      select gen_random_uuid(), 'address ' || n, 1, 0, now() - interval '2 min', now() - interval '2 min'
      from generate_series(1, 40) n`)
    for (let index = 0; index < 20; index += 1) await lease(`user ${index}`, 1)
    const rows = await first.sql<{ caller: string }>('select caller from basalt.caller_permit_leases')
    expect(rows.filter(({ caller }) => caller.startsWith('address'))).toEqual([])
    expect(rows).toHaveLength(20)
  })

  test('keeps at most as many leases of a caller as its limit', async () => {
    for (let index = 0; index < 20; index += 1) await lease('user x', 1)
    const rows = await first.sql(`select from basalt.caller_permit_leases where caller = 'user x'`)
    expect(rows).toHaveLength(6)
  })
})
