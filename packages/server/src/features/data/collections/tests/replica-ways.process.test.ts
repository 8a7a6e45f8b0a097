import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { type Standby, startStandby } from '../../../../../test/standby.ts'
import { createTestApp, type TestApp, type TestDatabase, userToken } from '../../../../../test/test-app.ts'
import {
  serveThrowAwayCluster,
  startThrowAwayCluster,
  type ThrowAwayCluster,
} from '../../../../../test/throw-away-cluster.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const setup = `
  create table note (id int primary key, body text, owner_id uuid default basalt.user_id());
  alter table note enable row level security;
  create policy own on note using (owner_id = basalt.user_id());
  create view served as select pg_is_in_recovery() as by_replica;
  grant select on served to basalt_anonymous, basalt_authenticated;
  grant select, insert on note to basalt_authenticated;
`
const token = userToken({ sub: alice })
const eventual = { 'x-read-consistency': 'eventual' }

let primary: ThrowAwayCluster
let standby: Standby
let database: TestDatabase

beforeAll(async () => {
  primary = await startThrowAwayCluster({ max_connections: '100' })
  await primary.sql('postgres', 'create database app')
  standby = await startStandby(primary, { settings: { max_connections: '100' } })
  database = databaseOn(primary)
  await using first = await createTestApp({ database })
  await first.sql(setup)
})

afterAll(async () => {
  await standby?.[Symbol.asyncDispose]()
  await primary?.[Symbol.asyncDispose]()
})

function databaseOn(cluster: ThrowAwayCluster): TestDatabase {
  return {
    url: `${cluster.url}/app`,
    sql: (text) => cluster.sql('app', text),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

const urlOf = (port: number, name = 'app') => `postgresql://postgres@127.0.0.1:${port}/${name}`

function open(config: Readonly<Record<string, string>>, on = database): Promise<TestApp> {
  return createTestApp({ database: on, config })
}

const replicaOf = (app: TestApp) => app.app.database.replicas?.list()[0]

/** Waits until the replica serves reads of an app. */
async function waitForReplica(app: TestApp): Promise<void> {
  await waitFor('a read on the replica', async () => {
    const { json } = await app.request('GET', '/api/collections/served', { token, headers: eventual })
    return json.items?.[0]?.by_replica === true
  })
}

/** Lists the logins of the standby's sessions. */
async function loginsOn({ sql }: ThrowAwayCluster): Promise<readonly string[]> {
  const rows = await sql<{ login: string }>(
    'postgres',
    `select distinct usename::text as login from pg_stat_activity where datname = 'app' order by 1`,
  )
  return rows.map(({ login }) => login)
}

describe('read replicas › ways to a replica', () => {
  test('log in there as database.gateway_url says', async () => {
    await primary.sql('app', `alter role basalt_gateway password 'of the gateway'`)
    const gateway = `postgresql://basalt_gateway:of%20the%20gateway@127.0.0.1:${primary.port}/app`
    await using app = await open({
      'database.gateway_url': gateway,
      'database.replica_urls': urlOf(standby.port),
    })
    await waitForReplica(app)
    expect(await loginsOn(standby)).toContain('basalt_gateway')
  })

  test('do not lead to another cluster, another database or another timeline', async () => {
    await using other = await serveThrowAwayCluster({}, async () => undefined)
    await other.sql('postgres', 'create database app')
    const urls = [urlOf(other.port), urlOf(standby.port, 'postgres'), urlOf(primary.port)]
    await using app = await open({ 'database.replica_urls': urls.join(',') })
    expect(app.app.database.replicas?.list().map(({ refusal }) => refusal)).toEqual([
      'it is a copy of another cluster (system identifier)',
      'its database is postgres, that of the primary app',
      'it is not a standby: it was promoted, or is the primary itself',
    ])
    const { json } = await app.request('GET', '/api/collections/served')
    expect(json.items).toEqual([{ by_replica: false }])
  })

  // This is the last test, because there is no way back.
  test('do not lead to a standby of the primary before a failover', async () => {
    await using left = await startStandby(primary, { settings: { max_connections: '100' } })
    await standby.promote()
    await using app = await open({ 'database.replica_urls': urlOf(left.port) }, databaseOn(standby))
    expect(replicaOf(app)?.refusal).toBe('it follows timeline 1, the primary is on 2')
    const written = await app.request('POST', '/api/collections/note', { token, body: { id: 300 } })
    const read = await app.request('GET', '/api/collections/note/300?fields=id', {
      token,
      headers: { ...eventual, 'x-basalt-position': written.headers.get('x-basalt-position') ?? '' },
    })
    expect([written.status, read.json]).toEqual([201, { id: 300 }])
  })
})
