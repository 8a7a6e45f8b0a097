import { describe, expect, test } from 'vitest'
import { countWorkers } from './workers.ts'

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
})
