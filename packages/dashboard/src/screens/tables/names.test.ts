import { describe, expect, test } from 'vitest'
import {
  andFilter,
  equalFilter,
  formatCondition,
  formatOneOf,
  formatSort,
  idOf,
  idText,
  nameText,
  parseSort,
  toggleSort,
} from './names.ts'

describe('dashboard › tables › column names in parameters', () => {
  test.each([
    ['id', 'id'],
    ['A B', '"A B"'],
    ['quote"d', '"quote""d"'],
    ['select', 'select'],
    ['and', '"and"'],
    ['ü', '"ü"'],
    ['Upper', '"Upper"'],
    ['a.b', '"a.b"'],
  ])('write %s as %s', (name, text) => {
    expect(nameText(name)).toBe(text)
  })

  test('round-trip in a sort', () => {
    const terms = [
      { key: 'id', isDescending: false },
      { key: 'a,"b"', isDescending: true },
      { key: '-x', isDescending: false },
    ]
    expect(parseSort(formatSort(terms))).toEqual(terms)
    expect(parseSort('')).toEqual([])
    const related = [
      { key: 'album.artist.name', path: ['album', 'artist', 'name'], isDescending: true },
      { key: 'a.b', isDescending: false },
      { key: 'A B.c.d', path: ['A B', 'c.d'], isDescending: false },
    ]
    expect(formatSort(related)).toBe('-album.artist.name,"a.b","A B"."c.d"')
    expect(parseSort(formatSort(related))).toEqual(related)
    expect(parseSort('-a, b')).toEqual([
      { key: 'a', isDescending: true },
      { key: 'b', isDescending: false },
    ])
  })

  test('are toggled in a sort, alone or added', () => {
    const first = toggleSort([], 'a', false)
    const second = toggleSort(first, 'a', false)
    expect([first, second, toggleSort(second, 'a', false)]).toEqual([
      [{ key: 'a', isDescending: false }],
      [{ key: 'a', isDescending: true }],
      [],
    ])
    expect(formatSort(toggleSort(second, 'b', true))).toBe('-a,b')
    expect(formatSort(toggleSort(second, 'b', false))).toBe('b')
  })
})

describe('dashboard › tables › filters', () => {
  test('quote values, and special characters of a pattern', () => {
    expect(formatCondition('a', '=', `it's \\`)).toBe(`a = 'it''s \\\\'`)
    expect(formatCondition('a', 'contains', '50%_')).toBe(`a ~* '%50\\\\%\\\\_%'`)
    expect(formatCondition('a', 'not null', '')).toBe('a != null')
    expect(
      equalFilter([
        ['a', '1'],
        ['B', null],
      ]),
    ).toBe(`a = '1' and "B" = null`)
  })

  test('share the condition of keys with an equal start', () => {
    expect(formatOneOf(['id'], [['1'], ["it's"]])).toBe(`id in ('1','it''s')`)
    expect(
      formatOneOf(
        ['a', 'B'],
        [
          ['x', '1'],
          ['y', '1'],
          ['x', '2'],
        ],
      ),
    ).toBe(`(a = 'x' and "B" in ('1','2')) or (a = 'y' and "B" in ('1'))`)
  })

  test('are added to a typed filter', () => {
    expect(andFilter('', 'a = 1')).toBe('a = 1')
    expect(andFilter('b = 2', 'a = 1')).toBe('b = 2 and a = 1')
    expect(andFilter('b = 2 or c = 3', 'a = 1')).toBe('(b = 2 or c = 3) and a = 1')
  })
})

test('dashboard › tables › idText › shows a composite id without its escapes, and a single value unchanged', () => {
  const key = ['a/b', 'c,d', '5%']
  expect(idText(idOf(key), ['x', 'y', 'z'])).toBe('a/b, c,d, 5%')
  expect(idText(idOf(['5%25']), ['x'])).toBe('5%25')
})
