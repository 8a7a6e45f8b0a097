import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nameComponents } from './component-names.ts'

test('a plain name stays as it is, whatever its neighbours are called', () => {
  const names = nameComponents(['a b', 'a.b', 'a_b', 'größe', '🦊'])
  expect(Object.fromEntries(names)).toEqual({
    a_b: 'a_b',
    'a b': 'a_b_2',
    'a.b': 'a_b_3',
    größe: 'gro_e',
    '🦊': '_',
  })
})

test('every name is one OpenAPI allows, and no two are the same', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1, unit: 'grapheme' })), (collections) => {
      const names = [...nameComponents(collections).values()]
      expect(names).toHaveLength(collections.length)
      expect(new Set(names).size).toBe(names.length)
      for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_]+$/)
    }),
  )
})
