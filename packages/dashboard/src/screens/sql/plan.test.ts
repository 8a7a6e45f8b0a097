import { expect, test } from 'vitest'
import { readPlan } from './plan.ts'

const scan = {
  'Node Type': 'Seq Scan',
  'Relation Name': 'track',
  Alias: 't',
  'Total Cost': 90,
  'Plan Rows': 10,
  'Actual Rows': 500,
  'Actual Loops': 2,
  'Actual Total Time': 4,
  'Rows Removed by Filter': 20_000,
  Filter: '(a = 1)',
}

test('dashboard › SQL › readPlan › reads time per node, rows of all loops, and warnings', () => {
  const sort = {
    'Node Type': 'Sort',
    'Total Cost': 100,
    'Plan Rows': 10,
    'Actual Rows': 1000,
    'Actual Loops': 1,
    'Actual Total Time': 10,
    'Sort Key': ['a', 'b DESC'],
    'Sort Space Type': 'Disk',
    'Sort Space Used': 900,
    Plans: [scan],
  }
  expect(readPlan([{ Plan: sort }])).toEqual({
    title: 'Sort',
    details: [['Sort Key', 'a, b DESC']],
    estimatedRows: 10,
    actualRows: 1000,
    ownMs: 2,
    share: 0.2,
    cost: 100,
    warnings: [
      'Estimated 10 rows, found 1000. Run ANALYZE on the table.',
      'Sorted on disk (900 kB). A higher work_mem keeps it in memory.',
    ],
    children: [
      {
        title: 'Seq Scan on track t',
        details: [['Filter', '(a = 1)']],
        estimatedRows: 20,
        actualRows: 1000,
        ownMs: 8,
        share: 0.8,
        cost: 90,
        warnings: [
          'Reads the whole table (41000 rows) to filter it. An index may help.',
          'Estimated 10 rows, found 500. Run ANALYZE on the table.',
        ],
        children: [],
      },
    ],
  })
})

test('dashboard › SQL › readPlan › uses shares of the cost if the plan was not run', () => {
  const { 'Actual Rows': _rows, 'Actual Total Time': _time, ...estimated } = scan
  const plan = readPlan([{ Plan: { 'Node Type': 'Limit', 'Total Cost': 100, Plans: [estimated] } }])
  expect(plan).toMatchObject({
    share: 0.1,
    ownMs: undefined,
    children: [{ share: 0.9, actualRows: undefined, warnings: [] }],
  })
  expect(readPlan('no plan')).toBeUndefined()
})
