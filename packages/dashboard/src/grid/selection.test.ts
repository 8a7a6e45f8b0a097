import { describe, expect, test } from 'vitest'
import { isTyped, moveSelection, rangeOf, selectCell } from './selection.ts'

const extent = { rows: 100, columns: 5, page: 20 }
const press = (key: string, { shift = false, mod = false } = {}) => ({ key, shift, mod })
const at = (row: number, column: number) => selectCell({ row, column })

describe('dashboard › grid › selection', () => {
  test.each([
    ['ArrowDown', {}, [11, 2]],
    ['ArrowUp', {}, [9, 2]],
    ['ArrowLeft', {}, [10, 1]],
    ['ArrowRight', {}, [10, 3]],
    ['ArrowDown', { mod: true }, [99, 2]],
    ['ArrowUp', { mod: true }, [0, 2]],
    ['Home', {}, [10, 0]],
    ['End', {}, [10, 4]],
    ['Home', { mod: true }, [0, 0]],
    ['End', { mod: true }, [99, 4]],
    ['PageDown', {}, [30, 2]],
    ['PageUp', {}, [0, 2]],
  ] as const)('moves with %s %j', (key, keys, [row, column]) => {
    expect(moveSelection(at(10, 2), press(key, keys), extent)).toEqual(at(row, column))
  })

  test('stays inside the grid', () => {
    expect(moveSelection(at(99, 4), press('ArrowDown'), extent)).toEqual(at(99, 4))
    expect(moveSelection(at(0, 0), press('ArrowLeft'), extent)).toEqual(at(0, 0))
    expect(moveSelection(at(0, 0), press('ArrowDown'), { rows: 0, columns: 0, page: 1 })).toEqual(at(0, 0))
  })

  test('grows from its anchor with Shift, and selects everything with Ctrl A', () => {
    const grown = moveSelection(at(10, 2), press('ArrowUp', { shift: true }), extent)
    expect(grown && rangeOf(grown)).toEqual({ top: 9, bottom: 10, left: 2, right: 2 })
    const whole = moveSelection(at(10, 2), press('a', { mod: true }), extent)
    expect(whole && rangeOf(whole)).toEqual({ top: 0, bottom: 99, left: 0, right: 4 })
  })

  test('is not moved by typing', () => {
    expect(moveSelection(at(1, 1), press('x'), extent)).toBeUndefined()
    expect(
      [press('x'), press('ü'), press('Enter'), press(' '), press('c', { mod: true })].map(isTyped),
    ).toEqual([true, true, false, false, false])
  })
})
