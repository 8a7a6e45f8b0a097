import { expect, test } from 'vitest'
import { ReplacedValues } from './replaced-values.ts'

const values = () => new ReplacedValues({ keptMs: 1000, limit: 3 })
const map = (members: Readonly<Record<string, string>>) => new Map(Object.entries(members))

test('replaced values › are those that a change has replaced or removed', () => {
  const replaced = values()
  replaced.add(map({ a: 'a1', b: 'b1', c: 'c1' }), map({ a: 'a2', b: 'b1' }), 0)
  expect(replaced.entries).toEqual([
    ['a', 'a1'],
    ['c', 'c1'],
  ])
})

test('replaced values › are forgotten after their time', () => {
  const replaced = values()
  replaced.add(map({ a: 'a1' }), map({ a: 'a2' }), 0)
  replaced.add(map({ a: 'a2' }), map({ a: 'a3' }), 500)
  expect(replaced.expire(999)).toBe(false)
  expect(replaced.expire(1000)).toBe(true)
  expect(replaced.entries).toEqual([['a', 'a2']])
  expect([replaced.expire(1500), replaced.entries]).toEqual([true, []])
  expect(replaced.expire(9000)).toBe(false)
})

test('replaced values › are the latest ones up to the limit', () => {
  const replaced = values()
  for (let index = 0; index < 5; index += 1)
    replaced.add(map({ a: `a${index}` }), map({ a: `a${index + 1}` }), 0)
  expect(replaced.entries.map(([, value]) => value)).toEqual(['a2', 'a3', 'a4'])
})
