import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { render, sql } from '../../../../database/sql.ts'
import { compileFrom } from '../../collections/compile/rows.ts'
import { parseListQuery } from '../../collections/parse/list-query.ts'
import { planRows } from '../../collections/plan/rows.ts'
import { plainSearch } from '../../collections/plan/search-vector.ts'
import { SearchedCollections } from '../searched-collections.ts'

let app: TestApp
let admin: string
const token = userToken({ sub: alice })

const setup = `
create extension pg_trgm;
create table open (id int primary key, title text, body varchar);
insert into open select n, 'title ' || n, 'body word' || n % 100 from generate_series(1, 2000) n;
create table own (id int primary key, owner text not null, body text);
alter table own enable row level security;
create policy own on own using (owner = current_setting('basalt.user_id', true));
insert into own select n, case when n % 2 = 0 then '${alice}' else '${bob}' end, 'body word' || n % 100
  from generate_series(1, 2000) n;
-- Of many owners, most with one row, with names that the statement has, too.
create table l (id int primary key, owner text not null, body text, tid int);
alter table l enable row level security;
create policy own on l using (owner = current_setting('basalt.user_id', true));
insert into l select n, case when n % 2 = 0 then '${bob}' when n = 1 then '${alice}' else n::text end, 'body word'
  from generate_series(1, 2000) n;
create index on l (owner);
create table forced (id int primary key, owner text not null, body text);
alter table forced enable row level security;
alter table forced force row level security;
create policy own on forced using (owner = current_setting('basalt.user_id', true));
insert into forced values (1, '${alice}', 'river'), (2, '${bob}', 'river');
create table parts (id int, body text, owner text, primary key (id)) partition by range (id);
create table parts_low partition of parts for values from (0) to (1000);
create table parts_high (owner text, id int not null, body text);
alter table parts attach partition parts_high for values from (1000) to (3000);
alter table parts enable row level security;
create policy own on parts using (owner = current_setting('basalt.user_id', true));
insert into parts select n, 'body word' || n % 100, case when n % 2 = 0 then '${alice}' else '${bob}' end
  from generate_series(1, 2000) n;
create table narrow (id int primary key, body text, secret text);
alter table narrow enable row level security;
create policy everything on narrow using (id > 0);
insert into narrow values (1, 'river', 'lake'), (2, 'lake', 'river');
revoke all on narrow from basalt_authenticated;
grant select (id, body) on narrow to basalt_authenticated;
create materialized view ready as select * from open;
create view shown as select * from open;
create table number (id int primary key);
create table "Odd ""name" (id int primary key, "Odd ""column" text, "char" char(10));
insert into "Odd ""name" values (1, 'river', 'bank');
create table long_named_table_of_sixty_three_characters_abcdefghijklmnopqrstuv (id int primary key, body text);
`

beforeAll(async () => {
  app = await createTestApp({ setup })
  admin = await app.adminToken()
  await app.sql('analyze')
})
afterAll(() => app[Symbol.asyncDispose]())

function change(collection: string, action: 'enable' | 'disable', node = app, as = admin) {
  return node.request('POST', `/api/admin/search/${encodeURIComponent(collection)}/${action}`, { token: as })
}

async function found(table: string, search: string, more: Record<string, string> = {}, as = token) {
  const parameters = new URLSearchParams({ search, sort: 'id', perPage: '100', ...more })
  const response = await app.request('GET', `/api/collections/${encodeURIComponent(table)}?${parameters}`, {
    token: as,
  })
  expect(response.status, response.text).toBe(200)
  return response.json.items.map(({ id }: { id: number }) => id)
}

async function indexesOf(table: string) {
  const rows = await app.sql<{ name: string; is_valid: boolean }>(
    `select x.relname as name, i.indisvalid as is_valid from pg_index i join pg_class x on x.oid = i.indexrelid
     where i.indrelid = $1::regclass and x.relname like 'idx\\_basalt%' order by 1`,
    [table],
  )
  return rows
}

describe('search indexes › enable', () => {
  test('builds an index of the words and one for typos, and returns their sizes', async () => {
    const response = await change('open', 'enable')
    expect(response.status, response.text).toBe(200)
    const [words, trigrams] = (await indexesOf('open')).map(({ name }) => name)
    expect(words).toMatch(/^idx_basalt_search_public_open_[0-9a-f]{10}$/)
    expect(trigrams).toMatch(/^idx_basalt_trigram_public_open_[0-9a-f]{10}$/)
    expect(response.json).toEqual({
      collection: 'open',
      isEnabled: true,
      isIndexed: true,
      indexes: [
        { name: words, kind: 'words', state: 'valid', sizeBytes: expect.any(Number), progress: null },
        { name: trigrams, kind: 'trigrams', state: 'valid', sizeBytes: expect.any(Number), progress: null },
      ],
      lastBuild: { at: expect.any(String), durationMs: expect.any(Number), error: null },
      advice: null,
      built: [words, trigrams],
      dropped: [],
      durationMs: expect.any(Number),
    })
    for (const { sizeBytes } of response.json.indexes) expect(sizeBytes).toBeGreaterThan(8192)
  })

  test('does nothing the second time', async () => {
    const before = await indexesOf('open')
    const { json } = await change('open', 'enable')
    expect(json).toMatchObject({ built: [], dropped: [], isIndexed: true })
    expect(await indexesOf('open')).toEqual(before)
  })

  test('leaves an audit row', async () => {
    await app.sql('delete from basalt.audit')
    await change('open', 'enable')
    expect(await app.sql('select actor, action, target from basalt.audit')).toEqual([
      { actor: 'admin', action: 'search.enable', target: 'open' },
    ])
  })

  test.each(['open', 'own', 'parts', 'forced', 'narrow', 'ready'])(
    'changes nothing in the results of %s',
    async (table) => {
      const searches: [string, Record<string, string>][] = [
        ['word7', {}],
        ['word7 -body', {}],
        ['river or word99', {}],
        ['-word7', { filter: 'id < 20' }],
        ['the', {}],
        ['wrod7', { fuzzy: 'true' }],
        ['rivr', { fuzzy: 'true', typo_threshold: '0.1' }],
      ]
      const answers = async (as: string) => {
        const all: unknown[] = []
        for (const [search, more] of searches) all.push(await found(table, search, more, as))
        return all
      }
      await change(table, 'disable')
      const before = [await answers(token), table === 'forced' ? [] : await answers(admin)]
      const response = await change(table, 'enable')
      expect(response.status, response.text).toBe(200)
      expect([await answers(token), table === 'forced' ? [] : await answers(admin)]).toEqual(before)
    },
  )

  test('works on odd names', async () => {
    expect((await change('Odd "name', 'enable')).json).toMatchObject({ isIndexed: true })
    expect(await found('Odd "name', 'river bank')).toEqual([1])
    expect(await found('Odd "name', 'rivr', { fuzzy: 'true' })).toEqual([1])
    const long = 'long_named_table_of_sixty_three_characters_abcdefghijklmnopqrstuv'.slice(0, 63)
    expect((await change(long, 'enable')).json.indexes).toHaveLength(2)
  })

  test('covers new partitions', async () => {
    await change('parts', 'enable')
    await app.sql('create table parts_top partition of parts for values from (3000) to (4000)')
    await app.sql(`insert into parts values (3001, 'summit', '${alice}')`)
    expect(await found('parts', 'summit')).toEqual([3001])
    expect(
      await app.sql("select from pg_index i where i.indrelid = 'parts_top'::regclass and i.indisvalid"),
    ).toHaveLength(3)
    expect((await indexesOf('parts')).map(({ is_valid }) => is_valid)).toEqual([true, true])
    await app.sql('drop table parts_top')
  })

  test('builds separate indexes for columns that only administrators may read', async () => {
    const { json } = await change('narrow', 'enable')
    expect(json.indexes.map(({ kind }: { kind: string }) => kind).toSorted()).toEqual([
      'trigrams',
      'trigrams',
      'words',
      'words',
    ])
    expect(await found('narrow', 'river')).toEqual([1])
    expect(await found('narrow', 'river', {}, admin)).toEqual([1, 2])
  })

  test('rebuilds an index that a crash has left invalid', async () => {
    await change('open', 'enable')
    const [{ name } = { name: '' }] = await indexesOf('open')
    await app.sql('update pg_index set indisvalid = false where indexrelid = $1::regclass', [name])
    const listed = (await app.request('GET', '/api/admin/search', { token: admin })).json.items
    expect(listed.find((item: { collection: string }) => item.collection === 'open')).toMatchObject({
      isIndexed: false,
      advice: 'basalt search enable open',
      indexes: [{ name, state: 'invalid' }, { state: 'valid' }],
    })
    expect((await change('open', 'enable')).json).toMatchObject({ built: [name], isIndexed: true })
  })

  test('builds once for ten concurrent requests, half on another node', async () => {
    await change('open', 'disable')
    await using other = await createTestApp({ database: app.database })
    const otherAdmin = await other.adminToken()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        index % 2 === 0 ? change('open', 'enable') : change('open', 'enable', other, otherAdmin),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([])
    expect(answers.filter(({ json }) => json.built?.length > 0)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status === 409)) {
      expect(envelope(answer)).toMatchObject({
        message: 'another index build is already in progress',
        error: 'search_index_build_in_progress',
      })
    }
    expect(await indexesOf('open')).toMatchObject([{ is_valid: true }, { is_valid: true }])
  })

  test('gives way to a change of the table, which would fail with a deadlock', async () => {
    await change('open', 'disable')
    const operator = new pg.Client({ connectionString: app.database.url })
    await operator.connect()
    await operator.query("begin; insert into open values (99999, 'last', 'last')")
    const building = change('open', 'enable')
    await waitFor('the build to wait for the transaction', async () => {
      const waiting = await app.sql("select from pg_locks where not granted and locktype = 'virtualxid'")
      return waiting.length > 0
    })
    // From now on each waits for the other.
    await operator.query('alter table open add column later int')
    await operator.query('commit')
    await operator.end()
    expect(envelope(await building)).toEqual({
      code: 409,
      message: 'the index build gave way to a statement that changes the table; try again',
      error: 'search_index_gave_way',
    })
    await app.sql('delete from open where id = 99999; alter table open drop column later')
    expect((await change('open', 'enable')).json).toMatchObject({ isIndexed: true })
  })

  test.each([
    ['shown', 'no search index can be made: "shown" is a view'],
    ['number', 'no search index can be made: table "number" has no text columns to search'],
  ])('rejects %s', async (table, message) => {
    const response = await change(table, 'enable')
    expect(response.status).toBe(400)
    expect(envelope(response)).toMatchObject({ message, error: 'search_index_unsupported' })
  })

  test('returns the reason why PostgreSQL cannot build', async ({ skip }) => {
    const [server] = await app.sql<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    )
    skip((server?.version ?? 0) < 180_000, 'virtual columns are of PostgreSQL 18')
    await app.sql(
      'create table computed (id int primary key, body text, upper text generated always as (upper(body)) virtual)',
    )
    const response = await change('computed', 'enable')
    expect(response.status).toBe(500)
    expect(envelope(response)).toMatchObject({
      message: 'failed to create index',
      error: 'search_index_failed',
      data: { reason: expect.stringContaining('virtual generated columns') },
    })
    const { items } = (await app.request('GET', '/api/admin/search', { token: admin })).json
    expect(items.find((item: { collection: string }) => item.collection === 'computed')).toMatchObject({
      isEnabled: true,
      isIndexed: false,
      indexes: [],
      lastBuild: { durationMs: null, error: response.json.data.reason },
    })
    expect(await found('computed', 'anything')).toEqual([])
  })
})

describe('search indexes › disable', () => {
  test('drops the indexes, and gives no advice', async () => {
    await change('own', 'enable')
    const names = (await indexesOf('own')).map(({ name }) => name)
    const { json } = await change('own', 'disable')
    expect(json).toMatchObject({
      isEnabled: false,
      isIndexed: false,
      indexes: [],
      advice: null,
      dropped: names,
    })
    expect(await indexesOf('own')).toEqual([])
  })

  test('drops the indexes of all partitions', async () => {
    await change('parts', 'enable')
    expect(await indexesOf('parts')).toHaveLength(2)
    await change('parts', 'disable')
    expect(await app.sql("select relname from pg_class where relname like 'idx\\_basalt%parts%'")).toEqual([])
  })
})

describe('search indexes › changed settings', () => {
  test('build new indexes, which replace the old ones', async () => {
    await change('own', 'enable')
    const [before] = await indexesOf('own')
    await app.request('PUT', '/api/collections/own/search-settings', {
      token: admin,
      body: { attributes: [{ column: 'body', weight: 'high' }] },
    })
    await waitFor('the new index', async () => {
      const now = await indexesOf('own')
      return now.length === 2 && now[0]?.name !== before?.name && now.every(({ is_valid }) => is_valid)
    })
    expect(await found('own', 'word8')).toHaveLength(20)
    await app.request('PUT', '/api/collections/own/search-settings', { token: admin, body: {} })
    await waitFor('the first index', async () => (await indexesOf('own'))[0]?.name === before?.name)
  })
})

describe('search indexes › used', () => {
  /** Returns the plan of a search for its rows, as the server would send it for a caller. */
  async function plan(table: string, parameters: string): Promise<string> {
    await app.app.catalog.refresh()
    const catalog = app.app.catalog.current
    const relation = catalog.relations.get(table)
    if (relation === undefined) throw new Error(`no ${table}`)
    const searches = {
      config: 'pg_catalog.english',
      version: '',
      settingsOf: () => ({ ...plainSearch, ignoresAccents: true }),
    }
    const query = parseListQuery(parameters)
    const rows = planRows({ catalog, reader: 'caller', searches }, relation, query)
    const { text, values } = render(sql`explain (costs off) select count(*) ${compileFrom(rows, 't')}`)
    return await explain(text, values)
  }

  async function explain(text: string, values: readonly unknown[], settings = ''): Promise<string> {
    const client = new pg.Client({ connectionString: app.database.url })
    await client.connect()
    try {
      await client.query(
        `begin; set local role basalt_authenticated; set local basalt.user_id = '${alice}'; ${settings}`,
      )
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(text, [...values])
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    } finally {
      await client.end()
    }
  }

  test('are used by the planner, where no policy applies before', async () => {
    await change('open', 'enable')
    const [words] = await indexesOf('open')
    expect(await plan('open', 'search=word42')).toContain(`Bitmap Index Scan on ${words?.name}`)
    await change('open', 'disable')
    expect(await plan('open', 'search=word42')).toContain('Seq Scan on open')
  })

  test.each([
    ['own', 'search=word42'],
    ['own', 'search=wrod42&fuzzy=true'],
    ['open', 'search=wrod42&fuzzy=true'],
    ['parts', 'search=word42'],
  ])('are used for the row positions of %s: %s', async (table, parameters) => {
    await change(table, 'enable')
    const lines = await plan(table, parameters)
    expect(lines).toMatch(/TID Cond: \(ctid = /)
    expect(lines).not.toContain('Seq Scan')
    // The lookup must run once per statement. As a condition it could run once per row.
    expect(lines).not.toContain('_rows(')
    await change(table, 'disable')
    expect(await plan(table, parameters)).toContain('Seq Scan')
  })

  test('are used without an index of another column, whose rows would be compared with each position', async () => {
    await change('l', 'enable')
    expect(await found('l', 'word')).toEqual([1])
    for (const parameters of ['search=word', 'search=wrod&fuzzy=true', "search=word&filter=owner='x'"]) {
      const lines = await plan('l', parameters)
      expect(lines).toMatch(/TID Cond: \(ctid = /)
      expect(lines).not.toContain('Index Cond')
    }
  })

  test.each([
    ['words', (definition: string) => `(${definition}) @@ to_tsquery('word42')`],
    ['trigrams', (definition: string) => `(${definition}) % 'word42'`],
  ])('are used by the functions that look up the row positions of %s', async (kind, condition) => {
    await change('own', 'enable')
    const index = (await indexesOf('own'))[kind === 'words' ? 0 : 1]?.name ?? ''
    const [row] = await app.sql<{ definition: string }>(
      'select pg_get_indexdef($1::regclass, 1, false) as definition',
      [index],
    )
    const text = `explain (costs off) select array_agg(ctid) from own where ${condition(row?.definition ?? '')}`
    const lines = await explain(text, [], 'reset role; set local enable_seqscan = off')
    expect(lines).toContain(`Bitmap Index Scan on ${index}`)
  })

  test('are used only by callers', async () => {
    await change('own', 'enable')
    const [index] = await indexesOf('own')
    await expect(
      app.sql(`set role pg_monitor; select basalt.search_rows('${index?.name}', 'word42'::tsquery)`),
    ).rejects.toThrow('permission denied for function search_rows')
  })
})

describe('search indexes › in the embedded database', () => {
  /** Watches searches of a collection with stored settings. Returns the jobs that they have enqueued. */
  function watchSearches(collection: string, isEnabled: boolean | null) {
    const jobs: object[] = []
    const searched = new SearchedCollections({
      catalog: app.app.catalog,
      definitions: {
        config: 'pg_catalog.english',
        version: '1',
        settingsOf: () => ({ ...plainSearch, ignoresAccents: true }),
        rowOf: () => ({ ...emptyRow, is_indexed: isEnabled }),
      },
      queue: {
        enqueue: async (name, payload) => String(jobs.push({ name, payload })),
        wake: () => undefined,
      },
      log: { warn: () => expect.unreachable('no advice is needed') },
      isAutomatic: true,
    })
    async function search(times: number) {
      await app.app.catalog.refresh()
      const relation = app.app.catalog.current.relations.get(collection)
      if (relation === undefined) throw new Error(`no ${collection}`)
      for (let n = 0; n < times; n += 1) searched.note({ ...relation })
    }
    return { search, jobs }
  }

  async function enqueuedFor(collection: string, isEnabled: boolean | null) {
    const { search, jobs } = watchSearches(collection, isEnabled)
    await search(3)
    return jobs
  }

  const emptyRow = {
    schema_name: 'public',
    table_name: '',
    attributes: [],
    custom_ranking: [],
    synonyms: [],
    ignores_accents: null,
    built_at: null,
    build_ms: null,
    build_error: null,
    version: '1',
  }

  async function runJob(collection: string): Promise<void> {
    const body = { type: 'search_index_build', payload: { collection } }
    const { status, json, text } = await app.request('POST', '/api/admin/jobs', { token: admin, body })
    expect(status, text).toBe(201)
    await waitFor('the job', async () => {
      const [job] = await app.sql('select state from basalt.jobs where id = $1', [json.id])
      return job?.state === 'completed'
    })
  }

  test('are built at the first search of a collection, unless they were disabled', async () => {
    await change('open', 'disable')
    expect(await enqueuedFor('open', null)).toEqual([
      { name: 'search_index_build', payload: { collection: 'open' } },
    ])
    await runJob('open')
    expect(await indexesOf('open')).toEqual([])
    await app.sql("update basalt.search_settings set is_indexed = null where table_name = 'open'")
    await runJob('open')
    await waitFor('the indexes', async () => {
      const indexes = await indexesOf('open')
      return indexes.length === 2 && indexes.every(({ is_valid }) => is_valid)
    })
    expect(await enqueuedFor('open', null)).toEqual([])
  })

  test('are built once more for a replaced table, and for a dropped index', async () => {
    const create = 'create table draft (id int primary key, body text)'
    const { search, jobs } = watchSearches('draft', null)
    await app.sql(create)
    await search(3)
    await app.sql(`drop table draft; ${create}`)
    await search(3)
    expect(jobs).toHaveLength(2)
    await runJob('draft')
    await search(1)
    const [index] = await indexesOf('draft')
    await app.sql(`drop index ${index?.name}`)
    await search(3)
    expect(jobs).toHaveLength(3)
    await app.sql('drop table draft')
  })

  test('are not built when an administrator has disabled them', async () => {
    await change('open', 'disable')
    expect(await enqueuedFor('open', false)).toEqual([])
  })

  test('are not built for a view', async () => {
    expect(await enqueuedFor('shown', null)).toEqual([])
  })
})

describe('search indexes › list', () => {
  test('advises once about collections that are searched without an index', async () => {
    await using fresh = await createTestApp({
      setup:
        'create table diary (id int primary key, body text); create table quiet (id int primary key, body text)',
    })
    const as = await fresh.adminToken()
    const items = async () => (await fresh.request('GET', '/api/admin/search', { token: as })).json.items
    expect(await items()).toEqual([])
    for (const word of ['one', 'two', 'three']) {
      await fresh.request('GET', `/api/collections/diary?search=${word}`, { token })
    }
    expect(await items()).toEqual([
      {
        collection: 'diary',
        isEnabled: null,
        isIndexed: false,
        indexes: [],
        lastBuild: null,
        advice: 'basalt search enable diary',
      },
    ])
    const warnings = fresh.log.filter((line) => line.includes('is searched without an index'))
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('basalt search enable diary')
    // An external database belongs to the operator.
    expect(await fresh.sql("select from pg_class where relname like 'idx_basalt%'")).toEqual([])
  })

  test.each([
    ['GET', '/api/admin/search'],
    ['GET', '/api/admin/search/open'],
    ['POST', '/api/admin/search/open/enable'],
    ['POST', '/api/admin/search/open/disable'],
  ])('requires an administrator for %s %s', async (method, path) => {
    expect((await app.request(method, path)).status).toBe(401)
    expect((await app.request(method, path, { token })).status).toBe(401)
  })

  test('returns the available columns of one collection, and the input of its indexes', async () => {
    const describe = async (collection: string) => {
      const { status, json } = await app.request(
        'GET',
        `/api/admin/search/${encodeURIComponent(collection)}`,
        {
          token: admin,
        },
      )
      expect(status).toBe(200)
      return json
    }
    expect(await describe('Odd "name')).toEqual({
      collection: 'Odd "name',
      isEnabled: expect.anything(),
      isIndexed: expect.any(Boolean),
      indexes: expect.any(Array),
      lastBuild: expect.anything(),
      advice: null,
      obstacle: null,
      textSearchConfig: 'pg_catalog.english',
      hasTrigrams: true,
      columns: [
        { name: 'id', isSearchable: false, isRankable: true },
        { name: 'Odd "column', isSearchable: true, isRankable: true },
        { name: 'char', isSearchable: true, isRankable: true },
      ],
      source: { estimatedRows: 1, tableBytes: expect.any(Number), textBytes: 17 },
    })
    const parts = (await describe('parts')).source
    expect(parts).toMatchObject({ estimatedRows: 2000 })
    expect(parts.tableBytes).toBeGreaterThan(parts.textBytes)
    expect(await describe('number')).toMatchObject({
      obstacle: 'table "number" has no text columns to search',
      source: { textBytes: null },
    })
    expect(await describe('shown')).toMatchObject({
      obstacle: '"shown" is a view',
      isEnabled: null,
      isIndexed: false,
      indexes: [],
      lastBuild: null,
      source: { estimatedRows: null, tableBytes: 0, textBytes: null },
    })
  })

  test('returns 404 for an unknown collection, and so do changes', async () => {
    const unknown = await app.request('GET', '/api/admin/search/nowhere', { token: admin })
    expect(unknown).toMatchObject({ status: 404, json: { message: 'collection not found: nowhere' } })
    for (const action of ['enable', 'disable'] as const) {
      const response = await change('nowhere', action)
      expect(response.status).toBe(404)
      expect(envelope(response)).toMatchObject({ message: 'collection not found: nowhere' })
    }
  })
})
