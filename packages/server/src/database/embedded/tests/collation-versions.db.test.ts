import { chmodSync, rmSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copyClusterTemplate } from '../../../../test/cluster-template.ts'
import { makeScratchDirectory } from '../../../../test/scratch-directory.ts'
import { waitFor } from '../../../../test/wait-for.ts'
import { EmbeddedPostgres } from '../embedded-postgres.ts'

const directory = makeScratchDirectory('basalt-collations-')
let log: [string, object | undefined][] = []

beforeAll(() => {
  // Postgres runs under an account of its own, which needs access.
  chmodSync(directory, 0o755)
  copyClusterTemplate(directory)
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

async function open(signal?: AbortSignal): Promise<EmbeddedPostgres> {
  log = []
  return await EmbeddedPostgres.open({
    dataDirectory: directory,
    purpose: 'basalt test',
    asServer: true,
    log: (message, detail) => log.push([message, detail]),
    settings: { fsync: 'off', autovacuum: 'off', max_prepared_transactions: '1' },
    tcpPort: 0,
    signal,
  })
}

type Socket = EmbeddedPostgres['socket']

async function connect({ directory: host, ...rest }: Socket): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ host, ...rest })
  client.on('error', () => undefined)
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end().catch(() => undefined) })
}

/** Makes all versions look as if another ICU had created the databases. */
const asByAnotherIcu = `
  update pg_database set datcollversion = '57.1' where datcollversion is not null;
  update pg_collation set collversion = '57.1' where collprovider = 'i'`

const files = async (client: pg.Client) =>
  Object.fromEntries(
    (
      await client.query(`
        select relname, pg_relation_filenode(oid) as file from pg_class
        where relkind = 'i' and relnamespace = 'public'::regnamespace`)
    ).rows.map(({ relname, file }) => [relname, file]),
  )

/** Waits until a start has rebuilt the first index. Returns the files of all. */
async function waitForNewFile(socket: Socket, old: Record<string, number>): Promise<Record<string, number>> {
  let now = old
  await waitFor('the first rebuilt index', async () => {
    // Postgres does not accept connections yet.
    const client = await connect(socket).catch(() => undefined)
    if (client === undefined) return false
    await using _ = client
    now = await files(client)
    return now.person_name !== old.person_name
  })
  return now
}

const outdated = async (client: pg.Client) => {
  const { rows } = await client.query(`
    select (
        select count(*) from pg_database where datcollversion <> pg_database_collation_actual_version(oid)
      )::int as databases,
      (select count(*) from pg_collation where collversion <> pg_collation_actual_version(oid))::int as collations`)
  return rows[0]
}

describe('embedded collations', () => {
  test('rebuilds the indexes that depend on ICU when its version changes, before the database is opened', async () => {
    const before = await open()
    let old: Record<string, number>
    {
      await using client = await connect(before.socket)
      await client.query(`
        create table person (id int primary key, name text, code text collate "C", born date);
        create index person_name on person (name);
        create index person_code on person (code);
        create index person_born on person (born);
        create index person_root on person (code collate unicode);
        create index person_lower on person (lower(name) collate "C");
        create table vague (id int primary key, tag text);
        insert into person select i, 'n' || i from generate_series(1, 100) i;
        ${asByAnotherIcu}`)
      old = await files(client)
      expect(await outdated(client)).toEqual({ databases: 3, collations: expect.any(Number) })
    }
    await before.close()

    const after = await open()
    await using client = await connect(after.socket)
    const now = await files(client)
    expect(Object.keys(now).filter((name) => now[name] !== old[name])).toEqual(
      expect.arrayContaining(['person_name', 'person_root', 'person_lower']),
    )
    expect(
      Object.keys(now)
        .filter((name) => now[name] === old[name])
        .sort(),
    ).toEqual(['person_born', 'person_code', 'person_pkey', 'vague_pkey'])
    expect(await outdated(client)).toEqual({ databases: 0, collations: 0 })
    expect(log).toContainEqual([
      'the indexes are rebuilt',
      { database: 'basalt', indexes: 3, ms: expect.any(Number) },
    ])
    await client.end()
    await after.close()

    const again = await open()
    expect(log).toEqual([])
    await again.close()
  })

  test('rebuilds the indexes at the next start if one was stopped in the middle', async () => {
    const before = await open()
    const { socket } = before
    let old: Record<string, number>
    {
      await using client = await connect(socket)
      await client.query(`
        create table late (tag text primary key);
        insert into late select repeat('x', 100) || i from generate_series(1, 1000) i;
        ${asByAnotherIcu}`)
      old = await files(client)
      // Outlasts the stop, and keeps the rebuild of the largest index waiting.
      await client.query(`begin; lock table late in access exclusive mode; prepare transaction 'held'`)
    }
    await before.close()
    const aborter = new AbortController()
    const opening = open(aborter.signal)
    opening.catch(() => undefined)
    const middle = await waitForNewFile(socket, old)
    aborter.abort(new Error('stopped'))
    await expect(opening).rejects.toThrow('stopped')

    const next = open()
    {
      await waitForNewFile(socket, middle)
      await using client = await connect(socket)
      expect(await outdated(client)).toEqual({ databases: 3, collations: expect.any(Number) })
      await client.query(`rollback prepared 'held'`)
    }
    const after = await next
    await using client = await connect(after.socket)
    expect((await files(client)).late_pkey).not.toBe(old.late_pkey)
    expect(await outdated(client)).toEqual({ databases: 0, collations: 0 })
    await client.end()
    await after.close()
  })
})
