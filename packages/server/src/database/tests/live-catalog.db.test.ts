import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../test/account-nodes.ts'
import { connectTo } from '../../../test/connections.ts'
import { createManualTimer } from '../../../test/manual-timer.ts'
import { createTestNotifications } from '../../../test/notifications.ts'
import { createTcpProxy } from '../../../test/tcp-proxy.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Timer } from '../../lib/timer.ts'
import { LiveCatalog } from '../catalog/live-catalog.ts'
import { columnsQuery } from '../catalog/queries/columns.ts'
import { constraintsQuery } from '../catalog/queries/constraints.ts'
import { type FingerprintRow, fingerprintQuery } from '../catalog/queries/fingerprint.ts'
import { functionsQuery } from '../catalog/queries/functions.ts'
import { indexesQuery } from '../catalog/queries/indexes.ts'
import { policiesQuery } from '../catalog/queries/policies.ts'
import { relationsQuery } from '../catalog/queries/relations.ts'
import { typesQuery } from '../catalog/queries/types.ts'
import type { Connection } from '../connection/connection.ts'
import { ConnectionLost } from '../errors/failures.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { Pool } from '../pool/pool.ts'
import { render } from '../sql.ts'
import { SystemDatabase } from '../system-database.ts'

let database: TestDatabase
let ours: ReturnType<typeof createPool>
let system: SystemDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  ours = createPool(database.url)
  system = new SystemDatabase(ours.pool)
})
afterAll(async () => {
  await ours[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

/** Creates a pool. @param isAway returns true while connections cannot be opened */
function createPool(url: string, isAway = () => false) {
  const connections: Connection[] = []
  let refusals = 0
  const pool = new Pool({
    async open() {
      if (isAway()) {
        refusals += 1
        throw new ConnectionLost('away')
      }
      const connection = await connectTo({ url })
      connections.push(connection)
      return connection
    },
    size: 2,
    acquireTimeoutMs: 5000,
    waitingLimit: 100,
    workTimeoutMs: 30_000,
    cancel: async () => undefined,
    findDead: async () => [],
  })
  return {
    pool,
    get refusals() {
      return refusals
    },
    cut() {
      for (const connection of connections) connection.destroy()
    },
    [Symbol.asyncDispose]: () => pool.close(),
  }
}

async function fingerprint(): Promise<string> {
  const row = await system.one<FingerprintRow & Record<string, unknown>>(fingerprintQuery(['public']))
  return row.fingerprint
}

describe('catalog fingerprint', () => {
  beforeAll(() =>
    database.sql(`
      create role reader;
      create schema tools;
      create type mood as enum ('good');
      create table base (id int primary key, name text default 'x', mood mood, amount numeric);
      create index base_name on base (name);
      create view shown as select id, name from base;
      create function greet(a int) returns text language sql as 'select 1::text';
      create domain age as int check (value > 0);
      insert into base select n, n::text from generate_series(1, 100) n`),
  )
  afterAll(() => database.sql('drop role reader'))

  test.each([
    'create table further (id int)',
    'create table further_partition (id int) partition by range (id)',
    'alter table further rename to other',
    'drop table other',
    'alter table base add column note text',
    'alter table base rename column note to remark',
    'alter table base alter column remark type varchar(20)',
    'alter table base alter column remark set default 1',
    'alter table base alter column name set not null',
    'alter table base alter column name drop not null',
    'alter table base drop column remark',
    'alter table base add constraint positive check (id > 0)',
    'alter table base rename constraint positive to above_zero',
    'alter table base drop constraint above_zero',
    'create table child (id int primary key, base_id int references base)',
    'create unique index on child (base_id)',
    'alter index base_name rename to base_by_name',
    'drop index base_by_name',
    'create or replace view shown as select id, name, amount from base',
    'alter view shown rename column amount to sum',
    'create materialized view kept as select 1 as one',
    "alter type mood add value 'bad'",
    "alter type mood rename value 'bad' to 'sad'",
    'alter table base add column years age',
    'alter domain age add constraint young check (value < 200)',
    "create or replace function greet(a int) returns text language sql as 'select 2::text'",
    'revoke execute on function greet(int) from public',
    'drop function greet(int)',
    'comment on table base is $$The base$$',
    'comment on column base.id is $$The key$$',
    'alter table base enable row level security',
    'create policy own on base using (id > 1)',
    'alter policy own on base using (id > 2)',
    'alter policy own on base rename to theirs',
    'drop policy theirs on base',
    'grant select on base to basalt_authenticated',
    'revoke select on base from basalt_authenticated',
    'grant select (id) on base to basalt_authenticated',
    'revoke usage on schema public from basalt_authenticated',
    'grant usage on schema public to basalt_authenticated',
    'grant select on child to reader',
    'grant reader to basalt_authenticated',
    'revoke reader from basalt_authenticated',
    'revoke select on child from reader',
    'alter table child set schema tools',
    'alter table tools.child set schema public',
    'create extension if not exists pg_trgm',
  ])('changes with: %s', async (ddl) => {
    const before = await fingerprint()
    await database.sql(ddl)
    expect(await fingerprint()).not.toBe(before)
  })

  test.each([
    'insert into base (id) values (1000)',
    'update base set name = $$y$$',
    'delete from base',
    'analyze base',
    'vacuum (freeze) base',
    'vacuum pg_class',
    'create temporary table passing (id int primary key, name text check (id > 0))',
    'set statement_timeout = 1000',
  ])('stays the same with: %s', async (statement) => {
    const before = await fingerprint()
    await database.sql(statement)
    expect(await fingerprint()).toBe(before)
  })
})

describe('live catalog', () => {
  // PostgreSQL compiles statements above an expected cost (jit_above_cost), which takes longer than reading.
  test.each([
    ['columns', columnsQuery],
    ['constraints', constraintsQuery],
    ['fingerprint', fingerprintQuery],
    ['functions', functionsQuery],
    ['indexes', indexesQuery],
    ['policies', policiesQuery],
    ['relations', relationsQuery],
    ['types', typesQuery],
  ] as const)('reads %s by a statement with a low expected cost', async (_what, query) => {
    const { text, values } = render(query(['public']))
    const [plan] = await database.sql<{ 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }>(
      `explain (format json) ${text}`,
      values,
    )
    expect(plan?.['QUERY PLAN'][0].Plan['Total Cost']).toBeLessThan(100_000)
  })

  let catalog: LiveCatalog
  let notifications: Notifications

  beforeEach(async () => {
    catalog = await openOn(system)
    notifications = createTestNotifications(system)
    catalog.watchWith(notifications)
    await notifications.start()
  })
  afterEach(() => notifications.stop())

  function openOn(on: SystemDatabase, timer?: Timer): Promise<LiveCatalog> {
    return LiveCatalog.open({
      ...{ database: on, schemas: ['public'], clock: systemClock },
      ...(timer === undefined ? {} : { timer }),
    })
  }

  test('notices changes by itself', async () => {
    await database.sql('create table noticed (id int)')
    await waitFor('the table', () => catalog.current.relations.has('noticed'))
    await database.sql('drop table noticed')
    await waitFor('the end of the table', () => !catalog.current.relations.has('noticed'))
  })

  test('returns whether the catalog has changed', async () => {
    const { current } = catalog
    expect(await catalog.refresh(current)).toBe(false)
    await database.sql('create table news (id int)')
    expect(await catalog.refresh(current)).toBe(true)
    expect(catalog.current.relations.has('news')).toBe(true)
    expect(await catalog.refresh(catalog.current)).toBe(false)
    // A caller with the first snapshot learns of the second, even after it has been read.
    expect(await catalog.refresh(current)).toBe(true)
    expect(await catalog.refresh()).toBe(true)
    await database.sql('drop table news')
  })

  test('is not misled by a poll that began before the change', async () => {
    const target = new URL(database.url)
    await using proxy = await createTcpProxy(Number(target.port))
    target.port = String(proxy.port)
    await using far = createPool(target.href)
    const farCatalog = await openOn(new SystemDatabase(far.pool))
    const { current } = farCatalog
    proxy.setDelay(100)
    const [begin] = await database.sql<{ now: Date }>('select clock_timestamp() as now')
    const early = farCatalog.refresh(current)
    await waitFor('the poll to end in Postgres', async () => {
      const rows = await database.sql(
        `select from pg_stat_activity
         where datname = current_database() and state = 'idle' and query like '%with exposed as%'
           and state_change > $1`,
        [begin?.now],
      )
      return rows.length > 0
    })
    await database.sql('create table hurried (id int)')
    const late = farCatalog.refresh(current)
    expect(await early).toBe(false)
    expect(await late).toBe(true)
    expect(farCatalog.current.relations.has('hurried')).toBe(true)
    await database.sql('drop table hurried')
  })

  test('reads once for many concurrent callers', async () => {
    await database.sql('create table common (id int)')
    const { current } = catalog
    const answers = await Promise.all(Array.from({ length: 50 }, () => catalog.refresh(current)))
    expect(answers).toEqual(answers.map(() => true))
    await database.sql('drop table common')
  })

  test('reads 20 times in a row without a pause, and then once for all calls during one', async () => {
    let reads = 0
    class CountingDatabase extends SystemDatabase {
      override one: SystemDatabase['one'] = (statement) => {
        reads += 1
        return super.one(statement)
      }
    }
    const timer = createManualTimer()
    const counted = await openOn(new CountingDatabase(ours.pool), timer)
    for (let count = 1; count <= 20; count += 1) {
      // The injected clock does not advance.
      expect(await counted.refresh(counted.current)).toBe(false)
      expect(reads).toBe(count)
    }
    const flood = Promise.all(Array.from({ length: 50 }, () => counted.refresh(counted.current)))
    expect(await timer.runNext(50)).toBe(true)
    expect(await flood).toEqual(Array(50).fill(false))
    expect(reads).toBe(21)
    expect(timer.now()).toBe(50)
  })

  test('is read while a transaction holds an exclusive lock on a table', async () => {
    await database.sql(`
      create table locked (id int primary key, name text default 'x' || 'y', check (id > 0),
        doubled int generated always as (id * 2) stored);
      create index locked_name on locked (lower(name)) where id > 1;
      create view over_locked as select * from locked;
      create table locked_parts (id int) partition by range (id);
      create table locked_part partition of locked_parts for values from (1) to (9)`)
    await using holder = await openTransaction(database)
    await holder.sql('lock table locked, over_locked, locked_parts in access exclusive mode')
    await database.sql('create table beside_locked (id int)')
    expect(await catalog.refresh(catalog.current)).toBe(true)
    expect(catalog.current.relations.has('beside_locked')).toBe(true)
    await holder.commit()
    await waitFor('the definitions', () => {
      const { indexes = [], checks = [] } = catalog.current.relations.get('locked') ?? {}
      return indexes.length === 2 && [...indexes, ...checks].every(({ definition }) => definition !== '')
    })
    await database.sql('drop table locked_parts, locked cascade; drop table beside_locked')
  })

  test('keeps the last snapshot while a table with policies is locked, and resumes after that', async () => {
    await database.sql(`
      create table guarded (id int primary key);
      alter table guarded enable row level security;
      create policy own on guarded using (id > 1)`)
    await catalog.refresh(catalog.current)
    await using holder = await openTransaction(database)
    await holder.sql('lock table guarded in access exclusive mode')
    await database.sql('create table beside_guarded (id int)')
    expect(await catalog.refresh(catalog.current)).toBe(false)
    await holder.commit()
    await waitFor('the table', () => catalog.current.relations.has('beside_guarded'))
    await database.sql('drop table guarded, beside_guarded')
  })

  test('keeps the last snapshot while the database is unavailable, and resumes', async () => {
    let isAway = false
    await using shaky = createPool(database.url, () => isAway)
    const shakySystem = new SystemDatabase(shaky.pool)
    const shakyCatalog = await openOn(shakySystem)
    await using loop = createTestNotifications(shakySystem)
    shakyCatalog.watchWith(loop)
    await loop.start()
    const { current } = shakyCatalog
    isAway = true
    shaky.cut()
    await waitFor('two failures', () => shaky.refusals >= 2)
    expect(shakyCatalog.current).toBe(current)
    isAway = false
    await database.sql('create table afterwards (id int)')
    await waitFor('the table', () => shakyCatalog.current.relations.has('afterwards'))
  })
})
