import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyUnits } from '../../../../../test/any-text.ts'
import { AppError } from '../../../../lib/errors.ts'
import { type ListQuery, parseListQuery, parseRecordQuery } from './list-query.ts'
import { parseNames, parsePaths, parsePrefixedNames } from './names.ts'

const query = (parameters: Readonly<Record<string, string>>) => new URLSearchParams(parameters).toString()

/** Parses a query that returns records. */
function parsePage(text: string): ListQuery {
  const parsed = parseListQuery(text)
  if ('aggregate' in parsed) throw new Error('it asks for an aggregate')
  return parsed
}

describe('parseListQuery with several faults', () => {
  // The faults are in the order in which they are checked.
  const faults = [
    [{ groupSort: 'a' }, 'groupSort parameter requires aggregate parameter'],
    [{ filter: 'id=' }, 'invalid filter: '],
    [{ near: 'place' }, 'near must use format: near=column,lng,lat,distance'],
    [{ page: 'x' }, 'page: expected an integer'],
    [{ nearest: '', semantic_query: 'a' }, "cannot use both 'nearest' and 'semantic_query' parameters"],
    [{ fuzzy: 'true' }, 'fuzzy parameter requires non-empty search'],
    [{ facets: '"' }, 'facets: '],
    [{ sort: 'a.distance(1)' }, 'distance sort must use format: column.distance(lng,lat)'],
    [{ cursor: '?' }, 'invalid cursor'],
  ] as const

  test.each(faults.map(([, message], index) => [message, index] as const))('names %s', (message, index) => {
    const later = Object.assign({}, ...faults.slice(index).map(([parameters]) => parameters))
    expect(() => parseListQuery(query(later))).toThrow(message)
  })

  test.each(['nearest', 'semantic_query'])('names what %s does not accept before its value', (mode) => {
    for (const [name, value] of [
      ['fuzzy', 'true'],
      ['typo_threshold', '0.3'],
      ['typo_threshold', 'x'],
      ['highlight', 'x'],
      ['facets', '"'],
    ] as const) {
      expect(() => parseListQuery(query({ [mode]: '[1]', [name]: value }))).toThrow(
        `unsupported parameter "${name}"`,
      )
    }
  })
})

describe('parseListQuery', () => {
  test('returns the first twenty, counted, by default', () => {
    expect(parseListQuery('')).toEqual({
      fields: undefined,
      expand: [],
      filter: undefined,
      spatial: [],
      sort: [],
      perPage: 20,
      paging: { kind: 'offset', page: 1, total: 'exact' },
      facets: undefined,
    })
  })

  test('reads every parameter', () => {
    const text = query({
      filter: 'id=1',
      sort: '-a,+b,"c,d"',
      fields: 'a,b',
      expand: 'album.artist,genre',
      page: '3',
      perPage: '7',
      skipTotal: 'true',
      facets: 'a, "b,c",a',
      disjunctiveFacets: 'a',
      _: 'ignored',
    })
    expect(parseListQuery(text)).toEqual({
      fields: ['a', 'b'],
      spatial: [],
      expand: [['album', 'artist'], ['genre']],
      filter: expect.objectContaining({ column: 'id', operator: '=', value: { kind: 'number', text: '1' } }),
      sort: [
        { column: 'a', descending: true },
        { column: 'b', descending: false },
        { column: 'c,d', descending: false },
      ],
      perPage: 7,
      paging: { kind: 'offset', page: 3, total: 'none' },
      facets: { columns: ['a', 'b,c'], disjunctive: ['a'] },
    })
  })

  test.each([
    ['perpage=5', 'unknown parameter "perpage"; did you mean perPage?'],
    ['limit=5', 'unknown parameter "limit"; did you mean perPage?'],
    ['select=name', 'unknown parameter "select"; did you mean fields?'],
    ['q=name', 'unknown parameter "q"; did you mean search?'],
    ['constructor=x', 'unknown parameter "constructor"'],
    ['toString=x', 'unknown parameter "toString"'],
    ['hasOwnProperty=x', 'unknown parameter "hasOwnProperty"'],
  ])('rejects the unknown parameter of %s', (text, message) => {
    expect(() => parseListQuery(text)).toThrow(message)
  })

  test('ignores parameters that begin with _', () => {
    expect(parseListQuery('__proto__=x&_=1')).toEqual(parseListQuery(''))
  })

  test('checks the other parameters beside a cursor, too', () => {
    expect(parsePage('cursor=&perPage=5').paging).toEqual({ kind: 'cursor', after: undefined })
    expect(parsePage('cursor=&page=1').paging).toEqual({ kind: 'cursor', after: undefined })
    expect(() => parseListQuery('cursor=&page=2')).toThrow(
      'cursor and page parameters are mutually exclusive',
    )
    expect(() => parseListQuery('cursor=&skipTotal=yes')).toThrow('skipTotal: expected true or false')
    expect(() => parseListQuery('cursor=&total=exact')).toThrow('total: expected "estimated"')
  })

  test('parses or rejects any text', () => {
    const parameter = fc.tuple(
      fc.constantFrom(
        'filter',
        'sort',
        'fields',
        'expand',
        'page',
        'perPage',
        'cursor',
        'skipTotal',
        'total',
      ),
      fc.oneof(
        fc.string(),
        anyUnits(),
        fc.constantFrom('1', '-1', '%', '%zz', '%E0%A4%A', '"', ',', '+', '-'),
      ),
    )
    const text = fc
      .array(parameter, { maxLength: 5 })
      .map((pairs) => pairs.map((pair) => pair.join('=')).join('&'))
    fc.assert(
      fc.property(text, (queryString) => {
        try {
          const { perPage, paging } = parsePage(queryString)
          expect(perPage).toBeGreaterThanOrEqual(1)
          expect(perPage).toBeLessThanOrEqual(500)
          expect(paging.kind === 'cursor' || paging.page >= 1).toBe(true)
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          expect(error.status).toBe(400)
        }
      }),
      { numRuns: 3000 },
    )
  })
})

describe('names in a query string', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 12 }),
    fc.constantFrom('a', 'a b', 'a"b', ',', '-a', '.'),
  )
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`

  test('may hold any character in quotes', () => {
    const items = fc.array(fc.record({ prefix: fc.constantFrom('', '+', '-'), name }), {
      minLength: 1,
      maxLength: 5,
    })
    fc.assert(
      fc.property(items, (wanted) => {
        const text = wanted.map((item) => item.prefix + quote(item.name)).join(' , ')
        expect(parsePrefixedNames(text, 'sort')).toEqual(wanted)
      }),
    )
  })

  test('may hold any character in quoted path segments', () => {
    const paths = fc.array(fc.array(name, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(paths, (wanted) => {
        const text = wanted.map((path) => path.map(quote).join('.')).join(',')
        expect(parsePaths(text, 'expand')).toEqual(wanted)
      }),
    )
  })

  test.each([
    ['a', ['a']],
    [' a , b ', ['a', 'b']],
    ['a b,c', ['a b', 'c']],
    ['', []],
    ['  ', []],
    ['-a,+b', ['-a', '+b']],
    ['"a,b",c', ['a,b', 'c']],
  ])('%j', (text, names) => {
    expect(parseNames(text, 'fields')).toEqual(names)
  })

  test.each([
    ['album.artist', [['album', 'artist']]],
    ['album . artist , genre', [['album', 'artist'], ['genre']]],
    ['"a.b".c', [['a.b', 'c']]],
    ['', []],
  ])('are read as a path: %j', (text, paths) => {
    expect(parsePaths(text, 'expand')).toEqual(paths)
  })

  test.each([
    ['a,', 'fields: expected a name after the last comma'],
    ['a, ', 'fields: expected a name after the last comma'],
    [',', 'fields: expected comma-separated names, at position 0'],
    ['a,,b', 'fields: expected comma-separated names, at position 2'],
    ['a,"b', 'fields: expected comma-separated names, at position 2'],
    ['a,""', 'fields: expected comma-separated names, at position 2'],
    ['"a"b', 'fields: expected comma-separated names, at position 0'],
    ['a"b"', 'fields: expected comma-separated names, at position 0'],
    ['-', 'fields: expected comma-separated names, at position 0'],
  ])('cannot be %j', (text, message) => {
    expect(() => parseNames(text, 'fields')).toThrow(message)
  })

  test.each(['.a', 'a.', 'a..b', '.', '"a".'])('cannot be %j in a path', (text) => {
    expect(() => parsePaths(text, 'expand')).toThrow('expand: expected comma-separated names, at position 0')
  })

  // Patterns that can match the same text in several ways take minutes for these texts.
  test.each([
    ['blanks before a stray quote', `${' '.repeat(16_000)}"x`],
    ['blanks behind a name', `a${' '.repeat(16_000)}"`],
    ['quotes', '"'.repeat(16_001)],
    ['signs', '-+'.repeat(8000)],
    ['dots', 'a.'.repeat(8000)],
  ])('are rejected in linear time: %s', (_what, text) => {
    for (const parse of [parseNames, parsePaths]) {
      try {
        parse(text, 'fields')
      } catch (error) {
        expect(error).toMatchObject({ status: 400 })
      }
    }
  })
})

describe('parseRecordQuery', () => {
  test('reads fields and expand', () => {
    expect(parseRecordQuery('fields=a&expand=b.c&_filter=ignored')).toEqual({
      fields: ['a'],
      expand: [['b', 'c']],
    })
  })

  test.each([
    [`expand=${Array(11).fill('a').join()}`, 'expand: expected at most 10 relations'],
    ['expand=a.b.c.d.e', 'expand: expected at most 4 levels'],
    ['fields=a&fields=b', 'parameter "fields" is given more than once'],
    ['filter=a=1', 'unknown parameter "filter"'],
  ])('rejects %s', (text, message) => {
    expect(() => parseRecordQuery(text)).toThrow(message)
  })
})
