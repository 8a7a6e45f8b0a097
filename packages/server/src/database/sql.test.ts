import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isSql,
  quoteIdentifier,
  quoteLiteral,
  render,
  renderConstants,
  Slot,
  type Sql,
  sql,
  type TypeName,
} from './sql.ts'

describe('SQL fragment', () => {
  test('turns every value into a parameter', () => {
    const hostile = `'; drop table x; --`
    const slot = new Slot('id')
    expect(render(sql`select ${1}, ${hostile}, ${null}, ${undefined}, ${['a']}, ${slot}`)).toEqual({
      text: 'select $1, $2, $3, $4, $5, $6',
      values: [1, hostile, null, undefined, ['a'], slot],
    })
  })

  test('numbers parameters through nested fragments', () => {
    const condition = sql`${sql.id('t', 'a')} = ${1} and ${sql`${sql.id('b')} > ${2}`}`
    expect(render(sql`select ${0} where ${condition} limit ${3}`)).toEqual({
      text: 'select $1 where "t"."a" = $2 and "b" > $3 limit $4',
      values: [0, 1, 2, 3],
    })
  })

  test('can be used twice', () => {
    const one = sql`${'a'}`
    expect(render(sql`${one} ${one}`)).toEqual({ text: '$1 $2', values: ['a', 'a'] })
  })

  test('is distinguished from values that look like one', () => {
    expect(isSql(sql``)).toBe(true)
    for (const value of [null, undefined, 'x', {}, { strings: ['x'], parts: [] }])
      expect(isSql(value)).toBe(false)
    const forged: unknown = JSON.parse('{"strings":["drop table x"],"parts":[]}')
    expect(render(sql`select ${forged}`)).toEqual({ text: 'select $1', values: [forged] })
  })

  test('has as many parameters as values, however it is nested', () => {
    const { fragment } = fc.letrec<{ fragment: { sql: Sql; values: unknown[] } }>((tie) => ({
      fragment: fc.oneof(
        { maxDepth: 4 },
        fc.string().map((value) => ({ sql: sql`a ${value} b`, values: [value] })),
        fc.string({ minLength: 1 }).map((name) => ({ sql: sql.id(name.replaceAll('\0', '')), values: [] })),
        fc.array(tie('fragment'), { maxLength: 3 }).map((parts) => ({
          sql: sql.join(parts.map((part) => part.sql)),
          values: parts.flatMap((part) => part.values),
        })),
        fc.tuple(tie('fragment'), tie('fragment')).map(([one, other]) => ({
          sql: sql`(${one.sql} and ${other.sql})`,
          values: [...one.values, ...other.values],
        })),
      ),
    }))
    fc.assert(
      fc.property(fragment, ({ sql: made, values }) => {
        const rendered = render(made)
        expect(rendered.values).toEqual(values)
        const outsideNames = rendered.text.replace(/"(?:[^"]|"")*"/g, '')
        expect(outsideNames.match(/\$\d+/g) ?? []).toEqual(values.map((_, index) => `$${index + 1}`))
      }),
    )
  })
})

describe('SQL names and constants', () => {
  test('are quoted', () => {
    const parts = [sql.id('public', 'Odd "table"'), sql.literal("it's"), sql.integer(-5), sql.empty]
    expect(render(sql.join(parts, sql` | `))).toEqual({
      text: `"public"."Odd ""table""" | 'it''s' | -5 | `,
      values: [],
    })
    expect(render(sql.operator('Odd "schema"', '#<=#'))).toEqual({
      text: 'operator("Odd ""schema""".#<=#)',
      values: [],
    })
    // The catalog prints it like this.
    expect(render(sql.type('shop."Odd type"[]' as TypeName)).text).toBe('shop."Odd type"[]')
  })

  test.each([
    ['', `''`],
    ["'", `''''`],
    ["'; drop table x; --", `'''; drop table x; --'`],
    ['back\\slash', ` E'back\\\\slash'`],
    ["\\'", ` E'\\\\'''`],
    ['$1', `'$1'`],
  ])('are quoted as a literal: %j', (text, literal) => {
    expect(quoteLiteral(text)).toBe(literal)
  })

  test('never end early', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const clean = text.replaceAll('\0', '')
        expect(quoteIdentifier(clean)).toMatch(/^"(?:[^"]|"")*"$/)
        expect(quoteLiteral(clean)).toMatch(
          clean.includes('\\') ? /^ E'(?:[^'\\]|''|\\\\)*'$/ : /^'(?:[^']|'')*'$/,
        )
      }),
    )
  })

  test('reject NUL', () => {
    expect(() => sql.id('a\0b')).toThrow(TypeError)
    expect(() => sql.literal('a\0b')).toThrow(TypeError)
  })

  test.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('reject %d as an integer', (value) => {
    expect(() => sql.integer(value)).toThrow(`not an integer: ${value}`)
  })

  test.each(['', 'x', '= ', '=)', '"="', '--', '=--', '/*', '@/*', "'", '$1', ';'])(
    'reject %j as an operator',
    (name) => {
      expect(() => sql.operator('public', name)).toThrow(`not an operator: ${name}`)
    },
  )

  test('join to nothing when there are none', () => {
    expect(render(sql.join([]))).toEqual({ text: '', values: [] })
    expect(render(sql.join([sql`${1}`]))).toEqual({ text: '$1', values: [1] })
  })
})

describe('statement with constants in place of parameters', () => {
  test('quotes its values, whatever they contain', () => {
    const nested = sql`a = ${"it's"} and ${sql.id('b')} = any (${'{1,2}'})`
    expect(
      renderConstants(sql`copy (select ${sql.version('v1')}${nested}) to ${'back\\slash'}, ${null}`),
    ).toBe(`copy (select a = 'it''s' and "b" = any ('{1,2}')) to  E'back\\\\slash', null`)
  })

  test.each([[1], [undefined], [{}], [new Slot('x')], ['a\0b']])('rejects %j', (value) => {
    expect(() => renderConstants(sql`select ${value}`)).toThrow(TypeError)
  })
})
