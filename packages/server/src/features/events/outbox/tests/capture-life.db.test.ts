import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { findInstalledPostgres, startInstalledPostgres } from '../../../../../test/installed-postgres.ts'
import { startReceiver } from '../../../../../test/receiver.ts'
import { basaltHere } from '../../../../../test/terminal.ts'
import {
  createTestApp,
  createTestDatabase,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { testSecret } from '../../../../../test/test-config.ts'
import { startThrowAwayCluster } from '../../../../../test/throw-away-cluster.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const token = userToken({ sub: alice })

/** Opens a database of any cluster, with its own pool. */
function databaseAt(url: string, adminUrl = url): TestDatabase {
  const pool = new pg.Pool({ connectionString: adminUrl, max: 2 })
  pool.on('error', () => undefined)
  return {
    url,
    sql: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(text, [...values])).rows ?? [],
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

const addWebhook = (url = 'http://127.0.0.1:9/') => `
  insert into basalt.webhooks (id, url, events, tables, enabled)
  values (gen_random_uuid(), '${url}', '{create,update,delete,truncate}', '{}', true)`

async function triggersOf({ sql }: TestDatabase, table: string): Promise<number> {
  const [row] = await sql(
    `select count(*)::int from pg_trigger where tgrelid = to_regclass($1) and tgname like 'basalt_capture_%'`,
    [table],
  )
  return row?.count
}

async function loggedOf({ sql }: TestDatabase, table: string): Promise<string[]> {
  const rows = await sql(
    `select action || ' ' || record::text as line from basalt.outbox where table_name = $1 order by id`,
    [table],
  )
  return rows.map(({ line }) => line)
}

function waitForTriggers(database: TestDatabase, table: string, count = 4): Promise<unknown> {
  return waitFor(`${count} triggers on ${table}`, async () => (await triggersOf(database, table)) === count)
}

const installed = findInstalledPostgres()

describe.skipIf(installed === undefined)(
  `outbox › pg_dump${installed === undefined ? ' (skipped: no PostgreSQL is installed in /usr/lib/postgresql)' : ''}`,
  () => {
    test('restores triggers and log in another database, where writes are logged before and after Basalt starts', async () => {
      await using postgres = await startInstalledPostgres(installed ?? '')
      const make = async (name: string) => {
        await postgres.run('psql', ['--dbname', `${postgres.url}/postgres`, '-c', `create database ${name}`])
        return databaseAt(`${postgres.url}/${name}`)
      }
      const restore = (name: string, file: string, stops: string) =>
        postgres.run('psql', [
          ...['--dbname', `${postgres.url}/${name}`, '--quiet', '--set', `ON_ERROR_STOP=${stops}`],
          ...['--file', file],
        ])
      const directory = mkdtempSync(join(tmpdir(), 'basalt-dump-'))
      // PostgreSQL's programs run as an account of their own.
      chmodSync(directory, 0o777)
      await using from = await make('before')
      const dump = join(directory, 'whole.sql')
      const partial = join(directory, 'partial.sql')
      const config = { 'webhooks.deliver': 'false', 'database.require_rls': 'false' }
      {
        await using app = await createTestApp({
          database: from,
          config,
          setup: 'create table item (id int primary key, name text); create table apart (id int primary key)',
        })
        await app.sql(addWebhook())
        await waitForTriggers(from, 'item')
        await app.sql(`insert into item values (1, 'before')`)
        await postgres.run('pg_dump', ['--dbname', from.url, '--file', dump])
        await postgres.run('pg_dump', ['--dbname', from.url, '--file', partial, '--exclude-schema', 'basalt'])
      }
      await using to = await make('after')
      await restore('after', dump, '1')
      expect(await triggersOf(to, 'item')).toBe(4)
      await to.sql(`insert into item values (2, 'not started'); delete from item where id = 1`)
      const logged = [
        'create {"id":1,"name":"before"}',
        'create {"id":2,"name":"not started"}',
        'delete {"id":1,"name":"before"}',
      ]
      expect(await loggedOf(to, 'item')).toEqual(logged)
      {
        await using app = await createTestApp({ database: to, config })
        await using stream = await openEventStream(app.url, 'tables=item', { token })
        await app.sql(`insert into item values (3, 'started')`)
        const created = await app.request('POST', '/api/collections/item', {
          token: await app.adminToken(),
          body: { id: 4, name: 'by the API' },
        })
        expect(created.status).toBe(201)
        expect((await stream.next(2)).map(({ record }) => record.id)).toEqual([3, 4])
        expect((await loggedOf(to, 'item')).slice(3)).toEqual([
          'create {"id":3,"name":"started"}',
          'create {"id":4,"name":"by the API"}',
        ])
        expect(await triggersOf(to, 'item')).toBe(4)
        // A dump of only the rows has no Basalt schema, and psql reports it.
        const { sql } = await make('without')
        expect(await restore('without', partial, '0')).toContain('schema "basalt" does not exist')
        await sql(`insert into item values (5, 'plain')`)
        expect(await sql('select id from item order by id')).toEqual([{ id: 1 }, { id: 5 }])
      }
      rmSync(directory, { recursive: true })
    })
  },
)

describe('outbox › capture triggers', () => {
  let database: TestDatabase
  let directory: string

  beforeAll(async () => {
    database = await createTestDatabase()
    directory = mkdtempSync(join(tmpdir(), 'basalt-capture-'))
    mkdirSync(join(directory, 'migrations'))
    write('20260101000000_a.sql', 'create table a (id int primary key, body text)')
    expect((await basalt('migrate', 'up')).code).toBe(0)
  })
  afterAll(async () => {
    await basalt('db', 'branch', 'copy', '--delete')
    rmSync(directory, { recursive: true })
    await database[Symbol.asyncDispose]()
  })

  const write = (name: string, text: string) => writeFileSync(join(directory, 'migrations', name), text)
  const basalt = (...args: string[]) =>
    basaltHere(args, {
      directory,
      env: { BASALT_DATABASE_URL: database.url, BASALT_AUTH_JWT_SECRET: testSecret, PATH: '' },
    })

  test('cause no drift, are copied to branches, outlive migrations, and return after a reset with the next listener', async () => {
    const development = ['--project-development', 'true']
    {
      await using app = await createTestApp({ database, config: { 'webhooks.deliver': 'false' } })
      await app.sql(addWebhook())
      await waitForTriggers(database, 'a')
      expect(await basalt('db', 'diff', '--json')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('"changes": []'),
      })
      expect(await basalt('migrate', 'status')).toMatchObject({ code: 0 })
      write('20260102000000_b.sql', 'alter table a add column more int; alter table a rename body to words')
      const checked = await basalt('migrate', 'check', '--interrupt')
      expect([checked.code, checked.stdout.includes('capture')]).toEqual([0, false])
      await waitForTriggers(database, 'a')

      expect((await basalt('db', 'branch', 'copy', '--interrupt')).code).toBe(0)
      const url = new URL(database.url)
      url.pathname += '_copy'
      await using branch = databaseAt(url.href)
      await branch.sql(`insert into a values (1, 'in the branch')`)
      expect(await loggedOf(branch, 'a')).toEqual(['create {"id":1,"body":"in the branch"}'])
      expect(await loggedOf(database, 'a')).toEqual([])

      expect((await basalt('migrate', 'up')).code).toBe(0)
      await app.sql(`insert into a values (2, 'after', 3)`)
      expect(await loggedOf(database, 'a')).toEqual(['create {"id":2,"words":"after","more":3}'])
      expect(await basalt('migrate', 'status')).toMatchObject({ code: 0 })
    }
    const reset = await basalt('db', 'reset', ...development)
    expect([reset.code, reset.stderr]).toEqual([0, ''])
    await using app = await createTestApp({ database, config: { 'webhooks.deliver': 'false' } })
    await app.sql(addWebhook())
    await waitForTriggers(database, 'a')
    await app.sql(`insert into a values (3, 'made anew', 3)`)
    expect(await loggedOf(database, 'a')).toEqual(['create {"id":3,"words":"made anew","more":3}'])
    expect(await basalt('db', 'diff')).toMatchObject({ code: 0 })
  })

  test('deliver a truncation as an event to a webhook and as a gap to a stream', async () => {
    await using receiver = await startReceiver()
    await using app = await createTestApp({
      database,
      config: { 'webhooks.allow_private_targets': 'true' },
      setup: 'create table emptied (id int primary key); insert into emptied values (1)',
    })
    await app.sql('delete from basalt.webhooks')
    const created = await app.request('POST', '/api/webhooks', {
      token: await app.adminToken(),
      body: { url: receiver.url, tables: ['emptied'], events: ['create', 'truncate'] },
    })
    expect(created.status).toBe(201)
    await waitForTriggers(database, 'emptied', 2)
    await using stream = await openEventStream(app.url, 'tables=emptied', { token })
    await waitForTriggers(database, 'emptied')
    await app.sql('truncate emptied')
    await app.sql('insert into emptied values (2)')
    await stream.named('gap')
    await waitFor('both deliveries', () => receiver.received.length >= 2)
    expect(receiver.received.map(({ json }) => json)).toEqual([
      { action: 'truncate', table: 'emptied', record: {} },
      { action: 'create', table: 'emptied', record: { id: 2 } },
    ])
    await app.sql('insert into emptied values (3)')
    await stream.next(1)
    expect(stream.events.map(({ name, data }) => [name, data.record?.id])).toEqual([
      ['connected', undefined],
      ['gap', undefined],
      ['message', 3],
    ])
  })

  test('are reported as advice with a statement when an operator has disabled them', async () => {
    await using app = await createTestApp({
      database,
      config: { 'webhooks.deliver': 'false' },
      setup: `delete from basalt.webhooks; ${addWebhook()}; create table stopped (id int primary key)`,
    })
    await waitForTriggers(database, 'stopped')
    await app.sql('alter table stopped disable trigger basalt_capture_insert')
    const find = async () => {
      const { json } = await app.request('GET', '/api/admin/advisors', { token: await app.adminToken() })
      return json.items.filter(
        ({ rule, object }: Record<string, string>) => rule === 'events_by_api_only' && object === 'stopped',
      )
    }
    const [advice, ...others] = await find()
    expect(others).toEqual([])
    expect(advice).toMatchObject({
      severity: 'warning',
      detail: 'Why there is none: its trigger basalt_capture_insert is disabled.',
      statement: 'alter table "public"."stopped" enable trigger "basalt_capture_insert";',
    })
    await app.sql(advice.statement)
    expect(await find()).toEqual([])
  })
})

test('outbox › a table that the login role does not own › only API writes are logged on two nodes, and the advice names the missing grant', async () => {
  await using cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create role app login createrole; create role "Sales" login')
  await cluster.sql('postgres', 'create database shop owner app')
  const host = `127.0.0.1:${cluster.port}/shop`
  await using database = databaseAt(`postgresql://app@${host}`, `postgresql://postgres@${host}`)
  await database.sql(`
    create table own (id int primary key);
    alter table own owner to app;
    create table lead (id int primary key);
    alter table lead owner to "Sales";
    grant select, insert, update, delete on lead to app`)
  const config = { 'webhooks.deliver': 'false', 'database.require_rls': 'false' }
  await using one = await createTestApp({ database, config })
  await database.sql('grant select, insert, update, delete on lead to basalt_authenticated')
  await using two = await createTestApp({ database, config })
  const admin = await two.adminToken()
  const created = await two.request('POST', '/api/webhooks', {
    token: admin,
    body: { url: 'http://127.0.0.1:9/', events: ['create', 'update', 'delete', 'truncate'] },
  })
  expect(created.status).toBe(201)
  await waitForTriggers(database, 'own')
  await waitFor('the grant to reach both nodes', async () => {
    const responses = await Promise.all(
      [one, two].map((node) => node.request('GET', '/api/collections/lead', { token })),
    )
    return responses.every(({ status }) => status === 200)
  })
  await using stream = await openEventStream(one.url, 'tables=lead', { token })
  for (const [id, node] of [one, two].entries()) {
    const { status } = await node.request('POST', '/api/collections/lead', { token, body: { id } })
    expect(status).toBe(201)
    await database.sql('insert into lead values ($1)', [id + 10])
  }
  await stream.next(2)
  expect(await loggedOf(database, 'lead')).toEqual(['create {"id":0}', 'create {"id":1}'])
  expect(stream.events.map(({ name }) => name)).toEqual(['connected', 'gap', 'message', 'message'])
  const adviceOf = async () => {
    const { json } = await two.request('GET', '/api/admin/advisors', { token: admin })
    return json.items.filter(({ rule }: { rule: string }) => rule === 'events_by_api_only')
  }
  const [advice, ...others] = await adviceOf()
  expect(others).toEqual([])
  expect(advice).toMatchObject({
    object: 'lead',
    detail: 'Why there is none: it belongs to Sales.',
    statement: 'grant "Sales" to "app";',
  })
  await database.sql(advice.statement)
  // Any later change of the catalog causes another attempt.
  await database.sql(`comment on table lead is 'Of sales.'`)
  await waitForTriggers(database, 'lead')
  await database.sql('insert into lead values (20)')
  expect((await loggedOf(database, 'lead')).slice(2)).toEqual(['create {"id":20}'])
  expect(await adviceOf()).toEqual([])
})
