import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Lru } from './lru.ts'

describe('bounded map', () => {
  test('evicts the least recently used entry', () => {
    const map = new Lru<string, number>(3)
    expect([map.set('a', 1), map.set('b', 2), map.set('c', 3)]).toEqual([undefined, undefined, undefined])
    expect(map.get('a')).toBe(1)
    expect(map.set('d', 4)).toBe('b')
    expect(['a', 'b', 'c', 'd'].map((key) => map.get(key))).toEqual([1, undefined, 3, 4])
  })

  test('counts a new value as use', () => {
    const map = new Lru<string, number>(2)
    map.set('a', 1)
    map.set('b', 2)
    expect(map.set('a', 3)).toBeUndefined()
    expect(map.set('c', 4)).toBe('b')
    expect(map.get('a')).toBe(3)
  })

  test('deletes on demand', () => {
    const map = new Lru<string, number>(9)
    for (const [key, value] of Object.entries({ a: 1, b: 2, c: 3 })) map.set(key, value)
    map.delete('a')
    map.delete('nothing')
    map.deleteWhere((value) => value === 2)
    expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([undefined, undefined, 3])
  })

  test('contains at most its limit, and evicts nothing before that', () => {
    const step = fc.record({ action: fc.constantFrom('get', 'set', 'delete'), key: fc.nat(12) })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 80 }), (limit, steps) => {
        const map = new Lru<number, number>(limit)
        const known = new Map<number, number>()
        steps.forEach(({ action, key }, time) => {
          if (action === 'get') expect(map.get(key)).toBe(known.get(key))
          if (action === 'delete') {
            map.delete(key)
            known.delete(key)
          }
          if (action === 'set') {
            const pushedOut = map.set(key, time)
            known.set(key, time)
            // Only a full map evicts, one entry at a time, and never the new one.
            expect(pushedOut !== undefined).toBe(known.size > limit)
            if (pushedOut === undefined) return
            expect(pushedOut).not.toBe(key)
            expect(known.delete(pushedOut)).toBe(true)
          }
        })
        for (let key = 0; key <= 12; key += 1) expect(map.get(key)).toBe(known.get(key))
      }),
    )
  })

  test('keeps used entries while others are added', () => {
    const map = new Lru<number, string>(10)
    for (let key = 0; key < 100; key += 1) {
      map.set(key, 'x')
      if (key >= 5) expect(map.get(5)).toBe('x')
    }
  })
})
