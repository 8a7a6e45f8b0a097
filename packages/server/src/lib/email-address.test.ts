import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isEmailAddress, normalizeEmail } from './email-address.ts'

describe('normalizeEmail', () => {
  test.each([
    ['alice@example.com', 'alice@example.com'],
    ['  Alice.B+Tag@Example.COM\n', 'alice.b+tag@example.com'],
    [`o'x"\\;--@example.com`, `o'x"\\;--@example.com`],
    ['"quoted"@example.com', '"quoted"@example.com'],
    ["!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"],
    ['(a):[b]@example.com', '(a):[b]@example.com'],
    ['.a..b.@example.com', '.a..b.@example.com'],
    ['a@b.co', 'a@b.co'],
    // They are one mailbox, composed or not (RFC 6532 §3.1).
    ['jo\u0308rg@example.com', 'j\u00f6rg@example.com'],
    ['JO\u0308RG@example.com', 'j\u00f6rg@example.com'],
    ['J\u00d6RG@example.com', 'j\u00f6rg@example.com'],
    ['\u212bsa@example.com', '\u00e5sa@example.com'],
    ['q\u0323\u0307@example.com', 'q\u0323\u0307@example.com'],
    ['q\u0307\u0323@example.com', 'q\u0323\u0307@example.com'],
    ['a@1.example', 'a@1.example'],
    ['JÜRGEN@bücher.example', 'jürgen@xn--bcher-kva.example'],
    ['用户@例え.jp', '用户@xn--r8jz45g.jp'],
    ['a@FAß.example', 'a@xn--fa-hia.example'],
    ['a@xn--bcher-kva.example', 'a@xn--bcher-kva.example'],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
  ])('converts %j to %j', (text, expected) => {
    expect(normalizeEmail(text)).toBe(expected)
  })

  test.each([
    '',
    '@',
    'alice',
    '@example.com',
    'alice@',
    'alice@localhost',
    'alice@example.com@example.com',
    '"a@b"@example.com',
    'al ice@example.com',
    'alice@exa mple.com',
    'alice,bob@example.com',
    'Alice <alice@example.com>',
    'alice@example.com, bob@example.com',
    'alice@example.com\r\nBcc: bob@example.com',
    'alice\u0000@example.com',
    'alice\u007f@example.com',
    'alice\u200b@example.com',
    'alice\u202e@example.com',
    'alice\u00a0b@example.com',
    'alice\ud800@example.com',
    'alice@example..com',
    'alice@.example.com',
    'alice@example.com.',
    'alice@-example.com',
    'alice@example-.com',
    'alice@exa_mple.com',
    'alice@example.com:25',
    'alice@example.com/path',
    'alice@%65xample.com',
    'alice@[127.0.0.1]',
    'alice@127.0.0.1',
    'alice@0x7f.1',
    'alice@١.٢',
    'alice@example。com',
    'alice@exam\u00adple.com',
    'alice@xn--iñvalid.com',
    `alice@${'a'.repeat(64)}.com`,
    `${'a'.repeat(65)}@example.com`,
    `${'ä'.repeat(33)}@example.com`,
    `a@${'a.'.repeat(130)}com`,
    `a@${'ä.'.repeat(60)}com`,
  ])('rejects %j', (text) => {
    expect(normalizeEmail(text)).toBeUndefined()
    expect(isEmailAddress(text)).toBe(false)
  })

  test('keeps similar letters apart', () => {
    // These are Cyrillic a, dotted capital I, dotless i, long s, fullwidth a, and e with and without an accent.
    const alike = ['k', 'a', 'а', 'i', '\u0130', '\u0131', 's', 'ſ', 'å', 'ａ', '\u00e9', 'e']
    const normalized = alike.map((letter) => normalizeEmail(`${letter}@example.com`))
    expect(normalized).not.toContain(undefined)
    expect(new Set(normalized).size).toBe(alike.length)
  })

  test('is idempotent for any input', () => {
    const letter = fc.constantFrom(...'aZ09@.-+"\\;, <>ÄßİK日\u0301\u200d\r\n\0')
    const text = fc.oneof(
      fc.string({ unit: letter, maxLength: 30 }),
      fc.tuple(fc.string({ unit: letter, maxLength: 8 }), fc.domain()).map((parts) => parts.join('@')),
    )
    fc.assert(
      fc.property(text, (input) => {
        const once = normalizeEmail(input)
        fc.pre(once !== undefined)
        expect(normalizeEmail(once ?? '')).toBe(once)
        expect(isEmailAddress(once ?? '')).toBe(true)
        expect(once).not.toMatch(/[\s,<>\p{Cc}]/u)
      }),
    )
  })
})

test('isEmailAddress › judges the text without trimming it', () => {
  expect(isEmailAddress('Alice@Example.com')).toBe(true)
  expect(isEmailAddress(' alice@example.com')).toBe(false)
  expect(isEmailAddress('alice@example.com\n')).toBe(false)
})
