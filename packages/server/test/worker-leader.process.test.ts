import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { locateHome } from '../src/database/embedded/cluster.ts'
import { type EventStreamClient, openEventStream } from './event-stream.ts'
import { alice } from './fixtures.ts'
import { loadTable } from './load.ts'
import { startReceiver } from './receiver.ts'
import { sendRequest } from './send-request.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { userToken } from './test-app.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'
import { openWorkerAddresses, workersOf } from './worker-processes.ts'

const token = userToken({ sub: alice })
const clean = { code: 0, signal: null }
let cluster: ThrowAwayCluster

beforeAll(async () => {
  // The log of PostgreSQL shows which session polls.
  cluster = await startThrowAwayCluster({ log_statement: 'all', log_line_prefix: '%p ' })
  await cluster.sql('postgres', 'create database shop')
  await cluster.sql('shop', loadTable)
})
afterAll(() => cluster[Symbol.asyncDispose]())

function start(): Promise<ServerProcess> {
  return startServer({
    config: {
      'database.url': `${cluster.url}/shop`,
      'server.workers': '2',
    },
  })
}

/** Returns the sessions that have polled versions, in order. */
function pollers(): string[] {
  const log = readFileSync(join(locateHome(cluster.directory).home, 'postgres.log'), 'utf8')
  return log
    .split(/^(?=\d+ )/m)
    .filter((entry) => entry.includes('LOG:  execute') && entry.includes('* 1000)::text as time'))
    .map((entry) => entry.slice(0, entry.indexOf(' ')))
}

/** Waits until one session alone polls. @returns it */
async function untilOnePolls(): Promise<string> {
  const from = pollers().length
  return await waitFor('20 polls in a row of one session', () => {
    const last = pollers().slice(from).slice(-20)
    return last.length === 20 && new Set(last).size === 1 && last[0]
  })
}

/** Waits until this worker has noticed that the table was created. */
async function untilNoticed(server: ServerProcess, collection: string, ...workers: number[]): Promise<void> {
  const hasNoticed = (worker: number) =>
    server
      .log()
      .some(
        (line) => line.msg === 'schema changed' && line.collection === collection && line.worker === worker,
      )
  await waitFor(`workers that notice ${collection}`, () => workers.every(hasNoticed))
}

const insert = (key: string) => cluster.sql('shop', `insert into item (key) values ('${key}')`)

describe('two workers › the leader', () => {
  test('polls alone, and each worker notices a change of plain SQL', async () => {
    await using server = await start()
    await untilOnePolls()
    await cluster.sql('shop', 'create table first_table (id bigint primary key)')
    await untilNoticed(server, 'first_table', 1, 2)
    expect(await server.stop()).toEqual(clean)
  })

  test('is replaced when it hangs, and follows the other one when it continues', async () => {
    await using server = await start()
    await untilOnePolls()
    const [leader = 0] = workersOf(server)
    process.kill(leader, 'SIGSTOP')
    await cluster.sql('shop', 'create table second_table (id bigint primary key)')
    await untilNoticed(server, 'second_table', 2)
    // A worker that hangs for longer is killed.
    await waitFor('another leader', async () => {
      const { json } = await sendRequest('GET', `${server.url}/health`)
      return (json as { workers: { serving: number } }).workers.serving === 1
    })
    process.kill(leader, 'SIGCONT')
    await untilNoticed(server, 'second_table', 1)
    await untilOnePolls()
    await cluster.sql('shop', 'create table third_table (id bigint primary key)')
    await untilNoticed(server, 'third_table', 1, 2)
    expect(await server.stop()).toEqual(clean)
  })

  test('loses and repeats no event when it is killed', async () => {
    await using receiver = await startReceiver()
    await using server = await start()
    await cluster.sql(
      'shop',
      `insert into basalt.webhooks (id, url, events, tables, enabled)
       values (gen_random_uuid(), '${receiver.url}', '{create}', '{item}', true)`,
    )
    await waitFor('webhook deliveries', async () => {
      await insert('probe')
      return receiver.received.length > 0
    })
    await using addresses = await openWorkerAddresses(server)
    const [leader = 0] = workersOf(server)
    const [onLead, onFollower] = await Promise.all([
      openEventStream(addresses.urls[0] ?? '', 'tables=item', { token }),
      openEventStream(addresses.urls[1] ?? '', 'tables=item', { token }),
    ])
    const keys = Array.from({ length: 200 }, (_, index) => `killed-${index}`)
    for (const [index, key] of keys.entries()) {
      if (index === 50) process.kill(leader, 'SIGKILL')
      await insert(key)
    }
    const keysOf = ({ messages }: EventStreamClient) =>
      messages.map(({ record }) => record.key).filter((key: string) => key !== 'probe')
    await waitFor('all events', () => keysOf(onFollower).length >= keys.length)
    expect(keysOf(onFollower)).toEqual(keys)
    await onLead.ended()
    expect(keysOf(onLead)).toEqual(keys.slice(0, keysOf(onLead).length))
    const deliveries = () => {
      const ids = new Map<string, Set<string>>()
      for (const { json, headers } of receiver.received) {
        const known = ids.get(json.record.key) ?? new Set()
        ids.set(json.record.key, known.add(String(headers['webhook-id'])))
      }
      return ids
    }
    await waitFor('all deliveries', () => keys.every((key) => deliveries().has(key)))
    // An attempt of the killed process is repeated, under the id of its event.
    expect(keys.filter((key) => deliveries().get(key)?.size !== 1)).toEqual([])
    await Promise.all([onLead, onFollower].map((stream) => stream[Symbol.asyncDispose]()))
    expect(await server.stop()).toEqual(clean)
  })
})
