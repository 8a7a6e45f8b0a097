import { describe, expect, test } from 'vitest'
import { addRow, changeCell, changeNew, deleteRow, dropNew, noChanges } from './changes.ts'
import { remainderOf, withoutSent } from './remainder.ts'

const columns = ['id', 'a', 'b']
const row = (id: string, a = 'a', etag = '1') => ({ key: [id], etag, cells: [id, a, 'b'] })

describe('dashboard › tables › changes staged during a write', () => {
  test('include everything that was not sent', () => {
    const sent = changeCell(noChanges, row('1'), 'a', 'x', 'a')
    const later = addRow(changeCell(sent, row('2'), 'b', 'y', 'b'), { a: 'new' })
    const remainder = remainderOf(later, sent, columns)
    expect([...remainder]).toEqual([])
    const rest = withoutSent(later, sent, remainder, new Map())
    expect([[...rest.rows.keys()], rest.created]).toEqual([['2'], [{ id: 1, values: { a: 'new' } }]])
  })

  test('include cells that were edited again, based on the written row', () => {
    const sent = changeCell(changeCell(noChanges, row('1'), 'a', 'x', 'a'), row('1'), 'b', 'y', 'b')
    const later = changeCell(sent, row('1'), 'a', 'again', 'a')
    const remainder = remainderOf(later, sent, columns)
    expect([...remainder]).toEqual([['1', { values: { a: 'again' }, isDeleted: false }]])
    const written = row('1', 'x', '2')
    expect([...withoutSent(later, sent, remainder, new Map([['1', written]])).rows]).toEqual([
      ['1', { row: written, values: { a: 'again' }, isDeleted: false }],
    ])
    // A row that cannot be read keeps its old tag, so writing it is a conflict.
    expect(withoutSent(later, sent, remainder, new Map()).rows.get('1')?.row.etag).toBe('1')
  })

  test('include cells that were reset to the original value', () => {
    const sent = changeCell(noChanges, row('1'), 'a', 'x', 'a')
    const later = changeCell(sent, row('1'), 'a', 'a', 'a')
    expect([...remainderOf(later, sent, columns)]).toEqual([['1', { values: { a: 'a' }, isDeleted: false }]])
    expect([...remainderOf(deleteRow(sent, row('1'), true), sent, columns)]).toEqual([
      ['1', { values: {}, isDeleted: true }],
    ])
  })

  test('do not reuse the number of a dropped new row', () => {
    const sent = addRow(noChanges, { a: 'one' })
    const later = addRow(dropNew(sent, 1), { a: 'another' })
    const remainder = remainderOf(later, sent, columns)
    const rest = withoutSent(later, sent, remainder, new Map([[1, row('10')]]))
    expect([...rest.rows.values()]).toEqual([{ row: row('10'), values: {}, isDeleted: true }])
    expect(rest.created).toEqual([{ id: 2, values: { a: 'another' } }])
  })

  test('include new rows that were edited or dropped, by their key', () => {
    const sent = addRow(addRow(noChanges, { a: 'one' }), { a: 'two' })
    const later = dropNew(changeNew(sent, 1, 'a', 'uno'), 2)
    const remainder = remainderOf(later, sent, columns)
    const present = new Map([
      [1, row('10')],
      [2, row('11')],
    ])
    const rest = withoutSent(later, sent, remainder, present)
    expect([...rest.rows.values()]).toEqual([
      { row: row('10'), values: { a: 'uno' }, isDeleted: false },
      { row: row('11'), values: {}, isDeleted: true },
    ])
    expect(rest.created).toEqual([])
  })
})
