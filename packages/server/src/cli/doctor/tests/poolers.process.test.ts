import { existsSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findingsOf } from '../../../../test/doctor.ts'
import { pgbouncer, startPgBouncer } from '../../../../test/pgbouncer.ts'
import { startReleasingPooler } from '../../../../test/releasing-pooler.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/test-app.ts'
import { testConfig } from '../../../../test/test-config.ts'
import { startThrowAwayCluster } from '../../../../test/throw-away-cluster.ts'
import { startTransactionPooler } from '../../../../test/transaction-pooler.ts'
import { listen } from '../checks/listen.ts'
import { policies } from '../checks/policies.ts'
import { pooler } from '../checks/pooler.ts'

let database: TestDatabase
let address: URL
beforeAll(async () => {
  database = await createTestDatabase()
  address = new URL(database.url)
})
afterAll(() => database[Symbol.asyncDispose]())

const target = () => ({
  target: Number(address.port),
  user: address.username,
  database: address.pathname.slice(1),
  sessions: 3,
})
const throughPort = (port: number) => `postgresql://${address.username}@127.0.0.1:${port}${address.pathname}`
const configOf = (url: string, overrides: Readonly<Record<string, string>> = {}) =>
  testConfig({ 'database.url': url, ...overrides })

function found(id: string, status: string, message: string, fix: string | null = null) {
  return { [id]: { id, status, message, fix } }
}

const line =
  'listen_url = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"   # in [database]: PostgreSQL itself'
const shared = found(
  'pooler',
  'ok',
  'database.url leads to a pooler that shares sessions between transactions, which is supported',
)
const statements = found(
  'pooler',
  'failure',
  'database.url leads to a pooler that runs the statements of one transaction in several sessions: policies would not apply',
  'pool_mode = transaction   ; in pgbouncer.ini',
)
const polled = found(
  'listen',
  'warning',
  'database.url leads to a pooler that shares sessions: nodes poll for changes every 125 ms, and read-only SQL is refused',
  line,
)

describe('basalt doctor › pooler', () => {
  test('has nothing to mend without one', async () => {
    const config = configOf(database.url)
    expect(await findingsOf(config, pooler)).toEqual(
      found('pooler', 'ok', 'database.url leads to PostgreSQL itself, or to a pooler that keeps sessions'),
    )
    expect(await findingsOf(config, listen)).toEqual(
      found('listen', 'ok', 'notifications arrive on database.url'),
    )
  })

  test('finds a pooler in transaction mode, where nodes poll', async () => {
    await using ours = await startTransactionPooler(target())
    const config = configOf(throughPort(ours.port))
    expect(await findingsOf(config, pooler)).toEqual(shared)
    expect(await findingsOf(config, listen)).toEqual(polled)
    expect((await findingsOf(config, policies)).policies?.status).toBe('ok')
  })

  test('finds one that reports the process id of a session', async () => {
    const options = { ...target(), processId: 0 }
    await using ours = await startTransactionPooler(options)
    const client = new pg.Client({ connectionString: throughPort(ours.port) })
    await client.connect()
    // The next transaction runs in the same session.
    options.processId = (await client.query('select pg_backend_pid() as pid')).rows[0].pid
    await client.end()
    expect(await findingsOf(configOf(throughPort(ours.port)), pooler)).toEqual(shared)
  })

  test('has nothing to mend if database.listen_url leads to PostgreSQL itself', async () => {
    await using ours = await startTransactionPooler(target())
    const config = configOf(throughPort(ours.port), { 'database.listen_url': database.url })
    expect(await findingsOf(config, listen)).toEqual(
      found('listen', 'ok', 'notifications arrive on database.listen_url'),
    )
  })

  test('warns if database.listen_url leads to a pooler, too', async () => {
    await using ours = await startTransactionPooler(target())
    const url = throughPort(ours.port)
    expect(await findingsOf(configOf(url, { 'database.listen_url': url }), listen)).toEqual(
      found(
        'listen',
        'warning',
        'database.listen_url leads to a pooler that shares sessions: nodes poll for changes every 125 ms',
        line,
      ),
    )
  })

  test('warns if database.listen_url leads to another database', async () => {
    await using other = await startThrowAwayCluster()
    const config = configOf(database.url, { 'database.listen_url': `${other.url}/postgres` })
    expect(await findingsOf(config, listen)).toEqual(
      found(
        'listen',
        'warning',
        'a notification did not arrive on database.listen_url within 3 s: nodes poll for changes every 125 ms',
        line,
      ),
    )
  })

  test('fails with one that ends transactions early', async () => {
    await using releasing = await startReleasingPooler({ ...target(), keepsBlocks: false })
    expect(await findingsOf(configOf(throughPort(releasing.port)), pooler)).toEqual(statements)
  })

  test.skipIf(!existsSync(pgbouncer))(
    `finds the modes of PgBouncer${existsSync(pgbouncer) ? '' : ' (skipped: PgBouncer is not installed)'}`,
    async () => {
      {
        await using transactions = await startPgBouncer(address)
        const config = configOf(throughPort(transactions.port))
        expect(await findingsOf(config, pooler)).toEqual(shared)
        expect(await findingsOf(config, listen)).toEqual(polled)
        expect((await findingsOf(config, policies)).policies?.status).toBe('ok')
      }
      await using single = await startPgBouncer(address, { poolMode: 'statement' })
      expect(await findingsOf(configOf(throughPort(single.port)), pooler)).toEqual(statements)
    },
  )
})
