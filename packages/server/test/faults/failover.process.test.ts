import { connect, createServer, type Server } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { openEventStream } from '../event-stream.ts'
import { alice } from '../fixtures.ts'
import { contradictions, type History, type Load, loadTable, startLoad } from '../load.ts'
import { sendRequest } from '../send-request.ts'
import { type ServerProcess, startServer } from '../server-process.ts'
import { type Standby, startStandby } from '../standby.ts'
import { userToken } from '../test-app.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'

const token = userToken({ sub: alice })
const cleanUp: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of cleanUp.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

/** Primary with the table of the load, and a standby. */
interface Pair {
  readonly first: ThrowAwayCluster
  readonly second: Standby
  /** URL that names both. */
  readonly url: string
}

async function startPair(isSynchronous: boolean): Promise<Pair> {
  const first = await startThrowAwayCluster()
  cleanUp.push(first)
  await first.sql('postgres', 'create database shop')
  await first.sql('shop', loadTable)
  const second = await startStandby(first)
  cleanUp.push(second)
  await waitFor('the standby', () => second.hasCaughtUp())
  if (isSynchronous) {
    await first.sql('postgres', `alter system set synchronous_standby_names = '*'`)
    await first.sql('postgres', 'select pg_reload_conf()')
    await waitFor('synchronous replication', async () => {
      const found = await first.sql('postgres', `select from pg_stat_replication where sync_state = 'sync'`)
      return found.length === 1
    })
  }
  const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}`
  return { first, second, url: `postgresql://postgres@${hosts}/shop?target_session_attrs=read-write` }
}

async function startNodes(url: string, count = 2): Promise<readonly ServerProcess[]> {
  const nodes = await Promise.all(
    Array.from({ length: count }, () => startServer({ config: { 'database.url': url } })),
  )
  cleanUp.push(...nodes)
  return nodes
}

function loadOf(nodes: readonly ServerProcess[], prefix: string): Load {
  return startLoad({ urls: nodes.map(({ url }) => url), token, clients: 4, prefix })
}

async function countKeys(cluster: ThrowAwayCluster): Promise<ReadonlyMap<string, number>> {
  const query = 'select key, count(*)::int as count from item group by key'
  const rows = await cluster.sql<{ key: string; count: number }>('shop', query)
  return new Map(rows.map(({ key, count }) => [key, count]))
}

async function moreWrites(load: Load, count = 40): Promise<void> {
  const before = load.count(201)
  await waitFor('writes to succeed', () => load.count(201) > before + count)
}

/** Expects that clients have received nothing but results and 503 with the time to wait. */
function expectNoFaults(history: History, nodes: readonly ServerProcess[]): void {
  expect(history.malformed).toEqual([])
  expect([...history.failures]).toEqual([])
  expect([...history.statuses.keys()].filter((status) => ![200, 201, 503].includes(status))).toEqual([])
  for (const node of nodes) {
    expect(node.log().filter(({ kind }) => kind === 'internal_error')).toEqual([])
    expect(node.output()).not.toMatch(/unhandled|uncaught/i)
  }
}

function hasLeft(node: ServerProcess): boolean {
  return node.log().some(({ msg }) => msg === 'the primary has changed')
}

/** Starts a port that forwards new connections to a server of choice. Open connections stay where they are, as in a balancer. */
async function startBalancer(
  target: number,
): Promise<{ readonly port: number; target: number } & AsyncDisposable> {
  let current = target
  const server: Server = createServer((client) => {
    const upstream = connect(current, '127.0.0.1')
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the balancer has no port')
  return {
    port: address.port,
    get target() {
      return current
    },
    set target(port) {
      current = port
    },
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}

describe('faults › failover', () => {
  test('loses no acknowledged write when a primary with synchronous replication is killed', async () => {
    const { first, second, url } = await startPair(true)
    const nodes = await startNodes(url)
    const load = loadOf(nodes, 'killed')
    await moreWrites(load)

    await first.stop('immediate')
    await waitFor('writes to be refused', () => load.count(503) > 5)
    await second.promote()
    await moreWrites(load)
    const history = await load.stop()
    expectNoFaults(history, nodes)
    expect(contradictions(history, await countKeys(second))).toEqual([])
    for (const node of nodes) {
      expect((await sendRequest('GET', `${node.url}/health`)).json).toEqual({ status: 'ok', database: 'ok' })
    }
  })

  test('leaves a former primary that still works, and acknowledges no further write by it', async () => {
    const { first, second, url } = await startPair(false)
    const nodes = await startNodes(url)
    const load = loadOf(nodes, 'both')
    await moreWrites(load)
    await second.promote()
    await waitFor('the nodes to leave', () => nodes.every(hasLeft))
    expectNoFaults(await load.stop(), nodes)

    const next = loadOf(nodes, 'new')
    await moreWrites(next)
    const history = await next.stop()
    expectNoFaults(history, nodes)
    expect(contradictions(history, await countKeys(second))).toEqual([])
    expect([...(await countKeys(first)).keys()].filter((key) => key.startsWith('new-'))).toEqual([])
  })

  test('leaves a former primary that became read-only, with its sessions still open', async () => {
    const { first, second, url } = await startPair(true)
    const nodes = await startNodes(url)
    const load = loadOf(nodes, 'read-only')
    await moreWrites(load)
    await first.sql('postgres', 'alter system set default_transaction_read_only = on')
    await first.sql('postgres', 'select pg_reload_conf()')
    await waitFor('writes to be refused', () => load.count(503) > 5)
    const readsBefore = load.count(200)
    await waitFor('reads to succeed', () => load.count(200) > readsBefore + 20)
    await second.promote()
    await moreWrites(load)
    const history = await load.stop()
    expectNoFaults(history, nodes)
    expect(nodes.map(hasLeft)).toEqual([true, true])
    expect(contradictions(history, await countKeys(second))).toEqual([])
  })

  test('leaves connections that a balancer keeps open to a former primary', async () => {
    const { first, second } = await startPair(true)
    const balancer = await startBalancer(first.port)
    cleanUp.push(balancer)
    const nodes = await startNodes(`postgresql://postgres@127.0.0.1:${balancer.port}/shop`)
    const load = loadOf(nodes, 'kept')
    await moreWrites(load)
    await first.sql('postgres', 'alter system set default_transaction_read_only = on')
    await first.sql('postgres', 'select pg_reload_conf()')
    await waitFor('writes to be refused', () => load.count(503) > 5)
    await second.promote()
    balancer.target = second.port
    await moreWrites(load)
    const history = await load.stop()
    expectNoFaults(history, nodes)
    expect(nodes.map(hasLeft)).toEqual([true, true])
    expect(contradictions(history, await countKeys(second))).toEqual([])
  })
})

describe('faults › failover › a lost timeline', () => {
  test('gives streams and their event ids a gap, however many transactions the new one has made', async () => {
    const { first, second, url } = await startPair(false)
    const [node] = await startNodes(url, 1)
    if (node === undefined) throw new Error('no node')
    const create = (key: string) =>
      sendRequest('POST', `${node.url}/api/collections/item`, { token, body: { key } })
    const open = (lastEventId?: string) => openEventStream(node.url, 'tables=item', { token, lastEventId })
    await using stream = await open()
    await stream.next(0)
    expect((await create('kept')).status).toBe(201)
    await waitFor('the event', () => stream.messages.length === 1)
    await waitFor('the standby', () => second.hasCaughtUp())

    await second.sql('postgres', `alter system set primary_conninfo = ''`)
    await second.sql('postgres', 'select pg_reload_conf()')
    await waitFor('the end of the replication', async () => {
      return (await first.sql('postgres', 'select from pg_stat_replication')).length === 0
    })
    expect((await create('lost')).status).toBe(201)
    await waitFor('the event', () => stream.messages.length === 2)
    const lost = stream.lastEventId
    await first.stop('immediate')
    await second.promote()
    // Its transaction numbers pass those of the lost timeline before any node reads its log.
    for (let count = 0; count < 30; count += 1) await second.sql('shop', 'select pg_current_xact_id()')

    await waitFor('a write', async () => (await create('new')).status === 201)
    await stream.named('gap')
    await using resumed = await open(lost)
    await resumed.named('gap')
    expect((await create('newer')).status).toBe(201)
    await waitFor('the event', () => resumed.messages.length === 1)
    expect([...(await countKeys(second)).keys()].filter((key) => !key.startsWith('seed-')).sort()).toEqual([
      'kept',
      'new',
      'newer',
    ])
  })
})
