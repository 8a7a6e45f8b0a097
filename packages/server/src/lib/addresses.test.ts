import { describe, expect, test } from 'vitest'
import { httpOrigin, isLoopback } from './addresses.ts'

describe('isLoopback is true', () => {
  test.each([
    ...[
      'localhost',
      'LOCALHOST',
      '127.0.0.1',
      '127.8.9.10',
      '127.255.255.255',
      '::1',
      '[::1]',
      '0:0:0:0:0:0:0:1',
    ],
    ...['0000:0000:0000:0000:0000:0000:0000:0001', '::ffff:127.0.0.1', '::FFFF:7f00:1'],
  ])('for %s', (host) => {
    expect(isLoopback(host)).toBe(true)
  })
})

describe('isLoopback is false', () => {
  test.each([
    ...[
      '',
      '0.0.0.0',
      '::',
      '[::]',
      '10.0.0.1',
      '192.168.1.1',
      '128.0.0.1',
      '126.255.255.255',
      '::2',
      'fe80::1',
    ],
    ...[
      '::ffff:10.0.0.1',
      'localhost.example.com',
      '127.0.0.1.example.com',
      '127.example.com',
      '127',
      '127.1',
    ],
    ...['0x7f000001', '2130706433', '1270.0.0.1', '127.0.0.1 ', ' localhost', '::1%eth0x y'],
  ])('for %s', (host) => {
    expect(isLoopback(host)).toBe(false)
  })
})

test.each([
  ['127.0.0.1', 'http://127.0.0.1:8090'],
  ['0.0.0.0', 'http://localhost:8090'],
  ['::', 'http://localhost:8090'],
  ['::1', 'http://[::1]:8090'],
  ['db.example.com', 'http://db.example.com:8090'],
])('origin › of a server on %s is %s', (host, origin) => {
  expect(httpOrigin(host, 8090)).toBe(origin)
  expect(new URL(origin).origin).toBe(origin)
})
