import { expect, test } from 'vitest'
import { testConfig } from '../../test/test-config.ts'
import { isDevelopment } from './development.ts'

const external = { 'database.url': 'postgresql://db.example.com/shop' }

test.each([
  ['the embedded database on loopback', {}, true],
  ['an address of this machine as public URL', { 'server.public_base_url': 'http://[::1]:8090' }, true],
  [
    'a public URL on loopback behind any host',
    { 'server.host': '0.0.0.0', 'server.public_base_url': 'http://localhost:8090' },
    true,
  ],
  ['a host that other machines reach', { 'server.host': '0.0.0.0' }, false],
  ['a public URL elsewhere', { 'server.public_base_url': 'https://api.example.com' }, false],
  ['an external database', external, false],
  [
    'an external database and a loopback URL',
    { ...external, 'server.public_base_url': 'http://127.0.0.1' },
    false,
  ],
])('development › with %s › %s', (_name, overrides, expected) => {
  expect(isDevelopment(testConfig(overrides))).toBe(expected)
})
