import fc from 'fast-check'
import { expect, test } from 'vitest'
import { divideConnections, limitFor } from './connection-budget.ts'

test.each([
  [4, { system: 2, requests: 2 }],
  [12, { system: 2, requests: 10 }],
  [20, { system: 4, requests: 16 }],
])('%d connections are divided into those of the system and of requests', (limit, expected) => {
  expect(divideConnections(limit)).toEqual(expected)
})

test('returns the smallest limit whose parts have a number of connections', () => {
  fc.assert(
    fc.property(fc.nat(30), fc.nat(200), (system, requests) => {
      const has = (limit: number) => {
        const parts = divideConnections(limit)
        return parts.system >= system && parts.requests >= requests
      }
      const limit = limitFor({ system, requests })
      expect({ has: has(limit), hasWithFewer: has(limit - 1) && limit > 2 }).toEqual({
        has: true,
        hasWithFewer: false,
      })
    }),
  )
})
