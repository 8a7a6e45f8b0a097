import { afterAll, beforeAll, expect, test } from 'vitest'
import { alice } from '../fixtures.ts'
import { startLoad } from '../load.ts'
import { followStream, type ResumingStream } from '../resuming-stream.ts'
import { userToken } from '../test-app.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'
import { fleets, replacements } from './fleet.ts'

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

/** Returns keys in the order in which the stream received them. */
function createdKeys({ events }: ResumingStream): readonly string[] {
  return events
    .filter(({ name, data }) => name === 'message' && data.action === 'create')
    .map(({ data }) => data.record.key)
}

test.each(fleets)(
  'realtime › %s › deliver every acknowledged write once to resumed streams after kills and a restart of Postgres',
  async (_, startFleet) => {
    await cluster.sql('shop', 'truncate item', 'basalt')
    const config = { 'database.url': `postgresql://basalt@127.0.0.1:${cluster.port}/shop` }
    await using fleet = await startFleet(config)
    const { urls } = fleet
    const streams = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        // Every second stream has a user of its own, so that not all are decided together.
        followStream(
          () => urls,
          'tables=item',
          n % 2 === 0 ? token : userToken({ sub: alice, email: `${n}@example.com` }),
        ),
      ),
    )
    const load = startLoad({ urls, token, clients: 6 })
    const watched = streams[0] as ResumingStream
    const waitForMore = async () => {
      const before = createdKeys(watched).length
      await waitFor('more events', () => createdKeys(watched).length > before + 50)
    }
    for (let round = 0; round < replacements; round += 1) {
      await waitForMore()
      await fleet.replaceNext()
      if (round === 2) {
        await cluster.stop('immediate')
        await cluster.start()
      }
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
    for (const ending of await fleet.stop()) expect(ending).toEqual({ code: 0, signal: null })
  },
  300_000,
)
