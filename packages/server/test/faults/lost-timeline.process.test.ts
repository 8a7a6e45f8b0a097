import { afterEach, describe, expect, test } from 'vitest'
import { openEventStream } from '../event-stream.ts'
import { countKeys, startNodes, startPair } from '../failover.ts'
import { alice } from '../fixtures.ts'
import { sendRequest } from '../send-request.ts'
import { userToken } from '../test-app.ts'
import { waitFor } from '../wait-for.ts'

const token = userToken({ sub: alice })
const cleanUp: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of cleanUp.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

describe('faults › failover › a lost timeline', () => {
  test('gives streams and their event ids a gap, however many transactions the new one has made', async () => {
    const { first, second, url } = await startPair(false, cleanUp)
    const [node] = await startNodes(url, cleanUp, { count: 1 })
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
