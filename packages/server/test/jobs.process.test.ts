import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTransaction } from './account-nodes.ts'
import { sendRequest } from './send-request.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { createTestDatabase, type TestDatabase } from './test-app.ts'
import { testAdminPassword } from './test-config.ts'
import { waitFor } from './wait-for.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(`
    create table sale (amount int);
    insert into sale values (1), (2);
    create materialized view total as select sum(amount) from sale with no data`)
})
afterAll(() => database[Symbol.asyncDispose]())

function start(): Promise<ServerProcess> {
  return startServer({ config: { 'database.url': database.url } })
}

async function signIn({ url }: ServerProcess): Promise<string> {
  return (await sendRequest('POST', `${url}/api/admin/auth`, { body: { password: testAdminPassword } })).json
    .token
}

test('jobs › another node takes over the job of a killed one', async () => {
  const killed = await start()
  const token = await signIn(killed)
  let id: string
  {
    // The job is in flight until the table is unlocked.
    await using blocker = await openTransaction(database)
    await blocker.sql('lock table sale in access exclusive mode')
    const body = { type: 'materialized_view_refresh', payload: { view_name: 'total' } }
    id = (await sendRequest('POST', `${killed.url}/api/admin/jobs`, { token, body })).json.id
    await blocker.waitForBlocked()
    expect(await killed.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
    await blocker.commit()
  }
  await using survivor = await start()
  const read = async () => (await sendRequest('GET', `${survivor.url}/api/admin/jobs/${id}`, { token })).json
  expect(await read()).toMatchObject({ state: 'running', attempts: 1 })
  // A lease lasts half a minute; the test does not wait for it.
  await database.sql("update basalt.jobs set leased_until = now() - interval '1 s' where id = $1", [id])
  const done = await waitFor('the other node to do the job', async () => {
    const job = await read()
    return job.state === 'completed' && job
  })
  expect(done).toMatchObject({ attempts: 2, maxAttempts: 3, lastError: '' })
  expect(await database.sql('select sum::int from total')).toEqual([{ sum: 3 }])
})
