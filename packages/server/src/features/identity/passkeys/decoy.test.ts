import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { requireUsableKey } from '../../operations/webauthn/public-key.ts'
import { deriveKeys } from '../accounts/index.ts'
import { decoyCredentials, decoyKey } from './decoy.ts'

const keys = deriveKeys('a secret of at least thirty-two characters')
const others = deriveKeys('another secret of at least thirty-two characters')

describe('decoy passkeys', () => {
  test('are always the same for an address and a key, and differ for others', () => {
    fc.assert(
      fc.property(fc.emailAddress(), fc.emailAddress(), (email, another) => {
        const made = decoyCredentials(keys, email)
        expect(decoyCredentials(keys, email)).toEqual(made)
        expect(decoyCredentials(others, email)).not.toEqual(made)
        if (another !== email) expect(decoyCredentials(keys, another)).not.toEqual(made)
      }),
      { numRuns: 50 },
    )
  })

  test('look like those of common authenticators, one or two of a kind', () => {
    const made = Array.from({ length: 500 }, (_, index) => decoyCredentials(keys, `user${index}@example.com`))
    const shapes = made.map((passkeys) =>
      passkeys.map(({ credential_id, transports }) => [
        Buffer.from(credential_id, 'base64url').length,
        transports,
      ]),
    )
    for (const [first, second] of shapes) if (second !== undefined) expect(second).toEqual(first)
    expect(new Set(shapes.map(([first]) => JSON.stringify(first)))).toEqual(
      new Set([
        '[16,["hybrid","internal"]]',
        '[20,["hybrid","internal"]]',
        '[32,["internal"]]',
        '[16,[]]',
        '[20,[]]',
        '[32,[]]',
      ]),
    )
    expect(new Set(shapes.map(({ length }) => length))).toEqual(new Set([1, 2]))
    expect(new Set(made.flat().map(({ credential_id }) => credential_id)).size).toBe(made.flat().length)
  })

  test('are verified against a plausible key', () => {
    expect(() => requireUsableKey(decoyKey.publicKey)).not.toThrow()
  })
})
