import { describe, expect, test } from 'vitest'
import { formatTable, showControls } from './table.ts'

describe('table', () => {
  test('is aligned by characters, without blanks at the ends of lines', () => {
    const rows = [
      ['1', 'Größe', null],
      ['1000', '🦊', 'x'],
    ]
    expect(formatTable(['id', 'name', 'a'], rows)).toBe(
      ['id    name   a', '----  -----  -', '1     Größe', '1000  🦊      x', ''].join('\n'),
    )
  })

  test('may be empty, wide, long or without columns', () => {
    expect(formatTable(['id'], [])).toBe('id\n--\n')
    expect(formatTable([], [[], []])).toBe('\n\n\n\n')
    const wide = 'x'.repeat(100_000)
    expect(formatTable(['a', 'b'], [[wide, 'b']])).toContain(`${wide}  b\n`)
    const long = Array.from({ length: 300_000 }, (_, index) => [String(index)])
    expect(formatTable(['n'], long).split('\n')).toHaveLength(300_003)
  })
})

describe('terminal output', () => {
  test.each([
    ['a line end', 'a\nb', 'a↵b'],
    ['a colour', '\u001b[31mred', '\\x1b[31mred'],
    ['a tab, a bell, a backspace', '\t\u0007\b', '\\x09\\x07\\x08'],
    ['a carriage return', 'safe\rrm -rf', 'safe\\x0drm -rf'],
    ['a C1 control', '\u009b31m', '\\x9b31m'],
    ['reversed text', '\u202egnp.exe', '\\u202egnp.exe'],
    ['ordinary text', 'naïve 🦊 \\x1b', 'naïve 🦊 \\x1b'],
  ])('shows %s instead of obeying it', (_what, text, shown) => {
    expect(showControls(text)).toBe(shown)
  })
})
