import { expect, test } from 'vitest'
import { PreparedNames } from './prepared-names.ts'

test('prepared names › know a name from its addition to its removal as surplus', () => {
  const names = new PreparedNames(2)
  expect(names.has('a')).toBe(false)
  for (const name of ['a', 'b', 'c']) names.add(name)
  expect(names.takeSurplus()).toEqual(['a'])
  expect(names.takeSurplus()).toEqual([])
  expect(['a', 'b', 'c'].map((name) => names.has(name))).toEqual([false, true, true])
})

test('prepared names › return the least recently used as surplus', () => {
  const names = new PreparedNames(2)
  names.add('a')
  names.add('b')
  names.has('a')
  names.add('c')
  expect(names.takeSurplus()).toEqual(['b'])
})

test('prepared names › treat an invalidated name as unknown, and still close it as surplus', () => {
  const names = new PreparedNames(1)
  names.add('a')
  names.invalidate('a')
  expect(names.has('a')).toBe(false)
  names.add('b')
  expect(names.takeSurplus()).toEqual(['a'])
})

test('prepared names › do not learn an unknown name by its invalidation', () => {
  const names = new PreparedNames(1)
  names.invalidate('a')
  names.add('b')
  expect(names.takeSurplus()).toEqual([])
})
