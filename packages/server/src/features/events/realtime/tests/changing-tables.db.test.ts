import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { created, namesOf } from './messages.ts'

let app: TestApp
let admin: string
let table: string
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create table marker (id int primary key);
      create type point2 as (a int, j json)`,
  })
  admin = await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() => {
  table = `t_${randomUUID().replaceAll('-', '')}`
})

const open = (query: string, lastEventId?: string, who = token) =>
  openEventStream(app.url, query, { token: who, lastEventId })

async function write(name: string, body: object): Promise<void> {
  const response = await app.request('POST', `/api/collections/${name}`, { token: admin, body })
  if (response.status !== 201) throw new Error(response.text)
}

describe('realtime › records from before a table change', () => {
  test.each([
    ['a column was dropped', 'alter table T drop column secret cascade'],
    ['a column was renamed', 'alter table T rename column secret to hidden'],
    ['a column was added', 'alter table T add column more int'],
    ['a column got another type', 'alter table T alter column s type int using length(s)'],
    [
      'the table was replaced',
      'alter table T rename to old_T; create table T (id int primary key, s text, secret text)',
    ],
  ])('are not sent when %s, and a client that reconnects receives a gap', async (_what, change) => {
    await app.sql(`
      create table ${table} (id int primary key, s text, secret text);
      alter table ${table} enable row level security;
      create policy own on ${table} using (secret is null);
      revoke select on ${table} from basalt_authenticated;
      grant select (id, s) on ${table} to basalt_authenticated`)
    await using stream = await open(`tables=${table}`)
    await stream[Symbol.asyncDispose]()
    await write(table, { id: 1, s: 'a', secret: 'hush' })
    await app.sql(change.replaceAll(/\bT\b/g, table).replaceAll('old_T', `old_${table}`))
    await using resumed = await open(`tables=${table}`, stream.lastEventId)
    await resumed.named('gap')
    expect(resumed.messages).toEqual([])
    expect(resumed.text).not.toContain('hush')
  })

  test('cause a gap on open streams when the table changes within a batch, and later events are sent', async () => {
    await app.sql(`create table ${table} (id int primary key, s text, secret text)`)
    await using stream = await open(`tables=${table}`)
    await write(table, { id: 1, s: 'a' })
    await stream.next(1)
    await app.sql(`alter table ${table} drop column secret`)
    await app.app.catalog.refresh()
    await write(table, { id: 2, s: 'b' })
    await stream.named('gap')
    let id = 2
    const delivered = await waitFor('the next one to be delivered', async () => {
      id += 1
      await write(table, { id, s: 'c' })
      return stream.messages[1]
    })
    expect(delivered).toEqual(created(table, { id: expect.any(Number), s: 'c' }))
  })

  test('are decided by the new policies when a table is dropped and created again', async () => {
    const create = `
      create table ${table} (id int primary key, s text);
      alter table ${table} enable row level security;
      create policy own on ${table} using (s = 'own')`
    await app.sql(create)
    await using stream = await open(`tables=${table}`)
    // Every connection has evaluated the policies.
    for (let id = 1; id <= 20; id += 1) await write(table, { id, s: 'own' })
    await stream.next(20)
    await app.sql(`drop table ${table}; ${create}`)
    await app.app.catalog.refresh()
    let id = 20
    await waitFor('an event of the new table', async () => {
      id += 1
      await write(table, { id, s: 'own' })
      return stream.messages[20]
    })
    expect(app.log.filter((line) => line.includes(table) && line.includes('a policy failed'))).toEqual([])
  })
})

describe('realtime › DDL on a subscribed table', () => {
  test.each([
    ['a new column', 'alter table T add column more int default 1'],
    ['a policy', 'create policy all_rows on T using (true)'],
    ['a privilege', 'revoke insert on T from basalt_authenticated'],
    ['truncate', 'truncate T'],
    ['drop', 'drop table T'],
  ])('causes a gap on every node without an event: %s', async (_what, change) => {
    await app.sql(`create table ${table} (id int primary key, s text)`)
    await using second = await createTestApp({ database: app.database })
    await using here = await open(`tables=${table},marker`)
    await using there = await openEventStream(second.url, `tables=${table}`, { token })
    await using unaffected = await open('tables=marker')
    await app.sql(change.replaceAll(/\bT\b/g, table))
    await here.named('gap')
    await there.named('gap')
    expect(namesOf(unaffected)).toEqual(['connected'])
  })

  test('causes no gap on a later stream, nor on one that resumes after it on any node', async () => {
    await app.sql(`create table ${table} (id int primary key)`)
    await using second = await createTestApp({ database: app.database })
    await using before = await open(`tables=${table}`)
    await using elsewhere = await openEventStream(second.url, `tables=${table}`, { token })
    await app.sql(`alter table ${table} add column s text`)
    await using after = await open(`tables=${table}`)
    await write(table, { id: 1, s: 'a' })
    await after.next(1)
    await before.named('gap')
    await elsewhere.named('gap')
    await using resumed = await openEventStream(second.url, `tables=${table}`, {
      token,
      lastEventId: after.events[0]?.id,
    })
    expect(await resumed.next(1)).toEqual([created(table, { id: 1, s: 'a' })])
    for (const stream of [after, resumed]) expect(namesOf(stream)).not.toContain('gap')
  })

  test('causes no gap on later streams that begin at once', async () => {
    await app.sql(`create table ${table} (id int primary key)`)
    await (await open(`tables=${table}`))[Symbol.asyncDispose]()
    await app.sql(`truncate ${table}`)
    await using lock = await openTransaction(app.database)
    await lock.sql('select from basalt.realtime_tables where table_name = $1 for update', [table])
    const opening = [open(`tables=${table}`)]
    await lock.waitForBlocked()
    // The snapshot of the second stream ends at a later transaction.
    await app.sql('select pg_current_xact_id()')
    opening.push(open(`tables=${table}`))
    await lock.waitForBlocked(2)
    await lock.commit()
    const streams = await Promise.all(opening)
    await write(table, { id: 1 })
    for (const stream of streams) {
      await using own = stream
      expect(await own.next(1)).toEqual([created(table, { id: 1 })])
      expect(namesOf(own)).not.toContain('gap')
    }
  })
})

describe('realtime › access that was revoked before a write', () => {
  test('denies its event by policies', async () => {
    await app.sql(`create table ${table} (id int primary key, s text)`)
    await using stream = await open(`tables=${table},marker`)
    await write(table, { id: 1, s: 'open' })
    await stream.next(1)
    await app.sql(
      `alter table ${table} enable row level security; create policy none on ${table} using (false)`,
    )
    await write(table, { id: 2, s: 'secret' })
    await write('marker', { id: 1 })
    await waitFor('the marker', () => stream.messages.some((message) => message.table === 'marker'))
    expect(stream.text).not.toContain('secret')
    await app.sql('delete from marker')
  })

  test('denies its event by column privileges', async () => {
    await app.sql(`create table ${table} (id int primary key, s text)`)
    await using stream = await open(`tables=${table}`)
    await write(table, { id: 1, s: 'open' })
    await stream.next(1)
    await app.sql(`
      revoke select on ${table} from basalt_authenticated; grant select (id) on ${table} to basalt_authenticated`)
    await write(table, { id: 2, s: 'secret' })
    await stream.named('gap')
    await write(table, { id: 3, s: 'secret' })
    await waitFor('the third record', () => stream.messages.some(({ record }) => record.id === 3))
    expect(stream.messages.at(-1)).toEqual(created(table, { id: 3 }))
    expect(stream.text).not.toContain('secret')
  })

  test('is not bypassed by a filter', async () => {
    await app.sql(`create table ${table} (id int primary key, s text)`)
    await using stream = await open(`tables=${table}&filter=s=eq.x`)
    await app.sql(`
      revoke select on ${table} from basalt_authenticated; grant select (id) on ${table} to basalt_authenticated`)
    await write(table, { id: 1, s: 'x' })
    await stream.named('gap')
    expect(stream.messages).toEqual([])
  })
})

describe('realtime › filter', () => {
  test('causes a gap on its streams only, when its column was dropped', async () => {
    await app.sql(`create table ${table} (id int primary key, x int)`)
    await using filtered = await open(`tables=${table}&filter=x=eq.1`)
    await using second = await open(`tables=${table}`, undefined, userToken({ sub: bob }))
    await app.sql(`alter table ${table} drop column x`)
    await app.app.catalog.refresh()
    let id = 0
    await waitFor('what follows the change', async () => {
      id += 1
      await write(table, { id })
      return second.messages.length > 0
    })
    await filtered.named('gap')
    expect([filtered.hasEnded, filtered.messages]).toEqual([false, []])
  })

  test.each(['eq', 'in'])('is rejected for %s on a type that cannot be compared', async (operator) => {
    await app.sql(`create table ${table} (id int primary key, c point2)`)
    const filter = encodeURIComponent(`c=${operator}."(1,{})"`)
    const response = await app.request('GET', `/api/realtime?tables=${table}&filter=${filter}`, { token })
    expect(envelope(response)).toEqual({
      code: 400,
      message: `invalid filter: ${operator} does not apply to c, which is point2`,
      error: 'invalid_stream_filter',
    })
  })

  test('compares as the column does for in on a domain that rejects null', async () => {
    await app.sql(`create domain ${table}_n as int not null; create table ${table} (id int, n ${table}_n)`)
    await using stream = await open(`tables=${table}&filter=n=in.1|2`)
    for (const n of [3, 2]) await write(table, { id: n, n })
    expect((await stream.next(1)).map(({ record }) => record.n)).toEqual([2])
  })
})

test('realtime › policies may refer to columns with any name', async () => {
  const names = ['list', 'basalt row', 'basalt row_', 'basalt ordinal', 'given', 'record']
  const columns = names.map((name) => `"${name}" text default 'a'`)
  await app.sql(`
    create table ${table} (id int primary key, ${columns});
    alter table ${table} enable row level security;
    create policy own on ${table} using (${names.map((name) => `"${name}" = 'a'`).join(' and ')})`)
  await using stream = await open(`tables=${table}`)
  await write(table, { id: 1 })
  expect(await stream.next(1)).toHaveLength(1)
})

test('realtime › an event whose policy waits for a lock is sent once the lock is released', async () => {
  await app.sql(`
    create table member (who text primary key);
    insert into member values ('${alice}');
    create table ${table} (id int primary key);
    alter table ${table} enable row level security;
    create policy members on ${table}
      using (exists (select from member where who = current_setting('basalt.user_id', true)))`)
  const hasty = { 'database.statement_timeout_ms': '1000' }
  await using node = await createTestApp({ database: app.database, config: hasty })
  await using stream = await openEventStream(node.url, `tables=${table}`, { token })
  await using blocker = await openTransaction(app.database)
  await blocker.sql('lock table member in access exclusive mode')
  await write(table, { id: 1 })
  // The timeout has ended the first attempt when another one waits.
  const attempts = new Set<unknown>()
  await waitFor('a second attempt', async () => {
    const blocked = await app.sql(`
      select query_start::text as "startedAt" from pg_stat_activity
      where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`)
    for (const { startedAt } of blocked) attempts.add(startedAt)
    return attempts.size > 1
  })
  await blocker.commit()
  expect((await stream.next(1)).map(({ record }) => record.id)).toEqual([1])
  expect(stream.hasEnded).toBe(false)
})

test('realtime › a write from before the first subscription causes a gap on a stream opened meanwhile', async () => {
  await app.sql(`create table ${table} (id int primary key, v int); insert into ${table} values (1, 1)`)
  await using blocker = await openTransaction(app.database)
  await blocker.sql(`select from ${table} for update`)
  const change = app.request('PATCH', `/api/collections/${table}/1`, { token: admin, body: { v: 2 } })
  await waitFor('the change to wait', async () => {
    const locks = `select from pg_locks where relation = '${table}'::regclass and mode = 'RowExclusiveLock'`
    return (await app.sql(locks)).length > 0
  })
  await using stream = await open(`tables=${table}`)
  await blocker.commit()
  expect((await change).status).toBe(200)
  if (stream.messages.length === 0) await stream.named('gap')
})

test('realtime › a write from before the first subscription causes a gap for a client that resumes from before its commit', async () => {
  await app.sql(`create table ${table} (id int primary key, v int); insert into ${table} values (1, 1)`)
  await using blocker = await openTransaction(app.database)
  await blocker.sql(`update ${table} set v = 2`)
  await using stream = await open(`tables=${table}`)
  await stream[Symbol.asyncDispose]()
  await blocker.commit()
  await waitFor('the log to restart after the write', async () => {
    const position = stream.lastEventId?.split(':')[1]
    const advanced = `select from basalt.realtime_tables where table_name = '${table}' and logged_since > '${position}'`
    return (await app.sql(advanced)).length > 0
  })
  await using resumed = await open(`tables=${table}`, stream.lastEventId)
  await resumed.named('gap')
})

test('realtime › a table without subscribers for a time causes a gap on streams that resume', async () => {
  await app.sql(`create table ${table} (id int primary key)`)
  await using short = await createTestApp({
    database: app.database,
    config: { 'realtime.resume_seconds': '0' },
  })
  await using stream = await openEventStream(short.url, `tables=${table}`, { token })
  await app.sql(
    `update basalt.realtime_tables set wanted_until = now() - interval '1 minute' where table_name = '${table}'`,
  )
  // A stream that had to wait for other nodes has started with a gap.
  const gaps = () => stream.events.filter(({ name }) => name === 'gap').length
  const before = gaps()
  await waitFor('the table to be logged again', async () => {
    const [row] = await app.sql(
      `select wanted_until > now() and logged_since is not null as is_logged from basalt.realtime_tables
        where table_name = '${table}'`,
    )
    return row?.is_logged === true
  })
  await waitFor('the gap', () => gaps() > before)
  await write(table, { id: 1 })
  expect(await stream.next(1)).toHaveLength(1)
})

test('realtime › a position that runs backwards is rejected', async () => {
  await using stream = await open('tables=marker')
  await using resumed = await open('tables=marker', `${stream.lastEventId}~3:3:~0`)
  await resumed.named('gap')
  expect(resumed.messages).toEqual([])
})
