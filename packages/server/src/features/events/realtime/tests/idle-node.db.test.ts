import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { type EventStreamClient, openEventStream } from '../../../../../test/event-stream.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { observeStatements } from '../../../../../test/observed-statements.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup: 'create table item (id bigint primary key, name text)' })
})
afterAll(() => app[Symbol.asyncDispose]())

function open(node: TestApp, sub = alice): Promise<EventStreamClient> {
  return openEventStream(node.url, 'tables=item', { token: userToken({ sub }) })
}

async function stats(node = app) {
  return (await node.request('GET', '/api/admin/realtime/stats', { token: await node.adminToken() })).json
}

/** Returns the id of the node that has the stream. */
async function nodeOf(stream: EventStreamClient): Promise<string> {
  const { clientId } = stream.events[0]?.data ?? {}
  const [row] = await app.sql<{ node: string }>(
    'select node from basalt.realtime_connections where id = $1',
    [clientId],
  )
  return row?.node ?? ''
}

async function isKnown(node: string): Promise<boolean> {
  return (await app.sql('select from basalt.realtime_nodes where id = $1', [node])).length > 0
}

/** Notes the times of the statements of each node, by its id. */
function observeNodes() {
  const timesByNode = new Map<string, number[]>()
  const observation = observeStatements(({ text, values }) => {
    if (!text.includes('basalt.realtime_')) return
    for (const value of values) {
      if (typeof value !== 'string') continue
      timesByNode.set(value, [...(timesByNode.get(value) ?? []), performance.now()])
    }
  })
  return {
    timesOf: (node: string) => timesByNode.get(node) ?? [],
    clear: () => timesByNode.clear(),
    [Symbol.dispose]: observation.stop,
  }
}

test('realtime › a node without streams runs no transaction for them, and is known again with its next one', async () => {
  await using node = await createTestApp({ database: app.database })
  const first = await open(node)
  const id = await nodeOf(first)
  expect(await isKnown(id)).toBe(true)
  // Its saves are the clock of this test.
  await using other = await open(app, bob)
  const otherId = await nodeOf(other)
  await first[Symbol.asyncDispose]()
  await waitFor('the end of its record', async () => !(await isKnown(id)))

  using observed = observeNodes()
  await waitFor('saves of the other node', () => observed.timesOf(otherId).length > 6)
  expect(observed.timesOf(id)).toEqual([])

  await using again = await open(node)
  expect(await nodeOf(again)).toBe(id)
  expect((await stats()).connections).toEqual({ sse: 2, ws: 0, total: 2 })
  await app.request('POST', '/api/collections/item', { token: userToken({ sub: alice }), body: { id: 1 } })
  await again.next(1)
  expect(observed.timesOf(id).length).toBeGreaterThan(0)
})

test('realtime › a stream that is opened while the record of its node is deleted remains', async () => {
  await using node = await createTestApp({ database: app.database })
  const first = await open(node)
  const id = await nodeOf(first)
  await first[Symbol.asyncDispose]()
  await waitFor('the end of the stream', async () => (await stats()).connections.total === 0)
  await using holder = await openTransaction(app.database)
  await holder.sql('select from basalt.realtime_nodes where id = $1 for key share', [id])
  // This is the deletion, once the node has been without streams for a while.
  await holder.waitForBlocked()
  let isOpen = false
  const opening = open(node).then((stream) => {
    isOpen = true
    return stream
  })
  // Its insert would commit before the deletion, which would take it away.
  await app.request('POST', '/api/collections/item', {
    token: userToken({ sub: alice }),
    body: { id: 2, name: randomUUID() },
  })
  expect(isOpen).toBe(false)
  await holder.commit()
  await using stream = await opening
  expect(await nodeOf(stream)).toBe(id)
})

test('realtime › a node without streams that has dropped a client is counted, and saves less often', async () => {
  await using node = await createTestApp({ database: app.database })
  await using stream = await open(node)
  const id = await nodeOf(stream)
  stream.pause()
  const name = 'x'.repeat(100_000)
  await waitFor('the stream to end', async () => {
    await app.request('POST', '/api/collections/item', {
      token: userToken({ sub: alice }),
      body: { id: Math.floor(performance.now() * 1000), name },
    })
    return (await stats()).connections.total === 0
  })
  stream.resume()
  await stream.ended()
  using observed = observeNodes()
  await waitFor('rare saves', () => {
    const [last = 0, previous = 0] = observed
      .timesOf(id)
      .filter((time, index, times) => time - (times[index - 1] ?? 0) > 500)
      .toReversed()
    return previous > 0 && last - previous > 4000
  })
  expect((await stats()).counters).toEqual({ dropped_messages: 1, heartbeat_failures: 0 })
})
