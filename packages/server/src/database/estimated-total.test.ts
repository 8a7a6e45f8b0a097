import { describe, expect, test } from 'vitest'
import { countOrEstimate } from './estimated-total.ts'
import { sql } from './sql.ts'
import { createRecordingQueryable } from './tests/recording.ts'

const rows = sql`from basalt.users where email like ${'a%'}`
const countSql =
  'select count(*)::int as count from (select from basalt.users where email like $1 limit 100001) counted'

/** Creates a database with a number of rows, and an estimate of the planner. */
function withRows(count: number, estimate = 0) {
  return createRecordingQueryable((text) =>
    text.startsWith('explain')
      ? [{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': estimate } }] }]
      : [{ count: Math.min(count, 100_001) }],
  )
}

describe('countOrEstimate › SQL', () => {
  test('counts up to 100,000 rows', async () => {
    const { queryable, statements } = withRows(42)
    expect(await countOrEstimate(queryable, rows)).toEqual({ totalItems: 42 })
    expect(statements).toEqual([[countSql, 'a%']])
  })

  test("returns the planner's estimate for more", async () => {
    const { queryable, statements } = withRows(5_000_000, 4_900_000)
    expect(await countOrEstimate(queryable, rows)).toEqual({ totalItems: 4_900_000, isTotalEstimated: true })
    expect(statements).toEqual([
      [countSql, 'a%'],
      ['explain (format json) select from basalt.users where email like $1', 'a%'],
    ])
  })

  test('returns no estimate below the counted rows', async () => {
    const { queryable } = withRows(5_000_000, 10)
    expect(await countOrEstimate(queryable, rows)).toEqual({ totalItems: 100_001, isTotalEstimated: true })
  })
})
