import { describe, expect, it } from 'vitest'
import { countOf, formatBytes, formatDuration, formatInstant } from './format.ts'

describe('dashboard › format', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.0 kB'],
    [15_360_000, '15.4 MB'],
    [123_456_789_000, '123 GB'],
    [9e15, '9000 TB'],
  ])('formats %d bytes', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text)
  })

  it.each([
    [0.4, '0 ms'],
    [999, '999 ms'],
    [1_500, '1.5 s'],
    [240_000, '4 min'],
    [7_200_000, '2.0 h'],
    [172_800_000, '2.0 d'],
  ])('formats %d ms', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text)
  })

  it('counts nouns', () => {
    expect([countOf(1, 'row'), countOf(2, 'row'), countOf(0, 'policy', 'policies')]).toEqual([
      '1 row',
      '2 rows',
      '0 policies',
    ])
  })

  it('leaves an invalid time unchanged', () => {
    expect(formatInstant('infinity')).toBe('infinity')
  })
})
