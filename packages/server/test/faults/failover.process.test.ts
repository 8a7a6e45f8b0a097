import { existsSync } from 'node:fs'
import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { startBalancer } from '../balancer.ts'
import { countKeys, type Pair, startNodes, startPair } from '../failover.ts'
import { alice } from '../fixtures.ts'
import { contradictions, type History, type Load, startLoad } from '../load.ts'
import { pgbouncer, startPgBouncer } from '../pgbouncer.ts'
import { startReceiver } from '../receiver.ts'
import { sendRequest } from '../send-request.ts'
import type { ServerProcess } from '../server-process.ts'
import { followAsStandby } from '../standby.ts'
import { createTcpProxy } from '../tcp-proxy.ts'
import { userToken } from '../test-app.ts'
import { testAdminPassword } from '../test-config.ts'
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
  expect(history.rejected).toEqual([])
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

/** Adds a webhook for creates, and a schedule that is not due. @returns the id of the schedule */
async function addWebhookAndSchedule(node: string, receiver: string): Promise<string> {
  const login = await sendRequest('POST', `${node}/api/admin/auth`, { body: { password: testAdminPassword } })
  const create = async (path: string, body: object) => {
    const { status, json } = await sendRequest('POST', `${node}/api/${path}`, {
      token: login.json.token,
      body,
    })
    expect(status).toBe(201)
    return json
  }
  await create('webhooks', { url: receiver, tables: ['item'], events: ['create'] })
  const schedule = { name: 'probe', jobType: 'realtime_cleanup', cronExpr: '0 0 1 1 *' }
  return (await create('admin/schedules', schedule)).id
}

describe('faults › failover', () => {
  test('loses no acknowledged write, event or run of a schedule when a synchronous primary is killed', async () => {
    const { first, second, url } = await startPair(true, cleanUp)
    const nodes = await startNodes(url, cleanUp)
    const receiver = await startReceiver()
    cleanUp.push(receiver)
    const schedule = await addWebhookAndSchedule(nodes[0]?.url ?? '', receiver.url)
    const load = loadOf(nodes, 'killed')
    await moreWrites(load)

    await first.sql('shop', `update basalt.schedules set next_run_at = now() where id = '${schedule}'`)
    await first.stop('immediate')
    await waitFor('writes to be refused', () => load.count(503) > 5)
    await second.promote()
    await moreWrites(load)
    const history = await load.stop()
    expectNoFaults(history, nodes)
    expect(contradictions(history, await countKeys(second))).toEqual([])
    const runs = () =>
      second.sql('shop', `select state from basalt.jobs where schedule_id = '${schedule}' order by state`)
    await waitFor('the run of the schedule', async () =>
      (await runs()).some(({ state }) => state === 'completed'),
    )
    expect(await runs()).toEqual([{ state: 'completed' }])
    const created = [...history.creates].filter(([, fate]) => fate === 'acknowledged').map(([key]) => key)
    const isDelivered = (key: string) => receiver.received.some(({ json }) => json.record.key === key)
    await waitFor('the deliveries', () => created.every(isDelivered))
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

  describe.skipIf(!existsSync(pgbouncer))(
    `behind PgBouncer${existsSync(pgbouncer) ? '' : ' (skipped: PgBouncer is not installed)'}`,
    () => {
      /** Starts two nodes behind PgBouncer, which reaches the primary through a balancer. */
      async function startPooled({ first }: Pair, settings: Readonly<Record<string, string>>) {
        const balancer = await startBalancer(first.port)
        cleanUp.push(balancer)
        const pooler = await startPgBouncer(
          new URL(`postgresql://postgres@127.0.0.1:${balancer.port}/shop`),
          { sessions: 10, settings: { server_login_retry: '1', ...settings } },
        )
        cleanUp.push(pooler)
        const url = `postgresql://postgres@127.0.0.1:${pooler.port}/shop`
        return { balancer, nodes: await startNodes(url, cleanUp), url }
      }

      test('finds the new primary when the former one is killed', async () => {
        const pair = await startPair(true, cleanUp)
        const { first, second } = pair
        const { balancer, nodes } = await startPooled(pair, {})
        const load = loadOf(nodes, 'pooled')
        await moreWrites(load)
        await first.stop('immediate')
        await waitFor('writes to be refused', () => load.count(503) > 5)
        await second.promote()
        balancer.target = second.port
        await moreWrites(load)
        const history = await load.stop()
        expectNoFaults(history, nodes)
        expect(contradictions(history, await countKeys(second))).toEqual([])
      })

      test('leaves a former primary that is read-only, without being a standby', async () => {
        const pair = await startPair(false, cleanUp)
        const { first, second } = pair
        const { balancer, nodes } = await startPooled(pair, { server_lifetime: '5' })
        const load = loadOf(nodes, 'read only')
        await moreWrites(load)
        await first.sql('postgres', 'alter system set default_transaction_read_only = on')
        await first.sql('postgres', 'select pg_reload_conf()')
        await waitFor('writes to be refused', () => load.count(503) > 5)
        await waitFor('the standby', () => second.hasCaughtUp())
        await second.promote()
        await second.sql('shop', `update item set counter = 77 where id = 7`)
        balancer.target = second.port
        await moreWrites(load)
        for (const node of nodes) {
          const { json } = await sendRequest('GET', `${node.url}/api/collections/item/7?fields=counter`, {
            token,
          })
          expect(json).toEqual({ counter: 77 })
        }
        const history = await load.stop()
        expectNoFaults(history, nodes)
        expect(contradictions(history, await countKeys(second))).toEqual([])
      })

      test('neither reads nor writes by a former primary that became a standby', async () => {
        const pair = await startPair(false, cleanUp)
        const { first, second } = pair
        const { balancer, nodes, url } = await startPooled(pair, { server_lifetime: '5' })
        const load = loadOf(nodes, 'switched')
        await moreWrites(load)
        await first.stop('fast')
        await second.promote()
        const standby = await followAsStandby(first, second)
        await waitFor('the standby', () => standby.hasCaughtUp())
        await standby.pause()
        await second.sql('shop', `update item set counter = 77 where id = 7`)

        await waitFor('PgBouncer to lead to it', async () => {
          const client = new pg.Client({ connectionString: url })
          client.on('error', () => undefined)
          try {
            await client.connect()
            const { rows } = await client.query('select pg_is_in_recovery() as is_standby')
            return rows[0].is_standby === true
          } catch {
            return false
          } finally {
            await client.end().catch(() => undefined)
          }
        })
        const read = (node: ServerProcess) =>
          sendRequest('GET', `${node.url}/api/collections/item/7?fields=counter`, { token })
        for (const node of nodes) {
          const written = await sendRequest('POST', `${node.url}/api/collections/item`, {
            token,
            body: { key: 'rejected' },
          })
          expect([written.status, written.headers['retry-after']]).toEqual([
            503,
            expect.stringMatching(/^\d+$/),
          ])
          await waitFor('reads to be refused', async () => (await read(node)).status === 503)
          for (let turn = 0; turn < 20; turn += 1) expect((await read(node)).status).toBe(503)
        }

        balancer.target = second.port
        await moreWrites(load)
        for (const node of nodes) expect((await read(node)).json).toEqual({ counter: 77 })
        const history = await load.stop()
        expectNoFaults(history, nodes)
        expect(contradictions(history, await countKeys(second))).toEqual([])
      })
    },
  )

  test('leaves a primary whose packets get lost, with several hosts in every URL', async () => {
    const { first, second } = await startPair(true, cleanUp)
    const proxy = await createTcpProxy(first.port)
    cleanUp.push(proxy)
    const urlOf = (user: string, ports: readonly number[]) =>
      `postgresql://${user}@${ports.map((port) => `127.0.0.1:${port}`).join()}/shop?target_session_attrs=read-write`
    const nodes = await startNodes(urlOf('postgres', [proxy.port, second.port]), cleanUp, {
      config: {
        'database.gateway_url': urlOf('basalt_gateway', [second.port, proxy.port]),
        'database.listen_url': urlOf('postgres', [second.port, proxy.port]),
      },
    })
    const load = loadOf(nodes, 'vanished')
    await moreWrites(load)
    proxy.freeze()
    await second.promote()
    await moreWrites(load)
    const history = await load.stop()
    expectNoFaults(history, nodes)
    expect(contradictions(history, await countKeys(second))).toEqual([])
    for (const node of nodes) {
      await waitFor('notifications by the new primary', () =>
        node.log().some(({ msg }) => msg === 'receiving notifications of the database again'),
      )
    }
  })

  test('acknowledges no write whose wait for a synchronous standby was canceled', async () => {
    const { first, second, url } = await startPair(true, cleanUp)
    const [node] = await startNodes(url, cleanUp, { count: 1 })
    if (node === undefined) throw new Error('no node')
    const create = (key: string, signal?: AbortSignal) =>
      sendRequest('POST', `${node.url}/api/collections/item`, {
        token,
        body: { key },
        ...(signal === undefined ? {} : { signal }),
      })
    // Writes of the node itself wait, too, on other connections.
    const waiting = `select pid from pg_stat_activity where wait_event = 'SyncRep' and usename = 'basalt_gateway'`
    const waitsForStandby = async () => (await first.sql('shop', waiting)).length === 1
    await second.stop('fast')

    const canceled = create('canceled')
    await waitFor('the wait for the standby', waitsForStandby)
    await first.sql('shop', `select pg_cancel_backend(pid) from (${waiting}) as backend`)
    const { status, headers, json } = await canceled
    expect({ status, retry: headers['retry-after'], json }).toEqual({
      status: 503,
      retry: '1',
      json: {
        code: 503,
        message: 'the database is unavailable',
        error: 'database_unavailable',
        doc_url: expect.stringMatching(/\/docs\/errors\/database_unavailable$/),
      },
    })

    // A client that disconnects ends no wait. Otherwise the row would be visible, and a failover could lose it.
    const client = new AbortController()
    const abandoned = create('abandoned', client.signal).catch(() => 'disconnected')
    await waitFor('the wait for the standby', waitsForStandby)
    client.abort()
    expect(await abandoned).toBe('disconnected')
    await waitFor('the cancellation', async () => {
      const query = `select from pg_stat_activity where query like '%pg_cancel_backend%' and application_name = 'basalt start' and pid <> pg_backend_pid()`
      return (await first.sql('shop', query)).length > 0
    })
    expect(await waitsForStandby()).toBe(true)
    expect((await countKeys(first)).has('abandoned')).toBe(false)

    await second.start()
    expect((await create('confirmed')).status).toBe(201)
    await waitFor('the standby', () => second.hasCaughtUp())
    const present = await countKeys(second)
    expect(['canceled', 'abandoned', 'confirmed'].map((key) => present.get(key))).toEqual([1, 1, 1])
  })
})
