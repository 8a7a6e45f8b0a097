import { afterAll, beforeAll, expect, test } from 'vitest'
import { alice } from '../fixtures.ts'
import { userToken } from '../test-app.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'
import { openWebSocket, type WebSocketClient } from '../websocket-client.ts'
import { fleets } from './fleet.ts'

const token = userToken({ sub: alice })
let cluster: ThrowAwayCluster

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create role basalt login createrole')
  await cluster.sql('postgres', 'create database shop owner basalt')
})
afterAll(() => cluster[Symbol.asyncDispose]())

async function show(channel: string, url = '', name = ''): Promise<WebSocketClient> {
  const client = await openWebSocket(url, { token })
  await client.request({ type: 'channel_subscribe', channel })
  expect((await client.request({ type: 'presence_track', channel, presence: { name } })).status).toBe('ok')
  return client
}

/** Returns the names of present users that the client knows. */
function namesOf(client: WebSocketClient): string {
  const present = new Map<string, string>()
  for (const message of client.ofType('presence')) {
    const { presence_action: action, presence_conn_id: id, presence, presences } = message
    if (action === 'sync') {
      present.clear()
      for (const [key, { name }] of Object.entries<{ name: string }>(presences)) present.set(key, name)
    } else if (action === 'leave') present.delete(id)
    else present.set(id, presence.name)
  }
  return [...present.values()].sort().join()
}

test.each(fleets)(
  'presence › %s › survives a crash of Postgres, and members of a killed one leave',
  async (fleetName, startFleet) => {
    // Members of a fleet that has stopped leave only ten seconds later.
    const channel = `room of ${fleetName}`
    await using fleet = await startFleet({
      'database.url': `postgresql://basalt@127.0.0.1:${cluster.port}/shop`,
    })
    await using addresses = await fleet.openAddresses()
    const [first, second] = addresses.urls
    await using here = await show(channel, first, 'here')
    const there = await show(channel, second, 'there')
    for (const client of [here, there]) {
      await waitFor('both', () => namesOf(client) === 'here,there')
    }
    await cluster.stop('immediate')
    await cluster.start()
    const known = async () =>
      (
        await cluster.sql<{ name: string }>(
          'shop',
          `select presence ->> 'name' as name from basalt.realtime_presence where channel = '${channel}'`,
        )
      )
        .map(({ name }) => name)
        .sort()
        .join()
    await waitFor('both in the database', async () => (await known()) === 'here,there')
    for (const client of [here, there]) {
      await waitFor('both again', () => namesOf(client) === 'here,there')
      expect(client.closed).toBeUndefined()
    }
    await waitFor('broadcasts', async () => {
      const reply = await there.request({ type: 'broadcast', channel, event: 'e', payload: 1 })
      return reply.status === 'ok' && here.ofType('broadcast').length > 0
    })
    await fleet.kill(1)
    await there.ended()
    await waitFor('the leave', () => namesOf(here) === 'here')
    const leaves = here.ofType('presence').filter(({ presence_action: action }) => action === 'leave')
    expect(leaves.map(({ presence }) => presence.name)).toEqual(['there'])
    expect(await known()).toBe('here')
    expect((await fleet.stop())[0]).toEqual({ code: 0, signal: null })
    expect(await here.ended()).toEqual({ code: 1001, reason: 'server is shutting down' })
  },
)
