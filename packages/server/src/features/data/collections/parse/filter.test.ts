import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  anyCondition,
  anyText,
  choices,
  conditionsOf,
  mutated,
  printTree,
  treeOf,
  withoutPositions,
} from '../../../../../test/filter-grammar.ts'
import { AppError } from '../../../../lib/errors.ts'
import { type Filter, parseFilter } from './filter.ts'

const tree = treeOf(anyCondition)
const spelledTree = fc.tuple(tree, choices).map(([value, decisions]) => printTree(value, decisions))

function positionsOf(filter: Filter): number[] {
  if ('terms' in filter) return filter.terms.flatMap(positionsOf)
  return filter.kind === 'not' ? positionsOf(filter.term) : [filter.position]
}

/** Returns the error of a rejected filter. Fails when the filter is accepted or fails in any other way. */
function refusalOf(text: string): AppError {
  try {
    parseFilter(text)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error(`accepted: ${text}`)
}

/** Parses the text, or checks that the error is one that helps. */
function expectFilterOrRefusal(text: string): void {
  let parsed: Filter
  try {
    parsed = parseFilter(text)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect([error.status, error.kind]).toEqual([400, 'invalid_filter'])
    const position = Number(error.extras.data?.position)
    expect(position).toBeGreaterThanOrEqual(0)
    expect(position).toBeLessThanOrEqual(text.length)
    return
  }
  for (const position of positionsOf(parsed)) expect(text.charAt(position)).toMatch(/["_\p{L}\ud800-\udfff]/u)
}

describe('parseFilter', () => {
  test('reads every spelling of a filter alike', () => {
    fc.assert(
      fc.property(tree, choices, (value, decisions) => {
        expect(withoutPositions(parseFilter(printTree(value, decisions)))).toEqual(value)
      }),
      { numRuns: 3000 },
    )
  })

  test('keeps the position of each condition', () => {
    fc.assert(
      fc.property(tree, choices, (value, decisions) => {
        const text = printTree(value, decisions)
        const columns = conditionsOf(value).map(({ column }) => column)
        const written = positionsOf(parseFilter(text)).map((position) => text.slice(position))
        expect(written).toHaveLength(columns.length)
        written.forEach((rest, index) => {
          const column = columns[index] ?? ''
          const quoted = `"${column.replaceAll('"', '""')}"`
          expect(rest.startsWith(column) || rest.startsWith(quoted)).toBe(true)
        })
      }),
      { numRuns: 500 },
    )
  })

  test('binds AND tighter than OR, on both sides', () => {
    const parse = (text: string) => withoutPositions(parseFilter(text))
    expect(parse('a=1 OR b=2 AND c=3 OR d=4')).toEqual(parse('a=1 OR (b=2 AND c=3) OR d=4'))
    expect(parse('a=1 AND b=2 OR c=3 AND d=4')).toEqual(parse('(a=1 AND b=2) OR (c=3 AND d=4)'))
    expect(parse('a=1 AND (b=2 OR c=3)')).not.toEqual(parse('a=1 AND b=2 OR c=3'))
    expect(parse('(a=1 AND b=2) AND c=3')).not.toEqual(parse('a=1 AND b=2 AND c=3'))
  })
})

describe('words of the filter grammar', () => {
  const parse = (text: string) => withoutPositions(parseFilter(text))

  test.each(['not', 'is', 'between', 'contains', 'overlaps', 'adjacent', 'matches'])(
    '%s is also accepted as a name',
    (word) => {
      const condition = { kind: 'compare', column: word, operator: '=', value: '1' }
      expect(parse(`${word} = 1`)).toEqual(condition)
      expect(parse(`not ${word} = 1`)).toEqual({ kind: 'not', term: condition })
      expect(parse(`${word} in (1)`)).toEqual({ kind: 'in', column: word, isNegated: false, values: ['1'] })
      expect(parse(`"${word}" is null`)).toEqual({
        kind: 'compare',
        column: word,
        operator: '=',
        value: null,
      })
    },
  )

  test('NOT binds tighter than AND', () => {
    expect(parse('NOT a=1 AND b=2')).toEqual(parse('(NOT (a=1)) AND b=2'))
    expect(parse('NOT a=1 AND b=2')).not.toEqual(parse('NOT (a=1 AND b=2)'))
  })

  test('AND after BETWEEN belongs to BETWEEN', () => {
    expect(parse('a BETWEEN 1 AND 2 AND b=3')).toEqual(parse('(a BETWEEN 1 AND 2) AND (b=3)'))
  })

  test('NOT counts as a nesting level', () => {
    expect(parse(`${'NOT '.repeat(50)}a=1`)).toMatchObject({ kind: 'not' })
    expect(refusalOf(`${'NOT '.repeat(51)}a=1`).message).toBe(
      'invalid filter: filter expression too deeply nested (max 50 levels)',
    )
    expect(refusalOf(`${'NOT('.repeat(26)}a=1${')'.repeat(26)}`).extras.data).toEqual({ position: 100 })
  })
})

describe('subject of a filter condition', () => {
  test.each([
    [
      "doc->'a'->0->>'b' = 'x'",
      { column: 'doc', path: undefined, json: { keys: ['a', 0, 'b'], isText: true } },
    ],
    ['doc -> -1 = 2', { column: 'doc', path: undefined, json: { keys: [-1], isText: false } }],
    ['a.b = 1', { column: 'a.b', path: ['a', 'b'], json: undefined }],
    ['"a.b" = 1', { column: 'a.b', path: undefined, json: undefined }],
    ["a.b->>'c' is null", { column: 'a.b', path: ['a', 'b'], json: { keys: ['c'], isText: true } }],
  ])('%s', (text, subject) => {
    expect(parseFilter(text)).toMatchObject({ position: 0, ...subject })
  })

  test.each([
    [
      "a CONTAINS 'x'",
      { operator: 'contains', isNegated: false, isList: false, values: [{ kind: 'string', text: 'x' }] },
    ],
    [
      'a not overlaps (1)',
      { operator: 'overlaps', isNegated: true, isList: true, values: [{ kind: 'number', text: '1' }] },
    ],
    [
      'a ADJACENT true',
      { operator: 'adjacent', isNegated: false, isList: false, values: [{ kind: 'boolean', text: 'true' }] },
    ],
  ])('%s', (text, test) => {
    expect(parseFilter(text)).toMatchObject({ kind: 'set', column: 'a', ...test })
  })

  test('MATCHES requires words', () => {
    expect(parseFilter(`a NOT MATCHES 'x -"y z"'`)).toMatchObject({
      kind: 'matches',
      isNegated: true,
      words: { kind: 'string', text: 'x -"y z"' },
    })
  })
})

describe('parseFilter with arbitrary text', () => {
  test.each([
    ['any text', anyText],
    ['what was a filter before', mutated(spelledTree)],
  ])('parses or rejects with a position: %s', (_what, text) => {
    fc.assert(fc.property(text, expectFilterOrRefusal), { numRuns: 4000 })
  })

  test.each([1, 2, 49, 50])('accepts %i nested levels', (depth) => {
    const text = `${'('.repeat(depth)}a=1${')'.repeat(depth)}`
    expect(withoutPositions(parseFilter(text))).toEqual({
      kind: 'compare',
      column: 'a',
      operator: '=',
      value: '1',
    })
  })

  test.each([51, 52, 1000, 4990])('rejects %i nested levels', (depth) => {
    for (const text of [`${'('.repeat(depth)}a=1${')'.repeat(depth)}`, '('.repeat(depth)]) {
      const error = refusalOf(text)
      expect(error.message).toBe('invalid filter: filter expression too deeply nested (max 50 levels)')
      expect(error.extras.data).toEqual({ position: 50 })
    }
  })

  test('counts nesting levels, not groups', () => {
    const groups = Array.from({ length: 200 }, () => '(a=1)').join(' OR ')
    expect(parseFilter(groups)).toMatchObject({ kind: 'or', terms: { length: 200 } })
  })

  test('accepts as many values as fit', () => {
    const filter = parseFilter(`a IN (${Array(4990).fill('1').join()})`)
    expect(filter).toMatchObject({ kind: 'in', values: { length: 4990 } })
  })

  test.each([
    ['50,000 values', `a IN (${Array(50_000).fill('1').join()})`],
    ['10,000 levels', `${'('.repeat(10_000)}a=1${')'.repeat(10_000)}`],
    ['10,001 bytes', `a='${'x'.repeat(9997)}'`],
    ['10,001 bytes in fewer characters', `a='${'ä'.repeat(4998)}x'`],
  ])('rejects a filter that is too long with %s', (_what, text) => {
    const error = refusalOf(text)
    expect([error.status, error.kind, error.message]).toEqual([
      400,
      'filter_too_long',
      'filter expression too long',
    ])
  })

  test('accepts 10,000 bytes', () => {
    for (const value of ['x'.repeat(9996), 'ä'.repeat(4998)]) {
      expect(withoutPositions(parseFilter(`a='${value}'`))).toMatchObject({ value })
    }
  })

  test.each([
    ['a quote that is never closed', `a='${"''".repeat(4990)}`, 'unterminated string at position 2', 2],
    ['an escape at the end', "a='x\\'", 'unterminated string at position 2', 2],
    ['a doubled quote at the end', "a = 'O''", 'unterminated string at position 4', 4],
    [
      'U+0000 in a string',
      "a = 'x\0y'",
      'string at position 4 has the character U+0000, which PostgreSQL text cannot hold',
      4,
    ],
    ['a name that is never closed', `"${'""'.repeat(4990)}`, 'unterminated name at position 0', 0],
    ['a doubled quote at the end of a name', '"a"" = 1', 'unterminated name at position 0', 0],
    ['a name of nothing', '"" = 1', 'empty name at position 0', 0],
    ['half a pair', 'a = \ud800', "unexpected character '\ud800' at position 4", 4],
    ['NUL', 'a = \0', "unexpected character '\0' at position 4", 4],
    ['a comment', 'a = 1 /* x */', "unexpected character '/' at position 6", 6],
    ['a placeholder', 'a = $1', "unexpected character '$' at position 4", 4],
    ['a cast', "a = '1'::int", "unexpected character ':' at position 7", 7],
    ['two statements', 'a = 1; select 1', "unexpected character ';' at position 5", 5],
    ['a subquery', 'a = (select 1)', 'expected value, got (', 4],
    ['a function', 'a = now()', 'expected value, got now', 4],
    ['a function of a column', 'lower(a) = 1', 'expected operator after column lower', 5],
    ['a column twice', 'a = a', 'expected value, got a', 4],
    ['a keyword as a column', 'in = 1', 'unexpected token at position 0: in', 0],
    ['a keyword as a value', 'a = in', 'expected value, got in', 4],
    ['null in a comparison', 'a ~ null', 'null can only be compared with = or !=', 2],
    ['null in ILIKE', 'a ~* null', 'null can only be compared with = or !=', 2],
    ['null in BETWEEN', 'a between 1 and null', 'null can only be compared with = or !=', 2],
    ['null in CONTAINS', "a not contains ('x', null)", 'null can only be compared with = or !=', 2],
    ['null in MATCHES', 'a MATCHES null', 'null can only be compared with = or !=', 2],
    ['BETWEEN with one value', 'a BETWEEN 1', 'expected AND after BETWEEN and its first value', 11],
    ['BETWEEN with a comma', 'a BETWEEN 1, 2', 'expected AND after BETWEEN and its first value', 11],
    ['IS without NULL', 'a IS true', 'expected NULL or NOT NULL after IS', 5],
    ['IS NOT without NULL', 'a IS NOT', 'expected NULL or NOT NULL after IS', 8],
    [
      'NOT before an operator',
      'a NOT = 1',
      'expected IN, BETWEEN, CONTAINS, OVERLAPS, ADJACENT, MATCHES after NOT',
      6,
    ],
    ['NOT of nothing', 'NOT', 'unexpected end of filter expression', 3],
    ['a list that does not open', 'a CONTAINS', 'unexpected end of filter expression', 10],
    ['a list that does not close', "a OVERLAPS ('x'", "expected ')' to close OVERLAPS list", 15],
    ['a list without commas', 'a CONTAINS (1 2)', "expected ',' or ')' in CONTAINS list", 14],
    ['an arrow to a name', 'a->b = 1', 'expected a key in quotes or an array index after ->', 3],
    ['an arrow to a fraction', 'a->>1.5 = 1', 'expected a key in quotes or an array index after ->>', 4],
    ['an arrow behind a text', "a->>'b'->'c' = 1", 'expected operator after column a', 7],
    ['an arrow that leads nowhere', 'a-> = 1', 'expected a key in quotes or an array index after ->', 4],
    ['a group of nothing', '()', 'unexpected token at position 1: )', 1],
    ['two conditions side by side', 'a=1 b=2', 'unexpected token at position 4: b', 4],
    ['two connectives', 'a=1 AND OR b=2', 'unexpected token at position 8: OR', 8],
    ['half a connective', 'a=1 & b=2', "unexpected character '&' at position 4", 4],
  ])('rejects with the position of the fault: %s', (_what, text, message, position) => {
    const { message: found, extras } = refusalOf(text)
    expect([found, extras.data]).toEqual([`invalid filter: ${message}`, { position }])
  })
})
