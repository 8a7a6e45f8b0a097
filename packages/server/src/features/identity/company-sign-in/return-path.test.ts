import { describe, expect, test } from 'vitest'
import { findReturnUrl } from './return-path.ts'

const dashboard = 'https://api.example.com/admin'

describe('return path of a sign-in', () => {
  test.each([
    [undefined, 'https://api.example.com/admin'],
    ['', 'https://api.example.com/admin'],
    ['/admin/tables?q=1#row', 'https://api.example.com/admin/tables?q=1#row'],
    ['/admin?q=//evil.example', 'https://api.example.com/admin?q=//evil.example'],
  ])('accepts %s', (path, url) => {
    expect(findReturnUrl(dashboard, path).href).toBe(url)
  })

  test.each([
    'https://evil.example/admin',
    '//evil.example/admin',
    '/\\evil.example/admin',
    '/\t/evil.example/admin',
    '/administrators',
    '/admin/../api/sql',
    '/admin/%2e%2e/api',
    'admin',
    'javascript:alert(1)',
    '/api',
  ])('rejects %s', (path) => {
    expect(() => findReturnUrl(dashboard, path)).toThrow('expected a path of the dashboard')
  })
})
