import fc from 'fast-check'
import { getCountries, getExampleNumber } from 'libphonenumber-js/max'
import examples from 'libphonenumber-js/mobile/examples'
import { describe, expect, test } from 'vitest'
import { maskPhone, parsePhone, parseTestNumbers } from './index.ts'
import { isCountryAllowed, isPremium } from './phone.ts'

describe('phone number', () => {
  test.each([
    ['+14155550132', '+14155550132', 'US'],
    ['+1 (415) 555-0132', '+14155550132', 'US'],
    ['+1.415.555.0132', '+14155550132', 'US'],
    ['(+1) 415-555-0132', '+14155550132', 'US'],
    [' +14155550132 ', '+14155550132', 'US'],
    ['+1 416 555 0132', '+14165550132', 'CA'],
    ['+1 787 555 0132', '+17875550132', 'PR'],
    ['+44 20 7946 0000', '+442079460000', 'GB'],
    ['+44 (0) 20 7946 0000', '+442079460000', 'GB'],
    ['+44 7400 123456', '+447400123456', 'GB'],
    ['+44 7781 123456', '+447781123456', 'GG'],
    ['+39 06 12345678', '+390612345678', 'IT'],
    ['+49 170 12345678', '+4917012345678', 'DE'],
    ['+7 912 345-67-89', '+79123456789', 'RU'],
    ['+7 771 000 9998', '+77710009998', 'KZ'],
    ['+800 1234 5678', '+80012345678', undefined],
  ])('%s is parsed', (text, number, country) => {
    expect(parsePhone(text)).toEqual({ number, country })
  })

  test.each([
    ['', 'nothing'],
    ['+', 'no digits'],
    ['4155550132', 'no plus'],
    ['0014155550132', 'a dialling prefix'],
    ['++14155550132', 'two pluses'],
    ['+1+4155550132', 'a plus within'],
    ['14155550132+', 'a plus at the end'],
    ['+1 415 555 0132 ext. 5', 'an extension'],
    ['+14155550132;ext=5', 'an extension of RFC 3966'],
    ['tel:+14155550132', 'a scheme'],
    ['+1 800 FLOWERS', 'letters'],
    ['+1/415/5550132', 'another separator'],
    ['+1\u00a04155550132', 'a no-break space'],
    ['+1\t4155550132', 'a tab'],
    ['+14155550132\n', 'a line end'],
    ['+1415555\u00000132', 'a NUL'],
    ['\uff0b14155550132', 'a full-width plus'],
    ['+\u0661\u0664\u0661\u0665\u0665\u0665\u0665\u0660\u0661\u0663\u0662', 'Arabic digits'],
    ['+\uff1114155550132', 'a full-width digit'],
    ['+1415555013', 'a digit too few'],
    ['+141555501322', 'a digit too many'],
    ['+15551234567', 'an area that does not exist'],
    ['+14150000000', 'an exchange that does not exist'],
    ['+4915112345', 'a German mobile number cut short'],
    ['+490170123', 'a German number cut short'],
    ['+4970500000000000', 'sixteen digits, though the German plan has room for them'],
    ['+999123456789', 'a country that does not exist'],
    [`+1 415 555 0132${' '.repeat(64)}`, 'too many separators'],
    [`+${'1'.repeat(100_000)}`, 'far too many digits'],
  ])('%j is rejected: %s', (text) => {
    expect(parsePhone(text)).toBeUndefined()
  })

  /** Territories that share numbers with a larger neighbour and count as it. */
  const neighbours: Readonly<Record<string, string>> = {
    ...{ AX: 'FI', BL: 'GP', CC: 'AU', CX: 'AU', EH: 'MA', IM: 'GB', MF: 'GP', SJ: 'NO', VA: 'IT' },
  }

  test.each(getCountries())('is parsed for %s', (country) => {
    const number = getExampleNumber(country, examples)?.number ?? ''
    expect(parsePhone(number)).toEqual({ number, country: neighbours[country] ?? country })
  })

  const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 4, maxLength: 17 })
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'+0123456789 -().') }),
    digits.map((text) => `+1${text}`),
    digits.map((text) => `+${text}`),
  )

  test('never throws in any form, and a parsed one is E.164 and parses to itself', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const phone = parsePhone(text)
        if (phone === undefined) return
        expect(phone.number).toMatch(/^\+[1-9][0-9]{4,14}$/)
        expect(parsePhone(phone.number)).toEqual(phone)
      }),
      { numRuns: 2000 },
    )
  })

  test('means the same with any separators', () => {
    const separator = fc.string({ unit: fc.constantFrom(...' -().'), maxLength: 2 })
    fc.assert(
      fc.property(fc.array(separator, { minLength: 13, maxLength: 13 }), (separators) => {
        const text = separators.map((separator, index) => separator + '+14155550132'.charAt(index)).join('')
        expect(parsePhone(text)).toEqual({ number: '+14155550132', country: 'US' })
      }),
    )
  })

  test('with any other character is rejected', () => {
    const other = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 1 })
      .filter((c) => !/[0-9 ().-]/.test(c))
    fc.assert(
      fc.property(other, fc.nat(12), (character, index) => {
        const text = `${'+14155550132'.slice(0, index)}${character}${'+14155550132'.slice(index)}`
        expect(parsePhone(text)).toBeUndefined()
      }),
    )
  })
})

describe('SMS test numbers', () => {
  const testNumbers = parseTestNumbers(['+15551234567=123456', '+14155550132=654321', '+999000=0042'])

  test('have their codes, including leading zeros', () => {
    expect([...testNumbers]).toEqual([
      ['+15551234567', '123456'],
      ['+14155550132', '654321'],
      ['+999000', '0042'],
    ])
    expect([...parseTestNumbers([])]).toEqual([])
  })

  test('are parsed although they cannot exist', () => {
    expect(parsePhone('+1 (555) 123-4567')).toBeUndefined()
    expect(parsePhone('+1 (555) 123-4567', testNumbers)).toEqual({
      number: '+15551234567',
      country: undefined,
    })
    expect(parsePhone('+999 000', testNumbers)).toEqual({ number: '+999000', country: undefined })
  })

  test('keep their country if they have one', () => {
    expect(parsePhone('+1 415 555 0132', testNumbers)).toEqual({ number: '+14155550132', country: 'US' })
  })

  test('do not make other numbers valid', () => {
    expect(parsePhone('+15551234568', testNumbers)).toBeUndefined()
    expect(parsePhone('+14165550132', testNumbers)).toEqual({ number: '+14165550132', country: 'CA' })
  })
})

describe('masked phone number', () => {
  test.each([
    ['+14155550132', '+*******0132'],
    ['+4917012345678', '+*********5678'],
    ['14155550132', '*******0132'],
    ['+12345', '+*2345'],
    ['+1234', '+1234'],
    ['+', '+'],
    ['', ''],
  ])('%s is masked as %s', (number, masked) => {
    expect(maskPhone(number)).toBe(masked)
  })

  test('shows only the plus and the last four characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const masked = maskPhone(text)
        expect(masked.length).toBe(text.length)
        expect(masked.slice(-4)).toBe(text.slice(-4))
        expect(masked.slice(0, -4)).toMatch(/^\+?\**$/)
        expect(masked.startsWith('+')).toBe(text.startsWith('+'))
      }),
    )
  })
})

test.each([
  ['US', ['US', 'CA'], true],
  ['CA', ['US', 'CA'], true],
  ['PR', ['US', 'CA'], false],
  ['us', ['US', 'CA'], false],
  [undefined, ['US', 'CA'], false],
  ['KZ', [], true],
  [undefined, [], true],
])('phone numbers › allowed countries › %s among %j: %s', (country, allowed, isAllowed) => {
  expect(isCountryAllowed(country, allowed)).toBe(isAllowed)
})

test.each([
  ['+14155550132', false],
  ['+4915112345678', false],
  ['+353152012345', false],
  ['+18005550199', false],
  ['+19002345678', true],
  ['+449098790000', true],
  ['+33899123456', true],
  ['+491805123456', true],
  ['+447012345678', true],
  ['+979123456789', true],
  ['+881612345678', true],
  ['+883510012345', true],
])('phone numbers › premium ranges › %s: %s', (text, expected) => {
  const phone = parsePhone(text)
  expect(phone && isPremium(phone)).toBe(expected)
})
