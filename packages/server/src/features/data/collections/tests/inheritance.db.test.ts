import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { eventsOf, recordedChanges, recording, recordingTables } from './recorded-changes.ts'

/**
 * A table has the rows of its inheriting tables among its own. Neither its keys nor its indexes hold for them
 * (PostgreSQL, Inheritance, Caveats).
 */

const setup = `
${recordingTables}
create table city (id int primary key, name text, note text);
create table capital (state text) inherits (city);
alter table city enable row level security;
create policy everybody on city using (true);
grant select on city to basalt_anonymous;
`

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup, changes: recording })
})
beforeEach(async () => {
  recordedChanges.clear()
  await app.sql(`
    truncate city, captured.change;
    insert into city values (1, 'Lyon', 'river'), (2, 'Bergen', 'harbour'), (4, 'Linz', 'river');
    insert into capital values (1, 'Paris', 'tower'), (2, 'Oslo', 'harbour'), (2, 'Bern', 'river'), (3, 'Rome', 'river')`)
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

async function namesOf(query: string): Promise<string[]> {
  const response = await app.request('GET', `/api/collections/city?${query}`, { token })
  return response.json.items.map(({ name }: { name: string }) => name)
}

async function namesByCursor(query: string, as: { token?: string } = { token }): Promise<string[]> {
  const names: string[] = []
  let cursor: string | undefined = ''
  while (cursor !== undefined) {
    const path = `/api/collections/city?${query}&perPage=1&cursor=${cursor}`
    const { json } = await app.request('GET', path, as)
    names.push(json.items[0].name)
    cursor = json.nextCursor
  }
  return names
}

test.each(['', 'sort=-id', 'sort=note,-id', 'search=river'])(
  'inheritance › pages by cursor have rows with equal keys: %s',
  async (query) => {
    const all = await namesOf(query)
    expect(all).toHaveLength(query.startsWith('search') ? 4 : 7)
    expect(await namesByCursor(query)).toEqual(all)
  },
)

test('inheritance › pages by cursor have rows with equal keys without a token', async () => {
  expect(await namesByCursor('', {})).toEqual(await namesOf(''))
})

test('inheritance › a search under policies finds the rows of every table beside an index on one', async () => {
  const path = '/api/admin/search/city/enable'
  const { json } = await app.request('POST', path, { token: await app.adminToken() })
  expect(json).toMatchObject({ isIndexed: true })
  expect((await namesOf('search=river')).toSorted()).toEqual(['Bern', 'Linz', 'Lyon', 'Rome'])
})

test('inheritance › a captured write by filter changes no other row with the key', async () => {
  recordedChanges.add('city update')
  const path = `/api/collections/city?expect=1&filter=${encodeURIComponent("name = 'Bern'")}`
  const response = await app.request('PATCH', path, { token, body: { note: 'bears' } })
  expect(response.json).toEqual({ updated: 1 })
  expect(await eventsOf(app)).toEqual([
    {
      table: 'city',
      action: 'update',
      rows: [
        {
          record: { id: 2, name: 'Bern', note: 'bears' },
          oldRecord: { id: 2, name: 'Bern', note: 'river' },
        },
      ],
    },
  ])
})

test('inheritance › a captured write by id leaves the rows of every table with their own values', async () => {
  recordedChanges.add('city update')
  const response = await app.request('PATCH', '/api/collections/city/1', { token, body: { note: 'new' } })
  expect(response.status).toBe(200)
  const [event] = await eventsOf(app)
  expect(event?.rows).toHaveLength(2)
  expect(event?.rows).toEqual(
    expect.arrayContaining([
      {
        record: { id: 1, name: 'Lyon', note: 'new' },
        oldRecord: { id: 1, name: 'Lyon', note: 'river' },
      },
      {
        record: { id: 1, name: 'Paris', note: 'new' },
        oldRecord: { id: 1, name: 'Paris', note: 'tower' },
      },
    ]),
  )
})

test.each(['/4', `?expect=1&filter=${encodeURIComponent("name = 'Linz'")}`])(
  'inheritance › a captured write finds a row again that was changed concurrently: %s',
  async (path) => {
    recordedChanges.add('city update')
    const holder = new pg.Client({ connectionString: app.database.url })
    await holder.connect()
    try {
      await holder.query(`begin; update city set note = 'held' where id = 4`)
      const write = app.request('PATCH', `/api/collections/city${path}`, { token, body: { note: 'new' } })
      await waitFor('the write to wait', async () => {
        const [found] = await app.sql(
          `select count(*)::int as count from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return found?.count === 1
      })
      await holder.query('commit')
      expect((await write).status).toBe(200)
    } finally {
      await holder.end()
    }
    expect((await eventsOf(app))[0]?.rows).toEqual([
      { record: { id: 4, name: 'Linz', note: 'new' }, oldRecord: { id: 4, name: 'Linz', note: 'held' } },
    ])
  },
)

test('inheritance › captured writes need no privilege beyond the columns', async () => {
  recordedChanges.add('city update')
  await app.sql('revoke select on city from basalt_authenticated')
  await app.sql('grant select (id, name, note) on city to basalt_authenticated')
  try {
    await expect.poll(async () => (await namesOf('')).length).toBe(7)
    for (const path of [
      '/api/collections/city/2',
      `/api/collections/city?expect=1&filter=${encodeURIComponent("name = 'Paris'")}`,
    ]) {
      const response = await app.request('PATCH', path, { token, body: { note: 'new' } })
      expect([path, response.status]).toEqual([path, 200])
    }
  } finally {
    await app.sql('grant select on city to basalt_authenticated')
  }
})
