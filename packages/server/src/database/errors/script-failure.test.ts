import { expect, test } from 'vitest'
import { lineAt } from './script-failure.ts'

test('the line of a position is counted in code points, as PostgreSQL does', () => {
  const script = `-- ${'😀'.repeat(9)}\n\nselect nope`
  const position = Array.from(script).indexOf('n', 16) + 1
  expect(lineAt(script, position)).toBe(3)
  expect(lineAt(script, 1)).toBe(1)
  expect(lineAt('', 1)).toBe(1)
  // At the end of the input.
  expect(lineAt('select 1\n', 10)).toBe(2)
})
