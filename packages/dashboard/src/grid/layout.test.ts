import { describe, expect, it } from 'vitest'
import { columnStarts, columnsInView, gutterWidth, pinnedOffsets, rowsInView, scrollTo } from './layout.ts'

const columns = Array.from({ length: 2000 }, (_, index) => ({
  ...{ key: `c${index}`, title: `c${index}`, type: 'integer', width: 100 },
  isPinned: index < 2,
}))
const pinned = pinnedOffsets(columns)
const starts = columnStarts(columns, pinned)
const view = { top: 0, left: 0, height: 560, width: 1000 }

describe('dashboard › grid › layout', () => {
  it('places columns after the pinned ones', () => {
    expect(pinned).toEqual({ offsets: [gutterWidth, gutterWidth + 100], width: gutterWidth + 200 })
    expect([starts[0], starts[1], starts.at(-1)]).toEqual([264, 364, 264 + 1998 * 100])
  })

  it.each([
    ['at the start', 0, { first: 0, end: 10 }],
    ['at the first column that is hidden by the pinned ones', 100, { first: 0, end: 11 }],
    ['in the middle', 100_000, { first: 998, end: 1010 }],
    ['at the end', 199_064, { first: 1988, end: 1998 }],
  ])('renders the columns in view and two around, of two thousand: %s', (_, left, expected) => {
    expect(columnsInView({ ...view, left }, starts, pinned)).toEqual(expected)
  })

  it('renders no columns without columns', () => {
    const nothing = pinnedOffsets([])
    expect(columnsInView(view, columnStarts([], nothing), nothing)).toEqual({ first: 0, end: 0 })
  })

  it('renders the rows in view and eight around, in steps of four', () => {
    expect(rowsInView(view, 1000)).toEqual({ first: 0, end: 28 })
    expect(rowsInView({ ...view, top: 28 * 400 }, 1000)).toEqual({ first: 392, end: 428 })
    expect(rowsInView({ ...view, top: 28 * 402 }, 1000)).toEqual({ first: 392, end: 432 })
    expect(rowsInView({ ...view, top: 28 * 990 }, 1000)).toEqual({ first: 980, end: 1000 })
    expect(rowsInView(view, 0)).toEqual({ first: 0, end: 0 })
  })

  it('scrolls no further than needed to bring a part into view', () => {
    expect(scrollTo(500, 400, 40, 600, 628)).toBe(500)
    expect(scrollTo(500, 400, 40, 510, 538)).toBe(470)
    expect(scrollTo(500, 400, 40, 880, 908)).toBe(508)
  })
})
