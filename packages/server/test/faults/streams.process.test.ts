import { afterAll, beforeAll, expect, test } from 'vitest'
import { alice } from '../fixtures.ts'
import { startLoad } from '../load.ts'
import { followStream, type ResumingStream } from '../resuming-stream.ts'
import { type ServerProcess, startServer } from '../server-process.ts'
import { userToken } from '../test-app.ts'
import { findFreePort, startThrowAwayCluster, type ThrowAwayCluster } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'

const token = userToken({ sub: alice })
let cluster: ThrowAwayCluster

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create role basalt login createrole')
  await cluster.sql('postgres', 'create database shop owner basalt')
  await cluster.sql(
    'shop',
    `create table item (id bigint generated always as identity primary key, key text, counter int);
    alter table item enable row level security;
    create policy everything on item using (current_setting('basalt.user_id', true) <> '') with check (true)`,
    'basalt',
  )
})
afterAll(() => cluster[Symbol.asyncDispose]())

function start(port: number): Promise<ServerProcess> {
  return startServer({
    config: {
      'database.url': `postgresql://basalt@127.0.0.1:${cluster.port}/shop`,
      'server.port': String(port),
    },
  })
}

/** Returns keys in the order in which the stream received them. */
function createdKeys({ events }: ResumingStream): readonly string[] {
  return events
    .filter(({ name, data }) => name === 'message' && data.action === 'create')
    .map(({ data }) => data.record.key)
}

test('realtime › after killed nodes and a restarted Postgres, every resumed stream receives every acknowledged write once', async () => {
  const ports = [await findFreePort(), await findFreePort()] as const
  const nodes = [await start(ports[0]), await start(ports[1])]
  const urls = () => nodes.map(({ url }) => url).filter((url) => url !== '')
  const streams = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      // Every second stream has a user of its own, so that not all are decided together.
      followStream(
        urls,
        'tables=item',
        n % 2 === 0 ? token : userToken({ sub: alice, email: `${n}@example.com` }),
      ),
    ),
  )
  const load = startLoad({ urls: urls(), token, clients: 6 })
  const watched = streams[0] as ResumingStream
  const waitForMore = async () => {
    const before = createdKeys(watched).length
    await waitFor('more events', () => createdKeys(watched).length > before + 50)
  }
  for (let round = 0; round < 4; round += 1) {
    await waitForMore()
    const index = round % 2
    await nodes[index]?.stop('SIGKILL')
    if (round === 2) {
      await cluster.stop('immediate')
      await cluster.start()
    }
    nodes[index] = await start(ports[index] ?? 0)
  }
  await waitForMore()
  const { creates } = await load.stop()
  const acknowledged = [...creates].filter(([, fate]) => fate === 'acknowledged').map(([key]) => key)
  expect(acknowledged.length).toBeGreaterThan(200)
  const present = await cluster.sql<{ key: string }>('shop', 'select key from item')
  const there = present.map(({ key }) => key).sort()
  expect(acknowledged.filter((key) => !there.includes(key))).toEqual([])
  for (const stream of streams) {
    await waitFor('all events', () => createdKeys(stream).length >= there.length)
    expect(createdKeys(stream).toSorted()).toEqual(there)
    // It may begin with one, as the first stream of a table.
    const [, ...later] = stream.events.map(({ name }) => name).filter((name) => name !== 'connected')
    expect(later).not.toContain('gap')
  }
  expect(Math.max(...streams.map(({ connections }) => connections))).toBeGreaterThan(1)
  await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()))
  const endings = await Promise.all(nodes.map((node) => node.stop()))
  expect(endings).toEqual(nodes.map(() => ({ code: 0, signal: null })))
})
