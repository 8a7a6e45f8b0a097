import { describe, expect, test } from 'vitest'
import { toOtlpAttributes, toOtlpTime } from './otlp.ts'

describe('otlp › values', () => {
  test('keep their type, with integers as texts', () => {
    const values = { text: 'a', yes: true, whole: 42, part: 0.5, list: [1], none: null, missing: undefined }
    expect(toOtlpAttributes(values)).toEqual([
      { key: 'text', value: { stringValue: 'a' } },
      { key: 'yes', value: { boolValue: true } },
      { key: 'whole', value: { intValue: '42' } },
      { key: 'part', value: { doubleValue: 0.5 } },
      { key: 'list', value: { stringValue: '[1]' } },
    ])
  })

  test('are nanoseconds for times, exact to the microsecond', () => {
    expect(toOtlpTime(1_790_000_000_123.456)).toBe('1790000000123456000')
  })
})
