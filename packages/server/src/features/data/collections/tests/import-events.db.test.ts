import { once } from 'node:events'
import { request as sendHttp } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { ChangeLog } from '../../../../database/change-log.ts'
import { statement } from '../../../../database/connection/message.ts'
import { render, sql } from '../../../../database/sql.ts'
import { changedRows } from './recorded-changes.ts'

let app: TestApp
const token = userToken({ sub: alice })
/** Actions that have a listener. */
const interests = new Set<string>()
let commits = 0

/** Change log that writes its changes into a table. */
const changes: ChangeLog = {
  hasTriggers: false,
  doubt: () => undefined,
  committed() {
    commits += 1
  },
  capture({ collection }, action, form) {
    if (!interests.has(action)) return undefined
    const old = action === 'update' ? sql`c."oldRecord"` : sql`null`
    const { text, values } = render(sql`
      insert into log.change (collection, action, record, old_record)
      select ${collection}, ${action}, c.record, ${old} from ${changedRows(action, form)}`)
    // Only the two texts are bound.
    return { call: { statement: statement(text), values: values as string[] }, takesChanges: true }
  },
}

const tables = `
create schema log;
grant usage on schema log to public;
create table log.change (
  id int generated always as identity, collection text, action text, record json, old_record json
);
grant insert on log.change to public;
create table item (id int primary key, name text unique, secret text default 'hush');
create table seen (id int primary key, name text);
create function log_insert() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger log_insert after insert or update on seen for each statement execute function log_insert();
create table slow (id int primary key, name text);
create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$;
create trigger wait before insert on slow for each row execute function wait();
`

beforeAll(async () => {
  app = await createTestApp({ changes, setup: tables })
  await app.sql(`
    revoke all on item from basalt_authenticated;
    grant select (id, name), insert (id, name), update (id, name) on item to basalt_authenticated`)
})
beforeEach(async () => {
  interests.clear()
  await app.sql('truncate item, seen, slow, log.change restart identity')
})
afterAll(() => app[Symbol.asyncDispose]())

const rows = (...values: readonly [number, string][]) => values.map(([id, name]) => ({ id, name }))

const post = (path: string, body: unknown, as = token) =>
  app.request('POST', `/api/collections/${path}`, { token: as, body })

const logged = async () =>
  (await app.sql('select action, record, old_record from log.change order by id')).map(
    ({ action, record, old_record: old }) => (old === null ? [action, record] : [action, record, old]),
  )

describe('import › events', () => {
  test.each(['item', 'seen'])('are those of creates for %s, in the order of the rows', async (table) => {
    interests.add('create')
    const many = rows(...Array.from({ length: 4500 }, (_, id): [number, string] => [id, `n${id}`]))
    const before = commits
    expect((await post(`${table}/import`, many)).status).toBe(200)
    expect(commits).toBe(before + 1)
    expect(await logged()).toEqual(many.map((row) => ['create', row]))
  })

  test.each(['item', 'seen'])('are creates and updates for %s with on_conflict=update', async (table) => {
    interests.add('create').add('update')
    await app.sql(`insert into ${table} (id, name) values (2, 'old')`)
    const result = await post(
      `${table}/import?on_conflict=update`,
      rows([1, 'a'], [2, 'b'], [3, 'c'], [1, 'd']),
    )
    expect(result.json).toEqual({ processed: 4, inserted: 2, updated: 2, skipped: 0, failed: 0 })
    const events = await logged()
    expect(events).toHaveLength(4)
    expect(events).toEqual(
      expect.arrayContaining([
        ['create', { id: 1, name: 'a' }],
        ['update', { id: 2, name: 'b' }, { id: 2, name: 'old' }],
        ['create', { id: 3, name: 'c' }],
        ['update', { id: 1, name: 'd' }, { id: 1, name: 'a' }],
      ]),
    )
  })

  test('are those of the imported rows', async () => {
    interests.add('create')
    await app.sql(`insert into item (id, name) values (2, 'old')`)
    const mixed = [...rows([1, 'a'], [2, 'b'], [3, 'a'], [4, 'd'])]
    expect((await post('item/import?mode=partial', mixed)).json).toMatchObject({ inserted: 2, failed: 2 })
    expect((await logged()).map(([, record]) => record.id)).toEqual([1, 4])
    expect((await post('item/import?on_conflict=skip', rows([4, 'd'], [5, 'e']))).json).toMatchObject({
      inserted: 1,
      skipped: 1,
    })
    expect((await logged()).map(([, record]) => record.id)).toEqual([1, 4, 5])
  })

  test('are none for an import that is undone', async () => {
    interests.add('create')
    expect((await post('item/import?dryRun=true', rows([1, 'a']))).status).toBe(200)
    expect((await post('item/import', rows([1, 'a'], [2, 'a']))).status).toBe(409)
    expect(await logged()).toEqual([])
  })
})

/** Returns the connections whose trigger waits. */
const waiting = () =>
  app.sql<{ pid: number }>(`select pid from pg_stat_activity
    where datname = current_database() and query like '%"slow"%' and wait_event = 'PgSleep'`)

function begin(body: string, length = Buffer.byteLength(body)) {
  const request = sendHttp(`${app.url}/api/collections/slow/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv', 'content-length': length },
  })
  request.on('error', () => undefined)
  request.write(body)
  return request
}

describe('import › a client that disconnects', () => {
  test('while sending has held no connection and changed nothing', async () => {
    const request = begin('id,name\n1,a\n', 1000)
    await once(request, 'socket')
    const importing = await app.sql(`select pid from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%basalt_import%'`)
    expect(importing).toEqual([])
    request.destroy()
    expect(await app.sql('select * from slow')).toEqual([])
    expect((await post('seen/import', rows([1, 'a']))).status).toBe(200)
  })

  test('while its rows are written ends the statement', async () => {
    const request = begin('id,name\n1,a\n')
    await waitFor('the insert', async () => (await waiting()).length > 0)
    request.destroy()
    await waitFor('the end of the insert', async () => (await waiting()).length === 0)
    expect(await app.sql('select * from slow')).toEqual([])
  })
})

test('import › returns 503 and changes nothing when a connection is lost', async () => {
  const answer = post('slow/import', rows([1, 'a']))
  const pid = await waitFor('the insert', async () => (await waiting())[0]?.pid)
  await app.sql('select pg_terminate_backend($1)', [pid])
  expect([(await answer).status, (await answer).headers.get('retry-after')]).toEqual([503, '1'])
  expect(await app.sql('select * from slow')).toEqual([])
})

test('import › returns 504 and changes nothing when it takes too long', async () => {
  const hasty = await createTestApp({ database: app.database, config: { 'api.import_timeout': '1' } })
  try {
    const response = await hasty.request('POST', '/api/collections/slow/import', {
      token,
      body: rows([1, 'a']),
    })
    expect([response.status, response.json.error]).toEqual([504, 'import_timeout'])
    expect(await app.sql('select * from slow')).toEqual([])
  } finally {
    await hasty[Symbol.asyncDispose]()
  }
})
