import { describe, expect, test } from 'vitest'
import { readFrames } from './stack.ts'

const deploy = 'a'.repeat(64)
const stack = `Error: out of stock
    at check (file:///srv/shop%20one/functions/stock.ts:12:9)
    at async checkout (/data/functions/${deploy}/functions/lib/shop.ts:3:5)
    at async Object.handler (file:///srv/shop%20one/functions/shop.ts:40:11)
    at async runCall (file:///opt/server/function-process.js:9:9)
    at load (/data/functions/${deploy}/node_modules/stripe/index.js:1:2)
    at vendored (/srv/shop one/functions/node_modules/x/index.js:1:2)
    at new Promise (<anonymous>)`

describe('frames of a stack', () => {
  test('are those of the code of functions', () => {
    expect(readFrames(stack, '/srv/shop one/functions')).toEqual([
      { file: 'stock.ts', line: 12, column: 9, deploy: null, caller: 'check' },
      { file: 'lib/shop.ts', line: 3, column: 5, deploy, caller: 'checkout' },
      { file: 'shop.ts', line: 40, column: 11, deploy: null, caller: null },
    ])
  })

  test('include the line of a file with a syntax error', () => {
    const problem =
      'shop.ts: file:///srv/functions/shop.ts:3\n  const a b\n        ^\nSyntaxError: Unexpected'
    expect(readFrames(problem, '/srv/functions')).toEqual([
      { file: 'shop.ts', line: 3, column: 1, deploy: null, caller: null },
    ])
  })

  test('are limited, and very long lines have none', () => {
    const many = Array.from({ length: 500 }, (_, line) => `    at f (/srv/functions/a.ts:${line + 1}:1)`)
    expect(readFrames(many.join('\n'), '/srv/functions')).toHaveLength(20)
    expect(readFrames(` at ${'( at '.repeat(20_000)}`, '/srv/functions')).toEqual([])
  })
})
