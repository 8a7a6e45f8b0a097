import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTransaction } from './account-nodes.ts'
import { functionArchive, functionFile } from './function-deploys.ts'
import { sendRequest } from './send-request.ts'
import { createDirectory, type ServerProcess, startServer } from './server-process.ts'
import { createTestDatabase, type TestDatabase } from './test-app.ts'
import { testAdminPassword } from './test-config.ts'
import { waitFor } from './wait-for.ts'

let database: TestDatabase
const directories = [createDirectory(), createDirectory(), createDirectory()]

/** Returns the code of a version of a shop, whose definitions are as the package makes them. */
const shop = (version: string) => `
const define = (members) => ({
  [Symbol.for('basalt.function')]: { version: 1, openDatabase: (bridge) => bridge, parse: JSON.parse, ...members },
})
const route = (method, path, handler) =>
  define({ kind: 'route', method, path, access: 'anonymous', input: undefined, handler })
export const version = route('GET', '/version', () => '${version}')
export const pid = route('GET', '/pid', () => process.pid)
export const order = route('POST', '/orders/:key', async (ctx) => {
  const { key } = ctx.params
  const text = 'select add_purchase($1, $2) as is_new'
  const { rows } = await ctx.db.sql(text, [key, '${version}'])
  if (JSON.parse(rows)[0].is_new) await ctx.enqueue('ship', { key }, { key })
  return { key }
})
export const receipt = define({ kind: 'after', table: 'purchase', operations: ['create'], handler: async (ctx, { record }) => {
  if (record.key === 'held') await ctx.db.sql('select pg_advisory_xact_lock(7)', [])
  await ctx.db.sql('select add_receipt($1)', [record.key])
} })
export const ship = define({ kind: 'job', job: 'ship', input: { type: 'object' }, handler: async (ctx, { key }) => {
  if (key === 'lost') await ctx.db.sql('select pg_advisory_xact_lock(8)', [])
  await ctx.db.sql('insert into shipment (key, version) values ($1, $2)', [key, '${version}'])
} })`

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(`
    create table purchase (key text primary key, version text not null);
    create table receipt (key text);
    create table shipment (key text, version text);
    create function add_purchase(key text, version text) returns bool language plpgsql security definer as $$
    begin
      insert into purchase values (key, version) on conflict do nothing;
      return found;
    end $$;
    create function add_receipt(key text) returns void language sql security definer as 'insert into receipt values (key)'`)
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
  for (const directory of directories) await directory[Symbol.asyncDispose]()
})

const start = (index: number): Promise<ServerProcess> =>
  startServer({
    config: {
      'database.url': database.url,
      'server.data_dir': join(directories[index]?.path ?? '', 'data'),
    },
  })

async function administer({ url }: ServerProcess) {
  const { json } = await sendRequest('POST', `${url}/api/admin/auth`, {
    body: { password: testAdminPassword },
  })
  const headers = { authorization: `Bearer ${json.token}` }
  const send = async (
    method: string,
    path: string,
    type?: string,
    body?: string | Uint8Array<ArrayBuffer>,
  ) => {
    const response = await fetch(`${url}/api/admin/functions${path}`, {
      method,
      headers: { ...headers, ...(type === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    })
    expect(response.ok, await response.clone().text()).toBe(true)
    return (await response.json()) as { readonly deploy?: { readonly hash: string } }
  }
  return {
    rollBack: () => send('POST', '/deploys/rollback'),
    async deploy(version: string): Promise<void> {
      const contents = { 'functions/shop.js': shop(version), 'package.json': '{ "type": "module" }' }
      const files = Object.entries(contents).map(([path, content]) => functionFile(content, path))
      const { deploy } = await send('POST', '/deploys', 'application/json', JSON.stringify({ files }))
      await send(
        'POST',
        '/files',
        'application/x-tar',
        new Uint8Array(functionArchive(Object.values(contents))),
      )
      await send('POST', `/deploys/${deploy?.hash}/promote`)
    },
  }
}

/** Sends an order, again while the server says so. @returns the statuses on the way */
async function sendOrder(servers: readonly ServerProcess[], key: string): Promise<number[]> {
  const statuses: number[] = []
  for (;;) {
    const server = servers[statuses.length % servers.length]
    const { status, headers } = await sendRequest('POST', `${server?.url}/api/functions/orders/${key}`)
    statuses.push(status)
    if (status !== 503 || headers['retry-after'] === undefined || statuses.length > 50) return statuses
    await new Promise((resolve) => setTimeout(resolve, Number(headers['retry-after']) * 1000))
  }
}

async function untilServed(servers: readonly ServerProcess[], version: string): Promise<void> {
  await waitFor(`version ${version} on all nodes`, async () => {
    const replies = servers.map(({ url }) => sendRequest('GET', `${url}/api/functions/version`))
    return (await Promise.all(replies)).every(({ text }) => text === `"${version}"`)
  })
}

const keysOf = async (table: string) =>
  (await database.sql(`select key from ${table}`)).map(({ key }) => String(key)).toSorted()

test('functions › deploys and a rollback under load on two nodes lose and double nothing', async () => {
  await using first = await start(0)
  await using second = await start(1)
  const servers = [first, second]
  const { deploy, rollBack } = await administer(first)
  await deploy('v1')
  await untilServed(servers, 'v1')
  // A new function gets the changes that begin once all nodes know it.
  for (const server of servers) {
    await waitFor('receipts', async () => {
      expect(await sendOrder([server], randomUUID())).toEqual([200])
      return (await keysOf('receipt')).length > 0
    })
    await database.sql('truncate receipt')
  }
  await waitFor('the first shipments', async () => {
    const rows = await database.sql(`select from basalt.jobs where type = 'ship' and state <> 'completed'`)
    return rows.length === 0
  })
  await database.sql('truncate purchase, shipment')
  const placed: string[] = []
  const refusals = new Set<number>()
  let isDone = false
  const clients = Array.from({ length: 4 }, async (_, index) => {
    while (!isDone && placed.length < 2000) {
      const key = randomUUID()
      const statuses = await sendOrder(index % 2 === 0 ? servers : servers.toReversed(), key)
      for (const status of statuses.slice(0, -1)) refusals.add(status)
      expect(statuses.at(-1)).toBe(200)
      placed.push(key)
    }
  })
  const load = Promise.all(clients)
  const changes = async () => {
    for (const change of [() => deploy('v2'), rollBack, () => deploy('v2')]) {
      const count = placed.length
      await waitFor('more orders', () => placed.length >= count + 10)
      await change()
      await untilServed(servers, change === rollBack ? 'v1' : 'v2')
    }
  }
  await Promise.race([changes(), load]).finally(() => {
    isDone = true
  })
  await load
  expect([...refusals].filter((status) => status !== 503)).toEqual([])
  const keys = placed.toSorted()
  expect(await keysOf('purchase')).toEqual(keys)
  await waitFor('the receipts', async () => {
    const receipts = new Set(await keysOf('receipt'))
    return keys.every((key) => receipts.has(key))
  })
  await waitFor('the shipments', async () => (await keysOf('shipment')).length >= keys.length)
  expect(await keysOf('shipment')).toEqual(keys)
  // Each job has run in the code that has added it.
  expect(
    await database.sql(
      'select p.key from purchase p join shipment s on s.key = p.key where s.version <> p.version',
    ),
  ).toEqual([])
  expect(await database.sql('select distinct version from purchase order by 1')).toEqual([
    { version: 'v1' },
    { version: 'v2' },
  ])
})

test('functions › a killed process during an after, and a killed server during a job, lose nothing', async () => {
  const count = async (table: string, key: string) =>
    (await keysOf(table)).filter((each) => each === key).length
  await using killed = await start(0)
  await untilServed([killed], 'v2')
  {
    await using blocker = await openTransaction(database)
    await blocker.sql('select pg_advisory_xact_lock(7)')
    expect(await sendOrder([killed], 'held')).toEqual([200])
    await blocker.waitForBlocked()
    const { text } = await sendRequest('GET', `${killed.url}/api/functions/pid`)
    process.kill(Number(text), 'SIGKILL')
    await waitFor('the record of the failure', async () => {
      const rows = await database.sql(
        'select from basalt.webhook_queue where attempts > 0 and leased_until is null',
      )
      return rows.length > 0
    })
    await blocker.commit()
  }
  expect(await count('receipt', 'held')).toBe(0)
  await database.sql('update basalt.webhook_queue set due_at = now() where attempts > 0')
  await untilServed([killed], 'v2')
  expect(await sendOrder([killed], 'next')).toEqual([200])
  await waitFor('the receipt', async () => (await count('receipt', 'held')) === 1)
  {
    await using blocker = await openTransaction(database)
    await blocker.sql('select pg_advisory_xact_lock(8)')
    expect(await sendOrder([killed], 'lost')).toEqual([200])
    await blocker.waitForBlocked()
    expect(await killed.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
    await blocker.commit()
  }
  expect(await count('shipment', 'lost')).toBe(0)
  await using _survivor = await start(2)
  await database.sql(`update basalt.jobs set leased_until = now() - interval '1 s' where state = 'running'`)
  await waitFor('the shipment', async () => (await count('shipment', 'lost')) === 1)
})
