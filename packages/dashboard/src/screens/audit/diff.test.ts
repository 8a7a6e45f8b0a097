import { describe, expect, test } from 'vitest'
import { compareValues } from './diff.ts'

describe('dashboard › audit › values of a row', () => {
  test('compares JSON values, changed columns first', () => {
    const old_values = { id: 1, tags: ['a'], title: 'x', note: null }
    expect(compareValues({ old_values, new_values: { ...old_values, title: 'y', note: 'null' } })).toEqual([
      { column: 'title', before: 'x', after: 'y', isChanged: true },
      { column: 'note', before: 'null', after: 'null', isChanged: true },
      { column: 'id', before: '1', after: '1', isChanged: false },
      { column: 'tags', before: '["a"]', after: '["a"]', isChanged: false },
    ])
  })

  test('has values on one side for a created and a deleted row', () => {
    expect(compareValues({ old_values: null, new_values: { __proto__x: 1 } })).toEqual([
      { column: '__proto__x', before: undefined, after: '1', isChanged: true },
    ])
    expect(compareValues({ old_values: { id: 1 }, new_values: null })).toEqual([
      { column: 'id', before: '1', after: undefined, isChanged: true },
    ])
  })
})
