import { expect, test } from 'vitest'
import { ConnectionDemand } from './connection-demand.ts'

function demandsFor(samples: readonly number[]): number[] {
  const demand = new ConnectionDemand()
  return samples.map((sample) => demand.add(sample))
}

test('demand for connections › rises when a need lasts for two samples, and ignores shorter ones', () => {
  expect(demandsFor([9, 9, 4, 12, 4, 12, 10])).toEqual([0, 9, 9, 9, 9, 9, 10])
})

test('demand for connections › falls when it was lower for 50 to 100 samples', () => {
  const demands = demandsFor([...Array(60).fill(9), ...Array(100).fill(5)])
  const fallenAt = demands.indexOf(5)
  expect(fallenAt - 60).toBeGreaterThanOrEqual(50)
  expect(fallenAt - 60).toBeLessThanOrEqual(100)
  expect(demands.slice(1, fallenAt).every((demand) => demand === 9)).toBe(true)
})
