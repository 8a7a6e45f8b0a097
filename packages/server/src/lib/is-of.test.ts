import { describe, expect, it } from 'vitest'
import { isOf } from './is-of.ts'
import { Type } from './type.ts'

describe('isOf', () => {
  const note = Type.Object({
    pid: Type.Integer({ minimum: 1, maximum: 9 }),
    url: Type.Optional(Type.String({ pattern: '^https?:' })),
  })

  it.each([{ pid: 3 }, { pid: 9, url: 'http://localhost' }, { pid: 1, other: null }])(
    'accepts %j',
    (value) => {
      expect(isOf(note, value)).toBe(true)
    },
  )

  it.each([
    undefined,
    null,
    [],
    'pid',
    {},
    { pid: '3' },
    { pid: 3.5 },
    { pid: 0 },
    { pid: Number.POSITIVE_INFINITY },
    { pid: 3, url: 'ftp://localhost' },
    { pid: 3, url: null },
  ])('rejects %j', (value) => {
    expect(isOf(note, value)).toBe(false)
  })
})
