import { describe, expect, test } from 'vitest'
import { type Token, tokenize } from './tokens.ts'

/** Returns kind and value of each token before the end; of a name without its parts. */
function read(text: string): unknown[] {
  const tokens = tokenize(text)
  expect(tokens.at(-1)).toEqual({ kind: 'end', position: text.length, text: '' })
  return tokens
    .slice(0, -1)
    .map((token) => ('name' in token ? ['name', token.name] : Object.values(withoutPosition(token))))
}

function withoutPosition({ position: _, text: __, ...token }: Token): object {
  return token
}

describe('tokenize', () => {
  test.each([
    ['id', [['name', 'id']]],
    ['_a.b$1', [['name', '_a.b$1']]],
    ['Größe', [['name', 'Größe']]],
    ['e\u0301te\u0301', [['name', 'e\u0301te\u0301']]],
    ['andy', [['name', 'andy']]],
    ['"and"', [['name', 'and']]],
    ['"a ""b"" c"', [['name', 'a "b" c']]],
    ['""""', [['name', '"']]],
    ['AND', [['keyword', 'and']]],
    ['Or', [['keyword', 'or']]],
    ['&&', [['keyword', 'and']]],
    ['||', [['keyword', 'or']]],
    ['In', [['keyword', 'in']]],
    ['TRUE', [['keyword', 'true']]],
    ['fAlse', [['keyword', 'false']]],
    ['nULL', [['keyword', 'null']]],
    // The dotted capital İ lowercases to more than an i.
    ['İn', [['name', 'İn']]],
    ["'it''s'", [['string', "it's"]]],
    [String.raw`'it\'s'`, [['string', "it's"]]],
    [String.raw`'a\\b\nc'`, [['string', String.raw`a\bnc`]]],
    ["''", [['string', '']]],
    ["''''", [['string', "'"]]],
    ["'a\nb'", [['string', 'a\nb']]],
    ["'😀'", [['string', '😀']]],
    ['~*', [['operator', '~*']]],
    ['!~*', [['operator', '!~*']]],
    ['->', [['->']]],
    ['->>', [['->>']]],
    [
      '>-1',
      [
        ['operator', '>'],
        ['number', '-1'],
      ],
    ],
    ['->-1', [['->'], ['number', '-1']]],
    ['0', [['number', '0']]],
    ['-0', [['number', '-0']]],
    ['007', [['number', '007']]],
    ['1.50', [['number', '1.50']]],
    ['1e400', [['number', '1e400']]],
    ['-1.5E-3', [['number', '-1.5E-3']]],
    ['2e+5', [['number', '2e+5']]],
  ])('%s', (text, tokens) => {
    expect(read(text)).toEqual(tokens)
  })

  test.each([
    ['album.title', ['album', 'title'], true],
    ['"a.b"', ['a.b'], false],
    ['album."a.b"', ['album', 'a.b'], false],
    ['"a b".c.d', ['a b', 'c', 'd'], false],
    ['"a"."b"', ['a', 'b'], false],
    ['a.b."c"', ['a', 'b', 'c'], false],
    ['a..b', ['a', '', 'b'], true],
    ['a.', ['a', ''], true],
  ])('reads %s as a name with parts', (text, path, isBare) => {
    expect(tokenize(text)).toEqual([
      { kind: 'name', name: path.join('.'), path, isBare, position: 0, text },
      { kind: 'end', position: text.length, text: '' },
    ])
  })

  test.each([
    ['"a".', 'expected a name after the dot', 4],
    ['"a".1', 'expected a name after the dot', 4],
    ['"a". b', 'expected a name after the dot', 4],
    ['a."b', 'expected a name after the dot', 2],
    ['a.""', 'expected a name after the dot', 2],
  ])('rejects %s as a name', (text, message, position) => {
    expect(() => tokenize(text)).toThrow(
      expect.objectContaining({ message: `invalid filter: ${message}`, extras: { data: { position } } }),
    )
  })

  test('needs no blanks where tokens cannot be confused', () => {
    expect(read("(a>=-1)&&b!~'x'||c IN(1,2)")).toEqual([
      ['('],
      ['name', 'a'],
      ['operator', '>='],
      ['number', '-1'],
      [')'],
      ['keyword', 'and'],
      ['name', 'b'],
      ['operator', '!~'],
      ['string', 'x'],
      ['keyword', 'or'],
      ['name', 'c'],
      ['keyword', 'in'],
      ['('],
      ['number', '1'],
      [','],
      ['number', '2'],
      [')'],
    ])
  })

  test('keeps the position of each token', () => {
    const tokens = tokenize("  a \t= \n'b'")
    expect(tokens.map(({ position, text }) => [position, text])).toEqual([
      [2, 'a'],
      [5, '='],
      [8, "'b'"],
      [11, ''],
    ])
  })

  test.each(['1.', '1..2', '1e', '1_000', '0x1F', '1.2.3', '12abc', '1e5e5', '-1a'])(
    'rejects %s as a number',
    (text) => {
      expect(() => tokenize(text)).toThrow(`invalid number: ${text}`)
    },
  )

  test.each(['.5', '+1', '-', '--1', '!', '#', '@a', '{', '[1]', '`a`', '’a’', '\ufffd', '\u202ea'])(
    'rejects a token that begins with %j',
    (text) => {
      expect(() => tokenize(text)).toThrow(/unexpected character '.' at position 0$/)
    },
  )
})
