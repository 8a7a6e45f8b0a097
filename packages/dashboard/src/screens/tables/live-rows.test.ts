import { describe, expect, test } from 'vitest'
import { shiftOf } from '../../grid/use-anchor.ts'
import type { RowPage } from './api.ts'
import { changedKeys, hasSameRows, type PageRequest, pagesBetween, readAgain } from './live-rows.ts'

const rowsOf = (ids: readonly number[], etag = '1') =>
  ids.map((id) => ({ key: [String(id)], etag, cells: [String(id)] }))
const pageOf = (
  ids: readonly number[],
  after: string | null = null,
  before: string | null = null,
): RowPage => ({
  columns: ['id'],
  width: 512,
  paging: 'keyset',
  before,
  after,
  rows: rowsOf(ids),
})

/** Creates a reader of a table that returns three rows at once. */
const readerOf = (table: readonly number[]) => (pageRequest: PageRequest) => {
  const bound = Number(pageRequest.after ?? pageRequest.before ?? 0)
  const ids =
    pageRequest.before === undefined
      ? table.filter((id) => id > bound).slice(0, 3)
      : table.filter((id) => id < bound).slice(-3)
  const isLast = ids.at(-1) === table.at(-1)
  const isFirst = ids[0] === table[0]
  return Promise.resolve(pageOf(ids, isLast ? null : String(ids.at(-1)), isFirst ? null : String(ids[0])))
}
const idsOf = (page: RowPage | undefined) => page?.rows.map(({ key }) => Number(key?.[0]))

describe('dashboard › tables › live rows', () => {
  const pages = [pageOf([10, 20, 30], '30'), pageOf([40, 50, 60], '60')]

  test.each([
    ['a new row', [10, 15, 20, 30, 40, 50, 60], [10, 15, 20, 30]],
    ['many new rows', [10, 11, 12, 13, 14, 20, 30, 40], [10, 11, 12, 13, 14, 20, 30]],
    ['a row less', [10, 30, 40, 50], [10, 30]],
    ['no row left', [40, 50], []],
  ])('end a page with %s at the start of the next page', async (_what, table, expected) => {
    const page = await readAgain(pages, 0, {}, readerOf(table))
    expect(idsOf(page)).toEqual(expected)
    expect([page?.before, page?.after]).toEqual([null, '30'])
  })

  test('start a page that was read upwards at the end of the previous page', async () => {
    const upwards = [pageOf([10, 20, 30], '30', '10'), pageOf([40, 50, 60])]
    const read = readerOf([5, 10, 20, 30, 31, 32, 40, 50, 60, 70])
    expect(idsOf(await readAgain(upwards, 1, { before: '70' }, read))).toEqual([31, 32, 40, 50, 60])
    expect(idsOf(await readAgain(upwards, 0, { before: '31' }, read))).toEqual([10, 20, 30])
  })

  test('cannot be reread when the first row of the next page was deleted', async () => {
    expect(await readAgain(pages, 0, {}, readerOf([10, 20, 30, 50]))).toBeUndefined()
    const many = Array.from({ length: 30 }, (_, index) => index)
    expect(await readAgain(pages, 0, {}, readerOf(many))).toBeUndefined()
  })

  test('are marked when they are new or have another version', () => {
    const [before = pageOf([])] = pages
    const now = { ...before, rows: [...rowsOf([10, 20]), ...rowsOf([30], '2'), ...rowsOf([35])] }
    expect(changedKeys(before, now)).toEqual(['30', '35'])
    expect(hasSameRows(before, now)).toBe(false)
    expect(hasSameRows(before, { ...before, rows: rowsOf([10, 20, 30], '2') })).toBe(true)
  })

  test('are read for the pages in view', () => {
    expect(pagesBetween(pages, 0, 2)).toEqual([0])
    expect(pagesBetween(pages, 2, 3)).toEqual([0, 1])
    expect(pagesBetween(pages, 3, 9)).toEqual([1])
    expect(pagesBetween([], 0, 9)).toEqual([])
    expect(pagesBetween([pageOf([])], 0, 0)).toEqual([0])
    expect(pagesBetween([pageOf([])], 5, 9)).toEqual([0])
  })

  test('are found by their key after they moved, nearest position first', () => {
    const keys = ['a', 'b', 'c', 'd', 'b']
    const key = (row: number) => keys[row] ?? ''
    expect(shiftOf({ row: 1, key: 'b' }, 5, key)).toBe(0)
    expect(shiftOf({ row: 0, key: 'c' }, 5, key)).toBe(2)
    expect(shiftOf({ row: 3, key: 'b' }, 5, key)).toBe(1)
    expect(shiftOf({ row: 9, key: 'd' }, 5, key)).toBe(-6)
    expect(shiftOf({ row: 2, key: 'z' }, 5, key)).toBe(0)
  })
})
