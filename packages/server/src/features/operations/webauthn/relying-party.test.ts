import { describe, expect, test } from 'vitest'
import { relyingPartyOf } from './relying-party.ts'

describe('relying party', () => {
  test.each([
    ['https://api.example.com', 'api.example.com', 'https://api.example.com'],
    ['https://API.Example.com/', 'api.example.com', 'https://api.example.com'],
    ['https://example.com:443', 'example.com', 'https://example.com'],
    ['https://example.com:8443/', 'example.com', 'https://example.com:8443'],
    ['http://intranet', 'intranet', 'http://intranet'],
    ['https://bücher.example', 'xn--bcher-kva.example', 'https://xn--bcher-kva.example'],
    ['http://localhost:8090', 'localhost', 'http://localhost:8090'],
    ['http://127.0.0.1:8090', 'localhost', 'http://localhost:8090'],
    ['http://127.1.2.3', 'localhost', 'http://localhost'],
    ['http://[::1]:8090', 'localhost', 'http://localhost:8090'],
  ])('derives from %s the domain %s and the origin %s', (url, id, origin) => {
    expect(relyingPartyOf(url)).toEqual({ id, origin })
  })

  test.each([
    'http://192.168.1.20:8090',
    'https://203.0.113.9',
    'https://[2001:db8::1]:8090',
    'http://3221225985',
  ])('does not exist for the address %s', (url) => {
    expect(relyingPartyOf(url)).toBeUndefined()
  })
})
