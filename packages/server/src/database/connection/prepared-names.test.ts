import { expect, test } from 'vitest'
import { PreparedNames } from './prepared-names.ts'

test('a name is known once it was added, and forgotten when it is taken as surplus', () => {
  const names = new PreparedNames(2)
  expect(names.has('a')).toBe(false)
  for (const name of ['a', 'b', 'c']) names.add(name)
  expect(names.takeSurplus()).toEqual(['a'])
  expect(names.takeSurplus()).toEqual([])
  expect(['a', 'b', 'c'].map((name) => names.has(name))).toEqual([false, true, true])
})

test('the surplus is what was used least recently', () => {
  const names = new PreparedNames(2)
  names.add('a')
  names.add('b')
  names.has('a')
  names.add('c')
  expect(names.takeSurplus()).toEqual(['b'])
})

test('an invalidated name counts as unknown, and is still closed as surplus', () => {
  const names = new PreparedNames(1)
  names.add('a')
  names.invalidate('a')
  expect(names.has('a')).toBe(false)
  names.add('b')
  expect(names.takeSurplus()).toEqual(['a'])
})

test('invalidating an unknown name does not make it known', () => {
  const names = new PreparedNames(1)
  names.invalidate('a')
  names.add('b')
  expect(names.takeSurplus()).toEqual([])
})
