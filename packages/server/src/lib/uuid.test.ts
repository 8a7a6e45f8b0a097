import { describe, expect, test } from 'vitest'
import { isUuid, timedUuid } from './uuid.ts'

describe('UUID that begins with the time', () => {
  test('has the time, the version and the variant at the positions of RFC 9562', () => {
    // The time is that of the example in RFC 9562, appendix A.6.
    const id = timedUuid(0x017f22e279b0)
    expect(id).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(isUuid(id)).toBe(true)
  })

  test('follows those of an earlier millisecond, and is unique within its own', () => {
    const ids = Array.from({ length: 1000 }, () => timedUuid(1_700_000_000_000))
    expect(new Set(ids).size).toBe(1000)
    for (const id of ids) expect(id < timedUuid(1_700_000_000_001)).toBe(true)
  })

  test('accepts times of one digit and of all twelve', () => {
    expect(timedUuid(1)).toMatch(/^00000000-0001-7/)
    expect(timedUuid(2 ** 48 - 1)).toMatch(/^ffffffff-ffff-7/)
  })
})
