import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { describeProblems } from './load-problems.ts'

const root = `/data dir/functions/${'ab'.repeat(32)}`
const folder = `${root}/functions`
const url = pathToFileURL(folder).href
const stack = '\n    at compile (node:internal/modules/esm/utils:319:16)'

test.each([
  [
    'a syntax error with its line',
    `shop.ts: ${url}/shop.ts:2\nexport const b = = 2\n                 ^\n\nSyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expression expected${stack}`,
    'shop.ts:2: SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expression expected',
  ],
  [
    'a syntax error in a file that may be CommonJS',
    `shop.ts: ${folder}/shop.ts:2\nx y\n  ^\nSyntaxError: Unexpected identifier${stack}`,
    'shop.ts:2: SyntaxError: Unexpected identifier',
  ],
  [
    'a syntax error in another file',
    `shop.ts: ${url}/_lib/x.ts:7\nx y\n  ^\nSyntaxError: Unexpected identifier${stack}`,
    'shop.ts: _lib/x.ts:7: SyntaxError: Unexpected identifier',
  ],
  [
    'a syntax error without a line',
    `shop.js: SyntaxError: Unexpected token '='${stack}`,
    `shop.js: SyntaxError: Unexpected token '='`,
  ],
  [
    'a missing package',
    `shop.ts: Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'lost' imported from ${folder}/shop.ts${stack}`,
    `shop.ts: Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'lost' imported from functions/shop.ts`,
  ],
  [
    'an error of several lines, with the place of its code',
    `shop.ts: Error: one\ntwo\n    at f (${url}/shop.ts:2:9)\n    at ${url}/shop.ts:4:1${stack}`,
    'shop.ts:2: Error: one two',
  ],
  [
    'an error of a package',
    `shop.ts: Error: ${root}/node_modules/x/a.json\n    at ${pathToFileURL(root).href}/node_modules/x/x.js:1:1${stack}`,
    'shop.ts: Error: node_modules/x/a.json',
  ],
  ['a problem of the server', 'shop.ts: a.ts serves GET /, too', 'shop.ts: a.ts serves GET /, too'],
  ['a value that was thrown', 'shop.ts: 7', 'shop.ts: 7'],
])('describeProblems › describes %s', (_case, problem, description) => {
  expect(describeProblems([problem], folder)).toBe(description)
})

test('describeProblems › joins ten problems, and cuts long ones', () => {
  expect(describeProblems(['a.ts: 1', 'b.ts: 2'], folder)).toBe('a.ts: 1; b.ts: 2')
  const many = describeProblems(Array(12).fill('a.ts: 1'), folder)
  expect(many).toBe(`${'a.ts: 1; '.repeat(10)}and 2 more`)
  const long = describeProblems([`a.ts: ${'😀'.repeat(50_000)}`], folder)
  expect([long.length, long.isWellFormed(), long.endsWith(' …')]).toEqual([502, true, true])
})
