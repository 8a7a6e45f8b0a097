import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBalancer } from '../../../../../test/balancer.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { startServer } from '../../../../../test/server-process.ts'
import { type Standby, startStandby } from '../../../../../test/standby.ts'
import { createTestApp, type TestApp, type TestDatabase, userToken } from '../../../../../test/test-app.ts'
import {
  serveThrowAwayCluster,
  startThrowAwayCluster,
  type ThrowAwayCluster,
} from '../../../../../test/throw-away-cluster.ts'
import { startTransactionPooler } from '../../../../../test/transaction-pooler.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWorkerAddresses } from '../../../../../test/worker-processes.ts'

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

  test('lead through a pooler, and reads there have the position that they require', async () => {
    const poolTo = ({ port }: ThrowAwayCluster) =>
      startTransactionPooler({ target: port, user: 'postgres', database: 'app', sessions: 3 })
    await using toPrimary = await poolTo(primary)
    await using toStandby = await poolTo(standby)
    await using app = await open({
      'database.url': urlOf(toPrimary.port),
      'database.replica_urls': urlOf(toStandby.port),
      'database.replica_wait_ms': '100',
    })
    await waitForReplica(app)
    expect(app.app.database.engine.isPooled).toBe(true)
    const reads = () => replicaOf(app)?.reads ?? 0
    const create = async (id: number) => {
      const body = { id, body: `note ${id}` }
      const { status, headers } = await app.request('POST', '/api/collections/note', { token, body })
      expect(status).toBe(201)
      return headers.get('x-basalt-position') ?? ''
    }
    const read = async (id: number, position: string, as = token) => {
      const headers = { 'x-basalt-position': position }
      const found = await app.request('GET', `/api/collections/note/${id}?fields=id,body`, {
        token: as,
        headers,
      })
      return found.status === 200 ? found.json : found.status
    }

    await standby.pause()
    const readsBefore = reads()
    const position = await create(100)
    expect(await read(100, position)).toEqual({ id: 100, body: 'note 100' })
    expect(reads()).toBe(readsBefore)
    await standby.resume()
    await waitFor('the replica to serve the position', async () => {
      expect(await read(100, position)).toEqual({ id: 100, body: 'note 100' })
      return reads() > readsBefore
    })
    expect(await read(100, position, userToken({ sub: bob }))).toBe(404)

    const ids = Array.from({ length: 30 }, (_, index) => 101 + index)
    const found = await Promise.all(ids.map(async (id) => await read(id, await create(id))))
    expect(found).toEqual(ids.map((id) => ({ id, body: `note ${id}` })))
    const { json } = await app.request('GET', '/api/collections/served/export.json', {
      token,
      headers: eventual,
    })
    expect(json).toEqual([{ by_replica: true }])
  })

  test('do not lead an export to a server that is no standby', async () => {
    await using balancer = await startBalancer(standby.port)
    await using app = await open({ 'database.replica_urls': urlOf(balancer.port) })
    await waitForReplica(app)
    const exported = async () =>
      (await app.request('GET', '/api/collections/served/export.json', { token, headers: eventual })).json
    const reads = () => replicaOf(app)?.reads ?? 0
    const before = reads()
    expect([await exported(), reads()]).toEqual([[{ by_replica: true }], before + 1])
    // The connection of the checks still leads to the standby.
    balancer.target = primary.port
    expect([await exported(), reads()]).toEqual([[{ by_replica: false }], before + 1])
    expect(app.app.database.replicas?.fallbacks.get('connection')).toBe(1)
  })

  test('lead a read to what another worker wrote', async () => {
    await standby.setDelay(50)
    await using server = await startServer({
      config: {
        'database.url': urlOf(primary.port),
        'database.replica_urls': urlOf(standby.port),
        'database.replica_wait_ms': '1000',
        'server.workers': '2',
      },
    })
    await using workers = await openWorkerAddresses(server)
    const [writer = '', reader = ''] = workers.urls
    const send = async (url: string, headers: Readonly<Record<string, string>>, body?: object) => {
      const response = await fetch(url, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
      const position = { 'x-basalt-position': response.headers.get('x-basalt-position') ?? '' }
      // biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
      const json: any = await response.json()
      return { status: response.status, json, position }
    }
    const isByReplica = async (headers: Readonly<Record<string, string>>) => {
      const { json } = await send(`${reader}/api/collections/served`, headers)
      return json.items?.[0]?.by_replica === true
    }
    await waitFor('a read on the replica', () => isByReplica(eventual))
    let last: Readonly<Record<string, string>> = {}
    for (let id = 200; id < 220; id += 1) {
      const created = await send(`${writer}/api/collections/note`, {}, { id })
      last = created.position
      const read = await send(`${reader}/api/collections/note/${id}?fields=id`, last)
      expect([created.status, read.status, read.json]).toEqual([201, 200, { id }])
    }
    await waitFor('the replica to serve the last position', () => isByReplica(last))
    await standby.setDelay(0)
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
