import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'

/** The tests search for the oldest users. All other users have the same name. */
const users = `
insert into basalt.users (id, email, phone, created_at)
select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
  case n when 1 then 'rare@example.com' when 2 then 'Zy@example.com' when 3 then 'bücher@example.com' else 'user' || n || '@example.com' end,
  case n when 4 then '+12025550123' end,
  '2025-01-01T00:00:00Z'::timestamptz + make_interval(secs => n)
from generate_series(1, 25000) n;
insert into basalt.social_identities (provider, subject, user_id, name)
values ('google', '5', '00000000-0000-4000-8000-000000000005', 'Grace Hopper');
analyze basalt.users`

describe('GET /api/admin/users › search', () => {
  let app: TestApp
  let token: string

  beforeAll(async () => {
    app = await createTestApp({ setup: users })
    token = await app.adminToken()
  })
  afterAll(() => app[Symbol.asyncDispose]())

  const list = async (query: string) =>
    (await app.request('GET', `/api/admin/users?perPage=2&${query}`, { token })).json
  const numbers = (json: { items: { id: string }[] }) => json.items.map(({ id }) => Number(id.slice(-12)))

  test.each([
    ['rare', 1],
    ['RE@EXAMPLE.COM', 1],
    ['bücher', 3],
    ['5550123', 4],
    ['ce hop', 5],
    ['00000000-0000-4000-8000-000000000007', 7],
  ])('finds an old user by %s, and counts exactly', async (text, number) => {
    const json = await list(`search=${encodeURIComponent(text)}`)
    expect(numbers(json)).toEqual([number])
    expect(json).toEqual({ items: json.items, page: 1, perPage: 2, totalItems: 1, totalPages: 1 })
  })

  test('returns an empty page for a text that no user has', async () => {
    expect(await list('search=nothing-like-it')).toEqual({
      items: [],
      page: 1,
      perPage: 2,
      totalItems: 0,
      totalPages: 0,
    })
  })

  test('returns the newest of many matches with an estimated count', async () => {
    const json = await list('search=user')
    expect(numbers(json)).toEqual([25_000, 24_999])
    expect(json).toMatchObject({ isTotalEstimated: true })
    expect(json.totalItems).toBeGreaterThan(10_000)
    const next = await list(`search=user&cursor=${json.nextCursor}`)
    expect(numbers(next)).toEqual([24_998, 24_997])
  })

  test('sorts a bounded number of many old matches, and says so', async () => {
    await app.sql(`
      update basalt.users set email = 'former' || id || '@example.com'
      where created_at > '2025-01-01T00:01:00Z' and created_at < '2025-01-01T04:00:00Z'`)
    const json = await list('search=former')
    expect(json.items).toHaveLength(2)
    expect(json).toMatchObject({ isTotalEstimated: true, isSearchComplete: false })
    expect(json.totalItems).toBeGreaterThan(10_000)
  })

  test('searches two letters among the newest users, and continues by the cursor', async () => {
    const first = await list('search=zy')
    expect(first).toMatchObject({
      items: [],
      isSearchComplete: false,
      searchedTo: '2025-01-01T01:23:21.000Z',
    })
    const second = await list(`search=zy&cursor=${first.nextCursor}`)
    expect(numbers(second)).toEqual([2])
    expect([second.isSearchComplete, second.searchedTo]).toEqual([undefined, undefined])
  })

  test('finds the same users while the index is being built', async () => {
    await app.sql('drop index basalt.users_trigrams')
    const json = await list('search=rare')
    expect(numbers(json)).toEqual([1])
    expect(json).toMatchObject({ totalItems: 1 })
  })

  test('returns an estimated total on request, exact for few users', async () => {
    const json = await list('total=estimated')
    expect([json.totalItems, json.isTotalEstimated]).toEqual([25_000, undefined])
    expect((await app.request('GET', '/api/admin/users?total=about', { token })).status).toBe(400)
  })
})
