import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createToken, hashToken, isToken } from './tokens.ts'

const prefix = 'basalt_at_'

describe('token', () => {
  test('has prefix, secret and checksum, and is unique', () => {
    const tokens = Array.from({ length: 500 }, () => createToken(prefix))
    for (const token of tokens) {
      expect(token).toMatch(/^basalt_at_[0-9A-Za-z]{49}$/)
      expect(isToken(prefix, token)).toBe(true)
    }
    expect(new Set(tokens).size).toBe(500)
    // Every character of the alphabet occurs at every position but the first, which contains the highest of 256
    // bits.
    const positions = Array.from(
      { length: 42 },
      (_, index) => new Set(tokens.map((token) => token[prefix.length + 1 + index])),
    )
    for (const characters of positions) expect(characters.size).toBeGreaterThan(50)
  })

  test('is distinguished from a mistyped one', () => {
    const change = fc.record({ at: fc.nat(48), by: fc.constantFrom(...'09AZaz-_ \0') })
    fc.assert(
      fc.property(change, ({ at, by }) => {
        const token = createToken(prefix)
        const position = prefix.length + at
        const mistyped = token.slice(0, position) + by + token.slice(position + 1)
        expect(isToken(prefix, mistyped)).toBe(mistyped === token)
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    ['nothing', ''],
    ['the prefix alone', prefix],
    ['another prefix', createToken('basalt_rt_')],
    ['one character too few', createToken(prefix).slice(0, -1)],
    ['one character too many', `${createToken(prefix)}0`],
    ['a blank behind', `${createToken(prefix)} `],
    ['two of them', createToken(prefix).repeat(2)],
  ])('is not %s', (_what, text) => {
    expect(isToken(prefix, text)).toBe(false)
  })

  test('is stored as its SHA-256', () => {
    expect(hashToken('abc').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })
})
