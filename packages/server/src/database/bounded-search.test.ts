import { describe, expect, test } from 'vitest'
import { type BoundedSearch, searchBounded } from './bounded-search.ts'
import { sql } from './sql.ts'
import { createRecordingQueryable } from './tests/recording.ts'

const search: BoundedSearch = {
  read: sql`select * from basalt.log where level >= ${40} order by at desc`,
  filter: undefined,
  columns: sql`found.at, found.message`,
  order: sql`order by found.at desc`,
  bound: 10_000,
}
const byMessage = { ...search, filter: sql`found.message like ${'%timeout%'}` }

describe('searchBounded › SQL', () => {
  test('reads a page in the order of the index without a filter', async () => {
    const { queryable, statements } = createRecordingQueryable()
    await searchBounded(queryable, search, { limit: 50, offset: 100 })
    expect(statements).toEqual([
      [
        'select found.at, found.message ' +
          'from (select * from basalt.log where level >= $1 order by at desc) found ' +
          'where true order by found.at desc limit $2::int offset $3::bigint',
        40,
        50,
        100,
      ],
    ])
  })

  test('applies a filter without an index to the first rows, and reads the last of them', async () => {
    const { queryable, statements } = createRecordingQueryable()
    await searchBounded(queryable, byMessage, { limit: 50 })
    expect(statements).toEqual([
      [
        'select found.at, found.message ' +
          'from (select * from basalt.log where level >= $1 order by at desc limit 10000) found ' +
          'where found.message like $2 order by found.at desc limit $3::int offset $4::bigint',
        40,
        '%timeout%',
        50,
        0,
      ],
      [
        'select found.at, found.message ' +
          'from (select * from basalt.log where level >= $1 order by at desc limit 1 offset 9999) found',
        40,
      ],
    ])
  })

  test('reads no bound after a full page', async () => {
    const { queryable, statements } = createRecordingQueryable(() => [{ at: 1 }, { at: 2 }])
    await searchBounded(queryable, byMessage, { limit: 2 })
    expect(statements).toHaveLength(1)
  })
})
