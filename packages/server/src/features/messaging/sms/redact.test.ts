import fc from 'fast-check'
import { expect, test } from 'vitest'
import { redact } from './redact.ts'

test('SMS redaction › keeps words without a value', () => {
  expect(redact('21211 The number is not valid', ['secret', ''])).toBe('21211 The number is not valid')
})

test('SMS redaction › removes a whole value that contains another', () => {
  expect(redact('key=abc-123-def', ['123', 'abc-123-def'])).toBe('key=[redacted]')
})

test.each(['a b+c', 'a%20b%2Bc', 'a+b%2Bc', 'a\nb+c'])(
  'SMS redaction › removes a value in the form %j',
  (form) => {
    expect(redact(`key: ${form}!`, ['a b+c'])).toBe('key: [redacted]!')
  },
)

test('SMS redaction › removes a value of several lines in JSON form too', () => {
  const value = 'a\n"b"\\c'
  expect(redact(`${value} ${JSON.stringify(value)}`, [value])).toBe('[redacted] "[redacted]"')
})

test('SMS redaction › removes a value before it shortens the text', () => {
  const cut = redact(`${'x'.repeat(190)}0123456789abcdef`, ['0123456789abcdef'])
  expect(cut).toBe(`${'x'.repeat(190)}[redacted]`)
})

test('SMS redaction › leaves no value, whatever surrounds it', () => {
  const value = fc
    .string({ unit: 'binary', minLength: 4, maxLength: 12 })
    .filter((text) => !/[[\]]/.test(text) && !'redacted'.includes(text))
  const forms = [
    (text: string) => text,
    (text: string) => encodeURIComponent(text.toWellFormed()),
    (text: string) => new URLSearchParams({ key: text }).toString(),
    (text: string) => JSON.stringify({ key: text }),
  ]
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 1, maxLength: 4 }),
      fc.array(
        fc.record({ form: fc.constantFrom(...forms), pick: fc.nat(3), around: fc.string({ maxLength: 8 }) }),
        {
          maxLength: 6,
        },
      ),
      (values, pieces) => {
        const text = pieces
          .map(({ form, pick, around }) => around + form(values[pick % values.length] ?? ''))
          .join('')
        const clean = redact(text, values)
        expect(clean.length).toBeLessThanOrEqual(200)
        expect(clean).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
        for (const secret of values) {
          for (const form of [secret, encodeURIComponent(secret.toWellFormed())])
            expect(clean).not.toContain(form)
        }
      },
    ),
  )
})
