import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../fixtures.ts'
import { contradictions, loadTable, startLoad } from '../load.ts'
import { type Reply, sendRequest } from '../send-request.ts'
import { type ServerProcess, startServer } from '../server-process.ts'
import { userToken } from '../test-app.ts'
import { testAdminPassword } from '../test-config.ts'
import { findFreePort, startThrowAwayCluster, type ThrowAwayCluster } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'
import { type Fleet, fleets, replacements } from './fleet.ts'

const token = userToken({ sub: alice })
/** Views that jobs refresh by turns. A refresh that meets another one of its view is retried half a minute later. */
const views = Array.from({ length: 10 }, (_, index) => `total_${index}`)
let cluster: ThrowAwayCluster

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  // An ordinary login role that owns its database. Its name is also the name of the system schema.
  await cluster.sql('postgres', 'create role basalt login createrole')
  await cluster.sql('postgres', 'create database shop owner basalt')
  await sql(loadTable)
  for (const view of views) await sql(`create materialized view ${view} as select count(*) from item`)
})
afterAll(() => cluster[Symbol.asyncDispose]())

const configure = () => ({ 'database.url': `postgresql://basalt@127.0.0.1:${cluster.port}/shop` })

function start(config: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  return startServer({ config: { ...configure(), ...config } })
}

/** Runs SQL as the owner. */
async function sql(text: string): Promise<void> {
  await cluster.sql('shop', text, 'basalt')
}

async function countKeys(): Promise<ReadonlyMap<string, number>> {
  const query = 'select key, count(*)::int as count from item group by key'
  const rows = await cluster.sql<{ key: string; count: number }>('shop', query)
  return new Map(rows.map(({ key, count }) => [key, count]))
}

/**
 * Rounds of starts. More of them take minutes: `BASALT_TEST_START_ROUNDS=50 npx vitest run --project process nodes -t
 * 'four nodes'`.
 */
const startRounds = Number(process.env.BASALT_TEST_START_ROUNDS ?? 2)

test(
  'four nodes that start concurrently on an empty database prepare it once, and all are healthy',
  async () => {
    for (let round = 1; round <= startRounds; round += 1) {
      const name = `empty_${round}`
      await cluster.sql('postgres', `create database ${name} owner basalt`)
      const config = { 'database.url': `postgresql://basalt@127.0.0.1:${cluster.port}/${name}` }
      const nodes = await Promise.all(Array.from({ length: 4 }, () => start(config))).catch(async (error) => {
        const activity = await cluster.sql(
          'postgres',
          `select pid, datname, application_name, state, wait_event, pg_blocking_pids(pid) as blocked_by,
            now() - xact_start as transaction_age, left(query, 200) as query
          from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
        )
        throw new Error(`${error.message}\n${JSON.stringify(activity, undefined, 2)}`)
      })
      for (const node of nodes) {
        expect((await sendRequest('GET', `${node.url}/health`)).json).toEqual({
          status: 'ok',
          database: 'ok',
        })
      }
      const migrations = await cluster.sql<{ version: number }>(name, 'select version from basalt.migrations')
      const versions = migrations.map(({ version }) => version).sort((one, other) => one - other)
      expect(versions.length).toBeGreaterThan(0)
      expect(versions).toEqual(versions.map((_, index) => index + 1))
      const endings = await Promise.all(nodes.map((node) => node.stop()))
      expect(endings).toEqual(nodes.map(() => ({ code: 0, signal: null })))
      await cluster.sql('postgres', `drop database ${name} with (force)`)
      // The role belongs to all databases, so the next start creates it again. The dropped database had its privileges.
      await cluster.sql('postgres', 'drop role basalt_authenticated')
    }
  },
  60_000 + startRounds * 30_000,
)

/** Queues jobs, one after the other, until it is stopped. @returns the function that stops it and returns the ids */
async function startJobs(urls: readonly string[]): Promise<() => Promise<readonly string[]>> {
  const { json } = await sendRequest('POST', `${urls[0]}/api/admin/auth`, {
    body: { password: testAdminPassword },
  })
  const ids: string[] = []
  let isStopped = false
  const run = async () => {
    for (let count = 0; !isStopped; count += 1) {
      const url = `${urls[count % urls.length]}/api/admin/jobs`
      const body = {
        type: 'materialized_view_refresh',
        payload: { view_name: views[count % views.length] },
      }
      const reply = await sendRequest('POST', url, { token: json.token, body }).catch(() => undefined)
      if (reply === undefined) await new Promise((resolve) => setTimeout(resolve, 5))
      else ids.push(reply.json.id)
    }
    return ids
  }
  const running = run()
  return () => {
    isStopped = true
    return running
  }
}

test.each(fleets)(
  '%s on one database › keep every acknowledged write and job when they are killed under load',
  async (name, startFleet) => {
    await using fleet = await startFleet(configure())
    const load = startLoad({ urls: fleet.urls, token, clients: 4, prefix: `killed ${name}` })
    const stopJobs = await startJobs(fleet.urls)
    for (let round = 0; round < replacements; round += 1) {
      const before = load.count(201)
      await waitFor('more load', () => load.count(201) > before + 50)
      await fleet.replaceNext()
    }
    const [history, ids] = [await load.stop(), await stopJobs()]
    expect(history.malformed).toEqual([])
    expect([...history.statuses.keys()].sort()).toEqual([200, 201])
    expect(contradictions(history, await countKeys())).toEqual([])
    expect(ids.length).toBeGreaterThan(20)
    const states = () =>
      cluster.sql<{ state: string; count: number }>(
        'shop',
        `select state, count(*)::int from basalt.jobs where id = any('{${ids.join()}}') group by state order by state`,
      )
    const isDone = async () => (await states()).every(({ state }) => !['queued', 'running'].includes(state))
    // The leases of killed processes last half a minute, and so does the delay of a retry.
    await waitFor('the jobs', isDone, 180_000).catch(async (error) => {
      throw new Error(`${error.message}: ${JSON.stringify(await states())}`)
    })
    expect(await states()).toEqual([{ state: 'completed', count: ids.length }])
    for (const ending of await fleet.stop()) expect(ending).toEqual({ code: 0, signal: null })
  },
  300_000,
)

describe.each(fleets)('%s on one database', (name, startFleet) => {
  let fleet: Fleet
  let addresses: Awaited<ReturnType<Fleet['openAddresses']>>

  beforeAll(async () => {
    fleet = await startFleet(configure())
    addresses = await fleet.openAddresses()
  })
  afterAll(async () => {
    await addresses[Symbol.asyncDispose]()
    await fleet[Symbol.asyncDispose]()
  })

  /** Sends the query to every process. */
  function everywhere(query: string): Promise<Reply[]> {
    return Promise.all(
      addresses.urls.map((url) => sendRequest('GET', `${url}/api/collections/${query}`, { token })),
    )
  }

  test('serve a created table and miss a dropped one at once', async () => {
    await sql('create table visit (id int primary key, place text); insert into visit values (1, $$Rome$$)')
    const items = [{ id: 1, place: 'Rome' }]
    for (const { json } of await everywhere('visit')) expect(json).toMatchObject({ items })

    await sql('alter table visit rename column place to town')
    for (const { json } of await everywhere("visit?filter=town='Rome'")) {
      expect(json).toMatchObject({ items: [{ id: 1, town: 'Rome' }] })
    }

    await sql('alter table visit drop column town')
    for (const { json } of await everywhere('visit')) expect(json).toMatchObject({ items: [{ id: 1 }] })
    for (const { json, status } of await everywhere('visit?sort=town')) {
      expect({ status, message: json.message }).toEqual({
        status: 400,
        message: 'unknown column "town" in sort',
      })
    }

    await sql('alter table visit rename to journey')
    for (const { json } of await everywhere('journey')) expect(json.items).toEqual([{ id: 1 }])
    for (const { json } of await everywhere('visit')) {
      expect(json).toMatchObject({ code: 404, error: 'collection_not_found' })
    }

    await sql('drop table journey')
    for (const { status } of await everywhere('journey')) expect(status).toBe(404)
  })

  test('notice changes that no request runs into', async () => {
    await sql(
      'drop table if exists trip; create table trip (id int primary key, km int); insert into trip values (1, 7)',
    )
    await everywhere('trip')
    const changes: [ddl: string, shows: (item: Record<string, unknown> | undefined) => boolean][] = [
      ['alter table trip add column note text default $$far$$', (item) => item?.note === 'far'],
      ['alter table trip alter column km type text', (item) => item?.km === '7'],
      ['alter table trip rename column note to remark', (item) => item?.remark === 'far'],
      ['revoke select on trip from basalt_authenticated', (item) => item === undefined],
      [
        'grant select (id) on trip to basalt_authenticated',
        (item) => Object.keys(item ?? {}).join() === 'id',
      ],
    ]
    for (const [ddl, shows] of changes) {
      await sql(ddl)
      await waitFor(ddl, async () => (await everywhere('trip')).every(({ json }) => shows(json.items?.[0])))
    }
  })

  test('respond to every request while columns are added and dropped', async () => {
    const load = startLoad({ urls: addresses.urls, token, clients: 6, prefix: `ddl ${name}` })
    await waitFor('some load', () => load.answered > 100)
    for (let round = 0; round < 12; round += 1) {
      const before = load.answered
      await sql('alter table item add column extra int default 1, add column more text')
      await waitFor('more load', () => load.answered > before + 40)
      await sql('alter table item drop column extra, alter column counter type bigint')
      await waitFor('more load', () => load.answered > before + 80)
      await sql('alter table item drop column more, alter column counter type int')
    }
    const history = await load.stop()
    expect(history.malformed).toEqual([])
    expect([...history.failures]).toEqual([])
    expect([...history.statuses.keys()].sort()).toEqual([200, 201])
    expect(contradictions(history, await countKeys())).toEqual([])
  })
})

test('two nodes on one database › after one is killed, the other serves every request and no acknowledged write is lost', async () => {
  const [victim, survivor] = await Promise.all([start(), start()])
  try {
    const hit = startLoad({ urls: [victim.url, survivor.url], token, clients: 1, prefix: 'hit' })
    const spared = startLoad({ urls: [survivor.url], token, clients: 4, prefix: 'spared' })
    await waitFor('some load', () => hit.count(201) > 20 && spared.count(201) > 20)
    expect(await victim.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
    // The second response from now on belongs to a request that was sent after the end of the victim.
    const answered = hit.answered
    await waitFor('the client to move', () => hit.answered > answered + 1)
    const cut = hit.failed
    const created = hit.count(201)
    await waitFor('more load', () => hit.count(201) > created + 20)

    const histories = [await hit.stop(), await spared.stop()]
    const present = await countKeys()
    for (const history of histories) {
      expect([...history.statuses.keys()].sort()).toEqual([200, 201])
      expect(contradictions(history, present)).toEqual([])
    }
    // Only requests on connections to the victim fail. These are one or two: the system closes the connections of a killed
    // process before or after its listening socket, which may accept one more.
    expect(hit.failed).toBe(cut)
    expect(['ECONNRESET', 'EPIPE']).toEqual(
      expect.arrayContaining([...(histories[0]?.failures.keys() ?? [])]),
    )
    expect([...(histories[1]?.failures ?? [])]).toEqual([])
  } finally {
    await Promise.all([victim, survivor].map((node) => node[Symbol.asyncDispose]()))
  }
})

test('nodes › a rolling restart under load fails no request', async () => {
  const ports = [await findFreePort(), await findFreePort()]
  const startOn = (port: number | undefined) => start({ 'server.port': String(port) })
  const nodes = await Promise.all(ports.map(startOn))
  try {
    const load = startLoad({ urls: nodes.map(({ url }) => url), token, clients: 6, prefix: 'rolling' })
    await waitFor('some load', () => load.answered > 100)
    for (const [index, port] of ports.entries()) {
      expect(await nodes[index]?.stop('SIGTERM')).toEqual({ code: 0, signal: null })
      nodes[index] = await startOn(port)
    }
    const history = await load.stop()
    expect(history.malformed).toEqual([])
    expect([...history.failures]).toEqual([])
    expect([...history.statuses.keys()].sort()).toEqual([200, 201])
    expect(contradictions(history, await countKeys())).toEqual([])
  } finally {
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))
  }
})
