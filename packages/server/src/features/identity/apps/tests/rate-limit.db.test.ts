import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countStatuses } from '../../../../../test/account-nodes.ts'
import { createApiKey, createApplication } from '../../../../../test/api-keys.ts'
import { alice, notes } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'
import { defaultAppId } from '../../../../http/access/identity.ts'

let first: TestApp
let second: TestApp

beforeAll(async () => {
  first = await createTestApp({ setup: notes })
  second = await createTestApp({ database: first.database })
  await first.sql('insert into basalt.users (id) values ($1)', [alice])
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
})

async function limitedKey(rateLimitRps: number, rateLimitWindowSeconds: number) {
  const appId = await createApplication(first, { ownerUserId: alice, rateLimitRps, rateLimitWindowSeconds })
  const { key } = await createApiKey(first, { userId: alice, appId })
  return { appId, key }
}

const list = (node: TestApp, token: string) => node.request('GET', '/api/collections/note', { token })
const batch = (node: TestApp, token: string) =>
  node.request('POST', '/api/collections/note/batch', {
    token,
    body: {
      operations: Array.from({ length: 5 }, () => ({ method: 'create', body: { body: 'x' } })),
    },
  })

function together(count: number, send: (node: TestApp, index: number) => Promise<TestResponse>) {
  return Promise.all(
    Array.from({ length: count }, (_, index) => send(index % 2 === 0 ? first : second, index)),
  )
}

describe('app rate limit', () => {
  test('shows administrators its use', async () => {
    const { appId, key } = await limitedKey(5, 3600)
    const token = await first.adminToken()
    const readLimit = (id: string) => first.request('GET', `/api/admin/apps/${id}/rate-limit`, { token })
    const limit = { limit: 5, windowSeconds: 3600 }
    expect((await readLimit(appId)).json).toEqual({ ...limit, used: 0, remaining: 5 })
    await together(3, (node) => list(node, key))
    // Permits that nodes hold ahead count as used until the nodes have reported.
    await waitFor('permits in use', async () => (await readLimit(appId)).json.used >= 3)
    const { used, remaining } = (await readLimit(appId)).json
    expect(used + remaining).toBe(5)
    expect((await readLimit(defaultAppId)).json).toMatchObject({ limit: 0, used: 0, remaining: null })
    expect(envelope(await readLimit('7b0b1c1e-0000-4000-8000-000000000000'))).toMatchObject({
      code: 404,
      message: 'app not found',
    })
  })

  test('passes exactly 10 of 40 parallel requests on two nodes, counting a batch once', async () => {
    const { key } = await limitedKey(10, 3600)
    const responses = await together(40, (node, index) =>
      index % 4 < 2 ? list(node, key) : batch(node, key),
    )
    expect(countStatuses(responses)).toEqual({ 200: 10, 429: 30 })
    const refused = responses.filter(({ status }) => status === 429)
    for (const response of refused) {
      expect(envelope(response)).toEqual({
        code: 429,
        message: 'app rate limit exceeded',
        error: 'app_rate_limit_exceeded',
      })
      const seconds = Number(response.headers.get('retry-after'))
      expect(seconds).toBeGreaterThanOrEqual(1)
      expect(seconds).toBeLessThanOrEqual(3600)
      expect(response.headers.get('x-app-ratelimit-limit')).toBe('10')
      expect(response.headers.get('x-app-ratelimit-remaining')).toBe('0')
      // The header is in Unix time, by the clock of the same response.
      const reset = Number(response.headers.get('x-app-ratelimit-reset')) - seconds
      expect(Math.abs(reset - Date.now() / 1000)).toBeLessThan(60)
    }
    // A rejected batch wrote nothing.
    const [row] = await first.sql<{ count: number }>(`select count(*)::int from note where body = 'x'`)
    expect((row?.count ?? -1) / 5).toBe(
      responses.filter(({ status }, index) => status === 200 && index % 4 >= 2).length,
    )
  })

  test('passes exactly the limit when permits are leased ahead of requests on two nodes', async () => {
    const { key } = await limitedKey(100, 3600)
    const responses = await together(100, (node) => list(node, key))
    // Unused permits of one node are returned for the other one.
    const granted = await waitFor('the last permits', async () => {
      responses.push(...(await together(4, (node) => list(node, key))))
      return responses.filter(({ status }) => status === 200).length === 100
    })
    expect(granted).toBe(true)
    const after = await together(10, (node) => list(node, key))
    expect(countStatuses(after)).toEqual({ 429: 10 })
  })

  test('counts the keys of an app together, and those of another app separately', async () => {
    const { key, appId } = await limitedKey(2, 3600)
    const { key: sibling } = await createApiKey(first, { userId: alice, appId })
    const { key: stranger } = await limitedKey(2, 3600)
    const statuses = []
    for (const token of [key, sibling, key, stranger]) statuses.push((await list(first, token)).status)
    expect(statuses).toEqual([200, 200, 429, 200])
  })

  test('passes requests again when the window has moved on', async () => {
    const { key } = await limitedKey(3, 1)
    const statuses = []
    for (let index = 0; index < 4; index += 1) statuses.push((await list(first, key)).status)
    expect(statuses).toEqual([200, 200, 200, 429])
    await waitFor('a permit', async () => (await list(first, key)).status === 200)
  })

  test('counts the opening of a WebSocket', async () => {
    const { key } = await limitedKey(2, 3600)
    await using socket = await openWebSocket(first.url, { token: key })
    await socket.next('connected')
    await using late = await openWebSocket(first.url)
    expect(await late.request({ type: 'auth', token: key })).toMatchObject({ status: 'ok' })
    await using refused = await openWebSocket(second.url, { token: key })
    expect(await refused.ended()).toEqual({ code: 4008, reason: 'app rate limit exceeded' })
    expect((await list(first, key)).status).toBe(429)
  })

  test('applies the default app to keys without an app', async () => {
    const { key } = await createApiKey(first, { userId: alice })
    const change = async (rateLimitRps: number) =>
      await first.request('PUT', `/api/admin/apps/${defaultAppId}`, {
        token: await first.adminToken(),
        body: { name: 'default', rateLimitRps, rateLimitWindowSeconds: 3600 },
      })
    try {
      await change(1)
      expect([(await list(first, key)).status, (await list(first, key)).status]).toEqual([200, 429])
    } finally {
      await change(0)
    }
    expect((await list(first, userToken({ sub: alice }))).status).toBe(200)
  })

  test('does not count requests that the key may not make', async () => {
    const { key } = await limitedKey(1, 3600)
    expect((await first.request('GET', '/api/auth/me', { token: key })).status).toBe(403)
    expect((await list(first, key)).status).toBe(200)
    expect((await list(first, key)).status).toBe(429)
  })

  test('applies on every node after a change or removal', async () => {
    const { key, appId } = await limitedKey(1, 3600)
    expect(countStatuses([await list(first, key), await list(second, key)])).toEqual({ 200: 1, 429: 1 })
    const change = async (body: object) =>
      await first.request('PUT', `/api/admin/apps/${appId}`, { token: await first.adminToken(), body })
    expect((await change({ name: 'app', rateLimitRps: 0 })).json.rateLimitRps).toBe(0)
    for (const node of [first, second]) {
      await waitFor('the limit to end', async () => (await list(node, key)).status === 200)
    }
    await change({ name: 'app', rateLimitRps: 1 })
    for (const node of [first, second]) {
      await waitFor('the limit to begin', async () => (await list(node, key)).status === 429)
    }
  })

  test('leases permits ahead of requests instead of once per request', async () => {
    const { key, appId } = await limitedKey(10_000, 3600)
    for (let index = 0; index < 50; index += 1) expect((await list(first, key)).status).toBe(200)
    const leases = await first.sql('select 1 from basalt.permit_leases where app_id = $1', [appId])
    expect(leases.length).toBeLessThan(5)
  })

  test('returns unused permits', async () => {
    const { key, appId } = await limitedKey(1000, 3600)
    expect((await list(first, key)).status).toBe(200)
    await waitFor('the report', async () => {
      const [row] = await first.sql<{ permits: number }>(
        'select sum(permits)::int as permits from basalt.permit_leases where app_id = $1',
        [appId],
      )
      return row?.permits === 1
    })
  })
})
