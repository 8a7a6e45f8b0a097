import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findingsOf } from '../../../../test/doctor.ts'
import { createDirectory } from '../../../../test/server-process.ts'
import { testConfig } from '../../../../test/test-config.ts'
import {
  findFreePort,
  startThrowAwayCluster,
  type ThrowAwayCluster,
} from '../../../../test/throw-away-cluster.ts'
import { waitFor } from '../../../../test/wait-for.ts'
import type { Config } from '../../../configuration.ts'
import { applyMigrations } from '../../../project/migrations/apply.ts'
import { readMigrationFiles } from '../../../project/migrations/files.ts'
import { withDatabase } from '../../with-database.ts'
import { backup } from '../checks/backup.ts'
import { clock } from '../checks/clock.ts'
import { connections } from '../checks/connections.ts'
import { database } from '../checks/database.ts'
import { engine } from '../checks/engine.ts'
import { keys } from '../checks/keys.ts'
import { migrations } from '../checks/migrations.ts'

let cluster: ThrowAwayCluster
let config: Config
const configOf = (name: string, overrides: Readonly<Record<string, string>> = {}) =>
  testConfig({ 'database.url': `postgresql://postgres@127.0.0.1:${cluster.port}/${name}`, ...overrides })

beforeAll(async () => {
  cluster = await startThrowAwayCluster({
    archive_mode: 'on',
    archive_command: '/bin/false',
    max_connections: '40',
  })
  await cluster.sql('postgres', 'create database shop')
  config = configOf('shop')
  await withDatabase(config, 'test', async () => undefined)
})
afterAll(() => cluster[Symbol.asyncDispose]())

function found(id: string, status: string, message: unknown, fix: unknown = null) {
  return { [id]: { id, status, message, fix } }
}

describe('basalt doctor › database', () => {
  test('names an address where nothing listens, and skips the other checks', async () => {
    const port = await findFreePort()
    const wrong = testConfig({ 'database.url': `postgresql://app:hidden-word@127.0.0.1:${port}/shop` })
    expect(await findingsOf(wrong, database)).toEqual(
      found(
        'database',
        'failure',
        `cannot reach the database at 127.0.0.1:${port}/shop: connect ECONNREFUSED 127.0.0.1:${port}`,
        'basalt config   # database.url',
      ),
    )
    expect(await findingsOf(wrong, engine)).toEqual(
      found('engine', 'skipped', 'the database cannot be reached'),
    )
  })

  test('connects', async () => {
    expect(await findingsOf(config, database)).toEqual(
      found('database', 'ok', expect.stringMatching(/^connected to 127\.0\.0\.1:\d+\/shop in \d+ ms$/)),
    )
  })
})

describe('basalt doctor › engine', () => {
  test('has nothing to mend on a usual database', async () => {
    expect(await findingsOf(config, engine)).toEqual({
      ...found('engine.version', 'ok', expect.stringMatching(/^PostgreSQL 18\./)),
      ...found('engine.encoding', 'ok', 'texts are UTF8'),
      ...found('engine.distribution', 'ok', 'not distributed'),
      ...found('engine.extensions', 'ok', 'no extension that the API uses is installed'),
    })
  })

  test('fails on another encoding', async () => {
    await cluster.sql('postgres', `create database latin encoding 'LATIN1' locale 'C' template template0`)
    expect((await findingsOf(configOf('latin'), engine))['engine.encoding']).toMatchObject({
      status: 'failure',
      message: 'the encoding of the database is LATIN1: texts with other characters are rejected or damaged',
    })
  })

  test('fails on a read-only database', async () => {
    await cluster.sql('postgres', 'create database standby')
    await cluster.sql('postgres', 'alter database standby set default_transaction_read_only = on')
    expect(await findingsOf(configOf('standby'), engine)).toEqual(
      found('engine', 'failure', 'the database is read-only (a standby?): Basalt needs the primary'),
    )
  })

  test('warns about an outdated extension, and its line mends it', async () => {
    await cluster.sql('shop', `create extension pg_trgm version '1.5'`)
    const { 'engine.extensions': outdated } = await findingsOf(config, engine)
    expect(outdated).toEqual({
      id: 'engine.extensions',
      status: 'warning',
      message: expect.stringMatching(/^the extension pg_trgm is 1\.5, and PostgreSQL has 1\.\d$/),
      fix: 'alter extension pg_trgm update;',
    })
    await cluster.sql('shop', outdated?.fix ?? '')
    expect((await findingsOf(config, engine))['engine.extensions']?.status).toBe('ok')
  })
})

describe('basalt doctor › clock', () => {
  const at = (offsetMs: number) => ({ clock: { now: () => new Date(Date.now() + offsetMs) } })

  test('has nothing to mend on one machine', async () => {
    expect(await findingsOf(config, clock)).toEqual(
      found('clock', 'ok', 'this machine and the database have the same time'),
    )
  })

  test.each([
    [5000, 'warning', /^the clock of this machine is \d\.\d s ahead of that of the database$/],
    [-5000, 'warning', /^the clock of this machine is \d\.\d s behind that of the database$/],
    [
      60_000,
      'failure',
      /^the clock of this machine is \d+\.\d s ahead of .*: tokens and codes may be rejected$/,
    ],
    [
      -60_000,
      'failure',
      /^the clock of this machine is \d+\.\d s behind .*: tokens and codes may be rejected$/,
    ],
  ])('with an offset of %i ms it is a %s', async (offsetMs, status, message) => {
    expect(await findingsOf(config, clock, at(offsetMs))).toEqual(
      found(
        'clock',
        status,
        expect.stringMatching(message),
        'timedatectl set-ntp true   # on this machine and on that of the database',
      ),
    )
  })
})

describe('basalt doctor › migrations', () => {
  test('has nothing to mend after a start', async () => {
    expect(await findingsOf(config, migrations)).toEqual(
      found('migrations', 'ok', 'the schema basalt is that of this version'),
    )
  })

  test('warns about pending ones, and applies none', async () => {
    const [{ name, version } = { name: '', version: 0 }] = await cluster.sql<{
      name: string
      version: number
    }>(
      'shop',
      'delete from basalt.migrations where version = (select max(version) from basalt.migrations) returning *',
    )
    const findings = await findingsOf(config, migrations)
    const left = await cluster.sql('shop', `select from basalt.migrations where version = ${version}`)
    expect([findings, left]).toEqual([
      found(
        'migrations',
        'warning',
        `1 migrations of the schema basalt are pending (${name}): the next start applies them`,
        'basalt backup before-upgrade.tar.gz && basalt reload',
      ),
      [],
    ])
  })

  test('fails after a newer version, whose migrations are unknown', async () => {
    await cluster.sql('postgres', 'create database newer')
    const newer = configOf('newer')
    await withDatabase(newer, 'test', async () => undefined)
    await cluster.sql(
      'newer',
      `insert into basalt.migrations (version, name, checksum) values (9999, 'later', 'x')`,
    )
    expect(await findingsOf(newer, migrations)).toEqual(
      found('migrations', 'failure', 'the database was migrated by a newer Basalt: upgrade this one'),
    )
  })
})

describe('basalt doctor › connections', () => {
  test('has nothing to mend while enough are left', async () => {
    expect((await findingsOf(config, connections)).connections).toMatchObject({ status: 'ok' })
  })

  test('fails if PostgreSQL admits fewer than this machine may need', async () => {
    expect(await findingsOf(configOf('shop', { 'database.max_conns': '100' }), connections)).toEqual(
      found(
        'connections',
        'failure',
        expect.stringMatching(
          /^this machine may need 102 connections, but of the 37 that PostgreSQL admits, other programs use \d+$/,
        ),
        expect.stringMatching(/^alter system set max_connections = \d+; {2}-- then restart PostgreSQL$/),
      ),
    )
  })

  test('fails if the database admits fewer', async () => {
    await cluster.sql('postgres', 'create database narrow connection limit 5')
    expect((await findingsOf(configOf('narrow'), connections)).connections).toMatchObject({
      status: 'failure',
      message: expect.stringContaining('of the 5 that PostgreSQL admits'),
    })
  })
})

describe('basalt doctor › backup', () => {
  test('fails while the log cannot be archived, and not afterwards', async () => {
    await cluster.sql('shop', 'select pg_switch_wal()')
    await waitFor('a failed attempt', async () => {
      const { backup: finding } = await findingsOf(config, backup)
      return finding?.status === 'failure'
    })
    expect(await findingsOf(config, backup)).toEqual(
      found(
        'backup',
        'failure',
        expect.stringMatching(/^the archive command fails on \w+, so a restore would lose what follows$/),
        'select * from pg_stat_archiver;  -- and the log of PostgreSQL',
      ),
    )
    await cluster.sql('shop', `alter system set archive_command = '/bin/true'`)
    await cluster.sql('shop', 'select pg_reload_conf()')
    await waitFor('the archive', async () => (await findingsOf(config, backup)).backup?.status === 'ok')
  })
})

describe('basalt doctor › migrations.project', () => {
  test('warns about pending ones, fails where one is in the way, and applies none', async () => {
    await using directory = createDirectory()
    await cluster.sql('postgres', 'create database project')
    const project = configOf('project', { 'project.migrations': directory.path })
    await withDatabase(project, 'test', async () => undefined)
    const at = async () => (await findingsOf(project, migrations))['migrations.project']
    expect(await at()).toBeUndefined()

    const file = join(directory.path, '20261122093000_add_todo.sql')
    writeFileSync(file, 'create table todo (id int primary key);')
    expect(await at()).toEqual({
      id: 'migrations.project',
      status: 'warning',
      message: 'migrations of the project are pending: 20261122093000_add_todo.sql',
      fix: 'basalt migrate up',
    })
    expect(await cluster.sql('project', `select to_regclass('todo') as todo`)).toEqual([{ todo: null }])

    const files = readMigrationFiles(directory.path)
    await withDatabase(project, 'test', (opened) =>
      applyMigrations(opened, { files, settings: project.project }),
    )
    expect(await at()).toEqual({
      id: 'migrations.project',
      status: 'ok',
      message: 'all 1 migrations of the project are applied',
      fix: null,
    })

    writeFileSync(file, 'create table todo (id bigint primary key);')
    expect(await at()).toEqual({
      id: 'migrations.project',
      status: 'failure',
      message: expect.stringMatching(
        /^the migrations of the project cannot be applied: .*20261122093000_add_todo\.sql/,
      ),
      fix: 'basalt migrate status',
    })
  })
})

describe('basalt doctor › keys', () => {
  test('warns about a key of secrets that is derived from that of tokens', async () => {
    const external = { 'auth.jwt_secret': 'a-secret-of-at-least-thirty-two-characters' }
    expect(await findingsOf(configOf('shop', external), keys)).toEqual(
      found(
        'keys',
        'warning',
        'auth.encryption_key is derived from auth.jwt_secret, so replacing the latter makes stored secrets useless',
        'BASALT_AUTH_ENCRYPTION_KEY_FILE=/run/secrets/encryption   # before the first secret is stored; afterwards keep auth.jwt_secret',
      ),
    )
    const mended = configOf('shop', { ...external, 'auth.encryption_key': '0'.repeat(64) })
    expect(await findingsOf(mended, keys)).toEqual(
      found('keys', 'ok', 'the configured keys open all stored secrets'),
    )
  })

  test('fails if no configured key opens the stored secrets', async () => {
    await cluster.sql(
      'shop',
      `insert into basalt.users (id, email) values ('a11ce000-0000-4000-8000-000000000001', 'a@example.com');
       insert into basalt.mfa_factors (user_id, method, secret) values
         ('a11ce000-0000-4000-8000-000000000001', 'totp', 'k1.aaaa.bbbb')`,
    )
    expect((await findingsOf(config, keys)).keys).toMatchObject({ status: 'failure' })
  })
})
