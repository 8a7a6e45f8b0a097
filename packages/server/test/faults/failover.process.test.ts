import { connect, createServer, type Server } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { countKeys, startNodes, startPair } from '../failover.ts'
import { alice } from '../fixtures.ts'
import { contradictions, type History, type Load, startLoad } from '../load.ts'
import { sendRequest } from '../send-request.ts'
import type { ServerProcess } from '../server-process.ts'
import { userToken } from '../test-app.ts'
import { waitFor } from '../wait-for.ts'

const token = userToken({ sub: alice })
const cleanUp: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of cleanUp.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

function loadOf(nodes: readonly ServerProcess[], prefix: string): Load {
  return startLoad({ urls: nodes.map(({ url }) => url), token, clients: 4, prefix })
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

/** Returns true if all processes of a node have left the former primary. */
function hasLeft(node: ServerProcess, workers = 1): boolean {
  return node.log().filter(({ msg }) => msg === 'the primary has changed').length >= workers
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
    const { first, second, url } = await startPair(true, cleanUp)
    const nodes = await startNodes(url, cleanUp)
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
    const { first, second, url } = await startPair(false, cleanUp)
    const nodes = await startNodes(url, cleanUp, { workers: 2 })
    const load = loadOf(nodes, 'both')
    await moreWrites(load)
    await second.promote()
    await waitFor('the nodes to leave', () => nodes.every((node) => hasLeft(node, 2)))
    expectNoFaults(await load.stop(), nodes)

    const next = loadOf(nodes, 'new')
    await moreWrites(next)
    const history = await next.stop()
    expectNoFaults(history, nodes)
    expect(contradictions(history, await countKeys(second))).toEqual([])
    expect([...(await countKeys(first)).keys()].filter((key) => key.startsWith('new-'))).toEqual([])
  })

  test('leaves a former primary that became read-only, with its sessions still open', async () => {
    const { first, second, url } = await startPair(true, cleanUp)
    const nodes = await startNodes(url, cleanUp)
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
    expect(nodes.map((node) => hasLeft(node))).toEqual([true, true])
    expect(contradictions(history, await countKeys(second))).toEqual([])
  })

  test('leaves connections that a balancer keeps open to a former primary', async () => {
    const { first, second } = await startPair(true, cleanUp)
    const balancer = await startBalancer(first.port)
    cleanUp.push(balancer)
    const nodes = await startNodes(`postgresql://postgres@127.0.0.1:${balancer.port}/shop`, cleanUp)
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
    expect(nodes.map((node) => hasLeft(node))).toEqual([true, true])
    expect(contradictions(history, await countKeys(second))).toEqual([])
  })
})
