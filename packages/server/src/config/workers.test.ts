import { describe, expect, test } from 'vitest'
import { connectionsOf, countWorkers } from './workers.ts'

const external = 'postgresql://127.0.0.1/shop'

describe('server.workers', () => {
  test.each([
    { what: 'a number', workers: 3, url: '', maxConns: 20, cores: 1, expected: 3 },
    {
      what: 'auto beside the embedded database',
      workers: 'auto',
      url: '',
      maxConns: 20,
      cores: 4,
      expected: 3,
    },
    {
      what: 'auto beside an external database',
      workers: 'auto',
      url: external,
      maxConns: 20,
      cores: 4,
      expected: 4,
    },
    { what: 'auto on one processor', workers: 'auto', url: '', maxConns: 20, cores: 1, expected: 1 },
    {
      what: 'auto with few connections',
      workers: 'auto',
      url: external,
      maxConns: 11,
      cores: 8,
      expected: 2,
    },
  ] as const)('$what is $expected', ({ workers, url, maxConns, cores, expected }) => {
    expect(countWorkers({ server: { workers }, database: { url, max_conns: maxConns } }, cores)).toBe(
      expected,
    )
  })

  test('divides all connections of the machine, with at most one of difference', () => {
    for (const [workers, maxConns] of [
      [2, 20],
      [3, 20],
      [4, 19],
      [5, 20],
    ] as const) {
      const parts = Array.from({ length: workers }, (_, index) =>
        connectionsOf(index + 1, { workers, maxConns }),
      )
      expect(parts.reduce((sum, part) => sum + part, 0)).toBe(maxConns)
      expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1)
    }
  })
})
