import { expect, test } from 'vitest'
import { parseQuery } from './query-string.ts'

test.each([
  ['', {}],
  ['a=1&b=x%20y+z&b=2', { a: '1', b: ['x y z', '2'] }],
  ['a%5B%5D=%F0%9F%98%80&c', { 'a[]': '😀', c: '' }],
  ['a=b=c&&=d', { a: 'b=c', '': 'd' }],
  ['__proto__=1', JSON.parse('{"__proto__": "1"}')],
])('query string › parses %s', (text, expected) => {
  expect(Object.entries(parseQuery(text))).toEqual(Object.entries(expected))
})

test.each(['%E9.txt', '%', '%zz', 'a%FF'])(
  'query string › keeps a text that is not percent-encoded UTF-8: %s',
  (text) => {
    expect(parseQuery(`name=${text}`)).toMatchObject({ name: text })
  },
)

test('query string › parses more than a thousand parameters', () => {
  const text = Array.from({ length: 1500 }, (_, index) => `p${index}=x`).join('&')
  expect(Object.keys(parseQuery(text))).toHaveLength(1500)
})
