import { describe, expect, test } from 'vitest'
import { readBlocks } from './guide-blocks.ts'
import { compareJson, matchesText } from './guide-output.ts'

describe('guides › JSON output', () => {
  test.each([
    ['{"a": 1}', '{"a":1}'],
    ['{"a": "…", "n": …, "l": [1, …]}', '{"a":"x","n":{"deep":[]},"l":[1,2,3]}'],
    ['{"a": 1, …}', '{"a":1,"b":2}'],
    ['{"token": "eyJ…"}', '{"token":"eyJhbGciOi"}'],
    ['{"b": 2}', '{"a":1}{"b":2}'],
    ['{"a": 1}\n[…]', 'CREATE 1\n{"a":1}\n[5]'],
    ['{"brace": "}{…"}', '{"brace":"}{]["}'],
  ])('accepts %s for %s', (shown, printed) => {
    expect(compareJson(shown, printed)).toBe(undefined)
  })

  test.each([
    ['{"a": 1}', '{"a":2}', '$.a is 2, shown is 1'],
    ['{"a": 1}', '{"a":1,"b":2}', '$.b is not shown'],
    ['{"a": 1, "b": …}', '{"a":1}', '$.b is missing'],
    ['{"a": [1]}', '{"a":[1,2]}', '$.a has 2 elements, shown are 1'],
    ['{"a": "x…"}', '{"a":"yx"}', '$.a is "yx", shown is "x…"'],
    ['{"a": "1"}', '{"a":1}', '$.a is 1, shown is "1"'],
    ['{}', '', '1 values shown, 0 printed'],
    ['nothing', '{}', 'the page shows no JSON'],
  ])('rejects %s for %s', (shown, printed, difference) => {
    expect(compareJson(shown, printed)).toBe(difference)
  })
})

test.each([
  ['a\nb', 'a\nb\n', false, true],
  ['a\n…\nd', 'a\nb\nc\nd\n', false, true],
  ['id: …', 'id: 5:5:', false, true],
  ['a', 'a\nb', false, false],
  ['a', 'a\nb', true, true],
  ['b', 'a\nb', true, false],
  ['a.c', 'abc', false, false],
])(
  'guides › text output %j of a page and %j, still running: %s, match: %s',
  (shown, printed, stillRuns, expected) => {
    expect(matchesText(shown, printed, stillRuns)).toBe(expected)
  },
)

test('guides › blocks of a page have their language, their line and the mark above them', () => {
  const page = [
    'Text',
    '```sh',
    'ls',
    '```',
    '<!-- not run: needs a printer -->',
    '',
    '```text',
    'paper',
    '```',
  ].join('\n')
  expect(readBlocks(page)).toEqual([
    { language: 'sh', text: 'ls', line: 2, mark: undefined },
    { language: 'text', text: 'paper', line: 7, mark: { kind: 'not run', value: 'needs a printer' } },
  ])
  expect(() => readBlocks('<!-- no run -->\n```sh\n```')).toThrow('unknown mark')
  expect(() => readBlocks('```sh\nls')).toThrow('line 1: the block does not end')
})
