import { describe, expect, test } from 'vitest'
import { decodeText, readTextFile } from './text-file.ts'

describe('text files', () => {
  test('are UTF-8, with or without a byte order mark', () => {
    expect(decodeText(Buffer.from('\uFEFFé\n😀'), 'a.sql')).toBe('é\n😀')
  })

  test.each([
    ['another encoding', Buffer.from("select 1;\n\nselect 'caf\xe9';", 'latin1'), 3],
    ['NUL', Buffer.from('select 1;\nselect\0 2;\nselect 3'), 2],
    ['UTF-16', Buffer.from('\uFEFFselect 1', 'utf16le'), 1],
    ['a sequence that ends too early', Buffer.from([0x61, 0x0a, 0xc3]), 2],
  ])('are rejected with the line when they contain %s', (_what, bytes, line) => {
    expect(() => decodeText(bytes, 'a.sql')).toThrow(`a.sql:${line}: expected UTF-8 text without NUL`)
  })

  test('are rejected when they are a directory', () => {
    expect(() => readTextFile(import.meta.dirname, 'a.sql')).toThrow('cannot read a.sql: EISDIR')
  })
})
