import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../fixtures.ts'
import { startLoad } from '../load.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { sendRequest } from '../send-request.ts'
import { userToken } from '../test-app.ts'
import { testAdminPassword } from '../test-config.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'
import { type Fleet, fleets, replacements } from './fleet.ts'

const token = userToken({ sub: alice })
let cluster: ThrowAwayCluster
let receiver: Receiver

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create role basalt login createrole')
  await cluster.sql('postgres', 'create database shop owner basalt')
  const table =
    'create table item (id bigint generated always as identity primary key, key text, counter int)'
  await cluster.sql('shop', table, 'basalt')
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver[Symbol.asyncDispose]()
  await cluster[Symbol.asyncDispose]()
})
beforeEach(async () => {
  const [there] = await cluster.sql('shop', `select to_regclass('basalt.webhooks') as webhooks`)
  if (there?.webhooks !== null) await cluster.sql('shop', 'delete from basalt.webhooks')
  receiver.received.length = 0
})

const configure = () => ({ 'database.url': `postgresql://basalt@127.0.0.1:${cluster.port}/shop` })

async function createWebhook(url = ''): Promise<void> {
  const body = { password: testAdminPassword }
  const { json } = await sendRequest('POST', `${url}/api/admin/auth`, { body })
  const created = await sendRequest('POST', `${url}/api/webhooks`, {
    token: (json as { token: string }).token,
    body: { url: receiver.url, secret: 'plain', tables: ['item'], events: ['create'] },
  })
  expect(created.status).toBe(201)
}

/** Waits until no delivery is pending; the lease of a killed node expires first. */
async function waitForNoWork(): Promise<void> {
  const done = `
    select not exists (
        select from basalt.outbox o, basalt.event_cursors c
        where not pg_visible_in_snapshot(o.transaction_id, c.passed)
      ) and not exists (select from basalt.webhook_queue) as is_done`
  await waitFor('all events to be delivered', async () => (await cluster.sql('shop', done))[0]?.is_done)
}

/** Returns the ids under which each key arrived. */
function arrivals(): ReadonlyMap<string, ReadonlySet<string>> {
  const byKey = new Map<string, Set<string>>()
  for (const { json, headers } of receiver.received) {
    const ids = byKey.get(json.record.key) ?? new Set()
    byKey.set(json.record.key, ids.add(String(headers['webhook-id'])))
  }
  return byKey
}

test.each(fleets)(
  'webhooks › %s › deliver every acknowledged write under one id when they are killed under load',
  async (_, startFleet) => {
    await cluster.sql('shop', 'truncate item', 'basalt')
    await using fleet = await startFleet(configure())
    await createWebhook(fleet.urls[0])
    const load = startLoad({ urls: fleet.urls, token, clients: 8 })
    for (let round = 0; round < replacements; round += 1) {
      const before = receiver.received.length
      await waitFor('deliveries', () => receiver.received.length > before + 50)
      await fleet.replaceNext()
    }
    const { creates } = await load.stop()
    await waitForNoWork()
    const seen = arrivals()
    const acknowledged = [...creates].filter(([, fate]) => fate === 'acknowledged').map(([key]) => key)
    expect(acknowledged.length).toBeGreaterThan(200)
    expect(acknowledged.filter((key) => !seen.has(key))).toEqual([])
    const present = await cluster.sql<{ key: string }>('shop', 'select key from item')
    const there = new Set(present.map(({ key }) => key))
    expect([...seen.keys()].filter((key) => !there.has(key))).toEqual([])
    expect([...seen].filter(([, ids]) => ids.size !== 1)).toEqual([])
    // A row without an acknowledged response was an event, too.
    expect([...there].filter((key) => !seen.has(key))).toEqual([])
    for (const ending of await fleet.stop()) expect(ending).toEqual({ code: 0, signal: null })
  },
  300_000,
)

describe.each(fleets)('webhooks › %s', (_, startFleet) => {
  let fleet: Fleet
  let addresses: Awaited<ReturnType<Fleet['openAddresses']>>

  beforeAll(async () => {
    fleet = await startFleet(configure())
    addresses = await fleet.openAddresses()
  })
  afterAll(async () => {
    await addresses[Symbol.asyncDispose]()
    await fleet[Symbol.asyncDispose]()
  })

  test('deliver a write on the other one right after the response', async () => {
    const [first, second] = addresses.urls
    await createWebhook(first)
    const url = `${second}/api/collections/item`
    expect((await sendRequest('POST', url, { token, body: { key: 'at once' } })).status).toBe(201)
    await waitFor('the delivery', () => receiver.received.length > 0)
    expect([...arrivals().keys()]).toEqual(['at once'])
  })

  test('lose nothing when Postgres restarts', async () => {
    await createWebhook(addresses.urls[0])
    const load = startLoad({ urls: addresses.urls, token, clients: 4, prefix: 'restart' })
    await waitFor('deliveries', () => receiver.received.length > 50)
    await cluster.stop('immediate')
    await cluster.start()
    const before = receiver.received.length
    await waitFor('deliveries after the restart', () => receiver.received.length > before + 50)
    const { creates } = await load.stop()
    await waitForNoWork()
    const seen = arrivals()
    const lost = [...creates].filter(([key, fate]) => fate === 'acknowledged' && !seen.has(key))
    expect(lost).toEqual([])
  })
})
