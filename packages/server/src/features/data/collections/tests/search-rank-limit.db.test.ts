import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

const carol = '33333333-3333-4333-8333-333333333333'
const tokens = {
  alice: userToken({ sub: alice }),
  bob: userToken({ sub: bob }),
  carol: userToken({ sub: carol }),
}

/**
 * Returns rows of which bob has most, alice 150 after the first 300, carol 3 at the end. The word `delta` is in five
 * rows of alice.
 */
const rows = (name: string) => `
create table ${name} (id int primary key, owner uuid not null, kind text not null, body text not null);
insert into ${name}
select n, case when n > 597 then '${carol}' when n > 300 and n % 2 = 0 then '${alice}' else '${bob}' end::uuid,
  'k' || n % 3, case when n = 310 then 'river river river' else 'river bank' end ||
    case when n between 400 and 409 then ' delta' else '' end
from generate_series(1, 600) n;
alter table ${name} enable row level security;
create policy own on ${name} using (owner = basalt.user_id());
`

let app: TestApp
let admin: string

beforeAll(async () => {
  app = await createTestApp({
    setup: `${rows('plain')} ${rows('found')} ${rows('keyed')} create index on keyed (owner);`,
    config: { 'search.rank_limit': '5' },
  })
  admin = await app.adminToken()
  for (const table of ['found', 'keyed']) {
    await app.request('POST', `/api/admin/search/${table}/enable`, { token: admin })
  }
})
afterAll(() => app[Symbol.asyncDispose]())

async function list(table: string, query: string, token: string) {
  const { status, json, text } = await app.request('GET', `/api/collections/${table}?${query}`, { token })
  expect(status, text).toBe(200)
  return json
}

interface Row {
  readonly id: number
  readonly owner: string
}

describe.each([
  ['plain', 'without an index'],
  ['found', 'with an index of the words'],
  ['keyed', 'with an index of the words and one of the owners'],
])('search of more matches than search.rank_limit (%s: %s)', (table) => {
  test('ranks that many of the visible ones, and reports it', async () => {
    const page = await list(table, 'search=river&perPage=3', tokens.alice)
    expect(page).toMatchObject({ totalItems: 5, totalPages: 2, searchExhaustive: false })
    expect(page.items).toHaveLength(3)
    // It has the word three times.
    expect(page.items[0].id).toBe(310)
    const second = await list(table, 'search=river&perPage=3&page=2', tokens.alice)
    const all: Row[] = [...page.items, ...second.items]
    expect(new Set(all.map(({ id }) => id)).size).toBe(5)
    expect(all.every(({ owner }) => owner === alice)).toBe(true)
    expect((await list(table, 'search=river&perPage=3&page=3', tokens.alice)).items).toEqual([])
  })

  test('ends its cursors with the ranked matches', async () => {
    const ids: number[] = []
    let cursor: string | undefined = ''
    while (cursor !== undefined) {
      const page = await list(table, `search=river&perPage=2&cursor=${cursor}`, tokens.alice)
      expect(page.searchExhaustive).toBe(false)
      ids.push(...page.items.map(({ id }: Row) => id))
      cursor = page.nextCursor
    }
    expect(new Set(ids).size).toBe(5)
    expect(ids).toHaveLength(5)
  })

  test('finds the few rows of a caller after those of others', async () => {
    const page = await list(table, 'search=river', tokens.carol)
    expect(page).toMatchObject({ totalItems: 3 })
    expect(page.items.map(({ id }: Row) => id)).toEqual([598, 599, 600])
    expect(page).not.toHaveProperty('searchExhaustive')
  })

  test('is complete with as many matches as the limit', async () => {
    const page = await list(table, 'search=delta&skipTotal=true', tokens.alice)
    expect(page.items).toHaveLength(5)
    expect(page).not.toHaveProperty('searchExhaustive')
  })

  test('ranks no more for an administrator', async () => {
    expect(await list(table, 'search=river&perPage=2', admin)).toMatchObject({
      totalItems: 5,
      searchExhaustive: false,
    })
  })

  test('counts and sorts all matches where it does not rank', async () => {
    const sorted = await list(table, 'search=river&sort=-id&perPage=2', tokens.alice)
    expect(sorted).toMatchObject({ totalItems: 148, items: [{ id: 596 }, { id: 594 }] })
    expect(sorted).not.toHaveProperty('searchExhaustive')
    const counted = await list(table, 'search=river&facets=owner&perPage=2', tokens.alice)
    expect(counted).toMatchObject({ totalItems: 5, facets: { owner: [{ value: alice, count: 148 }] } })
  })

  test('keeps the conditions of the request', async () => {
    const page = await list(table, `search=river&filter=${encodeURIComponent("kind = 'k1'")}`, tokens.alice)
    expect(page.totalItems).toBe(5)
    expect(new Set(page.items.map(({ kind }: { kind: string }) => kind))).toEqual(new Set(['k1']))
    const few = await list(table, `search=river&filter=${encodeURIComponent('id >= 599')}`, tokens.carol)
    expect(few.items.map(({ id }: Row) => id)).toEqual([599, 600])
  })
})
