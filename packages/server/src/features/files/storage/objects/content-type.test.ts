import { describe, expect, test } from 'vitest'
import { allowsType, contentTypeOf } from './content-type.ts'

const png = Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1')
const zip = Buffer.from('PK\x03\x04....', 'latin1')
const text = Buffer.from('<script>alert(1)</script>')

describe('storage › content type', () => {
  test.each<readonly [head: Buffer, declared: string | undefined, type: string]>([
    [png, undefined, 'image/png'],
    [png, 'text/html', 'image/png'],
    [text, 'image/png', 'application/octet-stream'],
    [text, 'text/html; charset=UTF-8', 'text/html; charset=utf-8'],
    [text, 'TEXT/Plain', 'text/plain'],
    [text, 'text/plain; charset="utf-8"; x=y', 'text/plain; charset=utf-8'],
    [text, undefined, 'application/octet-stream'],
    [text, 'no type', 'application/octet-stream'],
    [text, 'text/html\r\nx-evil: 1', 'application/octet-stream'],
    [Buffer.alloc(0), 'text/plain', 'text/plain'],
    [zip, 'application/epub+zip', 'application/epub+zip'],
    [zip, 'text/html', 'application/zip'],
    [Buffer.from('RIFF....WEBPVP8 ', 'latin1'), 'image/jpeg', 'image/webp'],
    [Buffer.from('\0\0\0\x20ftypavif', 'latin1'), undefined, 'image/avif'],
    [Buffer.from('\0\0\0\x20ftypisom', 'latin1'), 'audio/mp4', 'audio/mp4'],
    [Buffer.from("<svg  a='WEBPVP8 '"), 'image/webp', 'application/octet-stream'],
    [Buffer.from('<svg xmlns="…"/>'), 'image/svg+xml', 'image/svg+xml'],
  ])('%j, declared as %j, is %s', (head, declared, type) => {
    expect(contentTypeOf(head, declared)).toBe(type)
  })

  test.each<readonly [head: Buffer, declared: string | undefined, name: string, type: string]>([
    [png, undefined, 'a.txt', 'image/png'],
    [png, 'application/x-www-form-urlencoded', 'a', 'image/png'],
    [text, undefined, 'a/b.CSS', 'text/css; charset=utf-8'],
    [text, '', 'a.html', 'text/html; charset=utf-8'],
    [text, 'application/x-www-form-urlencoded', 'notes.txt', 'text/plain; charset=utf-8'],
    [text, 'Application/X-WWW-Form-Urlencoded; charset=utf-8', 'notes', 'application/octet-stream'],
    [text, undefined, 'a.png', 'application/octet-stream'],
    [text, undefined, '.css/a', 'application/octet-stream'],
    [text, undefined, 'a.constructor', 'application/octet-stream'],
    [text, 'text/markdown', 'a.txt', 'text/markdown'],
    [text, 'application/octet-stream', 'a.txt', 'application/octet-stream'],
    [zip, undefined, 'a.epub', 'application/zip'],
  ])('%j, declared as %j and named %s, is %s', (head, declared, name, type) => {
    expect(contentTypeOf(head, declared, name)).toBe(type)
  })

  test.each([
    [['image/*'], 'image/png', true],
    [['image/*'], 'imagex/png', false],
    [['text/plain'], 'text/plain; charset=utf-8', true],
    [['text/plain'], 'text/html', false],
    [[], 'text/html', false],
  ])('compares the allowed types %j of a bucket with %s: %s', (allowed, type, isAllowed) => {
    expect(allowsType(allowed, type)).toBe(isAllowed)
  })
})
