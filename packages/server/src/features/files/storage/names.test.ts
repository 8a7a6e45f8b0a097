import { describe, expect, test } from 'vitest'
import { encodeName, readBucketName, readObjectName } from './names.ts'

describe('storage › names', () => {
  test.each(['a', 'avatars', 'my_files-2', '0', 'x'.repeat(63)])('%s names a bucket', (name) => {
    expect(readBucketName(name)).toBe(name)
  })

  test.each([
    ['', 'name is required'],
    [undefined, 'name is required'],
    ...['Avatars', 'a b', 'a/b', 'ä', 'a.b', '..', 'x'.repeat(64)].map(
      (name) => [name, 'invalid bucket name: use 1 to 63 of a-z, 0-9, - and _'] as const,
    ),
    ['buckets', 'invalid bucket name: buckets is a path of the API'],
    ['upload', 'invalid bucket name: upload is a path of the API'],
  ] as const)('%s does not name a bucket', (name, message) => {
    expect(() => readBucketName(name)).toThrow(message)
  })

  test.each([
    'a.txt',
    'a/b/c',
    '[...slug].js',
    '..a/b..',
    '%2e%2e',
    'a\\b',
    ' ',
    '😀/ü',
    '\u202etxt.exe',
    'x'.repeat(1024),
  ])('%j names an object', (name) => {
    expect(readObjectName(name)).toBe(name)
  })

  test('reads the same name from both forms of Unicode', () => {
    expect(readObjectName('u\u0308.txt')).toBe('\u00fc.txt')
  })

  test.each([
    ['', 'it must not be empty'],
    ['/a', 'it must not begin with a slash'],
    ['a//b', 'it must have no empty segments'],
    ['a/', 'it must have no empty segments'],
    ['a/../b', 'no segment of it may be . or ..'],
    ['..', 'no segment of it may be . or ..'],
    ['./a', 'no segment of it may be . or ..'],
    ['a\0b', 'it must not contain control characters'],
    ['a\nb', 'it must not contain control characters'],
    ['\ud800', 'it must be well-formed Unicode'],
    ['x'.repeat(1025), 'it must have at most 1024 bytes'],
    ['ü'.repeat(513), 'it must have at most 1024 bytes'],
  ])('%j does not name an object', (name, problem) => {
    expect(() => readObjectName(name)).toThrow(`invalid object name: ${problem}`)
  })

  test('keeps slashes of a name in a path and escapes everything else that a URL would interpret', () => {
    expect(encodeName('a b/c?d#e%2F/ü')).toBe('a%20b/c%3Fd%23e%252F/%C3%BC')
  })
})
