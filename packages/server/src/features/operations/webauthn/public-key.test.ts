import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Algorithm, cbor, coseKey, generateKeys } from '../../../../test/authenticator.ts'
import { requireUsableKey } from './public-key.ts'

const algorithms: readonly Algorithm[] = ['ES256', 'EdDSA', 'RS256']
const keyOf = (algorithm: Algorithm) => coseKey(generateKeys(algorithm).publicKey, algorithm)
const changed = (algorithm: Algorithm, label: number, value: unknown) => keyOf(algorithm).set(label, value)
const without = (algorithm: Algorithm, label: number) => {
  const key = keyOf(algorithm)
  key.delete(label)
  return key
}

function shortRsaKey(): Map<number, unknown> {
  return coseKey(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey, 'RS256')
}

function compressedPoint(): Map<number, unknown> {
  return changed('ES256', -3, null)
}

describe('passkey public key', () => {
  test.each(algorithms)('is accepted for %s', (algorithm) => {
    expect(() => requireUsableKey(cbor(keyOf(algorithm)))).not.toThrow()
  })

  test.each([
    ['of another curve', changed('ES256', -1, 2)],
    ['of the curve secp256k1', changed('ES256', -1, 8)],
    ['off its curve', changed('ES256', -3, Buffer.alloc(32, 1))],
    ['with half a point', without('ES256', -3)],
    ['with a compressed point', compressedPoint()],
    ['with coordinates as text', changed('ES256', -2, 'x'.repeat(32))],
    ['of another kind than its algorithm', changed('ES256', 1, 1)],
    ['of an algorithm that was not offered', changed('ES256', 3, -35)],
    ['of Ed448', changed('EdDSA', -1, 7)],
    ['of Ed25519 with too few bytes', changed('EdDSA', -2, Buffer.alloc(31, 1))],
    ['without a modulus', without('RS256', -1)],
    ['without an exponent', without('RS256', -2)],
    ['of RSA with 1024 bits', shortRsaKey()],
    ['that is no map', [1, 2]],
    ['that is empty', new Map()],
  ])('%s is rejected', (_name, key) => {
    expect(() => requireUsableKey(cbor(key))).toThrow()
  })
})
