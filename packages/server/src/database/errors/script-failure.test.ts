import { expect, test } from 'vitest'
import { lineAt } from './script-failure.ts'

test('script failure › counts the line of a position in code points, as PostgreSQL does', () => {
  const script = `-- ${'😀'.repeat(9)}\n\nselect nope`
  const position = Array.from(script).indexOf('n', 16) + 1
  expect(lineAt(script, position)).toBe(3)
  expect(lineAt(script, 1)).toBe(1)
  expect(lineAt('', 1)).toBe(1)
  // The position is at the end of the input.
  expect(lineAt('select 1\n', 10)).toBe(2)
})
