import { describe, expect, test } from 'vitest'
import { createRedactor } from './redactor.ts'

const key = 'sk_live_"quoted" & more?'
const pem = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nshort\n-----END KEY-----'

describe('redactor', () => {
  test.each([
    ['the value', `Bearer ${key}!`, 'Bearer [KEY]!'],
    ['each occurrence', `${key}${key}`, '[KEY][KEY]'],
    ['JSON', JSON.stringify({ key }), '{"key":"[KEY]"}'],
    [
      'a component of a URL',
      `https://x.example/?k=${encodeURIComponent(key)}&n=1`,
      'https://x.example/?k=[KEY]&n=1',
    ],
    ['a form', new URLSearchParams({ k: key, n: '1' }).toString(), 'k=[KEY]&n=1'],
    ['Base64', `"${Buffer.from(key).toString('base64')}"`, '"[KEY]"'],
    ['Base64 in URLs', `"${Buffer.from(key).toString('base64url')}"`, '"[KEY]"'],
    [
      'Base64 of a longer text',
      Buffer.from(`${key}:`).toString('base64'),
      `[KEY]${Buffer.from(':').toString('base64')}`,
    ],
    ['a line of several', 'at MIIEvQIBADANBgkqhkiG', 'at [PEM]'],
    ['several lines', `x ${pem} y`, 'x [PEM] y'],
    ['no other text', 'sk_live short', 'sk_live short'],
  ])('replaces %s', (_case, text, redacted) => {
    expect(
      createRedactor(
        new Map([
          ['KEY', key],
          ['PEM', pem],
        ]),
      )(text),
    ).toBe(redacted)
  })

  test('replaces the longer of two values of which one contains the other', () => {
    const redact = createRedactor(
      new Map([
        ['SHORT', 'abcdefgh'],
        ['LONG', 'abcdefghijkl'],
      ]),
    )
    expect(redact('abcdefghijkl abcdefgh')).toBe('[LONG] [SHORT]')
  })

  test('treats a value as text, not as a pattern', () => {
    const redact = createRedactor(new Map([['DOTS', '.*[a-z]+$&']]))
    expect(redact('plain .*[a-z]+$& text')).toBe('plain [DOTS] text')
  })

  test('returns texts unchanged without secrets', () => {
    expect(createRedactor(new Map())('anything')).toBe('anything')
  })
})
