import { describe, expect, test } from 'vitest'
import { parseOriginPattern } from './origin-pattern.ts'

const matches = (pattern: string, origin: string) => parseOriginPattern(pattern)?.(origin)

describe('origin pattern', () => {
  test.each([
    ['https://app.example.com', 'https://app.example.com'],
    ['https://App.Example.com:443', 'https://app.example.com'],
    ['http://localhost:5173', 'http://localhost:5173'],
    ['http://[::1]:5173', 'http://[::1]:5173'],
    ['https://*.example.com', 'https://a.example.com'],
    ['https://*.example.com', 'https://a-1.b_2.example.com'],
    ['https://*.Example.com:443', 'https://a.example.com'],
    ['https://*.example.com:8443', 'https://a.example.com:8443'],
    ['http://*.localhost:5173', 'http://shop.localhost:5173'],
    ['capacitor://localhost', 'capacitor://localhost'],
    ['ionic://localhost', 'ionic://localhost'],
    ['tauri://localhost', 'tauri://localhost'],
    [
      'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
      'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
    ],
    ['moz-extension://*', 'moz-extension://4a2c7b16-0c4f-4e9b-9d57-3f1f4a7f0c11'],
    ['safari-web-extension://*', 'safari-web-extension://4A2C7B16-0C4F-4E9B-9D57-3F1F4A7F0C11'],
  ])('%s matches %s', (pattern, origin) => {
    expect(matches(pattern, origin)).toBe(true)
  })

  test.each([
    ['https://*.example.com', 'https://example.com'],
    ['https://*.example.com', 'https://.example.com'],
    ['https://*.example.com', 'https://evilexample.com'],
    ['https://*.example.com', 'https://evil.com/.example.com'],
    ['https://*.example.com', 'https://evil.com#.example.com'],
    ['https://*.example.com', 'https://evil.com?.example.com'],
    ['https://*.example.com', 'https://evil.com\\.example.com'],
    ['https://*.example.com', 'https://evil.com@a.example.com'],
    ['https://*.example.com', 'https://evil.com:443.example.com'],
    ['https://*.example.com', 'https://a.example.com.evil.com'],
    ['https://*.example.com', 'https://a.exampleXcom'],
    ['https://*.example.com', 'https://a.example.com/'],
    ['https://*.example.com', 'https://a.example.com\n'],
    ['https://*.example.com', 'https://a..example.com'],
    ['https://*.example.com', 'https://a.example.com:8443'],
    ['https://*.example.com', 'http://a.example.com'],
    ['https://*.example.com', 'https://*.example.com'],
    ['https://*.example.com', 'null'],
    ['https://app.example.com', 'https://APP.example.com'],
    ['capacitor://localhost', 'capacitor://localhost.evil.com'],
    ['capacitor://localhost', 'ionic://localhost'],
    ['chrome-extension://abc', 'chrome-extension://abd'],
    ['moz-extension://*', 'chrome-extension://4a2c7b16'],
    ['moz-extension://*', 'moz-extension://a/b'],
    ['moz-extension://*', 'moz-extension://*'],
    ['moz-extension://*', 'moz-extension://'],
  ])('%s does not match %j', (pattern, origin) => {
    expect(matches(pattern, origin)).toBe(false)
  })

  test.each([
    '',
    '*',
    'null',
    'a.example',
    'https://',
    'https://a.example/',
    'https://a.example/path',
    'https://a:b@a.example',
    'https://*',
    'https://*.com',
    'https://*example.com',
    'https://a.*.example.com',
    'https://*.*.example.com',
    'https://*.example.com:*',
    'https://*.example.com:x',
    'https://*.example.com:99999',
    'https://*.example.com/',
    'file:///a',
    'javascript:alert(1)',
    'ftp://a.example',
    'htps://a.example',
    'capacitor://',
    'capacitor://*',
    'capacitor://a/b',
    'capacitor:localhost',
    'chrome-extension://',
  ])('rejects %j', (text) => {
    expect(parseOriginPattern(text)).toBeUndefined()
  })
})
