import { describe, expect, it } from 'vitest'
import { previewKind } from '../screens/storage/preview-kind.ts'
import { formatCurl } from './curl.ts'
import { safeAddress } from './safe-address.ts'
import { quoteText } from './sql.ts'
import { visibleText } from './visible-text.ts'

describe('dashboard › hostile values', () => {
  it.each([
    'javascript:alert(1)',
    ' JaVaScRiPt:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'blob:https://example.com/1',
    'file:///etc/passwd',
    '//example.com',
    '/relative',
    '',
  ])('never become links: %s', (text) => {
    expect(safeAddress(text)).toBeUndefined()
  })

  it.each([
    ['https://example.com/a?b=c#d', 'https://example.com/a?b=c#d'],
    ['HTTP://example.com', 'http://example.com/'],
    ['mailto:a@example.com', 'mailto:a@example.com'],
  ])('keep web and mail addresses as links: %s', (text, address) => {
    expect(safeAddress(text)).toBe(address)
  })

  it.each([
    ['invoice\u202etxt.exe', 'invoice\\u202etxt.exe'],
    ['\u2067a\u2069', '\\u2067a\\u2069'],
    ['a\u0007b\u001b[31m\u0085\u200b\ufeff', 'a\\u0007b\\u001b[31m\\u0085\\u200b\\ufeff'],
    ['a\tb\r\nc', 'a\tb\r\nc'],
    ['\u05d0\u200f!', '\u05d0\u200f!'],
  ])('cannot disguise the order or characters of a text: %j', (text, shown) => {
    expect(visibleText(text)).toBe(shown)
  })

  it('do not break out of shell quotes', () => {
    const request = { method: 'POST', path: "/api/x?name='$(id)'", body: { text: "it's `id` $HOME" } }
    expect(formatCurl(request, 'http://localhost')).toBe(
      [
        `curl -X POST 'http://localhost/api/x?name='\\''$(id)'\\'''`,
        `-H "Authorization: Bearer $TOKEN"`,
        `-H 'Content-Type: application/json'`,
        `-d '{"text":"it'\\''s \`id\` $HOME"}'`,
      ].join(' \\\n  '),
    )
  })

  it('do not break out of SQL quotes', () => {
    expect(quoteText("'; drop table note; --")).toBe("'''; drop table note; --'")
  })

  it.each([
    ['image/png', 'picture'],
    ['image/svg+xml; charset=utf-8', 'picture'],
    ['TEXT/HTML', 'page'],
    ['application/xhtml+xml', 'page'],
    ['text/csv', 'text'],
    ['application/json', 'text'],
    ['application/pdf', 'none'],
    ['application/octet-stream', 'none'],
    ['', 'none'],
  ])('are previewed by their type without running: %s', (type, kind) => {
    expect(previewKind(type)).toBe(kind)
  })
})
