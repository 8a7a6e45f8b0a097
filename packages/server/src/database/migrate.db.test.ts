import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { connectTo } from '../../test/connections.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-app.ts'
import { OperatorError } from '../lib/errors.ts'
import { migrate } from './migrate.ts'

const migrations = new URL('../../migrations/', import.meta.url)

async function createEmptyDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  await database.sql('drop schema basalt cascade')
  return database
}

async function migrateOnce(database: TestDatabase): Promise<string[]> {
  const connection = await connectTo(database)
  try {
    return await migrate(connection)
  } finally {
    await connection.close()
  }
}

function ledger(database: TestDatabase) {
  return database.sql<{ version: number; name: string }>(
    'select version, name from basalt.migrations order by version',
  )
}

test.each([
  ['as usual', 'read committed'],
  ['in a database that serializes by default', 'serializable'],
  ['in a database that is read-only by default', 'read only'],
])('of many at once one migrates and the others wait, %s', async (_, preference) => {
  await using database = await createEmptyDatabase()
  const name = new URL(database.url).pathname.slice(1)
  await database.sql(
    preference === 'read only'
      ? `alter database ${name} set default_transaction_read_only = on`
      : `alter database ${name} set default_transaction_isolation = '${preference}'`,
  )
  const applied = await Promise.all(Array.from({ length: 8 }, () => migrateOnce(database)))
  const [all = [], ...none] = applied.toSorted((one, other) => other.length - one.length)
  expect(none).toEqual(none.map(() => []))
  expect((await ledger(database)).map((migration) => migration.name)).toEqual(all)
  expect(all.slice(0, 2)).toEqual(['core', 'admin'])
})

test('the system schema is closed to callers, but for the helpers of policies', async () => {
  await using database = await createEmptyDatabase()
  await migrateOnce(database)
  const relations = await database.sql(
    `select relname from pg_class c join pg_namespace n on n.oid = relnamespace
     where nspname = 'basalt' and case when relkind = 'S'
       then has_sequence_privilege('basalt_authenticated', c.oid, 'usage, select, update')
       when relkind in ('r', 'p', 'v', 'm', 'f')
       then has_table_privilege('basalt_authenticated', c.oid, 'select, insert, update, delete, truncate, references, trigger')
         or has_any_column_privilege('basalt_authenticated', c.oid, 'select, insert, update, references') end`,
  )
  expect(relations).toEqual([])
  const functions = await database.sql<{ name: string }>(
    `select proname as name from pg_proc p join pg_namespace n on n.oid = pronamespace
     where nspname = 'basalt' and has_function_privilege('basalt_authenticated', p.oid, 'execute') order by 1`,
  )
  expect(functions.map(({ name }) => name)).toEqual([
    'aal',
    'claims',
    'email_verified',
    'is_anonymous',
    'session_id',
    'user_email',
    'user_id',
  ])
})

test('addresses of before are brought into NFC, and the revocations of before kept for a day', async () => {
  await using database = await createEmptyDatabase()
  const connection = await connectTo(database)
  const files = readdirSync(migrations).sort()
  const scripts = files.map((file) => readFileSync(new URL(file, migrations), 'utf8'))
  const last = files.findIndex((file) => file.endsWith('_identity.sql'))
  for (const script of scripts.slice(0, last)) await connection.script(script)
  await database.sql(`
    insert into basalt.users (id, email, email_verified_at, created_at) values
      ('00000000-0000-4000-8000-000000000001', E'jo\\u0308rg@example.com', now(), now()),
      ('00000000-0000-4000-8000-000000000002', E'a\\u030asa@example.com', null, now() - interval '1 day'),
      ('00000000-0000-4000-8000-000000000003', E'\\u212bsa@example.com', now(), now()),
      ('00000000-0000-4000-8000-000000000004', E'z\\u00e9@example.com', null, now()),
      ('00000000-0000-4000-8000-000000000005', E'ze\\u0301@example.com', now(), now()),
      ('00000000-0000-4000-8000-000000000006', 'plain@example.com', null, now());
    insert into basalt.mfa_factors (user_id, method, confirmed_at) values
      ('00000000-0000-4000-8000-000000000006', 'email', '2026-01-01');
    insert into basalt.sessions (user_id, aal, amr, expires_at, last_active_at) values
      ('00000000-0000-4000-8000-000000000001', 'aal1', '{password}', '2027-01-01', '2026-01-01');
    insert into basalt.ended_sessions (session_id, ended_at) values (gen_random_uuid(), '2026-01-01')`)
  await connection.script(scripts[last] ?? '')
  await connection.close()
  const rows = await database.sql(
    `select right(id::text, 1) as id, email is NFC normalized as is_nfc from basalt.users order by 1`,
  )
  // Of two that become the same the verified one takes the spelling; one that has it keeps it.
  expect(rows.map(({ id, is_nfc }) => `${id} ${is_nfc}`)).toEqual([
    '1 true',
    '2 false',
    '3 true',
    '4 true',
    '5 false',
    '6 true',
  ])
  expect(
    await database.sql(
      `select email_verified_at = '2026-01-01' as is_so from basalt.users where email like 'plain%'`,
    ),
  ).toEqual([{ is_so: true }])
  for (const table of ['sessions', 'ended_sessions']) {
    expect(await database.sql(`select tokens_expire_at::date::text as until from basalt.${table}`)).toEqual([
      { until: '2026-01-02' },
    ])
  }
})

test('jobs of the queue of before are carried over, and those that were running are queued again', async () => {
  await using database = await createEmptyDatabase()
  const connection = await connectTo(database)
  const files = readdirSync(migrations).sort()
  const scripts = files.map((file) => readFileSync(new URL(file, migrations), 'utf8'))
  const last = files.findIndex((file) => file.endsWith('_queue.sql'))
  for (const script of scripts.slice(0, last)) await connection.script(script)
  // As pg-boss 12 made it: what is read of it.
  await database.sql(`
    create schema basalt_jobs;
    create type basalt_jobs.job_state as enum ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');
    create table basalt_jobs.job (id uuid default gen_random_uuid(), name text not null, data jsonb,
      state basalt_jobs.job_state not null, retry_limit int not null default 2, retry_count int not null default 0,
      source_retry_count int, output jsonb, group_id text, start_after timestamptz not null default '2030-01-01',
      created_on timestamptz not null default now(), started_on timestamptz, completed_on timestamptz)
      partition by list (name);
    create table basalt_jobs.job_common partition of basalt_jobs.job default;
    insert into basalt_jobs.job (name, data, state, retry_count, source_retry_count, output, group_id, started_on, completed_on)
    values
      ('1 new', '{"a": 1}', 'created', 0, null, null, gen_random_uuid(), null, null),
      ('2 retried', '{}', 'retry', 1, null, '{"message": "x"}', null, now(), null),
      ('3 running', null, 'active', 2, null, null, null, now(), null),
      ('4 done', '{}', 'completed', 0, null, null, null, now(), now()),
      ('5 canceled', '{}', 'cancelled', 0, null, null, null, null, now()),
      ('6 failed again', '{}', 'failed', 4, 3, '{"value": {"message": "y"}}', null, now(), now()),
      ('__pgboss__send-it', '{}', 'created', 0, null, null, null, null, null)`)
  await connection.script(scripts[last] ?? '')
  await connection.close()
  const rows = await database.sql(`
    select type, payload, state, attempts, max_attempts, last_error, schedule_id is not null as is_scheduled,
      run_at <= now() as is_due, finished_at is not null as is_finished
    from basalt.jobs order by type`)
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['1 new', { a: 1 }, 'queued', 0, 3, null, true, false, false],
    ['2 retried', {}, 'queued', 2, 3, 'x', false, false, false],
    ['3 running', {}, 'queued', 2, 3, null, false, true, false],
    ['4 done', {}, 'completed', 1, 3, null, false, false, true],
    ['5 canceled', {}, 'canceled', 0, 3, null, false, false, true],
    ['6 failed again', {}, 'failed', 2, 1, 'y', false, false, true],
  ])
  expect(await database.sql(`select from pg_namespace where nspname = 'basalt_jobs'`)).toEqual([])
})

test('a database that a newer version migrated is left alone', async () => {
  await using database = await createTestDatabase()
  const before = await ledger(database)
  await database.sql(
    `insert into basalt.migrations (version, name, checksum) values (${before.length + 1}, 'later', 'x')`,
  )
  await expect(migrateOnce(database)).rejects.toEqual(
    new OperatorError('the database was migrated by a newer Basalt: upgrade this one'),
  )
})

test('a database with another history is left alone', async () => {
  await using database = await createTestDatabase()
  await database.sql(`update basalt.migrations set checksum = 'x' where version = 2`)
  await expect(migrateOnce(database)).rejects.toEqual(
    new OperatorError("migration 2 (admin) of the database differs from this Basalt's"),
  )
})

test('a migration that is cut off leaves nothing, and the next one does it all', async () => {
  await using database = await createEmptyDatabase()
  await database.sql(`
    create function cut_off() returns event_trigger language plpgsql
      as 'begin perform pg_terminate_backend(pg_backend_pid()); end';
    create event trigger cut_off on ddl_command_end when tag in ('CREATE INDEX') execute function cut_off()`)
  await expect(migrateOnce(database)).rejects.toThrow()
  expect(await database.sql(`select from pg_namespace where nspname = 'basalt'`)).toEqual([])
  await database.sql('drop event trigger cut_off')
  expect(await migrateOnce(database)).not.toEqual([])
})
