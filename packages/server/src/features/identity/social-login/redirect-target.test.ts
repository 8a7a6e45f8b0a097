import { describe, expect, test } from 'vitest'
import { findRedirectTarget } from './redirect-target.ts'

const config = {
  oauth_redirect_url: 'https://app.example.com/signed-in',
  oauth_return_to_allowlist: ['other.example.com', 'localhost', '127.0.0.1'],
}

describe('social login › redirect_to', () => {
  test.each([
    ['', 'https://app.example.com/signed-in'],
    ['  ', 'https://app.example.com/signed-in'],
    ['/welcome?a=1', 'https://app.example.com/welcome?a=1'],
    ['/a#token=forged', 'https://app.example.com/a'],
    ['https://app.example.com/x', 'https://app.example.com/x'],
    ['https://other.example.com:8443/x', 'https://other.example.com:8443/x'],
    ['http://localhost:3000/x', 'http://localhost:3000/x'],
    ['http://127.0.0.1:3000/x', 'http://127.0.0.1:3000/x'],
    ['https://OTHER.example.com/x', 'https://other.example.com/x'],
  ])('%j leads to %s', (text, expected) => {
    expect(findRedirectTarget(config, text)?.href).toBe(expected)
  })

  test.each([
    'https://evil.example',
    'https://app.example.com.evil.example/',
    'https://evil.example/app.example.com',
    'https://app.example.com@evil.example/',
    'https://user:secret@app.example.com/',
    'https://notother.example.com/',
    'https://sub.other.example.com/',
    'http://other.example.com/',
    'http://app.example.com/',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '\\\\evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'app://other.example.com',
    'other.example.com',
    'https://app%2eexample.com%2f.evil.example/',
    'https://[::1]/',
    'relative/path',
  ])('%j is rejected', (text) => {
    expect(() => findRedirectTarget(config, text)).toThrow('invalid redirect_to')
  })

  test('is rejected while no redirect is configured', () => {
    const none = { ...config, oauth_redirect_url: '' }
    expect(() => findRedirectTarget(none, '/welcome')).toThrow('invalid redirect_to')
    expect(findRedirectTarget(none, undefined)).toBeUndefined()
  })
})
