import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CitusDatabase, citusUrl, createCitusDatabase } from '../../../../test/citus-database.ts'
import { findingsOf } from '../../../../test/doctor.ts'
import { createTestApp, createTestDatabase } from '../../../../test/test-app.ts'
import { testConfig } from '../../../../test/test-config.ts'
import type { Config } from '../../../configuration.ts'
import { workers } from '../checks/workers.ts'

function found(status: string, message: unknown, fix: unknown = null) {
  return { workers: { id: 'workers', status, message, fix } }
}

describe('basalt doctor › workers', () => {
  test('is skipped without Citus', async () => {
    await using database = await createTestDatabase()
    expect(await findingsOf(testConfig({ 'database.url': database.url }), workers)).toEqual(
      found('skipped', 'the database has no workers'),
    )
  })
})

describe.skipIf(citusUrl === undefined)('basalt doctor › workers, on BASALT_TEST_CITUS_URL', () => {
  let database: CitusDatabase
  let config: Config
  let addresses: string

  beforeAll(async () => {
    database = await createCitusDatabase()
    const app = await createTestApp({ database })
    await app[Symbol.asyncDispose]()
    config = testConfig({ 'database.url': database.url })
    addresses = database.workers.map((url) => new URL(url).host).join(', ')
  })
  afterAll(() => database?.[Symbol.asyncDispose]())

  test('proves the context of callers on each worker', async () => {
    expect(await findingsOf(config, workers)).toEqual(
      found('ok', `the context of callers is in force on ${addresses}`),
    )
  })

  test('fails on a worker without rows of the proof', async () => {
    await database.sql('delete from basalt.worker_probe')
    const findings = await findingsOf(config, workers)
    await database.sql('insert into basalt.worker_probe select generate_series(1, 128)')
    expect(findings).toEqual(
      found(
        'failure',
        `policies on distributed tables would not apply: 0 of ${database.workers.length} workers returned rows. See the guide "Distributed tables"`,
        'basalt reload   # gives every worker rows for this proof',
      ),
    )
  })

  test('fails if a role of callers cannot reach the workers', async () => {
    await database.sql('revoke select on basalt.worker_probe from basalt_anonymous')
    const findings = await findingsOf(config, workers)
    await database.sql('grant select on basalt.worker_probe to basalt_anonymous')
    expect(findings).toEqual(
      found(
        'failure',
        expect.stringMatching(
          /^policies on distributed tables would not apply: basalt_anonymous cannot reach the workers \(permission denied .*\)/,
        ),
        'hostssl all basalt_authenticated,basalt_anonymous,basalt_administrator COORDINATOR/32 trust   # in pg_hba.conf of each worker, as in the guide',
      ),
    )
  })

  test('names a worker to which the coordinator cannot connect', async () => {
    const [worker = ''] = database.workers
    const { hostname, port } = new URL(worker)
    await database.sql(
      `update pg_dist_node set nodeport = 1 where nodename = '${hostname}' and nodeport = ${port}`,
    )
    const findings = await findingsOf(config, workers)
    await database.sql(`update pg_dist_node set nodeport = ${port} where nodeport = 1`)
    expect(findings).toEqual(
      found(
        'failure',
        `the coordinator cannot connect to the worker ${hostname}:1: statements on its rows fail`,
        `pg_isready -h ${hostname} -p 1   # then its log and its pg_hba.conf`,
      ),
    )
  })
})
