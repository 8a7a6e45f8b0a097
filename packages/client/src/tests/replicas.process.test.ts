import { expect, test } from 'vitest'
import { alice } from '../../../server/test/fixtures.ts'
import { startStandby } from '../../../server/test/standby.ts'
import { createTestApp, type TestDatabase, userToken } from '../../../server/test/test-app.ts'
import { startThrowAwayCluster } from '../../../server/test/throw-away-cluster.ts'
import { waitFor } from '../../../server/test/wait-for.ts'
import { createClient } from '../index.ts'

interface Database {
  tables: {
    entry: {
      Row: { id: number; title: string }
      Insert: { title: string }
      Update: { title?: string }
      Key: [number]
      Relations: Record<never, never>
    }
  }
  enums: Record<never, never>
  procedures: Record<never, never>
}

test('client › reads its own writes from a server whose replica lags', async () => {
  await using primary = await startThrowAwayCluster({ max_connections: '100' })
  await primary.sql('postgres', 'create database app')
  await using standby = await startStandby(primary, { settings: { max_connections: '100' } })
  const database: TestDatabase = {
    url: `${primary.url}/app`,
    sql: (text) => primary.sql('app', text),
    [Symbol.asyncDispose]: async () => undefined,
  }
  await using app = await createTestApp({
    database,
    setup: `
      create table entry (id int primary key generated always as identity, title text not null);
      alter table entry enable row level security;
      create policy every on entry using (true)`,
    config: { 'database.replica_urls': `${standby.url}/app`, 'database.replica_wait_ms': '200' },
  })
  const client = createClient<Database>({ url: app.url, auth: userToken({ sub: alice }) })
  const entries = client.from('entry')
  const replica = () => app.app.database.replicas?.list()[0]
  const reads = () => replica()?.reads ?? 0
  await waitFor('the replica', () => replica()?.refusal === undefined)

  // The replica does not have it, so the primary serves the read.
  await standby.pause()
  const first = await entries.create({ title: 'first' })
  expect(await entries.one(first.id)).toEqual(first)
  expect(reads()).toBe(0)
  await standby.resume()
  await waitFor('reads of the replica', async () => {
    expect(await entries.one(first.id)).toEqual(first)
    return reads() > 0
  })

  await standby.setDelay(50)
  for (let turn = 0; turn < 20; turn += 1) {
    const { id } = await entries.create({ title: `entry ${turn}` })
    expect(await entries.update(id, { title: `changed ${turn}` })).toEqual({ id, title: `changed ${turn}` })
    expect(await entries.one(id)).toEqual({ id, title: `changed ${turn}` })
  }
})
