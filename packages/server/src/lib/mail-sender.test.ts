import { expect, test } from 'vitest'
import { domainOf, parseSender } from './mail-sender.ts'

test.each([
  ['Shop <mail@example.com>', { name: 'Shop', address: 'mail@example.com' }],
  ['  Müller, Söhne <mail@example.com> ', { name: 'Müller, Söhne', address: 'mail@example.com' }],
  ['"Shop, \\"Ltd\\"" <mail@example.com>', { name: 'Shop, "Ltd"', address: 'mail@example.com' }],
  ['a < b <mail@example.com>', { name: 'a < b', address: 'mail@example.com' }],
  [' mail@example.com ', { name: '', address: 'mail@example.com' }],
  ['<mail@example.com>', { name: '', address: 'mail@example.com' }],
])('mail sender › parses %j', (text, expected) => {
  expect(parseSender(text)).toEqual(expected)
})

test.each([
  ['mail@Example.com', 'example.com'],
  ['mail@bücher.example', 'xn--bcher-kva.example'],
  ['mail@localhost', 'localhost'],
  ['mail@not a domain', 'localhost'],
])('mail sender › has the domain of %j', (address, expected) => {
  expect(domainOf({ name: '', address })).toBe(expected)
})
