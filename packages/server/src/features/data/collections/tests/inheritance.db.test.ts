import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { eventsOf, recordedChanges, recording, recordingTables } from './recorded-changes.ts'

/**
 * A table with others that inherit from it shows their rows among its own, for which neither its keys nor its indexes hold
 * (PostgreSQL, Inheritance, Caveats).
 */

const setup = `
${recordingTables}
create table city (id int primary key, name text, note text);
create table capital (state text) inherits (city);
alter table city enable row level security;
create policy everybody on city using (true);
`

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup, changes: recording })
})
beforeEach(async () => {
  recordedChanges.clear()
  await app.sql(`
    truncate city, heard.change;
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

async function namesByCursor(query: string): Promise<string[]> {
  const names: string[] = []
  let cursor: string | undefined = ''
  while (cursor !== undefined) {
    const path = `/api/collections/city?${query}&perPage=1&cursor=${cursor}`
    const { json } = await app.request('GET', path, { token })
    names.push(json.items[0].name)
    cursor = json.nextCursor
  }
  return names
}

test.each(['', 'sort=-id', 'sort=note,-id', 'search=river'])(
  'pages by cursor hold rows of equal keys: %s',
  async (query) => {
    const all = await namesOf(query)
    expect(all).toHaveLength(query.startsWith('search') ? 4 : 7)
    expect(await namesByCursor(query)).toEqual(all)
  },
)

test('a search under policies finds the rows of every table beside an index on one', async () => {
  const path = '/api/admin/search/city/enable'
  const { json } = await app.request('POST', path, { token: await app.adminToken() })
  expect(json).toMatchObject({ isIndexed: true })
  expect((await namesOf('search=river')).toSorted()).toEqual(['Bern', 'Linz', 'Lyon', 'Rome'])
})

test('a write by filter that has a listener changes no other row of the key', async () => {
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
