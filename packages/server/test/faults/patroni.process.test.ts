import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../fixtures.ts'
import { contradictions, type History, type Load, loadTable, startLoad } from '../load.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { sendRequest } from '../send-request.ts'
import { type ServerProcess, startServer } from '../server-process.ts'
import { userToken } from '../test-app.ts'
import { testAdminPassword } from '../test-config.ts'
import { waitFor } from '../wait-for.ts'
import {
  findMissingPrograms,
  type Member,
  type PatroniCluster,
  startPatroniCluster,
} from './patroni-cluster.ts'
import { startBeats, WriteTimes } from './patroni-write-times.ts'

/** Number of switchovers. Half as many primaries are killed in each way. */
const rounds = Number(process.env.BASALT_TEST_PATRONI ?? 0)
const missing = findMissingPrograms()
const reason =
  rounds === 0
    ? 'BASALT_TEST_PATRONI is not set'
    : missing.length > 0
      ? `not installed: ${missing.join()}`
      : ''
const token = userToken({ sub: alice })
/** Pause of each of four clients, so that they leave the machine to the servers. */
const pauseMs = 20
const changeMs = 180_000

describe.skipIf(reason !== '')(
  `faults › Patroni, etcd and HAProxy${reason && ` (skipped: ${reason})`}`,
  () => {
    let cluster: PatroniCluster
    let receiver: Receiver
    /** Nodes, of which the first one uses several hosts and the second one HAProxy. */
    let nodes: readonly ServerProcess[]
    let admin: string

    beforeAll(async () => {
      cluster = await startPatroniCluster()
      const { port } = await cluster.settled()
      await cluster.sql(port, 'postgres', 'create role basalt login createrole')
      await cluster.sql(port, 'postgres', 'create database shop owner basalt')
      await cluster.sql(port, 'shop', `set role basalt; ${loadTable}`)
      receiver = await startReceiver()
      const several = await startNode(hostsOf(cluster.members), {
        'database.listen_url': urlOf(hostsOf(cluster.members.toReversed())),
        'database.gateway_url': urlOf(hostsOf(cluster.members.toReversed()), 'basalt_gateway'),
      })
      nodes = [several, await startNode(`127.0.0.1:${cluster.balancerPort}`)]
      const credentials = { password: testAdminPassword }
      admin = (await sendRequest('POST', `${several.url}/api/admin/auth`, { body: credentials })).json.token
      const webhook = { url: receiver.url, tables: ['item'], events: ['create'] }
      const created = await sendRequest('POST', `${several.url}/api/webhooks`, {
        token: admin,
        body: webhook,
      })
      expect(created.status).toBe(201)
    }, changeMs)
    afterAll(async () => {
      for (const node of nodes ?? []) await node[Symbol.asyncDispose]()
      await receiver?.[Symbol.asyncDispose]()
      await cluster?.[Symbol.asyncDispose]()
    }, changeMs)

    function startNode(hosts: string, config: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
      return startServer({ config: { 'database.url': urlOf(hosts), ...config } })
    }

    async function sql<Row extends Record<string, unknown>>(text: string): Promise<Row[]> {
      const { port } = await cluster.settled()
      return await cluster.sql<Row>(port, 'shop', text)
    }

    async function countKeys(): Promise<ReadonlyMap<string, number>> {
      const rows = await sql<{ key: string; count: number }>(
        'select key, count(*)::int as count from item group by key',
      )
      return new Map(rows.map(({ key, count }) => [key, count]))
    }

    async function waitForNoWork(): Promise<void> {
      await waitFor(
        'all events to be delivered',
        async () => {
          const [found] = await sql(`
          select not exists (
              select from basalt.outbox o, basalt.event_cursors c
              where not pg_visible_in_snapshot(o.transaction_id, c.passed)
            ) and not exists (select from basalt.webhook_queue) as is_done`)
          return found?.is_done === true
        },
        changeMs,
      )
    }

    test(
      'lose no acknowledged write, event or run of a schedule in switchovers and when primaries are killed',
      async () => {
        const writes = new WriteTimes(['PostgreSQL itself', 'several hosts', 'HAProxy'])
        await using _beats = await startBeats(cluster, await cluster.settled(), () =>
          writes.note('PostgreSQL itself'),
        )
        const load = startLoad({
          ...{ urls: nodes.map(({ url }) => url), token, clients: 4, prefix: 'changes', pauseMs },
          onReply({ url, method, status }) {
            if (method !== 'GET' && status < 300)
              writes.note(url === nodes[0]?.url ? 'several hosts' : 'HAProxy')
          },
        })
        const schedule = await sendRequest('POST', `${nodes[0]?.url}/api/admin/schedules`, {
          token: admin,
          body: { name: 'probe', jobType: 'realtime_cleanup', cronExpr: '0 0 1 1 *' },
        })
        expect(schedule.status).toBe(201)
        await moreWrites(load)
        const kills = Math.ceil(rounds / 2)
        const changes: readonly (readonly [kind: string, count: number, change: () => Promise<Member>])[] = [
          ['switchover', rounds, () => cluster.switchOver()],
          ['kill -9 of PostgreSQL', kills, () => cluster.killPostgres()],
          ['kill -9 of PostgreSQL and Patroni', kills, () => cluster.killServer()],
        ]
        let count = 0
        for (const [kind, times, change] of changes) {
          for (let round = 0; round < times; round += 1) {
            // A run is due while the primary changes.
            await sql(`update basalt.schedules set next_run_at = now() where name = 'probe'`)
            const begin = performance.now()
            await change()
            await moreWrites(load)
            await cluster.settled()
            await moreWrites(load)
            writes.closeWindow(kind, begin)
            count += 1
          }
        }
        const history = await load.stop()
        for (const line of writes.report()) process.stdout.write(`${line}\n`)
        process.stdout.write(`responses by status: ${JSON.stringify([...history.statuses])}\n`)
        expectNoFaults(history, nodes)
        expect(contradictions(history, await countKeys())).toEqual([])

        await waitForNoWork()
        const delivered = new Set(receiver.received.map(({ json }) => json.record.key))
        const created = [...history.creates].filter(([, fate]) => fate === 'acknowledged')
        expect(created.filter(([key]) => !delivered.has(key))).toEqual([])
        await waitFor('the jobs to end', async () => {
          const query = `select from basalt.jobs where schedule_id = '${schedule.json.id}' and finished_at is null`
          return (await sql(query)).length === 0
        })
        const runs = await sql<{ state: string; count: number }>(
          `select state, count(*)::int from basalt.jobs where schedule_id = '${schedule.json.id}' group by state`,
        )
        expect(runs).toEqual([{ state: 'completed', count }])
      },
      60_000 + rounds * 3 * changeMs,
    )

    test(
      'reject writes with 503 and Retry-After while etcd has no quorum, and recover',
      async () => {
        await cluster.settled()
        const load = loadOf(nodes, 'quorum')
        await moreWrites(load)
        await cluster.loseQuorum()
        await stalled(load)
        const replies = await Promise.all(
          nodes.map(({ url }) =>
            sendRequest('POST', `${url}/api/collections/item`, { token, body: { key: 'none' } }),
          ),
        )
        for (const { status, headers, json } of replies) {
          expect(headers['retry-after']).toMatch(/^\d+$/)
          expect({ status, json }).toEqual({
            status: 503,
            json: expect.objectContaining({ code: 503, error: 'database_unavailable' }),
          })
        }
        await cluster.restoreQuorum()
        await cluster.settled()
        await moreWrites(load)
        const history = await load.stop()
        expectNoFaults(history, nodes)
        expect(contradictions(history, await countKeys())).toEqual([])
      },
      3 * changeMs,
    )

    test(
      'acknowledge no write by a former primary without its Patroni, on connections that HAProxy keeps',
      async () => {
        await using kept = await startNode(`127.0.0.1:${cluster.keepingPort}`)
        const all = [...nodes, kept]
        const load = loadOf(all, 'two')
        await moreWrites(load)
        const { former, current } = await cluster.killSupervisor()
        const isPrimary = async ({ port }: Member) =>
          (await cluster.sql(port, 'postgres', 'select pg_is_in_recovery() as is_standby'))[0]?.is_standby ===
          false
        await waitFor('the promotion', () => isPrimary(current))
        expect(await isPrimary(former)).toBe(true)
        // Each node writes by the new primary while the former one still accepts connections.
        for (const node of all) {
          await waitFor('a write', async () => {
            const body = { key: 'after' }
            return (
              (await sendRequest('POST', `${node.url}/api/collections/item`, { token, body })).status === 201
            )
          })
        }
        await moreWrites(load)
        expect(await isPrimary(former)).toBe(true)
        cluster.startSupervisor(former)
        await cluster.settled()
        const history = await load.stop()
        expectNoFaults(history, all)
        const present = await countKeys()
        expect(contradictions(history, present)).toEqual([])
        expect(present.get('after')).toBe(all.length)
      },
      3 * changeMs,
    )

    function loadOf(targets: readonly ServerProcess[], prefix: string): Load {
      const urls = targets.map(({ url }) => url)
      return startLoad({ urls, token, clients: targets.length * 2, prefix, pauseMs })
    }
  },
)

function hostsOf(members: readonly Member[]): string {
  return members.map(({ port }) => `127.0.0.1:${port}`).join()
}

function urlOf(hosts: string, user = 'basalt'): string {
  return `postgresql://${user}@${hosts}/shop${hosts.includes(',') ? '?target_session_attrs=read-write' : ''}`
}

/** Waits until both kinds of writes have succeeded. */
async function moreWrites(load: Load): Promise<void> {
  const before = load.count(201)
  await waitFor('writes to succeed', () => load.count(201) > before + 20, changeMs)
}

/** Waits until only failures have arrived for many requests. */
async function stalled(load: Load): Promise<void> {
  let last = { written: -1, refused: 0 }
  await waitFor(
    'no write to succeed',
    () => {
      const written = load.count(201)
      if (written !== last.written) last = { written, refused: load.count(503) }
      return load.count(503) > last.refused + 100
    },
    changeMs,
  )
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
