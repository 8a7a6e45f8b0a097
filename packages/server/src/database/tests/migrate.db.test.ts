import { expect, test } from 'vitest'
import { openTransaction } from '../../../test/account-nodes.ts'
import { connectTo } from '../../../test/connections.ts'
import { oneAdministrator } from '../../../test/one-administrator.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { OperatorError } from '../../lib/errors.ts'
import { migrate } from '../preparation/migrate.ts'

async function createEmptyDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  await database.sql('drop schema basalt cascade')
  return database
}

async function migrateOnce(database: TestDatabase, log?: Parameters<typeof migrate>[1]): Promise<string[]> {
  const connection = await connectTo(database)
  try {
    return await migrate(connection, log)
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
])('migrations › run on one of many concurrent nodes while the others wait, %s', async (_, preference) => {
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
  expect(all.slice(0, 2)).toEqual(['core', 'operations'])
})

test('migrations › close the system schema to callers, except for the helpers of policies', async () => {
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
    'app_metadata',
    'check_size_classes',
    'claims',
    'email_verified',
    'is_anonymous',
    'plan_class',
    'planned_for',
    'session_id',
    'size_class',
    'user_email',
    'user_id',
  ])
})

test('migrations › leave a database that a newer version migrated unchanged', async () => {
  await using database = await createTestDatabase()
  const before = await ledger(database)
  await database.sql(
    `insert into basalt.migrations (version, name, checksum) values (${before.length + 1}, 'later', 'x')`,
  )
  await expect(migrateOnce(database)).rejects.toEqual(
    new OperatorError('the database was migrated by a newer Basalt: upgrade this one'),
  )
})

test('migrations › leave a database with another history unchanged', async () => {
  await using database = await createTestDatabase()
  await database.sql(`update basalt.migrations set checksum = 'x' where version = 2`)
  await expect(migrateOnce(database)).rejects.toEqual(
    new OperatorError("migration 2 (operations) of the database differs from this Basalt's"),
  )
})

test('migrations › leave nothing when they are cut off, and complete on the next run', async () => {
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

test('migrations › let other statements pass while a transaction holds a lock, and continue after it', async () => {
  await using database = await createTestDatabase()
  await database.sql(`${oneAdministrator}; delete from basalt.migrations where version >= 35`)
  await using holder = await openTransaction(database)
  await holder.sql('select from basalt.users')
  const lines: string[] = []
  const migrating = migrateOnce(database, (line) => void lines.push(line))
  await holder.waitForBlocked()
  // It waits until the migration gives up.
  expect(await database.sql('select from basalt.users')).toEqual([])
  await waitFor('the log', () => lines.length > 0)
  expect(lines[0]).toBe('failed to migrate the system tables: another session holds a lock; retrying in 1 s')
  await holder.commit()
  expect((await migrating)[0]).toBe('administrators')
})
