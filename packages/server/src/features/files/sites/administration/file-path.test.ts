import { expect, test } from 'vitest'
import { readFilePath } from './file-path.ts'

test.each([
  ['index.html', 'index.html'],
  ['./a//b/./c.css', 'a/b/c.css'],
  ['_app/[...slug].js', '_app/[...slug].js'],
  ['a/..b/c..d/...', 'a/..b/c..d/...'],
  ['Größe und mehr.html', 'Größe und mehr.html'],
  ['a\u0308.html', '\u00e4.html'],
  ['a%2f..%2f.html', 'a%2f..%2f.html'],
  ['x'.repeat(1024), 'x'.repeat(1024)],
])('site files › the name %j is the path %j', (name, path) => {
  expect(readFilePath(name)).toBe(path)
})

test.each([
  ['', 'file name is required'],
  ['  ', 'file name is required'],
  ['a/', 'file name is required'],
  ['a/.', 'file name is required'],
  ['/etc/passwd', 'file name must be relative'],
  ['\\\\host\\x', 'file name must be relative'],
  ['C:\\x', 'file name must be relative'],
  ['..', 'file name must stay within the deploy directory'],
  ['a/../../x', 'file name must stay within the deploy directory'],
  ['a\\..\\x', 'file name must stay within the deploy directory'],
  ['a\\x', 'file name must have at most 1024 bytes, no backslashes and no control characters'],
  ['a\0', 'file name must have at most 1024 bytes, no backslashes and no control characters'],
  ['a\nb', 'file name must have at most 1024 bytes, no backslashes and no control characters'],
  ['\ud800', 'file name must have at most 1024 bytes, no backslashes and no control characters'],
  ['x'.repeat(1025), 'file name must have at most 1024 bytes, no backslashes and no control characters'],
])('site files › the name %j is refused: %s', (name, message) => {
  expect(() => readFilePath(name)).toThrow(message)
})
