import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyUnits } from '../../../../test/any-text.ts'
import { isBase64url, isFramed, parseClientData } from './client-data.ts'

const encode = (content: string | Buffer) => Buffer.from(content).toString('base64url')
const right = { type: 'webauthn.get', challenge: 'Y2hhbGxlbmdl', origin: 'https://example.com' }

describe('client data', () => {
  test('is parsed as the browser wrote it, with unknown members ignored', () => {
    const text = JSON.stringify({ ...right, crossOrigin: false, other_keys_can_be_added_here: 'x' })
    expect(parseClientData(encode(text))).toEqual({ ...right, crossOrigin: false, topOrigin: undefined })
  })

  test.each([
    ['nothing', undefined],
    ['empty', ''],
    ['a number', 1],
    ['padded base64url', `${encode(JSON.stringify(right)).replace(/=+$/, '')}=`],
    ['standard base64', Buffer.from('{"a":"ÿÿÿ>>>"}').toString('base64')],
    ['no JSON', encode('{')],
    ['JSON null', encode('null')],
    ['a JSON array', encode('[]')],
    ['no UTF-8', encode(Buffer.from([0x7b, 0xff, 0x7d]))],
    ['with a byte order mark', encode(`\uFEFF${JSON.stringify(right)}`)],
    ['without type', encode(JSON.stringify({ ...right, type: undefined }))],
    ['with a number as origin', encode(JSON.stringify({ ...right, origin: 1 }))],
    ['with an array as challenge', encode(JSON.stringify({ ...right, challenge: ['Y2hhbGxlbmdl'] }))],
    ['with NUL in the challenge', encode(JSON.stringify({ ...right, challenge: 'a\0b' }))],
    ['longer than any browser writes', encode(JSON.stringify({ ...right, origin: 'o'.repeat(9000) }))],
  ])('is rejected if it is %s', (_name, encoded) => {
    expect(parseClientData(encoded)).toBeUndefined()
  })

  test('reports a page in a frame of another site', () => {
    expect(isFramed(right)).toBe(false)
    expect(isFramed({ ...right, crossOrigin: false })).toBe(false)
    for (const crossOrigin of [true, null, 0, 'false', {}])
      expect(isFramed({ ...right, crossOrigin })).toBe(true)
    expect(isFramed({ ...right, topOrigin: 'https://example.com' })).toBe(true)
  })
})

describe('base64url', () => {
  test('encodes bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), (bytes) => {
        expect(isBase64url(Buffer.from(bytes).toString('base64url'), 200)).toBe(true)
      }),
    )
  })

  test('has one spelling', () => {
    fc.assert(
      fc.property(fc.oneof(anyUnits({ maxLength: 8 }), fc.base64String({ maxLength: 16 })), (text) => {
        const isIt = isBase64url(text, 200)
        expect(isIt).toBe(text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text)
      }),
    )
    // The last character of these texts carries bits that belong to no byte.
    for (const text of ['AB', 'AAB', 'A', 'AAAAA']) expect(isBase64url(text, 200)).toBe(false)
  })
})
