import { describe, expect, test } from 'vitest'
import {
  addRow,
  changeCell,
  changeNew,
  countChanges,
  deleteRow,
  faultAt,
  noChanges,
  planOperations,
  putRow,
} from './changes.ts'

const types = new Map([
  ['id', 'bigint'],
  ['doc', 'jsonb'],
])
const row = (id: string) => ({ key: [id], etag: '7', cells: [] })

describe('dashboard › tables › staged changes', () => {
  test('become operations, deletes first, with the entity tag that was read', () => {
    let changes = changeCell(noChanges, row('1'), 'title', 'new', 'old')
    changes = changeCell(changes, row('1'), 'doc', '{"n": 12345678901234567890}', null)
    changes = deleteRow(changes, row('2'), true)
    changes = changeNew(addRow(changes, { title: null, id: undefined }), 1, 'n', '1.10')
    const operations = planOperations(changes, types).map(({ operation }) => operation)
    expect(JSON.stringify(operations)).toBe(
      JSON.stringify([
        { method: 'delete', id: '2', ifMatch: '7' },
        { method: 'update', id: '1', ifMatch: '7', body: { title: 'new', doc: 'DOC' } },
        { method: 'create', body: { title: null, n: '1.10' } },
      ]).replace('"DOC"', '{"n":12345678901234567890}'),
    )
    expect(countChanges(changes)).toBe(3)
  })

  test('are dropped when the original value is restored', () => {
    const changed = changeCell(noChanges, row('1'), 'title', 'new', 'old')
    expect(countChanges(changeCell(changed, row('1'), 'title', 'old', 'old'))).toBe(0)
    expect(countChanges(deleteRow(deleteRow(noChanges, row('1'), true), row('1'), false))).toBe(0)
  })

  test('distinguish empty from NULL', () => {
    const changes = changeCell(noChanges, row('1'), 'title', '', null)
    expect(changes.rows.get('1')?.values).toEqual({ title: '' })
  })

  test('use the current tag of the row once a conflict is resolved', () => {
    const changes = changeCell(noChanges, row('1'), 'title', 'mine', 'old')
    const change = changes.rows.get('1')
    if (change === undefined) throw new Error('no change')
    const resolved = putRow(changes, '1', { ...change, present: { ...row('1'), etag: '9' } })
    expect(planOperations(resolved, types)[0]?.operation).toMatchObject({ id: '1', ifMatch: '9' })
  })

  test('ignore rows without a key', () => {
    const keyless = { key: null, etag: '1', cells: [] }
    expect(countChanges(deleteRow(changeCell(noChanges, keyless, 'a', 'x', 'y'), keyless, true))).toBe(0)
  })
})

test('reports a refusal at the refused columns, or at all cells if it names none', () => {
  const fault = { message: 'refused', columns: ['price'] }
  expect([faultAt(fault, 'price'), faultAt(fault, 'title'), faultAt(undefined, 'price')]).toEqual([
    'refused',
    undefined,
    undefined,
  ])
  expect(faultAt({ ...fault, columns: [] }, 'title')).toBe('refused')
})
