import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { anyUnits } from '../../../../../test/any-text.ts'
import { type CitusDatabase, citusUrl, createCitusDatabase } from '../../../../../test/citus-database.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, type TestResponse, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import {
  eventsOf,
  type RecordedEvent,
  recordedChanges,
  recording,
  recordingTables,
} from './recorded-changes.ts'

const me = `nullif(current_setting('basalt.user_id', true), '')::uuid`

/** Tables of the same rows and policies: distributed ones, and ordinary ones with a prefix as the oracle. */
const tables = `
create table org (id int primary key, name text not null);
insert into org values (1, 'Acme'), (2, 'Beta'), (3, 'Gamma');
${['', 'plain_']
  .map(
    (prefix) => `
create table ${prefix}project (
  org_id int not null, id int not null, owner_id uuid not null default ${me}, name text not null,
  stars int not null default 0, due timestamptz, price numeric(10, 2), tags text[], meta jsonb,
  primary key (org_id, id), check (stars >= 0)
);
create table ${prefix}task (
  org_id int not null, id int not null, project_id int, owner_id uuid not null default ${me}, title text not null,
  primary key (org_id, id)
);
alter table ${prefix}project enable row level security;
alter table ${prefix}task enable row level security;
create policy own on ${prefix}project using (owner_id = ${me});
create policy own on ${prefix}task using (owner_id = ${me});
create table ${prefix}board (org_id int not null, id int not null, owner_id uuid, name text, primary key (org_id, id));
alter table ${prefix}board enable row level security;
create policy "all read" on ${prefix}board for select using (true);
create policy "own write" on ${prefix}board for update using (owner_id = ${me});`,
  )
  .join('')}
create table by_email (id int primary key, email text);
alter table by_email enable row level security;
create policy own on by_email using (email = current_setting('basalt.user_email', true));
select create_reference_table('org');
select create_distributed_table('project', 'org_id');
select create_distributed_table('task', 'org_id', colocate_with => 'project');
select create_distributed_table('by_email', 'id');
select create_distributed_table('board', 'org_id');
${['', 'plain_']
  .map(
    (prefix) => `
alter table ${prefix}task add foreign key (org_id, project_id) references ${prefix}project (org_id, id) on delete cascade;`,
  )
  .join('')}
alter table project add foreign key (org_id) references org;
${recordingTables}`

const contents = ['', 'plain_']
  .map(
    (prefix) => `
truncate ${prefix}task, ${prefix}project, ${prefix}board;
insert into ${prefix}project
select o, i, case when i % 2 = 0 then '${alice}'::uuid else '${bob}' end, 'p' || o || '-' || i, i * o,
  case when i % 3 > 0 then '2026-01-01 12:00+02'::timestamptz + i * interval '1 hour' end, i * 1.5, array['a', 'b' || i],
  json_build_object('k', i)
from generate_series(1, 3) o, generate_series(1, 12) i;
insert into ${prefix}board select org_id, id, owner_id, name from ${prefix}project where id < 5;
insert into ${prefix}task select org_id, id * 10 + n, id, owner_id, 't' || n from ${prefix}project, generate_series(1, 2) n;`,
  )
  .join('')

const tokens = {
  alice: userToken({ sub: alice, email: 'alice@example.com' }),
  bob: userToken({ sub: bob, email: 'bob@example.com' }),
}

let database: CitusDatabase
let app: TestApp

describe.skipIf(citusUrl === undefined)('distributed tables, on the server of BASALT_TEST_CITUS_URL', () => {
  beforeAll(async () => {
    database = await createCitusDatabase()
    const first = await createTestApp({ database })
    await first[Symbol.asyncDispose]()
    for (const statement of tables.split(/;\n/)) if (statement.trim() !== '') await database.sql(statement)
    await database.sql(
      'grant select, insert, update, delete on org, project, task, board, plain_project, plain_task, plain_board, by_email to basalt_authenticated',
    )
    app = await createTestApp({ database, changes: recording })
  })
  beforeEach(async () => {
    recordedChanges.clear()
    for (const statement of contents.split(/;\n/)) if (statement.trim() !== '') await database.sql(statement)
    await database.sql('truncate captured.change')
  })
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]()
    await database?.[Symbol.asyncDispose]()
  })

  const send = (method: string, path: string, body?: unknown, token: string | undefined = tokens.alice) =>
    app.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })

  /** Sends a request to a distributed table and to its oracle, and compares status and body. */
  async function both(method: string, path: string, body?: unknown, token?: string) {
    const found = await send(method, path, body, token)
    const plainPath = path.replace(/(expand=|sort=-?)(?=task\b|project\b)/g, '$1plain_')
    const plain = await send(method, `plain_${plainPath}`, body, token)
    // Workers return the records of a write in any order. A cursor names its columns.
    const sortItems = (text: string) => {
      if (!text.startsWith('{"updated":')) return text
      const { items = [], ...rest } = JSON.parse(text)
      return JSON.stringify({ ...rest, items: items.map((item: unknown) => JSON.stringify(item)).sort() })
    }
    const comparable = ({ status, text }: TestResponse) => ({
      status,
      text: sortItems(text)
        .replace(/(?<="nextCursor":")[\w-]+/, (cursor) => Buffer.from(cursor, 'base64url').toString())
        .replaceAll(/plain_|\s/g, ''),
    })
    expect(comparable(found)).toEqual(comparable(plain))
    return found
  }

  /** Returns the events as their actions with the names before and after, in any order within one. */
  const named = (events: readonly RecordedEvent[]) =>
    events.map(({ action, rows }) => [
      action,
      ...rows
        .map(({ record, oldRecord }: { record: { name: string }; oldRecord?: { name: string } }) =>
          oldRecord === undefined ? record.name : `${oldRecord.name} > ${record.name}`,
        )
        .sort(),
    ])

  /** Waits until a worker's session of a caller waits for a lock. @param then further SQL for each such session */
  const waitForLock = (then = 'pid') =>
    waitFor('a worker session that waits for a lock', async () => {
      for (const worker of database.workers) {
        const found = await database.onWorker(
          worker,
          `select ${then} from pg_stat_activity
           where usename = 'basalt_authenticated' and wait_event_type = 'Lock' and datname = current_database()`,
        )
        if (found.length > 0) return true
      }
      return false
    })

  test.each([
    'project?sort=org_id,id',
    'project?sort=-stars,org_id,id&perPage=4&page=2',
    'project?sort=due,org_id,id&perPage=50',
    'project?sort=-due,-org_id,id&perPage=5&cursor=',
    `project?sort=id,org_id&filter=${encodeURIComponent("org_id = 2 and (stars > 8 or name ~ '%-2')")}`,
    `project?sort=id,org_id&filter=${encodeURIComponent('due = null')}&fields=id,due,price`,
    `project?sort=id,org_id&filter=${encodeURIComponent("tags ?= 'b4' or stars in (2, 3)")}`,
    'project?sort=id,org_id&expand=task&perPage=3&fields=id',
    'project?search=p1&sort=id,org_id&fields=name',
    'project?sort=-due,org_id,id&expand=task&perPage=3&fields=id,name&cursor=',
    'task?sort=-project.name,org_id,id&expand=project&perPage=5&fields=id&cursor=',
    'task?sort=project.name,org_id,id&expand=project&perPage=5&fields=id',
    'project?facets=org_id,stars,name&sort=org_id,id&perPage=2&fields=id',
    `project?facets=org_id,name,due&disjunctiveFacets=org_id&sort=id&perPage=1&fields=id&filter=${encodeURIComponent('org_id = 2 and stars > 4')}`,
    'project?facets=org_id,price&sort=org_id,id&perPage=5&fields=id&cursor=&filter=stars%3E100',
    'project?facets=name&search=p1&sort=org_id,id&perPage=1&fields=id',
    'project/facets/name/search?q=p1',
    'project/2,4',
    'project/2,4?expand=task',
    'project/2,3',
    'project/2,x',
  ])('GET /%s returns what it returns for an ordinary table', async (path) => {
    for (const token of Object.values(tokens)) await both('GET', path, undefined, token)
  })

  test('reaches every row once by cursor', async () => {
    const seen: string[] = []
    let cursor = ''
    do {
      const path = `project?sort=-due,name&expand=task,org&perPage=4&cursor=${encodeURIComponent(cursor)}`
      const page = await send('GET', path)
      expect(page.status).toBe(200)
      for (const { org_id, id, name, expand } of page.json.items) {
        seen.push(name)
        expect(expand.org.id).toBe(org_id)
        expect(expand.task).toMatchObject([1, 2].map((n) => ({ org_id, id: id * 10 + n, project_id: id })))
      }
      cursor = page.json.nextCursor ?? ''
    } while (cursor !== '')
    expect(seen).toHaveLength(18)
    expect(new Set(seen).size).toBe(18)
  })

  test.each([
    { aggregate: ['count', 'sum(stars)', 'avg(price)', 'min(due)', 'max(name)'] },
    { aggregate: ['count', 'sum(stars)'], group: ['org_id'], groupSort: ['-sum(stars)'] },
    { aggregate: ['count'], group: ['name'], groupSort: ['name'], filter: 'org_id = 1' },
    {
      aggregate: ['count_distinct(org_id)', 'count(due)', 'avg(stars)'],
      group: ['stars'],
      groupSort: ['-avg(stars)'],
    },
  ])('POST /aggregate %o computes what it computes for an ordinary table', async (body) => {
    for (const token of Object.values(tokens)) await both('POST', 'project/aggregate', body, token)
  })

  test('counts an estimated total', async () => {
    const page = await send('GET', 'project?total=estimated&perPage=1&filter=org_id%3E1')
    expect(page.json).toMatchObject({ totalItems: 12, totalPages: 12 })
  })

  test('exports what it exports of an ordinary table', async () => {
    for (const format of ['csv', 'json', 'ndjson'])
      await both('GET', `project/export.${format}?sort=org_id,id`)
  })

  test('expands related records of a reference table, and finds by them', async () => {
    const path = `project?sort=id&perPage=2&fields=name&expand=org&filter=${encodeURIComponent("org.name = 'Beta'")}`
    expect((await send('GET', path)).json.items).toEqual([
      { name: 'p2-2', expand: { org: { id: 2, name: 'Beta' } } },
      { name: 'p2-4', expand: { org: { id: 2, name: 'Beta' } } },
    ])
  })

  const body = { name: 'new', due: '2026-05-01T00:00:00Z', tags: ['x', null], meta: { a: [1] }, price: 12.5 }

  test('writes by id with the results and errors of an ordinary table', async () => {
    await both('POST', 'project', { org_id: 1, id: 100, ...body })
    await both('PATCH', 'project/1,100', { name: 'changed', due: null, meta: [1, null] })
    await both('PATCH', 'project/1,100?fields=name', { stars: 3 })
    await both('PATCH', 'project/1,100', { stars: 'x' })
    await both('PATCH', 'project/1,100', { owner_id: bob })
    await both('PATCH', 'project/1,100', { name: 'stolen' }, tokens.bob)
    await both('POST', 'project', { org_id: 1, id: 101 })
    await both('POST', 'project', { org_id: 1, id: 101, name: 'x', owner_id: bob })
    expect((await both('DELETE', 'project/1,100', undefined, tokens.bob)).status).toBe(404)
    expect((await both('DELETE', 'project/1,100')).status).toBe(204)
    await both('DELETE', 'project/1,100')
    await both('DELETE', 'project/1,2')
    await both('GET', 'task?sort=org_id,id')
    expect((await send('POST', 'project', { org_id: 1, id: 4, name: 'x' })).json).toMatchObject({
      code: 409,
      error: 'unique_violation',
      data: { project_pkey: { code: 'unique_violation' } },
    })
    expect((await send('PATCH', 'project/1,4', { stars: -1 })).json).toMatchObject({
      code: 400,
      data: { project_stars_check: { code: 'check_violation' } },
    })
  })

  test('writes batches whole or not at all', async () => {
    const create = (org_id: number, id: number) => ({ method: 'create', body: { org_id, id, ...body } })
    await both('POST', 'project/batch', {
      operations: [
        create(1, 200),
        create(2, 200),
        { method: 'update', id: '1,200', body: { stars: 7 } },
        { method: 'delete', id: '2,200' },
      ],
    })
    const failed = await send('POST', 'project/batch', { operations: [create(3, 201), create(1, 4)] })
    expect(failed.json).toMatchObject({ code: 409, operation: { index: 1, method: 'create' } })
    await both('GET', 'project?sort=org_id,id&perPage=100')
  })

  test('writes by filter, imports and upserts with the results of an ordinary table', async () => {
    await both('PATCH', 'project?filter=stars%3E20&expect=6&return=records', { name: 'many' })
    await both('PATCH', 'project?filter=stars%3E20&expect=7', { name: 'none' })
    await both('DELETE', 'project?filter=org_id=3&expect=6')
    await both('POST', 'project?onConflict=org_id,id', { org_id: 1, id: 2, name: 'updated' })
    await both('POST', 'project?onConflict=org_id,id', { org_id: 1, id: 300, name: 'created' })
    await both('POST', 'project?onConflict=org_id,id', { org_id: 1, id: 3, name: "bob's" })
    await both('POST', 'project/import', [
      { org_id: 1, id: 400, name: 'i1' },
      { org_id: 2, id: 401, name: 'i2' },
    ])
    const again = [
      { org_id: 1, id: 400, name: 'i3' },
      { org_id: 3, id: 402, name: 'i4' },
    ]
    const imported = await both('POST', 'project/import?on_conflict=update', again)
    expect(imported.json).toMatchObject({ inserted: 1, updated: 1 })
    await both('POST', 'project/import?on_conflict=skip', again)
    await both('GET', 'project?sort=org_id,id&perPage=100')
  })

  test.each([
    ['GET', 'org?expand=project'],
    ['GET', 'org/1?expand=project'],
    ['POST', 'project?expand=task', { org_id: 1, id: 900, name: 'x' }],
    ['PATCH', 'project/1,2?expand=task', { name: 'x' }],
    ['PATCH', 'project?filter=id=2&expect=3&return=records&expand=task', { name: 'x' }],
    ['PATCH', 'project/1,2', { org_id: 2 }],
    ['POST', 'project/import?on_conflict=update', [{ org_id: 1, id: 2, name: 'with a listener' }]],
  ] as const)('%s /%s with %o is refused with the reason', async (...[method, path, content]) => {
    recordedChanges.add('project update')
    const { status, json } = await send(method, path, content)
    expect({ status, error: json.error }).toEqual({ status: 400, error: 'unsupported_on_distributed_table' })
    expect(json.message).toMatch(/^not supported on a distributed table: \w.+/)
  })

  test('returns the rows of a GraphQL mutation in the order of its objects', async () => {
    const objects = [3, 1, 2].map((org) => `{org_id: ${org}, id: 700, name: "g${org}"}`).join()
    const query = `mutation { insert_project(objects: [${objects}]) { returning { name } } }`
    const { json } = await app.request('POST', '/api/graphql', { token: tokens.alice, body: { query } })
    expect(json).toEqual({
      data: { insert_project: { returning: [{ name: 'g3' }, { name: 'g1' }, { name: 'g2' }] } },
    })
  })

  test('hands the changes of every write over', async () => {
    for (const action of ['create', 'update', 'delete']) recordedChanges.add(`project ${action}`)
    await send('POST', 'project', { org_id: 1, id: 500, name: 'a' })
    await send('PATCH', 'project/1,500', { name: 'b' })
    await send('POST', 'project/batch', {
      operations: [
        { method: 'update', id: '1,500', body: { name: 'c' } },
        { method: 'update', id: '2,2', body: { name: 'd' } },
      ],
    })
    await send('PATCH', 'project?filter=org_id=1%20and%20id=500&expect=1', { name: 'e' })
    await send('DELETE', 'project/1,500')
    await send('DELETE', 'project?filter=id=4&expect=3')
    expect(named(await eventsOf(app))).toEqual([
      ['create', 'a'],
      ['update', 'a > b'],
      ['update', 'b > c'],
      ['update', 'p2-2 > d'],
      ['update', 'c > e'],
      ['delete', 'e'],
      ['delete', 'p1-4', 'p2-4', 'p3-4'],
    ])
  })

  test('hands over the records before an update of rows on several workers', async () => {
    for (const action of ['create', 'update']) recordedChanges.add(`project ${action}`)
    await both('PATCH', 'project?filter=id=2&expect=3&return=records', { name: 'many' })
    await both('PATCH', 'project?filter=id=4&expect=2', { name: 'none' })
    await both('PATCH', 'project?filter=id=100&expect=0', { name: 'none' })
    expect(named(await eventsOf(app))).toEqual([['update', 'p1-2 > many', 'p2-2 > many', 'p3-2 > many']])
  })

  test('skips the records that the caller may read but not update, with a listener', async () => {
    recordedChanges.add('board update')
    await both('PATCH', 'board?filter=id%20in%20(1,2)&expect=3', { name: 'x' })
    await both('PATCH', 'board?filter=id%20in%20(1,2)&expect=6', { name: 'y' })
    await both('PATCH', 'board?filter=id=4&expect=3', { id: 104, name: 'moved' })
    await both('GET', 'board?sort=org_id,id&perPage=100')
    expect(named(await eventsOf(app))).toEqual([
      ['update', 'p1-2 > x', 'p2-2 > x', 'p3-2 > x'],
      ['update', 'p1-4 > moved', 'p2-4 > moved', 'p3-4 > moved'],
    ])
  })

  test('hands over the effect of a create or update', async () => {
    for (const action of ['create', 'update']) recordedChanges.add(`project ${action}`)
    const upsert = (body: object) => both('POST', 'project?onConflict=org_id,id', body)
    expect((await upsert({ org_id: 1, id: 2, name: 'a', stars: 9 })).status).toBe(200)
    expect((await upsert({ org_id: 1, id: 800, name: 'b' })).status).toBe(201)
    expect((await upsert({ org_id: 1, id: 3, name: "bob's" })).status).toBe(403)
    expect((await upsert({ org_id: 1, id: 2, name: 'c', stars: -1 })).status).toBe(400)
    expect((await upsert({ org_id: 1, id: 2 })).status).toBe(400)
    await both('POST', 'project/batch', {
      operations: ['d', 'e'].map((name) => ({
        method: 'create',
        body: { org_id: 3, id: 801, name },
        onConflict: ['org_id', 'id'],
      })),
    })
    await both('GET', 'project?sort=org_id,id&perPage=100')
    expect(named(await eventsOf(app))).toEqual([
      ['update', 'p1-2 > a'],
      ['create', 'b'],
      ['create', 'd'],
      ['update', 'd > e'],
    ])
  })

  test.each([
    ['PATCH', 'project?filter=id=2&expect=3', { name: 'x' }],
    ['POST', 'project?onConflict=org_id,id', { org_id: 2, id: 2, name: 'x' }],
  ] as const)(
    '%s /%s with %o repeats when another transaction changes a record meanwhile',
    async (...[method, path, content]) => {
      recordedChanges.add('project update')
      const holder = new pg.Client({ connectionString: database.url })
      await holder.connect()
      await holder.query('begin')
      await holder.query(`update project set name = 'held' where org_id = 2 and id = 2`)
      const sent = send(method, path, content)
      await waitForLock()
      await holder.query('commit')
      await holder.end()
      expect((await sent).status).toBe(200)
      const events = named(await eventsOf(app))
      expect(events).toHaveLength(1)
      expect(events[0]).toContain('held > x')
    },
  )

  test('shows any claim to a policy on a worker as it is', async () => {
    const text = anyUnits({ maxLength: 20 }).map((email) => email.replaceAll('\0', '').toWellFormed())
    const hostile = fc
      .array(fc.constantFrom("'", '\\', '"', '; ', "\\'", '--', 'é'))
      .map((parts) => parts.join(''))
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, hostile), async (email) => {
        await database.sql('truncate by_email')
        await database.sql('insert into by_email select i, $1 from generate_series(1, 8) i', [email])
        const page = await send('GET', 'by_email', undefined, userToken({ sub: alice, email }))
        expect(page.json.totalItems).toBe(8)
        const others = await send('GET', 'by_email', undefined, userToken({ sub: alice, email: `${email}'` }))
        expect(others.json.totalItems).toBe(0)
      }),
      { numRuns: 12 },
    )
  })

  test('writes batches that lock rows of several workers in opposite orders whole or not at all', async () => {
    const update = (org: number, name: string) => ({ method: 'update', id: `${org},2`, body: { name } })
    const responses = await Promise.all(
      ['x', 'y', 'z'].flatMap((name) => [
        send('POST', 'project/batch', { operations: [update(1, name), update(2, name), update(3, name)] }),
        send('POST', 'project/batch', { operations: [update(3, name), update(2, name), update(1, name)] }),
      ]),
    )
    for (const { status } of responses) expect([200, 409]).toContain(status)
    const rows = await database.sql('select distinct name from project where id = 2')
    expect(rows).toHaveLength(1)
  })

  test('undoes a batch whose worker ends in the middle, and says so', async () => {
    const holder = new pg.Client({ connectionString: database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query(`update project set name = 'held' where org_id = 2 and id = 2`)
    const sent = send('POST', 'project/batch', {
      operations: [
        { method: 'create', body: { org_id: 1, id: 600, name: 'x' } },
        { method: 'update', id: '2,2', body: { name: 'y' } },
      ],
    })
    await waitForLock('pg_terminate_backend(pid)')
    const { status, json } = await sent
    expect({ status, error: json.error }).toEqual({ status: 503, error: 'database_unavailable' })
    await holder.query('rollback')
    await holder.end()
    expect((await send('GET', 'project/1,600')).status).toBe(404)
    expect((await send('GET', 'project/2,2')).json.name).toBe('p2-2')
  })

  test('hides the views of Citus, which have the names and sizes of all distributed tables', async () => {
    for (const view of ['citus_tables', 'citus_schemas']) {
      const { status, json } = await send('GET', view)
      expect({ status, error: json.error }).toEqual({ status: 404, error: 'collection_not_found' })
    }
  })

  test('builds search indexes on every shard, and drops them', async () => {
    const admin = await app.adminToken()
    const change = async (action: string) => {
      const { status, json } = await app.request('POST', `/api/admin/search/project/${action}`, {
        token: admin,
      })
      expect({ status, isIndexed: json.isIndexed }).toEqual({ status: 200, isIndexed: action === 'enable' })
    }
    const countIndexes = async () => {
      let count = 0
      for (const worker of database.workers) {
        const [found] = await database.onWorker<{ count: number }>(
          worker,
          `select count(*)::int as count from pg_index where indexrelid::regclass::text ~ '^idx_basalt_search_.*_\\d{6,}$' and indisvalid`,
        )
        count += found?.count ?? 0
      }
      return count
    }
    const [shards] = await database.sql<{ count: number }>(
      `select count(*)::int as count from pg_dist_shard where logicalrelid = 'project'::regclass`,
    )
    await change('enable')
    expect(await countIndexes()).toBe(shards?.count)
    await both('GET', 'project?search=p1&sort=id,org_id&fields=name')
    await change('disable')
    expect(await countIndexes()).toBe(0)
  })

  test('serves a table that is distributed while the server runs', async () => {
    await database.sql(`
      create table note (id int primary key, owner_id uuid not null default ${me}, body text);
      alter table note enable row level security;
      create policy own on note using (owner_id = ${me});
      grant select, insert, update, delete on note to basalt_authenticated`)
    expect((await send('POST', 'note', { id: 1, body: 'before' })).status).toBe(201)
    await database.sql(`select create_distributed_table('note', 'id')`)
    await waitFor('the new form of the update', async () => {
      const { status } = await send('PATCH', 'note/1', { body: 'after' })
      expect([200, 400]).toContain(status)
      return status === 200
    })
    expect((await send('GET', 'note/1')).json.body).toBe('after')
    expect((await send('GET', 'note/1', undefined, tokens.bob)).status).toBe(404)
  })

  test('reports a policy that reads a table of the coordinator', async () => {
    await database.sql(`create table "local member" (user_id uuid primary key)`)
    await database.sql(`
      create function is_member() returns bool language sql stable as $$
        select exists (select from public."local member" where user_id = ${me})
      $$`)
    await database.sql('create table secret (id int primary key)')
    await database.sql('alter table secret enable row level security')
    await database.sql('create policy members on secret using (is_member())')
    await database.sql('grant select on secret to basalt_authenticated')
    await database.sql(`select create_distributed_table('secret', 'id')`)
    await database.sql('insert into secret values (1)')
    const refused = {
      code: 500,
      error: 'local_table_on_worker',
      message: 'a function on the workers of "secret" reads a table that is only on the coordinator',
      data: { sqlState: '42P01', relation: 'secret' },
    }
    await waitFor('the new table', async () => (await send('GET', 'secret')).status !== 404)
    expect((await send('GET', 'secret')).json).toEqual({ ...refused, doc_url: expect.any(String) })
    const admin = await app.adminToken()
    const advice = async () => {
      const { json } = await app.request('GET', '/api/admin/advisors', { token: admin })
      return json.items.filter(({ rule }: { rule: string }) => rule === 'local_table_on_worker')
    }
    const [found, ...others] = await advice()
    expect(others).toEqual([])
    expect(found).toMatchObject({
      severity: 'warning',
      object: 'policy "members" on public.secret',
      detail: 'is_member() reads public.local member.',
      statement: `select create_reference_table('"public"."local member"');`,
    })
    await database.sql(found.statement)
    await database.sql('alter role basalt_authenticated set citus.allow_nested_distributed_execution = on')
    await database.sql('grant select on "local member" to basalt_authenticated')
    expect(await advice()).toEqual([])
    await waitFor('the policy', async () => (await send('GET', 'secret')).status === 200)
  })

  test('reports the privileges that a table regains when Citus creates it anew, and estimates its rows', async () => {
    await database.sql(`
      create table place (id int primary key);
      create table visit (id int primary key, place_id int, secret text);
      insert into visit select n, null, 'x' from generate_series(1, 50) n;
      analyze visit;
      alter table visit enable row level security;
      create policy everyone on visit using (true);
      revoke all on visit from basalt_authenticated;
      grant select, update on visit to basalt_authenticated;
      select create_reference_table('place')`)
    const admin = await app.adminToken()
    const advice = async () => {
      const { json } = await app.request('GET', '/api/admin/advisors', { token: admin })
      return json.items.filter(({ rule }: { rule: string }) => rule === 'recreated_table_privileges')
    }
    expect(await advice()).toEqual([])
    await database.sql('alter table visit add foreign key (place_id) references place')
    const [found, ...others] = await advice()
    expect([found, others]).toMatchObject([
      {
        severity: 'error',
        object: 'public.visit',
        detail: 'basalt_authenticated has delete, insert.',
        statement: 'revoke delete, insert on "public"."visit" from "basalt_authenticated";',
      },
      [],
    ])
    await database.sql(found.statement)
    expect(await advice()).toEqual([])
    await waitFor('the new table', async () => (await send('GET', 'visit')).status !== 404)
    const { status, json } = await send('GET', 'visit?total=estimated&perPage=1')
    expect([status, json.totalItems]).toEqual([200, 50])
  })

  test('writes a table of the coordinator that refers to a reference table like an ordinary one', async () => {
    await database.sql('create table hall (id int primary key); insert into hall values (1)')
    await database.sql(`select create_reference_table('hall')`)
    await database.sql(`
      create function keep() returns trigger language plpgsql as $$
      begin if old.name = 'kept' then return null; end if; return coalesce(new, old); end $$;`)
    await database.sql('create table plain_hall (id int primary key); insert into plain_hall values (1)')
    for (const prefix of ['', 'plain_']) {
      const seat = `${prefix}seat`
      const statements = [
        `create table ${seat} (id int primary key, hall_id int, name text unique, row int check (row > 0))`,
        `insert into ${seat} select n, 1, 'n' || n, n from generate_series(1, 9) n union values (20, 1, 'kept', 1)`,
        `create trigger keep before update or delete on ${seat} for each row execute function keep()`,
        `grant select, insert, update, delete on ${seat} to basalt_authenticated`,
        `alter table ${seat} add constraint ${seat}_hall foreign key (hall_id) references ${prefix}hall`,
      ]
      for (const statement of statements) await database.sql(statement)
    }
    const shards = `select partmethod::text, repmodel::text from pg_dist_partition where logicalrelid = 'seat'::regclass`
    expect(await database.sql(shards)).toEqual([{ partmethod: 'n', repmodel: 's' }])
    await waitFor('the tables', async () => (await send('GET', 'plain_seat')).status === 200)
    await app.app.catalog.refresh()
    await both('POST', 'seat', { id: 10, hall_id: 1, name: 'ten' })
    await both('PATCH', 'seat/10', { name: 'changed' })
    await both('PATCH', 'seat/10?fields=name', { row: 3 })
    await both('PATCH', 'seat/11', { name: 'none' })
    for (const body of [{ name: 'n1' }, { row: 0 }, { hall_id: 7 }]) await both('PATCH', 'seat/10', body)
    // A change that a trigger discards is not found.
    expect((await send('PATCH', 'seat/20', { row: 2 })).status).toBe(404)
    expect((await send('DELETE', 'seat/20')).status).toBe(404)
    const deleted = await Promise.all([1, 2, 3].map(() => send('DELETE', 'seat/9')))
    expect(deleted.map(({ status }) => status).sort()).toEqual([204, 404, 404])
    await both('DELETE', 'seat/8')
    await send('DELETE', 'plain_seat/9')
    await both('PATCH', 'seat?filter=id%3E5%26%26id%3C8&return=records', { name: null })
    await both('DELETE', 'seat?filter=id=7')
    await both('POST', 'seat?onConflict=id', { id: 1, name: 'first' })
    await both('POST', 'seat?onConflict=id', { id: 12, name: 'twelve' })
    await both('POST', 'seat/batch', {
      operations: [
        { method: 'create', body: { id: 30, name: 'a' } },
        { method: 'create', body: { id: 31, name: 'b' } },
        { method: 'update', id: '30', body: { name: 'c' } },
        { method: 'delete', id: '31' },
      ],
    })
    await both('POST', 'seat/import?on_conflict=update', [
      { id: 30, name: 'd' },
      { id: 40, name: 'e' },
    ])
    await both('GET', 'seat?sort=id&perPage=100')
    const { status, json } = await app.request('PATCH', '/api/collections/seat/1', {
      token: tokens.alice,
      body: { name: 'x' },
      headers: { 'if-match': '"1"' },
    })
    expect([status, json.error]).toEqual([400, 'unsupported_on_distributed_table'])
  })

  test('denies what a regained privilege shows in the catalog only', async () => {
    await database.sql(`
      create table desk (id int primary key, org_id int, secret text);
      revoke all on desk from basalt_authenticated;
      grant select (id, org_id), insert (id, org_id) on desk to basalt_authenticated;
      create table chair (id int primary key, desk_id int references desk);
      insert into desk values (1, 1, 'hidden');
      insert into chair values (1, 1);
      alter table desk add foreign key (org_id) references org`)
    const seen = async (path: string) =>
      await app.request('GET', `/api/collections/${path}`, { token: tokens.alice })
    await waitFor('the relation', async () =>
      (await seen('desk?fields=id,org_id')).status === 200 ? true : undefined,
    )
    for (const path of [
      'desk',
      'desk/1',
      'desk?fields=secret',
      'desk?sort=secret&fields=id',
      'desk?facets=secret&fields=id',
      "desk?filter=secret='hidden'&fields=id",
      'chair?expand=desk',
      "chair?filter=desk.secret='hidden'",
      'org?expand=desk',
    ]) {
      const { status, json } = await seen(path)
      expect({ path, status, error: json.error }).toEqual({
        path,
        status: 403,
        error: 'insufficient_permissions',
      })
    }
  })

  test('refuses cursors on a table without a primary key, and serves its pages', async () => {
    await database.sql(`
      create table keyless (n int);
      alter table keyless enable row level security;
      create policy everyone on keyless using (true);
      grant select on keyless to basalt_authenticated;
      select create_distributed_table('keyless', 'n');
      insert into keyless select n from generate_series(1, 20) n`)
    await waitFor('the new table', async () => (await send('GET', 'keyless')).status !== 404)
    for (const sort of ['', '&sort=n']) {
      const { json } = await send('GET', `keyless?perPage=5&cursor=${sort}`)
      expect(json).toEqual({
        code: 400,
        error: 'invalid_parameter',
        message: 'cursor: "keyless" has no readable key that could tell its rows apart; use page',
        doc_url: expect.any(String),
      })
    }
    const page = await send('GET', 'keyless?perPage=5&page=2&sort=n')
    expect(page.json.items.map(({ n }: { n: number }) => n)).toEqual([6, 7, 8, 9, 10])
    const grid = await app.request('GET', '/api/admin/tables/keyless/rows?limit=5', {
      token: await app.adminToken(),
    })
    expect([grid.status, grid.json.rows.length]).toEqual([200, 5])
  })

  test('serves tables that are distributed on a coordinator without workers', async () => {
    await using alone = await createCitusDatabase({ isAlone: true })
    const first = await createTestApp({ database: alone })
    await first[Symbol.asyncDispose]()
    await alone.sql(`
      create table note (id int primary key, owner_id uuid not null default ${me}, body text);
      alter table note enable row level security;
      create policy own on note using (owner_id = ${me});
      grant select, insert, update, delete on note to basalt_authenticated`)
    await alone.sql(`select create_distributed_table('note', 'id')`)
    await using solo = await createTestApp({ database: alone })
    const write = { token: tokens.alice, body: { id: 1, body: 'x' } }
    expect((await solo.request('POST', '/api/collections/note', write)).status).toBe(201)
    const read = async (token: string) =>
      (await solo.request('GET', '/api/collections/note', { token })).json.totalItems
    expect([await read(tokens.alice), await read(tokens.bob)]).toEqual([1, 0])
  })

  test('refuses to start while a worker does not admit a role', async () => {
    const [worker = ''] = database.workers
    await database.onWorker(
      worker,
      'set citus.enable_ddl_propagation = off; alter role basalt_anonymous nologin',
    )
    try {
      await expect(createTestApp({ database })).rejects.toThrow(
        /^policies on distributed tables would not apply: basalt_anonymous cannot reach the workers \(.*not permitted to log in/s,
      )
    } finally {
      await database.onWorker(
        worker,
        'set citus.enable_ddl_propagation = off; alter role basalt_anonymous login',
      )
    }
  })
})
