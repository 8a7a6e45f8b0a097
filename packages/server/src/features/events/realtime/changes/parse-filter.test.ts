import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../../../lib/errors.ts'
import { filterOperators, parseFilter, textsOf, wordOf } from './parse-filter.ts'

/** Parses a filter and returns its conditions as they are written. */
function parse(text: string) {
  return parseFilter(text).map((condition) => ({
    column: condition.column,
    operator: wordOf(condition),
    values: textsOf(condition),
  }))
}

describe('realtime › stream filter', () => {
  test('is parsed as conditions of the collections', () => {
    const subject = { path: undefined, isPath: false, json: undefined }
    const [one, other] = ['1', '2'].map((text) => ({ kind: 'string', text }))
    expect(parseFilter('a=neq.1,b=in.1|2')).toEqual([
      { ...subject, column: 'a', position: 0, kind: 'compare', operator: '!=', value: one },
      { ...subject, column: 'b', position: 8, kind: 'in', isNegated: false, values: [one, other] },
    ])
  })

  test.each([
    ['a=eq.1', [{ column: 'a', operator: 'eq', values: ['1'] }]],
    ['a=eq.', [{ column: 'a', operator: 'eq', values: [''] }]],
    ['a=eq.b=eq.c', [{ column: 'a', operator: 'eq', values: ['b=eq.c'] }]],
    [' a =eq. 1 ', [{ column: 'a', operator: 'eq', values: [' 1 '] }]],
    ['a=in.1|2||', [{ column: 'a', operator: 'in', values: ['1', '2', '', ''] }]],
    [
      'a=in."1|2"|3,b=eq.4',
      [
        { column: 'a', operator: 'in', values: ['1|2', '3'] },
        { column: 'b', operator: 'eq', values: ['4'] },
      ],
    ],
    ['a=in.x|"y,z"|"""|"|""', [{ column: 'a', operator: 'in', values: ['x', 'y,z', '"|', ''] }]],
    ['a=in.x|"y', [{ column: 'a', operator: 'in', values: ['x', '"y'] }]],
    ['a=eq."x,""y"""', [{ column: 'a', operator: 'eq', values: ['x,"y"'] }]],
    ['a=eq."x"y', [{ column: 'a', operator: 'eq', values: ['"x"y'] }]],
    ['"a,""b=c"=neq.1', [{ column: 'a,"b=c', operator: 'neq', values: ['1'] }]],
    [
      'a=gt.1,b=lte.2',
      [
        { column: 'a', operator: 'gt', values: ['1'] },
        { column: 'b', operator: 'lte', values: ['2'] },
      ],
    ],
  ])('parses %s', (text, conditions) => {
    expect(parse(text)).toEqual(conditions)
  })

  test('round-trips quoted columns and values', () => {
    const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
    const condition = fc.record({
      column: fc.string({ minLength: 1, maxLength: 20 }),
      operator: fc.constantFrom(...filterOperators),
      value: fc.string({ maxLength: 20 }),
    })
    fc.assert(
      fc.property(fc.array(condition, { minLength: 1, maxLength: 20 }), (conditions) => {
        const text = conditions.map((each) => `${quote(each.column)}=${each.operator}.${quote(each.value)}`)
        expect(parse(text.join())).toEqual(
          conditions.map(({ column, operator, value }) => ({ column, operator, values: [value] })),
        )
      }),
    )
  })

  test('parses or rejects any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'a=.,"|eqin ') })), (text) => {
        try {
          expect(parseFilter(text).length).toBeGreaterThan(0)
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
          expect((error as AppError).kind).toBe('invalid_stream_filter')
        }
      }),
    )
  })
})
