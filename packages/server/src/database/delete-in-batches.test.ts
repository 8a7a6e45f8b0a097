import { expect, test } from 'vitest'
import { deleteInBatches } from './delete-in-batches.ts'
import { sql } from './sql.ts'
import { createRecordingQueryable } from './tests/recording.ts'

test('deleteInBatches › repeats a bounded statement until it deletes less than the bound', async () => {
  const deleted = [3, 3, 1]
  const { queryable, statements } = createRecordingQueryable(() =>
    Array.from({ length: deleted.shift() ?? 0 }, Object),
  )
  expect(await deleteInBatches(queryable, 'log', sql`at < ${'2026-01-02'}::timestamptz`, 3)).toBe(7)
  const statement = [
    'delete from "basalt"."log" where ctid = any (array(select ctid from "basalt"."log" ' +
      'where at < $1::timestamptz limit 3))',
    '2026-01-02',
  ]
  expect(statements).toEqual([statement, statement, statement])
})
