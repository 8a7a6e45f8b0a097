import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CitusServers, findCitusPrograms, startCitusServers } from '../citus-servers.ts'
import { alice } from '../fixtures.ts'
import { contradictions, loadTable, startLoad } from '../load.ts'
import { type Reply, sendRequest } from '../send-request.ts'
import { type ServerProcess, startServer } from '../server-process.ts'
import { userToken } from '../test-app.ts'
import { waitFor } from '../wait-for.ts'

const programs = await findCitusPrograms()
const token = userToken({ sub: alice })
/** Limit of a phase. Servers are killed and recover several times. */
const limitMs = 300_000
/** Rows of each write, whose keys are on all shards. */
const rowsOfWrite = 8

/** Writes of several rows with one key each, and their responses. */
interface Writes {
  readonly replies: ReadonlyMap<string, Reply>
  stop(): Promise<void>
}

describe.skipIf(programs === undefined)('faults › a server of a distributed database that is killed', () => {
  let servers: CitusServers
  let server: ServerProcess

  beforeAll(async () => {
    servers = await startCitusServers(programs ?? '')
    server = await startServer({ config: { 'database.url': servers.url } })
    await servers.sql(loadTable)
    await servers.sql(`select create_distributed_table('item', 'id')`)
    await servers.sql('grant select, insert, update, delete on item to basalt_authenticated')
    await waitFor('the table', async () => (await request('GET', '/api/collections/item')).status === 200)
  }, limitMs)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await servers?.[Symbol.asyncDispose]()
  })

  const request = (method: string, path: string, body?: unknown) =>
    sendRequest(method, `${server.url}${path}`, { token, body })

  const countKeys = async () => {
    const rows = await servers.sql<{ key: string; count: number }>(
      'select key, count(*)::int as count from item group by key',
    )
    return new Map(rows.map(({ key, count }) => [key, count]))
  }

  /** Sends one write after the other until it is stopped. */
  function startWrites(prefix: string, send: (key: string) => Promise<Reply>): Writes {
    const replies = new Map<string, Reply>()
    let isStopped = false
    const running = (async () => {
      for (let count = 0; !isStopped; count += 1) {
        const key = `${prefix}-${count}`
        replies.set(key, await send(key))
      }
    })()
    return {
      replies,
      async stop() {
        isStopped = true
        await running
      },
    }
  }

  const bodies = (key: string) => Array.from({ length: rowsOfWrite }, () => ({ key }))

  test(
    'undoes what it took part in, and has every acknowledged write once after its return',
    async () => {
      const load = startLoad({ urls: [server.url], token, clients: 2 })
      const batches = startWrites('batch', (key) =>
        request('POST', '/api/collections/item/batch', {
          operations: bodies(key).map((body) => ({ method: 'create', body })),
        }),
      )
      const imports = startWrites('import', (key) =>
        request('POST', '/api/collections/item/import', bodies(key)),
      )
      const all = [batches, imports]
      const succeeded = () =>
        all.map(({ replies }) => [...replies.values()].filter(({ status }) => status === 200).length)
      const failed = () =>
        all.map(({ replies }) => [...replies.values()].filter(({ status }) => status === 503).length)
      const progress = async (what: string, counts: () => number[]) => {
        const before = counts()
        await waitFor(what, () => counts().every((count, index) => count > (before[index] ?? 0)), limitMs)
      }
      for (let round = 0; round < 3; round += 1) {
        const worker = servers.workers[round % 2]
        await progress('writes', () => [...succeeded(), load.count(201)])
        worker?.kill()
        await progress('refused writes', failed)
        await worker?.start()
      }
      await progress('writes', () => [...succeeded(), load.count(201)])
      for (const { stop } of all) await stop()
      const history = await load.stop()

      for (const worker of servers.workers) {
        await waitFor('the recovery of transactions', async () => {
          const rows = await servers.sql('select gid from pg_prepared_xacts', worker)
          return rows.length === 0
        })
      }
      const present = await countKeys()
      expect(history.malformed).toEqual([])
      expect([...history.failures]).toEqual([])
      expect([...history.statuses.keys()].sort()).toEqual([200, 201, 503])
      expect(contradictions(history, present)).toEqual([])
      for (const { replies } of all) {
        for (const [key, { status, headers, json }] of replies) {
          const count = present.get(key) ?? 0
          if (status === 200) expect({ key, count }).toEqual({ key, count: rowsOfWrite })
          else {
            expect({ status, error: json.error }).toEqual({ status: 503, error: 'database_unavailable' })
            expect(headers['retry-after']).toBe('1')
            // The response may have been lost after the commit.
            expect([0, rowsOfWrite], key).toContain(count)
          }
        }
      }
    },
    limitMs,
  )
})
