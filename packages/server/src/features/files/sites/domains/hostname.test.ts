import { expect, test } from 'vitest'
import { readHostname } from './hostname.ts'

test.each([
  ['shop.example.com', 'shop.example.com'],
  [' Shop.EXAMPLE.com. ', 'shop.example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['BÜCHER.example', 'xn--bcher-kva.example'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
  ['1.example.com', '1.example.com'],
  [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
])('site domains › the hostname %j is %j', (text, name) => {
  expect(readHostname(text)).toBe(name)
})

test.each([
  '',
  'example',
  'localhost',
  'shop.localhost',
  '127.0.0.1',
  '0x7f.1',
  '[::1]',
  'shop.example.com:8080',
  'https://shop.example.com',
  'shop.example.com/path',
  'user@example.com',
  '*.example.com',
  '_dmarc.example.com',
  '-shop.example.com',
  'shop-.example.com',
  'shop..example.com',
  '.example.com',
  'shop example.com',
  'shop.example.com\0',
  'a%2eexample.com',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(127)}example`,
  '\ud800.example',
])('site domains › %j is no hostname', (text) => {
  expect(readHostname(text)).toBeUndefined()
})
