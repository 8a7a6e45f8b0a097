import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findingsOf } from '../../../../test/doctor.ts'
import { startReleasingPooler } from '../../../../test/releasing-pooler.ts'
import { type Standby, startStandby } from '../../../../test/standby.ts'
import { testConfig } from '../../../../test/test-config.ts'
import {
  findFreePort,
  startThrowAwayCluster,
  type ThrowAwayCluster,
} from '../../../../test/throw-away-cluster.ts'
import { waitFor } from '../../../../test/wait-for.ts'
import { withDatabase } from '../../with-database.ts'
import { replicas } from '../checks/replicas.ts'

let primary: ThrowAwayCluster
let standby: Standby

const urlOf = (port: number, database = 'shop') => `postgresql://postgres@127.0.0.1:${port}/${database}`
const configOf = (replica: string, overrides: Readonly<Record<string, string>> = {}) =>
  testConfig({
    'database.url': urlOf(primary.port),
    'database.replica_urls': replica,
    'database.replica_max_lag_ms': '1000',
    ...overrides,
  })
const findings = (replica: string, overrides: Readonly<Record<string, string>> = {}) =>
  findingsOf(configOf(replica, overrides), replicas)
const isInUse = async () => (await findings(urlOf(standby.port))).replicas?.status === 'ok'

beforeAll(async () => {
  primary = await startThrowAwayCluster()
  await primary.sql('postgres', 'create database shop')
  await withDatabase(configOf(urlOf(primary.port)), 'test', async () => undefined)
  standby = await startStandby(primary)
})
afterAll(async () => {
  await standby?.[Symbol.asyncDispose]()
  await primary?.[Symbol.asyncDispose]()
})

function found(id: string, status: string, message: unknown, fix: unknown = null) {
  return { [id]: { id, status, message, fix } }
}

describe('basalt doctor › replicas', () => {
  test('is skipped without replicas', async () => {
    const config = testConfig({ 'database.url': urlOf(primary.port) })
    expect(await findingsOf(config, replicas)).toEqual(
      found('replicas', 'skipped', 'database.replica_urls is empty'),
    )
  })

  test('has nothing to mend with a standby', async () => {
    const address = `127.0.0.1:${standby.port}/shop`
    expect(await findings(urlOf(standby.port))).toEqual(
      found(
        'replicas',
        'ok',
        expect.stringMatching(
          new RegExp(
            `^${address} has replayed the log of the primary within \\d+ ms, and the context of a caller is in force there$`,
          ),
        ),
      ),
    )
  })

  test('warns about an address where nothing listens', async () => {
    const port = await findFreePort()
    expect(await findings(urlOf(port))).toEqual(
      found(
        'replicas.unreachable',
        'warning',
        `127.0.0.1:${port}/shop cannot be reached (ECONNREFUSED): the primary serves its reads`,
        `pg_isready -h 127.0.0.1 -p ${port}   # then its log and its pg_hba.conf`,
      ),
    )
  })

  test('warns about another database of the cluster', async () => {
    expect(await findings(urlOf(standby.port, 'postgres'))).toEqual(
      found(
        'replicas.identity',
        'warning',
        `127.0.0.1:${standby.port}/postgres serves no reads: its database is postgres, that of the primary shop`,
        'replica_urls = ["postgresql://…"]   # in [database]: each with the database of database.url',
      ),
    )
  })

  test('warns about the primary itself', async () => {
    expect((await findings(urlOf(primary.port)))['replicas.identity']).toMatchObject({
      status: 'warning',
      message: `127.0.0.1:${primary.port}/shop serves no reads: it is not a standby: it was promoted, or is the primary itself`,
    })
  })

  test('warns about paused replay, and its line mends it', async () => {
    await standby.pause()
    const { 'replicas.lag': lag } = await findings(urlOf(standby.port))
    expect(lag).toEqual({
      id: 'replicas.lag',
      status: 'warning',
      message: `127.0.0.1:${standby.port}/shop has paused its replay: its data becomes older and older`,
      fix: 'select pg_wal_replay_resume();  -- on the replica',
    })
    await standby.sql('postgres', lag?.fix ?? '')
    await waitFor('the replica', isInUse)
  })

  test('warns about a lag above the limit', async () => {
    await standby.setDelay(3_600_000)
    await primary.sql('shop', 'create table note (id int)')
    const late = await findings(urlOf(standby.port))
    await standby.setDelay(0)
    expect(late).toEqual(
      found(
        'replicas.lag',
        'warning',
        expect.stringMatching(
          /^127\.0\.0\.1:\d+\/shop is \d+ bytes of the log and more than 1 s behind: reads go to the primary above 1000 ms$/,
        ),
        'select * from pg_stat_replication;  -- on the primary: where the log waits; then recovery_min_apply_delay on the replica',
      ),
    )
    await waitFor('the replica', isInUse)
  })

  test.each(['basalt_gateway', 'postgres'])('warns if the replica rejects %s', async (role) => {
    const [{ file } = { file: '' }] = await standby.sql<{ file: string }>(
      'postgres',
      `select current_setting('hba_file') as file`,
    )
    const rules = readFileSync(file, 'utf8')
    const reject = async (text: string) => {
      writeFileSync(file, text)
      await standby.sql('postgres', 'select pg_reload_conf()')
    }
    await reject(`host shop ${role} 127.0.0.1/32 reject\n${rules}`)
    // The postmaster reads the file a moment later.
    await waitFor('the refusal', async () => !(await isInUse()))
    const rejected = await findings(urlOf(standby.port))
    await reject(rules)
    expect(rejected).toEqual(
      found(
        'replicas.login',
        'warning',
        expect.stringMatching(
          new RegExp(
            `:\\d+/shop serves no reads: it rejects ${role} \\(pg_hba\\.conf rejects connection .*\\)$`,
          ),
        ),
        `host all ${role} samenet scram-sha-256   # in its pg_hba.conf, then select pg_reload_conf();`,
      ),
    )
    await waitFor('the replica', isInUse)
  })

  test('names a pooler with one login for all roles, in which transactions break', async () => {
    const target = { target: standby.port, user: 'postgres', database: 'shop', sessions: 3 }
    await using pooler = await startReleasingPooler({ ...target, keepsBlocks: false })
    const address = `127.0.0.1:${pooler.port}/shop`
    expect(await findings(urlOf(pooler.port))).toEqual({
      ...found(
        'replicas.login',
        'warning',
        `${address} serves no reads: it rejects basalt_administrator (a connection as basalt_administrator works as postgres)`,
        expect.any(String),
      ),
      ...found(
        'replicas.context',
        'failure',
        `${address} serves no reads: the context of a caller does not reach the next statement (its role is postgres): policies would not apply`,
        'pool_mode = transaction   ; in pgbouncer.ini, or let database.url lead to PostgreSQL itself',
      ),
    })
  })

  // This is the last test, because there is no way back.
  test('warns about a promoted replica', async () => {
    await standby.promote()
    expect((await findings(urlOf(standby.port)))['replicas.identity']).toMatchObject({
      status: 'warning',
      message: `127.0.0.1:${standby.port}/shop serves no reads: it is not a standby: it was promoted, or is the primary itself`,
    })
  })
})
