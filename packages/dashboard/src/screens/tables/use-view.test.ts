import { describe, expect, it } from 'vitest'
import { readView, writeView } from './use-view.ts'

const names = Array.from({ length: 1600 }, (_, index) => `column_${index}`)
const write = (change: Parameters<typeof writeView>[1], search = new URLSearchParams()) =>
  writeView(search, change, names)

describe('dashboard › tables › view in the URL', () => {
  it.each([
    ['some', names.slice(0, 3)],
    ['all but one', names.slice(1)],
    ['all', names],
    ['none', []],
  ])('is short, whichever columns are hidden: %s', (_, hidden) => {
    const search = write({ hidden })
    expect(readView(search, names).hidden).toEqual(hidden)
    expect(search.toString().length).toBeLessThan(100)
  })

  it('stores hidden columns instead of visible ones when few are hidden', () => {
    const search = write({ hidden: ['column_3'] }, write({ hidden: names }))
    expect(search.toString()).toBe('hide=column_3')
  })

  it('names only the columns whose order differs from the default', () => {
    const moved = ['column_1', 'column_0', ...names.slice(2)]
    expect(write({ order: moved }).toString()).toBe('order=column_1&order=column_0')
    expect(write({ order: names }).toString()).toBe('')
  })
})
